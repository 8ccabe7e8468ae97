//! A connection's inside, which its cursors share: who may enter, and what it runs.
//!
//! - One thread is inside at a time. Others wait with the interpreter let go, so that whoever is inside can have it.
//! - Who is inside and comes again (a callback, an adapter) is refused, and does not wait for himself.
//! - In a child of `fork` nothing is entered: a lock may be a thread's that is not there.
//! - What is dropped or closed is so with the interpreter let go.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};

use cairn_parser::token::TokenKind;
use cairndb::{Connection, Executed, InterruptHandle, Process, Rows};
use cairndb_arrow::Incoming;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::errors::{raised, refused, refused_with};
use crate::feed::{Feed, Held};
use crate::files::Handle;
use crate::from_python::{Given, Param};
use crate::functions::{self, with_cause};
use crate::released::released;
use crate::signals::watch;
use crate::statements::{Prepared, Statements};
use crate::watch::{Inner, Watch, Watched};

/// See the module.
pub(crate) struct Core {
    process: Process,
    /// The thread that is inside; 0: none.
    inside: AtomicU64,
    open: Mutex<Option<Open>>,
    interrupt: InterruptHandle,
    /// Each statement is a transaction, unless one was begun by BEGIN.
    pub(crate) autocommit: AtomicBool,
}

/// What an open connection has. Dropped in this order.
pub(crate) struct Open {
    pub(crate) statements: Statements,
    /// (Its only owner. A `Box` would say that nobody else refers to what is in it.)
    pub(crate) connection: Rc<Connection>,
    pub(crate) handle: Handle,
    /// Results that were not read to their end.
    held: Vec<Weak<dyn Held>>,
    /// What tells of changes until the connection is closed.
    watches: Vec<Weak<Inner>>,
    /// The parameters' buffer.
    params: Vec<Param>,
}

// SAFETY: all that borrows the connection lies here beside it, and goes with it from thread to thread, and so does its only `Rc`; each
// part of it could go by itself, and one thread at a time is inside (`Core::open`).
unsafe impl Send for Open {}

/// What a statement did.
pub(crate) struct Done {
    pub(crate) feed: Option<Arc<Feed>>,
    pub(crate) affected: i64,
}

/// This thread's number, never 0.
fn this_thread() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local!(static NUMBER: Cell<u64> = const { Cell::new(0) });
    NUMBER.with(|number| {
        if number.get() == 0 {
            number.set(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        number.get()
    })
}

/// Who is inside; leaving ends it.
struct Inside<'a> {
    core: &'a Core,
    open: MutexGuard<'a, Option<Open>>,
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.core.inside.store(0, Ordering::Relaxed);
    }
}

impl Core {
    pub(crate) fn new((handle, connection): (Handle, Connection), autocommit: bool) -> Core {
        let connection = Rc::new(connection);
        watch(&connection, None);
        let interrupt = connection.interrupt_handle();
        // SAFETY: the connection is on the heap, where it stays, and dropped behind the statements.
        let statements = unsafe { Statements::new(&connection) };
        let open = Open { statements, connection, handle, held: Vec::new(), watches: Vec::new(), params: Vec::new() };
        Core {
            process: Process::current(),
            inside: AtomicU64::new(0),
            open: Mutex::new(Some(open)),
            interrupt,
            autocommit: AtomicBool::new(autocommit),
        }
    }

    /// Whether this is the process that it was made in.
    pub(crate) fn is_here(&self) -> bool {
        self.process.is_current()
    }

    /// SQLSTATE 55000 in a child of `fork`.
    pub(crate) fn check_process(&self, py: Python<'_>) -> PyResult<()> {
        if self.process.is_current() {
            return Ok(());
        }
        let message = "the connection was made before fork(), by the parent of this process";
        let hint = "Connect in each process: only one can have the file open, unless all of them only read it.";
        Err(refused_with(py, "55000", message, hint))
    }

