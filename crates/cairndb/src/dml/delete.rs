//! DELETE.

use std::sync::Arc;

use super::changing::{ConcurrentWrites, Work};
use super::row::{DeleteBuffers, Env, RowDelete, Stop, Target};
use super::source::{Place, Source, held_trees, rows_of, source_key};
use super::triggers::changed_by_trigger;
use super::{BatchRow, DmlContext, DmlResult};
use crate::Result;
use crate::catalog::Catalog;
use crate::exec::Step;
use crate::plan::{Columns, Datum, Held, Modification};

/// DELETE from a table, from the rows of its source.
#[derive(Debug)]
pub(crate) struct DeletePlan {
    program: RowDelete,
    of: Arc<Modification>,
}

/// How far a DELETE is.
pub(super) struct Deleting {
    place: Place,
    key: Vec<u8>,
    buffers: DeleteBuffers,
    result: DmlResult,
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

    pub(super) fn begin(&self, context: &DmlContext<'_>) -> Deleting {
        let result = DmlResult::new(context, self.of.returning.as_ref());
        Deleting { place: Place::default(), key: Vec::new(), buffers: DeleteBuffers::default(), result }
    }

    pub(super) fn step(&self, at: &mut Deleting, source: &Source<'_>, work: &mut Work<'_>) -> Step<DmlResult> {
        let Work { context, pending, beside, turn } = work;
        let Deleting { place, key, buffers, result } = at;
        let (table, env, mut tx) = (&self.target().table, Env::of(context.exec), context.tx);
        let is_alone = *beside == ConcurrentWrites::Nobody
            && self.program.is_evaluable(Held::Transaction)
            && !self.target().loses_entries;
        source.for_each_batch((context.exec, turn), place, |batch, place| {
            let mut hold = if is_alone { tx.writer(table.tree)? } else { None };
            let trees = held_trees(&mut hold, &mut tx);
            for row in rows_of(batch, place.row) {
                place.row = row.row + 1;
                source_key(self.target(), row, key)?;
                if *beside != ConcurrentWrites::Nobody && !context.is_untouched(table.tree, key)? {
                    // A row may come more than once, and is gone then.
                    let is_gone = context.tx.reader().get(table.tree, key)?.is_none();
                    match *beside {
                        ConcurrentWrites::Functions if !is_gone => return Err(changed_by_trigger("deleted").into()),
                        _ => continue,
                    }
                }
                let row = SourceRow::of(self.target(), row);
                // A target row may come more than once; only its first time counts.
                if self.program.run(trees, (key, &row), env, buffers, pending, &mut result.returned)? {
                    result.add()?;
                }
                turn.take()?;
            }
            Ok(())
        })?;
        Ok(std::mem::take(result))
    }
}
