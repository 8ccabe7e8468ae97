//! PEP 249's cursors.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList, PyString, PyTuple};

use crate::columns;
use crate::connection::Connection;
use crate::core::Core;
use crate::errors::refused;
use crate::feed::{Feed, Held};
use crate::open::Done;
use crate::row::Making;
use crate::shape::Shape;

/// Runs statements on its connection, and has the rows of the last one. Used by one thread at a time.
#[pyclass(frozen, subclass, weakref, module = "pycairndb")]
pub(crate) struct Cursor {
    connection: Py<Connection>,
    core: Arc<Core>,
    result: Mutex<Result_>,
    row_count: AtomicI64,
    array_size: AtomicU64,
    factory: Mutex<Option<Py<PyAny>>>,
}

/// Of the last statement.
#[derive(Default)]
struct Result_ {
    feed: Option<Arc<Feed>>,
    is_closed: bool,
}

impl Cursor {
    /// A cursor whose rows are what the connection's are.
    pub(crate) fn of(connection: &Bound<'_, Connection>) -> Cursor {
        let (py, inner) = (connection.py(), connection.get());
        Cursor {
            connection: connection.clone().unbind(),
            core: inner.core.clone(),
            result: Mutex::default(),
            row_count: AtomicI64::new(-1),
            array_size: AtomicU64::new(1),
            factory: Mutex::new(inner.factory(py)),
        }
    }

    fn result(&self) -> std::sync::MutexGuard<'_, Result_> {
        // Held for no longer than it takes to look.
        self.result.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The columns of the result, if there is one.
    pub(crate) fn shape(&self) -> Option<Arc<Shape>> {
        self.result().feed.as_ref().map(|feed| feed.shape.clone())
    }

    fn check(&self, py: Python<'_>) -> PyResult<()> {
        self.core.check_process(py)?;
        if self.result().is_closed {
            return Err(refused(py, "24000", "the cursor is closed"));
        }
        Ok(())
    }

    /// The result that rows are fetched of.
    fn feed(&self, py: Python<'_>) -> PyResult<Arc<Feed>> {
        self.check(py)?;
        let feed = self.result().feed.clone();
        if self.core.is_closed(py)? {
            return Err(refused(py, "08003", "the connection is closed"));
        }
        feed.ok_or_else(|| refused(py, "24000", "no statement that returns rows was executed"))
    }

    /// Lets go of the last result.
    fn forget(&self, py: Python<'_>) {
        let before = self.result().feed.take();
        if let Some(feed) = before.filter(|feed| feed.holds_state()) {
            feed.close(py);
        }
    }

    fn making<'py>(&self, py: Python<'py>, shape: &Arc<Shape>) -> Making<'py> {
        let factory = self.factory.lock().unwrap_or_else(PoisonError::into_inner);
        Making::of(py, factory.as_ref(), shape)
    }

    pub(crate) fn run(
        slf: &Bound<'_, Self>,
        sql: &Bound<'_, PyString>,
        parameters: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let (py, this) = (slf.py(), slf.get());
        this.check(py)?;
        this.forget(py);
        this.row_count.store(-1, Ordering::Relaxed);
        let done = this.core.execute(py, sql, parameters)?;
        this.put(done);
        Ok(())
    }

    /// It has the result of a statement.
    pub(crate) fn put(&self, done: Done) {
        self.row_count.store(done.affected, Ordering::Relaxed);
        self.result().feed = done.feed;
    }

    /// What its last statement did, with all rows that were not fetched, which are here then.
    pub(crate) fn held(&self, py: Python<'_>) -> PyResult<Done> {
        self.check(py)?;
        let feed = self.result().feed.clone();
        feed.as_ref().map_or(Ok(()), |feed| feed.hold(py))?;
        Ok(Done { feed, affected: self.rowcount() })
    }

    pub(crate) fn factory(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.factory.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|factory| factory.clone_ref(py))
    }

    pub(crate) fn run_many(slf: &Bound<'_, Self>, sql: &Bound<'_, PyString>, rows: &Bound<'_, PyAny>) -> PyResult<()> {
        let (py, this) = (slf.py(), slf.get());
        this.check(py)?;
        this.forget(py);
        this.row_count.store(-1, Ordering::Relaxed);
        let changed = this.core.execute_many(py, sql, rows)?;
        this.row_count.store(changed as i64, Ordering::Relaxed);
        Ok(())
    }

    pub(crate) fn run_script(slf: &Bound<'_, Self>, sql: &str) -> PyResult<()> {
        let (py, this) = (slf.py(), slf.get());
        this.check(py)?;
        this.forget(py);
        this.core.execute_script(py, sql)
    }
}