    #[inline]
    fn enter(&self, py: Python<'_>) -> PyResult<Inside<'_>> {
        self.check_process(py)?;
        let me = this_thread();
        if self.inside.load(Ordering::Relaxed) == me {
            let message = "the connection is running a statement, and can not be used from within it";
            return Err(refused_with(py, "55006", message, "Use another connection there."));
        }
        let open = match self.open.try_lock() {
            Ok(open) => open,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => released(py, || self.open.lock().unwrap_or_else(PoisonError::into_inner)),
        };
        self.inside.store(me, Ordering::Relaxed);
        Ok(Inside { core: self, open })
    }

    /// Runs `work` inside.
    #[inline]
    pub(crate) fn with<T>(&self, py: Python<'_>, work: impl FnOnce(&mut Open) -> PyResult<T>) -> PyResult<T> {
        let mut inside = self.enter(py)?;
        match &mut *inside.open {
            Some(open) => {
                functions::begin();
                let done = work(open).map_err(|error| with_cause(py, error))?;
                functions::end(py)?;
                Ok(done)
            }
            None => Err(refused(py, "08003", "the connection is closed")),
        }
    }

    /// Stops what runs. Does nothing where nothing does, and waits for nobody.
    pub(crate) fn interrupt(&self, py: Python<'_>) -> PyResult<()> {
        self.check_process(py)?;
        self.interrupt.interrupt();
        Ok(())
    }

    /// Whether it was closed.
    pub(crate) fn is_closed(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.enter(py)?.open.is_none())
    }

    /// Closes it: what an open transaction has not committed is gone. Closing again does nothing.
    pub(crate) fn close(&self, py: Python<'_>) -> PyResult<()> {
        let taken = self.enter(py)?.open.take();
        let Some(open) = taken else { return Ok(()) };
        open.watches.iter().filter_map(Weak::upgrade).for_each(|watch| watch.end(py));
        open.held.iter().filter_map(Weak::upgrade).for_each(|held| held.close(py));
        released(py, || open.close()).map_err(|error| raised(py, &error))
    }

