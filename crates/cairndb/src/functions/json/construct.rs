//! `to_json`, `json_build_object`, `json_object` and their kin.

use super::write::{made, write_array, write_row};
use super::{BOOLEAN, JSON, JSONB, push_key, push_value, refuse, texts, write_key, write_value};
use crate::functions::catalogue::{Catalogue, Eval};
use crate::functions::support::wrong_arguments;
use crate::functions::{ANY, Declared};
use crate::types::{Array, DataType, EvalContext, JsonBuilder, Value, write_quoted};
use crate::{Error, Result, SqlState};

static ANY_ONE: [DataType; 1] = [ANY];

pub(super) fn register(catalogue: &mut Catalogue) {
    let element = [Declared::Element];
    catalogue
        .add_polymorphic("to_json", &element, Declared::Type(JSON), |_, args, cx| to_json(args, cx))
        .bounded()
        .stable();
    catalogue
        .add_polymorphic("to_jsonb", &element, Declared::Type(JSONB), |_, args, cx| to_jsonb(args, cx))
        .bounded()
        .stable();
    let json = Declared::Type(JSON);
    catalogue.add_polymorphic("array_to_json", &[Declared::Array], json, |_, args, cx| to_json(args, cx)).stable();
    for of_row in [&[Declared::Record][..], &[Declared::Record, Declared::Type(BOOLEAN)]] {
        catalogue.add_polymorphic("row_to_json", of_row, json, |_, args, cx| row_to_json(args, cx)).stable();
    }
    let with_lines = [Declared::Array, Declared::Type(BOOLEAN)];
    catalogue.add_polymorphic("array_to_json", &with_lines, json, |_, args, cx| array_in_lines(args, cx)).stable();
    let builders: [(&str, DataType, Eval); 4] = [
        ("json_build_array", JSON, build_array),
        ("jsonb_build_array", JSONB, build_array_binary),
        ("json_build_object", JSON, build_object),
        ("jsonb_build_object", JSONB, build_object_binary),
    ];
    for (name, returns, eval) in builders {
        catalogue.add(name, &[], returns, eval).bounded().called_on_null().stable();
        catalogue.add(name, &ANY_ONE, returns, eval).bounded().variadic().called_on_null().stable();
    }
    let (one, two) = ([Declared::Type(texts())], [Declared::Type(texts()); 2]);
    for (name, returns) in [("json_object", JSON), ("jsonb_object", JSONB)] {
        for args in [&one[..], &two[..]] {
            catalogue.add_polymorphic(name, args, Declared::Type(returns), |function, args, context| {
                let pairs = pairs_of(args)?;
                if function.returns == JSON { object_text(&pairs) } else { object_binary(&pairs, context) }
            });
        }
    }
}

fn to_json(args: &[Value], context: &EvalContext) -> Result<Value> {
    let [value] = args else { return Err(wrong_arguments(args)) };
    let mut out = String::new();
    write_value(value, context, &mut out);
    made(out)
}

fn to_jsonb(args: &[Value], context: &EvalContext) -> Result<Value> {
    let [value] = args else { return Err(wrong_arguments(args)) };
    let mut out = JsonBuilder::default();
    push_value(value, context, &mut out)?;
    out.finish().map(Value::Jsonb)
}

fn row_to_json(args: &[Value], context: &EvalContext) -> Result<Value> {
    let (Some(Value::Composite(row)), lines) = (args.first(), args.get(1)) else { return Err(wrong_arguments(args)) };
    let mut out = String::new();
    write_row(row, context, if lines.is_some_and(Value::is_true) { "\n " } else { "" }, &mut out);
    made(out)
}

fn array_in_lines(args: &[Value], context: &EvalContext) -> Result<Value> {
    let [Value::Array(array), Value::Boolean(lines)] = args else { return Err(wrong_arguments(args)) };
    let mut out = String::new();
    write_array(array, context, if *lines { "\n " } else { "" }, &mut out);
    made(out)
}

fn build_array(args: &[Value], context: &EvalContext) -> Result<Value> {
    let mut out = "[".to_owned();
    for (at, value) in args.iter().enumerate() {
        out.push_str(if at == 0 { "" } else { ", " });
        write_value(value, context, &mut out);
    }
    out.push(']');
    made(out)
}

