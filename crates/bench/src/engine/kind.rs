//! Which engines there are.

use std::path::Path;

use super::Engine;
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
}

impl Kind {
    #[cfg(not(feature = "rocksdb"))]
    pub const ALL: [Kind; 5] = [Kind::Cairn, Kind::Sqlite, Kind::Lmdb, Kind::Redb, Kind::Fjall];
    #[cfg(feature = "rocksdb")]
    pub const ALL: [Kind; 6] = [Kind::Cairn, Kind::Sqlite, Kind::Lmdb, Kind::Redb, Kind::Fjall, Kind::Rocksdb];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Cairn => "cairndb",
            Kind::Sqlite => "sqlite",
            Kind::Lmdb => "lmdb",
            Kind::Redb => "redb",
            Kind::Fjall => "fjall",
            #[cfg(feature = "rocksdb")]
            Kind::Rocksdb => "rocksdb",
        }
    }

    pub fn parse(name: &str) -> Result<Kind> {
        let found = Kind::ALL.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| format!("unknown engine {name}: of {}", Kind::ALL.map(Kind::name).join(", ")).into())
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
        })
    }
}
