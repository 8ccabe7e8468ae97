//! What tells of changes as they come: live queries, notifications, change feeds. Iterators for threads, and for tasks of `asyncio`.
//!
//! - It is its connection's, and ends when that is closed.
//! - A thread that waits lets go of the interpreter, and looks at signals.
//! - A task that waits keeps no thread, and whoever has committed never waits for the interpreter: `wake.rs`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use cairndb::{
    Change, ChangeKind, Changes, Connection, LiveChange, LiveQuery, Next, Notification, Notifications, Process, Row,
    StopHandle,
};
use pyo3::exceptions::{PyStopAsyncIteration, PyTimeoutError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};

use crate::errors::{raised, refused};
use crate::once::Once;
use crate::released::{locked, released};
use crate::to_python::Maker;
use crate::wake::Task;

/// What is watched.
pub(crate) enum Watched {
    Live(Box<LiveQuery>),
    /// With the connection that listens.
    Notifications(Notifications, #[allow(dead_code, reason = "kept open")] Box<Connection>),
    Changes(Box<Changes>),
}

/// What was told.
enum Told {
    Live(Box<LiveChange>),
    Notification(Notification),
    Change(Box<Change>),
}

/// The part that connections know, to end it.
pub(crate) struct Inner {
    watched: Mutex<Option<Watched>>,
    stop: StopHandle,
    /// From here on whoever has it locked lets go of it soon.
    ends: AtomicBool,
    zone: String,
    process: Process,
}

/// An iterator over what comes; `pycairndb` wraps it.
#[pyclass(frozen, weakref, module = "pycairndb")]
pub(crate) struct Watch(pub(crate) Arc<Inner>);

/// How long a thread waits before it looks at signals.
const SLICE: Duration = Duration::from_millis(100);

impl Watched {
    fn stop_handle(&self) -> StopHandle {
        match self {
            Watched::Live(live) => live.stop_handle(),
            Watched::Notifications(heard, _) => heard.stop_handle(),
            Watched::Changes(changes) => changes.stop_handle(),
        }
    }

    fn next_within(&mut self, time: Duration) -> cairndb::Result<Next<Told>> {
        fn told<T>(next: Next<T>, made: impl FnOnce(T) -> Told) -> Next<Told> {
            match next {
                Next::Item(item) => Next::Item(made(item)),
                Next::NotYet => Next::NotYet,
                Next::End => Next::End,
            }
        }
        Ok(match self {
            Watched::Live(live) => told(live.next_change_within(time)?, |change| Told::Live(Box::new(change))),
            Watched::Notifications(heard, _) => told(heard.next_notification_within(time), Told::Notification),
            Watched::Changes(changes) => {
                told(changes.next_change_within(time)?, |change| Told::Change(Box::new(change)))
            }
        })
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<cairndb::Result<Option<Told>>> {
        match self {
            Watched::Live(live) => {
                live.poll_change(context).map_ok(|next| next.map(|change| Told::Live(Box::new(change))))
            }
            Watched::Notifications(heard, _) => {
                heard.poll_notification(context).map(|next| Ok(next.map(Told::Notification)))
            }
            Watched::Changes(changes) => {
                changes.poll_change(context).map_ok(|next| next.map(|change| Told::Change(Box::new(change))))
            }
        }
    }
}

impl Inner {
    pub(crate) fn new(watched: Watched, zone: String) -> Inner {
        let stop = watched.stop_handle();
        let (watched, ends) = (Mutex::new(Some(watched)), AtomicBool::new(false));
        Inner { watched, stop, ends, zone, process: Process::current() }
    }

    /// Ends it, also while it is waited for, and lets go of the database.
    pub(crate) fn end(&self, py: Python<'_>) {
        if !self.process.is_current() {
            return;
        }
        self.ends.store(true, Ordering::Release);
        self.stop.stop();
        let watched = locked(py, &self.watched).take();
        released(py, || drop(watched));
    }

    fn enter(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Option<Watched>>> {
        if !self.process.is_current() {
            return Err(refused(py, "55000", "it was begun before fork(), by the parent of this process"));
        }
        match self.watched.try_lock() {
            Ok(watched) => Ok(watched),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            // A task that is woken by the end may come before that is over.
            Err(TryLockError::WouldBlock) if self.ends.load(Ordering::Acquire) => Ok(locked(py, &self.watched)),
            Err(TryLockError::WouldBlock) => Err(refused(py, "55006", "somebody else waits for the next change")),
        }
    }

    /// What comes next, in time if there is a limit; `None`: there is no more.
    fn next(&self, py: Python<'_>, time: Option<Duration>) -> PyResult<Option<Told>> {
        let until = time.and_then(|time| Instant::now().checked_add(time));
        let mut entered = self.enter(py)?;
        let Some(watched) = &mut *entered else { return Ok(None) };
        loop {
            let left = until.map_or(SLICE, |until| until.saturating_duration_since(Instant::now()).min(SLICE));
            match released(py, || watched.next_within(left)).map_err(|error| raised(py, &error))? {
                Next::Item(told) => return Ok(Some(told)),
                Next::End => return Ok(None),
                Next::NotYet if until.is_some_and(|until| Instant::now() >= until) => {
                    return Err(PyTimeoutError::new_err("nothing has changed"));
                }
                Next::NotYet => py.check_signals()?,
            }
        }
    }
}

#[pymethods]
impl Watch {
    /// What comes next; None: there is no more. `TimeoutError` where nothing came within so many seconds.
    #[pyo3(signature = (timeout=None))]
    fn next<'py>(&self, py: Python<'py>, timeout: Option<f64>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let time = timeout.map(|seconds| Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX));
        let told = self.0.next(py, time)?;
        told.map(|told| self.shown(py, told)).transpose()
    }

