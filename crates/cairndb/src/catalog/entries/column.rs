//! Columns of tables, and those that were dropped.

use super::definition::{decode_references, decode_row_expression, encode_definition, encode_row_expression};
use crate::Result;
use crate::catalog::Definition;
use crate::catalog::codec::{self, Fields, Writer};
use crate::catalog::schema::{Column, DroppedColumn, Identity, ObjectId};
use crate::catalog::user_types::Types;
use crate::types::DataType;
use crate::types::row::decode_raw;

pub(super) fn encode_column(column: &Column, w: &mut Writer) {
    w.text(1, &column.name);
    w.data_type(2, column.data_type);
    w.flag(3, column.not_null);
    if let Some(default) = &column.default {
        encode_definition(default, (4, 8), w);
    }
    if let Some(identity) = column.identity {
        w.number(5, identity.sequence.0.into());
        w.flag(6, identity.always);
    }
    w.number(7, column.number.into());
    if column.since > 0 {
        w.number(9, column.since.into());
    }
    if let Some(missing) = &column.missing {
        w.bytes(10, missing);
    }
    if let Some(domain) = column.domain {
        w.number(12, domain.0.into());
    }
    if let Some(generated) = &column.generated {
        w.record(11, |w| encode_row_expression(generated, (3, 4, 5), w));
    }
    w.flag(13, column.is_virtual);
}

pub(super) fn encode_dropped(column: &DroppedColumn, w: &mut Writer) {
    w.number(1, column.number.into());
    w.data_type(2, column.data_type);
    w.number(3, column.since.into());
    w.number(4, column.until.into());
}

pub(super) fn decode_dropped(bytes: &[u8], types: &Types) -> Result<DroppedColumn> {
    let mut column = DroppedColumn { number: 0, data_type: DataType::Unknown, since: 0, until: 0 };
    let mut fields = Fields::record(bytes);
    while let Some((tag, value)) = fields.next()? {
        match tag {
            1 => column.number = codec::number(value)?,
            2 => column.data_type = codec::data_type(value, types)?,
            3 => column.since = codec::number(value)?,
            4 => column.until = codec::number(value)?,
            _ => {}
        }
    }
    Ok(column)
}

pub(super) fn decode_column(bytes: &[u8], types: &Types) -> Result<Column> {
    let mut column = Column::new(0, String::new(), DataType::Unknown);
    let (mut sequence, mut always, mut references) = (None, false, None);
    let mut fields = Fields::record(bytes);
    while let Some((tag, value)) = fields.next()? {
        match tag {
            1 => column.name = codec::text(value)?,
            2 => column.data_type = codec::data_type(value, types)?,
            3 => column.not_null = true,
            4 => column.default = Some(Definition { text: codec::text(value)?, references: None }),
            5 => sequence = Some(ObjectId(codec::number(value)?)),
            6 => always = true,
            7 => column.number = codec::number(value)?,
            8 => references = decode_references(value)?,
            9 => column.since = codec::number(value)?,
            10 => column.missing = Some(value.into()),
            11 => column.generated = Some(decode_row_expression(value, types)?.expression),
            12 => column.domain = Some(ObjectId(codec::number(value)?)),
            13 => column.is_virtual = true,
            _ => {}
        }
    }
    if let Some(default) = &mut column.default {
        default.references = references;
    }
    if let Some(missing) = &column.missing {
        decode_raw(missing, column.data_type)?;
    }
    column.identity = sequence.map(|sequence| Identity { always, sequence });
    Ok(column)
}
