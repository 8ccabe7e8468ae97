//! Cursors: DECLARE, FETCH, MOVE and CLOSE.
//!
//! - A cursor reads what its transaction saw when it was declared, whatever is written later; functions that it calls and that may change
//!   rows do so as its rows are asked for. A row that it goes back to is the row that it was: no function runs twice for it.
//! - It reads on as rows are asked for, a batch at a time: an error of a row may be told before that row is asked for. Without SCROLL it goes back as long as what it passed fits in `work_mem`.
//! - It ends with its transaction, with the savepoint that it was declared behind, or, WITH HOLD, with the session: then COMMIT
//!   reads what is left, and keeps it on disk beyond `work_mem`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::cursor::Cursor;
use super::execute::{Runnable, State, verb_of};
use super::portals::{CursorRows, PortalState};
use super::runner::{RoutineSession, Runner};
use super::{Executed, Params, Rows, Session};
use crate::catalog::{ObjectId, Routine};
use crate::command::{self, CursorCommand, DeclareCursor, Direction};
use crate::error::Feature;
use crate::exec::{Collected, ExecContext, Keep, ScrolledRows, execute_kept};
use crate::plan::Field;
use crate::prepared::{Access, Body, Prepared};
use crate::sql::ParsedStatement;
use crate::state::Reader;
use crate::sync::{Mutex, MutexGuard};
use crate::types::ListedCursor;
use crate::{Error, Result, SqlState, Value};

/// By name.
pub(super) type Cursors = BTreeMap<String, Cursor>;

/// Those of a session.
#[derive(Debug, Default)]
pub(super) struct OpenCursors(Mutex<Cursors>, AtomicU64);

/// The depth of a cursor that a function opened in a statement on its own, with which it ends.
pub(super) const OF_STATEMENT: usize = usize::MAX;

impl OpenCursors {
    /// Whether there is one that reads what was there when it began to; or one is being read.
    pub(crate) fn has_any(&self) -> bool {
        !self.lock().is_ok_and(|cursors| !cursors.values().any(|cursor| cursor.is_begun))
    }

    /// As `pg_cursors` lists them.
    pub(super) fn listed(&self) -> Result<Vec<ListedCursor>> {
        let listed = |(name, cursor): (&String, &Cursor)| ListedCursor {
            name: name.clone(),
            statement: cursor.text.to_string(),
            hold: cursor.hold,
            scroll: cursor.scroll != Some(false),
            made: cursor.made,
        };
        Ok(self.lock()?.iter().map(listed).collect())
    }

    /// SQLSTATE 55006 while a transaction's end reads what is left of them, for which functions may be called.
    fn lock(&self) -> Result<MutexGuard<'_, Cursors>> {
        let in_use = || Error::new(SqlState::OBJECT_IN_USE, "a cursor of this session is being read");
        self.0.try_lock().ok_or_else(in_use)
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
        let refused = |what: &str| Err(Error::new(SqlState::INVALID_CURSOR_STATE, format!("cursor \"{name}\" {what}")));
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

impl OpenCursors {
    /// There is one more; its number. SQLSTATE 42P03 where there is one of this name.
    pub(super) fn open(&self, name: &str, cursor: Cursor) -> Result<u64> {
        let mut cursors = self.lock()?;
        if cursors.contains_key(name) {
            return Err(Error::new(SqlState::DUPLICATE_CURSOR, format!("cursor \"{name}\" already exists")));
        }
        let serial = self.1.fetch_add(1, Ordering::Relaxed) + 1;
        cursors.insert(name.to_owned(), Cursor { serial, ..cursor });
        Ok(serial)
    }

    /// The number and the text of one.
    pub(super) fn known(&self, name: &str) -> Option<(u64, Arc<str>)> {
        self.lock().ok()?.get(name).map(|cursor| (cursor.serial, cursor.text.clone()))
    }

    /// One, for as long as rows of it are read: functions that it calls may use others meanwhile, but not this one.
    fn take(&self, name: &str) -> Result<Cursor> {
        let mut cursors = self.lock()?;
        let cursor = cursors.get_mut(name).ok_or_else(|| unknown(name))?;
        if cursor.failed || cursor.is_read() || cursor.rows.as_ref().is_some_and(CursorRows::is_spent) {
            return Err(not_to_be_run(name));
        }
        let stays = cursor.without_rows();
        Ok(std::mem::replace(cursor, stays))
    }

