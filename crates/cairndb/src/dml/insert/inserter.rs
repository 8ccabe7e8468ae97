//! Inserts rows, each by the row program; those that nothing is made of, many at a time.

use std::collections::HashSet;
use std::ops::Range;

use cairn_storage::{Error as StorageError, KeyList};

use super::rows::GivenRow;
use crate::catalog::TriggerEvent;
use crate::columns::Batch;
use crate::dml::pending::PendingChecks;
use crate::dml::row::{
    BatchRow, ByOthers, Env, InsertBuffers, LentRow, NewRows, Proposed, RowInsert, RowObserver, Spare, Stop, Touched,
    Trees, Way,
};
use crate::dml::source::held_trees;
use crate::dml::{DmlContext, DmlResult};
use crate::exec::{ExecContext, Step, Turn};
use crate::types::ValueRef;
use crate::{Result, Value};

/// Bytes of rows that are encoded before they are inserted together: they stay in the processor's nearest cache.
const RUN_BYTES: usize = 16 << 10;
/// Rows for which the transaction is held: then it is asked again whether it has become too large.
const HELD_ROWS: usize = 64;
/// Fewer rows are not worth finding out how they can be inserted.
const MANY: usize = 4;

/// The error, and the row of a batch that it is of.
pub(crate) type OfRow = (crate::Error, usize);

/// What one INSERT leaves to the next: buffers, so that it need not allocate them.
#[derive(Debug, Default)]
pub(crate) struct InserterBuffers(Option<Box<Buffers>>);

#[derive(Debug, Default)]
struct Buffers {
    computed: Vec<Value>,
    insert: InsertBuffers,
    fitted: Vec<(usize, Value)>,
    generated: Vec<Value>,
    spare: Spare,
    /// Keys and values of rows that are inserted together.
    run: (KeyList, KeyList),
}

impl Buffers {
    /// Puts down the key and the bytes of a row.
    fn encode<'b>(&mut self, row: impl LentRow<'b>, program: &RowInsert, context: &DmlContext<'_>) -> Result<(), Stop> {
        let Buffers { insert: buffers, fitted, generated, spare, run: (keys, values), .. } = self;
        let (target, env) = (&program.rules.target, Env::of(context.exec));
        let row = Proposed::fit(&target.table, row, fitted, spare.take(), env.eval)?;
        let row = row.generated(target, env, generated)?;
        program.prepare(&row, env, context.numbers(target.table.tree), buffers)?;
        spare.keep(row);
        keys.push(&buffers.key);
        values.push(buffers.row());
        Ok(())
    }
}

/// What one statement has inserted.
pub(crate) struct InserterState {
    /// Where ON CONFLICT may update: the keys of rows that were inserted or updated.
    touched: Option<HashSet<Vec<u8>>>,
    /// Nobody else changes rows.
    pub(super) is_alone: bool,
    /// Once there were many rows.
    way: Option<Way>,
    /// Each row is a statement of its own: what it owes is looked at before the next one.
    pub(super) settles: bool,
    pub(super) result: DmlResult,
}

impl InserterState {
    pub(crate) fn of(program: &RowInsert) -> InserterState {
        InserterState {
            touched: program.may_update().then(HashSet::new),
            is_alone: true,
            way: None,
            settles: false,
            result: DmlResult::default(),
        }
    }

    /// What RETURNING made of the row that was inserted last.
    pub(in crate::dml) fn take_returned(&mut self) -> Vec<Value> {
        self.result.rows.pop().unwrap_or_default()
    }

    pub(crate) fn affected(&self) -> u64 {
        self.result.affected
    }
}

/// Inserts rows of one statement, whose lengths have yet to be fitted.
pub(crate) struct Inserter<'a> {
    program: &'a RowInsert,
    context: &'a DmlContext<'a>,
    own: &'a mut InserterState,
    room: InserterBuffers,
}

