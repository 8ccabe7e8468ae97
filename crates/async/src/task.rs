//! What a worker does for a future, and what the future hears of it.
//!
//! What must hold:
//! - Every task ends: with what its work came to, with the panic that it met, or, where nobody runs it, with an error.
//! - One whose future is gone is not begun; one that runs is interrupted.
//! - What [wakers](cairndb::internals::Wakers) ask for.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use cairndb::{InterruptHandle, Process, Result};

use crate::error::{closed, panicked};
use cairndb::internals::wake_caught;

/// Shared by a future and its work.
struct Task<T>(Mutex<State<T>>, Process);

struct State<T> {
    phase: Phase<T>,
    waker: Option<Waker>,
}

enum Phase<T> {
    Waiting,
    Running(InterruptHandle),
    Done(Result<T>),
    /// The future has its answer, or is gone.
    Over,
}

impl<T> Task<T> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// False: nobody wants the answer any more.
    fn begin(&self, interrupt: InterruptHandle) -> bool {
        let mut state = self.state();
        let is_wanted = matches!(state.phase, Phase::Waiting);
        if is_wanted {
            state.phase = Phase::Running(interrupt);
        }
        is_wanted
    }

    fn finish(&self, result: Result<T>) {
        let mut state = self.state();
        if matches!(state.phase, Phase::Done(_) | Phase::Over) {
            drop(state);
            // What nobody takes ends here, without the lock.
            return drop(result);
        }
        state.phase = Phase::Done(result);
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            wake_caught(waker);
        }
    }
}

/// The worker's side of a task. Dropped before it has run, it tells that there is nobody to run it.
pub(crate) struct Work<T>(Arc<Task<T>>);

impl<T> Work<T> {
    /// Runs `work`, which `interrupt` interrupts, unless its future is gone. The future hears of it when the caller says so.
    pub(crate) fn run(self, interrupt: InterruptHandle, work: impl FnOnce() -> Result<T>) -> Ran<T> {
        if !self.0.begin(interrupt) {
            return Ran { work: self, result: None, panicked: false };
        }
        let (result, panicked) = match catch_unwind(AssertUnwindSafe(work)) {
            Ok(result) => (result, false),
            Err(payload) => (Err(panicked(&*payload)), true),
        };
        Ran { work: self, result: Some(result), panicked }
    }

    /// Ends it without running it.
    pub(crate) fn fail(self, error: cairndb::Error) {
        self.0.finish(Err(error));
    }
}

/// What a task's work came to; its future waits for [`Ran::tell`].
pub(crate) struct Ran<T> {
    work: Work<T>,
    /// `None`: it was not begun.
    result: Option<Result<T>>,
    panicked: bool,
}

impl<T> Ran<T> {
    /// It did not panic: what was worked on is not half done.
    pub(crate) fn is_whole(&self) -> bool {
        !self.panicked
    }

    /// Tells the future, whose task may go on at once.
    pub(crate) fn tell(self) {
        if let Some(result) = self.result {
            self.work.0.finish(result);
        }
    }
}

impl<T> Drop for Work<T> {
    fn drop(&mut self) {
        self.0.finish(Err(closed()));
    }
}

/// The future's side: ready when the work is done. Dropping it interrupts the work.
pub(crate) struct Answer<T>(Arc<Task<T>>);

/// A task.
pub(crate) fn task<T>() -> (Work<T>, Answer<T>) {
    let task = Arc::new(Task(Mutex::new(State { phase: Phase::Waiting, waker: None }), Process::current()));
    (Work(task.clone()), Answer(task))
}

impl<T> Future for Answer<T> {
    type Output = Result<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T>> {
        // In a child of the process nobody does it.
        self.0.1.check()?;
        let waker = context.waker().clone();
        let mut state = self.0.state();
        match std::mem::replace(&mut state.phase, Phase::Over) {
            Phase::Done(result) => Poll::Ready(result),
            Phase::Over => Poll::Ready(Err(closed())),
            unfinished => {
                state.phase = unfinished;
                let before = state.waker.replace(waker);
                drop(state);
                drop(before);
                Poll::Pending
            }
        }
    }
}

impl<T> Drop for Answer<T> {
    fn drop(&mut self) {
        if !self.0.1.is_current() {
            return;
        }
        let mut state = self.0.state();
        let (phase, waker) = (std::mem::replace(&mut state.phase, Phase::Over), state.waker.take());
        drop(state);
        drop(waker);
        if let Phase::Running(interrupt) = phase {
            interrupt.interrupt();
        }
    }
}
