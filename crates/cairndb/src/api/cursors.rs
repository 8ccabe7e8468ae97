//! Cursors: DECLARE, FETCH, MOVE and CLOSE.
//!
//! - A cursor reads what its transaction saw when it was declared, whatever is written later.
//! - It reads on as rows are asked for, a batch at a time: an error of a row may be told before that row is asked for. Without SCROLL it goes back as long as what it passed fits in `work_mem`.
//! - It ends with its transaction, with the savepoint that it was declared behind, or, WITH HOLD, with the session: then COMMIT
//!   reads what is left, and keeps it on disk beyond `work_mem`.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use super::execute::{Executed, Runnable, State, verb_of};
use super::prepared::{Access, Body, Prepared};
use super::runner::{RoutineSession, Runner};
use super::{Connection, Params, Rows};
use crate::bind::RowKey;
use crate::catalog::{ObjectId, Routine};
use crate::command::{self, CursorCommand, DeclareCursor, Direction};
use crate::exec::{Collected, ExecContext, Keep, ScrolledRows, execute_kept, only_forward};
use crate::plan::Field;
use crate::sql::ParsedStatement;
use crate::state::Reader;
use crate::types::ListedCursor;
use crate::types::datetime::clock_micros;
use crate::{Error, Result, SqlState, Value};

/// By name.
pub(super) type Cursors = BTreeMap<String, Cursor>;

/// Those of a session.
#[derive(Debug, Default)]
pub(super) struct OpenCursors(Mutex<Cursors>);

/// The depth of a cursor that a function opened in a statement on its own, with which it ends.
pub(super) const OF_STATEMENT: usize = usize::MAX;

/// See the module.
pub(super) struct Cursor {
    rows: ScrolledRows,
    scroll: Option<bool>,
    hold: bool,
    /// Behind how many savepoints of the open transaction it was declared; `None`: its transaction is over.
    depth: Option<usize>,
    /// The number of the row that it is on, from 1; 0: before the first.
    position: u64,
    /// Behind the last row, which `position` is.
    at_end: bool,
    failed: bool,
    /// A loop goes over it, in a procedure that may end its transaction: it ends with the statement then.
    pinned: bool,
    /// What its rows have behind their columns.
    key: Option<RowKey>,
    /// That of the row that it is on.
    current: Vec<Value>,
    /// What declared it.
    statement: Arc<ParsedStatement>,
    /// Microseconds since 2000-01-01 UTC.
    made: i64,
}

impl std::fmt::Debug for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Cursor at {}", self.position)
    }
}

impl OpenCursors {
    /// Whether there is one; or one is being read.
    pub(crate) fn has_any(&self) -> bool {
        !self.lock().is_ok_and(|cursors| cursors.is_empty())
    }

    /// As `pg_cursors` lists them.
    pub(super) fn listed(&self) -> Result<Vec<ListedCursor>> {
        let listed = |(name, cursor): (&String, &Cursor)| ListedCursor {
            name: name.clone(),
            statement: cursor.statement.text().to_owned(),
            hold: cursor.hold,
            scroll: cursor.scroll != Some(false),
            made: cursor.made,
        };
        Ok(self.lock()?.iter().map(listed).collect())
    }

    /// SQLSTATE 55006 while rows of one are read, which may call functions.
    fn lock(&self) -> Result<MutexGuard<'_, Cursors>> {
        match self.0.try_lock() {
            Ok(cursors) => Ok(cursors),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => {
                Err(Error::new(SqlState::OBJECT_IN_USE, "a cursor of this session is being read"))
            }
        }
    }
}

impl OpenCursors {
    /// The key of the row of a table, which has this name, that a cursor is on.
    pub(super) fn key_of_current(
        &self,
        name: &str,
        (table, change): (ObjectId, u64),
        table_name: &str,
    ) -> Result<Vec<Value>> {
        let cursors = self.lock()?;
        let cursor = cursors.get(name).ok_or_else(|| unknown(name))?;
        let refused = |what: &str| Err(Error::new(SqlState("24000"), format!("cursor \"{name}\" {what}")));
        match cursor.key {
            _ if cursor.depth.is_none() => refused("is held from a previous transaction"),
            Some(key) if key.table == table && key.change != change => {
                refused("was opened before its table was altered")
            }
            Some(key) if key.table == table => match cursor.is_on_row() {
                true => Ok(cursor.current.clone()),
                false => refused("is not positioned on a row"),
            },
            _ => refused(&format!("is not a simply updatable scan of table \"{table_name}\"")),
        }
    }
}

