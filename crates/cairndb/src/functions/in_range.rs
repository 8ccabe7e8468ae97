//! How far a value lies from another: what RANGE frames with offsets ask, as PostgreSQL's `in_range` functions answer it.

use std::cmp::Ordering;
use std::sync::Arc;

use super::temporal::{add_intervals, subtract_intervals};
use super::{Function, exact_overload};
use crate::types::{DataType, EvalContext, Interval, Numeric, TimeTz, Value, cast, compare_f64};
use crate::{Error, Result, SqlState};

/// The types that an offset may have for values of a type; none: no RANGE with offsets is possible.
pub fn in_range_offsets(column: DataType) -> &'static [DataType] {
    use DataType::{
        BigInt, Date, Double, Integer, Interval, Numeric, Real, SmallInt, Time, TimeTz, Timestamp, TimestampTz,
    };
    match column {
        SmallInt | Integer => &[SmallInt, Integer, BigInt],
        BigInt => &[BigInt],
        Real | Double => &[Double],
        Numeric(_) => &[Numeric(None)],
        Date | Time(_) | TimeTz(_) | Timestamp(_) | TimestampTz(_) | Interval(_) => &[DataType::INTERVAL],
        _ => &[],
    }
}

/// An offset, and how it is added to values of a type.
pub struct Distance {
    offset: Value,
    is_negative: bool,
    /// `+` and `-` of what needs the calendar.
    calendar: Option<[Arc<Function>; 2]>,
}

impl Distance {
    /// An offset, not NULL, from values of type `column`.
    pub fn new(column: DataType, offset: Value) -> Distance {
        let moment = match column {
            DataType::Date | DataType::Timestamp(_) => Some(DataType::TIMESTAMP),
            DataType::TimestampTz(_) => Some(DataType::TIMESTAMPTZ),
            _ => None,
        };
        let operator = |symbol| exact_overload(symbol, &[moment?, DataType::INTERVAL]);
        let calendar = operator("+").zip(operator("-")).map(|(plus, minus)| [plus, minus]);
        let is_negative = is_negative(&offset, column);
        Distance { offset, is_negative, calendar }
    }

    /// Whether `value` is at most (`less`) or at least the offset above (`subtract`: below) `base`.
    ///
    /// # Errors
    ///
    /// SQLSTATE 22013 where the offset is negative.
    pub fn reaches(
        &self,
        value: &Value,
        base: &Value,
        subtract: bool,
        less: bool,
        context: &EvalContext,
    ) -> Result<bool> {
        if self.is_negative {
            return Err(invalid_size("invalid preceding or following size in window function"));
        }
        let accepts = |order: Ordering| if less { order.is_le() } else { order.is_ge() };
        // Beyond the type's end lies nothing that is farther.
        let beyond = if subtract { !less } else { less };
        if let (Some(value), Some(base), Some(offset)) = (value.as_i64(), base.as_i64(), self.offset.as_i64()) {
            let sum = if subtract { base.checked_sub(offset) } else { base.checked_add(offset) };
            return Ok(sum.map_or(beyond, |sum| accepts(value.cmp(&sum))));
        }
        match (value, base, &self.offset) {
            (Value::Double(value), Value::Double(base), Value::Double(offset)) => {
                Ok(float_reaches(*value, *base, *offset, subtract, less))
            }
            (Value::Real(value), Value::Real(base), Value::Double(offset)) => {
                Ok(float_reaches((*value).into(), (*base).into(), *offset, subtract, less))
            }
            (Value::Numeric(value), Value::Numeric(base), Value::Numeric(offset)) => {
                numeric_reaches(value, base, offset, subtract, less)
            }
            (Value::Time(value), Value::Time(base), Value::Interval(offset)) => {
                let sum = if subtract { base.checked_sub(offset.micros) } else { base.checked_add(offset.micros) };
                Ok(sum.map_or(beyond, |sum| accepts(value.cmp(&sum))))
            }
            (Value::TimeTz(value), Value::TimeTz(base), Value::Interval(offset)) => {
                let [value, base] = [value, base].map(|packed| TimeTz::of_packed(*packed));
                let from = base.utc_micros();
                let sum = if subtract { from.checked_sub(offset.micros) } else { from.checked_add(offset.micros) };
                // Of one instant, what is farther east comes first.
                let order = |sum| (value.utc_micros(), base.east()).cmp(&(sum, value.east()));
                Ok(sum.map_or(beyond, |sum| accepts(order(sum))))
            }
            (Value::Interval(_), Value::Interval(base), Value::Interval(offset)) => {
                let combine = if subtract { subtract_intervals } else { add_intervals };
                Ok(accepts(value.compare(&Value::Interval(combine(*base, *offset)?))))
            }
            _ => {
                let (value, base) = (moment(value, context)?, moment(base, context)?);
                let [plus, minus] = self.calendar.as_ref().ok_or_else(|| Error::internal("no such distance"))?;
                let sum = if subtract { minus } else { plus }.call(&[base, self.offset.clone()], context)?;
                Ok(accepts(value.compare(&sum)))
            }
        }
    }
}

/// The error for an offset that is none.
pub fn invalid_size(message: &str) -> Error {
    Error::new(SqlState::INVALID_PRECEDING_OR_FOLLOWING_SIZE, message)
}

fn is_negative(offset: &Value, column: DataType) -> bool {
    match offset {
        Value::Double(offset) => offset.is_nan() || *offset < 0.0,
        Value::Numeric(offset) => *offset == Numeric::NAN || *offset < Numeric::ZERO,
        // Of a time of day only the time counts.
        Value::Interval(offset) if matches!(column, DataType::Time(_) | DataType::TimeTz(_)) => offset.micros < 0,
        Value::Interval(_) => offset.compare(&Value::Interval(Interval::default())).is_lt(),
        other => other.as_i64().is_some_and(|offset| offset < 0),
    }
}

/// Dates are compared as the moments at which they begin.
fn moment(value: &Value, context: &EvalContext) -> Result<Value> {
    match value {
        Value::Date(_) => cast(value, DataType::Date, DataType::TIMESTAMP, context),
        other => Ok(other.clone()),
    }
}

fn float_reaches(value: f64, base: f64, offset: f64, subtract: bool, less: bool) -> bool {
    // NaN is greater than all else, and so far from it that no offset tells.
    match (value.is_nan(), base.is_nan()) {
        (true, true) => return true,
        (true, false) => return !less,
        (false, true) => return less,
        (false, false) => {}
    }
    if offset.is_infinite() && base.is_infinite() && (if subtract { base > 0.0 } else { base < 0.0 }) {
        return true;
    }
    let order = compare_f64(value, if subtract { base - offset } else { base + offset });
    if less { order.is_le() } else { order.is_ge() }
}

fn numeric_reaches(value: &Numeric, base: &Numeric, offset: &Numeric, subtract: bool, less: bool) -> Result<bool> {
    let is_nan = |numeric: &Numeric| *numeric == Numeric::NAN;
    match (is_nan(value), is_nan(base)) {
        (true, true) => return Ok(true),
        (true, false) => return Ok(!less),
        (false, true) => return Ok(less),
        (false, false) => {}
    }
    let sum = if subtract { base.sub(offset)? } else { base.add(offset)? };
    if is_nan(&sum) {
        return Ok(true);
    }
    let order = value.cmp(&sum);
    Ok(if less { order.is_le() } else { order.is_ge() })
}
