//! Letting go of the interpreter.

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
