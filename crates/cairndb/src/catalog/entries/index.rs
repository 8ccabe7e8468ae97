//! Indexes of tables.

use cairn_storage::TreeId;

use super::constraint::{decode_deferral, encode_deferral};
use super::definition::{decode_row_expression, encode_row_expression};
use crate::Result;
use crate::catalog::codec::{self, Fields, Writer, corrupt};
use crate::catalog::schema::{EXPRESSIONS, Index, IndexColumn, KeyExpression, ObjectId};
use crate::catalog::user_types::Types;
use crate::inverted::ItemClass;
use crate::types::DataType;

pub(super) fn encode_index(index: &Index, w: &mut Writer) {
    w.number(1, index.id.0.into());
    w.text(2, &index.name);
    w.number(3, index.tree.0.into());
    w.flag(4, index.unique);
    w.flag(5, index.constraint);
    w.flag(9, index.nulls_equal);
    for column in &index.columns {
        w.record(6, |w| {
            w.number(1, column.column as u64);
            w.flag(2, column.descending);
            w.flag(3, column.nulls_first);
        });
    }
    for key in &index.expressions {
        w.record(7, |w| {
            w.number(1, key.column as u64);
            w.data_type(2, key.data_type);
            encode_row_expression(&key.expression, (3, 4, 5), w);
        });
    }
    if let Some(predicate) = &index.predicate {
        w.record(8, |w| encode_row_expression(predicate, (3, 4, 5), w));
    }
    if !index.included.is_empty() {
        w.numbers(10, &index.included);
    }
    if let Some(inverted) = &index.inverted {
        inverted.classes.iter().for_each(|class| w.number(11, class.code()));
    }
    encode_deferral(index.deferral, 12, w);
    w.flag(13, index.primary);
}

pub(super) fn decode_key_expression(bytes: &[u8], types: &Types) -> Result<KeyExpression> {
    let key = decode_row_expression(bytes, types)?;
    if key.column < EXPRESSIONS || key.data_type == DataType::Unknown {
        Err(corrupt("expression of an index"))
    } else {
        Ok(key)
    }
}

pub(super) fn decode_index(bytes: &[u8], types: &Types) -> Result<Index> {
    let mut index = Index::new(TreeId(0), []);
    let mut fields = Fields::record(bytes);
    while let Some((tag, value)) = fields.next()? {
        match tag {
            1 => index.id = ObjectId(codec::number(value)?),
            2 => index.name = codec::text(value)?,
            3 => index.tree = TreeId(codec::number(value)?),
            4 => index.unique = true,
            5 => index.constraint = true,
            6 => index.columns.push(decode_index_column(value)?),
            7 => index.expressions.push(decode_key_expression(value, types)?),
            9 => index.nulls_equal = true,
            8 => index.predicate = Some(decode_row_expression(value, types)?.expression),
            10 => index.included = codec::numbers(value)?,
            11 => {
                let class = ItemClass::of_code(codec::number(value)?).ok_or_else(|| corrupt("class of an index"))?;
                index.inverted.get_or_insert_default().classes.push(class);
            }
            12 => index.deferral = decode_deferral(codec::number(value)?)?,
            13 => index.primary = true,
            _ => {}
        }
    }
    if index.inverted.as_ref().is_some_and(|inverted| inverted.classes.len() != index.columns.len()) {
        return Err(corrupt("classes of an index"));
    }
    Ok(index)
}

pub(super) fn decode_index_column(bytes: &[u8]) -> Result<IndexColumn> {
    let mut column = IndexColumn::ascending(usize::MAX);
    let mut fields = Fields::record(bytes);
    while let Some((tag, value)) = fields.next()? {
        match tag {
            1 => column.column = codec::number(value)?,
            2 => column.descending = true,
            3 => column.nulls_first = true,
            _ => {}
        }
    }
    Ok(column)
}
