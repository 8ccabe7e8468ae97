//! The input rows of a data-changing statement.

use std::borrow::Cow;
use std::sync::Arc;

use super::DmlContext;
use crate::bind::ConstantRows;
use crate::exec::{self, Batch, ExecContext, Vector, eval_row};
use crate::plan::{Expr, PhysicalPlan};
use crate::types::DataType;
use crate::{Result, Value};

/// All rows of a plan, read before the first write so that the statement never sees its own changes. They stay in
/// columns: compact, and values are made one row at a time.
pub(super) struct Source(Vec<Batch>);

impl Source {
    pub(super) fn read(plan: &Arc<PhysicalPlan>, context: &DmlContext<'_>) -> Result<Source> {
        let mut stream = exec::execute(plan.clone(), context.exec.clone())?;
        let mut batches = Vec::new();
        while let Some(batch) = stream.next_batch()? {
            batches.push(batch);
        }
        if let Some(statistics) = context.statistics {
            statistics.replace(stream.statistics());
        }
        Ok(Source(batches))
    }

    /// Rows that are there, but for defaults.
    pub(super) fn of_constants(rows: &ConstantRows, context: &ExecContext) -> Result<Source> {
        let computed = |batch: &Batch| with_computed(rows, batch, context);
        Ok(Source(rows.batches().iter().map(computed).collect::<Result<_>>()?))
    }

    /// The rows in batches, with a check against cancellation before each.
    pub(super) fn for_each_batch(
        self,
        context: &ExecContext,
        mut each: impl FnMut(&Batch) -> Result<()>,
    ) -> Result<()> {
        for mut batch in self.0 {
            context.check()?;
            batch.check_text();
            each(&batch)?;
        }
        Ok(())
    }

    /// The rows, each checked against cancellation now and then.
    pub(super) fn for_each(self, context: &ExecContext, mut each: impl FnMut(Vec<Value>) -> Result<()>) -> Result<()> {
        for batch in self.0 {
            context.check()?;
            for row in 0..batch.len() {
                each(batch.row(row))?;
            }
        }
        Ok(())
    }
}

/// Rows that are there as values, with what is computed for them.
pub(super) fn few_rows<'r>(rows: &'r ConstantRows, context: &ExecContext) -> Result<Cow<'r, [Vec<Value>]>> {
    context.check()?;
    let mut few = Cow::Borrowed(rows.few().unwrap_or(&[]));
    if rows.computed().is_empty() {
        return Ok(few);
    }
    for row in few.to_mut() {
        for (column, expr) in rows.computed() {
            if let Some(slot) = row.get_mut(*column) {
                *slot = eval_row(expr, &[], context)?;
            }
        }
    }
    Ok(few)
}

/// The batch with what is computed for it: row by row, for a default may have an effect.
fn with_computed(rows: &ConstantRows, batch: &Batch, context: &ExecContext) -> Result<Batch> {
    if rows.computed().is_empty() {
        return Ok(batch.clone());
    }
    let mut columns = batch.columns().to_vec();
    let data_type = |column: usize| columns.get(column).map_or(DataType::Unknown, |column| column.data_type());
    let empty = |(column, _): &(usize, Expr)| Vector::with_capacity(data_type(*column), batch.len());
    let mut computed: Vec<Vector> = rows.computed().iter().map(empty).collect();
    for row in 0..batch.len() {
        if row % 256 == 0 {
            context.check()?;
        }
        for ((_, expr), values) in rows.computed().iter().zip(&mut computed) {
            values.push(&eval_row(expr, &[], context)?)?;
        }
    }
    for ((column, _), values) in rows.computed().iter().zip(computed) {
        if let Some(slot) = columns.get_mut(*column) {
            *slot = Arc::new(values);
        }
    }
    Ok(Batch::new(columns, batch.len()))
}
