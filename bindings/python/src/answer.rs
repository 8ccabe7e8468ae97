//! What a statement of a task's came to.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList, PyTuple};

use crate::cursor::Cursor;
use crate::errors::refused;
use crate::feed::Feed;
use crate::open::Done;
use crate::row::Making;
use crate::shape::Shape;

/// What a statement did: its rows, which are here, and how many it changed.
#[pyclass(frozen, weakref, name = "Result", module = "pycairndb.aio")]
pub(crate) struct Answer {
    done: Done,
    factory: Option<Py<PyAny>>,
}

impl Answer {
    pub(crate) fn new(done: Done, factory: Option<Py<PyAny>>) -> Answer {
        Answer { done, factory }
    }

    pub(crate) fn shape(&self) -> Option<Arc<Shape>> {
        self.done.feed.as_ref().map(|feed| feed.shape.clone())
    }

    fn feed(&self, py: Python<'_>) -> PyResult<&Arc<Feed>> {
        self.done.feed.as_ref().ok_or_else(|| refused(py, "24000", "the statement returns no rows"))
    }
}

#[pymethods]
impl Answer {
    /// What a cursor's last statement did, with the rows that were not fetched.
    #[staticmethod]
    fn _of(cursor: &Bound<'_, Cursor>) -> PyResult<Answer> {
        let (py, cursor) = (cursor.py(), cursor.get());
        Ok(Answer { done: cursor.held(py)?, factory: cursor.factory(py) })
    }

    /// The next row, or None.
    fn fetchone<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (py, this) = (slf.py(), slf.get());
        let feed = this.feed(py)?;
        let Some(row) = feed.next(py)? else { return Ok(None) };
        Making::of(py, this.factory.as_ref(), &feed.shape).make(slf.as_any(), row).map(Some)
    }

    /// All rows that were not fetched.
    fn fetchall<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyList>> {
        let (py, this) = (slf.py(), slf.get());
        let feed = this.feed(py)?;
        let rows = PyList::empty(py);
        match Making::of(py, this.factory.as_ref(), &feed.shape) {
            Making::Tuple => feed.take(py, usize::MAX, |row| rows.append(row))?,
            making => {
                while let Some(row) = feed.next(py)? {
                    rows.append(making.make(slf.as_any(), row)?)?;
                }
            }
        }
        Ok(rows)
    }

    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyIterator>> {
        Self::fetchall(slf)?.try_iter()
    }

    /// A tuple of seven for each column of the result, as PEP 249 has it; None: it returns no rows.
    #[getter]
    fn description<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.shape().map(|shape| shape.description(py)).transpose()
    }

    /// How many rows the statement changed; -1 where it changes none.
    #[getter]
    fn rowcount(&self) -> i64 {
        self.done.affected
    }
}