impl RoutineSession {
    fn cursors_mut(&self) -> Result<MutexGuard<'_, Cursors>> {
        self.names.cursors.lock()
    }
}

/// SQLSTATE 0A000 for a cursor over a plan that changes rows while it is read.
fn refuse_writers(prepared: &Prepared) -> Result<()> {
    if !prepared.calls_writers() {
        return Ok(());
    }
    let error = Error::unsupported("a cursor over functions that may change rows");
    Err(error.with_hint("Declare the functions STABLE, if they change nothing."))
}

fn keep_of(scroll: Option<bool>) -> Keep {
    match scroll {
        Some(true) => Keep::All,
        Some(false) => Keep::Nothing,
        None => Keep::WhileSmall,
    }
}

/// What functions do with cursors, which are the session's.
impl Runner {
    /// Opens one, over what its function sees now; its name, which is made where none is said.
    pub(crate) fn open_cursor(
        &self,
        name: Option<String>,
        prepared: &Prepared,
        context: &ExecContext,
        routine: &Routine,
        scroll: Option<bool>,
    ) -> Result<String> {
        let Some(plan) = prepared.plan()?.filter(|_| !prepared.writes()) else {
            let message = format!("cannot open {} query as cursor", verb_of(&prepared.parsed));
            return Err(Error::new(SqlState("42P11"), message));
        };
        refuse_writers(prepared)?;
        let mut context = context.reading(self.reader_for_cursor(routine, context.reader.clone())?);
        context.sparing = true;
        let (plan, key) = prepared.cursor_plan(plan)?;
        let rows = ScrolledRows::new(execute_kept(plan, context, None)?, keep_of(scroll));
        let mut cursors = self.session.cursors_mut()?;
        let name = name.unwrap_or_else(|| {
            format!("<unnamed portal {}>", self.session.portals.fetch_add(1, Ordering::Relaxed) + 1)
        });
        if cursors.contains_key(&name) {
            return Err(Error::new(SqlState::DUPLICATE_CURSOR, format!("cursor \"{name}\" already in use")));
        }
        let depth = Some(self.cursor_depth);
        let cursor = Cursor { depth, ..Cursor::new(rows, key, scroll, &prepared.parsed) };
        cursors.insert(name.clone(), cursor);
        Ok(name)
    }

    /// The rows come to, of these fields, and how many.
    pub(crate) fn fetch_cursor(&self, name: &str, direction: Direction) -> Result<(Vec<Field>, Vec<Vec<Value>>, u64)> {
        let mut cursors = self.session.cursors_mut()?;
        let cursor = cursors.get_mut(name).ok_or_else(|| unknown(name))?;
        cursor.rows.begin_statement(self.base.deadline);
        let mut rows = Vec::new();
        let count = cursor.fetch(direction, &mut |row| {
            // Of several, as MOVE comes to them, nobody wants more than one.
            if rows.is_empty() {
                rows.push(row);
            }
            Ok(())
        });
        let count = count.inspect_err(|_| cursor.failed = true)?;
        Ok((cursor.fields().to_vec(), rows, count))
    }

    pub(crate) fn close_cursor(&self, name: &str) -> Result<()> {
        self.session.cursors_mut()?.remove(name).map(drop).ok_or_else(|| unknown(name))
    }

    /// A loop goes over it, and its transaction may end.
    pub(crate) fn pin_cursor(&self, name: &str) -> Result<()> {
        self.session.cursors_mut()?.get_mut(name).map(|cursor| cursor.pinned = true).ok_or_else(|| unknown(name))
    }

    /// The names of those that are open.
    pub(super) fn open_cursors(&self) -> Vec<String> {
        self.session.cursors_mut().map_or_else(|_| Vec::new(), |cursors| cursors.keys().cloned().collect())
    }

