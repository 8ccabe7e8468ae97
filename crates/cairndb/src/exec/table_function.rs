//! Set-returning functions in FROM: `generate_series`.

use std::sync::Arc;

use super::batch::Batch;
use super::context::Cx;
use super::expr::Evaluator;
use super::operator::Operator;
use super::vector::Vector;
use crate::functions::{Function, exact_overload};
use crate::types::Interval;
use crate::{DataType, Error, Result, SqlState, Value};

/// `generate_series(start, stop [, step])` over integers, numerics and timestamps.
pub(crate) struct GenerateSeries {
    args: Vec<Evaluator>,
    data_type: DataType,
    add: &'static Function,
    state: Option<Series>,
    batch_size: usize,
}

struct Series {
    /// The next value; `None`: past the end.
    next: Option<Value>,
    stop: Value,
    step: Value,
    descending: bool,
}

/// The function's operator.
pub(crate) fn table_function(name: &str, args: Vec<Evaluator>, data_type: DataType) -> Result<GenerateSeries> {
    if name != "generate_series" || !matches!(args.len(), 2 | 3) {
        return Err(Error::unsupported(format!("table function {name}")));
    }
    let step_type = if is_timestamp(data_type) { DataType::Interval } else { data_type.base() };
    let add = exact_overload("+", &[data_type.base(), step_type])
        .ok_or_else(|| Error::unsupported(format!("generate_series of {data_type}")))?;
    Ok(GenerateSeries { args, data_type, add, state: None, batch_size: 0 })
}

fn is_timestamp(data_type: DataType) -> bool {
    matches!(data_type, DataType::Timestamp | DataType::TimestampTz)
}

/// The step where none is given.
fn default_step(data_type: DataType) -> Value {
    match data_type {
        DataType::SmallInt => Value::SmallInt(1),
        DataType::Integer => Value::Integer(1),
        DataType::BigInt => Value::BigInt(1),
        _ => Value::Numeric(crate::types::Numeric::ONE),
    }
}

/// The zero to which a step is compared.
fn zero(data_type: DataType) -> Value {
    match data_type {
        DataType::SmallInt => Value::SmallInt(0),
        DataType::Integer => Value::Integer(0),
        DataType::BigInt => Value::BigInt(0),
        _ if is_timestamp(data_type) => Value::Interval(Interval::default()),
        _ => Value::Numeric(crate::types::Numeric::ZERO),
    }
}

impl GenerateSeries {
    fn start(&mut self, cx: Cx<'_>) -> Result<Series> {
        let mut args = self.args.iter_mut().map(|arg| arg.scalar(cx)).collect::<Result<Vec<_>>>()?;
        let step = if args.len() == 3 { args.pop() } else { None }.unwrap_or_else(|| default_step(self.data_type));
        let [start, stop] = <[Value; 2]>::try_from(args).map_err(|_| Error::internal("generate_series arguments"))?;
        if [&start, &stop, &step].into_iter().any(Value::is_null) {
            return Ok(Series { next: None, stop, step, descending: false });
        }
        let sign = step.compare(&zero(self.data_type));
        if sign.is_eq() {
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, "step size cannot equal zero"));
        }
        let descending = sign.is_lt();
        let mut series = Series { next: None, stop, step, descending };
        series.advance_to(start);
        Ok(series)
    }

    fn successor(&self, value: &Value, step: &Value, cx: Cx<'_>) -> Result<Option<Value>> {
        match (self.add.eval)(&[value.clone(), step.clone()], &cx.context().eval) {
            Ok(next) => Ok(Some(next)),
            // Past the type's last value there is nothing more, as PostgreSQL has it.
            Err(error) if error.sqlstate() == SqlState::NUMERIC_VALUE_OUT_OF_RANGE => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Series {
    fn advance_to(&mut self, value: Value) {
        let order = value.compare(&self.stop);
        let past = if self.descending { order.is_lt() } else { order.is_gt() };
        self.next = (!past).then_some(value);
    }
}

impl Operator for GenerateSeries {
    fn next(&mut self, cx: Cx<'_>) -> Result<Option<Batch>> {
        cx.check()?;
        let mut series = match self.state.take() {
            Some(series) => series,
            None => self.start(cx)?,
        };
        let sizes = cx.context().batch_sizes;
        self.batch_size = if self.batch_size == 0 { sizes.first.max(1) } else { sizes.grow(self.batch_size) };
        let mut values = Vector::with_capacity(self.data_type, self.batch_size);
        while values.len() < self.batch_size {
            let Some(value) = series.next.take() else { break };
            values.push(&value)?;
            if let Some(next) = self.successor(&value, &series.step, cx)? {
                series.advance_to(next);
            }
        }
        self.state = Some(series);
        let len = values.len();
        Ok((len > 0).then(|| Batch::new(vec![Arc::new(values)], len)))
    }

    fn reset(&mut self, _cx: Cx<'_>) {
        self.state = None;
        self.batch_size = 0;
    }
}
