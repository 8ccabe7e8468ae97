//! How collections are made, opened and indexed from Rust.

use super::Collection;
use super::filter::{Path, relation, wrong};
use super::id::IdKind;
use super::info::CollectionInfo;
use crate::api::{Connection, NonBlocking};
use crate::catalog::collection::DOC;
use crate::catalog::{Catalog, ObjectName, Table};
use crate::{ChangedTable, Error, Jsonb, Result, SqlState};

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
        self.opened(&catalog, known(&catalog, name)?)
    }

    fn opened(&self, catalog: &Catalog, table: &Table) -> Result<Collection<'_>> {
        Ok(Collection::new(self, CollectionInfo::of(table, catalog, self.database().opening())?))
    }

    /// The collection as somebody sees it who comes with these claims: [`Connection::collection`] and [`Collection::for_claims`], looked up together.
    ///
    /// ```
    /// let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// let mut rules = cairndb::Rules::default();
    /// rules.create = Some("doc -> 'owner' = claims -> 'sub'".to_owned());
    /// conn.create_collection("notes")?.set_rules(&rules)?;
    /// let of_ada = conn.collection_for_claims("notes", r#"{"sub": "ada"}"#.parse()?)?;
    /// of_ada.insert(r#"{"owner": "ada"}"#)?;
    /// assert_eq!(of_ada.insert(r#"{"owner": "bob"}"#).unwrap_err().sqlstate().0, "42501");
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// SQLSTATE 42P01: there is no such table. 42809: it is no collection. 42501: it has no rules, so nobody may do anything.
    pub fn collection_for_claims(&self, name: &str, claims: Jsonb) -> Result<Collection<'_>> {
        let catalog = self.catalog()?;
        let table = known(&catalog, name)?;
        self.opened(&catalog, table)?.under(table.rules.clone(), claims)
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

/// What a new collection is to be, for [`Connection::create_collection_with`].
///
/// ```
/// let mut options = cairndb::CollectionOptions::default();
/// options.ids = "bigint".to_owned();
/// assert!(options.change_feed);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CollectionOptions {
    /// The type of its ids: `text`, `uuid` or `bigint`.
    pub ids: String,
    /// It has a change feed.
    pub change_feed: bool,
}

impl Default for CollectionOptions {
    fn default() -> CollectionOptions {
        CollectionOptions { ids: IdKind::Text.name().to_owned(), change_feed: true }
    }
}

impl Connection {
    /// Makes a collection; whether there was none under the name.
    ///
    /// ```
    /// let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// let mut options = cairndb::CollectionOptions::default();
    /// options.ids = "bigint".to_owned();
    /// assert!(conn.create_collection_with("numbered", &options)? && !conn.create_collection_with("numbered", &options)?);
    /// assert_eq!(conn.collection_names()?, ["numbered"]);
    /// conn.drop_collection("numbered")?;
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// SQLSTATE 42P07: there is one whose ids are of another type. 42809: there is a table, which is no collection. 22023: no collection has such ids.
    pub fn create_collection_with(&self, name: &str, options: &CollectionOptions) -> Result<bool> {
        match self.collection(name) {
            Ok(there) if there.id_type() == options.ids => return Ok(false),
            Ok(there) => {
                let message = format!("collection \"{name}\" already exists, with ids of type {}", there.id_type());
                return Err(Error::new(SqlState::DUPLICATE_TABLE, message));
            }
            Err(error) if error.sqlstate() == SqlState::UNDEFINED_TABLE => {}
            Err(error) => return Err(error),
        }
        if !IdKind::ALL.iter().any(|kind| kind.name() == options.ids) {
            return Err(wrong(format!("no collection has ids of type \"{}\"", options.ids))
                .with_hint("There are text, uuid and bigint."));
        }
        let ids = if options.ids == IdKind::Text.name() { String::new() } else { format!("id {}", options.ids) };
        let (table, feed) = (relation(name), if options.change_feed { ", change_feed = on" } else { "" });
        self.execute(&format!("CREATE TABLE {table} ({ids}) WITH (collection = on{feed})"), ())?;
        Ok(true)
    }

    /// Drops a collection, and all that is in it.
    ///
    /// # Errors
    ///
    /// SQLSTATE 42P01: there is no such table. 42809: it is no collection. 2BP01: something else needs it.
    pub fn drop_collection(&self, name: &str) -> Result<()> {
        let collection = self.collection(name)?;
        self.execute(&format!("DROP TABLE {}", collection.info().table()), ()).map(drop)
    }

    /// The collections that there are, as [`Connection::collection`] takes them: those of `public` by their names, others with their schemas.
    pub fn collection_names(&self) -> Result<Vec<String>> {
        let catalog = self.catalog()?;
        let collections = catalog.tables().filter(|table| table.is_collection);
        let name = |table: &Table| match catalog.schema_name(table.schema) {
            Some(schema) if schema != "public" || table.name.contains('.') => format!("{schema}.{}", table.name),
            _ => table.name.clone(),
        };
        let mut names: Vec<String> = collections.map(|table| name(table)).collect();
        names.sort_unstable();
        Ok(names)
    }
}

pub(super) fn known<'t>(catalog: &'t Catalog, name: &str) -> Result<&'t Table> {
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

impl NonBlocking {
    /// A collection, where nothing has to be read to know of it. See [`Connection::collection`].
    pub fn collection(&self, name: &str) -> Option<CollectionInfo> {
        let catalog = self.catalog()?;
        CollectionInfo::of(known(&catalog, name).ok()?, &catalog, self.opening()).ok()
    }
}

impl Collection<'_> {
    /// Its table as its change feed describes it; `None`: it has no feed.
    ///
    /// ```
    /// # let db = cairndb::Database::open_in_memory()?;
    /// # let conn = db.connect()?;
    /// let notes = conn.create_collection("notes")?;
    /// let mut changes = db.changes(None)?;
    /// notes.put("a", "{}")?;
    /// let change = changes.next_change()?.expect("a change");
    /// assert_eq!(Some(change.table().id), notes.changed_table()?.map(|table| table.id));
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn changed_table(&self) -> Result<Option<ChangedTable>> {
        self.connection().changed_table(self.info().table())
    }

    /// Its table as it is now.
    pub(super) fn known<'t>(&self, catalog: &'t Catalog) -> Result<&'t Table> {
        known(catalog, self.info().name())
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
        self.connection().execute(&format!("CREATE {kind} ON {} {of}", self.info().table()), ()).map(drop)
    }
}
