//! The step of a recursive query over few rows: for a round of one or two it would cost what it costs for a thousand.

use std::collections::VecDeque;
use std::sync::Arc;

use super::context::Cx;
use super::eval_row;
use super::operator::Step;
use super::spill::BatchList;
use crate::columns::{Batch, Vector};
use crate::functions::Function;
use crate::plan::{CteId, Expr, PhysicalNode as N, PhysicalPlan, expr_children};

use crate::{DataType, Error, Result, Value};

/// A round of more rows is worth its batches.
pub(super) const ROWS_MAX: usize = 64;

/// A step that makes of a row of a round at most one of the next, by nothing but that row: the rounds run into one another, a row
/// at a time, in the order in which they would be.
pub(super) struct RowByRow {
    /// In the order in which they are worked.
    stages: Vec<Stage>,
    types: Vec<DataType>,
    /// The rows of the last round that were not looked at yet, then those of the next; one after the other.
    waiting: VecDeque<Value>,
    /// Rows in the next batch.
    size: usize,
    /// What the row after those that were given met.
    error: Option<Error>,
}

enum Stage {
    Keep(Expr),
    Make(Vec<Expr>),
}

impl RowByRow {
    /// `None`: the step is of another kind.
    pub(super) fn of(step: &PhysicalPlan, id: CteId) -> Option<RowByRow> {
        let types: Vec<DataType> = step.fields.iter().map(|field| field.data_type).collect();
        let mut stages = Vec::new();
        let mut plan = step;
        while !matches!(plan.node, N::CteScan { id: scanned, .. } if scanned == id) {
            let (stage, input) = match &plan.node {
                N::Filter { input, predicate } => (Stage::Keep(predicate.clone()), input),
                N::Project { input, exprs } => (Stage::Make(exprs.clone()), input),
                _ => return None,
            };
            stages.push(stage);
            plan = input;
        }
        stages.reverse();
        let exprs = stages.iter().flat_map(|stage| match stage {
            Stage::Keep(predicate) => std::slice::from_ref(predicate),
            Stage::Make(exprs) => exprs,
        });
        let by_row_alone = !types.is_empty() && exprs.into_iter().all(looks_at_its_row_alone);
        by_row_alone.then(|| RowByRow { stages, types, waiting: VecDeque::new(), size: 1, error: None })
    }

    /// Goes on from a round's rows.
    pub(super) fn begin(&mut self, round: &BatchList, cx: Cx<'_>) -> Result<()> {
        self.clear();
        self.size = cx.context().batch_sizes.first;
        for index in 0..round.len() {
            let batch = round.get(index, cx)?;
            let batch = batch.iter();
            self.waiting.extend(batch.flat_map(|batch| (0..batch.len()).flat_map(|row| batch.row(row))));
        }
        Ok(())
    }

    pub(super) fn clear(&mut self) {
        self.waiting.clear();
        self.error = None;
    }

    /// The next rows; `None` after the last. An error comes after the rows before it, as if each round had been asked for by itself.
    pub(super) fn next(&mut self, cx: Cx<'_>) -> Step<Option<Batch>> {
        let mut columns: Vec<Vector> =
            self.types.iter().map(|data_type| Vector::with_capacity(*data_type, self.size)).collect();
        let mut made = 0;
        let mut row = Vec::with_capacity(self.types.len());
        while made < self.size && self.error.is_none() && !self.waiting.is_empty() {
            row.clear();
            row.extend(self.waiting.drain(..self.types.len()));
            match self.step(&mut row, cx) {
                Ok(false) => {}
                Ok(true) => {
                    for (column, value) in columns.iter_mut().zip(&row) {
                        column.push(value)?;
                    }
                    self.waiting.extend(row.drain(..));
                    made += 1;
                }
                Err(error) => self.error = Some(error),
            }
        }
        if made == 0 {
            return self.error.take().map_or(Ok(None), |error| Err(error.into()));
        }
        self.size = cx.context().batch_sizes.grow(self.size);
        Ok(Some(Batch::new(columns.into_iter().map(Arc::new).collect(), made)))
    }

    /// Makes the next round's row of a row. False: there is none.
    fn step(&self, row: &mut Vec<Value>, cx: Cx<'_>) -> Result<bool> {
        for stage in &self.stages {
            match stage {
                Stage::Keep(predicate) => {
                    if eval_row(predicate, row, cx.context())? != Value::Boolean(true) {
                        return Ok(false);
                    }
                }
                Stage::Make(exprs) => {
                    let made = exprs.iter().map(|expr| eval_row(expr, row, cx.context()));
                    *row = made.collect::<Result<_>>()?;
                }
            }
        }
        Ok(true)
    }
}

fn looks_at_its_row_alone(expr: &Expr) -> bool {
    let itself = match expr {
        Expr::Outer { .. } | Expr::Subquery(_) | Expr::Subplan(_) | Expr::Sequence { .. } => false,
        Expr::Call { function, .. } => is_plain(function),
        _ => true,
    };
    itself && expr_children(expr).all(looks_at_its_row_alone)
}

/// Its calls may come in any order, and as many as there are.
fn is_plain(function: &Function) -> bool {
    !function.is_volatile() && !function.calls_routines()
}