#[pymethods]
impl Cursor {
    #[new]
    fn new(connection: &Bound<'_, Connection>) -> PyResult<Cursor> {
        connection.get().check(connection.py())?;
        Ok(Cursor::of(connection))
    }

    /// Runs one statement.
    #[pyo3(signature = (sql, parameters=None, /))]
    fn execute<'py>(
        slf: Bound<'py, Self>,
        sql: &Bound<'py, PyString>,
        parameters: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, Self>> {
        Self::run(&slf, sql, parameters)?;
        Ok(slf)
    }

    /// Runs one statement for each of the parameters: all of them, or none.
    #[pyo3(signature = (sql, parameters, /))]
    fn executemany<'py>(
        slf: Bound<'py, Self>,
        sql: &Bound<'py, PyString>,
        parameters: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, Self>> {
        Self::run_many(&slf, sql, parameters)?;
        Ok(slf)
    }

    /// Runs all statements of a text.
    #[pyo3(signature = (sql, /))]
    fn executescript<'py>(slf: Bound<'py, Self>, sql: &str) -> PyResult<Bound<'py, Self>> {
        Self::run_script(&slf, sql)?;
        Ok(slf)
    }

    /// The next row, or None.
    fn fetchone<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (py, this) = (slf.py(), slf.get());
        let feed = this.feed(py)?;
        match feed.next(py)? {
            Some(row) => this.making(py, &feed.shape).make(slf.as_any(), row).map(Some),
            None => Ok(None),
        }
    }

    /// The next rows: as many as `arraysize` says, unless `size` does.
    #[pyo3(signature = (size=None))]
    fn fetchmany<'py>(slf: &Bound<'py, Self>, size: Option<i64>) -> PyResult<Bound<'py, PyList>> {
        let size = size.map_or(slf.get().array_size.load(Ordering::Relaxed), |size| u64::try_from(size).unwrap_or(0));
        Self::fetch(slf, usize::try_from(size).unwrap_or(usize::MAX))
    }

    /// All rows that were not fetched.
    fn fetchall<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyList>> {
        Self::fetch(slf, usize::MAX)
    }

    /// What was not fetched, as Arrow's stream: what pandas, polars, DuckDB and pyarrow take.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // (A wish, which need not be granted.)
        let _ = requested_schema;
        columns::stream(py, self.feed(py)?)
    }

    /// What was not fetched, by column: see `columns::arrays`.
    fn _arrays<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        columns::arrays(py, &self.feed(py)?)
    }

    /// What was not fetched, as a dict of NumPy's arrays; masked ones where there are NULLs.
    fn fetchnumpy<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        columns::in_python(slf.py(), "numpy_arrays", (slf.clone(),).into_pyobject(slf.py())?)
    }

    /// What was not fetched, as a DataFrame of pandas.
    fn df<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        columns::in_python(slf.py(), "data_frame", (slf.clone(),).into_pyobject(slf.py())?)
    }

    /// What was not fetched, as a DataFrame of polars.
    fn pl<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        columns::in_python(slf.py(), "polars_frame", (slf.clone(),).into_pyobject(slf.py())?)
    }

    /// What was not fetched, as a table of pyarrow.
    fn arrow<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        columns::in_python(slf.py(), "arrow_table", (slf.clone(),).into_pyobject(slf.py())?)
    }

    /// As a table, for notebooks: of a result that has an end, the first rows, which are fetched then.
    fn _repr_html_<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        columns::in_python(slf.py(), "html", (slf.clone(),).into_pyobject(slf.py())?)
    }

    /// Lets go of its result; it runs nothing any more.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.core.check_process(py)?;
        self.forget(py);
        self.result().is_closed = true;
        Ok(())
    }

    /// Of the last statement: a tuple of seven for each column of its result.
    #[getter]
    fn description<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.shape().map(|shape| shape.description(py)).transpose()
    }

    /// Whether it is closed.
    #[getter]
    fn closed(&self) -> bool {
        self.result().is_closed
    }

    /// How many rows the last statement changed; -1 where it changes none.
    #[getter]
    fn rowcount(&self) -> i64 {
        self.row_count.load(Ordering::Relaxed)
    }

    /// Rows have no ids: `INSERT .. RETURNING` tells a key.
    #[getter]
    fn lastrowid(&self) -> Option<i64> {
        None
    }

    /// How many rows `fetchmany` fetches.
    #[getter]
    fn arraysize(&self) -> u64 {
        self.array_size.load(Ordering::Relaxed)
    }

    #[setter]
    fn set_arraysize(&self, size: i64) -> PyResult<()> {
        let size = u64::try_from(size).ok().filter(|size| *size > 0);
        let size = size.ok_or_else(|| PyValueError::new_err("arraysize is at least 1"))?;
        self.array_size.store(size, Ordering::Relaxed);
        Ok(())
    }

    /// What makes a row of a cursor and a tuple; None: the tuple is the row.
    #[getter]
    fn row_factory(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.factory(py)
    }

    #[setter]
    fn set_row_factory(&self, factory: Option<Py<PyAny>>) {
        let before = std::mem::replace(&mut *self.factory.lock().unwrap_or_else(PoisonError::into_inner), factory);
        drop(before);
    }

    /// The connection.
    #[getter]
    fn connection(&self, py: Python<'_>) -> Py<Connection> {
        self.connection.clone_ref(py)
    }

    /// PEP 249: does nothing.
    fn setinputsizes(&self, py: Python<'_>, _sizes: &Bound<'_, PyAny>) -> PyResult<()> {
        self.check(py)
    }

    /// PEP 249: does nothing.
    #[pyo3(signature = (_size, _column=None))]
    fn setoutputsize(
        &self,
        py: Python<'_>,
        _size: &Bound<'_, PyAny>,
        _column: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        self.check(py)
    }

    fn __iter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        slf.get().check(slf.py())?;
        Ok(slf)
    }

    fn __next__<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        Self::fetchone(slf)
    }

    fn __enter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        slf.get().check(slf.py())?;
        Ok(slf)
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py)
    }
}

