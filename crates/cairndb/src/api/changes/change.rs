//! What a change is, as its consumer sees it.

use std::sync::Arc;

use super::super::{Position, Row};
use crate::catalog::{Column, ObjectId, Table, TableLayout};
use crate::plan::Field;
use crate::{Result, Value};

/// What a change is.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// use cairndb::ChangeKind;
///
/// conn.execute("CREATE TABLE task (id int PRIMARY KEY) WITH (change_feed = on)", ())?;
/// let mut changes = db.changes(Some(conn.change_token()?))?;
/// conn.execute_script("INSERT INTO task VALUES (1); DELETE FROM task; TRUNCATE task")?;
/// let kinds = [(); 3].map(|()| changes.next_change().ok().flatten().map(|change| change.kind()));
/// assert_eq!(kinds, [ChangeKind::Insert, ChangeKind::Delete, ChangeKind::Truncate].map(Some));
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangeKind {
    /// A row came.
    Insert,
    /// A row is another, under the same key. One whose key changes is told as deleted, then inserted.
    Update,
    /// A row went.
    Delete,
    /// All rows went at once.
    Truncate,
    /// The table has other columns, another key or another name from here on: [`Change::table`] has them. Rows that stay as they
    /// are stored have [`ChangeColumn::missing`] in columns that came; others are told as [`ChangeKind::Rewrite`].
    Alter,
    /// All rows are written anew because the table was altered: each follows as [`ChangeKind::Rewrite`]. Who keeps rows by key
    /// takes them all out first: keys may be others'.
    Rewriting,
    /// The row was written anew because the table was altered: with other values, or under another key. Old and new rows have the
    /// columns from before and after that.
    Rewrite,
    /// The table is told of from here on: its rows are those of this position.
    Begin,
    /// The table is told of no more.
    End,
    /// The table was dropped.
    Drop,
}

/// A table, as it was when something changed.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// conn.execute("CREATE TABLE task (id int PRIMARY KEY, title text) WITH (change_feed = on)", ())?;
/// let mut changes = db.changes(None)?;
/// conn.execute("INSERT INTO task VALUES (1, 'told')", ())?;
/// let change = changes.next_change()?.expect("a change");
/// let table = change.table();
/// assert_eq!((table.schema.as_str(), table.name.as_str()), ("public", "task"));
/// assert_eq!(table.columns[table.primary_key[0]].name, "id");
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ChangedTable {
    /// Names the table for the life of the database, whatever it is called.
    pub id: u32,
    /// The schema that it is in; empty where that is gone.
    pub schema: String,
    /// What it was called.
    pub name: String,
    /// In order.
    pub columns: Vec<ChangeColumn>,
    /// Positions of the primary key's columns; none: rows are told apart by [`Change::old_key`] and [`Change::new_key`] alone.
    pub primary_key: Vec<usize>,
    fields: Vec<Field>,
    layout: TableLayout,
    /// The positions of columns that rows have: of virtual ones nothing is told.
    told: Vec<usize>,
}

/// A column of a table.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// conn.execute("CREATE TABLE task (id int PRIMARY KEY) WITH (change_feed = on)", ())?;
/// let mut changes = db.changes(None)?;
/// conn.execute("ALTER TABLE task ADD done boolean NOT NULL DEFAULT false", ())?;
/// conn.execute("INSERT INTO task VALUES (1)", ())?;
/// let mut last = changes.next_change()?.expect("a change");
/// while last.new_row().is_none() {
///     last = changes.next_change()?.expect("a change");
/// }
/// let column = &last.table().columns[1];
/// // What rows have in it that were there before it was.
/// assert_eq!((column.name.as_str(), &column.missing), ("done", &cairndb::Value::Boolean(false)));
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ChangeColumn {
    /// Names the column for the life of the table, whatever it is called.
    pub number: u32,
    /// What it was called.
    pub name: String,
    /// The value that rows have in it which were there before it came.
    pub missing: Value,
}

