//! What a statement did.

use super::Rows;
use crate::plan::Field;
use crate::{Result, Value};

/// What a statement did: from [`Statement::perform`](crate::Statement::perform) and [`Connection::perform`](crate::Connection::perform).
///
/// ```
/// let conn = cairndb::Database::open_in_memory()?.connect()?;
/// conn.execute("CREATE TABLE t (id int)", ())?;
/// let mut done = conn.perform("INSERT INTO t VALUES (1), (2)", ())?;
/// assert_eq!((done.command(), done.affected()), ("INSERT", 2));
/// assert!(done.take_rows().is_none(), "it returns no rows");
/// # Ok::<(), cairndb::Error>(())
/// ```
pub struct Executed {
    /// PostgreSQL's command tag, without counts.
    pub(crate) tag: &'static str,
    pub(crate) affected: u64,
    pub(crate) rows: Option<Rows>,
}

impl Executed {
    pub(crate) fn tag(tag: &'static str) -> Executed {
        Executed { tag, affected: 0, rows: None }
    }

    pub(crate) fn rows(tag: &'static str, rows: Rows) -> Executed {
        Executed { tag, affected: 0, rows: Some(rows) }
    }

    /// What EXPLAIN answers.
    pub(crate) fn explained((fields, rows): (Vec<Field>, Vec<Vec<Value>>)) -> Result<Executed> {
        Ok(Executed::rows("EXPLAIN", Rows::buffered(fields, rows)))
    }

    /// The first words of PostgreSQL's command tag: `INSERT`, `SELECT`, `CREATE TABLE`.
    pub fn command(&self) -> &'static str {
        self.tag
    }

    /// How many rows the statement inserted, updated, deleted, moved over or copied.
    pub fn affected(&self) -> u64 {
        self.affected
    }

    /// The rows, where the statement returns rows (perhaps none).
    pub fn take_rows(&mut self) -> Option<Rows> {
        self.rows.take()
    }
}
