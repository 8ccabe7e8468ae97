//! PEP 249's connections; what needs no speed is in `pycairndb/_connection.py`.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cairn_parser::token::quoted;
use cairndb::DataType;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList, PyString, PyTuple, PyType};

use crate::columns;
use crate::copies;
use crate::core::Core;
use crate::cursor::Cursor;
use crate::errors::{raised, refused};
use crate::files::{self, FileOptions};
use crate::functions::{self, Group, type_of};
use crate::released::released;
use crate::setup::Setup;
use crate::signals::watch;
use crate::watch::{Watch, Watched};

/// A connection to a database. Threads may share it; one runs a statement at a time.
#[pyclass(frozen, subclass, weakref, module = "pycairndb")]
pub(crate) struct Connection {
    pub(crate) core: Arc<Core>,
    /// What others that are made of it have, too.
    pub(crate) setup: Setup,
    factory: Mutex<Option<Py<PyAny>>>,
}

impl Connection {
    pub(crate) fn factory(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.factory.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|factory| factory.clone_ref(py))
    }

    /// Another one to the same database.
    fn again(&self, py: Python<'_>) -> PyResult<Connection> {
        let again =
            self.core.with(py, |open| released(py, || open.handle.again()).map_err(|error| raised(py, &error)))?;
        let core = Core::new(again, self.core.autocommit.load(Ordering::Relaxed));
        Connection::of(py, core, self.setup.clone(), self.factory(py))
    }

    fn of(py: Python<'_>, core: Core, setup: Setup, factory: Option<Py<PyAny>>) -> PyResult<Connection> {
        core.with(py, |open| setup.apply(&open.connection).map_err(|error| raised(py, &error)))?;
        Ok(Connection { core: Arc::new(core), setup, factory: Mutex::new(factory) })
    }

    /// Refuses where it is closed.
    pub(crate) fn check(&self, py: Python<'_>) -> PyResult<()> {
        match self.core.is_closed(py)? {
            true => Err(refused(py, "08003", "the connection is closed")),
            false => Ok(()),
        }
    }
}

fn types(py: Python<'_>, arguments: &[String], returns: &str) -> PyResult<(Vec<DataType>, DataType)> {
    let arguments = arguments.iter().map(|name| type_of(py, name)).collect::<PyResult<_>>()?;
    Ok((arguments, type_of(py, returns)?))
}

