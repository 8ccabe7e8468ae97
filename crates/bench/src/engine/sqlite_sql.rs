//! SQLite through `rusqlite`, any statement, in write-ahead mode with a sync per commit.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, Row, Statement, ToSql, params_from_iter};

use super::datum::{Cell, Datum, Digest};
use super::sql::{SqlEngine, SqlOptions, SqlSession, SqlStatement};
use crate::Result;

pub struct SqliteSql {
    path: PathBuf,
    options: SqlOptions,
    /// Keeps the log from being written back at the end of a session: that is what closing the database is for.
    kept: std::sync::Mutex<Connection>,
}

impl SqliteSql {
    pub fn open(dir: &Path, options: SqlOptions) -> Result<SqliteSql> {
        let path = dir.join("bench.sqlite");
        let kept = std::sync::Mutex::new(connect(&path, options)?);
        Ok(SqliteSql { path, options, kept })
    }
}

fn connect(path: &Path, options: SqlOptions) -> Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(super::sqlite::BUSY_TIMEOUT)?;
    connection.query_row("PRAGMA journal_mode = WAL", (), |row| row.get::<_, String>(0))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "cache_size", -((options.cache_bytes >> 10) as i64))?;
    if options.checkpoint_bytes > 0 {
        let pages = i64::try_from(options.checkpoint_bytes / 4096)?;
        connection.pragma_update(None, "wal_autocheckpoint", pages)?;
    }
    Ok(connection)
}

impl SqlEngine for SqliteSql {
    fn name(&self) -> &'static str {
        "sqlite"
    }

    fn setting(&self) -> String {
        let cache = self.options.cache_bytes >> 20;
        format!("{}, journal_mode WAL, synchronous FULL, cache {cache} MiB, busy_timeout 120 s", rusqlite::version())
    }

    fn session(&self) -> Result<Box<dyn SqlSession + '_>> {
        Ok(Box::new(SqliteConnection { connection: connect(&self.path, self.options)? }))
    }

    fn clustered(&self) -> &'static str {
        " WITHOUT ROWID"
    }

    fn close(self: Box<Self>) -> Result<()> {
        drop(self.kept);
        Ok(())
    }
}

struct SqliteConnection {
    connection: Connection,
}

impl SqlSession for SqliteConnection {
    fn script(&self, sql: &str) -> Result<()> {
        Ok(self.connection.execute_batch(&translated(sql))?)
    }

    fn prepare<'s>(&'s self, sql: &str) -> Result<Box<dyn SqlStatement + 's>> {
        Ok(Box::new(SqliteStatement { statement: self.connection.prepare(&translated(sql))? }))
    }

    fn transaction(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        let run = |sql: &str| self.connection.prepare_cached(sql)?.execute(());
        run("BEGIN IMMEDIATE")?;
        match work() {
            Ok(()) => Ok(run("COMMIT").map(drop)?),
            Err(error) => {
                // The error that matters is the first.
                let _ = run("ROLLBACK");
                Err(error)
            }
        }
    }
}

/// An integer key is the table's own order only under this spelling, and numbered parameters have another sign. A
/// transaction that will write says so, or it could fail when it does.
pub fn translated(sql: &str) -> Cow<'_, str> {
    match sql {
        "BEGIN" => Cow::Borrowed("BEGIN IMMEDIATE"),
        "BEGIN READ ONLY" => Cow::Borrowed("BEGIN"),
        // Most texts are not copied: their time is SQLite's.
        _ if !sql.contains('$') && !sql.contains("BIGINT PRIMARY KEY") => Cow::Borrowed(sql),
        _ => Cow::Owned(sql.replace("BIGINT PRIMARY KEY", "INTEGER PRIMARY KEY").replace('$', "?")),
    }
}

struct SqliteStatement<'c> {
    statement: Statement<'c>,
}

impl ToSql for Datum<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Datum::Int(int) => ValueRef::Integer(*int),
            Datum::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

impl SqlStatement for SqliteStatement<'_> {
    fn execute(&mut self, params: &[Datum<'_>]) -> Result<u64> {
        Ok(self.statement.execute(params_from_iter(params))? as u64)
    }

    fn query(&mut self, params: &[Datum<'_>]) -> Result<Digest> {
        let columns = self.statement.column_count();
        let mut digest = Digest::default();
        let mut rows = self.statement.query(params_from_iter(params))?;
        while let Some(row) = rows.next()? {
            add_row(&mut digest, row, columns)?;
        }
        Ok(digest)
    }

    fn first(&mut self, params: &[Datum<'_>]) -> Result<Digest> {
        let columns = self.statement.column_count();
        let mut digest = Digest::default();
        if let Some(row) = self.statement.query(params_from_iter(params))?.next()? {
            add_row(&mut digest, row, columns)?;
        }
        Ok(digest)
    }

    fn first_bytes(&mut self, params: &[Datum<'_>]) -> Result<Option<usize>> {
        let mut rows = self.statement.query(params_from_iter(params))?;
        let bytes =
            |row: &Row<'_>| Ok::<_, rusqlite::Error>(row.get_ref(0)?.as_bytes().map_or(size_of::<i64>(), <[u8]>::len));
        Ok(rows.next()?.map(bytes).transpose()?)
    }

    fn rows(&mut self, params: &[Datum<'_>]) -> Result<Vec<Vec<Cell>>> {
        let columns = self.statement.column_count();
        let row = |row: &Row<'_>| (0..columns).map(|at| Ok(cell(row.get_ref(at)?))).collect();
        let found = self.statement.query_map(params_from_iter(params), row)?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }
}

/// Values are lent, not copied.
fn add_row(digest: &mut Digest, row: &Row<'_>, columns: usize) -> Result<()> {
    digest.rows += 1;
    for at in 0..columns {
        match row.get_ref(at)? {
            ValueRef::Integer(int) => digest.add_int(int),
            ValueRef::Real(real) => digest.add_real(real),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => digest.add_bytes(bytes),
            ValueRef::Null => {}
        }
    }
    Ok(())
}

fn cell(value: ValueRef<'_>) -> Cell {
    match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(int) => Cell::Int(int),
        ValueRef::Real(real) => Cell::Real(real),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Cell::Text(String::from_utf8_lossy(bytes).into_owned()),
    }
}
