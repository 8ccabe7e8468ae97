//! fjall, a log-structured store, each batch persisted with `fdatasync`.

use std::ops::Range;
use std::path::Path;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};

use super::{Engine, Session, Work};
use crate::Result;
use crate::rows::{digest_value, value};

pub struct Fjall {
    db: Database,
    table: Keyspace,
}

impl Fjall {
    pub fn open(dir: &Path) -> Result<Fjall> {
        let db = Database::builder(dir.join("bench.fjall")).cache_size(256 << 20).open()?;
        let table = db.keyspace("t", KeyspaceCreateOptions::default)?;
        Ok(Fjall { db, table })
    }
}

impl Engine for Fjall {
    fn name(&self) -> &'static str {
        "fjall"
    }

    fn setting(&self) -> String {
        "PersistMode::SyncData per batch, cache 256 MiB".to_string()
    }

    fn with_session(&self, work: Work<'_>) -> Result<()> {
        work(&mut FjallSession { engine: self })
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(self.db.persist(PersistMode::SyncAll)?)
    }
}

struct FjallSession<'d> {
    engine: &'d Fjall,
}

impl FjallSession<'_> {
    fn put(&mut self, rows: impl Iterator<Item = (i64, i64)>) -> Result<()> {
        let mut batch = self.engine.db.batch().durability(Some(PersistMode::SyncData));
        for (key, number) in rows {
            batch.insert(&self.engine.table, key.to_be_bytes(), value(key, number).as_slice());
        }
        Ok(batch.commit()?)
    }
}

impl Session for FjallSession<'_> {
    fn load(&mut self, keys: Range<i64>) -> Result<()> {
        self.put(keys.map(|key| (key, key)))
    }

    fn insert(&mut self, key: i64) -> Result<()> {
        self.put(std::iter::once((key, key)))
    }

    fn update(&mut self, key: i64, number: i64) -> Result<()> {
        self.put(std::iter::once((key, number)))
    }

    fn upsert(&mut self, key: i64, number: i64) -> Result<()> {
        self.put(std::iter::once((key, number)))
    }

    fn read(&mut self, key: i64) -> Result<Option<u64>> {
        Ok(self.engine.table.get(key.to_be_bytes())?.and_then(|found| digest_value(&found)))
    }
}