    /// For a task: what comes next, or None, and then the future is done once there is something. `StopAsyncIteration`: there is no more.
    fn poll<'py>(
        &self,
        py: Python<'py>,
        event_loop: Py<PyAny>,
        future: Py<PyAny>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let task = Task::new();
        task.waits(event_loop, future);
        let waker = Waker::from(task);
        let mut entered = self.0.enter(py)?;
        let Some(watched) = &mut *entered else { return Err(PyStopAsyncIteration::new_err(())) };
        let polled = released(py, || watched.poll(&mut Context::from_waker(&waker)));
        drop(entered);
        match polled {
            Poll::Pending => Ok(None),
            Poll::Ready(Ok(None)) => Err(PyStopAsyncIteration::new_err(())),
            Poll::Ready(Ok(Some(told))) => self.shown(py, told).map(Some),
            Poll::Ready(Err(error)) => Err(raised(py, &error)),
        }
    }

    /// Ends it, also while another thread waits for it.
    fn stop(&self, py: Python<'_>) {
        self.0.end(py);
    }

    /// Of a change feed: where to go on from, as a text; of others None.
    #[getter]
    fn token(&self, py: Python<'_>) -> PyResult<Option<String>> {
        Ok(match &*self.0.enter(py)? {
            Some(Watched::Changes(changes)) => Some(changes.token().to_string()),
            _ => None,
        })
    }

    /// Of a live query: the columns' names.
    #[getter]
    fn columns(&self, py: Python<'_>) -> PyResult<Option<Vec<String>>> {
        Ok(match &*self.0.enter(py)? {
            Some(Watched::Live(live)) => Some(live.columns().iter().map(|field| field.name.clone()).collect()),
            _ => None,
        })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = Python::try_attach(|py| self.0.end(py));
    }
}

static SHOWN: Once<[Py<PyAny>; 3]> = Once::new();

/// The classes of what is told.
fn classes(py: Python<'_>) -> PyResult<&[Py<PyAny>; 3]> {
    SHOWN.get(py, || {
        let module = py.import("pycairndb._watch")?;
        let class = |name: &str| PyResult::Ok(module.getattr(name)?.unbind());
        Ok([class("LiveChange")?, class("Notification")?, class("Change")?])
    })
}

impl Watch {
    fn shown<'py>(&self, py: Python<'py>, told: Told) -> PyResult<Bound<'py, PyAny>> {
        let [live, notification, change] = classes(py)?;
        let maker = Maker::new(py, Some(&self.0.zone))?;
        match told {
            Told::Live(told) => {
                let rows = |rows: &mut dyn Iterator<Item = Row<'_>>| {
                    PyList::new(py, rows.map(|row| tuple(&maker, row)).collect::<PyResult<Vec<_>>>()?)
                };
                let pair = |(old, new): (Row<'_>, Row<'_>)| Ok((tuple(&maker, old)?, tuple(&maker, new)?));
                let updated = told.updated().map(pair).collect::<PyResult<Vec<_>>>()?;
                let (added, removed) = (rows(&mut told.added())?, rows(&mut told.removed())?);
                live.bind(py).call1((told.position().to_string(), told.is_first(), added, removed, updated))
            }
            Told::Notification(told) => {
                let parts = (told.channel(), told.payload(), told.process(), told.is_own(), told.missed());
                notification.bind(py).call1(parts)
            }
            Told::Change(told) => {
                let row = |row: Option<Row<'_>>| row.map(|row| by_name(&maker, row)).transpose();
                let table = told.table();
                let (old, new) = (row(told.old())?, row(told.new_row())?);
                let (position, is_last) = (told.position().to_string(), told.is_last());
                change.bind(py).call1((kind(told.kind()), &table.schema, &table.name, old, new, position, is_last))
            }
        }
    }
}

fn tuple<'py>(maker: &Maker<'py>, row: Row<'_>) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(maker.py, row.values().iter().map(|value| maker.value(value)).collect::<PyResult<Vec<_>>>()?)
}

fn by_name<'py>(maker: &Maker<'py>, row: Row<'_>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(maker.py);
    for (field, value) in row.columns().iter().zip(row.values()) {
        dict.set_item(PyString::intern(maker.py, &field.name), maker.value(value)?)?;
    }
    Ok(dict)
}

fn kind(of: ChangeKind) -> &'static str {
    match of {
        ChangeKind::Insert => "insert",
        ChangeKind::Update => "update",
        ChangeKind::Delete => "delete",
        ChangeKind::Truncate => "truncate",
        ChangeKind::Alter => "alter",
        ChangeKind::Rewriting => "rewriting",
        ChangeKind::Rewrite => "rewrite",
        ChangeKind::Begin => "begin",
        ChangeKind::End => "end",
        ChangeKind::Drop => "drop",
        _ => "other",
    }
}
