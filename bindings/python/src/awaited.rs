//! What a task awaits: a future of `cairndb-async`'s as a coroutine of Python's.
//!
//! - Whoever awaits it polls, with the interpreter, and keeps no thread: what it waits for wakes the task (`wake.rs`).
//! - It does nothing before it is awaited, and is awaited once.
//! - A task that is cancelled lets go of the future, which interrupts what that runs; so does closing.
//! - In a child of `fork` the future is neither polled nor dropped: its locks may be a thread's that is not there.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::task::{Context, Poll, Wake, Waker};

use cairndb::Process;
use pyo3::exceptions::{PyBaseException, PyRuntimeError, PyStopIteration};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::core::Core;
use crate::errors::{raised, refused};
use crate::once::Once;
use crate::released::locked;
use crate::task_statement::{Begun, Ran, TaskStatement};
use crate::wake::Task;
use crate::workers::Running;

/// See the module.
pub(crate) type Work = Pin<Box<dyn Future<Output = cairndb::Result<Came>> + Send>>;

/// What a future came to.
pub(crate) enum Came {
    /// A statement is prepared, and begun anew.
    Prepared(PyResult<()>),
    /// A statement has run.
    Ran(Ran),
    /// A callable was called.
    Called(PyResult<Py<PyAny>>),
    /// All is closed.
    Closed,
}

/// A coroutine.
#[pyclass(frozen, weakref, module = "pycairndb.aio")]
pub(crate) struct Awaited {
    state: Arc<Mutex<State>>,
    process: Process,
}

pub(crate) struct State {
    /// `None`: it is something else that is awaited.
    statement: Option<TaskStatement>,
    work: Option<Work>,
    /// What a call runs statements on.
    interrupts: Option<Arc<Core>>,
    task: Option<Arc<Task>>,
    /// Those of which it is one while it waits.
    running: Option<Arc<Running>>,
    end: End,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    NotYet,
    /// It was awaited.
    Awaited,
    /// The connection was closed meanwhile.
    Closed,
}

impl State {
    /// Lets go of what it has.
    fn end(&mut self, end: End) {
        (self.end, self.statement, self.work) = (end, None, None);
    }

    /// What it comes to; `None`: it waits.
    fn poll<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        loop {
            match self.end {
                End::NotYet => {}
                End::Awaited => return Err(PyRuntimeError::new_err("cannot reuse already awaited coroutine")),
                End::Closed => return Err(refused(py, "08003", "the connection is closed")),
            }
            if self.work.is_none()
                && let Some(statement) = &mut self.statement
            {
                match statement.begin(py)? {
                    Begun::Done(answer) => return Ok(Some(Bound::new(py, answer)?.into_any())),
                    Begun::Waits(work) => self.work = Some(work),
                }
            }
            let Some(work) = &mut self.work else { return Ok(Some(py.None().into_bound(py))) };
            let task = self.task.get_or_insert_with(Task::new);
            task.looks();
            let waker = Waker::from(task.clone());
            let Poll::Ready(came) = work.as_mut().poll(&mut Context::from_waker(&waker)) else { return Ok(None) };
            self.work = None;
            match (came, &self.statement) {
                (Ok(Came::Prepared(prepared)), _) => prepared?,
                (Ok(Came::Ran(ran)), Some(statement)) => {
                    return Ok(Some(Bound::new(py, statement.answer(py, ran)?)?.into_any()));
                }
                (Ok(Came::Called(called)), _) => return called.map(|called| Some(called.into_bound(py))),
                (Ok(Came::Ran(_) | Came::Closed), _) => return Ok(Some(py.None().into_bound(py))),
                (Err(error), Some(statement)) => return Err(statement.failed(py, &error)),
                (Err(error), None) => return Err(raised(py, &error)),
            }
        }
    }

    /// The future that its task waits for; `None`: it is to be polled again.
    fn wait<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(task) = &self.task else { return Ok(None) };
        let event_loop = running_loop(py)?;
        let future = event_loop.call_method0(intern!(py, "create_future"))?;
        // As the future's own iterator has it: this tells the task that it is waited for, and not given to somebody.
        future.setattr(intern!(py, "_asyncio_future_blocking"), true)?;
        Ok(task.waits(event_loop.unbind(), future.clone().unbind()).then_some(future))
    }
}

