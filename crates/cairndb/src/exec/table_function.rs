//! Set-returning functions in FROM: `generate_series`.

use std::sync::Arc;

use super::batch::Batch;
use super::context::Cx;
use super::expr::Evaluator;
use super::operator::Operator;
use super::vector::Vector;
use crate::functions::Series;
use crate::{DataType, Error, Result};

/// `generate_series(start, stop [, step])`.
pub(crate) struct GenerateSeries {
    args: Vec<Evaluator>,
    data_type: DataType,
    /// `None`: not started.
    series: Option<Series>,
    batch_size: usize,
}

/// The function's operator.
pub(crate) fn table_function(name: &str, args: Vec<Evaluator>, data_type: DataType) -> Result<GenerateSeries> {
    match name {
        "generate_series" => Ok(GenerateSeries { args, data_type, series: None, batch_size: 0 }),
        _ => Err(Error::unsupported(format!("table function {name}"))),
    }
}

impl GenerateSeries {
    fn start(&mut self, cx: Cx<'_>) -> Result<Series> {
        let args = self.args.iter_mut().map(|arg| arg.scalar(cx)).collect::<Result<Vec<_>>>()?;
        Series::new(&args, &cx.context().eval)
    }
}

impl Operator for GenerateSeries {
    fn next(&mut self, cx: Cx<'_>) -> Result<Option<Batch>> {
        cx.check()?;
        let mut series = match self.series.take() {
            Some(series) => series,
            None => self.start(cx)?,
        };
        let sizes = cx.context().batch_sizes;
        self.batch_size = if self.batch_size == 0 { sizes.first.max(1) } else { sizes.grow(self.batch_size) };
        let mut values = Vector::with_capacity(self.data_type, self.batch_size);
        while values.len() < self.batch_size {
            let Some(value) = series.next_value()? else { break };
            values.push(&value)?;
        }
        self.series = Some(series);
        let len = values.len();
        Ok((len > 0).then(|| Batch::new(vec![Arc::new(values)], len)))
    }

    fn reset(&mut self, _cx: Cx<'_>) {
        self.series = None;
        self.batch_size = 0;
    }
}
