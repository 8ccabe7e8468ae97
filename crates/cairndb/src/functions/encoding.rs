//! `convert_to`, `convert_from`: texts in another encoding's bytes; `unistr`: characters by their numbers.

use cairn_parser::token::{Pair, paired};

use super::catalogue::Catalogue;
use super::support::{call, check_length, invalid_parameter};
use crate::types::{DataType, Encoding, Value, has_zero_byte, utf8};
use crate::{Error, Result, SqlState};

const TEXT: DataType = DataType::Text;

pub(super) fn register(catalogue: &mut Catalogue) {
    catalogue
        .add("convert_to", &[TEXT, TEXT], DataType::Bytea, call!((Text a, Text name) convert_to(a, name)))
        .stable_in_name();
    catalogue
        .add("convert_from", &[DataType::Bytea, TEXT], TEXT, call!((Bytea a, Text name) convert_from(a, name)))
        .stable_in_name();
    catalogue.add("unistr", &[TEXT], TEXT, call!((Text a) unistr(a)));
}

fn encoding(name: &str, which: &str) -> Result<Encoding> {
    Encoding::of(name).ok_or_else(|| invalid_parameter(format!("invalid {which} encoding name \"{name}\"")))
}

fn convert_to(text: &str, name: &str) -> Result<Value> {
    let bytes = match encoding(name, "destination")?.encoder()? {
        None => text.as_bytes().to_vec(),
        Some(mut encoder) => {
            let mut bytes = Vec::new();
            encoder.encode(text, &mut bytes)?;
            bytes
        }
    };
    Ok(Value::Bytea(bytes.into()))
}

fn convert_from(bytes: &[u8], name: &str) -> Result<Value> {
    let encoding = encoding(name, "source")?;
    let Some(mut decoder) = encoding.decoder()? else { return utf8(bytes).map(Value::text) };
    if has_zero_byte(bytes) {
        return Err(encoding.invalid(&[0]));
    }
    // (No byte becomes more than three.)
    check_length(bytes.len() * 3)?;
    let mut text = String::new();
    decoder.decode(bytes, true, &mut text)?;
    Ok(Value::from(text))
}

/// Each escape as its character: a backslash and four hexadecimal digits, `u` and four, `+` and six, `U` and eight, or another backslash.
/// SQLSTATE 42601, 22023.
fn unistr(text: &str) -> Result<Value> {
    let wrong = |message: String| Error::new(SqlState::SYNTAX_ERROR, message);
    let no_escape = || {
        let hint = "Unicode escapes must be \\XXXX, \\+XXXXXX, \\uXXXX, or \\UXXXXXXXX.";
        wrong("invalid Unicode escape".to_owned()).with_hint(hint)
    };
    let no_pair = || wrong("invalid Unicode surrogate pair".to_owned());
    let (mut rest, mut made, mut high) = (text, String::with_capacity(text.len()), None);
    while let Some(at) = rest.find('\\') {
        if high.is_some() && at > 0 {
            return Err(no_pair());
        }
        made.push_str(&rest[..at]);
        let escape = &rest[at + 1..];
        if let Some(behind) = escape.strip_prefix('\\') {
            if high.is_some() {
                return Err(no_pair());
            }
            made.push('\\');
            rest = behind;
            continue;
        }
        let (marks, length) = match escape.as_bytes().first() {
            Some(b'u') => (1, 4),
            Some(b'+') => (1, 6),
            Some(b'U') => (1, 8),
            _ => (0, 4),
        };
        let digits = escape.get(marks..marks + length);
        let digits = digits.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let number = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()).ok_or_else(no_escape)?;
        rest = &escape[marks + length..];
        match paired(number, &mut high) {
            Pair::Whole(character) => made.push(character),
            Pair::Half => {}
            Pair::Wrong => return Err(no_pair()),
            Pair::NoCharacter => return Err(invalid_parameter(format!("invalid Unicode code point: {number:04X}"))),
        }
    }
    if high.is_some() {
        return Err(no_pair());
    }
    made.push_str(rest);
    Ok(Value::from(made))
}
