//! What every engine can be asked.
//!
//! Values travel as PostgreSQL's text forms, `None` being NULL, so that answers compare without knowing types.

use std::fmt;

/// A column of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The name that the statement gave it.
    pub name: String,
    /// PostgreSQL's short name of the type (`int4`, `text`); empty where the engine has none.
    pub data_type: String,
}

/// What one statement gave back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Empty for a statement that returns no rows.
    pub columns: Vec<Column>,
    /// One vector per row, as long as `columns`.
    pub rows: Vec<Vec<Option<String>>>,
    /// Rows changed, where the statement counts them.
    pub affected: Option<u64>,
}

/// Why a statement failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Five characters; empty where the engine has none.
    pub sqlstate: String,
    /// The message, for people.
    pub message: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.sqlstate, self.message)
    }
}

/// A connection: runs statements one by one.
pub trait Session {
    /// Runs one statement.
    fn run(&mut self, sql: &str) -> Result<Answer, Failure>;

    /// Runs a COPY .. FROM STDIN whose data this is.
    fn copy_in(&mut self, _sql: &str, _data: &[u8]) -> Result<Answer, Failure> {
        Err(Failure { sqlstate: "0A000".into(), message: "this engine has no COPY".into() })
    }

    /// Runs a COPY .. TO STDOUT: what it says.
    fn copy_out(&mut self, _sql: &str) -> Result<Vec<u8>, Failure> {
        Err(Failure { sqlstate: "0A000".into(), message: "this engine has no COPY".into() })
    }
}

/// A database, empty when made. Its sessions see the same data.
pub trait Engine {
    /// Opens one more connection to this database.
    fn session(&self) -> Result<Box<dyn Session + '_>, Failure>;
}