impl<'a> Inserter<'a> {
    pub(crate) fn new(program: &'a RowInsert, context: &'a DmlContext<'a>, own: &'a mut InserterState) -> Inserter<'a> {
        Inserter { program, context, own, room: context.room.take() }
    }

    /// Rows of expressions, from the one on that comes next. Each is evaluated when the one before is inserted: functions that it
    /// calls may look for that.
    pub(super) fn insert_expressions<'r, R: GivenRow<'r>>(
        &mut self,
        rows: impl Iterator<Item = R>,
        next: &mut usize,
        (pending, turn): (&mut PendingChecks<'_>, &Turn),
    ) -> Step<()>
    where
        'a: 'r,
    {
        let context = self.context.exec;
        context.check()?;
        let mut computed = std::mem::take(&mut self.room.0.get_or_insert_default().computed);
        for row in rows.skip(*next) {
            turn.take()?;
            computed.clear();
            row.evaluate(context, &mut computed)?;
            self.insert(ComputedRow { row, values: &computed, context }, pending)?;
            *next += 1;
        }
        self.room.0.get_or_insert_default().computed = computed;
        Ok(())
    }

    /// Rows in columns.
    pub(in crate::dml) fn insert_batch(&mut self, batch: &Batch, pending: &mut PendingChecks<'_>) -> Result<(), OfRow> {
        let (turn, mut done) = (Turn::default(), 0);
        while done < batch.len() {
            done = self.insert_part(batch, done, pending, &turn)?;
        }
        Ok(())
    }

    /// Rows of a batch from one on, not all of them; which comes next.
    pub(super) fn insert_part(
        &mut self,
        batch: &Batch,
        from: usize,
        pending: &mut PendingChecks<'_>,
        turn: &Turn,
    ) -> Result<usize, OfRow> {
        let rows = batch.len();
        let way = if rows < MANY { Way::Each } else { self.way().map_err(|error| (error, 0))? };
        if from == 0
            && way == Way::Together
            && let done @ 1.. = self.insert_runs(batch)?
        {
            return Ok(done);
        }
        self.insert_some(batch, from..rows.min(from + HELD_ROWS), way, (pending, turn))
    }

    /// How many rows are inserted. Where the transaction is held for several, nobody has to look then what numbers its rows have.
    fn way(&mut self) -> Result<Way> {
        if let Some(way) = self.own.way {
            return Ok(way);
        }
        let way = if self.own.is_alone { self.program.way() } else { Way::Each };
        let target = &self.program.rules.target;
        if way != Way::Each && target.layout.has_row_numbers() {
            let (store, numbers) = self.context.numbers(target.table.tree);
            numbers.find(store, target.table.tree)?;
        }
        self.own.way = Some(way);
        Ok(way)
    }

    fn insert_some(
        &mut self,
        batch: &Batch,
        rows: Range<usize>,
        way: Way,
        (pending, turn): (&mut PendingChecks<'_>, &Turn),
    ) -> Result<usize, OfRow> {
        let of_first = |error: crate::Error| (error, rows.start);
        self.context.exec.check().map_err(of_first)?;
        let mut tx = self.context.tx;
        let held = if way == Way::Each { Ok(None) } else { tx.writer(self.program.rules.target.table.tree) };
        let mut hold = held.map_err(|error| of_first(error.into()))?;
        let trees = held_trees(&mut hold, &mut tx);
        let mut next = rows.start;
        while next < rows.end {
            let lent = BatchRow { columns: batch.columns(), row: next };
            self.insert_into(trees, lent, pending).map_err(|error| (error, next))?;
            if self.own.settles && way == Way::Each {
                pending.settle_insert().map_err(|error| (error, next))?;
            }
            next += 1;
            if turn.is_over() {
                break;
            }
        }
        Ok(next)
    }

    pub(crate) fn insert<'b>(&mut self, row: impl LentRow<'b>, observer: &mut dyn RowObserver) -> Result<()> {
        let mut trees = self.context.tx;
        self.insert_into(&mut trees, row, observer)
    }

    /// Into these trees, which are those of the statement's transaction.
    fn insert_into<'b>(
        &mut self,
        trees: &mut dyn Trees,
        row: impl LentRow<'b>,
        observer: &mut dyn RowObserver,
    ) -> Result<()> {
        let Inserter { program, context, own: InserterState { touched, is_alone, result, .. }, room } = self;
        let Buffers { insert: buffers, fitted, generated, spare, .. } = &mut **room.0.get_or_insert_default();
        let (table, env) = (&program.rules.target.table, Env::of(context.exec));
        let given;
        let mut row = Proposed::fit(table, row, fitted, spare.take(), env.eval)?;
        let mut refitted = Vec::new();
        if program.audience.before {
            let new = observer.before(table, TriggerEvent::Insert, None, Some(row.to_values()), &[])?;
            let Some(mut new) = new else { return Ok(()) };
            if let Some(version) = table.version_column() {
                // Nobody says one.
                new[version] = row.values()[version].to_value();
            }
            given = new;
            row = Proposed::fit(table, given.as_slice(), &mut refitted, Vec::new(), env.eval)?;
        }
        let row = row.generated(&program.rules.target, env, generated)?;
        program.prepare(&row, env, context.numbers(table.tree), buffers)?;
        let by_others = |key: &[u8]| Ok(!context.is_untouched(table.tree, key)?);
        let by_others = (!*is_alone).then_some(&by_others as &ByOthers<'_>);
        let mut touched = touched.as_mut().map(|keys| Touched { keys, by_others });
        if program.run(trees, &row, env, buffers, (observer, touched.as_mut()), &mut result.returned)? {
            result.add()?;
        }
        spare.keep(row);
        Ok(())
    }

    /// Rows that are no more than an entry of their table's tree each: encodes some, inserts those, and goes on. Returns how many it
    /// inserted: those before the first that another one is in the way of, or that can not be encoded, which is for the caller to
    /// find out about.
    fn insert_runs(&mut self, batch: &Batch) -> Result<usize, OfRow> {
        let (program, context) = (self.program, self.context);
        let numbers = context.numbers(program.rules.target.table.tree);
        match NewRows::of(program, batch.columns(), batch.len(), numbers).map_err(|error| (error, 0))? {
            Some(new) => self.insert_encoded(new.count(), |row, Buffers { run: (keys, values), .. }| {
                new.encode(row, keys, values);
                Ok(())
            }),
            None => self.insert_encoded(batch.len(), |row, buffers| {
                buffers.encode(BatchRow { columns: batch.columns(), row }, program, context)
            }),
        }
    }

    /// `encode` puts down the key and the row of a number.
    fn insert_encoded(
        &mut self,
        rows: usize,
        mut encode: impl FnMut(usize, &mut Buffers) -> Result<(), Stop>,
    ) -> Result<usize, OfRow> {
        let (tree, mut done) = (self.program.rules.target.table.tree, 0);
        while done < rows {
            let of_row = |error: crate::Error| (error, done);
            self.context.exec.check().map_err(of_row)?;
            let Some(mut writer) = self.context.tx.writer(tree).map_err(|error| of_row(error.into()))? else { break };
            let buffers = &mut **self.room.0.get_or_insert_default();
            buffers.run.0.clear();
            buffers.run.1.clear();
            let is_room = |(keys, values): &(KeyList, KeyList)| keys.bytes() + values.bytes() < RUN_BYTES;
            let encoded = (done..rows).take_while(|&row| is_room(&buffers.run) && encode(row, buffers).is_ok()).count();
            let is_cut = done + encoded < rows && is_room(&buffers.run);
            let (keys, values) = &buffers.run;
            let inserted = match writer.insert_each(tree, keys, values, 0) {
                // None of them is inserted: what is wrong with one before it comes first.
                Err(StorageError::KeyTooLong { .. }) => break,
                inserted => inserted.map_err(|error| of_row(error.into()))?,
            };
            done += inserted;
            self.own.result.add_many(inserted as u64);
            if is_cut || inserted < encoded {
                break;
            }
        }
        Ok(done)
    }
}

