//! Type names.

use super::{Expr, Name};
use crate::tree::{Id, List, scalar, syntax};

syntax! {
    family 11;
    /// A type's name with all that belongs to it.
    pub struct TypeName {
        /// The type, where the grammar knows it.
        base: BaseType,
        /// The name, where `base` is [`BaseType::Named`].
        names: List<Name>,
        /// `(10, 2)`
        modifiers: List<Expr>,
        /// The fields of an interval.
        fields: Option<IntervalFields>,
        /// `[]`, `[3][]`, `ARRAY`
        bounds: List<ArrayBound>,
        /// `SETOF`
        set_of: bool,
        /// `names%TYPE`, in a function's signature.
        of_column: bool,
    }
}

scalar! {
    /// The types that have words of their own in the grammar.
    pub enum BaseType {
        /// Any other.
        Named,
        Integer,
        SmallInt,
        BigInt,
        Real,
        /// `FLOAT`, `FLOAT (n)`
        Float,
        DoublePrecision,
        /// `NUMERIC`, `DECIMAL`, `DEC`
        Numeric,
        Boolean,
        Bit,
        BitVarying,
        /// `CHAR`, `CHARACTER`, `NCHAR`; without a length it is of length 1.
        Character,
        /// `VARCHAR`, `CHARACTER VARYING`
        CharacterVarying,
        Time,
        TimeWithTimeZone,
        Timestamp,
        TimestampWithTimeZone,
        Interval,
    }
}

scalar! {
    /// Which fields an interval keeps.
    pub enum IntervalFields {
        Year,
        Month,
        Day,
        Hour,
        Minute,
        Second,
        YearToMonth,
        DayToHour,
        DayToMinute,
        DayToSecond,
        HourToMinute,
        HourToSecond,
        MinuteToSecond,
    }
}

syntax! {
    family 12;
    /// `[]` or `[3]`
    pub struct ArrayBound { size: Option<Id<Expr>> }
}
