//! TABLESAMPLE: whether a row is in the sample.
//!
//! Both methods choose row by row. (SYSTEM may choose by any unit of storage; a row is one.) With REPEATABLE a row's own
//! values decide, so that a sample stays what it is while the rows do.

use std::sync::Arc;

use super::arrays::{Form, form};
use super::random::unit;
use super::support::wrong_arguments;
use super::{Function, Volatility};
use crate::types::{DataType, EvalContext, Value, fnv, mixed, to_text};
use crate::{Error, Result, SqlState};

/// The percentage, what the choice begins with (none: chance), and what tells a row from others.
pub fn sampled(row: &[DataType], repeatable: bool) -> Arc<Function> {
    let seed = repeatable.then_some(DataType::Double);
    let args = [DataType::Real].into_iter().chain(seed).chain(row.iter().map(|of| of.base())).collect();
    let eval = if repeatable { again } else { by_chance };
    let function = form(Form::Sampled, "tablesample", args, DataType::Boolean, eval);
    Arc::new(Function { volatility: Volatility::Volatile, folds: false, ..Arc::unwrap_or_clone(function) })
}

/// The part of the rows that a percentage means.
fn share(percentage: &Value) -> Result<f64> {
    let refused = |code: &'static str, message: &str| Err(Error::new(SqlState(code), message));
    match percentage {
        Value::Real(percentage) if (0.0..=100.0).contains(percentage) => Ok(f64::from(*percentage) / 100.0),
        Value::Real(_) => refused("2202H", "sample percentage must be between 0 and 100"),
        _ => refused("2202H", "TABLESAMPLE parameter cannot be null"),
    }
}

fn by_chance(_: &Function, args: &[Value], context: &EvalContext) -> Result<Value> {
    let [percentage, ..] = args else { return Err(wrong_arguments(args)) };
    Ok(Value::Boolean(unit(context) < share(percentage)?))
}

fn again(_: &Function, args: &[Value], context: &EvalContext) -> Result<Value> {
    let [percentage, seed, row @ ..] = args else { return Err(wrong_arguments(args)) };
    let share = share(percentage)?;
    let Value::Double(seed) = seed else {
        return Err(Error::new(
            SqlState::INVALID_TABLESAMPLE_REPEAT,
            "TABLESAMPLE REPEATABLE parameter cannot be null",
        ));
    };
    // Over the texts, each with an end.
    let hash = row.iter().fold(fnv::START ^ seed.to_bits(), |hash, value| match value {
        Value::Null => fnv::hash(hash, &[0]),
        value => fnv::hash(fnv::hash(hash, to_text(value, context).as_bytes()), &[1]),
    });
    Ok(Value::Boolean(mixed(hash) < share))
}
