//! Table statistics as bytes. Values are stored as rows of one column of the column's type. What is kept of an expression says
//! of which type it is: under the same numbers there may be another by now, of which nothing is known then.

use super::codec::{self, Fields, Writer, encode_type};
use super::schema::{ColumnStatistics, ExpressionStatistics, ObjectId, Table, TableStatistics};
use super::version::Version;
use crate::types::DataType;
use crate::types::row::RowLayout;
use crate::{Result, Value};

pub(super) fn encode(statistics: &TableStatistics, types: &[DataType]) -> Vec<u8> {
    let mut w = Writer::entry(Version::Plain);
    w.float(1, statistics.rows);
    for (column, &data_type) in statistics.columns.iter().zip(types) {
        w.record(2, |w| encode_column(column, data_type, w));
    }
    for ExpressionStatistics { key: (index, column), data_type, found } in &statistics.expressions {
        w.record(3, |w| {
            w.number(1, index.0.into());
            w.number(2, *column as u64);
            w.bytes(3, &encode_type(*data_type, false));
            w.record(4, |w| encode_column(found, *data_type, w));
        });
    }
    w.finish()
}

pub(super) fn decode(bytes: &[u8], table: &Table) -> Result<TableStatistics> {
    let mut statistics = TableStatistics::default();
    let mut types = table.columns.iter().map(|column| column.data_type);
    let mut fields = Fields::entry(bytes)?;
    while let Some((tag, value)) = fields.next()? {
        match tag {
            1 => statistics.rows = codec::float(value)?,
            2 => {
                let Some(data_type) = types.next() else { continue };
                statistics.columns.push(decode_column(value, data_type)?);
            }
            3 => statistics.expressions.extend(decode_expression(value, table)?),
            _ => {}
        }
    }
    Ok(statistics)
}

/// `None`: the table has no such expression any more.
fn decode_expression(bytes: &[u8], table: &Table) -> Result<Option<ExpressionStatistics>> {
    let (mut key, mut of, mut found) = ((ObjectId(0), 0), &[][..], &[][..]);
    let mut fields = Fields::record(bytes);
    while let Some((tag, value)) = fields.next()? {
        match tag {
            1 => key.0 = ObjectId(codec::number(value)?),
            2 => key.1 = codec::number(value)?,
            3 => of = value,
            4 => found = value,
            _ => {}
        }
    }
    let index = table.indexes.iter().find(|index| index.id == key.0);
    let expression = index.and_then(|index| index.expressions.iter().find(|expression| expression.column == key.1));
    let data_type = expression.map(|expression| expression.data_type);
    let Some(data_type) = data_type.filter(|data_type| encode_type(*data_type, false) == of) else { return Ok(None) };
    Ok(Some(ExpressionStatistics { key, data_type, found: decode_column(found, data_type)? }))
}

fn encode_value(value: &Value, data_type: DataType) -> Vec<u8> {
    let mut bytes = Vec::new();
    RowLayout::new(&[data_type]).encode(std::slice::from_ref(value), &mut bytes);
    bytes
}

fn encode_column(column: &ColumnStatistics, data_type: DataType, w: &mut Writer) {
    w.float(1, column.null_fraction);
    w.float(2, column.distinct);
    w.float(3, column.average_width);
    for (value, fraction) in &column.most_common {
        w.bytes(4, &encode_value(value, data_type));
        w.float(5, *fraction);
    }
    for value in &column.histogram {
        w.bytes(6, &encode_value(value, data_type));
    }
}

fn decode_column(bytes: &[u8], data_type: DataType) -> Result<ColumnStatistics> {
    let layout = RowLayout::new(&[data_type]);
    let mut column = ColumnStatistics::default();
    let mut fields = Fields::record(bytes);
    while let Some((tag, value)) = fields.next()? {
        match tag {
            1 => column.null_fraction = codec::float(value)?,
            2 => column.distinct = codec::float(value)?,
            3 => column.average_width = codec::float(value)?,
            4 => column.most_common.push((layout.decode_column(value, 0)?, 0.0)),
            5 => {
                if let Some(last) = column.most_common.last_mut() {
                    last.1 = codec::float(value)?;
                }
            }
            6 => column.histogram.push(layout.decode_column(value, 0)?),
            _ => {}
        }
    }
    Ok(column)
}
