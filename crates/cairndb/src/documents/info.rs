//! What a collection is called, and how its documents are named: all that has to be known of it where its statements are run elsewhere.
//!
//! A version comes once in a collection, in one opening of the database ([`crate::Position`]): after a crash that took commits of a weak mode, numbers may come
//! again. A collection that is dropped and made again begins anew. So a state is named for good by the opening, the table and the version.

use cairn_parser::token::quoted;

use super::id::IdKind;
use crate::catalog::collection::ID;
use crate::catalog::{Catalog, ObjectId, Table};
use crate::{Error, Result, Value};

/// A collection as it was found: what it is called, and how its documents are named.
///
/// ```
/// # let conn = cairndb::Database::open_in_memory()?.connect()?;
/// let notes = conn.create_collection("notes")?;
/// let info = notes.info().clone();
/// let version = notes.put("a", "{}")?;
/// assert_eq!(info.version_of(&info.etag(version)), Some(version));
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CollectionInfo {
    /// As SQL has it, with its schema.
    table: String,
    /// The same, as `append` has it.
    name: String,
    number: u32,
    ids: IdKind,
    has_rules: bool,
    /// That of the database.
    opening: String,
}

impl CollectionInfo {
    pub(super) fn of(table: &Table, catalog: &Catalog, opening: String) -> Result<CollectionInfo> {
        let schema = catalog.schema_name(table.schema).unwrap_or_default();
        let id = table.columns.iter().find(|column| column.name == ID).and_then(|id| IdKind::of(id.data_type));
        let ObjectId(number) = table.id;
        Ok(CollectionInfo {
            table: format!("{}.{}", quoted(schema), quoted(&table.name)),
            name: format!("{schema}.{}", table.name),
            number,
            ids: id.ok_or_else(|| Error::internal("a collection without ids"))?,
            has_rules: !table.rules.is_empty(),
            opening,
        })
    }

    /// As [`Connection::collection`](crate::Connection::collection) takes it: with its schema.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// As SQL has it: with its schema, and quoted where it has to be.
    pub fn table(&self) -> &str {
        &self.table
    }

    /// Whether it had [rules](crate::Rules) when it was found.
    ///
    /// ```
    /// # let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// assert!(!conn.create_collection("notes")?.info().has_rules());
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn has_rules(&self) -> bool {
        self.has_rules
    }

    /// Whether this is its table.
    pub(super) fn is_of(&self, table: &Table) -> bool {
        table.id == ObjectId(self.number)
    }

    pub(super) fn ids(&self) -> IdKind {
        self.ids
    }

    /// See [`Collection::id`](super::Collection::id).
    pub fn id(&self, text: &str) -> Option<Value> {
        self.ids.of_text(text).filter(|_| !text.contains('\0'))
    }

    /// See [`Collection::id_type`](super::Collection::id_type).
    pub fn id_type(&self) -> &'static str {
        self.ids.name()
    }

    /// See [`Collection::etag`](super::Collection::etag).
    pub fn etag(&self, version: i64) -> String {
        format!("{}-{:x}-{version}", self.opening, self.number)
    }

    /// See [`Collection::version_of`](super::Collection::version_of).
    pub fn version_of(&self, etag: &str) -> Option<i64> {
        let version: i64 = etag.rsplit_once('-')?.1.parse().ok()?;
        (self.etag(version) == etag).then_some(version)
    }
}
