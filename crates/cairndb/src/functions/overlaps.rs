//! `(start, end) OVERLAPS (start, end)`, of which each end may stand first.

use super::catalogue::Catalogue;
use super::support::wrong_arguments;
use crate::types::{DataType, EvalContext, Value};
use crate::{Error, Result};

pub(super) fn register(catalogue: &mut Catalogue) {
    static ARGS: [[DataType; 4]; 4] =
        [[DataType::TIMESTAMP; 4], [DataType::TIMESTAMPTZ; 4], [DataType::TIME; 4], [DataType::TIMETZ; 4]];
    for args in &ARGS {
        catalogue.add("overlaps", args, DataType::Boolean, overlaps).bounded().called_on_null();
    }
}

fn overlaps(args: &[Value], _: &EvalContext) -> Result<Value> {
    let [a, b, c, d] = args else { return Err(wrong_arguments(args)) };
    let point = |value: &Value| match value {
        Value::Null => Ok(None),
        Value::Timestamp(at) | Value::TimestampTz(at) | Value::Time(at) | Value::TimeTz(at) => Ok(Some(*at)),
        _ => Err(Error::internal("OVERLAPS of what is no time")),
    };
    let spans = (ordered(point(a)?, point(b)?), ordered(point(c)?, point(d)?));
    let (Some(mut first), Some(mut second)) = spans else { return Ok(Value::Null) };
    if second.0 < first.0 {
        std::mem::swap(&mut first, &mut second);
    }
    // The first begins before the other, or with it.
    Ok(match (first.1, second.1) {
        (Some(end), _) if first.0 < second.0 && second.0 < end => Value::Boolean(true),
        (Some(_), Some(_)) => Value::Boolean(first.0 == second.0),
        _ => Value::Null,
    })
}

/// The earlier of two times, and the later, if both are known; `None`: neither is.
fn ordered(a: Option<i64>, b: Option<i64>) -> Option<(i64, Option<i64>)> {
    match (a, b) {
        (Some(a), Some(b)) => Some((a.min(b), Some(a.max(b)))),
        (one, other) => Some((one.or(other)?, None)),
    }
}
