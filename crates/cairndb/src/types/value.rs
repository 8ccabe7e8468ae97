//! A single SQL value.

/// Scaffold; the types work replaces it with an arbitrary-precision decimal (small values inline).
#[derive(Clone, Debug, PartialEq)]
pub struct Numeric;

/// Months, days and microseconds, kept apart as PostgreSQL does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Interval {
    pub months: i32,
    pub days: i32,
    pub micros: i64,
}

/// A SQL value. `char(n)`, `varchar(n)` and `text` values are all `Text` (char values blank-padded to n).
#[derive(Clone, Debug)]
pub enum Value {
    Null,
    Boolean(bool),
    SmallInt(i16),
    Integer(i32),
    BigInt(i64),
    Real(f32),
    Double(f64),
    Numeric(Numeric),
    Text(Box<str>),
    Bytea(Box<[u8]>),
    /// Days since 2000-01-01.
    Date(i32),
    /// Microseconds since midnight.
    Time(i64),
    /// Microseconds since 2000-01-01 00:00.
    Timestamp(i64),
    /// Microseconds since 2000-01-01 00:00 UTC.
    TimestampTz(i64),
    Interval(Interval),
    Uuid([u8; 16]),
}
