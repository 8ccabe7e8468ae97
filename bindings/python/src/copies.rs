//! Copies of a database while it is in use: its file, and its statements.

use std::path::PathBuf;

use cairndb::{Database, DumpOptions, Error, SqlState};
use pyo3::prelude::*;

use crate::errors::raised;
use crate::released::released;

/// What a callback raised, in place of the error that it ended the work by.
fn told(py: Python<'_>, failed: Option<PyErr>, done: cairndb::Result<()>) -> PyResult<()> {
    match failed {
        Some(error) => Err(error),
        None => done.map_err(|error| raised(py, &error)),
    }
}

/// Copies the file; `progress` hears of the bytes copied so far.
pub(crate) fn backup(py: Python<'_>, database: Database, target: PathBuf, progress: Option<Py<PyAny>>) -> PyResult<()> {
    let mut failed = None;
    let tell = |bytes: u64| {
        let Some(progress) = &progress else { return };
        if failed.is_none() {
            failed = Python::attach(|py| progress.call1(py, (bytes,)).err());
        }
    };
    let copied = released(py, || database.backup_with_progress(&target, tell));
    released(py, || drop(database));
    told(py, failed, copied)
}

/// Tells each of the statements that make the database anew.
pub(crate) fn dump(py: Python<'_>, database: Database, each: Py<PyAny>) -> PyResult<()> {
    let mut failed = None;
    let tell = |statement: &str| {
        let raised = Python::attach(|py| py.check_signals().and_then(|()| each.call1(py, (statement,))).err());
        match raised {
            None => Ok(()),
            Some(error) => {
                failed = Some(error);
                Err(Error::new(SqlState::EXTERNAL_ROUTINE_EXCEPTION, "nobody wants more of the dump"))
            }
        }
    };
    let dumped = released(py, || {
        let dumped = database.dump_statements(&DumpOptions::default(), tell);
        drop(database);
        dumped.map(drop)
    });
    told(py, failed, dumped)
}
