//! Table statistics as bytes. Values are stored as rows of one column of the column's type.

use super::codec::{self, Fields, Writer};
use super::schema::{ColumnStatistics, TableStatistics};
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
    w.finish()
}

pub(super) fn decode(bytes: &[u8], types: &[DataType]) -> Result<TableStatistics> {
    let mut statistics = TableStatistics::default();
    let mut types = types.iter();
    let mut fields = Fields::entry(bytes)?;
    while let Some((tag, value)) = fields.next()? {
        match tag {
            1 => statistics.rows = codec::float(value)?,
            2 => {
                let Some(&data_type) = types.next() else { continue };
                statistics.columns.push(decode_column(value, data_type)?);
            }
            _ => {}
        }
    }
    Ok(statistics)
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
