//! RocksDB, each write synced.

use std::ops::Range;
use std::path::Path;

use rocksdb::{BlockBasedOptions, Cache, DB, Options, WriteBatch, WriteOptions};

use super::datum::Datum;
use super::entries::{Entries, EntrySession, EntryWork, InTransaction, Operations};
use super::{Engine, Session, Work};
use crate::Result;
use crate::rows::{digest_value, value};

pub struct Rocksdb {
    db: DB,
    /// Of the library that was linked.
    version: String,
}

impl Rocksdb {
    pub fn open(dir: &Path) -> Result<Rocksdb> {
        let mut options = Options::default();
        options.create_if_missing(true);
        let mut table = BlockBasedOptions::default();
        table.set_block_cache(&Cache::new_lru_cache(256 << 20));
        table.set_bloom_filter(10.0, false);
        options.set_block_based_table_factory(&table);
        let path = dir.join("bench.rocksdb");
        let db = DB::open(&options, &path)?;
        Ok(Rocksdb { db, version: version(&path).unwrap_or_default() })
    }
}

/// RocksDB writes its version to its own log, and tells it nowhere else.
fn version(path: &Path) -> Option<String> {
    let log = std::fs::read_to_string(path.join("LOG")).ok()?;
    Some(log.split_once("RocksDB version: ")?.1.lines().next()?.trim().to_string())
}

impl Engine for Rocksdb {
    fn name(&self) -> &'static str {
        "rocksdb"
    }

    fn setting(&self) -> String {
        format!("{}, WriteOptions sync, cache 256 MiB, bloom filter of 10 bits", self.version)
    }

    fn with_session(&self, work: Work<'_>) -> Result<()> {
        work(&mut RocksdbSession { db: &self.db, synced: synced() })
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(self.db.flush()?)
    }
}

fn synced() -> WriteOptions {
    let mut synced = WriteOptions::default();
    synced.set_sync(true);
    synced
}

struct RocksdbSession<'d> {
    db: &'d DB,
    synced: WriteOptions,
}

impl RocksdbSession<'_> {
    fn put(&mut self, key: i64, number: i64) -> Result<()> {
        Ok(self.db.put_opt(key.to_be_bytes(), value(key, number), &self.synced)?)
    }
}

impl Session for RocksdbSession<'_> {
    fn load(&mut self, keys: Range<i64>) -> Result<()> {
        let mut batch = WriteBatch::default();
        for key in keys {
            batch.put(key.to_be_bytes(), value(key, key));
        }
        Ok(self.db.write_opt(batch, &self.synced)?)
    }

    fn insert(&mut self, key: i64) -> Result<()> {
        self.put(key, key)
    }

    fn update(&mut self, key: i64, number: i64) -> Result<()> {
        self.put(key, number)
    }

    fn upsert(&mut self, key: i64, number: i64) -> Result<()> {
        self.put(key, number)
    }

    fn read(&mut self, key: i64) -> Result<Option<u64>> {
        Ok(self.db.get_pinned(key.to_be_bytes())?.and_then(|found| digest_value(&found)))
    }
}

/// A store of entries.
pub struct RocksdbEntries(Rocksdb);

impl RocksdbEntries {
    pub fn open(dir: &Path) -> Result<RocksdbEntries> {
        Rocksdb::open(dir).map(RocksdbEntries)
    }
}

impl Entries for RocksdbEntries {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn setting(&self) -> String {
        self.0.setting()
    }

    fn with_entries(&self, work: EntryWork<'_>) -> Result<()> {
        work(&mut RocksdbAlone { db: &self.0.db, synced: synced() })
    }

    fn close(self: Box<Self>) -> Result<()> {
        Box::new(self.0).close()
    }
}

struct RocksdbAlone<'d> {
    db: &'d DB,
    synced: WriteOptions,
}

impl EntrySession for RocksdbAlone<'_> {
    fn transaction(&mut self, work: InTransaction<'_>) -> Result<()> {
        let mut inside = RocksdbInside { db: self.db, batch: WriteBatch::default() };
        work(&mut inside)?;
        Ok(self.db.write_opt(inside.batch, &self.synced)?)
    }
}

impl Operations for RocksdbAlone<'_> {
    fn read(&mut self, key: Datum<'_>) -> Result<Option<usize>> {
        Ok(self.db.get_pinned(key.bytes(&mut [0; 8]))?.map(|found| found.len()))
    }

    fn insert(&mut self, key: Datum<'_>, value: Datum<'_>) -> Result<()> {
        Ok(self.db.put_opt(key.bytes(&mut [0; 8]), value.bytes(&mut [0; 8]), &self.synced)?)
    }

    fn update(&mut self, key: Datum<'_>, value: Datum<'_>) -> Result<()> {
        self.insert(key, value)
    }

    fn delete(&mut self, key: Datum<'_>) -> Result<()> {
        Ok(self.db.delete_opt(key.bytes(&mut [0; 8]), &self.synced)?)
    }
}

/// A batch; its reads do not see it.
struct RocksdbInside<'d> {
    db: &'d DB,
    batch: WriteBatch,
}

impl Operations for RocksdbInside<'_> {
    fn read(&mut self, key: Datum<'_>) -> Result<Option<usize>> {
        Ok(self.db.get_pinned(key.bytes(&mut [0; 8]))?.map(|found| found.len()))
    }

    fn insert(&mut self, key: Datum<'_>, value: Datum<'_>) -> Result<()> {
        self.batch.put(key.bytes(&mut [0; 8]), value.bytes(&mut [0; 8]));
        Ok(())
    }

    fn update(&mut self, key: Datum<'_>, value: Datum<'_>) -> Result<()> {
        self.insert(key, value)
    }

    fn delete(&mut self, key: Datum<'_>) -> Result<()> {
        self.batch.delete(key.bytes(&mut [0; 8]));
        Ok(())
    }
}
