//! The rows of a result on their way to Python: batches are worked out with the interpreter let go, and become tuples with it.
//!
//! A result outlives its transaction, as PEP 249's do: whoever ends one has what was not fetched of its results made into
//! tuples before ([`Feed::hold`]).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, TryLockError};
use std::time::Duration;

use cairndb::{Batch, Error, Row, Rows, SqlState};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::errors::{raised, refused};
use crate::functions::{self, with_cause};
use crate::released::{locked, released};
use crate::shape::Shape;
use crate::to_python::Maker;

/// What is read from a transaction, and outlives it.
pub(crate) trait Held: Send + Sync {
    /// Reads it to its end, for what it is read from ends.
    fn hold(&self, py: Python<'_>) -> PyResult<()>;

    /// There is nothing more to be had.
    fn close(&self, py: Python<'_>);

    /// Whether there may be something that ends with its transaction.
    fn is_open(&self) -> bool;
}

/// See the module.
pub(crate) struct Feed {
    pub(crate) shape: Arc<Shape>,
    /// Where the result has moments: the session's time zone when it was asked for.
    zone: Option<String>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Rows that have to be worked out; `None`: there are no more.
    rows: Option<Rows>,
    /// Rows that are there.
    ready: Option<Rows>,
    /// Rows that are tuples already.
    held: VecDeque<Py<PyTuple>>,
    /// Rows by column, for whoever reads it so: a result is read in one way.
    by_column: bool,
    batches: VecDeque<Batch>,
    /// Somebody let go of it before its end.
    is_closed: bool,
}

impl Feed {
    /// Of rows of which the first are to be worked out now, unless they have no end. With the interpreter let go.
    pub(crate) fn ready(rows: &mut Rows) -> cairndb::Result<Option<(Rows, bool)>> {
        if rows.is_endless() {
            return Ok(None);
        }
        let ahead = rows.ahead(1, Duration::MAX)?;
        Ok(Some((ahead.rows, ahead.is_end)))
    }

    pub(crate) fn new(shape: Arc<Shape>, zone: Option<String>, rows: Option<Rows>, ready: Option<Rows>) -> Feed {
        Feed { shape, zone, state: Mutex::new(State { rows, ready, ..State::default() }) }
    }

    /// Whether it holds a state of the database, which it is to be let go of with the interpreter let go. What is there already is memory.
    pub(crate) fn holds_state(&self) -> bool {
        self.state.try_lock().map_or(true, |state| state.rows.is_some())
    }

    fn with<T>(&self, py: Python<'_>, work: impl FnOnce(&mut State) -> PyResult<T>) -> PyResult<T> {
        match self.state.try_lock() {
            Ok(mut state) => work(&mut state),
            Err(TryLockError::Poisoned(poisoned)) => work(&mut poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => Err(refused(py, "55006", "the result is being read by somebody else")),
        }
    }

    pub(crate) fn maker<'py>(&self, py: Python<'py>) -> PyResult<Maker<'py>> {
        Maker::new(py, self.zone.as_deref())
    }

    /// The next row.
    pub(crate) fn next<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.with(py, |state| {
            if let Some(row) = state.held.pop_front() {
                return Ok(Some(row.into_bound(py)));
            }
            let maker = self.maker(py)?;
            state.step(py, |row| self.tuple(&maker, row))
        })
    }

    /// So many rows, or those that there are, each handed to `each`.
    pub(crate) fn take<'py>(
        &self,
        py: Python<'py>,
        count: usize,
        mut each: impl FnMut(Bound<'py, PyTuple>) -> PyResult<()>,
    ) -> PyResult<()> {
        self.with(py, |state| {
            let maker = self.maker(py)?;
            for _ in 0..count {
                let row = match state.held.pop_front() {
                    Some(row) => row.into_bound(py),
                    None => match state.step(py, |row| self.tuple(&maker, row))? {
                        Some(row) => row,
                        None => break,
                    },
                };
                each(row)?;
            }
            Ok(())
        })
    }

    /// The next rows by column, as [`Rows::next_batch`] gives them. Whoever asks may have the interpreter, or not.
    pub(crate) fn next_batch(&self, rows_min: usize) -> cairndb::Result<Option<Batch>> {
        // Nobody waits here: whoever reads it may wait for the interpreter.
        let mut state = self
            .state
            .try_lock()
            .map_err(|_| Error::new(SqlState("55006"), "the result is being read by somebody else"))?;
        state.next_batch(rows_min)
    }

    /// Rows that were taken and nobody saw, to be given again.
    pub(crate) fn give_back(&self, unread: VecDeque<Batch>) {
        if let Ok(mut state) = self.state.try_lock()
            && !state.is_closed
        {
            unread.into_iter().rev().for_each(|batch| state.batches.push_front(batch));
        }
    }

