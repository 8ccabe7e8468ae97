//! Errors of the engine as exceptions: `pycairndb._errors` chooses the class by SQLSTATE, and has the attributes.

use pyo3::prelude::*;

use crate::once::Once;

static MAKE: Once<Py<PyAny>> = Once::new();

/// What makes an exception of an error's parts.
fn make(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    let found = MAKE.get(py, || Ok(py.import("pycairndb._errors")?.getattr("make")?.unbind()))?;
    Ok(found.bind(py))
}

/// The exception of an error whose position is in the text that the engine was given; `place` says where that is in the user's.
pub(crate) fn raised_at(py: Python<'_>, error: &cairndb::Error, place: impl FnOnce(usize) -> usize) -> PyErr {
    let about = (error.schema(), error.table(), error.column(), error.data_type());
    let parts = (
        error.sqlstate().as_str(),
        error.message(),
        error.detail(),
        error.hint(),
        error.position().map(place),
        error.constraint(),
        error.context(),
        about,
    );
    match make(py).and_then(|make| make.call1(parts)) {
        Ok(made) => PyErr::from_value(made),
        Err(failed) => failed,
    }
}

/// The exception of an error.
pub(crate) fn raised(py: Python<'_>, error: &cairndb::Error) -> PyErr {
    raised_at(py, error, |position| position)
}

/// The exception of what was said wrongly here, with a code.
pub(crate) fn refused(py: Python<'_>, code: &'static str, message: impl Into<String>) -> PyErr {
    raised(py, &cairndb::Error::new(cairndb::SqlState(code), message))
}

/// As `refused`, with what to do instead.
pub(crate) fn refused_with(py: Python<'_>, code: &'static str, message: impl Into<String>, hint: &str) -> PyErr {
    raised(py, &cairndb::Error::new(cairndb::SqlState(code), message).with_hint(hint))
}

/// An error that came with a Python exception behind it: that is its cause.
pub(crate) fn caused(py: Python<'_>, error: PyErr, cause: PyErr) -> PyErr {
    error.set_cause(py, Some(cause));
    error
}
