//! What a salvage found, as data and in words.

use std::fmt;
use std::path::PathBuf;

use crate::verify::DanglingReferences;

/// What a salvage saved, and what it could not.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// # let (path, saved) = (folder.path().join("damaged.cairn"), folder.path().join("saved.cairn"));
/// # let made = cairndb::Database::open(&path)?;
/// # made.connect()?.execute_script("CREATE TABLE t (a int PRIMARY KEY); INSERT INTO t SELECT generate_series(1, 5000)")?;
/// # made.close()?;
/// # let mut bytes = std::fs::read(&path).unwrap();
/// # // A leaf of the table: rows of a page in the middle of the file are gone.
/// # let at = bytes.len() / 4096 / 2 * 4096 + 2000;
/// # bytes[at] ^= 1;
/// # std::fs::write(&path, bytes).unwrap();
/// let report = cairndb::salvage(&path, &saved)?;
/// for table in &report.tables {
///     println!("{}: {} rows saved", table.name, table.rows);
/// }
/// for lost in &report.lost {
///     println!("lost: {lost}");
/// }
/// for dangling in &report.dangling {
///     println!("they refer to lost ones: {dangling}");
/// }
/// if let Some(uncertain) = &report.uncertain {
///     println!("what may or may not be live is in {}", uncertain.path.display());
/// }
/// assert_eq!(report.is_complete(), report.lost.is_empty());
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Salvaged {
    /// What is in the new database.
    pub tables: Vec<SavedTable>,
    /// Rows that are missing.
    pub lost: Vec<LostRows>,
    /// What is missing besides, each in words: definitions, and rows of tables whose definition is lost.
    pub lost_besides: Vec<String>,
    /// Foreign keys whose rows refer to rows that are missing.
    pub dangling: Vec<DanglingReferences>,
    /// Rows of which it can not be told whether they were deleted, or never committed, and rows that can not be right.
    pub uncertain: Option<UncertainFile>,
    /// What else is to be known, a sentence each: of the log, of definitions, statistics and sequences.
    pub notes: Vec<String>,
    /// Damaged pages whose content was known from elsewhere: nothing of them is lost.
    pub pages_replaced: u64,
}

impl Salvaged {
    /// Whether every row was saved, and nothing is in doubt.
    pub fn is_complete(&self) -> bool {
        let is_lost = !self.lost.is_empty() || !self.lost_besides.is_empty();
        !is_lost && self.dangling.is_empty() && self.uncertain.is_none() && self.notes.is_empty()
    }
}

/// A table in the new database.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// # let (path, saved) = (folder.path().join("damaged.cairn"), folder.path().join("saved.cairn"));
/// # let made = cairndb::Database::open(&path)?;
/// # made.connect()?.execute_script("CREATE TABLE t (a int PRIMARY KEY); INSERT INTO t SELECT generate_series(1, 5000)")?;
/// # made.close()?;
/// let table = &cairndb::salvage(&path, &saved)?.tables[0];
/// assert_eq!((table.name.as_str(), table.rows, table.indexes.len()), ("t", 5000, 0));
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SavedTable {
    /// Its name.
    pub name: String,
    /// Its rows.
    pub rows: u64,
    /// Its indexes, which were made anew.
    pub indexes: Vec<String>,
}

/// Rows of a table that are missing.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// # let (path, saved) = (folder.path().join("damaged.cairn"), folder.path().join("saved.cairn"));
/// # let made = cairndb::Database::open(&path)?;
/// # made.connect()?.execute_script("CREATE TABLE t (a int PRIMARY KEY); INSERT INTO t SELECT generate_series(1, 5000)")?;
/// # made.close()?;
/// # let mut bytes = std::fs::read(&path).unwrap();
/// # // A leaf of the table: rows of a page in the middle of the file are gone.
/// # let at = bytes.len() / 4096 / 2 * 4096 + 2000;
/// # bytes[at] ^= 1;
/// # std::fs::write(&path, bytes).unwrap();
/// for lost in cairndb::salvage(&path, &saved)?.lost {
///     println!("{}: by ({}), since {}", lost.table, lost.columns.join(", "), lost.why);
/// }
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LostRows {
    /// Its name.
    pub table: String,
    /// The columns of its key; `row number` for a table without primary key, whose rows are numbered as they come.
    pub columns: Vec<String>,
    /// Which rows.
    pub what: LostWhat,
    /// Why they are lost.
    pub why: String,
}

