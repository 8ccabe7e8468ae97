//! CairnDB through its public SQL API.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::Path;

use cairndb::{Connection, Database, Statement, Ticket, ValueRef};

use super::{Engine, Session, Work};
use crate::Result;
use crate::rows::{RANGE, digest, text};

pub struct Cairn {
    db: Database,
}

impl Cairn {
    pub fn open(dir: &Path) -> Result<Cairn> {
        let db = Database::open(dir.join("bench.cairn"))?;
        db.connect()?.execute("CREATE TABLE t (id BIGINT PRIMARY KEY, n BIGINT NOT NULL, v TEXT NOT NULL)", ())?;
        Ok(Cairn { db })
    }
}

impl Engine for Cairn {
    fn name(&self) -> &'static str {
        "cairndb"
    }

    fn setting(&self) -> String {
        let method = self.db.sync_method().map_or_else(String::new, |method| format!(", {method:?}"));
        format!("durability full (the default){method}")
    }

    fn with_session(&self, work: Work<'_>) -> Result<()> {
        let connection = self.db.connect()?;
        let upsert = "INSERT INTO t VALUES ($1, $2, $3) ON CONFLICT (id) DO UPDATE SET n = excluded.n, v = excluded.v";
        work(&mut CairnSession {
            insert: connection.prepare("INSERT INTO t VALUES ($1, $2, $3)")?,
            update: connection.prepare("UPDATE t SET n = $1 WHERE id = $2")?,
            upsert: connection.prepare(upsert)?,
            read: connection.prepare("SELECT n, v FROM t WHERE id = $1")?,
            range: connection.prepare(&format!("SELECT id, n, v FROM t WHERE id >= $1 ORDER BY id LIMIT {RANGE}"))?,
            connection: &connection,
        })
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(self.db.close()?)
    }
}

struct CairnSession<'c> {
    connection: &'c Connection,
    insert: Statement<'c>,
    update: Statement<'c>,
    upsert: Statement<'c>,
    read: Statement<'c>,
    range: Statement<'c>,
}

impl Session for CairnSession<'_> {
    fn load(&mut self, keys: Range<i64>) -> Result<()> {
        self.connection.execute("BEGIN", ())?;
        for key in keys {
            self.insert.execute((key, key, text(key)))?;
        }
        self.connection.execute("COMMIT", ())?;
        Ok(())
    }

    fn insert(&mut self, key: i64) -> Result<()> {
        self.insert.execute((key, key, text(key)))?;
        Ok(())
    }

    fn update(&mut self, key: i64, number: i64) -> Result<()> {
        self.update.execute((number, key))?;
        Ok(())
    }

    fn upsert(&mut self, key: i64, number: i64) -> Result<()> {
        self.upsert.execute((key, number, text(key)))?;
        Ok(())
    }

    fn read(&mut self, key: i64) -> Result<Option<u64>> {
        let read = |row: cairndb::RowRef<'_>| Some(digest(row.get_i64(0)?, row.get_str(1)?.len()));
        Ok(self.read.query_point((key,), read)?.flatten())
    }

    fn read_range(&mut self, key: i64) -> Option<Result<u64>> {
        Some(self.sum_range(key))
    }

    fn pipeline(&mut self, keys: &mut dyn Iterator<Item = i64>, window: usize) -> Option<Result<()>> {
        Some(self.update_all(keys, window))
    }
}

impl CairnSession<'_> {
    fn sum_range(&mut self, key: i64) -> Result<u64> {
        let integer = |value: ValueRef<'_>| match value {
            ValueRef::BigInt(value) => value,
            _ => 0,
        };
        let (mut rows, mut sum) = (self.range.query((key,))?, 0);
        while let Some(row) = rows.next()? {
            let text = row.get_str(2).map_or(0, str::len);
            sum += integer(row.value_ref(0)) as u64 + digest(integer(row.value_ref(1)), text);
        }
        Ok(sum)
    }

    fn update_all(&mut self, keys: &mut dyn Iterator<Item = i64>, window: usize) -> Result<()> {
        let mut waiting: VecDeque<Ticket> = VecDeque::with_capacity(window + 1);
        for (number, key) in keys.enumerate() {
            waiting.push_back(self.update.execute_async((number as i64, key))?);
            if waiting.len() > window
                && let Some(oldest) = waiting.pop_front()
            {
                oldest.wait()?;
            }
        }
        waiting.into_iter().try_for_each(|ticket| ticket.wait().map(drop))?;
        Ok(())
    }
}
