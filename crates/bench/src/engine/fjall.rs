//! fjall, a log-structured store, each batch persisted with `fdatasync`.

use std::ops::Range;
use std::path::Path;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, OwnedWriteBatch, PersistMode};

use super::datum::Datum;
use super::entries::{Entries, EntrySession, EntryWork, InTransaction, Operations};
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

/// A store of entries.
pub struct FjallEntries(Fjall);

impl FjallEntries {
    pub fn open(dir: &Path) -> Result<FjallEntries> {
        Fjall::open(dir).map(FjallEntries)
    }
}

impl Entries for FjallEntries {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn setting(&self) -> String {
        self.0.setting()
    }

    fn with_entries(&self, work: EntryWork<'_>) -> Result<()> {
        work(&mut FjallAlone { engine: &self.0 })
    }

    fn close(self: Box<Self>) -> Result<()> {
        Box::new(self.0).close()
    }
}

struct FjallAlone<'d> {
    engine: &'d Fjall,
}

impl EntrySession for FjallAlone<'_> {
    fn transaction(&mut self, work: InTransaction<'_>) -> Result<()> {
        let batch = self.engine.db.batch().durability(Some(PersistMode::SyncData));
        let mut inside = FjallInside { engine: self.engine, batch };
        work(&mut inside)?;
        Ok(inside.batch.commit()?)
    }
}

impl Operations for FjallAlone<'_> {
    fn read(&mut self, key: Datum<'_>) -> Result<Option<usize>> {
        Ok(self.engine.table.get(key.bytes(&mut [0; 8]))?.map(|found| found.len()))
    }

    fn insert(&mut self, key: Datum<'_>, value: Datum<'_>) -> Result<()> {
        self.transaction(&mut |inside| inside.insert(key, value))
    }

    fn update(&mut self, key: Datum<'_>, value: Datum<'_>) -> Result<()> {
        self.transaction(&mut |inside| inside.insert(key, value))
    }

    fn delete(&mut self, key: Datum<'_>) -> Result<()> {
        self.transaction(&mut |inside| inside.delete(key))
    }
}

/// A batch; its reads do not see it.
struct FjallInside<'d> {
    engine: &'d Fjall,
    batch: OwnedWriteBatch,
}

impl Operations for FjallInside<'_> {
    fn read(&mut self, key: Datum<'_>) -> Result<Option<usize>> {
        Ok(self.engine.table.get(key.bytes(&mut [0; 8]))?.map(|found| found.len()))
    }

    fn insert(&mut self, key: Datum<'_>, value: Datum<'_>) -> Result<()> {
        self.batch.insert(&self.engine.table, key.bytes(&mut [0; 8]), value.bytes(&mut [0; 8]));
        Ok(())
    }

    fn update(&mut self, key: Datum<'_>, value: Datum<'_>) -> Result<()> {
        self.insert(key, value)
    }

    fn delete(&mut self, key: Datum<'_>) -> Result<()> {
        self.batch.remove(&self.engine.table, key.bytes(&mut [0; 8]));
        Ok(())
    }
}
