//! DELETE.

use std::sync::Arc;

use super::pending::PendingChecks;
use super::row::{DeleteBuffers, Env, RowDelete, Stop, Target};
use super::source::{Source, held_trees, rows_of, source_key};
use super::statement::ConcurrentWrites;
use super::triggers::changed_by_trigger;
use super::{BatchRow, DmlContext, DmlResult};
use crate::Result;
use crate::catalog::Catalog;
use crate::plan::{Columns, Datum, Held, Modification};

/// DELETE from a table, from the rows of its source.
#[derive(Debug)]
pub(crate) struct DeletePlan {
    program: RowDelete,
    of: Arc<Modification>,
}

/// A row of the source: the target's columns, and those of other tables behind them, without the row number between.
pub(super) struct SourceRow<'a> {
    row: BatchRow<'a>,
    width: usize,
    hidden: usize,
}

impl<'a> SourceRow<'a> {
    pub(super) fn of(target: &Target, row: BatchRow<'a>) -> SourceRow<'a> {
        SourceRow { row, width: target.table.columns.len(), hidden: usize::from(target.layout.has_row_numbers()) }
    }
}

impl Columns<Stop> for SourceRow<'_> {
    fn column(&self, index: usize) -> Result<Datum<'_>, Stop> {
        self.row.column(if index < self.width { index } else { index + self.hidden })
    }
}

impl DeletePlan {
    pub(super) fn new(of: &Arc<Modification>, catalog: &Catalog) -> Result<DeletePlan> {
        let target = Target::of(&of.table, catalog)?;
        let returning = of.returning.as_ref().map(|returning| returning.exprs.as_slice());
        Ok(DeletePlan { program: RowDelete::new(&target, None, returning), of: of.clone() })
    }

    fn target(&self) -> &Arc<Target> {
        &self.program.target
    }

    /// `beside`: who else changes rows.
    pub(super) fn run(
        &self,
        source: &Source<'_>,
        context: &DmlContext<'_>,
        pending: &mut PendingChecks<'_>,
        beside: ConcurrentWrites,
    ) -> Result<DmlResult> {
        let (table, mut result) = (&self.target().table, DmlResult::new(context, self.of.returning.as_ref()));
        let (mut key, mut buffers) = (Vec::new(), DeleteBuffers::default());
        let (env, mut tx) = (Env::of(context.exec), context.tx);
        let is_alone = beside == ConcurrentWrites::Nobody
            && self.program.is_evaluable(Held::Transaction)
            && !self.target().loses_entries;
        source.for_each_batch(context.exec, |_, batch| {
            let mut hold = if is_alone { tx.writer(table.tree)? } else { None };
            let trees = held_trees(&mut hold, &mut tx);
            for row in rows_of(batch) {
                source_key(self.target(), row, &mut key)?;
                if beside != ConcurrentWrites::Nobody && !context.is_untouched(table.tree, &key)? {
                    // A row may come more than once, and is gone then.
                    let is_gone = context.tx.reader().get(table.tree, &key)?.is_none();
                    match beside {
                        ConcurrentWrites::Functions if !is_gone => return Err(changed_by_trigger("deleted")),
                        _ => continue,
                    }
                }
                let row = SourceRow::of(self.target(), row);
                // A target row may come more than once; only its first time counts.
                if self.program.run(trees, (&key, &row), env, &mut buffers, pending, &mut result.returned)? {
                    result.add()?;
                }
            }
            Ok(())
        })?;
        Ok(result)
    }
}
