//! What an aggregate answers, from the counters that commits keep of a group ([`crate::plan::Groups`]).
//!
//! These functions have no names that statements could call them by: they stand in the plans of materialized views that are
//! maintained. Their arguments: the counters, which of them the aggregate's begin with, and a number that each has its own use for.

use std::sync::{Arc, LazyLock};

use cairn_storage::{OVERFLOWED, counters};

use super::catalogue::{Eval, Function, Kernel};
use super::support::{out_of_range, wrong_arguments};
use crate::types::{DataType, EvalContext, Numeric};
use crate::{Error, Result, Value};

/// Which counters an aggregate has, one behind the other, and how it answers from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tally {
    /// How many rows there are.
    Count,
    /// How many values there are, and the sum of these integers, as `bigint`.
    IntegerSum,
    /// The same as `numeric`.
    BigIntSum,
    /// The mean of the same.
    IntegerMean,
    /// How many values there are, how many of them are NaN, and the sum of the others, in units of a number of digits behind
    /// the point.
    DecimalSum,
    /// The mean of the same.
    DecimalMean,
}

const DECIMAL: DataType = DataType::Numeric(None);

impl Tally {
    /// How many counters it has.
    pub(crate) fn width(self) -> usize {
        match self {
            Tally::Count => 1,
            Tally::IntegerSum | Tally::BigIntSum | Tally::IntegerMean => 2,
            Tally::DecimalSum | Tally::DecimalMean => 3,
        }
    }

    /// The function that answers. The last argument: what is taken from a count; the digits behind the point of decimals.
    pub(crate) fn function(self) -> Arc<Function> {
        static ALL: LazyLock<[Arc<Function>; 6]> = LazyLock::new(|| {
            [
                function("count", DataType::BigInt, count),
                function("sum", DataType::BigInt, integer_sum),
                function("sum", DECIMAL, big_integer_sum),
                function("avg", DECIMAL, integer_mean),
                function("sum", DECIMAL, decimal_sum),
                function("avg", DECIMAL, decimal_mean),
            ]
        });
        ALL[self as usize].clone()
    }
}

fn function(name: &'static str, returns: DataType, eval: Eval) -> Arc<Function> {
    let args = [DataType::Bytea, DataType::Integer, DataType::Integer];
    Arc::new(Function::new(name, args, returns, Kernel::Plain(eval)))
}

/// `N` counters, and the last argument. SQLSTATE XX001 for bytes that have not so many.
fn read<const N: usize>(args: &[Value]) -> Result<([i128; N], i32)> {
    let [Value::Bytea(bytes), Value::Integer(at), Value::Integer(last)] = args else {
        return Err(wrong_arguments(args));
    };
    let damaged = || Error::damaged("the counters of a group are damaged");
    let mut found = [0; N];
    let mut all = counters(bytes, 0).ok_or_else(damaged)?.skip(usize::try_from(*at).map_err(|_| damaged())?);
    for counter in &mut found {
        *counter = all.next().ok_or_else(damaged)?;
    }
    Ok((found, *last))
}

fn bigint(counter: i128) -> Result<i64> {
    i64::try_from(counter).map_err(|_| out_of_range("bigint"))
}

fn decimal(counter: i128, scale: i32) -> Result<Numeric> {
    match counter {
        OVERFLOWED => Err(out_of_range("the sum of a group")),
        counter => Ok(Numeric::from_i128(counter, u16::try_from(scale).unwrap_or_default())),
    }
}

fn count(args: &[Value], _: &EvalContext) -> Result<Value> {
    let ([rows], less) = read(args)?;
    bigint(rows - i128::from(less)).map(Value::BigInt)
}

fn integer_sum(args: &[Value], _: &EvalContext) -> Result<Value> {
    match read(args)? {
        ([0, _], _) => Ok(Value::Null),
        ([_, sum], _) => bigint(sum).map(Value::BigInt),
    }
}

fn big_integer_sum(args: &[Value], _: &EvalContext) -> Result<Value> {
    match read(args)? {
        ([0, _], _) => Ok(Value::Null),
        ([_, sum], _) => decimal(sum, 0).map(Value::Numeric),
    }
}

fn integer_mean(args: &[Value], _: &EvalContext) -> Result<Value> {
    match read(args)? {
        ([0, _], _) => Ok(Value::Null),
        ([count, sum], _) => mean(&decimal(sum, 0)?, count),
    }
}

fn decimal_sum(args: &[Value], _: &EvalContext) -> Result<Value> {
    match read(args)? {
        ([0, _, _], _) => Ok(Value::Null),
        ([_, 0, sum], scale) => decimal(sum, scale).map(Value::Numeric),
        _ => Ok(Value::Numeric(Numeric::NAN)),
    }
}

fn decimal_mean(args: &[Value], _: &EvalContext) -> Result<Value> {
    match read(args)? {
        ([0, _, _], _) => Ok(Value::Null),
        ([count, 0, sum], scale) => mean(&decimal(sum, scale)?, count),
        _ => Ok(Value::Numeric(Numeric::NAN)),
    }
}

fn mean(sum: &Numeric, count: i128) -> Result<Value> {
    sum.div(&Numeric::from_i128(count, 0)).map(Value::Numeric)
}
