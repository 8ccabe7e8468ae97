//! Waking tasks of `asyncio`: the future that a task waits for is done by its loop, which the one thread of this module calls.
//!
//! Whoever wakes waits for nobody: he may have committed, and others wait for that. Tasks that are woken meanwhile are told together.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Wake;

use cairndb::PerProcess;
use pyo3::prelude::*;
use pyo3::types::PyList;

/// A task, as what it waits for knows it.
pub(crate) struct Task(Mutex<State>);

enum State {
    /// Nobody is to be told.
    Idle,
    /// It was woken before it waited.
    Woken,
    Waits(Waiting),
}

/// A task's loop, and the future that is to be done.
struct Waiting {
    event_loop: Py<PyAny>,
    future: Py<PyAny>,
}

impl Task {
    pub(crate) fn new() -> Arc<Task> {
        Arc::new(Task(Mutex::new(State::Idle)))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It looks at what it waits for: what woke it before is over.
    pub(crate) fn looks(&self) {
        let before = std::mem::replace(&mut *self.state(), State::Idle);
        drop(before);
    }

    /// It waits for the future of this loop. False: it was woken meanwhile, and is to look again.
    pub(crate) fn waits(&self, event_loop: Py<PyAny>, future: Py<PyAny>) -> bool {
        let mut state = self.state();
        let was_woken = matches!(*state, State::Woken);
        if !was_woken {
            *state = State::Waits(Waiting { event_loop, future });
        }
        !was_woken
    }
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        let mut state = self.state();
        let before = std::mem::replace(&mut *state, State::Woken);
        drop(state);
        if let State::Waits(waiting) = before {
            tell(waiting);
        }
    }
}

/// Has the thread of this module call the loop.
fn tell(waiting: Waiting) {
    static CALLER: PerProcess<Sender<Waiting>> = PerProcess::new();
    let begin = || {
        let (sender, receiver) = channel::<Waiting>();
        let calls = move || {
            while let Ok(first) = receiver.recv() {
                call(std::iter::once(first).chain(receiver.try_iter()));
            }
        };
        std::thread::Builder::new().name("pycairndb-wake".to_owned()).spawn(calls).map(|_| sender)
    };
    // Without a thread the task waits for something else to wake it.
    let Ok(sender) = CALLER.get(begin) else { return };
    let _ = sender.send(waiting);
}

/// Calls loops, each once for those in a row that are its.
fn call(woken: impl Iterator<Item = Waiting>) {
    // A loop that is closed has no task that waits. (At the interpreter's end nothing is called.)
    let _ = Python::try_attach(|py| {
        let Ok(done) = py.import("pycairndb._watch").and_then(|module| module.getattr("done")) else { return };
        let mut woken = woken.peekable();
        while let Some(Waiting { event_loop, future }) = woken.next() {
            let futures = PyList::empty(py);
            let mut told = futures.append(future);
            while let Some(more) = woken.next_if(|next| next.event_loop.is(&event_loop)) {
                told = told.and_then(|()| futures.append(more.future));
            }
            let _ = told.and_then(|()| event_loop.call_method1(py, "call_soon_threadsafe", (&done, futures)));
        }
    });
}