/// A row of expressions and the values of those that had to be evaluated, each at its place.
#[derive(Clone, Copy)]
struct ComputedRow<'r, 'v, R> {
    row: R,
    values: &'v [Value],
    context: &'r ExecContext,
}

impl<'r: 'v, 'v, R: GivenRow<'r>> ComputedRow<'r, 'v, R> {
    #[inline]
    fn value(self, column: usize) -> Option<&'v Value> {
        self.row.lend(column, self.context).or_else(|| self.values.get(column))
    }
}

impl<'r: 'v, 'v, R: GivenRow<'r>> LentRow<'v> for ComputedRow<'r, 'v, R> {
    #[inline]
    fn lend(self, column: usize) -> Option<ValueRef<'v>> {
        self.value(column).map(ValueRef::from)
    }

    #[inline]
    fn push_to<'a>(self, column: usize, values: &mut Vec<ValueRef<'a>>) -> bool
    where
        'v: 'a,
    {
        let value = self.value(column);
        values.push(value.map_or(ValueRef::Null, ValueRef::from));
        value.is_some()
    }

    fn copy(self, column: usize) -> Value {
        self.lend(column).map_or(Value::Null, |value| value.to_value())
    }
}

impl Drop for Inserter<'_> {
    fn drop(&mut self) {
        self.context.room.set(std::mem::take(&mut self.room));
    }
}
