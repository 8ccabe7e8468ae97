//! `json_typeof`, `json_array_length`, `jsonb_pretty`, `json_strip_nulls`.

use super::{INTEGER, JSON, JSONB, TEXT, refuse};
use crate::Result;
use crate::functions::catalogue::Catalogue;
use crate::functions::support::wrong_arguments;
use crate::types::{DataType, Document, JsonBuilder, JsonKind, Value, check_depth, write_pretty, write_quoted};

static DOCUMENTS: [([DataType; 1], [&str; 3]); 2] = [
    ([JSON], ["json_typeof", "json_array_length", "json_strip_nulls"]),
    ([JSONB], ["jsonb_typeof", "jsonb_array_length", "jsonb_strip_nulls"]),
];

pub(super) fn register(catalogue: &mut Catalogue) {
    for (types, [kind, length, strip]) in &DOCUMENTS {
        catalogue.add(kind, types, TEXT, |args, _| Ok(Value::text(document(args)?.kind()?.name()))).bounded();
        catalogue.add(length, types, INTEGER, |args, _| array_length(document(args)?)).bounded();
        catalogue.add(strip, types, types[0], |args, _| strip_nulls(document(args)?));
    }
    catalogue.add("jsonb_pretty", &DOCUMENTS[1].0, TEXT, |args, _| match args {
        [Value::Jsonb(document)] => {
            let mut out = String::new();
            write_pretty(document.root(), 0, &mut out)?;
            Ok(Value::text(out))
        }
        _ => Err(wrong_arguments(args)),
    });
}

fn document(args: &[Value]) -> Result<Document<'_>> {
    match args {
        [value] => Document::of(value),
        _ => Err(wrong_arguments(args)),
    }
}

fn array_length(document: Document<'_>) -> Result<Value> {
    match document.kind()? {
        JsonKind::Array => Ok(Value::Integer(document.elements()?.len() as i32)),
        JsonKind::Object => refuse("cannot get array length of a non-array"),
        _ => refuse("cannot get array length of a scalar"),
    }
}

fn strip_nulls(document: Document<'_>) -> Result<Value> {
    match document {
        Document::Text(text) => {
            check_depth(text)?;
            let mut out = String::new();
            strip_text(document, &mut out)?;
            Ok(Value::Json(out.into()))
        }
        Document::Node(_) => {
            let mut out = JsonBuilder::default();
            strip_binary(document, &mut out)?;
            out.finish().map(Value::Jsonb)
        }
    }
}

/// Without blanks between the parts; scalars as they are written.
fn strip_text(document: Document<'_>, out: &mut String) -> Result<()> {
    match (document.kind()?, document) {
        (JsonKind::Array, _) => {
            out.push('[');
            for (at, element) in document.elements()?.into_iter().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                strip_text(element, out)?;
            }
            out.push(']');
        }
        (JsonKind::Object, _) => {
            out.push('{');
            let mut first = true;
            for (key, value) in document.pairs()? {
                if value.kind()? == JsonKind::Null {
                    continue;
                }
                out.push_str(if std::mem::take(&mut first) { "" } else { "," });
                write_quoted(&key, out);
                out.push(':');
                strip_text(value, out)?;
            }
            out.push('}');
        }
        (JsonKind::String, _) => write_quoted(document.to_text()?.as_str().unwrap_or_default(), out),
        (_, Document::Text(text)) => out.push_str(text.trim()),
        (_, Document::Node(_)) => {}
    }
    Ok(())
}

fn strip_binary(document: Document<'_>, out: &mut JsonBuilder) -> Result<()> {
    match (document.kind()?, document) {
        (JsonKind::Array, _) => {
            out.begin_array()?;
            document.elements()?.into_iter().try_for_each(|element| strip_binary(element, out))?;
            out.end()?;
        }
        (JsonKind::Object, _) => {
            out.begin_object()?;
            for (key, value) in document.pairs()? {
                if value.kind()? != JsonKind::Null {
                    out.key(&key);
                    strip_binary(value, out)?;
                }
            }
            out.end()?;
        }
        (_, Document::Node(node)) => out.node(node)?,
        (_, Document::Text(_)) => {}
    }
    Ok(())
}