    /// A row's tuple.
    #[inline]
    fn tuple<'py>(&self, maker: &Maker<'py>, row: Row<'_>) -> PyResult<Bound<'py, PyTuple>> {
        let width = self.shape.width();
        // SAFETY: attached; a new tuple that nobody else has seen, whose places are set once each, with new references.
        let tuple = unsafe {
            let tuple = Bound::from_owned_ptr_or_err(maker.py, ffi::PyTuple_New(width as isize))?;
            for column in 0..width {
                ffi::PyTuple_SetItem(tuple.as_ptr(), column as isize, maker.object(row.value_ref(column))?);
            }
            if self.shape.is_atomic {
                // What is made of numbers and texts alone is in no cycle: the collector, which would find out itself, need not look.
                ffi::PyObject_GC_UnTrack(tuple.as_ptr().cast());
            }
            tuple.cast_into_unchecked::<PyTuple>()
        };
        match &self.shape.converters {
            None => Ok(tuple),
            Some(converters) => convert(tuple, converters),
        }
    }
}

impl Held for Feed {
    /// Makes tuples of all rows.
    fn hold(&self, py: Python<'_>) -> PyResult<()> {
        let mut state = locked(py, &self.state);
        if state.rows.as_ref().is_some_and(Rows::is_endless) {
            return Ok(());
        }
        if state.by_column {
            return released(py, || state.hold_batches()).map_err(|error| raised(py, &error));
        }
        let maker = self.maker(py)?;
        while let Some(row) = state.step(py, |row| self.tuple(&maker, row))? {
            state.held.push_back(row.unbind());
        }
        Ok(())
    }

    fn close(&self, py: Python<'_>) {
        let State { rows, ready, held, batches, .. } = locked(py, &self.state).close();
        drop(held);
        released(py, move || drop((rows, ready, batches)));
    }

    fn is_open(&self) -> bool {
        self.state.try_lock().map_or(true, |state| state.rows.is_some() || state.ready.is_some())
    }
}

/// The row that the converters make of another.
#[cold]
fn convert<'py>(row: Bound<'py, PyTuple>, converters: &[Option<Py<PyAny>>]) -> PyResult<Bound<'py, PyTuple>> {
    let py = row.py();
    let one = |(item, converter): (Bound<'py, PyAny>, &Option<Py<PyAny>>)| match converter {
        Some(converter) if !item.is_none() => converter.bind(py).call1((item,)),
        _ => Ok(item),
    };
    let items = row.iter().zip(converters).map(one).collect::<PyResult<Vec<_>>>()?;
    PyTuple::new(py, items)
}

impl State {
    fn next_batch(&mut self, rows_min: usize) -> cairndb::Result<Option<Batch>> {
        if !self.held.is_empty() || self.is_closed {
            let error = Error::new(SqlState("34000"), "the result is not there any more");
            return Err(
                error.with_hint("Read it before its transaction ends, and before its cursor runs something else.")
            );
        }
        self.by_column = true;
        if let Some(batch) = self.batches.pop_front() {
            return Ok(Some(batch));
        }
        if let Some(ready) = &mut self.ready {
            match ready.next_batch(rows_min) {
                Ok(Some(mut batch)) => {
                    if batch.len() < rows_min
                        && let Some(rows) = &mut self.rows
                        && let Some(more) = rows.next_batch(rows_min)?
                    {
                        batch.append(&more)?;
                    }
                    return Ok(Some(batch));
                }
                Ok(None) => self.ready = None,
                Err(error) => return Err(error),
            }
        }
        let Some(rows) = &mut self.rows else { return Ok(None) };
        let next = rows.next_batch(rows_min);
        if !matches!(next, Ok(Some(_))) {
            self.rows = None;
        }
        next
    }

    /// What they are read from ends.
    fn hold_batches(&mut self) -> cairndb::Result<()> {
        let mut held = VecDeque::new();
        while let Some(batch) = self.next_batch(1)? {
            held.push_back(batch);
        }
        self.batches = held;
        Ok(())
    }

    /// Everything, and nothing from here on.
    fn close(&mut self) -> State {
        let is_over = self.rows.is_none() && self.ready.is_none() && self.batches.is_empty();
        std::mem::replace(self, State { is_closed: !is_over, by_column: self.by_column, ..State::default() })
    }

    /// Comes to the next row, and makes something of it.
    #[inline]
    fn step<T>(&mut self, py: Python<'_>, make: impl FnOnce(Row<'_>) -> PyResult<T>) -> PyResult<Option<T>> {
        loop {
            if let Some(ready) = &mut self.ready {
                match ready.next() {
                    Ok(Some(row)) => return make(row).map(Some),
                    Ok(None) => self.ready = None,
                    Err(error) => {
                        (self.rows, self.ready) = (None, None);
                        return Err(raised(py, &error));
                    }
                }
            }
            if !self.work_ahead(py)? {
                return Ok(None);
            }
        }
    }

    /// Works out more rows; whether there may be some.
    #[cold]
    fn work_ahead(&mut self, py: Python<'_>) -> PyResult<bool> {
        let Some(rows) = &mut self.rows else { return Ok(false) };
        functions::begin();
        match released(py, || rows.ahead(1, Duration::MAX)) {
            Ok(ahead) => {
                self.ready = Some(ahead.rows);
                if ahead.is_end {
                    self.rows = None;
                }
                Ok(true)
            }
            Err(error) => {
                self.rows = None;
                Err(with_cause(py, raised(py, &error)))
            }
        }
    }
}
