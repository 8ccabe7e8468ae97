//! How much room tables and indexes take.

use super::Database;
use crate::Result;
use crate::catalog::load;

/// What a table or an index takes in the database.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// conn.execute_script("CREATE TABLE t (a int PRIMARY KEY, b text); CREATE INDEX by_b ON t (b); INSERT INTO t VALUES (1, 'x')")?;
/// let sizes = db.sizes()?;
/// let index = sizes.iter().find(|size| size.name == "by_b").expect("the index");
/// assert_eq!((index.index_of.as_deref(), index.rows, index.pages), (Some("t"), 1, 1));
/// assert!(index.bytes > 0 && index.fill > 0.0 && index.schema == "public");
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RelationSize {
    /// The schema that it is in.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// The table that it is an index of. A primary key is none: its table's rows lie in its order.
    pub index_of: Option<String>,
    /// Rows of the table, or entries of the index.
    pub rows: u64,
    /// Pages, those of long values included.
    pub pages: u64,
    /// Bytes of these pages.
    pub bytes: u64,
    /// The share of the pages of keys and values that is in use, from 0 to 1.
    pub fill: f64,
}

impl Database {
    /// How much room every table and index takes, each table before its indexes. All of the database is read.
    ///
    /// ```
    /// let database = cairndb::Database::open_in_memory()?;
    /// database.connect()?.execute_script("CREATE TABLE t (a int PRIMARY KEY); INSERT INTO t VALUES (1), (2)")?;
    /// let sizes = database.sizes()?;
    /// assert_eq!((sizes[0].name.as_str(), sizes[0].rows, sizes[0].pages), ("t", 2, 1));
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn sizes(&self) -> Result<Vec<RelationSize>> {
        let store = &self.shared.store;
        let catalog = load(store.snapshot()?.reader())?;
        let mut sizes = Vec::new();
        for table in catalog.tables() {
            let schema = catalog.schema_name(table.schema).unwrap_or_default();
            let mut add = |name: &str, index_of: Option<&str>, tree| -> Result<()> {
                let size = store.tree_size(tree)?;
                sizes.push(RelationSize {
                    schema: schema.to_owned(),
                    name: name.to_owned(),
                    index_of: index_of.map(str::to_owned),
                    rows: size.entries,
                    pages: size.pages,
                    bytes: size.bytes,
                    fill: size.fill(),
                });
                Ok(())
            };
            add(&table.name, None, table.tree)?;
            for index in &table.indexes {
                add(&index.name, Some(&table.name), index.tree)?;
            }
        }
        Ok(sizes)
    }
}
