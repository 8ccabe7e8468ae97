//! LMDB through `heed`, with its default syncing: every commit is on the medium when it returns.

use std::ops::Range;
use std::path::Path;

use heed::types::Bytes;
use heed::{Env, EnvOpenOptions, RoTxn, WithTls};

use super::{Engine, Session, Work};
use crate::Result;
use crate::rows::{digest_value, value};

const MAP_BYTES: usize = 16 << 30;
const READERS: u32 = 512;

pub struct Lmdb {
    env: Env,
    table: heed::Database<Bytes, Bytes>,
}

impl Lmdb {
    pub fn open(dir: &Path) -> Result<Lmdb> {
        // SAFETY: the folder is new and this program's own, so nothing else opens or changes the file.
        let env = unsafe { EnvOpenOptions::new().map_size(MAP_BYTES).max_readers(READERS).open(dir)? };
        let mut txn = env.write_txn()?;
        let table = env.create_database(&mut txn, None)?;
        txn.commit()?;
        Ok(Lmdb { env, table })
    }
}

impl Engine for Lmdb {
    fn name(&self) -> &'static str {
        "lmdb"
    }

    fn setting(&self) -> String {
        "default flags: each commit synced".to_string()
    }

    fn with_session(&self, work: Work<'_>) -> Result<()> {
        work(&mut LmdbSession { env: &self.env, table: self.table, snapshot: None })
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.env.prepare_for_closing().wait();
        Ok(())
    }
}

struct LmdbSession<'e> {
    env: &'e Env,
    table: heed::Database<Bytes, Bytes>,
    snapshot: Option<RoTxn<'e, WithTls>>,
}

impl LmdbSession<'_> {
    fn put(&mut self, key: i64, number: i64) -> Result<()> {
        let mut txn = self.env.write_txn()?;
        self.table.put(&mut txn, &key.to_be_bytes(), &value(key, number))?;
        Ok(txn.commit()?)
    }

    fn read_snapshot(&mut self, key: i64) -> Result<Option<u64>> {
        let snapshot = match self.snapshot.take() {
            Some(snapshot) => snapshot,
            None => self.env.read_txn()?,
        };
        let snapshot = self.snapshot.insert(snapshot);
        Ok(self.table.get(snapshot, &key.to_be_bytes())?.and_then(digest_value))
    }
}

impl Session for LmdbSession<'_> {
    fn load(&mut self, keys: Range<i64>) -> Result<()> {
        let mut txn = self.env.write_txn()?;
        for key in keys {
            self.table.put(&mut txn, &key.to_be_bytes(), &value(key, key))?;
        }
        Ok(txn.commit()?)
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
        // A thread may have one reading transaction.
        self.snapshot = None;
        let txn = self.env.read_txn()?;
        Ok(self.table.get(&txn, &key.to_be_bytes())?.and_then(digest_value))
    }

    fn read_in_snapshot(&mut self, key: i64) -> Option<Result<Option<u64>>> {
        Some(self.read_snapshot(key))
    }
}
