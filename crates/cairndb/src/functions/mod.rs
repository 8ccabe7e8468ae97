//! Scalar functions and operators over [`Value`]s, and the catalogue from which binding chooses overloads.

use crate::types::{DataType, Value};
use crate::{Error, Result};

/// What a function may depend on besides its arguments.
#[derive(Clone, Debug)]
pub struct EvalContext {
    /// The transaction's start: what `now()` and `current_date` say. Microseconds since 2000-01-01 UTC.
    pub transaction_timestamp: i64,
    /// The statement's start, for `statement_timestamp()`.
    pub statement_timestamp: i64,
    /// IANA name of the session's time zone.
    pub time_zone: Box<str>,
}

/// A scalar function or operator, resolved for exact argument types (PostgreSQL's `pg_proc` row).
/// Operators are functions named by their symbol: `+`, `||`, `=`, `<=`, `~~` (LIKE), `~~*` (ILIKE), unary minus `-`.
pub struct Function {
    pub name: &'static str,
    pub args: &'static [DataType],
    /// The last argument type repeats (`concat`, `coalesce` is not a function but an `Expr`).
    pub variadic: bool,
    pub returns: DataType,
    /// NULL in, NULL out, without a call.
    pub strict: bool,
    /// May be folded at plan time (same arguments, same answer).
    pub immutable: bool,
    pub eval: fn(&[Value], &EvalContext) -> Result<Value>,
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{:?}", self.name, self.args)
    }
}

/// All overloads of `name` (lower case).
pub fn overloads(_name: &str) -> &'static [Function] {
    &[]
}

/// An aggregate, resolved for exact argument types.
pub struct Aggregate {
    pub name: &'static str,
    pub args: &'static [DataType],
    pub returns: DataType,
    /// A fresh accumulator.
    pub start: fn() -> Box<dyn Accumulator>,
}

impl std::fmt::Debug for Aggregate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{:?}", self.name, self.args)
    }
}

/// Folds the rows of one group. (`exec` has kernels of its own for common aggregates over typed vectors.)
pub trait Accumulator: Send {
    /// One row's arguments; aggregates skip NULLs themselves where SQL says so.
    fn update(&mut self, args: &[Value]) -> Result<()>;
    fn finish(&mut self) -> Result<Value>;
}

pub fn aggregate_overloads(_name: &str) -> &'static [Aggregate] {
    &[]
}

/// Converts a value, as an explicit `CAST` would.
pub fn cast(_value: &Value, _from: DataType, _to: DataType, _context: &EvalContext) -> Result<Value> {
    Err(Error::unsupported("cast"))
}