    /// What was done since these were open is undone.
    pub(super) fn close_cursors_but(&self, kept: &[String]) {
        if let Ok(mut cursors) = self.session.cursors_mut() {
            cursors.retain(|name, _| kept.contains(name));
        }
    }
}

impl Connection {
    fn cursors_mut(&self) -> Result<MutexGuard<'_, Cursors>> {
        self.routines.cursors_mut()
    }

    /// A statement on its own is over, and what its functions opened.
    pub(super) fn end_cursors_of_statement(&self) {
        if let Ok(mut cursors) = self.cursors_mut()
            && !cursors.is_empty()
        {
            cursors.retain(|_, cursor| cursor.depth != Some(OF_STATEMENT) && !cursor.pinned);
        }
    }

    /// Whether there are cursors.
    pub(super) fn has_cursors(&self) -> bool {
        self.cursors_mut().map_or(true, |cursors| !cursors.is_empty())
    }

    /// Forgets all.
    pub(super) fn close_cursors(&self) -> Result<()> {
        self.cursors_mut().map(|mut cursors| cursors.clear())
    }

    pub(super) fn cursor_command(
        &self,
        parsed: &ParsedStatement,
        command: &CursorCommand,
        params: &dyn Params,
    ) -> Result<Executed> {
        match command {
            CursorCommand::Declare(declare) => {
                self.declare_cursor(parsed, declare, params)?;
                Ok(Executed::tag("DECLARE CURSOR"))
            }
            CursorCommand::Fetch { name, direction, moves } => self.fetch(name, *direction, *moves),
            CursorCommand::Close(Some(name)) => match self.cursors_mut()?.remove(name) {
                Some(_) => Ok(Executed::tag("CLOSE CURSOR")),
                None => Err(unknown(name)),
            },
            CursorCommand::Close(None) => {
                self.cursors_mut()?.clear();
                Ok(Executed::tag("CLOSE CURSOR ALL"))
            }
        }
    }

    fn declare_cursor(&self, parsed: &ParsedStatement, declare: &DeclareCursor, params: &dyn Params) -> Result<()> {
        let DeclareCursor { name, scroll, hold, query } = declare;
        if !hold && !self.in_transaction() {
            let message = "DECLARE CURSOR can only be used in transaction blocks";
            return Err(Error::new(SqlState::NO_ACTIVE_SQL_TRANSACTION, message));
        }
        let parsed = Arc::new(parsed.within(*query, Vec::new()));
        command::refuse_into(&parsed, "SELECT ... INTO")
            .map_err(|_| Error::new(SqlState::SYNTAX_ERROR, "SELECT ... INTO is not allowed here"))?;
        let mut runnable = Runnable::new(parsed);
        if Access::of(&runnable.parsed) != Access::Read {
            let message = "DECLARE CURSOR must not contain data-modifying statements in WITH";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        let keep = keep_of(*scroll);
        let (rows, key) = self.with_state(|state| {
            let prepared = self.plan(&mut runnable, state)?;
            refuse_writers(&prepared)?;
            let reader = match &self.state.borrow().transaction {
                Some(open) => &open.tx.reader_until_done()?,
                None => state.reader,
            };
            let state = &State { reader, catalog: state.catalog.clone(), ..*state };
            let mut context = self.context(&prepared, state, params)?;
            context.sparing = true;
            let Body::Plan(plan) = prepared.body()? else { return Err(Error::internal("a cursor without a plan")) };
            let (plan, key) = prepared.cursor_plan(plan)?;
            Ok((ScrolledRows::new(execute_kept(plan, context, None)?, keep), key))
        })?;
        if self.cursors_mut()?.contains_key(name) {
            return Err(Error::new(SqlState::DUPLICATE_CURSOR, format!("cursor \"{name}\" already exists")));
        }
        let depth = self.state.borrow().transaction.as_ref().map(|open| open.depth());
        let mut cursor = Cursor { hold: *hold, depth, ..Cursor::new(rows, key, *scroll, &runnable.parsed) };
        if depth.is_none() {
            let ending = self.shared().store.begin()?;
            cursor.rows.hold(&Reader::from(ending.reader()))?;
        }
        self.cursors_mut()?.insert(name.clone(), cursor);
        Ok(())
    }

    fn fetch(&self, name: &str, direction: Direction, moves: bool) -> Result<Executed> {
        let deadline = self.deadline();
        let mut cursors = self.cursors_mut()?;
        let cursor = cursors.get_mut(name).ok_or_else(|| unknown(name))?;
        if cursor.failed {
            let message = format!("portal \"{name}\" cannot be run");
            return Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
        }
        cursor.rows.begin_statement(deadline);
        let fields = cursor.fields().to_vec();
        let mut rows = Collected::of(cursor.rows.context(), &fields);
        let count = match moves && direction.stays() {
            // Nothing is read for it, so any cursor can.
            true => Ok(u64::from(cursor.is_on_row())),
            false => cursor.fetch(direction, &mut |row| if moves { Ok(()) } else { rows.push(row) }),
        };
        let affected = count.inspect_err(|_| cursor.failed = true)?;
        let (tag, rows) = match moves {
            true => ("MOVE", None),
            false => ("FETCH", Some(Rows::collected(fields, rows.finish()))),
        };
        Ok(Executed { tag, affected, rows })
    }

    /// Before the open transaction commits: reads what the cursors that stay have left. The others end, for they refer to the
    /// transaction.
    pub(super) fn hold_cursors(&self) -> Result<()> {
        let deadline = self.deadline();
        // One that has failed is nothing to hold.
        self.cursors_mut()?.retain(|_, cursor| cursor.depth.is_none() || cursor.hold && !cursor.failed);
        let state = self.state.borrow();
        let Some(open) = &state.transaction else { return Ok(()) };
        for cursor in self.cursors_mut()?.values_mut().filter(|cursor| cursor.hold && cursor.depth.is_some()) {
            cursor.rows.begin_statement(deadline);
            cursor.rows.hold(open.tx.reader())?;
        }
        Ok(())
    }

    /// Before the transaction of a procedure ends: reads what loops over cursors have left, and ends the others.
    pub(super) fn hold_loops(&self, reader: &Reader) -> Result<()> {
        self.routines.hold_loops(reader)?;
        let mut cursors = self.cursors_mut()?;
        cursors.retain(|_, cursor| cursor.depth != Some(OF_STATEMENT) || cursor.pinned);
        for cursor in cursors.values_mut().filter(|cursor| cursor.pinned && cursor.depth.is_some()) {
            cursor.rows.hold(reader)?;
            cursor.depth = None;
        }
        Ok(())
    }

    /// The transaction is over.
    pub(super) fn end_cursors(&self, committed: bool) {
        let Ok(mut cursors) = self.cursors_mut() else { return };
        cursors.retain(|_, cursor| cursor.depth.is_none() || committed && cursor.hold);
        cursors.values_mut().for_each(|cursor| cursor.depth = None);
    }

    /// The transaction went back to a savepoint, so many before it.
    pub(super) fn end_cursors_behind(&self, savepoints: usize) {
        if let Ok(mut cursors) = self.cursors_mut() {
            cursors.retain(|_, cursor| cursor.depth.is_none_or(|depth| depth <= savepoints));
        }
    }

    /// A savepoint was released, so many before it: what was declared behind it belongs to what is before it.
    pub(super) fn merge_cursors_behind(&self, savepoints: usize) {
        if let Ok(mut cursors) = self.cursors_mut() {
            cursors.values_mut().for_each(|cursor| cursor.depth = cursor.depth.map(|depth| depth.min(savepoints)));
        }
    }
}

