//! PostgreSQL's table of precedences, for the parser and the printer.

/// How tightly an operator binds: PostgreSQL's table of precedences, from OR to `::`.
pub(crate) type Power = u8;

/// `OR`
pub(crate) const OR: Power = 1;
/// `AND`
pub(crate) const AND: Power = 2;
/// `NOT`
pub(crate) const NOT: Power = 3;
/// `IS`, `ISNULL`, `NOTNULL`
pub(crate) const IS: Power = 4;
/// `<`, `=` and the like; they do not associate.
pub(crate) const COMPARISON: Power = 5;
/// `BETWEEN`, `IN`, `LIKE`; they do not associate.
pub(crate) const MATCH: Power = 6;
/// Operators that have no level of their own.
pub(crate) const OTHER: Power = 9;
/// `+`, `-`
pub(crate) const SUM: Power = 10;
/// `*`, `/`, `%`
pub(crate) const PRODUCT: Power = 11;
/// `^`
pub(crate) const EXPONENT: Power = 12;
/// `AT TIME ZONE`
pub(crate) const AT: Power = 13;
/// `COLLATE`
pub(crate) const COLLATE: Power = 14;
/// A sign
pub(crate) const SIGN: Power = 15;
/// `::`
pub(crate) const CAST: Power = 18;
/// `OVERLAPS` takes rows only.
pub(crate) const OVERLAPS: Power = 100;
