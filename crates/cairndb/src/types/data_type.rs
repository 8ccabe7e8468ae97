//! The SQL types.

/// A SQL type with its modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DataType {
    Boolean,
    SmallInt,
    Integer,
    BigInt,
    Real,
    Double,
    /// `numeric(precision, scale)`; `None`: unconstrained.
    Numeric(Option<(u16, i16)>),
    Text,
    /// `varchar(n)`; `None`: unlimited.
    Varchar(Option<u32>),
    /// `char(n)`, blank-padded; trailing blanks are insignificant.
    Char(u32),
    Bytea,
    Date,
    Time,
    Timestamp,
    TimestampTz,
    Interval,
    Uuid,
    /// A literal or parameter whose type context has yet to decide. Never a column's type.
    Unknown,
}