    /// It was read. It is gone where what is undone meanwhile has made it.
    pub(super) fn give_back(&self, name: &str, read: Cursor) -> Result<()> {
        if let Some(cursor) = self.lock()?.get_mut(name).filter(|cursor| cursor.rows.is_none()) {
            let is_begun = read.rows.as_ref().is_none_or(CursorRows::is_begun);
            *cursor = Cursor { depth: cursor.depth, pinned: cursor.pinned, is_begun, ..read };
        }
        Ok(())
    }

    /// Reads rows of one.
    fn read<T>(&self, name: &str, work: impl FnOnce(&mut Cursor) -> Result<T>) -> Result<T> {
        let mut cursor = self.take(name)?;
        let done = work(&mut cursor).inspect_err(|_| cursor.failed = true);
        self.give_back(name, cursor)?;
        done
    }

    /// A portal that was not run so far, and how many are being read; `None`: it is no such.
    pub(super) fn take_new_portal(&self, name: &str) -> Result<Option<(Cursor, usize)>> {
        let read = {
            let cursors = self.lock()?;
            let cursor = cursors.get(name).ok_or_else(|| unknown(name))?;
            if !cursor.rows.as_ref().is_some_and(CursorRows::is_new_portal) {
                return Ok(None);
            }
            cursors.values().filter(|cursor| cursor.is_read()).count()
        };
        Ok(Some((self.take(name)?, read)))
    }

    /// See [`Session::take_portal`].
    pub(super) fn take_portal(&self, name: &str) -> Result<Option<PortalState>> {
        let mut cursors = self.lock()?;
        let cursor = cursors.get_mut(name).ok_or_else(|| unknown_portal(name))?;
        match &mut cursor.rows {
            _ if cursor.failed => Err(not_to_be_run(name)),
            Some(CursorRows::Portal(portal)) => portal.take().map(Some).ok_or_else(|| not_to_be_run(name)),
            Some(CursorRows::Scrolled(_)) => Ok(None),
            None => Err(not_to_be_run(name)),
        }
    }

    /// See [`Session::give_portal_back`].
    pub(super) fn give_portal_back(&self, name: &str, state: PortalState) {
        let Ok(mut cursors) = self.lock() else { return };
        let Some(cursor) = cursors.get_mut(name) else { return };
        let Some(CursorRows::Portal(portal)) = &mut cursor.rows else { return };
        match &state {
            PortalState::New(_) => {}
            PortalState::Begun(begun) => cursor.position = begun.rows.count_so_far(),
            PortalState::Over(_) => cursor.at_end = true,
        }
        cursor.is_begun = matches!(state, PortalState::Begun(_));
        portal.give_back(state);
    }

    /// One ends, if there is one of this name.
    pub(super) fn forget(&self, name: &str) {
        if let Ok(mut cursors) = self.lock() {
            cursors.remove(name);
        }
    }

    pub(super) fn forget_portals(&self) {
        if let Ok(mut cursors) = self.lock() {
            cursors.retain(|_, cursor| !cursor.is_portal);
        }
    }

    /// Closes all but those that are being read.
    fn close_all(&self) -> Result<()> {
        self.lock()?.retain(|_, cursor| cursor.is_read());
        Ok(())
    }

    /// SQLSTATE 24000 while it is being read.
    fn close(&self, name: &str) -> Result<()> {
        let mut cursors = self.lock()?;
        match cursors.get(name) {
            None => Err(unknown(name)),
            Some(cursor) if cursor.is_read() => {
                Err(Error::new(SqlState::INVALID_CURSOR_STATE, format!("cannot drop active portal \"{name}\"")))
            }
            Some(_) => {
                cursors.remove(name);
                Ok(())
            }
        }
    }
}

impl RoutineSession {
    fn cursors_mut(&self) -> Result<MutexGuard<'_, Cursors>> {
        self.names.cursors.lock()
    }
}