/// One change of a commit.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// conn.execute("CREATE TABLE task (id int PRIMARY KEY, title text) WITH (change_feed = on)", ())?;
/// conn.execute("INSERT INTO task VALUES (1, 'begin')", ())?;
/// let mut changes = db.changes(Some(conn.change_token()?))?;
/// conn.execute("UPDATE task SET title = 'end' WHERE id = 1", ())?;
/// let change = changes.next_change()?.expect("a change");
/// assert_eq!(change.kind(), cairndb::ChangeKind::Update);
/// assert_eq!(change.old().expect("it was there").get::<String>("title")?, "begin");
/// assert_eq!(change.new_row().expect("it is there").get::<String>("title")?, "end");
/// assert_eq!(change.old_key(), change.new_key());
/// assert_eq!(change.old_table().id, change.table().id);
/// assert!(change.is_last() && change.position() <= conn.position().expect("a commit"));
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Change {
    pub(super) kind: ChangeKind,
    pub(super) table: Arc<ChangedTable>,
    pub(super) old_table: Arc<ChangedTable>,
    pub(super) position: Position,
    pub(super) is_last: bool,
    pub(super) old: Option<(Box<[u8]>, Vec<Value>)>,
    pub(super) new: Option<(Box<[u8]>, Vec<Value>)>,
}

impl Change {
    /// What it is.
    pub fn kind(&self) -> ChangeKind {
        self.kind
    }

    /// The table, as it is from this change on.
    pub fn table(&self) -> &ChangedTable {
        &self.table
    }

    /// The table, as the old row has it; for [`ChangeKind::Alter`] as it was before (or as it is, where the types that it had
    /// are gone).
    pub fn old_table(&self) -> &ChangedTable {
        &self.old_table
    }

    /// The position of the commit: the same for all of its changes, greater than those of commits before.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Whether it is the last of its commit.
    pub fn is_last(&self) -> bool {
        self.is_last
    }

    /// The row as it was, where there was one.
    pub fn old(&self) -> Option<Row<'_>> {
        self.old.as_ref().map(|(_, values)| Row::new(&self.old_table.fields, values))
    }

    /// The row as it is, where there is one.
    pub fn new_row(&self) -> Option<Row<'_>> {
        self.new.as_ref().map(|(_, values)| Row::new(&self.table.fields, values))
    }

    /// Bytes that tell the old row from all others of its table.
    pub fn old_key(&self) -> Option<&[u8]> {
        self.old.as_ref().map(|(key, _)| &**key)
    }

    /// Bytes that tell the new row from all others of its table.
    pub fn new_key(&self) -> Option<&[u8]> {
        self.new.as_ref().map(|(key, _)| &**key)
    }
}

impl ChangedTable {
    pub(super) fn of(table: Table, schema: String) -> ChangedTable {
        let layout = TableLayout::new(&table);
        let missing = |at: usize| layout.stored_columns().iter().position(|&stored| stored == at);
        let told: Vec<usize> = (0..table.columns.len()).filter(|&at| !table.columns[at].is_virtual).collect();
        let columns = told.iter().map(|&at| (at, &table.columns[at])).map(|(at, column)| ChangeColumn {
            number: column.number,
            name: column.name.clone(),
            missing: missing(at).map_or(Value::Null, |place| layout.missing_value(place)),
        });
        let field = |column: &Column| Field { name: column.name.clone(), data_type: column.data_type };
        let ObjectId(id) = table.id;
        ChangedTable {
            id,
            schema,
            columns: columns.collect(),
            primary_key: table.row_key().iter().filter_map(|part| told.binary_search(&part.column).ok()).collect(),
            fields: told.iter().map(|&at| field(&table.columns[at])).collect(),
            layout,
            told,
            name: table.name,
        }
    }

    pub(super) fn row(&self, key: &[u8], row: &[u8]) -> Result<Vec<Value>> {
        let mut row = self.layout.decode(key, row)?;
        if row.len() != self.told.len() {
            row = self.told.iter().map(|&at| std::mem::replace(&mut row[at], Value::Null)).collect();
        }
        Ok(row)
    }
}
