//! What is made when it is first asked for, and kept.
//!
//! Nobody waits for another thread's making: in a child of `fork` that thread is not there, and what it had begun (an import, say, which
//! lets go of the interpreter) is never done. What several threads make at once is dropped but for one.

use std::sync::OnceLock;

use pyo3::prelude::*;

/// See the module.
pub(crate) struct Once<T>(OnceLock<T>);

impl<T> Once<T> {
    pub(crate) const fn new() -> Once<T> {
        Once(OnceLock::new())
    }

    #[inline]
    pub(crate) fn get(&self, _: Python<'_>, make: impl FnOnce() -> PyResult<T>) -> PyResult<&T> {
        match self.0.get() {
            Some(kept) => Ok(kept),
            None => self.keep(make()?),
        }
    }

    /// Whoever forks has the interpreter, and here it is not let go: no child finds this under way.
    #[cold]
    fn keep(&self, made: T) -> PyResult<&T> {
        Ok(self.0.get_or_init(|| made))
    }
}
