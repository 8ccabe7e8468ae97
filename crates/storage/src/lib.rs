//! CairnDB's storage engine: one log, copy-on-write B+trees, serializable transactions. No SQL.
//!
//! The contract of the layers above. (Scaffold: `fake` keeps everything in memory until the engine replaces it; the
//! signatures are the ones that stay.)
#![allow(missing_docs)]

mod fake;
pub mod io;

pub use fake::{
    Cursor, Durability, Error, Options, PointReader, PointWriter, Reader, Result, Savepoint, Session, Snapshot, Stats,
    Store, Ticket, Transaction, TreeId, WriteError,
};
