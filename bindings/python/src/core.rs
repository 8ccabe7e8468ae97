//! A connection's inside, which its cursors share: who may enter.
//!
//! - One thread is inside at a time. Others wait with the interpreter let go, so that whoever is inside can have it.
//! - Who is inside and comes again (a callback, an adapter) is refused, and does not wait for himself.
//! - In a child of `fork` nothing is entered: a lock may be a thread's that is not there.
//! - What is dropped or closed is so with the interpreter let go.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};

use cairndb::{Connection, InterruptHandle, Process};
use cairndb_arrow::Incoming;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::errors::{raised, refused, refused_with};
use crate::files::Handle;
use crate::from_python::Given;
use crate::functions::{self, with_cause};
use crate::open::{Done, Open};
use crate::released::{locked, released};
use crate::signals::watch;
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
        watch(&connection, None);
        let interrupt = connection.interrupt_handle();
        let open = Open::new((handle, connection));
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
        let open = locked(py, &self.open);
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

    /// As `with`, where nobody is inside; None: somebody is.
    #[inline]
    pub(crate) fn try_with<T>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Open) -> PyResult<T>,
    ) -> PyResult<Option<T>> {
        self.check_process(py)?;
        if self.open.try_lock().is_err_and(|error| matches!(error, TryLockError::WouldBlock)) {
            return Ok(None);
        }
        self.with(py, work).map(Some)
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

/// Whether a statement's columns are not those that it was prepared with.
fn is_outdated(py: Python<'_>, error: &PyErr) -> bool {
    let of = |name: &str| error.value(py).getattr(name).ok().and_then(|value| value.extract::<String>().ok());
    of("sqlstate").as_deref() == Some("0A000") && error.value(py).to_string().contains("cached plan")
}
