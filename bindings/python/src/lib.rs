//! CairnDB for Python: the extension module `pycairndb._pycairndb`.
//!
//! Thin: values, errors, connections, cursors. SQL is the engine's; what needs no speed is in the Python files beside it.
//!
//! - **The interpreter is let go of** around all that can wait, or takes longer than a page of memory ([`released`]).
//!   Nothing waits for a lock while it has the interpreter, and nobody who holds one waits for the interpreter but who runs a
//!   callback.
//! - **No panic and no crash for what a program gives**: each object is asked what it is, and what it does wrongly is its own exception.
//! - **A child of `fork`** gets an exception from everything, before a lock is asked for.

mod answer;
mod awaited;
mod calendar;
mod collection;
mod columns;
mod connection;
mod copies;
mod core;
mod cursor;
mod errors;
mod feed;
mod files;
mod found;
mod from_python;
mod functions;
mod known;
mod many;
mod once;
mod open;
mod placeholders;
mod question;
mod released;
mod row;
mod setup;
mod shape;
mod signals;
mod statements;
mod task_statement;
mod to_python;
mod wake;
mod watch;
mod workers;

/// The extension module.
#[pyo3::pymodule]
mod _pycairndb {
    #[pymodule_export]
    use crate::answer::Answer;
    #[pymodule_export]
    use crate::awaited::Awaited;
    #[pymodule_export]
    use crate::collection::Collection;
    #[pymodule_export]
    use crate::columns::Buffer;
    #[pymodule_export]
    use crate::connection::Connection;
    #[pymodule_export]
    use crate::cursor::Cursor;
    #[pymodule_export]
    use crate::found::Found;
    #[pymodule_export]
    use crate::row::Row;
    #[pymodule_export]
    use crate::watch::Watch;
    #[pymodule_export]
    use crate::workers::Workers;
}
