//! DELETE.
//!
//! The entries of many rows in the indexes are not deleted with each row but behind all rows, in the order of the index: each of its
//! leaves is found and changed once. Nobody can see the difference: only where the statement changes nothing else, and asks nothing.

use std::sync::Arc;

use cairn_storage::KeyList;

use super::changing::{ConcurrentWrites, Work};
use super::row::{DeleteBuffers, Entry, Env, RowDelete, Stop, Target};
use super::source::{Place, Source, held_trees, rows_of, source_key};
use super::triggers::changed_by_trigger;
use super::{BatchRow, DmlContext, DmlResult};
use crate::catalog::{Catalog, Table};
use crate::exec::{EntrySorter, ExecContext, SortedEntries, Step};
use crate::plan::{Columns, Datum, Held, Modification};
use crate::state::Transaction;
use crate::{Error, Result};

/// Of more rows than these batches have the entries are sorted first.
const FEW_BATCHES: usize = 2;

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
    many: Option<Box<Many>>,
    result: DmlResult,
}

/// The entries of many rows.
struct Many {
    /// By index.
    gathered: Vec<EntrySorter>,
    /// Those of the index that is being worked on: of all that are left, the last one.
    sorted: Option<SortedEntries>,
    entry: Entry,
    keys: KeyList,
}

impl Many {
    fn new(table: &Table, context: &ExecContext) -> Many {
        // (They hold entries at the same time.)
        let share = ExecContext { work_mem: context.work_mem / table.indexes.len().max(1), ..context.clone() };
        let gathered = table.indexes.iter().map(|_| EntrySorter::new(&share)).collect();
        Many { gathered, sorted: None, entry: Entry::default(), keys: KeyList::default() }
    }

    /// Deletes the keys from the tree; how many were there.
    fn delete(&self, tx: &Transaction, tree: cairn_storage::TreeId) -> Result<usize> {
        let mut writer =
            tx.writer(tree)?.ok_or_else(|| Error::internal("a temporary table's entries are deleted at once"))?;
        Ok(writer.delete_each(tree, &self.keys)?)
    }
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
        Deleting { place: Place::default(), key: Vec::new(), buffers: DeleteBuffers::default(), many: None, result }
    }

    pub(super) fn step(&self, at: &mut Deleting, source: &Source<'_>, work: &mut Work<'_>) -> Step<DmlResult> {
        let is_alone = work.beside == ConcurrentWrites::Nobody
            && self.program.is_evaluable(Held::Transaction)
            && !self.target().loses_entries;
        let few = FEW_BATCHES * work.context.exec.batch_sizes.max;
        let is_few = || self.target().table.id.is_temporary() || source.has_at_most(few);
        if is_alone && self.program.is_of_keys_alone() && !is_few() {
            self.delete_rows(at, source, work)?;
            self.delete_entries(at, work)?;
            return Ok(std::mem::take(&mut at.result));
        }
        let Work { context, pending, beside, turn } = work;
        let Deleting { place, key, buffers, result, .. } = at;
        let (table, env, mut tx) = (&self.target().table, Env::of(context.exec), context.tx);
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

    /// Deletes the rows, and gathers their entries.
    fn delete_rows(&self, at: &mut Deleting, source: &Source<'_>, work: &Work<'_>) -> Step<()> {
        let Work { context, turn, .. } = work;
        let (table, env) = (&self.target().table, Env::of(context.exec));
        let Deleting { place, key, many, result, .. } = at;
        let many = many.get_or_insert_with(|| Box::new(Many::new(table, context.exec)));
        source.for_each_batch((context.exec, turn), place, |batch, place| {
            many.keys.clear();
            for row in rows_of(batch, place.row) {
                source_key(self.target(), row, key)?;
                many.keys.push(key);
                let row = SourceRow::of(self.target(), row);
                self.program.gather((key, &row), env, &mut many.entry, &mut many.gathered)?;
            }
            // (A row may come more than once; only its first time counts.)
            result.add_many(many.delete(context.tx, table.tree)? as u64);
            place.row = batch.len();
            Ok(())
        })
    }

    /// Deletes the entries that were gathered.
    fn delete_entries(&self, at: &mut Deleting, work: &Work<'_>) -> Step<()> {
        let Some(many) = &mut at.many else { return Ok(()) };
        loop {
            work.turn.take()?;
            let Some(sorted) = &mut many.sorted else {
                let Some(gathered) = many.gathered.pop() else { return Ok(()) };
                many.sorted = Some(gathered.sorted()?);
                continue;
            };
            let Some(entries) = sorted.next()? else {
                many.sorted = None;
                continue;
            };
            let [keys, _] = entries.strings()?;
            many.keys.clear();
            (0..entries.len).for_each(|at| many.keys.push(keys.get(at)));
            many.delete(work.context.tx, self.target().table.indexes[many.gathered.len()].tree)?;
        }
    }
}
