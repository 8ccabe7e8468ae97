//! A SQLite database in memory.

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use super::{Answer, Column, Engine, Failure, Session};

/// An empty SQLite database in memory, with one connection per session (so: one session).
#[derive(Default)]
pub struct SqliteEngine;

impl Engine for SqliteEngine {
    fn session(&self) -> Result<Box<dyn Session + '_>, Failure> {
        let connection = Connection::open_in_memory().map_err(failure)?;
        connection.execute_batch("PRAGMA foreign_keys = ON; PRAGMA case_sensitive_like = ON").map_err(failure)?;
        Ok(Box::new(SqliteSession { connection }))
    }
}

struct SqliteSession {
    connection: Connection,
}

impl Session for SqliteSession {
    fn run(&mut self, sql: &str) -> Result<Answer, Failure> {
        let mut statement = self.connection.prepare(sql).map_err(failure)?;
        let column = |name: &str| Column { name: name.to_owned(), data_type: String::new() };
        let columns: Vec<Column> = statement.column_names().into_iter().map(column).collect();
        let mut rows = Vec::new();
        let mut found = statement.query([]).map_err(failure)?;
        while let Some(row) = found.next().map_err(failure)? {
            let value = |index| row.get_ref(index).map(text).map_err(failure);
            rows.push((0..columns.len()).map(value).collect::<Result<Vec<_>, _>>()?);
        }
        Ok(Answer { columns, rows, affected: Some(self.connection.changes()) })
    }
}

fn text(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Text(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        ValueRef::Blob(bytes) => Some(format!("\\x{}", hex(bytes))),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn failure(error: rusqlite::Error) -> Failure {
    Failure { sqlstate: String::new(), message: error.to_string() }
}
