//! `array_to_string`, `string_to_array`.

use super::array_of;
use crate::Result;
use crate::functions::catalogue::Catalogue;
use crate::functions::support::{check_length, wrong_arguments};
use crate::functions::{Declared, Function, SetRows};
use crate::types::{Array, DataType, EvalContext, Value, write_text};

const TEXT: DataType = DataType::Text;

pub(super) fn register(catalogue: &mut Catalogue) {
    let text = Declared::Type(TEXT);
    catalogue.add_polymorphic("array_to_string", &[Declared::Array, text], text, join).stable();
    let with_null = [Declared::Array, text, text];
    catalogue.add_polymorphic("array_to_string", &with_null, text, join).called_on_null().stable();
    let texts = TEXT.array().unwrap_or(TEXT);
    static TWO: [DataType; 2] = [TEXT, TEXT];
    static THREE: [DataType; 3] = [TEXT, TEXT, TEXT];
    catalogue.add("string_to_array", &TWO, texts, split).called_on_null();
    catalogue.add("string_to_array", &THREE, texts, split).called_on_null();
    for args in [[text; 3].as_slice(), &[text; 2]] {
        let begin =
            |_: &Function, args: &[Value], _: &EvalContext| Ok(SetRows::of(1, parts(args)?.unwrap_or_default()));
        catalogue.add_rows("string_to_table", args, &[("", text)], begin).called_on_null();
    }
}

fn join(_: &Function, args: &[Value], context: &EvalContext) -> Result<Value> {
    let (array, delimiter, null) = match args {
        [Value::Null, ..] | [_, Value::Null, ..] => return Ok(Value::Null),
        [array, Value::Text(delimiter)] => (array_of(array)?, delimiter, None),
        [array, Value::Text(delimiter), null] => (array_of(array)?, delimiter, null.as_str()),
        _ => return Err(wrong_arguments(args)),
    };
    let mut out = String::new();
    let mut first = true;
    for value in array.values() {
        if value.is_null() && null.is_none() {
            continue;
        }
        if !std::mem::take(&mut first) {
            out.push_str(delimiter);
        }
        match (value, null) {
            (Value::Null, null) => out.push_str(null.unwrap_or_default()),
            (value, _) => write_text(value, context, &mut out),
        }
        check_length(out.len())?;
    }
    Ok(Value::text(out))
}

fn split(args: &[Value], _: &EvalContext) -> Result<Value> {
    Ok(parts(args)?.map_or(Value::Null, |parts| Array::new(TEXT, parts).into()))
}

/// The parts of a text between delimiters; without a text none.
fn parts(args: &[Value]) -> Result<Option<Vec<Value>>> {
    let (text, delimiter, null) = match args {
        [Value::Null, ..] => return Ok(None),
        [Value::Text(text), delimiter] => (text, delimiter.as_str(), None),
        [Value::Text(text), delimiter, null] => (text, delimiter.as_str(), null.as_str()),
        _ => return Err(wrong_arguments(args)),
    };
    let value = |part: &str| if Some(part) == null { Value::Null } else { Value::text(part) };
    let mut buffer = [0; 4];
    let parts = match delimiter {
        _ if text.is_empty() => vec![],
        None => text.chars().map(|c| value(c.encode_utf8(&mut buffer))).collect(),
        Some("") => vec![value(text)],
        Some(delimiter) => text.split(delimiter).map(value).collect(),
    };
    Ok(Some(parts))
}
