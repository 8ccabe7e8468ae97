//! Functions in FROM that return rows.

use std::sync::Arc;

use super::context::Cx;
use super::expr::Evaluator;
use super::operator::{Operator, Step};
use crate::columns::{Batch, Vector};
use crate::functions::{Function, SetRows};
use crate::{DataType, Result, Value};

/// The rows that a function returns, and their numbers where there is a column for them (`WITH ORDINALITY`).
pub(crate) struct TableFunction {
    function: Arc<Function>,
    args: Vec<Evaluator>,
    types: Vec<DataType>,
    /// `None`: not started.
    rows: Option<SetRows>,
    returned: i64,
    batch_size: usize,
    /// Who asks may stop before the end.
    sparing: bool,
}

impl TableFunction {
    pub(crate) fn new(
        (function, args): (Arc<Function>, Vec<Evaluator>),
        types: Vec<DataType>,
        sparing: bool,
    ) -> TableFunction {
        TableFunction { function, args, types, rows: None, returned: 0, batch_size: 0, sparing }
    }

    fn start(&mut self, cx: Cx<'_>) -> Result<SetRows> {
        let args = self.args.iter_mut().map(|arg| arg.scalar(cx)).collect::<Result<Vec<_>>>()?;
        self.returned = 0;
        self.function.start_rows(&args, &cx.context().eval)
    }
}

impl Operator for TableFunction {
    fn next(&mut self, cx: Cx<'_>) -> Step<Option<Batch>> {
        cx.check()?;
        cx.take_turn()?;
        let mut rows = match self.rows.take() {
            Some(rows) => rows,
            None => self.start(cx)?,
        };
        let (sizes, is_own) = (cx.context().batch_sizes, rows.is_own());
        self.batch_size = match self.batch_size {
            // What a user's function does for a row, or waits for, is its own matter: nobody waits for rows that he may not want.
            _ if is_own && self.sparing => 1,
            0 if is_own => 1,
            0 => sizes.first.max(1),
            before => sizes.grow(before),
        };
        let mut columns: Vec<Vector> =
            self.types.iter().map(|&data_type| Vector::with_capacity(data_type, self.batch_size)).collect();
        let (mut row, mut len) = (Vec::with_capacity(columns.len()), 0);
        while len < self.batch_size && rows.next_row(&mut row)? {
            if is_own {
                cx.check()?;
            }
            self.returned += 1;
            if row.len() < columns.len() {
                row.push(Value::BigInt(self.returned));
            }
            columns.iter_mut().zip(&row).try_for_each(|(column, value)| column.push(value))?;
            row.clear();
            len += 1;
        }
        self.rows = Some(rows);
        Ok((len > 0).then(|| Batch::new(columns.into_iter().map(Arc::new).collect(), len)))
    }

    fn reset(&mut self, _cx: Cx<'_>) {
        self.rows = None;
        self.batch_size = 0;
    }
}
