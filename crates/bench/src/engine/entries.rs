//! What the workloads of entries (a key, a value) ask of an engine, whether it has SQL or not.
//!
//! Every write outside [`EntrySession::transaction`] is a transaction of its own and durable when it returns.

use std::path::Path;

use super::Kind;
use super::datum::Datum;
use super::sql::{SqlKind, SqlOptions};
use super::sql_entries::SqlEntries;
use crate::Result;

/// What the entries are, which a SQL engine must know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A 64-bit integer under a 64-bit integer.
    Numbers,
    /// A text under a text.
    Documents,
}

/// What a thread does with its session.
pub type EntryWork<'w> = &'w mut dyn FnMut(&mut dyn EntrySession) -> Result<()>;

/// What is done in a transaction.
pub type InTransaction<'w> = &'w mut dyn FnMut(&mut dyn Operations) -> Result<()>;

/// An open store of entries.
pub trait Entries: Send + Sync {
    fn name(&self) -> &'static str;

    /// What makes it durable, and what else was set.
    fn setting(&self) -> String;

    /// Opens a session and hands it to `work`. Called by many threads at once.
    fn with_entries(&self, work: EntryWork<'_>) -> Result<()>;

    /// Counters that the engine keeps of its own work, since it was opened.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// Closes the store as the engine wants it closed.
    fn close(self: Box<Self>) -> Result<()>;
}

/// Reads and writes.
pub trait Operations {
    /// The length of the value in bytes, 8 for an integer; `None`: there is no such key.
    fn read(&mut self, key: Datum<'_>) -> Result<Option<usize>>;

    /// Adds an entry whose key is not there.
    fn insert(&mut self, key: Datum<'_>, value: Datum<'_>) -> Result<()>;

    /// Gives a key that is there another value.
    fn update(&mut self, key: Datum<'_>, value: Datum<'_>) -> Result<()>;

    /// Removes a key that is there.
    fn delete(&mut self, key: Datum<'_>) -> Result<()>;
}

/// One thread's session.
pub trait EntrySession: Operations {
    /// Does all of `work` in one transaction, durable when this returns. Its reads see the state before it; whether
    /// they see its own writes is the engine's matter.
    fn transaction(&mut self, work: InTransaction<'_>) -> Result<()>;
}

/// A new store in this empty folder.
pub fn open_entries(kind: Kind, dir: &Path, shape: Shape) -> Result<Box<dyn Entries>> {
    let sql = |kind: SqlKind| SqlEntries::open(kind.open(dir, SqlOptions::default())?, shape);
    Ok(match kind {
        Kind::Cairn => Box::new(sql(SqlKind::Cairn)?),
        Kind::Sqlite => Box::new(sql(SqlKind::Sqlite)?),
        Kind::Lmdb => Box::new(super::lmdb::LmdbEntries::open(dir)?),
        Kind::Redb => Box::new(super::redb::RedbEntries::open(dir)?),
        Kind::Fjall => Box::new(super::fjall::FjallEntries::open(dir)?),
        #[cfg(feature = "rocksdb")]
        Kind::Rocksdb => Box::new(super::rocksdb::RocksdbEntries::open(dir)?),
        #[cfg(feature = "turso")]
        Kind::Turso => Box::new(sql(SqlKind::Turso)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every engine does what the workloads take for granted.
    #[test]
    fn every_engine_keeps_and_forgets_entries() {
        for &kind in Kind::ALL {
            for shape in [Shape::Numbers, Shape::Documents] {
                let dir = std::env::temp_dir().join(format!(
                    "cairn-bench-entries-{}-{}-{shape:?}",
                    std::process::id(),
                    kind.name()
                ));
                std::fs::create_dir_all(&dir).unwrap();
                let store = open_entries(kind, &dir, shape).unwrap();
                store.with_entries(&mut |session| walk(session, shape)).unwrap();
                store.close().unwrap();
                std::fs::remove_dir_all(&dir).unwrap();
            }
        }
    }

    fn walk(session: &mut dyn EntrySession, shape: Shape) -> Result<()> {
        let (key, other, value, bytes) = match shape {
            Shape::Numbers => (Datum::Int(7), Datum::Int(8), Datum::Int(70), 8),
            Shape::Documents => (Datum::Text("seven"), Datum::Text("eight"), Datum::Text("{\"n\":7}"), 7),
        };
        assert_eq!(session.read(key)?, None);
        session.insert(key, value)?;
        session.update(key, value)?;
        session.transaction(&mut |inside| {
            assert_eq!(inside.read(key)?, Some(bytes));
            inside.insert(other, value)
        })?;
        assert_eq!(session.read(other)?, Some(bytes));
        session.delete(key)?;
        assert_eq!((session.read(key)?, session.read(other)?), (None, Some(bytes)));
        Ok(())
    }
}
