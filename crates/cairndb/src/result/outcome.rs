//! What one statement of a script did.

use super::Rows;
use crate::notice::Notice;
use crate::plan::Field;

/// Given to the callback of [`Connection::run`](crate::Connection::run) for every statement that succeeded.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// let mut tags = Vec::new();
/// conn.run("CREATE TABLE t (a int); INSERT INTO t VALUES (1), (2); SELECT a FROM t", |outcome| {
///     if let Some(rows) = outcome.rows() {
///         while let Some(row) = rows.next()? {
///             println!("{}", row.get::<i32>("a")?);
///         }
///     }
///     assert_eq!(outcome.returns_rows(), outcome.statement().starts_with("SELECT"));
///     assert!(outcome.notices().is_empty() && outcome.affected() <= 2 && outcome.columns().len() <= 1);
///     tags.push(outcome.tag());
///     Ok(())
/// })?;
/// assert_eq!(tags, ["CREATE TABLE", "INSERT 0 2", "SELECT 2"]);
/// # Ok::<(), cairndb::Error>(())
/// ```
pub struct Outcome<'a> {
    pub(crate) statement: &'a str,
    pub(crate) tag: &'static str,
    pub(crate) affected: u64,
    pub(crate) rows: Option<Rows>,
    pub(crate) notices: Vec<Notice>,
}

impl Outcome<'_> {
    /// The statement's text.
    pub fn statement(&self) -> &str {
        self.statement
    }

    /// The result's columns; empty where the statement returns no rows.
    pub fn columns(&self) -> &[Field] {
        self.rows.as_ref().map_or(&[], Rows::columns)
    }

    /// The rows, where the statement returns rows.
    pub fn rows(&mut self) -> Option<&mut Rows> {
        self.rows.as_mut()
    }

    /// Ends the query where it is: rows that nobody reads are not made, and that they could be is not looked at. A
    /// statement that changes rows has changed them all before its first row comes.
    ///
    /// ```
    /// let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// conn.run("SELECT n FROM generate_series(1, 1000000000000) AS n", |outcome| {
    ///     let first = outcome.rows().map(|rows| rows.next().map(|row| row.is_some()));
    ///     assert!(first.is_some_and(|found| found.is_ok_and(|found| found)));
    ///     outcome.leave_rows();
    ///     Ok(())
    /// })?;
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn leave_rows(&mut self) {
        self.rows = None;
    }

    /// Whether the statement returns rows (perhaps none).
    pub fn returns_rows(&self) -> bool {
        self.rows.is_some()
    }

    /// How many rows the statement inserted, updated or deleted.
    pub fn affected(&self) -> u64 {
        self.affected
    }

    /// PostgreSQL's command tag: `INSERT 0 3`, `UPDATE 2`, `CREATE TABLE`. For a SELECT it counts the rows taken so far.
    pub fn tag(&self) -> String {
        command_tag(self.tag, self.affected, self.rows.as_ref().map(Rows::count_so_far))
    }

    /// Warnings and notices of this statement.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }
}

/// PostgreSQL's tag of a statement that is done: of what [`Executed`](crate::Executed) says of it, and how many rows were given, if it gives
/// rows.
///
/// ```
/// assert_eq!(cairndb::command_tag("INSERT", 2, None), "INSERT 0 2");
/// assert_eq!(cairndb::command_tag("SELECT", 0, Some(3)), "SELECT 3");
/// assert_eq!(cairndb::command_tag("SHOW", 0, Some(1)), "SHOW");
/// ```
pub fn command_tag(command: &str, affected: u64, rows: Option<u64>) -> String {
    match command {
        "INSERT" => format!("INSERT 0 {affected}"),
        "UPDATE" | "DELETE" | "MERGE" | "FETCH" | "MOVE" | "COPY" => format!("{command} {affected}"),
        "SELECT" => format!("SELECT {}", rows.unwrap_or(affected)),
        other => other.to_owned(),
    }
}
