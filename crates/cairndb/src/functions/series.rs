//! `generate_series`: a table function, evaluated row by row.

use super::catalogue::Catalogue;
use super::support::{invalid_parameter, out_of_range, wrong_arguments};
use super::temporal::{shift_instant, shift_timestamp};
use super::{Declared, SetRows};
use crate::Result;
use crate::types::datetime::Zone;
use crate::types::{DataType, EvalContext, Interval, Numeric, Value};

pub(super) fn register(catalogue: &mut Catalogue) {
    for number in [DataType::Integer, DataType::BigInt, DataType::Numeric(None)].map(Declared::Type) {
        for args in [[number; 2].as_slice(), &[number; 3]] {
            catalogue.add_rows("generate_series", args, &[("", number)], |_, args, context| begin(args, context));
        }
    }
    let (local, instant) = (Declared::Type(DataType::TIMESTAMP), Declared::Type(DataType::TIMESTAMPTZ));
    let step = Declared::Type(DataType::INTERVAL);
    for time in [local, instant] {
        let args = [time, time, step];
        let series =
            catalogue.add_rows("generate_series", &args, &[("", time)], |_, args, context| begin(args, context));
        // (A day is as long as the session's zone says.)
        if time == instant {
            series.stable();
        }
    }
}

fn begin(args: &[Value], context: &EvalContext) -> Result<SetRows> {
    Series::new(args, context).map(SetRows::Series)
}

/// A series being generated.
pub struct Series {
    /// `None`: it is over.
    next: Option<Value>,
    stop: Value,
    step: Value,
    descending: bool,
    zone: Zone,
}

impl Series {
    /// Begins a series over arguments of one of the forms.
    pub fn new(args: &[Value], context: &EvalContext) -> Result<Series> {
        let zone = Zone::of(context);
        let (start, stop, step) = match args {
            [start, stop] => (start, stop, unit_step(start).ok_or_else(|| wrong_arguments(args))?),
            [start, stop, step] => (start, stop, step.clone()),
            _ => return Err(wrong_arguments(args)),
        };
        check_finite(&[start, stop, &step])?;
        let sign = sign_of(&step).ok_or_else(|| wrong_arguments(args))?;
        if sign == 0 {
            return Err(invalid_parameter("step size cannot equal zero"));
        }
        Ok(Series { next: Some(start.clone()), stop: stop.clone(), step, descending: sign < 0, zone })
    }

    /// The next value.
    pub fn next_value(&mut self) -> Result<Option<Value>> {
        let Some(value) = self.next.take() else { return Ok(None) };
        let order = value.compare(&self.stop);
        if if self.descending { order.is_lt() } else { order.is_gt() } {
            return Ok(None);
        }
        self.next = self.after(&value)?;
        Ok(Some(value))
    }

    /// `None`: past what the type holds, so past the end too.
    fn after(&self, value: &Value) -> Result<Option<Value>> {
        Ok(match (value, &self.step) {
            (Value::Integer(value), Value::Integer(step)) => value.checked_add(*step).map(Value::Integer),
            (Value::BigInt(value), Value::BigInt(step)) => value.checked_add(*step).map(Value::BigInt),
            (Value::Numeric(value), Value::Numeric(step)) => Some(Value::Numeric(value.add(step)?)),
            (Value::Timestamp(value), Value::Interval(step)) => Some(Value::Timestamp(shift_timestamp(*value, *step)?)),
            (Value::TimestampTz(value), Value::Interval(step)) => {
                Some(Value::TimestampTz(shift_instant(*value, *step, &self.zone)?))
            }
            _ => return Err(out_of_range("generate_series step")),
        })
    }
}

fn unit_step(start: &Value) -> Option<Value> {
    Some(match start {
        Value::Integer(_) => Value::Integer(1),
        Value::BigInt(_) => Value::BigInt(1),
        Value::Numeric(_) => Value::Numeric(Numeric::ONE),
        _ => return None,
    })
}

fn sign_of(step: &Value) -> Option<i128> {
    Some(match step {
        Value::Integer(step) => step.signum().into(),
        Value::BigInt(step) => step.signum().into(),
        Value::Numeric(step) => step.signum().into(),
        Value::Interval(step) => Interval::span(*step).signum(),
        _ => return None,
    })
}

/// Numeric bounds must be numbers: an infinite series of them would not end.
fn check_finite(args: &[&Value]) -> Result<()> {
    for (value, name) in args.iter().zip(["start value", "stop value", "step size"]) {
        if let Value::Numeric(number) = value
            && !number.is_finite()
        {
            let what = if number.is_nan() { "NaN" } else { "infinity" };
            return Err(invalid_parameter(format!("{name} cannot be {what}")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::exact_overload;

    fn all(args: &[Value]) -> Vec<String> {
        let mut series = Series::new(args, &EvalContext::now()).unwrap();
        std::iter::from_fn(|| series.next_value().unwrap()).map(|value| value.to_string()).collect()
    }

    #[test]
    fn series_include_their_stop_and_end_at_the_types_limit() {
        assert_eq!(all(&[Value::Integer(1), Value::Integer(3)]), ["1", "2", "3"]);
        assert_eq!(all(&[Value::Integer(5), Value::Integer(1), Value::Integer(-2)]), ["5", "3", "1"]);
        assert_eq!(all(&[Value::Integer(i32::MAX - 1), Value::Integer(i32::MAX)]).len(), 2);
        assert!(all(&[Value::Integer(3), Value::Integer(1)]).is_empty());
        let zero = Series::new(&[Value::Integer(1), Value::Integer(2), Value::Integer(0)], &EvalContext::now());
        assert_eq!(zero.err().unwrap().message(), "step size cannot equal zero");
    }

    #[test]
    fn there_is_none_of_null() {
        let series = exact_overload("generate_series", &[DataType::Integer; 2]).unwrap();
        let mut rows = series.start_rows(&[Value::Null, Value::Integer(1)], &EvalContext::now()).unwrap();
        assert!(!rows.next_row(&mut vec![]).unwrap());
    }

    #[test]
    fn months_step_on_the_calendar() {
        let month = Interval { months: 1, ..Interval::default() };
        let args = [Value::Timestamp(0), Value::Timestamp(70 * 86_400_000_000), Value::Interval(month)];
        assert_eq!(all(&args), ["2000-01-01 00:00:00", "2000-02-01 00:00:00", "2000-03-01 00:00:00"]);
    }
}
