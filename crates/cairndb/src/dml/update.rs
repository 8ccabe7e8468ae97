//! UPDATE.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use cairn_storage::{KeyList, TransactionWriter};

use super::changing::{ConcurrentWrites, Work};
use super::pending::PendingChecks;
use super::row::{ChangeBuffers, Env, RowChange, RowObserver, Stop, Target, Way};
use super::source::{Place, Source, held_trees, rows_of, source_key, source_numbers};
use super::triggers::changed_by_trigger;
use super::{BatchRow, DmlContext, DmlResult};
use crate::bind::Callees;
use crate::catalog::Catalog;
use crate::columns::{Batch, Vector, row_number};
use crate::exec::{Charge, NoAnswer, Step, Turn};
use crate::plan::{Expr, Modification, ModificationKind};
use crate::{Error, Result};

/// UPDATE of a table, from the rows of its source.
#[derive(Debug)]
pub(crate) struct UpdatePlan {
    program: RowChange,
    of: Arc<Modification>,
    is_joined: bool,
}

/// A row whose old keys are out of the way, and whose new ones have yet to come in.
struct Waiting {
    /// In the source.
    batch: usize,
    row: usize,
    key: Vec<u8>,
    change: ChangeBuffers,
}

impl Waiting {
    fn memory_bytes(&self) -> usize {
        size_of::<Waiting>() + self.key.len() + self.change.memory_bytes()
    }
}

/// How far an UPDATE is.
pub(super) struct Updating {
    place: Place,
    /// A target row may come more than once where others are joined; only its first time counts.
    seen: Option<HashSet<Vec<u8>>>,
    key: Vec<u8>,
    change: ChangeBuffers,
    together: Together,
    result: DmlResult,
}

/// How far an UPDATE is that changes unique keys.
#[derive(Default)]
struct Together {
    waiting: VecDeque<Waiting>,
    held: Charge,
    /// Once no more are taken: why not.
    taken: Option<Result<()>>,
    /// The batch of the one that came in last, by its position.
    current: Option<(usize, Batch)>,
}

/// A step of its execution.
struct Run<'r, 'a> {
    program: &'r RowChange,
    context: &'r DmlContext<'a>,
    pending: &'r mut PendingChecks<'a>,
    beside: ConcurrentWrites,
    turn: &'r Turn,
    at: &'r mut Updating,
}

impl UpdatePlan {
    pub(super) fn new(of: &Arc<Modification>, catalog: &Catalog) -> Result<UpdatePlan> {
        let ModificationKind::Update { assigned, is_joined } = &of.kind else {
            return Err(Error::internal("not an UPDATE"));
        };
        let target = Target::of(&of.table, catalog)?;
        // A row of the source is the old row, its row number where it has one, the new values, and what else RETURNING sees.
        let width = target.table.columns.len();
        let values_at = width + usize::from(target.layout.has_row_numbers());
        let value = |(at, &column): (usize, &usize)| {
            let data_type = target.table.columns[column].data_type;
            (column, Expr::Column { index: width + values_at + at, data_type })
        };
        let assigned: Vec<(usize, Expr)> = assigned.iter().enumerate().map(value).collect();
        let returning = of.returning.as_ref().map(|returning| returning.exprs.as_slice());
        let behind = (returning, values_at + assigned.len());
        let program = RowChange::new(&target, catalog, assigned, None, behind).through(&of.view_checks)?;
        Ok(UpdatePlan { program, of: of.clone(), is_joined: *is_joined })
    }

    fn target(&self) -> &Arc<Target> {
        &self.program.rules.target
    }

    /// Whether views ask subqueries of the rows, or the table's rules functions.
    pub(super) fn asks_queries(&self) -> bool {
        self.program.rules.ask_queries() || self.target().bound.calls != Callees::BuiltIn
    }

    pub(super) fn begin(&self, context: &DmlContext<'_>) -> Updating {
        Updating {
            place: Place::default(),
            seen: self.is_joined.then(HashSet::new),
            key: Vec::new(),
            change: ChangeBuffers::default(),
            together: Together { held: Charge::of_nobody(), ..Together::default() },
            result: DmlResult::new(context, self.of.returning.as_ref()),
        }
    }

