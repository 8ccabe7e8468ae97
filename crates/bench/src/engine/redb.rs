//! redb, with `Durability::Immediate` (its default).

use std::ops::Range;
use std::path::Path;

use redb::{
    Database, Durability, ReadOnlyTable, ReadableDatabase, ReadableTable, Table, TableDefinition, WriteTransaction,
};

use super::datum::Datum;
use super::entries::{Entries, EntrySession, EntryWork, InTransaction, Operations};
use super::{Engine, Session, Work};
use crate::Result;
use crate::rows::{digest_value, value};

const TABLE: TableDefinition<'_, i64, &[u8]> = TableDefinition::new("t");
const ENTRIES: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("entry");
const SETTING: &str = "Durability::Immediate, cache 1 GiB (the default)";

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
        SETTING.to_string()
    }

    fn with_session(&self, work: Work<'_>) -> Result<()> {
        work(&mut RedbSession { db: &self.db, snapshot: None })
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

fn begin(db: &Database) -> Result<WriteTransaction> {
    let mut txn = db.begin_write()?;
    txn.set_durability(Durability::Immediate)?;
    Ok(txn)
}

struct RedbSession<'d> {
    db: &'d Database,
    snapshot: Option<ReadOnlyTable<i64, &'static [u8]>>,
}

impl RedbSession<'_> {
    fn put(&mut self, key: i64, number: i64) -> Result<()> {
        let txn = begin(self.db)?;
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
        let txn = begin(self.db)?;
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

/// A store of entries.
pub struct RedbEntries {
    db: Database,
}

impl RedbEntries {
    pub fn open(dir: &Path) -> Result<RedbEntries> {
        let db = Database::create(dir.join("bench.redb"))?;
        let txn = db.begin_write()?;
        txn.open_table(ENTRIES)?;
        txn.commit()?;
        Ok(RedbEntries { db })
    }
}

impl Entries for RedbEntries {
    fn name(&self) -> &'static str {
        "redb"
    }

    fn setting(&self) -> String {
        SETTING.to_string()
    }

    fn with_entries(&self, work: EntryWork<'_>) -> Result<()> {
        work(&mut RedbAlone { db: &self.db })
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

struct RedbAlone<'d> {
    db: &'d Database,
}

impl EntrySession for RedbAlone<'_> {
    fn transaction(&mut self, work: InTransaction<'_>) -> Result<()> {
        let txn = begin(self.db)?;
        {
            let mut inside = RedbInside { table: txn.open_table(ENTRIES)? };
            work(&mut inside)?;
        }
        Ok(txn.commit()?)
    }
}

impl Operations for RedbAlone<'_> {
    fn read(&mut self, key: Datum<'_>) -> Result<Option<usize>> {
        let table = self.db.begin_read()?.open_table(ENTRIES)?;
        Ok(table.get(key.bytes(&mut [0; 8]))?.map(|found| found.value().len()))
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

struct RedbInside<'t> {
    table: Table<'t, &'static [u8], &'static [u8]>,
}

impl Operations for RedbInside<'_> {
    fn read(&mut self, key: Datum<'_>) -> Result<Option<usize>> {
        Ok(self.table.get(key.bytes(&mut [0; 8]))?.map(|found| found.value().len()))
    }

    fn insert(&mut self, key: Datum<'_>, value: Datum<'_>) -> Result<()> {
        self.table.insert(key.bytes(&mut [0; 8]), value.bytes(&mut [0; 8]))?;
        Ok(())
    }

    fn update(&mut self, key: Datum<'_>, value: Datum<'_>) -> Result<()> {
        self.insert(key, value)
    }

    fn delete(&mut self, key: Datum<'_>) -> Result<()> {
        self.table.remove(key.bytes(&mut [0; 8]))?;
        Ok(())
    }
}
