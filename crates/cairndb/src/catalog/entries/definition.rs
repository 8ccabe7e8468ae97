//! Texts that are SQL, and what they refer to.

use crate::Result;
use crate::catalog::codec::{self, Fields, Writer};
use crate::catalog::schema::{KeyExpression, ObjectId, RowExpression};
use crate::catalog::user_types::Types;
use crate::catalog::{Definition, KnownColumn, Reference};
use crate::types::DataType;

/// A definition as two fields: its text, and what it refers to.
pub(in crate::catalog) fn encode_definition(definition: &Definition, (text, references): (u8, u8), w: &mut Writer) {
    w.text(text, &definition.text);
    if let Some(all) = &definition.references {
        w.record(references, |w| all.iter().for_each(|reference| w.record(1, |w| encode_reference(reference, w))));
    }
}

pub(super) fn encode_reference(reference: &Reference, w: &mut Writer) {
    w.number(1, reference.place.into());
    w.number(2, reference.object.0.into());
    for column in &reference.columns {
        w.record(3, |w| {
            w.number(1, column.number.into());
            w.text(2, &column.name);
            w.flag(3, column.used);
        });
    }
    w.flag(4, reference.by_key);
    w.text(5, &reference.schema);
}

pub(in crate::catalog) fn decode_references(bytes: &[u8]) -> Result<Option<Vec<Reference>>> {
    let mut references = Vec::new();
    let mut fields = Fields::record(bytes);
    while let Some((tag, value)) = fields.next()? {
        if tag == 1 {
            references.push(decode_reference(value)?);
        }
    }
    Ok(Some(references))
}

pub(super) fn decode_reference(bytes: &[u8]) -> Result<Reference> {
    let (object, schema) = (ObjectId(0), String::from("public"));
    let mut reference = Reference { place: 0, object, schema, columns: Vec::new(), by_key: false };
    let mut fields = Fields::record(bytes);
    while let Some((tag, value)) = fields.next()? {
        match tag {
            1 => reference.place = codec::number(value)?,
            2 => reference.object = ObjectId(codec::number(value)?),
            3 => reference.columns.push(decode_known_column(value)?),
            4 => reference.by_key = true,
            5 => reference.schema = codec::text(value)?,
            _ => {}
        }
    }
    Ok(reference)
}

pub(in crate::catalog) fn decode_known_column(bytes: &[u8]) -> Result<KnownColumn> {
    let mut column = KnownColumn { number: 0, name: String::new(), used: false };
    let mut fields = Fields::record(bytes);
    while let Some((tag, value)) = fields.next()? {
        match tag {
            1 => column.number = codec::number(value)?,
            2 => column.name = codec::text(value)?,
            3 => column.used = true,
            _ => {}
        }
    }
    Ok(column)
}

/// An expression as three fields: its text, what that refers to, and its columns.
pub(super) fn encode_row_expression(
    expression: &RowExpression,
    (text, references, columns): (u8, u8, u8),
    w: &mut Writer,
) {
    encode_definition(&expression.definition, (text, references), w);
    expression.columns.iter().for_each(|&column| w.number(columns, column.into()));
}

pub(super) fn decode_row_expression(bytes: &[u8], types: &Types) -> Result<KeyExpression> {
    let mut key = KeyExpression { column: 0, data_type: DataType::Unknown, expression: RowExpression::default() };
    let mut fields = Fields::record(bytes);
    while let Some((tag, value)) = fields.next()? {
        match tag {
            1 => key.column = codec::number(value)?,
            2 => key.data_type = codec::data_type(value, types)?,
            3 => key.expression.definition.text = codec::text(value)?,
            4 => key.expression.definition.references = decode_references(value)?,
            5 => key.expression.columns.push(codec::number(value)?),
            _ => {}
        }
    }
    Ok(key)
}