impl Cursor {
    /// Before its first row.
    fn new(rows: ScrolledRows, key: Option<RowKey>, scroll: Option<bool>, statement: &Arc<ParsedStatement>) -> Cursor {
        let (depth, current) = (None, Vec::new());
        Cursor {
            rows,
            scroll,
            hold: false,
            depth,
            position: 0,
            at_end: false,
            failed: false,
            pinned: false,
            key,
            current,
            statement: statement.clone(),
            made: clock_micros(),
        }
    }

    fn fields(&self) -> &[Field] {
        let all = self.rows.fields();
        &all[..all.len() - self.key.map_or(0, |key| key.columns)]
    }

    /// How many rows were come to, each of which `each` gets.
    fn fetch(&mut self, direction: Direction, each: &mut dyn FnMut(Vec<Value>) -> Result<()>) -> Result<u64> {
        let (width, mut last) = (self.fields().len(), None);
        let count = self.come_to(direction, &mut |mut row| {
            last = Some(row.split_off(width));
            each(row)
        })?;
        if let Some(last) = last {
            self.current = last;
        }
        Ok(count)
    }

    fn come_to(&mut self, direction: Direction, each: &mut dyn FnMut(Vec<Value>) -> Result<()>) -> Result<u64> {
        match direction {
            direction if direction.stays() => self.same(each),
            Direction::Forward(count) => self.forward(count, each),
            Direction::Backward(count) => self.backward(count, each),
            Direction::Relative(by @ 1..) => {
                self.forward(Some(by.unsigned_abs() - 1), &mut |_| Ok(()))?;
                self.forward(Some(1), each)
            }
            Direction::Relative(by) => {
                self.backward(Some(by.unsigned_abs() - 1), &mut |_| Ok(()))?;
                self.backward(Some(1), each)
            }
            Direction::Absolute(0) => {
                self.go_to(0)?;
                Ok(0)
            }
            Direction::Absolute(row @ 1..) => {
                self.go_to(row.unsigned_abs() - 1)?;
                self.forward(Some(1), each)
            }
            Direction::Absolute(row) => {
                self.forward(None, &mut |_| Ok(()))?;
                self.backward(Some(row.unsigned_abs() - 1), &mut |_| Ok(()))?;
                self.backward(Some(1), each)
            }
        }
    }

