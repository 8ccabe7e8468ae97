//! An open database as tasks have it: `cairndb_async::Database`, whose workers do what is not answered where it is asked.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use cairndb::Process;
use cairndb_async::{Database, Options};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::answer::Answer;
use crate::awaited::{self, Awaited, Came};
use crate::connection::Connection;
use crate::core::Core;
use crate::errors::{raised, refused};
use crate::open::Done;
use crate::released::released;
use crate::task_statement::TaskStatement;

/// The workers of a database, and what is handed to them; `pycairndb.aio` wraps it.
#[pyclass(frozen, weakref, module = "pycairndb.aio")]
pub(crate) struct Workers(Arc<Inner>);

/// The part that statements know.
pub(crate) struct Inner {
    /// The connection that answers at once.
    pub(crate) core: Arc<Core>,
    /// The session's time zone, in which moments are shown.
    pub(crate) zone: String,
    /// What makes rows; `None`: tuples.
    factory: Option<Py<PyAny>>,
    /// `None`: closed.
    database: Mutex<Option<Database>>,
    running: Arc<Running>,
    process: Process,
}

/// What waits for workers, for whoever closes to end it.
#[derive(Default)]
pub(crate) struct Running(Mutex<HashMap<usize, Weak<Mutex<awaited::State>>>>);

impl Running {
    pub(crate) fn enter(&self, state: &Arc<Mutex<awaited::State>>) {
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        running.entry(Arc::as_ptr(state) as usize).or_insert_with(|| Arc::downgrade(state));
    }

    pub(crate) fn leave(&self, state: &Arc<Mutex<awaited::State>>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&(Arc::as_ptr(state) as usize));
    }

    fn take_all(&self) -> Vec<Arc<Mutex<awaited::State>>> {
        let taken = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        taken.into_values().filter_map(|state| state.upgrade()).collect()
    }
}

impl Inner {
    pub(crate) fn database(&self, py: Python<'_>) -> PyResult<Database> {
        let database = self.database.lock().unwrap_or_else(PoisonError::into_inner).clone();
        database.ok_or_else(|| refused(py, "08003", "the connection is closed"))
    }

    pub(crate) fn answer(&self, py: Python<'_>, done: Done) -> Answer {
        Answer::new(done, self.factory.as_ref().map(|factory| factory.clone_ref(py)))
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let database = self.database.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if !self.process.is_current() {
            std::mem::forget(database);
        }
    }
}

/// Runs `work`, on a worker, with the interpreter.
pub(crate) fn attached<T>(work: impl FnOnce(Python<'_>) -> PyResult<T>) -> PyResult<T> {
    Python::try_attach(work).unwrap_or_else(|| Err(PyRuntimeError::new_err("the interpreter has ended")))
}

#[pymethods]
impl Workers {
    /// So many workers for the connection's database, whose connections have the settings that this one was made with.
    #[new]
    fn new(py: Python<'_>, connection: &Bound<'_, Connection>, workers: usize) -> PyResult<Workers> {
        let connection = connection.get();
        let (core, setup) = (connection.core.clone(), connection.setup.clone());
        let (database, zone) =
            core.with(py, |open| Ok((open.handle.database().clone(), open.connection.time_zone())))?;
        let options = Options::default().workers(workers).on_connect(move |connection| setup.apply(connection));
        let database = released(py, || Database::over(database, &options)).map_err(|error| raised(py, &error))?;
        let (database, factory) = (Mutex::new(Some(database)), connection.factory(py));
        let (running, process) = (Arc::default(), Process::current());
        Ok(Workers(Arc::new(Inner { core, zone, factory, database, running, process })))
    }

    /// Runs one statement, a transaction of its own.
    #[pyo3(signature = (sql, parameters=None, /))]
    fn execute(&self, sql: Bound<'_, PyString>, parameters: Option<Py<PyAny>>) -> Awaited {
        let statement = TaskStatement::new(self.0.clone(), sql.unbind(), parameters);
        Awaited::statement(statement, self.0.running.clone())
    }

    /// Calls `work`, which uses the connection, on a worker.
    fn call(&self, py: Python<'_>, connection: &Bound<'_, Connection>, work: Py<PyAny>) -> PyResult<Awaited> {
        let database = self.0.database(py)?;
        let call = move |py: Python<'_>| work.into_bound(py).call0().map(Bound::unbind);
        let work = async move { database.call(|_| Ok(Came::Called(attached(call)))).await };
        let core = connection.get().core.clone();
        Ok(Awaited::work(Box::pin(work), Some(core), Some(self.0.running.clone())))
    }

    /// Ends what runs, and lets go of the database once no worker has it.
    fn close(&self, py: Python<'_>) -> Awaited {
        let database = self.0.database.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.0.running.take_all().iter().for_each(|state| awaited::close(py, state));
        let work = async move {
            if let Some(database) = database {
                database.let_go().await?;
            }
            Ok(Came::Closed)
        };
        Awaited::work(Box::pin(work), None, None)
    }
}
