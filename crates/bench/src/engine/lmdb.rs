//! LMDB through `heed`, with its default syncing: every commit is on the medium when it returns.

use std::ops::{Bound, Range};
use std::path::Path;

use heed::types::Bytes;
use heed::{Env, EnvOpenOptions, RoTxn, RwTxn, WithTls, WithoutTls};

use super::datum::Datum;
use super::entries::{Entries, EntrySession, EntryWork, InTransaction, Operations};
use super::{Engine, Session, Work};
use crate::Result;
use crate::rows::{RANGE, digest_value, value};

const MAP_BYTES: usize = 16 << 30;
const READERS: u32 = 512;
const SETTING: &str = "default flags: each commit synced";

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
        SETTING.to_string()
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

impl LmdbSession<'_> {
    fn sum_range(&mut self, key: i64) -> Result<u64> {
        self.snapshot = None;
        let txn = self.env.read_txn()?;
        let first = key.to_be_bytes();
        let (from, mut sum) = ((Bound::Included(&first[..]), Bound::Unbounded), 0);
        for entry in self.table.range(&txn, &from)?.take(RANGE as usize) {
            let (key, value) = entry?;
            sum += key.try_into().map(i64::from_be_bytes)? as u64 + digest_value(value).unwrap_or(0);
        }
        Ok(sum)
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

    fn read_range(&mut self, key: i64) -> Option<Result<u64>> {
        Some(self.sum_range(key))
    }
}

type Table = heed::Database<Bytes, Bytes>;

/// A store of entries. Its readers are not bound to threads, so that one thread can read beside its own write.
pub struct LmdbEntries {
    env: Env<WithoutTls>,
    table: Table,
}

impl LmdbEntries {
    pub fn open(dir: &Path) -> Result<LmdbEntries> {
        let mut options = EnvOpenOptions::new().read_txn_without_tls();
        // SAFETY: the folder is new and this program's own, so nothing else opens or changes the file.
        let env = unsafe { options.map_size(MAP_BYTES).max_readers(READERS).open(dir)? };
        let mut txn = env.write_txn()?;
        let table = env.create_database(&mut txn, None)?;
        txn.commit()?;
        Ok(LmdbEntries { env, table })
    }
}

impl Entries for LmdbEntries {
    fn name(&self) -> &'static str {
        "lmdb"
    }

    fn setting(&self) -> String {
        SETTING.to_string()
    }

    fn with_entries(&self, work: EntryWork<'_>) -> Result<()> {
        work(&mut LmdbAlone { env: &self.env, table: self.table })
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.env.prepare_for_closing().wait();
        Ok(())
    }
}

struct LmdbAlone<'e> {
    env: &'e Env<WithoutTls>,
    table: Table,
}

impl EntrySession for LmdbAlone<'_> {
    fn transaction(&mut self, work: InTransaction<'_>) -> Result<()> {
        let mut inside = LmdbInside { txn: self.env.write_txn()?, table: self.table };
        work(&mut inside)?;
        Ok(inside.txn.commit()?)
    }
}

impl Operations for LmdbAlone<'_> {
    fn read(&mut self, key: Datum<'_>) -> Result<Option<usize>> {
        let txn = self.env.read_txn()?;
        Ok(self.table.get(&txn, key.bytes(&mut [0; 8]))?.map(<[u8]>::len))
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

struct LmdbInside<'e> {
    txn: RwTxn<'e>,
    table: Table,
}

impl Operations for LmdbInside<'_> {
    fn read(&mut self, key: Datum<'_>) -> Result<Option<usize>> {
        Ok(self.table.get(&self.txn, key.bytes(&mut [0; 8]))?.map(<[u8]>::len))
    }

    fn insert(&mut self, key: Datum<'_>, value: Datum<'_>) -> Result<()> {
        Ok(self.table.put(&mut self.txn, key.bytes(&mut [0; 8]), value.bytes(&mut [0; 8]))?)
    }

    fn update(&mut self, key: Datum<'_>, value: Datum<'_>) -> Result<()> {
        self.insert(key, value)
    }

    fn delete(&mut self, key: Datum<'_>) -> Result<()> {
        self.table.delete(&mut self.txn, key.bytes(&mut [0; 8]))?;
        Ok(())
    }
}
