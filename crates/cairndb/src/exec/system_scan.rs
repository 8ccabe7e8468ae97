//! Relations that the system makes.

use std::sync::Arc;

use super::context::Cx;
use super::expr::Evaluator;
use super::operator::{Operator, Step};
use crate::columns::{Batch, Vector};
use crate::plan::SystemRows;
use crate::{DataType, Result, Value};

/// The rows, made when the first is asked for: those of one object where the value of a column says whose.
pub(crate) struct SystemScan {
    relation: Arc<dyn SystemRows>,
    columns: Vec<usize>,
    only: Option<(usize, Evaluator)>,
    types: Vec<DataType>,
    /// `None`: not made yet, or of another object.
    made: Option<Vec<Vec<Value>>>,
    next: usize,
}

impl SystemScan {
    pub(crate) fn new(
        relation: Arc<dyn SystemRows>,
        columns: Vec<usize>,
        only: Option<(usize, Evaluator)>,
        types: Vec<DataType>,
    ) -> SystemScan {
        SystemScan { relation, columns, only, types, made: None, next: 0 }
    }

    fn make(&mut self, cx: Cx<'_>) -> Result<Vec<Vec<Value>>> {
        let context = &cx.context().eval;
        let Some((column, value)) = &mut self.only else {
            return Ok(self.relation.rows(&self.columns, None, context));
        };
        Ok(match value.scalar(cx)? {
            Value::Null => Vec::new(),
            value => self.relation.rows(&self.columns, Some((*column, &value)), context),
        })
    }
}

impl Operator for SystemScan {
    fn next(&mut self, cx: Cx<'_>) -> Step<Option<Batch>> {
        cx.check()?;
        cx.take_turn()?;
        if self.made.is_none() {
            self.made = Some(self.make(cx)?);
        }
        let rows = self.made.as_deref().unwrap_or_default();
        let end = rows.len().min(self.next + cx.context().batch_sizes.max.max(1));
        let len = end - self.next;
        let mut columns: Vec<Vector> =
            self.types.iter().map(|&data_type| Vector::with_capacity(data_type, len)).collect();
        for row in &rows[self.next..end] {
            columns.iter_mut().zip(row).try_for_each(|(column, value)| column.push(value))?;
        }
        self.next = end;
        Ok((len > 0).then(|| Batch::new(columns.into_iter().map(Arc::new).collect(), len)))
    }

    fn reset(&mut self, _cx: Cx<'_>) {
        self.next = 0;
        if self.only.is_some() {
            self.made = None;
        }
    }
}