impl Cursor {
    fn fetch<'py>(slf: &Bound<'py, Self>, count: usize) -> PyResult<Bound<'py, PyList>> {
        let (py, this) = (slf.py(), slf.get());
        let feed = this.feed(py)?;
        let list = PyList::empty(py);
        match this.making(py, &feed.shape) {
            Making::Tuple => feed.take(py, count, |row| list.append(row))?,
            making => {
                // A factory may fetch from the cursor itself: not while its result is being read.
                for _ in 0..count {
                    match feed.next(py)? {
                        Some(row) => list.append(making.make(slf.as_any(), row)?)?,
                        None => break,
                    }
                }
            }
        }
        Ok(list)
    }
}

impl Drop for Cursor {
    fn drop(&mut self) {
        let result = self.result.get_mut().unwrap_or_else(PoisonError::into_inner);
        // (Whoever reads it as a stream goes on.)
        let is_mine = |feed: &Arc<Feed>| Arc::strong_count(feed) == 1 && feed.holds_state();
        let Some(feed) = result.feed.take().filter(is_mine) else { return };
        if !self.core.is_here() {
            std::mem::forget(feed);
            return;
        }
        let mut feed = Some(feed);
        let close = |py: Python<'_>| feed.take().into_iter().for_each(|feed| feed.close(py));
        if Python::try_attach(close).is_none() {
            drop(feed);
        }
    }
}
