//! Signals while a statement runs: Ctrl-C ends it.
//!
//! Python looks at signals on its main thread only. So while that one runs a statement it attaches now and then, for the handlers
//! to be called; what one of them raises ends the statement, and is what the statement raises.

use std::time::Duration;

use cairndb::Connection;
use pyo3::prelude::*;

use crate::functions::put_aside;

/// How long a signal waits.
const EVERY: Duration = Duration::from_millis(50);

/// Has signals looked at while the connection's statements run, and `own` asked, so often, whether they are to go on: it says so by
/// something that is false.
pub(crate) fn watch(connection: &Connection, own: Option<(Duration, Py<PyAny>)>) {
    let every = own.as_ref().map_or(EVERY, |(every, _)| (*every).min(EVERY));
    let own = own.map(|(_, own)| own);
    connection.set_progress_handler(Some((every, move || goes_on(own.as_ref()))));
}

fn goes_on(own: Option<&Py<PyAny>>) -> bool {
    Python::try_attach(|py| {
        // (On other threads this does nothing.)
        let asked = py.check_signals().and_then(|()| match own {
            Some(own) => own.call0(py)?.is_truthy(py),
            None => Ok(true),
        });
        asked.unwrap_or_else(|error| {
            drop(put_aside(py, error));
            false
        })
    })
    .unwrap_or(true)
}