    pub(super) fn step(&self, at: &mut Updating, source: &Source<'_>, work: &mut Work<'_>) -> Step<DmlResult> {
        let Work { context, pending, beside, turn } = work;
        let mut place = std::mem::take(&mut at.place);
        let mut run = Run { program: &self.program, context, pending, beside: *beside, turn, at };
        let stepped = match self.program.changes_unique_keys() {
            true => run.together(source, &mut place),
            false => run.one_by_one(source, &mut place),
        };
        at.place = place;
        stepped?;
        Ok(std::mem::take(&mut at.result))
    }
}

impl Run<'_, '_> {
    /// Leaves the key of a source row's target in `key`; false for a target that came before, or that another part of the
    /// statement has changed.
    fn is_new(&mut self, row: BatchRow<'_>) -> Result<bool> {
        source_key(&self.program.rules.target, row, &mut self.at.key)?;
        let tree = self.program.rules.target.table.tree;
        if self.beside != ConcurrentWrites::Nobody && !self.context.is_untouched(tree, &self.at.key)? {
            return match self.beside {
                ConcurrentWrites::Functions if !self.was_seen() => Err(changed_by_trigger("updated")),
                _ => Ok(false),
            };
        }
        let is_new = !self.was_seen();
        if is_new && let Some(seen) = &mut self.at.seen {
            seen.insert(self.at.key.clone());
        }
        Ok(is_new)
    }

    fn was_seen(&self) -> bool {
        self.at.seen.as_ref().is_some_and(|seen| seen.contains(&self.at.key))
    }

    fn one_by_one(&mut self, source: &Source<'_>, place: &mut Place) -> Step<()> {
        let (exec, turn, mut tx) = (self.context.exec, self.turn, self.context.tx);
        let tree = self.program.rules.target.table.tree;
        let way = if self.beside == ConcurrentWrites::Nobody { self.program.way() } else { Way::Each };
        source.for_each_batch((exec, turn), place, |batch, place| {
            let mut hold = if way == Way::Each { None } else { tx.writer(tree)? };
            if let (Way::Together, Some(writer)) = (way, &mut hold) {
                return Ok(self.patch_batch(writer, batch)?);
            }
            let trees = held_trees(&mut hold, &mut tx);
            for row in rows_of(batch, place.row) {
                place.row = row.row + 1;
                if !self.is_new(row)? {
                    continue;
                }
                let Run { program, pending, at: Updating { key, change, result, .. }, .. } = self;
                let (env, pending) = (Env::of(exec), &mut **pending);
                if program.run(trees, (key, Some(&row)), env, change, pending, &mut result.returned)? {
                    result.add()?;
                }
                turn.take()?;
            }
            Ok(())
        })
    }

    /// Rows of which most only have to be patched, in one pass of their leaves; the others one by one, between them.
    fn patch_batch(&mut self, writer: &mut TransactionWriter<'_>, batch: &Batch) -> Result<()> {
        let (keys, rows) = self.new_rows(batch)?;
        let columns = batch.columns();
        let row = |at: usize| BatchRow { columns, row: rows[at] as usize };
        let Run { program, context, pending, at: Updating { change, result, .. }, .. } = self;
        let (program, env) = (*program, Env::of(context.exec));
        let tree = program.rules.target.table.tree;
        let patch = program.patches(columns);
        let mut done = 0;
        while done < keys.len() {
            let (from, mut stopped) = (done, None);
            done = writer.patch_each(tree, &keys, from, &mut |at, old, patches| {
                let Some(patch) = &patch else { return false };
                patch.patch(old, rows[at] as usize, patches).unwrap_or_else(|stop| {
                    stopped = Some(stop);
                    false
                })
            })?;
            if let Some(stop) = stopped {
                return Err(stop.into());
            }
            result.add_many((done - from) as u64);
            if program.audience.hears() && from < done {
                tell(program, batch, &rows[from..done], pending)?;
            }
            if done < keys.len() {
                let (key, beside) = (keys.get(done), row(done));
                let told = &mut **pending as &mut dyn RowObserver;
                if program.run(writer, (key, Some(&beside)), env, change, told, &mut result.returned)? {
                    result.add()?;
                }
                done += 1;
            }
        }
        Ok(())
    }

