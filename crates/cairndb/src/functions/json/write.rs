//! Any value as JSON: as text, or as parts of a `jsonb`.

use crate::Result;
use crate::types::{
    Array, Composite, DataType, DateStyle, Document, EvalContext, JsonBuilder, JsonKind, Numeric, TextStyle, Value,
    check_depth, from_text, hstore_json, to_text, write_quoted, write_text,
};

use super::refuse;

/// A `json` of a text that was made here.
pub(in crate::functions) fn made(text: String) -> Result<Value> {
    check_depth(&text)?;
    Ok(Value::Json(text.into()))
}

/// Appends a value as SQL's `to_json` writes it: documents as they are, arrays as arrays, rows as objects, numbers and
/// booleans bare (NaN and the infinities are strings), moments in ISO 8601, all else as a string; NULL is `null`.
/// <https://www.postgresql.org/docs/15/functions-json.html>
///
/// ```
/// let conn = cairndb::Database::open_in_memory()?.connect()?;
/// let mut out = String::new();
/// cairndb::write_json(&cairndb::Value::text("a\"b"), &conn.text_context(), &mut out);
/// assert_eq!(out, r#""a\"b""#);
/// # Ok::<(), cairndb::Error>(())
/// ```
pub fn write_json(value: &Value, context: &EvalContext, out: &mut String) {
    write_value(value, context, out);
}

/// Appends a value as JSON text.
pub(in crate::functions) fn write_value(value: &Value, context: &EvalContext, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Boolean(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Json(text) => out.push_str(text),
        Value::Jsonb(_) => write_text(value, context, out),
        Value::Composite(row) => write_row(row, context, "", out),
        Value::Array(array) => write_array(array, context, "", out),
        Value::Hstore(of) => out.push_str(&hstore_json(of, false)),
        value if is_number(value) => write_text(value, context, out),
        value => write_quoted(&text_of(value, context), out),
    }
}

/// Appends an array as JSON text; `line`: what stands behind the commas between its outermost elements.
pub(super) fn write_array(array: &Array, context: &EvalContext, line: &str, out: &mut String) {
    walk(array, &mut |step| match step {
        Step::Begin => out.push('['),
        Step::Next(depth) => {
            out.push(',');
            out.push_str(if depth == 0 { line } else { "" });
        }
        Step::Value(value) => write_value(value, context, out),
        Step::End => out.push(']'),
    });
}

/// Appends a row as a JSON object's text; `line`: what stands behind the commas between its outermost fields.
pub(super) fn write_row(row: &Composite, context: &EvalContext, line: &str, out: &mut String) {
    out.push('{');
    for (nth, (name, value)) in row.fields().enumerate() {
        if nth > 0 {
            out.push(',');
            out.push_str(line);
        }
        write_quoted(name, out);
        out.push(':');
        write_value(value, context, out);
    }
    out.push('}');
}

enum Step<'a> {
    Begin,
    /// Between two parts, in a dimension.
    Next(usize),
    Value(&'a Value),
    End,
}

/// An array's values in the nesting of its dimensions.
fn walk<'a>(array: &'a Array, visit: &mut impl FnMut(Step<'a>)) {
    fn dimension<'a>(lengths: &[usize], depth: usize, values: &'a [Value], visit: &mut impl FnMut(Step<'a>)) {
        visit(Step::Begin);
        if let Some((&length, inner)) = lengths.split_first() {
            let each = values.len() / length.max(1);
            for at in 0..length {
                if at > 0 {
                    visit(Step::Next(depth));
                }
                let part = values.get(at * each..(at + 1) * each).unwrap_or_default();
                match (inner.is_empty(), part) {
                    (true, [value]) => visit(Step::Value(value)),
                    _ => dimension(inner, depth + 1, part, visit),
                }
            }
        }
        visit(Step::End);
    }
    let lengths: Vec<usize> = array.dimensions().iter().map(|dimension| dimension.length).collect();
    dimension(&lengths, 0, array.values(), visit);
}

