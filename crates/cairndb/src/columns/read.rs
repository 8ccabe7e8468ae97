//! Values that are read from text, straight to where they lie.

use super::{Data, Vector};
use crate::Result;
use crate::types::datetime::{parse_date, parse_timestamp, parse_timestamptz, round_timestamp};
use crate::types::{DataType, EvalContext, from_text, parse_integer, plain_decimal};

impl Vector {
    /// Appends the value of this vector's type that [`from_text`] reads. Of the types that most columns have none is made in between.
    pub(crate) fn push_text(&mut self, text: &str, context: &EvalContext) -> Result<()> {
        let data_type = self.data_type();
        match (self.data_mut(), data_type) {
            (Data::I16(items), DataType::SmallInt) => items.push(parse_integer(text, "smallint")?),
            (Data::I32(items), DataType::Integer) => items.push(parse_integer(text, "integer")?),
            (Data::I64(items), DataType::BigInt) => items.push(parse_integer(text, "bigint")?),
            (Data::I32(items), DataType::Date) => items.push(parse_date(text, context)?),
            (Data::I64(items), DataType::Timestamp(digits)) => {
                items.push(round_timestamp(parse_timestamp(text, context)?, digits));
            }
            (Data::I64(items), DataType::TimestampTz(digits)) => {
                items.push(round_timestamp(parse_timestamptz(text, context)?, digits));
            }
            (Data::Bytes(strings), DataType::Text | DataType::Varchar(None)) => strings.push(text.as_bytes()),
            (Data::Bytes(strings), DataType::Varchar(Some(limit))) if text.len() <= limit as usize => {
                strings.push(text.as_bytes());
            }
            (Data::Decimal(decimals), DataType::Numeric(limit)) if let Some(plain) = plain_decimal(text, limit) => {
                decimals.push_small(plain.0, plain.1);
            }
            _ => return self.push(&from_text(text, data_type, context)?),
        }
        self.push_valid();
        Ok(())
    }
}
