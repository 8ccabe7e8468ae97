//! What the workloads in SQL ask of an engine.
//!
//! Statements are written in PostgreSQL's dialect, with `$1` for parameters; an engine whose dialect differs translates
//! when it prepares. Every write is durable when it returns, unless its ticket says that it is still to be waited for.

use std::path::Path;

use super::datum::{Cell, Datum, Digest};
use crate::Result;

/// What can be chosen when a SQL database is opened.
#[derive(Debug, Clone, Copy)]
pub struct SqlOptions {
    /// Memory for pages.
    pub cache_bytes: usize,
    /// Bytes of log after which the engine writes it back to the database by itself.
    pub checkpoint_bytes: u64,
}

impl Default for SqlOptions {
    fn default() -> SqlOptions {
        // Both as CairnDB has them by default; SQLite keeps its own default of 1,000 pages (see `Sqlite`).
        SqlOptions { cache_bytes: 256 << 20, checkpoint_bytes: 0 }
    }
}

/// What a thread does with its connection.
pub type SqlWork<'w> = &'w mut dyn FnMut(&dyn SqlSession) -> Result<()>;

/// An open SQL database.
pub trait SqlEngine: Send + Sync {
    fn name(&self) -> &'static str;

    /// What makes it durable, and what else was set.
    fn setting(&self) -> String;

    /// Opens a connection. Called by many threads at once.
    fn session(&self) -> Result<Box<dyn SqlSession + '_>>;

    /// Opens a connection and hands it to `work`.
    fn connect(&self, work: SqlWork<'_>) -> Result<()> {
        work(&*self.session()?)
    }

    /// Whether [`SqlStatement::execute_later`] returns before the commit is durable.
    fn pipelines(&self) -> bool {
        false
    }

    /// What to write after a table's columns, so that its rows lie in the order of a key of several columns.
    fn clustered(&self) -> &'static str {
        ""
    }

    /// Counters that the engine keeps of its own work, since it was opened.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// Closes the database as the engine wants it closed, so that its files have their final size.
    fn close(self: Box<Self>) -> Result<()>;
}

/// One thread's connection.
pub trait SqlSession {
    /// Runs statements separated by semicolons.
    fn script(&self, sql: &str) -> Result<()>;

    fn prepare<'s>(&'s self, sql: &str) -> Result<Box<dyn SqlStatement + 's>>;

    /// Does `work` in one transaction by the quickest way that the engine offers, durable when this returns. `work` runs
    /// again where another transaction got in the way, if the engine's own interface would have it so.
    fn transaction(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        self.script("BEGIN")?;
        match work() {
            Ok(()) => self.script("COMMIT"),
            Err(error) => {
                // The error that matters is the first.
                let _ = self.script("ROLLBACK");
                Err(error)
            }
        }
    }

    /// Adds rows, their values as texts, by a way that the engine has for many. `None`: it has none besides INSERT.
    fn append(&self, _table: &str, _rows: &mut dyn Iterator<Item = Vec<String>>) -> Option<Result<()>> {
        None
    }
}

/// A prepared statement.
pub trait SqlStatement {
    /// Runs it; the number of rows changed.
    fn execute(&mut self, params: &[Datum<'_>]) -> Result<u64>;

    /// Runs it without waiting until the commit is durable, where the engine can. `None`: it is durable already.
    fn execute_later(&mut self, params: &[Datum<'_>]) -> Result<Option<cairndb::Ticket>> {
        self.execute(params).map(|_| None)
    }

    /// Reads every value of every row.
    fn query(&mut self, params: &[Datum<'_>]) -> Result<Digest>;

    /// Reads every value of the first row by the quickest way that the engine offers.
    fn first(&mut self, params: &[Datum<'_>]) -> Result<Digest>;

    /// The bytes of the first row's only value, 8 for an integer; `None`: no row.
    fn first_bytes(&mut self, params: &[Datum<'_>]) -> Result<Option<usize>>;

    /// All rows, to be compared.
    fn rows(&mut self, params: &[Datum<'_>]) -> Result<Vec<Vec<Cell>>>;
}

/// Whether CairnDB failed because another transaction got in the way; the other engines wait for each other.
pub fn is_conflict(error: &crate::Error) -> bool {
    let ours = error.downcast_ref::<cairndb::Error>();
    ours.is_some_and(|error| error.sqlstate() == cairndb::SqlState::SERIALIZATION_FAILURE)
}

/// A SQL engine that can be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SqlKind {
    Cairn,
    Sqlite,
    #[cfg(feature = "turso")]
    Turso,
    #[cfg(feature = "duckdb")]
    Duckdb,
}

impl SqlKind {
    /// All that were built.
    pub const ALL: &[SqlKind] = &[
        SqlKind::Cairn,
        SqlKind::Sqlite,
        #[cfg(feature = "turso")]
        SqlKind::Turso,
        #[cfg(feature = "duckdb")]
        SqlKind::Duckdb,
    ];

    /// Those made for many small transactions.
    pub const OF_TRANSACTIONS: &[SqlKind] = &[
        SqlKind::Cairn,
        SqlKind::Sqlite,
        #[cfg(feature = "turso")]
        SqlKind::Turso,
    ];

    /// Those whose faults and loads are compared too (a kill, a cache that is too small, many writers at a rate).
    pub const OF_LOADS: &[SqlKind] = &[SqlKind::Cairn, SqlKind::Sqlite];

    /// Those whose queries over many rows are compared.
    pub const OF_QUERIES: &[SqlKind] = &[
        SqlKind::Cairn,
        SqlKind::Sqlite,
        #[cfg(feature = "duckdb")]
        SqlKind::Duckdb,
    ];

    pub fn name(self) -> &'static str {
        match self {
            SqlKind::Cairn => "cairndb",
            SqlKind::Sqlite => "sqlite",
            #[cfg(feature = "turso")]
            SqlKind::Turso => "turso",
            #[cfg(feature = "duckdb")]
            SqlKind::Duckdb => "duckdb",
        }
    }

    /// Opens the database in this folder, or makes one.
    pub fn open(self, dir: &Path, options: SqlOptions) -> Result<Box<dyn SqlEngine>> {
        Ok(match self {
            SqlKind::Cairn => Box::new(super::cairn_sql::CairnSql::open(dir, options)?),
            SqlKind::Sqlite => Box::new(super::sqlite_sql::SqliteSql::open(dir, options)?),
            #[cfg(feature = "turso")]
            SqlKind::Turso => Box::new(super::turso::Turso::open(dir, options)?),
            #[cfg(feature = "duckdb")]
            SqlKind::Duckdb => Box::new(super::duckdb::Duckdb::open(dir, options)?),
        })
    }
}
