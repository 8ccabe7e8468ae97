//! RocksDB, each write synced.

use std::ops::Range;
use std::path::Path;

use rocksdb::{BlockBasedOptions, Cache, DB, Options, WriteBatch, WriteOptions};

use super::{Engine, Session, Work};
use crate::Result;
use crate::rows::{digest_value, value};

pub struct Rocksdb {
    db: DB,
}

impl Rocksdb {
    pub fn open(dir: &Path) -> Result<Rocksdb> {
        let mut options = Options::default();
        options.create_if_missing(true);
        let mut table = BlockBasedOptions::default();
        table.set_block_cache(&Cache::new_lru_cache(256 << 20));
        table.set_bloom_filter(10.0, false);
        options.set_block_based_table_factory(&table);
        Ok(Rocksdb { db: DB::open(&options, dir.join("bench.rocksdb"))? })
    }
}

impl Engine for Rocksdb {
    fn name(&self) -> &'static str {
        "rocksdb"
    }

    fn setting(&self) -> String {
        "WriteOptions sync, cache 256 MiB, bloom filter of 10 bits".to_string()
    }

    fn with_session(&self, work: Work<'_>) -> Result<()> {
        let mut synced = WriteOptions::default();
        synced.set_sync(true);
        work(&mut RocksdbSession { db: &self.db, synced })
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(self.db.flush()?)
    }
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
