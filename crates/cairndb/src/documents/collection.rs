//! A collection on a connection: one document by its id.

use std::cell::RefCell;

use super::by_id::ById;
use super::document::{Document, Written, jsonb};
use super::filter::wrong;
use super::find::Find;
use super::info::CollectionInfo;
use super::patch::patched;
use super::rules::Ruled;
use super::tree::merged;
use crate::api::{Connection, Statement};
use crate::types::{DataType, EvalContext, Jsonb, fit};
use crate::{Params, Result, SqlState, ToValue, Value};

/// A collection of documents: a table of `id`, `doc` and `version`, which SQL sees as it is.
///
/// It is used through a connection, and is in that one's transaction, if one is open. Documents are given as JSON text, or as anything else that
/// becomes a `jsonb`; ids as what the collection has for ids.
///
/// ```
/// let db = cairndb::Database::open_in_memory()?;
/// let conn = db.connect()?;
/// let notes = conn.create_collection("notes")?;
///
/// let written = notes.insert(r#"{"title": "Tides", "tags": ["sea"]}"#)?;
/// let version = notes.update_if(&written.id, r#"{"read": true}"#, written.version)?.expect("nobody was faster");
/// assert_eq!(notes.update_if(&written.id, r#"{"read": false}"#, written.version)?, None);
///
/// let found = notes.find_one(r#"{"read": true, "tags": {"$elemMatch": {"$eq": "sea"}}}"#)?.expect("a note");
/// assert_eq!(found.version, version);
/// assert_eq!(conn.query_row("SELECT count(*) FROM notes WHERE doc ? 'read'", (), |row| row.get::<i64>(0))?, 1);
/// # Ok::<(), cairndb::Error>(())
/// ```
pub struct Collection<'c> {
    connection: &'c Connection,
    info: CollectionInfo,
    /// Of each statement, once it was used.
    kept: [Slot<'c>; ById::COUNT],
    /// Who sees it comes with claims; `None`: all that is there is seen.
    ruled: Option<Ruled<'c>>,
}

/// What [`Collection::upsert`] wrote.
///
/// ```
/// # let conn = cairndb::Database::open_in_memory()?.connect()?;
/// let written = conn.create_collection("notes")?.upsert("a", "{}")?;
/// assert!(written.is_new && written.version > 0);
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Upserted {
    /// The document's version.
    pub version: i64,
    /// There was none under the id.
    pub is_new: bool,
}

/// A statement, from its first use on.
type Slot<'c> = RefCell<Option<Statement<'c>>>;

impl<'c> Collection<'c> {
    pub(super) fn new(connection: &'c Connection, info: CollectionInfo) -> Collection<'c> {
        Collection { connection, info, kept: Default::default(), ruled: None }
    }

    pub(super) fn with_rules(self, ruled: Ruled<'c>) -> Collection<'c> {
        Collection { ruled: Some(ruled), ..self }
    }

    pub(super) fn ruled(&self) -> Option<&Ruled<'c>> {
        self.ruled.as_ref()
    }

    pub(super) fn id_data_type(&self) -> DataType {
        self.info.ids().data_type()
    }

    pub(super) fn connection(&self) -> &'c Connection {
        self.connection
    }

    /// What has to be known of it to name its documents.
    pub fn info(&self) -> &CollectionInfo {
        &self.info
    }

    /// The id whose one form as text this is; `None`: no document of the collection can have it.
    ///
    /// ```
    /// # let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// conn.execute("CREATE TABLE numbered (id bigint) WITH (collection = on)", ())?;
    /// let numbered = conn.collection("numbered")?;
    /// assert_eq!(numbered.id("7"), Some(cairndb::Value::BigInt(7)));
    /// assert!(numbered.id("07").is_none() && numbered.id("x").is_none());
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn id(&self, text: &str) -> Option<Value> {
        self.info.id(text)
    }

