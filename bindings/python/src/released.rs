//! Letting go of the interpreter.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use pyo3::Python;

/// What stays on its thread.
struct Same<T>(T);

// SAFETY: `released` runs what it is given on the thread that gives it; nothing is sent.
unsafe impl<T> Send for Same<T> {}

impl<T> Same<T> {
    fn take(self) -> T {
        self.0
    }
}

/// Runs `work` on this thread while others may have the interpreter. It must not touch Python's objects, but where it attaches again.
pub(crate) fn released<T>(py: Python<'_>, work: impl FnOnce() -> T) -> T {
    let work = Same(work);
    py.detach(move || Same(work.take()())).take()
}

/// Locks what a thread may have locked that needs the interpreter. What a panic has left locked last is taken as it is.
#[inline]
pub(crate) fn locked<'a, T>(py: Python<'_>, lock: &'a Mutex<T>) -> MutexGuard<'a, T> {
    match lock.try_lock() {
        Ok(guard) => guard,
        // (This has the guard: who locks again in its presence waits for himself.)
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => released(py, || lock.lock().unwrap_or_else(PoisonError::into_inner)),
    }
}