/// Which rows are missing, by key. Values are in their text form.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// # let (path, saved) = (folder.path().join("damaged.cairn"), folder.path().join("saved.cairn"));
/// # let made = cairndb::Database::open(&path)?;
/// # made.connect()?.execute_script("CREATE TABLE t (a int PRIMARY KEY); INSERT INTO t SELECT generate_series(1, 5000)")?;
/// # made.close()?;
/// # let mut bytes = std::fs::read(&path).unwrap();
/// # // A leaf of the table: rows of a page in the middle of the file are gone.
/// # let at = bytes.len() / 4096 / 2 * 4096 + 2000;
/// # bytes[at] ^= 1;
/// # std::fs::write(&path, bytes).unwrap();
/// use cairndb::salvage::LostWhat;
///
/// for lost in cairndb::salvage(&path, &saved)?.lost {
///     match lost.what {
///         LostWhat::Between(after, before) => println!("all rows between {after:?} and {before:?}"),
///         LostWhat::SomeBetween(after, before) => println!("some rows between {after:?} and {before:?}"),
///         LostWhat::Row(key) => println!("the row {key:?}"),
///     }
/// }
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LostWhat {
    /// All rows between two that were saved; `None`: from the first, up to the last.
    Between(Option<Vec<String>>, Option<Vec<String>>),
    /// Some rows between those two.
    SomeBetween(Option<Vec<String>>, Option<Vec<String>>),
    /// The row of this key.
    Row(Vec<String>),
}

impl fmt::Display for LostRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = format!("({})", self.columns.join(", "));
        let is = |values: &Vec<String>| format!("({})", values.join(", "));
        write!(f, "{}: ", self.table)?;
        match &self.what {
            LostWhat::Row(values) => write!(f, "the row {columns} = {}", is(values))?,
            LostWhat::Between(after, before) | LostWhat::SomeBetween(after, before) => {
                f.write_str(if matches!(self.what, LostWhat::Between(..)) { "all rows" } else { "some rows" })?;
                match (after, before) {
                    (None, None) => {}
                    (Some(after), None) => write!(f, " with {columns} > {}", is(after))?,
                    (None, Some(before)) => write!(f, " with {columns} < {}", is(before))?,
                    (Some(after), Some(before)) => write!(f, " with {} < {columns} < {}", is(after), is(before))?,
                }
            }
        }
        write!(f, " ({})", self.why)
    }
}

/// Where the uncertain rows are: a database with a table for each that has some, of the same name and columns, without
/// constraints, and with columns that say why a row is there.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// # let (path, saved) = (folder.path().join("damaged.cairn"), folder.path().join("saved.cairn"));
/// # let made = cairndb::Database::open(&path)?;
/// # made.connect()?.execute_script("CREATE TABLE t (a int PRIMARY KEY); INSERT INTO t SELECT generate_series(1, 5000)")?;
/// # made.close()?;
/// # let mut bytes = std::fs::read(&path).unwrap();
/// # // A leaf of the table: rows of a page in the middle of the file are gone.
/// # let at = bytes.len() / 4096 / 2 * 4096 + 2000;
/// # bytes[at] ^= 1;
/// # std::fs::write(&path, bytes).unwrap();
/// if let Some(uncertain) = cairndb::salvage(&path, &saved)?.uncertain {
///     for (table, rows) in uncertain.tables {
///         println!("{rows} rows of {table} in {}", uncertain.path.display());
///     }
/// }
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UncertainFile {
    /// The database.
    pub path: PathBuf,
    /// Its tables, and how many rows are in each. In `salvage_unknown` are the bytes of those that belong to no table that is
    /// known, of definitions too.
    pub tables: Vec<(String, u64)>,
}

/// How far a salvage is.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// # let (path, saved) = (folder.path().join("damaged.cairn"), folder.path().join("saved.cairn"));
/// # let made = cairndb::Database::open(&path)?;
/// # made.connect()?.execute_script("CREATE TABLE t (a int PRIMARY KEY); INSERT INTO t SELECT generate_series(1, 5000)")?;
/// # made.close()?;
/// use cairndb::salvage::{SalvageProgress, salvage_with_progress};
///
/// salvage_with_progress(&path, &saved, |step| {
///     if let SalvageProgress::Pages(read, of) = step {
///         assert!(read <= of.max(read));
///     }
/// })?;
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SalvageProgress {
    /// Pages of the damaged file read so far, and how many it has. Where much is damaged it is read several times.
    Pages(u64, u64),
    /// The rows of a table are being checked, its indexes made.
    Table(String),
    /// Foreign keys are being checked.
    References,
}
