//! PEP 249's connections; what needs no speed is in `pycairndb/_connection.py`.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cairndb::Durability;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple, PyType};

use crate::core::Core;
use crate::cursor::Cursor;
use crate::errors::{raised, refused};
use crate::files::{self, FileOptions};
use crate::released::released;

/// A connection to a database. Threads may share it; one runs a statement at a time.
#[pyclass(frozen, subclass, weakref, module = "pycairndb")]
pub(crate) struct Connection {
    pub(crate) core: Arc<Core>,
    factory: Mutex<Option<Py<PyAny>>>,
}

impl Connection {
    pub(crate) fn factory(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.factory.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|factory| factory.clone_ref(py))
    }

    /// Refuses where it is closed.
    pub(crate) fn check(&self, py: Python<'_>) -> PyResult<()> {
        match self.core.is_closed(py)? {
            true => Err(refused(py, "08003", "the connection is closed")),
            false => Ok(()),
        }
    }
}

fn durability(name: &str) -> PyResult<Durability> {
    match name {
        "full" => Ok(Durability::Full),
        "group" => Ok(Durability::Group),
        "interval" => Ok(Durability::Interval),
        "off" => Ok(Durability::Off),
        _ => Err(PyValueError::new_err("durability is 'full', 'group', 'interval' or 'off'")),
    }
}

