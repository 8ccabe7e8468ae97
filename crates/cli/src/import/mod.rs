//! `cairn import`: a new database of what another one was, and a report of what is not as it was, and why.
//!
//! What must hold: what is imported is only read; no value is changed without the report saying so, and the new file is there only if
//! all was read to its end. What cannot be taken over is left out and told, never half done.

mod postgres;
mod report;
#[cfg(feature = "sqlite")]
mod sqlite;
mod subject;
mod target;

pub use postgres::postgres;
#[cfg(feature = "sqlite")]
pub use sqlite::sqlite;
pub use subject::is_of_server;