    /// The keys of a batch's rows that are to be changed, and which of them these are.
    fn new_rows(&mut self, batch: &Batch) -> Result<(KeyList, Vec<u32>)> {
        let (mut keys, mut rows) = (KeyList::default(), Vec::with_capacity(batch.len()));
        let are_all = self.beside == ConcurrentWrites::Nobody && self.at.seen.is_none();
        if are_all && source_numbers(&self.program.rules.target, batch, &mut keys) {
            rows.extend((0..batch.len()).map(row_number));
            return Ok((keys, rows));
        }
        for row in rows_of(batch, 0) {
            if self.is_new(row)? {
                keys.push(&self.at.key);
                rows.push(row_number(row.row));
            }
        }
        Ok((keys, rows))
    }

    /// All old keys go before the first new one comes: `SET id = id + 1` only fails where keys really collide.
    fn together(&mut self, source: &Source<'_>, place: &mut Place) -> Step<()> {
        if self.at.together.taken.is_none() {
            self.at.together.taken = Some(match self.take_all(source, place) {
                Err(NoAnswer::NotYet) => return Err(NoAnswer::NotYet),
                Err(NoAnswer::Failed(error)) => Err(error),
                Ok(()) => Ok(()),
            });
        }
        // What is wrong with a row before the one that could not be taken is told first.
        while let Some(Waiting { batch, row, key, change }) = self.at.together.waiting.pop_front() {
            let current = match self.at.together.current.take() {
                Some((at, current)) if at == batch => current,
                _ => source.batch(batch)?,
            };
            self.put(&key, BatchRow { columns: current.columns(), row }, &change)?;
            self.at.together.current = Some((batch, current));
            self.turn.take()?;
        }
        self.at.together.held.clear(source.shared());
        Ok(self.at.together.taken.take().unwrap_or(Ok(()))?)
    }

    fn take_all(&mut self, source: &Source<'_>, place: &mut Place) -> Step<()> {
        source.for_each_row((self.context.exec, self.turn), place, |batch, row| {
            if self.is_new(row)?
                && let Some(taken) = self.take(batch, row)?
            {
                let Together { waiting, held, .. } = &mut self.at.together;
                held.add(taken.memory_bytes(), source.shared())?;
                waiting.push_back(taken);
            }
            Ok(())
        })
    }

    fn take(&mut self, batch: usize, row: BatchRow<'_>) -> Result<Option<Waiting>> {
        let (program, env, mut trees) = (self.program, Env::of(self.context.exec), self.context.tx);
        let mut change = ChangeBuffers::default();
        if !program.read(&mut trees, &self.at.key, &mut change)? {
            return Ok(None);
        }
        let told = (&mut *self.pending as &mut dyn RowObserver, &mut self.at.result.returned);
        if !program.prepare(&self.at.key, Some(&row), env, &mut change, told)? {
            return Ok(None);
        }
        program.settle_old(&mut trees, &self.at.key, env, &mut change)?;
        program.take_old(&mut trees, &self.at.key, &change)?;
        if !program.returns_after() {
            self.at.result.add()?;
        }
        Ok(Some(Waiting { batch, row: row.row, key: std::mem::take(&mut self.at.key), change }))
    }

    fn put(&mut self, key: &[u8], row: BatchRow<'_>, change: &ChangeBuffers) -> Result<()> {
        let (program, env, mut trees) = (self.program, Env::of(self.context.exec), self.context.tx);
        let worded = |stop: Stop| program.worded(stop, key, Some(&row), env, change);
        program.find_duplicate(&mut trees, change, true).map_err(worded)?;
        program.refers(&mut trees, key, change, self.pending)?;
        program.put_new(&mut trees, key, change)?;
        program.note(key, Some(&row), env, change, self.pending)?;
        if program.returns_after() {
            program.returning_after((key, Some(&row)), env, change, &mut self.at.result.returned)?;
            self.at.result.add()?;
        }
        Ok(())
    }
}

/// Tells of rows of a batch that were changed.
fn tell(program: &RowChange, batch: &Batch, rows: &[u32], pending: &mut PendingChecks<'_>) -> Result<()> {
    let table = &program.rules.target.table;
    let after = program.columns_after(batch.columns()).ok_or_else(|| Error::internal("a new value is missing"))?;
    let before = batch.columns()[..table.columns.len()].to_vec();
    let of = |columns: Vec<Arc<Vector>>| {
        let all = Batch::new(columns, batch.len());
        if rows.len() == batch.len() { all } else { all.gather(rows) }
    };
    pending.replaced_rows(table, of(before), of(after), program.listed())
}
