//! RETURNING.

use crate::bind::Returning;
use crate::exec::{ExecContext, eval_row};
use crate::{Result, Value};

/// Rows that RETURNING made.
pub(crate) type ReturningRows = Vec<Vec<Value>>;

/// What a data-changing statement did.
#[derive(Debug, Default)]
pub(crate) struct DmlResult {
    pub(crate) affected: u64,
    /// Empty where there is no RETURNING.
    pub(crate) rows: ReturningRows,
}

impl DmlResult {
    /// Counts one affected row: `row` is its columns, then the extra ones.
    pub(super) fn add(&mut self, row: &[Value], returning: Option<&Returning>, context: &ExecContext) -> Result<()> {
        self.affected += 1;
        if let Some(returning) = returning {
            let values = returning.exprs.iter().map(|expr| eval_row(expr, row, context));
            self.rows.push(values.collect::<Result<_>>()?);
        }
        Ok(())
    }
}