/// SQLSTATE 0A000: what its functions change would have to be committed when it is declared.
fn alone_with_writers() -> Error {
    let what = "a cursor WITH HOLD over functions that may change rows outside of a transaction";
    Error::lacking(Feature::HeldCursors, what)
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
    pub(super) fn open_named(
        &self,
        name: Option<String>,
        (prepared, context): (&Prepared, &ExecContext),
        routine: &Routine,
        scroll: Option<bool>,
    ) -> Result<String> {
        let Some(plan) = prepared.plan()?.filter(|_| !prepared.changes()) else {
            let message = format!("cannot open {} query as cursor", verb_of(&prepared.parsed));
            return Err(Error::new(SqlState::INVALID_CURSOR_DEFINITION, message));
        };
        self.may_begin_changes(prepared)?;
        let mut context = context.reading(self.reader_for_cursor(routine, context.reader.clone())?);
        context.sparing = true;
        let (plan, key) = prepared.cursor_plan(plan)?;
        let rows =
            CursorRows::Scrolled(Box::new(ScrolledRows::new(execute_kept(plan, context, None)?, keep_of(scroll))));
        let name = name.unwrap_or_else(|| {
            format!("<unnamed portal {}>", self.session.portals.fetch_add(1, Ordering::Relaxed) + 1)
        });
        let depth = Some(self.cursor_depth);
        let cursor = Cursor { depth, ..Cursor::new(rows, key, scroll, &prepared.parsed.text().into()) };
        self.session.names.cursors.open(&name, cursor).map_err(|error| match error.sqlstate() {
            code @ SqlState::DUPLICATE_CURSOR => Error::new(code, format!("cursor \"{name}\" already in use")),
            _ => error,
        })?;
        Ok(name)
    }

    /// The rows come to, of these fields, and how many.
    pub(super) fn fetch_named(&self, name: &str, direction: Direction) -> Result<(Vec<Field>, Vec<Vec<Value>>, u64)> {
        self.session.names.cursors.read(name, |cursor| {
            cursor.rows_mut()?.begin_statement(self.base.deadline)?;
            let mut rows = Vec::new();
            let count = cursor.fetch(direction, &mut |row| {
                // Of several, as MOVE comes to them, nobody wants more than one.
                if rows.is_empty() {
                    rows.push(row);
                }
                Ok(())
            })?;
            Ok((cursor.fields().to_vec(), rows, count))
        })
    }

    pub(super) fn close_named(&self, name: &str) -> Result<()> {
        self.session.names.cursors.close(name)
    }

    /// A loop goes over it, and its transaction may end.
    pub(super) fn pin_named(&self, name: &str) -> Result<()> {
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

impl Session {
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

    /// What the rows are that FETCH gives of a cursor; `None`: there is none that has rows, so far.
    pub(super) fn fields_of_cursor(&self, name: &str) -> Option<Vec<Field>> {
        let cursors = self.cursors_mut().ok()?;
        let cursor = cursors.get(name)?;
        let returns = cursor.rows.as_ref().is_none_or(CursorRows::returns_rows);
        returns.then(|| cursor.fields().to_vec())
    }

    /// Whether there are cursors.
    pub(super) fn has_cursors(&self) -> bool {
        self.cursors_mut().map_or(true, |cursors| !cursors.is_empty())
    }

    /// Closes all but those that are being read.
    pub(super) fn close_cursors(&self) -> Result<()> {
        self.routines.names.cursors.close_all()
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
            CursorCommand::Fetch { name, direction, moves } => self.fetch(parsed, name, (*direction, *moves)),
            CursorCommand::Close(Some(name)) => {
                self.routines.names.cursors.close(name)?;
                Ok(Executed::tag("CLOSE CURSOR"))
            }
            CursorCommand::Close(None) => {
                self.close_cursors()?;
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
        let there = self.cursors_mut()?.len();
        self.state.borrow().settings.check_names("cursors", there, 0)?;
        let parsed = Arc::new(parsed.within(*query, parsed.declared.clone()));
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
            let session = self.state.borrow();
            let open = session.transaction.as_ref();
            let reader = match open {
                Some(open) => &open.tx.reader_until_done()?,
                None => state.reader,
            };
            // What its functions change they change while it is read.
            let tx = match open {
                _ if !prepared.calls_writers() => None,
                Some(open) => Some((&open.tx, Some(&open.deferred))),
                None => return Err(alone_with_writers()),
            };
            let state = &State { reader, tx, catalog: state.catalog.clone(), ..*state };
            let mut context = self.context(&prepared, state, params)?;
            context.sparing = true;
            let Body::Plan(plan) = prepared.body()? else { return Err(Error::internal("a cursor without a plan")) };
            let (plan, key) = prepared.cursor_plan(plan)?;
            let rows = ScrolledRows::new(execute_kept(plan, context, None)?, keep);
            Ok((CursorRows::Scrolled(Box::new(rows)), key))
        })?;
        let depth = self.state.borrow().transaction.as_ref().map(|open| open.depth());
        let mut cursor =
            Cursor { hold: *hold, depth, ..Cursor::new(rows, key, *scroll, &runnable.parsed.text().into()) };
        if depth.is_none() && self.routines.names.cursors.known(name).is_none() {
            let ending = self.shared().store.begin()?;
            cursor.rows_mut()?.hold(&Reader::from(ending.reader()))?;
        }
        self.routines.names.cursors.open(name, cursor).map(drop)
    }

    fn fetch(&self, parsed: &ParsedStatement, name: &str, (direction, moves): (Direction, bool)) -> Result<Executed> {
        self.begin_portal(name)?;
        let deadline = self.deadline();
        let (fields, rows, affected) = self.routines.names.cursors.read(name, |cursor| {
            let read = cursor.rows_mut()?;
            read.begin_statement(deadline)?;
            let context = read.context().map_or_else(|| self.context_to_keep(parsed), |context| Ok(context.clone()))?;
            let fields = cursor.fields().to_vec();
            let mut rows = Collected::of(&context, &fields);
            let affected = match moves && direction.stays() {
                // Nothing is read for it, so any cursor can.
                true => u64::from(cursor.is_on_row()),
                false => cursor.fetch(direction, &mut |row| if moves { Ok(()) } else { rows.push(row) })?,
            };
            Ok((fields, rows, affected))
        })?;
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
        let is_held =
            |(name, cursor): (&String, &Cursor)| (cursor.hold && cursor.depth.is_some()).then(|| name.clone());
        let held: Vec<String> = self.cursors_mut()?.iter().filter_map(is_held).collect();
        held.iter().try_for_each(|name| {
            self.routines.names.cursors.read(name, |cursor| {
                let rows = cursor.rows_mut()?;
                rows.begin_statement(deadline)?;
                rows.hold(open.tx.reader())
            })
        })
    }

    /// Before the transaction of a procedure ends: reads what loops over cursors have left, and ends the others.
    pub(super) fn hold_loops(&self, reader: &Reader) -> Result<()> {
        self.routines.hold_loops(reader)?;
        let mut cursors = self.cursors_mut()?;
        cursors.retain(|_, cursor| cursor.depth != Some(OF_STATEMENT) || cursor.pinned);
        for cursor in cursors.values_mut().filter(|cursor| cursor.pinned && cursor.depth.is_some()) {
            cursor.rows_mut()?.hold(reader)?;
            cursor.depth = None;
        }
        Ok(())
    }

    /// The transaction is over.
    pub(super) fn end_cursors(&self, committed: bool) {
        let Ok(mut cursors) = self.cursors_mut() else { return };
        cursors.retain(|_, cursor| !cursor.is_portal && (cursor.depth.is_none() || committed && cursor.hold));
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

/// SQLSTATE 55000: it has failed, or is being read.
pub(super) fn not_to_be_run(name: &str) -> Error {
    Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, format!("portal \"{name}\" cannot be run"))
}

fn unknown_portal(name: &str) -> Error {
    Error::new(SqlState::INVALID_CURSOR_NAME, format!("portal \"{name}\" does not exist"))
}

fn unknown(name: &str) -> Error {
    Error::new(SqlState::INVALID_CURSOR_NAME, format!("cursor \"{name}\" does not exist"))
}