    /// The name of its ids' type: `text`, `uuid` or `bigint`.
    ///
    /// ```
    /// # let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// assert_eq!(conn.create_collection("notes")?.id_type(), "text");
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn id_type(&self) -> &'static str {
        self.info.id_type()
    }

    /// A text that no other state of a document of this collection, or of one that had its name before, has under the same id: an ETag, without
    /// quotes.
    ///
    /// ```
    /// # let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// let notes = conn.create_collection("notes")?;
    /// let version = notes.put("a", "{}")?;
    /// let etag = notes.etag(version);
    /// assert_eq!(notes.version_of(&etag), Some(version));
    /// assert_eq!(notes.version_of("1-1-1"), None);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn etag(&self, version: i64) -> String {
        self.info().etag(version)
    }

    /// The version that it names; `None`: it names a state of something else.
    pub fn version_of(&self, etag: &str) -> Option<i64> {
        self.info().version_of(etag)
    }

    /// Runs a statement that is prepared once.
    fn with<R>(&self, what: ById, run: impl FnOnce(&mut Statement<'c>) -> Result<R>) -> Result<R> {
        self.with_text(&self.kept[what as usize], || what.sql(self.info.table()), run)
    }

    /// The same of a text.
    pub(super) fn with_text<R>(
        &self,
        slot: &Slot<'c>,
        sql: impl FnOnce() -> String,
        run: impl FnOnce(&mut Statement<'c>) -> Result<R>,
    ) -> Result<R> {
        let mut slot = slot.borrow_mut();
        match &mut *slot {
            Some(statement) => run(statement),
            none => run(none.insert(self.connection.prepare(&sql())?)),
        }
    }

    /// The document of an id.
    pub fn get(&self, id: impl ToValue) -> Result<Option<Document>> {
        if let Some(ruled) = &self.ruled {
            return self.get_under(ruled, &id);
        }
        self.with(ById::Get, |statement| statement.query_point((id,), ById::document)?.transpose())
    }

    /// A new document, with an id that it gets.
    ///
    /// # Errors
    ///
    /// SQLSTATE 22P02: it is no JSON. 23502: the collection gives no ids. What constraints and triggers of the table say.
    pub fn insert(&self, doc: impl ToValue) -> Result<Written> {
        if let Some(ruled) = &self.ruled {
            return self.insert_under(ruled, None, &doc);
        }
        self.with(ById::Insert, |statement| written(statement, (doc,)))
    }

    /// A new document under this id. SQLSTATE 23505 where there is one.
    ///
    /// ```
    /// # let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// let notes = conn.create_collection("notes")?;
    /// notes.insert_as("a", "{}")?;
    /// assert_eq!(notes.insert_as("a", "{}").unwrap_err().sqlstate().0, "23505");
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn insert_as(&self, id: impl ToValue, doc: impl ToValue) -> Result<Written> {
        if let Some(ruled) = &self.ruled {
            return self.insert_under(ruled, Some(&id), &doc);
        }
        self.with(ById::InsertAs, |statement| written(statement, (id, doc)))
    }

    /// New documents, as one statement: all of them, or none. How many they are.
    ///
    /// ```
    /// # let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// let notes = conn.create_collection("notes")?;
    /// assert_eq!(notes.insert_many((0..100).map(|n| format!(r#"{{"n": {n}}}"#)))?, 100);
    /// assert_eq!(notes.find(r#"{"n": {"$gte": 90}}"#).count()?, 10);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn insert_many<D: ToValue>(&self, docs: impl IntoIterator<Item = D>) -> Result<u64> {
        if let Some(ruled) = &self.ruled {
            return self.insert_many_under(ruled, docs.into_iter().map(|doc| (None, doc)));
        }
        self.append_docs(docs)
    }

    /// The same under ids that are said: all of them, or none. SQLSTATE 23505 where one is there.
    ///
    /// ```
    /// # let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// let notes = conn.create_collection("notes")?;
    /// assert_eq!(notes.insert_many_as([("a", "{}"), ("b", "[]")])?, 2);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn insert_many_as<I: ToValue, D: ToValue>(&self, docs: impl IntoIterator<Item = (I, D)>) -> Result<u64> {
        if let Some(ruled) = &self.ruled {
            let docs = docs.into_iter().map(|(id, doc)| Ok((Some(self.id_value(&id)?), doc)));
            return self.insert_many_under(ruled, docs.collect::<Result<Vec<_>>>()?);
        }
        self.append_entries(docs)
    }

    pub(super) fn append_docs<D: ToValue>(&self, docs: impl IntoIterator<Item = D>) -> Result<u64> {
        self.connection.append(self.info.name(), &["doc"], docs.into_iter().map(|doc| (doc,)))
    }

    pub(super) fn append_entries<I: ToValue, D: ToValue>(
        &self,
        entries: impl IntoIterator<Item = (I, D)>,
    ) -> Result<u64> {
        self.connection.append(self.info.name(), &["id", "doc"], entries)
    }

    /// A document under this id, new or in place of the one that is there; its version.
    ///
    /// ```
    /// # let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// let notes = conn.create_collection("notes")?;
    /// assert_eq!((notes.put("a", "{}")?, notes.put("a", "[]")?), (1, 2));
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn put(&self, id: impl ToValue, doc: impl ToValue) -> Result<i64> {
        if let Some(ruled) = &self.ruled {
            return self.upsert_under(ruled, &id, &doc).map(|written| written.version);
        }
        self.with(ById::Put, |statement| Ok(written(statement, (id, doc))?.version))
    }

    /// As [`put`](Collection::put), and tells whether the document is new.
    ///
    /// ```
    /// # let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// let notes = conn.create_collection("notes")?;
    /// assert!(notes.upsert("a", "{}")?.is_new && !notes.upsert("a", "[]")?.is_new);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn upsert(&self, id: impl ToValue, doc: impl ToValue) -> Result<Upserted> {
        if let Some(ruled) = &self.ruled {
            return self.upsert_under(ruled, &id, &doc);
        }
        let (id, doc) = (id.to_value(), doc.to_value());
        let mut attempt = 0;
        loop {
            if let Some(version) = self.replace(id, doc)? {
                return Ok(Upserted { version, is_new: false });
            }
            attempt += 1;
            match self.insert_as(id, doc) {
                // Somebody was faster, or it is unique in something else: that is told once more.
                Err(error) if error.sqlstate() == SqlState::UNIQUE_VIOLATION && attempt < ById::UPSERT_ATTEMPTS => {}
                written => return Ok(Upserted { version: written?.version, is_new: true }),
            }
        }
    }

    /// Another document in place of the one that is there; its version. `None`: there is none.
    pub fn replace(&self, id: impl ToValue, doc: impl ToValue) -> Result<Option<i64>> {
        if let Some(ruled) = &self.ruled {
            let doc = to_jsonb(&doc)?;
            return self.change_under(ruled, (&id, None), |_| Ok(doc.clone()));
        }
        self.with(ById::Replace, |statement| version(statement, (id, doc)))
    }

    /// The same, if the one that is there has this version. `None`: it has not, or there is none.
    ///
    /// ```
    /// # let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// let notes = conn.create_collection("notes")?;
    /// let first = notes.put("a", "{}")?;
    /// let second = notes.replace_if("a", "[1]", first)?.expect("it was so");
    /// assert_eq!(notes.replace_if("a", "[2]", first)?, None);
    /// // Versions grow; a number may be left out.
    /// assert!(notes.replace("a", "[3]")? > Some(second));
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn replace_if(&self, id: impl ToValue, doc: impl ToValue, version: i64) -> Result<Option<i64>> {
        if let Some(ruled) = &self.ruled {
            let doc = to_jsonb(&doc)?;
            return self.change_under(ruled, (&id, Some(version)), |_| Ok(doc.clone()));
        }
        self.with(ById::ReplaceIf, |statement| self::version(statement, (id, doc, version)))
    }

    /// Changes parts of a document by a merge patch (RFC 7396); its version. `None`: there is none.
    ///
    /// The patch is of the document as it is read here, whoever writes it besides: who is faster makes this read again.
    ///
    /// ```
    /// # let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// let notes = conn.create_collection("notes")?;
    /// notes.put("a", r#"{"title": "Tides", "draft": true}"#)?;
    /// notes.update("a", r#"{"draft": null, "by": {"name": "Ada"}}"#)?;
    /// let note = notes.get("a")?.expect("it is there");
    /// assert_eq!(note.doc.to_string(), r#"{"by": {"name": "Ada"}, "title": "Tides"}"#);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn update(&self, id: impl ToValue, patch: impl ToValue) -> Result<Option<i64>> {
        let patch = to_jsonb(&patch)?;
        self.change(&id, None, |doc| merged(doc, &patch))
    }

    /// The same, if the document has this version. `None`: it has not, or there is none.
    pub fn update_if(&self, id: impl ToValue, patch: impl ToValue, version: i64) -> Result<Option<i64>> {
        let patch = to_jsonb(&patch)?;
        self.change(&id, Some(version), |doc| merged(doc, &patch))
    }

    /// Changes parts of a document by a JSON patch (RFC 6902), all that it says or nothing; its version. `None`: there is none.
    ///
    /// ```
    /// # let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// let notes = conn.create_collection("notes")?;
    /// notes.put("a", r#"{"tags": ["sea"]}"#)?;
    /// notes.patch("a", r#"[{"op": "add", "path": "/tags/-", "value": "moon"}]"#)?;
    /// assert_eq!(notes.get("a")?.expect("it is there").doc.to_string(), r#"{"tags": ["sea", "moon"]}"#);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// SQLSTATE 22023: it is no patch, or names what is not there. 22000: what it tests is not so.
    pub fn patch(&self, id: impl ToValue, patch: impl ToValue) -> Result<Option<i64>> {
        let patch = to_jsonb(&patch)?;
        self.change(&id, None, |doc| patched(doc, &patch))
    }

    /// The same, if the document has this version. `None`: it has not, or there is none.
    ///
    /// ```
    /// # let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// let notes = conn.create_collection("notes")?;
    /// let version = notes.put("a", r#"{"n": 1}"#)?;
    /// assert_eq!(notes.patch_if("a", r#"[{"op": "remove", "path": "/n"}]"#, version - 1)?, None);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn patch_if(&self, id: impl ToValue, patch: impl ToValue, version: i64) -> Result<Option<i64>> {
        let patch = to_jsonb(&patch)?;
        self.change(&id, Some(version), |doc| patched(doc, &patch))
    }

    /// Writes what `make` makes of the document, on condition that it still is the one that was read; somebody else has changed it whenever that
    /// fails, so some of those who try this at once come through.
    fn change(
        &self,
        id: &dyn ToValue,
        version: Option<i64>,
        make: impl Fn(&Jsonb) -> Result<Jsonb>,
    ) -> Result<Option<i64>> {
        if let Some(ruled) = &self.ruled {
            return self.change_under(ruled, (id, version), make);
        }
        let mut tried = None;
        loop {
            let Some(now) = self.get(id)? else { return Ok(None) };
            if version.is_some_and(|version| version != now.version) {
                return Ok(None);
            }
            if tried.replace(now.version) == Some(now.version) {
                return Err(ById::left_out());
            }
            if let Some(written) = self.replace_if(id, make(&now.doc)?, now.version)? {
                return Ok(Some(written));
            }
        }
    }

    /// Whether there was a document of this id.
    ///
    /// ```
    /// # let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// let notes = conn.create_collection("notes")?;
    /// notes.put("a", "{}")?;
    /// assert_eq!((notes.delete("a")?, notes.delete("a")?), (true, false));
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn delete(&self, id: impl ToValue) -> Result<bool> {
        if let Some(ruled) = &self.ruled {
            return self.delete_under(ruled, (&id, None));
        }
        self.with(ById::Delete, |statement| Ok(statement.execute((id,))? > 0))
    }

    /// The same, of one that has this version.
    pub fn delete_if(&self, id: impl ToValue, version: i64) -> Result<bool> {
        if let Some(ruled) = &self.ruled {
            return self.delete_under(ruled, (&id, Some(version)));
        }
        self.with(ById::DeleteIf, |statement| Ok(statement.execute((id, version))? > 0))
    }

    /// The documents that a filter finds: `{}` finds all. See [`Find`].
    pub fn find(&self, filter: &str) -> Find<'_> {
        let under = self.ruled.as_ref().map(|ruled| &ruled.under);
        Find::new(self.connection, (self.info.table(), self.info.ids()), under, filter)
    }

    /// One of them, that of the least id.
    pub fn find_one(&self, filter: &str) -> Result<Option<Document>> {
        self.find(filter).one()
    }
}

fn written(statement: &mut Statement<'_>, params: impl Params) -> Result<Written> {
    let written = statement.query_point(params, ById::written)?;
    written.unwrap_or_else(|| Err(ById::left_out()))
}

fn version(statement: &mut Statement<'_>, params: impl Params) -> Result<Option<i64>> {
    statement.query_point(params, |row| row.get(0))?.transpose()
}

fn to_jsonb(value: &impl ToValue) -> Result<Jsonb> {
    match fit(value.to_value(), DataType::Jsonb, &EvalContext::default())? {
        Value::Null => Err(wrong("NULL is no document, and no patch")),
        value => jsonb(value),
    }
}
