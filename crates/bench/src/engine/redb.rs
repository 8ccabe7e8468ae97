//! redb, with `Durability::Immediate` (its default).

use std::ops::Range;
use std::path::Path;

use redb::{Database, Durability, ReadOnlyTable, ReadableDatabase, TableDefinition, WriteTransaction};

use super::{Engine, Session, Work};
use crate::Result;
use crate::rows::{digest_value, value};

const TABLE: TableDefinition<'_, i64, &[u8]> = TableDefinition::new("t");

pub struct Redb {
    db: Database,
}

impl Redb {
    pub fn open(dir: &Path) -> Result<Redb> {
        let db = Database::create(dir.join("bench.redb"))?;
        let txn = db.begin_write()?;
        txn.open_table(TABLE)?;
        txn.commit()?;
        Ok(Redb { db })
    }
}

impl Engine for Redb {
    fn name(&self) -> &'static str {
        "redb"
    }

    fn setting(&self) -> String {
        "Durability::Immediate, cache 1 GiB (the default)".to_string()
    }

    fn with_session(&self, work: Work<'_>) -> Result<()> {
        work(&mut RedbSession { db: &self.db, snapshot: None })
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

struct RedbSession<'d> {
    db: &'d Database,
    snapshot: Option<ReadOnlyTable<i64, &'static [u8]>>,
}

impl RedbSession<'_> {
    fn begin(&self) -> Result<WriteTransaction> {
        let mut txn = self.db.begin_write()?;
        txn.set_durability(Durability::Immediate)?;
        Ok(txn)
    }

    fn put(&mut self, key: i64, number: i64) -> Result<()> {
        let txn = self.begin()?;
        txn.open_table(TABLE)?.insert(key, value(key, number).as_slice())?;
        Ok(txn.commit()?)
    }

    fn table(&self) -> Result<ReadOnlyTable<i64, &'static [u8]>> {
        Ok(self.db.begin_read()?.open_table(TABLE)?)
    }

    fn read_snapshot(&mut self, key: i64) -> Result<Option<u64>> {
        let table = match self.snapshot.take() {
            Some(table) => table,
            None => self.table()?,
        };
        let table = self.snapshot.insert(table);
        Ok(table.get(key)?.and_then(|found| digest_value(found.value())))
    }
}

impl Session for RedbSession<'_> {
    fn load(&mut self, keys: Range<i64>) -> Result<()> {
        let txn = self.begin()?;
        {
            let mut table = txn.open_table(TABLE)?;
            for key in keys {
                table.insert(key, value(key, key).as_slice())?;
            }
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
        Ok(self.table()?.get(key)?.and_then(|found| digest_value(found.value())))
    }

    fn read_in_snapshot(&mut self, key: i64) -> Option<Result<Option<u64>>> {
        Some(self.read_snapshot(key))
    }
}
