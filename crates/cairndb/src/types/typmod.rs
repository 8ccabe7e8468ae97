//! PostgreSQL's `typmod`: what its catalog and its protocol say of a type's modifiers.

use super::DataType;
use super::datetime::IntervalLimit;

/// What a length and a precision are counted from.
const HEADER: i32 = 4;

impl DataType {
    /// PostgreSQL's modifier of the type (`atttypmod`), an array's its elements'; -1: it has none.
    ///
    /// ```
    /// use cairndb::DataType;
    ///
    /// assert_eq!(DataType::Varchar(Some(20)).type_modifier(), 24);
    /// assert_eq!(DataType::Integer.type_modifier(), -1);
    /// ```
    pub fn type_modifier(self) -> i32 {
        match self.element().unwrap_or(self) {
            DataType::Varchar(Some(length)) | DataType::Char(length @ 1..) => {
                i32::try_from(length).unwrap_or(-1) + HEADER
            }
            DataType::Numeric(Some((precision, scale))) => {
                (i32::from(precision) << 16 | i32::from(scale) & 0x7ff) + HEADER
            }
            DataType::Time(Some(digits))
            | DataType::TimeTz(Some(digits))
            | DataType::Timestamp(Some(digits))
            | DataType::TimestampTz(Some(digits)) => digits.into(),
            DataType::Interval(Some(limit)) => limit.modifier(),
            _ => -1,
        }
    }

    /// The type with this modifier, which is -1 or `None` where it has none.
    pub(crate) fn with_typmod(self, modifier: Option<i32>) -> DataType {
        let Some(modifier @ 0..) = modifier else { return self };
        let digits = u8::try_from(modifier).ok();
        match self {
            DataType::Time(_) => return DataType::Time(digits),
            DataType::TimeTz(_) => return DataType::TimeTz(digits),
            DataType::Timestamp(_) => return DataType::Timestamp(digits),
            DataType::TimestampTz(_) => return DataType::TimestampTz(digits),
            DataType::Interval(_) => return DataType::Interval(IntervalLimit::of_modifier(modifier)),
            _ if modifier < HEADER => return self,
            _ => {}
        }
        let modifier = modifier - HEADER;
        match self {
            DataType::Varchar(_) => DataType::Varchar(Some(modifier.unsigned_abs())),
            DataType::Char(_) => DataType::Char(modifier.unsigned_abs()),
            DataType::Numeric(_) => {
                let scale = (((modifier & 0x7ff) ^ 1024) - 1024) as i16;
                DataType::Numeric(Some(((modifier >> 16) as u16, scale)))
            }
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::TYPES;

    #[test]
    fn modifiers_are_read_as_they_are_written() {
        let with = [
            DataType::Varchar(Some(1)),
            DataType::Varchar(Some(10_485_760)),
            DataType::Char(7),
            DataType::Numeric(Some((1000, -1000))),
            DataType::Numeric(Some((3, 1000))),
            DataType::Time(Some(0)),
            DataType::TimeTz(Some(6)),
            DataType::Timestamp(Some(3)),
            DataType::TimestampTz(Some(6)),
        ];
        for data_type in TYPES.iter().map(|info| info.base).chain(with) {
            assert_eq!(data_type.base().with_typmod(Some(data_type.type_modifier())), data_type, "{data_type:?}");
            let array = data_type.array().expect("any type has one");
            assert_eq!(array.type_modifier(), data_type.type_modifier(), "{data_type:?}");
        }
        assert_eq!(DataType::Numeric(Some((10, 2))).type_modifier(), 655_366);
    }
}
