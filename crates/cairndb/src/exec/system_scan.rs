//! Relations that the system makes.

use std::sync::Arc;

use super::batch::Batch;
use super::context::Cx;
use super::expr::Evaluator;
use super::operator::{Operator, Step};
use super::vector::Vector;
use crate::system::{Key, Only, SystemRows};
use crate::{DataType, Result, Value};

/// The rows under a catalog, made when the first is asked for: those of one object where its value says whose.
pub(crate) struct SystemScan {
    relation: Arc<dyn SystemRows>,
    columns: Vec<usize>,
    only: Option<(Key, Evaluator)>,
    types: Vec<DataType>,
    /// Whose rows were made last, and these; `None` of whose: of nothing, which NULL is.
    made: Option<(Option<Only>, Vec<Vec<Value>>)>,
    is_current: bool,
    next: usize,
}

impl SystemScan {
    pub(crate) fn new(
        relation: Arc<dyn SystemRows>,
        columns: Vec<usize>,
        only: Option<(Key, Evaluator)>,
        types: Vec<DataType>,
    ) -> SystemScan {
        SystemScan { relation, columns, only, types, made: None, is_current: false, next: 0 }
    }

    fn asked_for(&mut self, cx: Cx<'_>) -> Result<Option<Only>> {
        let Some((key, value)) = &mut self.only else { return Ok(Some(Only::All)) };
        Ok(match value.scalar(cx)? {
            Value::Null => None,
            value => Some(key.only(&value)),
        })
    }

    /// Makes the rows, unless they are those of before.
    fn make(&mut self, cx: Cx<'_>) -> Result<()> {
        let asked_for = self.asked_for(cx)?;
        if self.made.as_ref().is_none_or(|(of, _)| *of != asked_for) {
            let of = asked_for.clone();
            let rows = of.map(|only| self.relation.rows(&self.columns, only)).unwrap_or_default();
            self.made = Some((asked_for, rows));
        }
        (self.is_current, self.next) = (true, 0);
        Ok(())
    }
}

impl Operator for SystemScan {
    fn next(&mut self, cx: Cx<'_>) -> Step<Option<Batch>> {
        cx.check()?;
        cx.take_turn()?;
        if !self.is_current {
            self.make(cx)?;
        }
        let Some((_, rows)) = &self.made else { return Ok(None) };
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
        self.is_current = false;
    }
}