fn running_loop(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    static GET: Once<Py<PyAny>> = Once::new();
    let get = GET.get(py, || Ok(py.import("asyncio.events")?.getattr("get_running_loop")?.unbind()))?;
    get.bind(py).call0()
}

/// The `StopIteration` that has an answer. (It is made by the interpreter, and only where somebody looks at it, unless the answer is a
/// tuple or an exception, which it would take apart.)
fn stop(answer: Bound<'_, PyAny>) -> PyErr {
    match answer.is_instance_of::<PyTuple>() || answer.is_instance_of::<PyBaseException>() {
        true => PyStopIteration::new_err((answer.unbind(),)),
        false => PyStopIteration::new_err(answer.unbind()),
    }
}

/// Has whoever waits for it hear that the connection is closed.
pub(crate) fn close(py: Python<'_>, state: &Mutex<State>) {
    // Whoever polls it may wait for the interpreter.
    let mut state = locked(py, state);
    if state.end == End::NotYet {
        state.end(End::Closed);
    }
    let task = state.task.clone();
    drop(state);
    if let Some(task) = task {
        task.wake();
    }
}

impl Awaited {
    /// A statement.
    pub(crate) fn statement(statement: TaskStatement, running: Arc<Running>) -> Awaited {
        Awaited::of(Some(statement), None, None, Some(running))
    }

    /// Something else; `interrupts` is what it runs statements on.
    pub(crate) fn work(work: Work, interrupts: Option<Arc<Core>>, running: Option<Arc<Running>>) -> Awaited {
        Awaited::of(None, Some(work), interrupts, running)
    }

    fn of(
        statement: Option<TaskStatement>,
        work: Option<Work>,
        interrupts: Option<Arc<Core>>,
        running: Option<Arc<Running>>,
    ) -> Awaited {
        let state = State { statement, work, interrupts, task: None, running, end: End::NotYet };
        Awaited { state: Arc::new(Mutex::new(state)), process: Process::current() }
    }

    fn enter(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, State>> {
        if !self.process.is_current() {
            return Err(refused(py, "55000", "it was begun before fork(), by the parent of this process"));
        }
        match self.state.try_lock() {
            Ok(state) => Ok(state),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => Err(PyRuntimeError::new_err("coroutine already executing")),
        }
    }

    /// Lets go of the future, which interrupts what it runs.
    fn let_go(&self, py: Python<'_>) -> PyResult<()> {
        let mut state = self.enter(py)?;
        let was_running = state.work.is_some() && state.task.is_some();
        state.end(End::Awaited);
        let interrupts = state.interrupts.take().filter(|_| was_running);
        drop(state);
        interrupts.map_or(Ok(()), |core| core.interrupt(py))
    }
}

#[pymethods]
impl Awaited {
    fn __await__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    /// Goes on: the future that is waited for, or `StopIteration` with what it has come to.
    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let mut state = self.enter(py)?;
        loop {
            match state.poll(py) {
                Ok(None) => {
                    if let Some(running) = &state.running {
                        running.enter(&self.state);
                    }
                    if let Some(future) = state.wait(py)? {
                        return Ok(Some(future));
                    }
                }
                Ok(Some(answer)) => {
                    state.end(End::Awaited);
                    return Err(stop(answer));
                }
                Err(error) => {
                    state.end(End::Awaited);
                    return Err(error);
                }
            }
        }
    }

    fn send<'py>(&self, py: Python<'py>, _value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.__next__(py)
    }

    /// Its task is cancelled, or the like.
    #[pyo3(signature = (kind, value=None, _traceback=None))]
    fn throw(
        &self,
        py: Python<'_>,
        kind: &Bound<'_, PyAny>,
        value: Option<&Bound<'_, PyAny>>,
        _traceback: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        self.let_go(py)?;
        let is_exception = |object: &&Bound<'_, PyAny>| object.is_instance_of::<PyBaseException>();
        let thrown = match value.filter(is_exception).or(Some(kind).filter(is_exception)) {
            Some(exception) => exception.clone(),
            None => kind.call1((value.cloned(),))?,
        };
        Err(PyErr::from_value(thrown))
    }

    /// Nobody awaits it any more.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.let_go(py)
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        if !self.process.is_current() {
            std::mem::forget(self.state.clone());
            return;
        }
        let running = self.state.lock().unwrap_or_else(PoisonError::into_inner).running.take();
        if let Some(running) = running {
            running.leave(&self.state);
        }
    }
}
