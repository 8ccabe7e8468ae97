//! Values of rows of which only is known that they are a `record`, as temporary files have them: each row says of which type it is.
//! The number of a type holds for the process, as these files do.

use super::{Composite, CompositeType};
use crate::Result;
use crate::types::row::{corrupted, decode_length, decode_raw, encode_length, encode_value_raw};
use crate::types::{Array, DataType, Dimension, Value, ValueRef};

/// Whether values of the type may be of types that it does not say.
pub(crate) fn is_open(data_type: DataType) -> bool {
    match data_type {
        DataType::Composite(of) => {
            let attributes = of.attributes();
            of.is_record() && attributes.is_empty() || attributes.iter().any(|attribute| is_open(attribute.data_type))
        }
        DataType::Array(element) => is_open(element.data_type()),
        _ => false,
    }
}

/// Appends a value of such a type, or of one of its parts.
pub(crate) fn write_open(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Composite(row) => {
            encode_length(row.of().number() as usize, out);
            row.values().iter().for_each(|value| write_part(value, out));
        }
        Value::Array(array) if is_open(array.element()) => {
            encode_length(array.dimensions().len(), out);
            for dimension in array.dimensions() {
                out.extend_from_slice(&dimension.lower.to_le_bytes());
                encode_length(dimension.length, out);
            }
            array.values().iter().for_each(|value| write_part(value, out));
        }
        value => encode_value_raw(ValueRef::from(value), out),
    }
}

fn write_part(value: &Value, out: &mut Vec<u8>) {
    if value.is_null() {
        return out.push(0);
    }
    let mut bytes = Vec::new();
    write_open(value, &mut bytes);
    out.push(1);
    encode_length(bytes.len(), out);
    out.extend_from_slice(&bytes);
}

/// Reads what [`write_open`] wrote of a value of this type.
pub(crate) fn read_open(bytes: &[u8], data_type: DataType) -> Result<Value> {
    let (value, rest) = match data_type {
        DataType::Composite(_) => {
            let (number, mut rest) = decode_length(bytes)?;
            let of = u32::try_from(number).ok().and_then(CompositeType::from_number).ok_or_else(corrupted)?;
            let mut values = Vec::with_capacity(of.attributes().len());
            for attribute in of.attributes() {
                values.push(read_part(&mut rest, attribute.data_type)?);
            }
            (Composite::new(of, values).into(), rest)
        }
        DataType::Array(element) if is_open(element.data_type()) => {
            let (count, mut rest) = decode_length(bytes)?;
            let mut dimensions = Vec::new();
            for _ in 0..count {
                let (lower, behind) = rest.split_first_chunk().ok_or_else(corrupted)?;
                let (length, behind) = decode_length(behind)?;
                rest = behind;
                dimensions.push(Dimension { lower: i32::from_le_bytes(*lower), length });
            }
            let length = match dimensions.as_slice() {
                [] => 0,
                dimensions => {
                    dimensions.iter().try_fold(1_usize, |all, of| all.checked_mul(of.length)).ok_or_else(corrupted)?
                }
            };
            let mut values = Vec::new();
            for _ in 0..length {
                values.push(read_part(&mut rest, element.data_type())?);
            }
            (Array::with_dimensions(element.data_type(), &dimensions, values).map_err(|_| corrupted())?.into(), rest)
        }
        data_type => return decode_raw(bytes, data_type),
    };
    if rest.is_empty() { Ok(value) } else { Err(corrupted()) }
}

fn read_part(bytes: &mut &[u8], data_type: DataType) -> Result<Value> {
    let (is_there, rest) = bytes.split_first().ok_or_else(corrupted)?;
    *bytes = rest;
    if *is_there == 0 {
        return Ok(Value::Null);
    }
    let (length, rest) = decode_length(rest)?;
    let (part, rest) = rest.split_at_checked(length).ok_or_else(corrupted)?;
    *bytes = rest;
    read_open(part, data_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_no_known_type_come_back_as_they_were() {
        let record = |attributes: &[(&str, DataType)]| {
            CompositeType::record(attributes.iter().map(|(name, of)| ((*name).to_owned(), *of))).unwrap()
        };
        let any = DataType::Composite(CompositeType::any_record().unwrap());
        let inner = record(&[("a", DataType::Integer), ("b", DataType::Text)]);
        let row: Value = Composite::new(inner, vec![Value::Integer(7), Value::Null]).into();
        let outer = record(&[("f1", any), ("f2", any)]);
        let nested: Value = Composite::new(outer, vec![row.clone(), Value::Null]).into();
        let dimensions = [Dimension { lower: -1, length: 2 }];
        let array: Value = Array::with_dimensions(any, &dimensions, vec![row.clone(), nested.clone()]).unwrap().into();
        let all = [(row, any), (nested, DataType::Composite(outer)), (array, any.array().unwrap())];
        for (value, data_type) in all {
            assert!(is_open(data_type));
            let mut bytes = Vec::new();
            write_open(&value, &mut bytes);
            let back = read_open(&bytes, data_type).unwrap();
            assert_eq!(format!("{back:?}"), format!("{value:?}"));
            (0..bytes.len()).for_each(|length| drop(read_open(&bytes[..length], data_type)));
        }
        assert!(!is_open(DataType::Composite(inner)) && !is_open(DataType::Integer));
    }
}