#[pymethods]
impl Connection {
    #[new]
    #[pyo3(signature = (database, *, autocommit=false, read_only=false, cache_bytes=None, durability=None, time_zone=None, statement_timeout=None, row_factory=None))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        database: PathBuf,
        autocommit: bool,
        read_only: bool,
        cache_bytes: Option<usize>,
        durability: Option<&str>,
        time_zone: Option<&str>,
        statement_timeout: Option<f64>,
        row_factory: Option<Py<PyAny>>,
    ) -> PyResult<Connection> {
        let durability = durability.map(self::durability).transpose()?;
        let timeout = statement_timeout.map(Duration::try_from_secs_f64).transpose();
        let timeout = timeout.map_err(|error| PyValueError::new_err(format!("statement_timeout: {error}")))?;
        let options = FileOptions { read_only, cache_bytes };
        let connected = released(py, || files::connect(&database, options)).map_err(|error| raised(py, &error))?;
        let core = Core::new(connected, autocommit);
        core.with(py, |open| {
            let set = || {
                if let Some(durability) = durability {
                    open.connection.set_durability(durability)?;
                }
                if let Some(zone) = time_zone {
                    open.connection.query("SELECT set_config('TimeZone', $1, false)", (zone,))?.into_iter().count();
                }
                open.connection.set_statement_timeout(timeout)
            };
            set().map_err(|error| raised(py, &error))
        })?;
        Ok(Connection { core: Arc::new(core), factory: Mutex::new(row_factory) })
    }

    /// A cursor.
    #[pyo3(signature = (factory=None))]
    fn cursor<'py>(slf: &Bound<'py, Self>, factory: Option<&Bound<'py, PyType>>) -> PyResult<Bound<'py, PyAny>> {
        slf.get().check(slf.py())?;
        match factory {
            None => Ok(Bound::new(slf.py(), Cursor::of(slf))?.into_any()),
            Some(factory) => factory.call1((slf,)),
        }
    }

    /// Runs one statement on a new cursor, which is the answer.
    #[pyo3(signature = (sql, parameters=None, /))]
    fn execute<'py>(
        slf: &Bound<'py, Self>,
        sql: &Bound<'py, PyString>,
        parameters: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, Cursor>> {
        let cursor = Bound::new(slf.py(), Cursor::of(slf))?;
        Cursor::run(&cursor, sql, parameters)?;
        Ok(cursor)
    }

    /// As `Cursor.executemany`, on a new cursor.
    #[pyo3(signature = (sql, parameters, /))]
    fn executemany<'py>(
        slf: &Bound<'py, Self>,
        sql: &Bound<'py, PyString>,
        parameters: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, Cursor>> {
        let cursor = Bound::new(slf.py(), Cursor::of(slf))?;
        Cursor::run_many(&cursor, sql, parameters)?;
        Ok(cursor)
    }

    /// As `Cursor.executescript`, on a new cursor.
    #[pyo3(signature = (sql, /))]
    fn executescript<'py>(slf: &Bound<'py, Self>, sql: &str) -> PyResult<Bound<'py, Cursor>> {
        let cursor = Bound::new(slf.py(), Cursor::of(slf))?;
        Cursor::run_script(&cursor, sql)?;
        Ok(cursor)
    }

    /// Makes the open transaction's changes durable and visible.
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        self.core.end(py, "COMMIT")
    }

    /// Takes the open transaction back.
    fn rollback(&self, py: Python<'_>) -> PyResult<()> {
        self.core.end(py, "ROLLBACK")
    }

    /// Closes the connection, and the database with its last one. What is not committed is gone.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.core.close(py)
    }

    /// Whether it is closed.
    #[getter]
    fn closed(&self, py: Python<'_>) -> PyResult<bool> {
        self.core.is_closed(py)
    }

    /// Stops the statement that another thread runs on it.
    fn interrupt(&self, py: Python<'_>) -> PyResult<()> {
        self.core.interrupt(py)
    }

    /// Whether a transaction is open.
    #[getter]
    fn in_transaction(&self, py: Python<'_>) -> PyResult<bool> {
        self.core.with(py, |open| Ok(open.connection.in_transaction()))
    }

    /// Whether each statement is a transaction of its own. Setting it to True commits what is open.
    #[getter]
    fn autocommit(&self) -> bool {
        self.core.autocommit.load(Ordering::Relaxed)
    }

    #[setter]
    fn set_autocommit(&self, py: Python<'_>, on: bool) -> PyResult<()> {
        self.check(py)?;
        if on && !self.autocommit() {
            self.core.end(py, "COMMIT")?;
        }
        self.core.autocommit.store(on, Ordering::Relaxed);
        Ok(())
    }

    /// What the rows of new cursors are made by; None: tuples.
    #[getter]
    fn row_factory(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.factory(py)
    }

    #[setter]
    fn set_row_factory(&self, factory: Option<Py<PyAny>>) {
        let before = std::mem::replace(&mut *self.factory.lock().unwrap_or_else(PoisonError::into_inner), factory);
        drop(before);
    }

    /// Copies the database to a new file while it is in use; `progress` hears of the bytes copied so far.
    #[pyo3(signature = (target, *, progress=None))]
    fn backup(&self, py: Python<'_>, target: PathBuf, progress: Option<Py<PyAny>>) -> PyResult<()> {
        let database = self.core.with(py, |open| Ok(open.handle.database().clone()))?;
        let mut failed = None;
        let told = |bytes: u64| {
            let Some(progress) = &progress else { return };
            if failed.is_none() {
                failed = Python::attach(|py| progress.call1(py, (bytes,)).err());
            }
        };
        let copied = released(py, || database.backup_with_progress(&target, told));
        released(py, || drop(database));
        match failed {
            Some(error) => Err(error),
            None => copied.map_err(|error| raised(py, &error)),
        }
    }

    /// The warnings and notices since the last call: severity, code, message and detail.
    fn take_notices<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let notices = self.core.with(py, |open| Ok(open.connection.take_notices()))?;
        PyList::new(
            py,
            notices.into_iter().map(|notice| (notice.severity, notice.code.as_str(), notice.message, notice.detail)),
        )
    }

    /// Another connection to the same database, the one in memory, too: the factories and `autocommit` are those of this one.
    fn _again<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Connection>> {
        let (py, this) = (slf.py(), slf.get());
        let autocommit = this.autocommit();
        let again =
            this.core.with(py, |open| released(py, || open.handle.again()).map_err(|error| raised(py, &error)))?;
        Bound::new(
            py,
            Connection { core: Arc::new(Core::new(again, autocommit)), factory: Mutex::new(this.factory(py)) },
        )
    }

    /// What is kept of results is made anew, for converters changed.
    fn _forget_shapes(&self, py: Python<'_>) -> PyResult<()> {
        self.core.with(py, |open| {
            open.statements.forget_shapes();
            Ok(())
        })
    }

    fn __enter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        slf.get().check(slf.py())?;
        Ok(slf)
    }

    /// Commits, or rolls back where an exception comes; the connection stays open, as `sqlite3`'s does.
    #[pyo3(signature = (exception, *_rest))]
    fn __exit__(&self, py: Python<'_>, exception: &Bound<'_, PyAny>, _rest: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.core.end(py, if exception.is_none() { "COMMIT" } else { "ROLLBACK" })
    }
}