fn build_array_binary(args: &[Value], context: &EvalContext) -> Result<Value> {
    let mut out = JsonBuilder::default();
    out.begin_array()?;
    args.iter().try_for_each(|value| push_value(value, context, &mut out))?;
    out.end()?;
    out.finish().map(Value::Jsonb)
}

/// Keys and values by turns.
fn by_turns<'a>(args: &'a [Value], name: &str) -> Result<&'a [[Value; 2]]> {
    match args.as_chunks() {
        (pairs, []) => Ok(pairs),
        _ => {
            let message = "argument list must have even number of elements";
            let hint = format!("The arguments of {name}() must consist of alternating keys and values.");
            Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message).with_hint(hint))
        }
    }
}

fn build_object(args: &[Value], context: &EvalContext) -> Result<Value> {
    let mut out = "{".to_owned();
    for (at, [key, value]) in by_turns(args, "json_build_object")?.iter().enumerate() {
        out.push_str(if at == 0 { "" } else { ", " });
        if key.is_null() {
            let message = format!("argument {} cannot be null", 2 * at + 1);
            let error = Error::new(SqlState::INVALID_PARAMETER_VALUE, message);
            return Err(error.with_hint("Object keys should be text."));
        }
        write_key(key, context, &mut out)?;
        out.push_str(" : ");
        write_value(value, context, &mut out);
    }
    out.push('}');
    made(out)
}

fn build_object_binary(args: &[Value], context: &EvalContext) -> Result<Value> {
    let mut out = JsonBuilder::default();
    out.begin_object()?;
    for (at, [key, value]) in by_turns(args, "jsonb_build_object")?.iter().enumerate() {
        if key.is_null() {
            return refuse(format!("argument {}: key must not be null", 2 * at + 1));
        }
        push_key(key, context, &mut out)?;
        push_value(value, context, &mut out)?;
    }
    out.end()?;
    out.finish().map(Value::Jsonb)
}

/// The pairs of `json_object`: of one array by turns or in rows of two, or of an array of keys and one of values.
fn pairs_of(args: &[Value]) -> Result<Vec<[&Value; 2]>> {
    let wrong = |message: &str| Err(Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message));
    let pairs = match args {
        [Value::Array(array)] => match array.dimensions() {
            [] => vec![],
            [only] if only.length % 2 == 1 => return wrong("array must have even number of elements"),
            [_] | [_, crate::types::Dimension { length: 2, .. }] => {
                array.values().as_chunks::<2>().0.iter().map(|[key, value]| [key, value]).collect()
            }
            [_, _] => return wrong("array must have two columns"),
            _ => return wrong("wrong number of array subscripts"),
        },
        [Value::Array(keys), Value::Array(values)] => {
            let line = |array: &Array| array.dimensions().len() <= 1;
            if !line(keys) || keys.dimensions().len() != values.dimensions().len() {
                return wrong("wrong number of array subscripts");
            }
            if keys.values().len() != values.values().len() {
                return wrong("mismatched array dimensions");
            }
            keys.values().iter().zip(values.values()).map(|(key, value)| [key, value]).collect()
        }
        _ => return Err(wrong_arguments(args)),
    };
    if pairs.iter().any(|[key, _]| key.is_null()) {
        return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, "null value not allowed for object key"));
    }
    Ok(pairs)
}

fn object_text(pairs: &[[&Value; 2]]) -> Result<Value> {
    let mut out = "{".to_owned();
    for (at, [key, value]) in pairs.iter().enumerate() {
        out.push_str(if at == 0 { "" } else { ", " });
        write_quoted(key.as_str().unwrap_or_default(), &mut out);
        out.push_str(" : ");
        match value.as_str() {
            Some(text) => write_quoted(text, &mut out),
            None => out.push_str("null"),
        }
    }
    out.push('}');
    made(out)
}

fn object_binary(pairs: &[[&Value; 2]], context: &EvalContext) -> Result<Value> {
    let mut out = JsonBuilder::default();
    out.begin_object()?;
    for [key, value] in pairs {
        out.key(key.as_str().unwrap_or_default());
        push_value(value, context, &mut out)?;
    }
    out.end()?;
    out.finish().map(Value::Jsonb)
}