    /// Runs a statement.
    pub(crate) fn execute(
        &self,
        py: Python<'_>,
        sql: &Bound<'_, PyString>,
        given: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Done> {
        self.with(py, |open| {
            let was_open = open.connection.in_transaction();
            match open.execute(py, self.begins(), sql, given) {
                // Another connection has changed the schema since the statement was prepared.
                Err(error) if !was_open && is_outdated(py, &error) => {
                    open.statements.forget_all();
                    if open.connection.in_transaction() {
                        released(py, || open.connection.execute("ROLLBACK", ())).map_err(|error| raised(py, &error))?;
                    }
                    open.execute(py, self.begins(), sql, given)
                }
                done => done,
            }
        })
    }

    /// As `execute`, where nothing has to be waited for: neither for others that are inside.
    pub(crate) fn execute_at_once(
        &self,
        py: Python<'_>,
        sql: &Bound<'_, PyString>,
        given: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<Done>> {
        if self.begins() || self.open.try_lock().is_err() {
            return Ok(None);
        }
        self.with(py, |open| open.execute_at_once(py, sql, given))
    }

    /// Statements begin a transaction where none is open.
    #[inline]
    pub(crate) fn begins(&self) -> bool {
        !self.autocommit.load(Ordering::Relaxed)
    }

    /// Runs a statement once for each of the parameters, all or none of them.
    pub(crate) fn execute_many(
        &self,
        py: Python<'_>,
        sql: &Bound<'_, PyString>,
        given: &Bound<'_, PyAny>,
    ) -> PyResult<u64> {
        let begins = self.begins();
        self.with(py, |open| crate::many::execute_many(py, open, begins, sql, given))
    }

    /// Runs all statements of a text.
    pub(crate) fn execute_script(&self, py: Python<'_>, sql: &str) -> PyResult<()> {
        let begins = self.begins();
        self.with(py, |open| {
            open.begin(py, begins)?;
            open.hold_results(py)?;
            let done = released(py, || open.connection.execute_script(sql));
            open.statements.forget_all();
            done.map_err(|error| raised(py, &error))
        })
    }

    /// Inserts rows by column into a table; how many.
    pub(crate) fn insert(
        &self,
        py: Python<'_>,
        table: &str,
        columns: Option<Vec<String>>,
        incoming: Incoming,
    ) -> PyResult<u64> {
        let begins = self.begins();
        let columns = columns.unwrap_or_else(|| incoming.columns().iter().map(|field| field.name.clone()).collect());
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        self.with(py, |open| {
            open.begin(py, begins)?;
            released(py, || open.connection.append_batches(table, &columns, incoming))
                .map_err(|error| raised(py, &error))
        })
    }

    /// Begins to watch something.
    pub(crate) fn watch(&self, py: Python<'_>, begin: impl FnOnce(&mut Open) -> PyResult<Watched>) -> PyResult<Watch> {
        self.with(py, |open| {
            let watched = begin(open)?;
            let inner = Arc::new(Inner::new(watched, open.connection.time_zone()));
            open.watches.retain(|watch| watch.strong_count() > 0);
            open.watches.push(Arc::downgrade(&inner));
            Ok(Watch(inner))
        })
    }

    /// A query, as `Connection::live` takes it.
    pub(crate) fn live(
        &self,
        py: Python<'_>,
        sql: &Bound<'_, PyString>,
        given: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Watch> {
        self.watch(py, |open| {
            let connection = open.statements.connection();
            let known = open.statements.get(sql)?;
            let mut params = Vec::new();
            known.prepare(py, connection, given, &mut params)?;
            let live = released(py, || connection.live(&known.rewritten.sql, Given(&params)));
            Ok(Watched::Live(Box::new(live.map_err(|error| known.raised(py, &error))?)))
        })
    }

    /// Ends the open transaction by this statement; nothing where none is open.
    pub(crate) fn end(&self, py: Python<'_>, sql: &str) -> PyResult<()> {
        self.with(py, |open| {
            if !open.connection.in_transaction() {
                return Ok(());
            }
            open.hold_results(py)?;
            released(py, || open.connection.execute(sql, ())).map_err(|error| raised(py, &error))?;
            Ok(())
        })
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        let open = self.open.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        let Some(open) = open else { return };
        if !self.process.is_current() {
            // Its locks may be held by threads that are not there.
            std::mem::forget(open);
            return;
        }
        let mut open = Some(open);
        // An error that nobody can be told.
        let close = |open: &mut Option<Open>| open.take().map(Open::close);
        if Python::try_attach(|py| released(py, || drop(close(&mut open)))).is_none() {
            drop(close(&mut open));
        }
    }
}

impl Open {
    /// With the interpreter let go.
    fn close(self) -> cairndb::Result<()> {
        let Open { statements, connection, handle, .. } = self;
        drop(statements);
        drop(connection);
        handle.close()
    }

    /// Begins a transaction, if `begins` and none is open.
    pub(crate) fn begin(&self, py: Python<'_>, begins: bool) -> PyResult<()> {
        if !begins || self.connection.in_transaction() {
            return Ok(());
        }
        self.connection.execute("BEGIN", ()).map_err(|error| raised(py, &error))?;
        Ok(())
    }

    fn execute(
        &mut self,
        py: Python<'_>,
        begins: bool,
        sql: &Bound<'_, PyString>,
        given: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Done> {
        let first = {
            let known = self.statements.get(sql)?;
            if known.is_empty() {
                return Ok(Done { feed: None, affected: -1 });
            }
            known.rewritten.first
        };
        self.before(py, begins, first)?;
        let connection = self.statements.connection();
        let known = self.statements.get(sql)?;
        let mut params = std::mem::take(&mut self.params);
        let prepared = known.prepare(py, connection, given, &mut params)?;
        if let Some(rows) = prepared.statement.query_at_once(Given(&params)) {
            let done = at_once(py, connection, prepared, rows);
            params.clear();
            self.params = params;
            return done;
        }
        let ran = released(py, || {
            let mut executed = prepared.statement.perform(Given(&params))?;
            let mut rows = executed.take_rows();
            let ready = rows.as_mut().map(Feed::ready).transpose()?.flatten();
            Ok((executed, rows, ready))
        });
        let done = match ran {
            Err(error) => Err(known.raised(py, &error)),
            Ok((executed, None, _)) => Ok(Done { feed: None, affected: affected(&executed) }),
            Ok((executed, Some(rows), ready)) => {
                let shape = prepared.shape(py, rows.columns())?;
                let zone = shape.has_zone.then(|| connection.time_zone());
                let (ready, is_end) = ready.map_or((None, false), |(ready, is_end)| (Some(ready), is_end));
                let feed = Arc::new(Feed::new(shape, zone, (!is_end).then_some(rows), ready));
                self.held.push(held_of(&feed));
                Ok(Done { feed: Some(feed), affected: affected(&executed) })
            }
        };
        params.clear();
        self.params = params;
        if matches!(first, TokenKind::Create | TokenKind::Alter | TokenKind::Drop) {
            self.statements.forget_all();
        }
        self.look_through();
        done
    }

    /// What has to be held when its transaction ends.
    pub(crate) fn keep(&mut self, result: Arc<impl Held + 'static>) {
        self.held.push(held_of(&result));
        self.look_through();
    }

    fn look_through(&mut self) {
        if self.held.len() > HELD_MAX {
            self.held.retain(|held| held.upgrade().is_some_and(|held| held.is_open()));
        }
    }

    /// As `execute`, where nothing has to be waited for.
    fn execute_at_once(
        &mut self,
        py: Python<'_>,
        sql: &Bound<'_, PyString>,
        given: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<Done>> {
        let connection = self.statements.connection();
        let known = self.statements.get(sql)?;
        // What was not prepared yet may have to read the catalog.
        if !known.is_prepared() {
            return Ok(None);
        }
        let mut params = Vec::new();
        let prepared = known.prepare(py, connection, given, &mut params)?;
        match prepared.statement.query_at_once(Given(&params)) {
            Some(rows) => at_once(py, connection, prepared, rows).map(Some),
            None => Ok(None),
        }
    }

    /// What has to be done before a statement that begins with this word.
    pub(crate) fn before(&mut self, py: Python<'_>, begins: bool, first: TokenKind) -> PyResult<()> {
        use TokenKind::{Abort, Begin, Commit, End, Rollback, Start};
        match first {
            Commit | End | Rollback | Abort => self.hold_results(py),
            Begin | Start => Ok(()),
            _ => self.begin(py, begins),
        }
    }

    /// The transaction ends: its results are kept.
    pub(crate) fn hold_results(&mut self, py: Python<'_>) -> PyResult<()> {
        for held in std::mem::take(&mut self.held).iter().filter_map(Weak::upgrade) {
            // A result that can not be read on says so when it is read.
            if let Err(error) = held.hold(py)
                && !error.is_instance_of::<pyo3::exceptions::PyException>(py)
            {
                return Err(error);
            }
        }
        Ok(())
    }
}

fn held_of(result: &Arc<impl Held + 'static>) -> Weak<dyn Held> {
    let result: Arc<dyn Held> = result.clone();
    Arc::downgrade(&result)
}

/// The result of a statement whose rows are there.
fn at_once(py: Python<'_>, connection: &Connection, prepared: &mut Prepared, rows: Rows) -> PyResult<Done> {
    let shape = prepared.shape(py, rows.columns())?;
    let zone = shape.has_zone.then(|| connection.time_zone());
    Ok(Done { feed: Some(Arc::new(Feed::new(shape, zone, None, Some(rows)))), affected: -1 })
}

/// So many results are looked through for some that nobody has any more.
const HELD_MAX: usize = 16;

/// Whether a statement's columns are not those that it was prepared with.
fn is_outdated(py: Python<'_>, error: &PyErr) -> bool {
    let of = |name: &str| error.value(py).getattr(name).ok().and_then(|value| value.extract::<String>().ok());
    of("sqlstate").as_deref() == Some("0A000") && error.value(py).to_string().contains("cached plan")
}

/// PEP 249's `rowcount`.
fn affected(executed: &Executed) -> i64 {
    match executed.command() {
        "INSERT" | "UPDATE" | "DELETE" | "MERGE" | "COPY" | "MOVE" => executed.affected() as i64,
        _ => -1,
    }
}