#[pymethods]
impl Connection {
    #[new]
    #[pyo3(signature = (database, *, autocommit=false, read_only=false, cache_bytes=None, durability=None, time_zone=None, statement_timeout=None, row_factory=None, _like=None))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        database: Option<PathBuf>,
        autocommit: bool,
        read_only: bool,
        cache_bytes: Option<usize>,
        durability: Option<&str>,
        time_zone: Option<String>,
        statement_timeout: Option<f64>,
        row_factory: Option<Py<PyAny>>,
        _like: Option<&Bound<'_, Connection>>,
    ) -> PyResult<Connection> {
        if let Some(like) = _like {
            return like.get().again(py);
        }
        let database = database.ok_or_else(|| PyTypeError::new_err("the database is a path"))?;
        let setup = Setup::of(durability, time_zone, statement_timeout)?;
        let options = FileOptions { read_only, cache_bytes };
        let connected = released(py, || files::connect(&database, options)).map_err(|error| raised(py, &error))?;
        let core = Core::new(connected, autocommit);
        Connection::of(py, core, setup, row_factory)
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
        copies::backup(py, database, target, progress)
    }

    /// Tells each of the statements that make the database anew, of what is committed.
    fn _dump(&self, py: Python<'_>, each: Py<PyAny>) -> PyResult<()> {
        let database = self.core.with(py, |open| Ok(open.handle.database().clone()))?;
        copies::dump(py, database, each)
    }

    /// The warnings and notices since the last call: severity, code, message and detail.
    fn take_notices<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let notices = self.core.with(py, |open| Ok(open.connection.take_notices()))?;
        PyList::new(
            py,
            notices.into_iter().map(|notice| (notice.severity, notice.code.as_str(), notice.message, notice.detail)),
        )
    }

    /// Makes a callable a function of SQL, for this connection: its arguments are of these types, its answer of that. `deterministic`:
    /// the same arguments always give the same answer.
    #[pyo3(signature = (name, arguments, returns, function, *, deterministic=false, called_on_null=false))]
    #[allow(clippy::too_many_arguments)]
    fn create_function(
        &self,
        py: Python<'_>,
        name: &str,
        arguments: Vec<String>,
        returns: &str,
        function: Py<PyAny>,
        deterministic: bool,
        called_on_null: bool,
    ) -> PyResult<()> {
        let (arguments, returns) = types(py, &arguments, returns)?;
        let options = functions::options(deterministic, called_on_null);
        self.core.with(py, |open| {
            let function = functions::scalar(function, returns);
            let made = open.connection.create_function(name, &arguments, returns, options, function);
            made.map_err(|error| raised(py, &error))
        })
    }

    /// Makes a class an aggregate of SQL, for this connection: each group has an object of it, with `step(*arguments)` and `finalize()`.
    #[pyo3(signature = (name, arguments, returns, aggregate, /))]
    fn create_aggregate(
        &self,
        py: Python<'_>,
        name: &str,
        arguments: Vec<String>,
        returns: &str,
        aggregate: Py<PyAny>,
    ) -> PyResult<()> {
        let (arguments, returns) = types(py, &arguments, returns)?;
        self.core.with(py, |open| {
            let start = move || Group::of(&aggregate, returns);
            let made = open.connection.create_aggregate(name, &arguments, returns, start);
            made.map_err(|error| raised(py, &error))
        })
    }

    #[pyo3(signature = (name, arguments, columns, function, *, deterministic=false, called_on_null=false))]
    #[allow(clippy::too_many_arguments)]
    fn _create_table_function(
        &self,
        py: Python<'_>,
        name: &str,
        arguments: Vec<String>,
        columns: Vec<(String, String)>,
        function: Py<PyAny>,
        deterministic: bool,
        called_on_null: bool,
    ) -> PyResult<()> {
        let arguments = arguments.iter().map(|name| type_of(py, name)).collect::<PyResult<Vec<_>>>()?;
        let types = columns.iter().map(|(_, of)| type_of(py, of)).collect::<PyResult<Vec<_>>>()?;
        let columns: Vec<_> = columns.iter().map(|(name, _)| name.as_str()).zip(types.iter().copied()).collect();
        let options = functions::options(deterministic, called_on_null);
        self.core.with(py, |open| {
            let rows = functions::rows(function, types);
            let made = open.connection.create_table_function(name, &arguments, &columns, options, rows);
            made.map_err(|error| raised(py, &error))
        })
    }

    /// Takes a function or an aggregate back; whether there was one.
    fn remove_function(&self, py: Python<'_>, name: &str, arguments: Vec<String>) -> PyResult<bool> {
        let (arguments, _) = types(py, &arguments, "text")?;
        self.core.with(py, |open| open.connection.remove_function(name, &arguments).map_err(|error| raised(py, &error)))
    }

    #[pyo3(signature = (sql, parameters=None))]
    fn _live(
        &self,
        py: Python<'_>,
        sql: &Bound<'_, PyString>,
        parameters: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Watch> {
        self.core.live(py, sql, parameters)
    }

    /// LISTENs to the channels, on a connection of its own.
    fn _listen(&self, py: Python<'_>, channels: Vec<String>) -> PyResult<Watch> {
        self.core.watch(py, |open| {
            let heard = released(py, || {
                let connection = open.handle.database().connect()?;
                channels.iter().try_for_each(|channel| connection.listen(channel))?;
                Ok((connection.notifications(), connection))
            });
            let (heard, connection) = heard.map_err(|error| raised(py, &error))?;
            Ok(Watched::Notifications(heard, Box::new(connection)))
        })
    }

    #[pyo3(signature = (from_token=None))]
    fn _changes(&self, py: Python<'_>, from_token: Option<&str>) -> PyResult<Watch> {
        let from = from_token.map(str::parse).transpose().map_err(|error| raised(py, &error))?;
        self.core.watch(py, |open| {
            let changes = released(py, || open.handle.database().changes(from)).map_err(|error| raised(py, &error))?;
            Ok(Watched::Changes(Box::new(changes)))
        })
    }

    /// While a statement runs, the handler is called about so often (in seconds); what is false stops the statement. None: nobody is
    /// called.
    #[pyo3(signature = (handler, every=0.05))]
    fn set_progress_handler(&self, py: Python<'_>, handler: Option<Py<PyAny>>, every: f64) -> PyResult<()> {
        let every = Duration::try_from_secs_f64(every).map_err(|error| PyValueError::new_err(error.to_string()))?;
        self.core.with(py, |open| {
            watch(&open.connection, handler.map(|handler| (every, handler)));
            Ok(())
        })
    }

    /// Inserts rows that come as Arrow's stream into a table, as one statement; how many.
    fn _insert_stream(
        &self,
        py: Python<'_>,
        table: &str,
        columns: Option<Vec<String>>,
        stream: &Bound<'_, PyCapsule>,
    ) -> PyResult<u64> {
        let incoming = columns::incoming(stream)?;
        self.core.insert(py, table, columns, incoming)
    }

    /// Makes a temporary table of rows that come as Arrow's stream; how many.
    fn _make_table(&self, py: Python<'_>, name: &str, stream: &Bound<'_, PyCapsule>) -> PyResult<u64> {
        columns::check_name(py, name)?;
        let incoming = columns::incoming(stream)?;
        let field = |field: &cairndb::Field| format!("{} {}", quoted(&field.name), field.data_type);
        let fields: Vec<String> = incoming.columns().iter().map(field).collect();
        let sql = format!("CREATE TEMPORARY TABLE {} ({})", quoted(name), fields.join(", "));
        self.core.execute_script(py, &sql)?;
        self.core.insert(py, &format!("pg_temp.{name}"), None, incoming)
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