/// Appends a value to a `jsonb`.
pub(in crate::functions) fn push_value(value: &Value, context: &EvalContext, out: &mut JsonBuilder) -> Result<()> {
    match value {
        Value::Null => out.null(),
        Value::Boolean(value) => out.boolean(*value),
        Value::Jsonb(document) => out.node(document.root())?,
        Value::Json(text) => {
            if let Value::Jsonb(document) = from_text(text, DataType::Jsonb, context)? {
                out.node(document.root())?;
            }
        }
        Value::Composite(row) => {
            out.begin_object()?;
            for (name, value) in row.fields() {
                out.key(name);
                push_value(value, context, out)?;
            }
            out.end()?;
        }
        Value::Array(array) => {
            let mut result = Ok(());
            walk(array, &mut |step| {
                let done = match step {
                    Step::Begin => out.begin_array(),
                    Step::Next(_) => Ok(()),
                    Step::Value(value) => push_value(value, context, out),
                    Step::End => out.end(),
                };
                if result.is_ok() {
                    result = done;
                }
            });
            return result;
        }
        Value::Hstore(of) => {
            out.begin_object()?;
            for (key, value) in of.pairs() {
                out.key(key);
                match value {
                    Some(value) => out.string(value),
                    None => out.null(),
                }
            }
            out.end()?;
        }
        value if is_number(value) => out.number(&Numeric::parse(&to_text(value, context))?),
        value => out.string(&text_of(value, context)),
    }
    Ok(())
}

/// A number that JSON knows: not NaN, not infinite.
fn is_number(value: &Value) -> bool {
    match value {
        Value::SmallInt(_) | Value::Integer(_) | Value::BigInt(_) => true,
        Value::Real(value) => value.is_finite(),
        Value::Double(value) => value.is_finite(),
        Value::Numeric(value) => value.is_finite(),
        _ => false,
    }
}

/// The text of what is a string in JSON: times as ISO 8601 writes them.
fn text_of(value: &Value, context: &EvalContext) -> String {
    let is_date = matches!(value, Value::Date(_) | Value::Timestamp(_) | Value::TimestampTz(_));
    let text = match is_date && context.style.date != DateStyle::Iso {
        true => {
            let style = TextStyle { date: DateStyle::Iso, ..context.style };
            to_text(value, &context.clone().with_style(style))
        }
        false => to_text(value, context),
    };
    match value {
        Value::Timestamp(_) => text.replacen(' ', "T", 1),
        Value::TimestampTz(_) => with_minutes(&text.replacen(' ', "T", 1)),
        _ => text,
    }
}

/// `+05` as `+05:00`, also in front of ` BC`.
fn with_minutes(text: &str) -> String {
    let (time, era) = text.split_once(' ').map_or((text, None), |(time, era)| (time, Some(era)));
    let zone = time.find('T').and_then(|at| time[at..].find(['+', '-']).map(|zone| at + zone));
    let minutes = if zone.is_some_and(|zone| !time[zone..].contains(':')) { ":00" } else { "" };
    let era = era.map_or_else(String::new, |era| format!(" {era}"));
    format!("{time}{minutes}{era}")
}

/// Appends an object's key to JSON text.
pub(in crate::functions) fn write_key(value: &Value, context: &EvalContext, out: &mut String) -> Result<()> {
    write_quoted(&key(value, context)?, out);
    Ok(())
}

/// Appends an object's key to a `jsonb`.
pub(in crate::functions) fn push_key(value: &Value, context: &EvalContext, out: &mut JsonBuilder) -> Result<()> {
    out.key(&key(value, context)?);
    Ok(())
}

fn key(value: &Value, context: &EvalContext) -> Result<String> {
    let scalar = match value {
        Value::Array(_) | Value::Composite(_) | Value::Json(_) => false,
        Value::Jsonb(document) => Document::Node(document.root()).kind()?.is_scalar(),
        _ => true,
    };
    if !scalar {
        return refuse("key value must be scalar, not array, composite, or json");
    }
    Ok(match value {
        Value::Boolean(value) => if *value { "true" } else { "false" }.to_owned(),
        Value::Jsonb(document) => match Document::Node(document.root()) {
            null if null.kind()? == JsonKind::Null => "null".to_owned(),
            scalar => scalar.to_text()?.as_str().unwrap_or_default().to_owned(),
        },
        value => text_of(value, context),
    })
}
