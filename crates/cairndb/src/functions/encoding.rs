//! `convert_to`, `convert_from`: texts in another encoding's bytes.

use super::catalogue::Catalogue;
use super::support::{call, check_length, invalid_parameter};
use crate::Result;
use crate::types::{DataType, Encoding, Value, has_zero_byte, utf8};

const TEXT: DataType = DataType::Text;

pub(super) fn register(catalogue: &mut Catalogue) {
    catalogue
        .add("convert_to", &[TEXT, TEXT], DataType::Bytea, call!((Text a, Text name) convert_to(a, name)))
        .stable_in_name();
    catalogue
        .add("convert_from", &[DataType::Bytea, TEXT], TEXT, call!((Bytea a, Text name) convert_from(a, name)))
        .stable_in_name();
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
