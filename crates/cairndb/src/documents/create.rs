//! How collections are made, opened and indexed from Rust.

use super::Collection;
use super::filter::{Path, relation};
use super::id::IdKind;
use crate::api::Connection;
use crate::catalog::collection::{DOC, ID};
use crate::catalog::{Catalog, ObjectName, Table};
use crate::{Error, Result, SqlState};

impl Connection {
    /// A collection of documents: `name`, or `schema.name`, as they are stored.
    ///
    /// ```
    /// let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// conn.execute("CREATE TABLE notes (id bigint) WITH (collection = on)", ())?;
    /// let notes = conn.collection("notes")?;
    /// notes.put(7, r#"{"title": "Tides"}"#)?;
    /// assert_eq!(conn.query_row("SELECT doc ->> 'title' FROM notes", (), |row| row.get::<String>(0))?, "Tides");
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// SQLSTATE 42P01: there is no such table. 42809: it is no collection.
    pub fn collection(&self, name: &str) -> Result<Collection<'_>> {
        let catalog = self.catalog()?;
        let table = known(&catalog, name)?;
        let schema = catalog.schema_name(table.schema).unwrap_or_default();
        Ok(Collection::new(self, [schema, &table.name], ids_of(table)?))
    }

    /// Makes a collection whose ids are texts, with a change feed; one that there is under the name stays as it is. What else a collection can
    /// be is said by `CREATE TABLE .. WITH (collection = on)`.
    ///
    /// ```
    /// let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// let notes = conn.create_collection("notes")?;
    /// let written = notes.insert(r#"{"title": "Tides", "tags": ["sea"]}"#)?;
    /// assert_eq!(written.version, 1);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn create_collection(&self, name: &str) -> Result<Collection<'_>> {
        let table = relation(name);
        self.execute(&format!("CREATE TABLE IF NOT EXISTS {table} () WITH (collection = on, change_feed = on)"), ())?;
        self.collection(name)
    }
}

fn known<'t>(catalog: &'t Catalog, name: &str) -> Result<&'t Table> {
    let asked = match name.split_once('.') {
        Some((schema, name)) => ObjectName::new(Some(schema), name),
        None => ObjectName::new(None, name),
    };
    let found = catalog.relation(&asked).ok_or_else(|| Error::undefined_relation(name))?;
    found.table().filter(|table| table.is_collection).map(|table| &**table).ok_or_else(|| {
        Error::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a collection"))
            .with_hint("ALTER TABLE ... SET (collection = on) makes one of a table of id, doc and version.")
    })
}

fn ids_of(table: &Table) -> Result<IdKind> {
    let id = table.columns.iter().find(|column| column.name == ID);
    id.and_then(|id| IdKind::of(id.data_type)).ok_or_else(|| Error::internal("a collection without ids"))
}

impl Collection<'_> {
    /// Its table as it is now.
    pub(super) fn known<'t>(&self, catalog: &'t Catalog) -> Result<&'t Table> {
        known(catalog, self.name())
    }

    /// An index over what documents have at a path: filters and orders by it need not look at all documents.
    ///
    /// ```
    /// # let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// let people = conn.create_collection("people")?;
    /// people.create_index("address.city")?;
    /// people.create_unique_index("email")?;
    /// people.insert(r#"{"email": "a@b.c"}"#)?;
    /// assert_eq!(people.insert(r#"{"email": "a@b.c"}"#).unwrap_err().sqlstate().0, "23505");
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn create_index(&self, path: &str) -> Result<()> {
        self.index("INDEX", &format!("({})", Path::parse(path)?.sql(DOC)))
    }

    /// The same, where no two documents may have the same there. (Of those that have nothing there may be many.)
    pub fn create_unique_index(&self, path: &str) -> Result<()> {
        self.index("UNIQUE INDEX", &format!("({})", Path::parse(path)?.sql(DOC)))
    }

    /// An index over the elements of arrays at a path, for `{"path": {"$elemMatch": {"$eq": value}}}`.
    ///
    /// ```
    /// # let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// let notes = conn.create_collection("notes")?;
    /// notes.create_elements_index("tags")?;
    /// notes.insert(r#"{"tags": ["sea", "moon"]}"#)?;
    /// assert_eq!(notes.find(r#"{"tags": {"$elemMatch": {"$eq": "moon"}}}"#).count()?, 1);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn create_elements_index(&self, path: &str) -> Result<()> {
        self.index("INDEX", &format!("USING gin ({} jsonb_path_ops)", Path::parse(path)?.sql(DOC)))
    }

    fn index(&self, kind: &str, of: &str) -> Result<()> {
        self.connection().execute(&format!("CREATE {kind} ON {} {of}", self.table()), ()).map(drop)
    }
}
