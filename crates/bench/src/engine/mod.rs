//! The engines, one file each, behind small traits: rows of one table (`face`), any SQL (`sql`), entries of a key and a
//! value (`entries`).

mod cairn;
mod cairn_sql;
mod datum;
#[cfg(feature = "duckdb")]
mod duckdb;
mod entries;
mod face;
mod fjall;
mod kind;
mod lmdb;
mod redb;
#[cfg(feature = "rocksdb")]
mod rocksdb;
mod sql;
mod sql_entries;
#[cfg(feature = "turso")]
mod sql_rows;
mod sqlite;
mod sqlite_sql;
#[cfg(feature = "turso")]
mod turso;

pub use datum::{Cell, Datum, Digest};
pub use entries::{Entries, EntrySession, Operations, Shape, open_entries};
pub use face::{Engine, Session, Work};
pub use kind::Kind;
pub use sql::{SqlEngine, SqlKind, SqlOptions, SqlSession, SqlStatement, is_conflict};