    /// The number that the next row forward would have, were it not behind the end.
    fn next(&self) -> u64 {
        self.position + u64::from(self.at_end) + 1
    }

    /// SQLSTATE 55000 where it can not go back to the row of this number, from 0.
    fn check_back(&self, number: u64) -> Result<()> {
        match self.scroll == Some(false) || !self.rows.has(number) {
            true => Err(only_forward()),
            false => Ok(()),
        }
    }

    fn is_on_row(&self) -> bool {
        self.position > 0 && !self.at_end
    }

    fn same(&mut self, each: &mut dyn FnMut(Vec<Value>) -> Result<()>) -> Result<u64> {
        if !self.is_on_row() {
            return Ok(0);
        }
        self.check_back(self.position - 1)?;
        let row = self.rows.row(self.position - 1)?;
        match row {
            Some(row) => each(row).map(|()| 1),
            None => Ok(0),
        }
    }

    fn forward(&mut self, count: Option<u64>, each: &mut dyn FnMut(Vec<Value>) -> Result<()>) -> Result<u64> {
        let mut come_to = 0;
        while !self.at_end && count.is_none_or(|count| come_to < count) {
            match self.rows.row(self.position)? {
                Some(row) => {
                    each(row)?;
                    (self.position, come_to) = (self.position + 1, come_to + 1);
                }
                None => self.at_end = true,
            }
        }
        Ok(come_to)
    }

    fn backward(&mut self, count: Option<u64>, each: &mut dyn FnMut(Vec<Value>) -> Result<()>) -> Result<u64> {
        if count == Some(0) {
            return Ok(0);
        }
        let (last, mut come_to) = (self.next() - 1, 0);
        self.check_back(count.map_or(0, |count| last.saturating_sub(count + 1)))?;
        while count.is_none_or(|count| come_to < count) && come_to + 1 < last {
            let row =
                self.rows.row(last - come_to - 2)?.ok_or_else(|| Error::internal("a row of a cursor is missing"))?;
            each(row)?;
            come_to += 1;
        }
        let is_through = count.is_none_or(|count| come_to < count);
        (self.position, self.at_end) = (if is_through { 0 } else { last - come_to }, false);
        Ok(come_to)
    }

    /// Goes to a row, or as far as there are any.
    fn go_to(&mut self, row: u64) -> Result<()> {
        let at = self.next() - 1;
        if row < at {
            self.check_back(row)?;
            (self.position, self.at_end) = (row, false);
            return Ok(());
        }
        self.forward(Some(row - at), &mut |_| Ok(())).map(drop)
    }
}

fn unknown(name: &str) -> Error {
    Error::new(SqlState::INVALID_CURSOR_NAME, format!("cursor \"{name}\" does not exist"))
}
