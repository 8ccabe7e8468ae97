//! Which engines there are.

use std::path::Path;

use super::Engine;
#[cfg(feature = "turso")]
use super::SqlOptions;
use super::sql::SqlKind;
use crate::Result;

/// An engine that can be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Cairn,
    Sqlite,
    Lmdb,
    Redb,
    Fjall,
    #[cfg(feature = "rocksdb")]
    Rocksdb,
    #[cfg(feature = "turso")]
    Turso,
}

impl Kind {
    /// All that were built.
    pub const ALL: &[Kind] = &[
        Kind::Cairn,
        Kind::Sqlite,
        Kind::Lmdb,
        Kind::Redb,
        Kind::Fjall,
        #[cfg(feature = "rocksdb")]
        Kind::Rocksdb,
        #[cfg(feature = "turso")]
        Kind::Turso,
    ];

    /// Those whose writers may be many threads at once: Turso's wait for each other by asking again and again, and with
    /// more threads than processors that measures the asking.
    pub const OF_MANY_WRITERS: &[Kind] = &[
        Kind::Cairn,
        Kind::Sqlite,
        Kind::Lmdb,
        Kind::Redb,
        Kind::Fjall,
        #[cfg(feature = "rocksdb")]
        Kind::Rocksdb,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Cairn => "cairndb",
            Kind::Sqlite => "sqlite",
            Kind::Lmdb => "lmdb",
            Kind::Redb => "redb",
            Kind::Fjall => "fjall",
            #[cfg(feature = "rocksdb")]
            Kind::Rocksdb => "rocksdb",
            #[cfg(feature = "turso")]
            Kind::Turso => "turso",
        }
    }

    /// The name of an engine that was built, of rows or of queries.
    pub fn parse_name(name: &str) -> Result<&'static str> {
        let mut names: Vec<_> = Kind::ALL.iter().map(|kind| kind.name()).collect();
        names.extend(
            SqlKind::ALL
                .iter()
                .map(|kind| kind.name())
                .filter(|name| Kind::ALL.iter().all(|kind| kind.name() != *name)),
        );
        let found = names.iter().find(|known| **known == name);
        found.copied().ok_or_else(|| format!("unknown engine {name}: this build has {}", names.join(", ")).into())
    }

    /// A new database in this empty folder.
    pub fn open(self, dir: &Path) -> Result<Box<dyn Engine>> {
        Ok(match self {
            Kind::Cairn => Box::new(super::cairn::Cairn::open(dir)?),
            Kind::Sqlite => Box::new(super::sqlite::Sqlite::open(dir)?),
            Kind::Lmdb => Box::new(super::lmdb::Lmdb::open(dir)?),
            Kind::Redb => Box::new(super::redb::Redb::open(dir)?),
            Kind::Fjall => Box::new(super::fjall::Fjall::open(dir)?),
            #[cfg(feature = "rocksdb")]
            Kind::Rocksdb => Box::new(super::rocksdb::Rocksdb::open(dir)?),
            #[cfg(feature = "turso")]
            Kind::Turso => Box::new(super::sql_rows::SqlRows::open(SqlKind::Turso.open(dir, SqlOptions::default())?)?),
        })
    }
}
