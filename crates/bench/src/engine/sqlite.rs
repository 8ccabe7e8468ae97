//! SQLite through `rusqlite`, in write-ahead mode with a sync per commit.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Statement, params};

use super::{Engine, Session, Work};
use crate::Result;
use crate::rows::{RANGE, digest, text};

/// Longer than any round: a waiting thread should wait, not fail.
pub const BUSY_TIMEOUT: Duration = Duration::from_secs(120);

pub struct Sqlite {
    path: PathBuf,
}

impl Sqlite {
    pub fn open(dir: &Path) -> Result<Sqlite> {
        let sqlite = Sqlite { path: dir.join("bench.sqlite") };
        sqlite
            .connect()?
            .execute_batch("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER NOT NULL, v TEXT NOT NULL)")?;
        Ok(sqlite)
    }

    fn connect(&self) -> Result<Connection> {
        let connection = Connection::open(&self.path)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.query_row("PRAGMA journal_mode = WAL", (), |row| row.get::<_, String>(0))?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        // As much as CairnDB's page cache.
        connection.pragma_update(None, "cache_size", -262_144)?;
        Ok(connection)
    }
}

impl Engine for Sqlite {
    fn name(&self) -> &'static str {
        "sqlite"
    }

    fn setting(&self) -> String {
        format!("{}, journal_mode WAL, synchronous FULL, cache 256 MiB, busy_timeout 120 s", rusqlite::version())
    }

    fn with_session(&self, work: Work<'_>) -> Result<()> {
        let connection = self.connect()?;
        let upsert = "INSERT INTO t VALUES (?1, ?2, ?3) ON CONFLICT (id) DO UPDATE SET n = excluded.n, v = excluded.v";
        work(&mut SqliteSession {
            begin: connection.prepare("BEGIN IMMEDIATE")?,
            commit: connection.prepare("COMMIT")?,
            insert: connection.prepare("INSERT INTO t VALUES (?1, ?2, ?3)")?,
            update: connection.prepare("UPDATE t SET n = ?1 WHERE id = ?2")?,
            upsert: connection.prepare(upsert)?,
            read: connection.prepare("SELECT n, v FROM t WHERE id = ?1")?,
            range: connection.prepare(&format!("SELECT id, n, v FROM t WHERE id >= ?1 ORDER BY id LIMIT {RANGE}"))?,
        })
    }

    /// Every connection is closed with its session, the last one having written the log back.
    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

struct SqliteSession<'c> {
    begin: Statement<'c>,
    commit: Statement<'c>,
    insert: Statement<'c>,
    update: Statement<'c>,
    upsert: Statement<'c>,
    read: Statement<'c>,
    range: Statement<'c>,
}

impl Session for SqliteSession<'_> {
    fn load(&mut self, keys: Range<i64>) -> Result<()> {
        self.begin.execute(())?;
        for key in keys {
            self.insert.execute(params![key, key, text(key)])?;
        }
        self.commit.execute(())?;
        Ok(())
    }

    fn insert(&mut self, key: i64) -> Result<()> {
        self.insert.execute(params![key, key, text(key)])?;
        Ok(())
    }

    fn update(&mut self, key: i64, number: i64) -> Result<()> {
        self.update.execute(params![number, key])?;
        Ok(())
    }

    fn upsert(&mut self, key: i64, number: i64) -> Result<()> {
        self.upsert.execute(params![key, number, text(key)])?;
        Ok(())
    }

    fn read(&mut self, key: i64) -> Result<Option<u64>> {
        // The text is lent, not copied.
        let read = |row: &rusqlite::Row<'_>| Ok(digest(row.get(0)?, row.get_ref(1)?.as_bytes()?.len()));
        Ok(self.read.query_row([key], read).optional()?)
    }

    fn read_range(&mut self, key: i64) -> Option<Result<u64>> {
        Some(self.sum_range(key))
    }
}

impl SqliteSession<'_> {
    fn sum_range(&mut self, key: i64) -> Result<u64> {
        let (mut rows, mut sum) = (self.range.query([key])?, 0);
        while let Some(row) = rows.next()? {
            let text = row.get_ref(2)?.as_bytes()?.len();
            sum += row.get::<_, i64>(0)? as u64 + digest(row.get(1)?, text);
        }
        Ok(sum)
    }
}
