//! Turso through its own crate, any statement, in write-ahead mode with a sync per commit.
//!
//! Its API is asynchronous and does its input and output within the poll, so a poll that is not ready is repeated at
//! once, on the calling thread.

use std::future::Future;
use std::path::Path;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use turso::{Builder, Connection, Database, Row, Statement, Value};

use super::datum::{Cell, Datum, Digest};
use super::sql::{SqlEngine, SqlOptions, SqlSession, SqlStatement};
use super::sqlite::BUSY_TIMEOUT;
use super::sqlite_sql::translated;
use crate::Result;

pub struct Turso {
    db: Database,
    options: SqlOptions,
}

impl Turso {
    pub fn open(dir: &Path, options: SqlOptions) -> Result<Turso> {
        let path = dir.join("bench.turso");
        let path = path.to_str().ok_or("Turso takes paths in UTF-8 only")?;
        Ok(Turso { db: wait(Builder::new_local(path).build())?, options })
    }
}

/// Polls until it is ready.
fn wait<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
    }
}

impl SqlEngine for Turso {
    fn name(&self) -> &'static str {
        "turso"
    }

    fn setting(&self) -> String {
        format!("write-ahead log, synchronous FULL, cache {} MiB, busy_timeout 120 s", self.options.cache_bytes >> 20)
    }

    fn session(&self) -> Result<Box<dyn SqlSession + '_>> {
        let connection = self.db.connect()?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        wait(connection.pragma_update("synchronous", "FULL"))?;
        wait(connection.pragma_update("cache_size", -((self.options.cache_bytes >> 10) as i64)))?;
        Ok(Box::new(TursoConnection { connection }))
    }

    fn close(self: Box<Self>) -> Result<()> {
        // Writes the log back, as SQLite does when its last connection is closed.
        let connection = self.db.connect()?;
        wait(connection.pragma_query("wal_checkpoint", |_| Ok(())))?;
        Ok(())
    }
}

struct TursoConnection {
    connection: Connection,
}

impl SqlSession for TursoConnection {
    fn script(&self, sql: &str) -> Result<()> {
        Ok(wait(self.connection.execute_batch(translated(sql)))?)
    }

    fn prepare<'s>(&'s self, sql: &str) -> Result<Box<dyn SqlStatement + 's>> {
        Ok(Box::new(TursoStatement { statement: wait(self.connection.prepare(translated(sql)))? }))
    }
}

struct TursoStatement {
    statement: Statement,
}

fn values(params: &[Datum<'_>]) -> Vec<Value> {
    let value = |param: &Datum<'_>| match param {
        Datum::Int(int) => Value::Integer(*int),
        Datum::Text(text) => Value::Text(text.to_string()),
    };
    params.iter().map(value).collect()
}

impl TursoStatement {
    /// Calls `each` with the rows until it has had enough, and ends the statement: it would hold its snapshot.
    fn each_row(&mut self, params: &[Datum<'_>], mut each: impl FnMut(Row) -> Result<bool>) -> Result<()> {
        let mut rows = wait(self.statement.query(values(params)))?;
        while let Some(row) = wait(rows.next())? {
            if !each(row)? {
                break;
            }
        }
        Ok(self.statement.reset()?)
    }
}

impl SqlStatement for TursoStatement {
    fn execute(&mut self, params: &[Datum<'_>]) -> Result<u64> {
        Ok(wait(self.statement.execute(values(params)))?)
    }

    fn query(&mut self, params: &[Datum<'_>]) -> Result<Digest> {
        let mut digest = Digest::default();
        self.each_row(params, |row| add_row(&mut digest, &row).map(|()| true))?;
        Ok(digest)
    }

    fn first(&mut self, params: &[Datum<'_>]) -> Result<Digest> {
        let mut digest = Digest::default();
        self.each_row(params, |row| add_row(&mut digest, &row).map(|()| false))?;
        Ok(digest)
    }

    fn first_bytes(&mut self, params: &[Datum<'_>]) -> Result<Option<usize>> {
        let mut bytes = None;
        self.each_row(params, |row| {
            bytes = Some(match row.get_value(0)? {
                Value::Text(text) => text.len(),
                Value::Blob(blob) => blob.len(),
                _ => size_of::<i64>(),
            });
            Ok(false)
        })?;
        Ok(bytes)
    }

    fn rows(&mut self, params: &[Datum<'_>]) -> Result<Vec<Vec<Cell>>> {
        let mut found = Vec::new();
        self.each_row(params, |row| {
            let cells = (0..row.column_count()).map(|at| Ok(cell(row.get_value(at)?)));
            found.push(cells.collect::<Result<_>>()?);
            Ok(true)
        })?;
        Ok(found)
    }
}

fn add_row(digest: &mut Digest, row: &Row) -> Result<()> {
    digest.rows += 1;
    for at in 0..row.column_count() {
        match row.get_value(at)? {
            Value::Integer(int) => digest.add_int(int),
            Value::Real(real) => digest.add_real(real),
            Value::Text(text) => digest.add_bytes(text.as_bytes()),
            Value::Blob(blob) => digest.add_bytes(&blob),
            Value::Null => {}
        }
    }
    Ok(())
}

fn cell(value: Value) -> Cell {
    match value {
        Value::Null => Cell::Null,
        Value::Integer(int) => Cell::Int(int),
        Value::Real(real) => Cell::Real(real),
        Value::Text(text) => Cell::Text(text),
        Value::Blob(blob) => Cell::Text(String::from_utf8_lossy(&blob).into_owned()),
    }
}
