//! Collections of documents.

use std::fmt;

use cairndb::internals::ById;
use cairndb::{
    CollectionInfo, Connection, Document, Jsonb, Params, Result, RowRef, SqlState, ToValue, Upserted, Written,
};

use crate::database::{Database, settled};
use crate::shared::owned;

/// A longer document is read as JSON by the threads that do what takes longer: it would keep others from the one that asks.
const INLINE_BYTES: usize = 64 << 10;

/// A collection of documents: see [`cairndb::Collection`].
///
/// It is what was found under its name. Where that is dropped, what is done by it fails as any statement about the table would; where a collection of
/// other ids takes the name, ids and ETags of this are none of that one's.
///
/// ```
/// # let work = async {
/// # let db = cairndb_async::Database::open_in_memory().await?;
/// let notes = db.create_collection("notes").await?;
/// let written = notes.insert(r#"{"title": "Tides"}"#).await?;
/// notes.call(move |notes| notes.update(&written.id, r#"{"read": true}"#)).await?;
/// let found = notes.call(|notes| notes.find_one(r#"{"read": true}"#)).await?.expect("a note");
/// assert_eq!(found.doc.to_string(), r#"{"read": true, "title": "Tides"}"#);
/// # Ok::<(), cairndb::Error>(())
/// # };
/// # pollster::block_on(work).unwrap();
/// ```
#[derive(Clone)]
pub struct Collection {
    database: Database,
    info: CollectionInfo,
    /// Who sees it comes with them, and what he asks is done where rules are asked.
    claims: Option<Jsonb>,
}

impl fmt::Debug for Collection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Collection({})", self.info.table())
    }
}

impl Database {
    /// A collection of documents: see [`cairndb::Connection::collection`].
    ///
    /// ```
    /// # let work = async {
    /// # let db = cairndb_async::Database::open_in_memory().await?;
    /// db.execute("CREATE TABLE notes (id bigint) WITH (collection = on)", ()).await?;
    /// let notes = db.collection("notes").await?;
    /// assert_eq!(notes.info().id_type(), "bigint");
    /// assert!(notes.upsert(7, r#"{"title": "Tides"}"#).await?.is_new);
    /// # Ok::<(), cairndb::Error>(())
    /// # };
    /// # pollster::block_on(work).unwrap();
    /// ```
    pub async fn collection(&self, name: &str) -> Result<Collection> {
        let info = match self.known_collection(name) {
            Some(info) => info,
            None => {
                let name = name.to_owned();
                self.call(move |connection| connection.collection(&name).map(|found| found.info().clone())).await?
            }
        };
        Ok(Collection { database: self.clone(), info, claims: None })
    }

    /// Makes a collection, or finds it: see [`cairndb::Connection::create_collection`].
    pub async fn create_collection(&self, name: &str) -> Result<Collection> {
        let name = name.to_owned();
        let made = move |connection: &Connection| connection.create_collection(&name).map(|made| made.info().clone());
        let info = self.call(made).await?;
        Ok(Collection { database: self.clone(), info, claims: None })
    }
}

/// Who comes with claims goes another way: rules are asked by the library's collection, on a thread that does what takes longer, of values that outlast
/// the call (those before the `;`).
macro_rules! by_rules {
    ($self:ident.$method:ident($($value:ident),* $(; $version:ident)?)) => {
        if $self.claims.is_some() {
            $(let $value = $value.to_value().to_value();)*
            return $self.call(move |collection| collection.$method($(&$value,)* $($version)?)).await;
        }
    };
}

/// What is done with one document is one statement by its key, and mostly done where it is asked (see the [crate]); a future of a write is ready once
/// that is durable.
impl Collection {
    /// What has to be known of it to name its documents.
    pub fn info(&self) -> &CollectionInfo {
        &self.info
    }

    /// The collection as somebody sees it who comes with these claims: see [`cairndb::Collection::for_claims`]. What the rules are is looked up by each
    /// call.
    ///
    /// ```
    /// # let work = async {
    /// # let db = cairndb_async::Database::open_in_memory().await?;
    /// let notes = db.create_collection("notes").await?;
    /// notes.insert_as("a", "{}").await?;
    /// let of_ada = notes.for_claims(r#"{"sub": "ada"}"#.parse()?);
    /// assert_eq!(of_ada.get("a").await.unwrap_err().sqlstate().0, "42501", "no rule lets anybody do that");
    /// # Ok::<(), cairndb::Error>(())
    /// # };
    /// # pollster::block_on(work).unwrap();
    /// ```
    #[must_use]
    pub fn for_claims(self, claims: Jsonb) -> Collection {
        Collection { claims: Some(claims), ..self }
    }

    /// The document of an id.
    ///
    /// ```
    /// # let work = async {
    /// # let db = cairndb_async::Database::open_in_memory().await?;
    /// let notes = db.create_collection("notes").await?;
    /// notes.insert_as("a", "{}").await?;
    /// assert_eq!(notes.get("a").await?.map(|note| note.version), Some(1));
    /// # Ok::<(), cairndb::Error>(())
    /// # };
    /// # pollster::block_on(work).unwrap();
    /// ```
    pub async fn get(&self, id: impl ToValue) -> Result<Option<Document>> {
        if let Some(claims) = &self.claims
            && let Some(found) = self.database.at_once(|one| one.get_for_claims(&self.info, claims, &id))
        {
            return found.transpose();
        }
        by_rules!(self.get(id));
        let sql = ById::Get.sql(self.info.table());
        self.database.query_point(&sql, (id,), ById::document).await?.transpose()
    }

    /// A new document, with an id that it gets: see [`cairndb::Collection::insert`].
    pub async fn insert(&self, doc: &str) -> Result<Written> {
        if let Some(claims) = self.claims.as_ref().filter(|_| doc.len() <= INLINE_BYTES)
            && let Some(written) = self.database.at_once(|one| one.insert_for_claims(&self.info, claims, doc))
        {
            let mut rows = settled(written.0, written.1).await?;
            return rows.next()?.map_or_else(|| Err(ById::left_out()), |row| ById::written(row.into()));
        }
        by_rules!(self.insert(doc));
        self.write(ById::Insert, doc, (doc,), ById::written).await?.ok_or_else(ById::left_out)
    }

    /// A new document under this id. SQLSTATE 23505 where there is one.
    pub async fn insert_as(&self, id: impl ToValue, doc: &str) -> Result<Written> {
        by_rules!(self.insert_as(id, doc));
        self.write(ById::InsertAs, doc, (id, doc), ById::written).await?.ok_or_else(ById::left_out)
    }

    /// A document under this id, new or in place of the one that is there: see [`cairndb::Collection::upsert`].
    pub async fn upsert(&self, id: impl ToValue, doc: &str) -> Result<Upserted> {
        by_rules!(self.upsert(id, doc));
        let id = id.to_value();
        let mut attempt = 0;
        loop {
            if let Some(version) = self.replace(id, doc).await? {
                return Ok(ById::upserted(version, false));
            }
            attempt += 1;
            match self.insert_as(id, doc).await {
                // Somebody was faster, or it is unique in something else: that is told once more.
                Err(error) if error.sqlstate() == SqlState::UNIQUE_VIOLATION && attempt < ById::UPSERT_ATTEMPTS => {}
                written => return Ok(ById::upserted(written?.version, true)),
            }
        }
    }

    /// Another document in place of the one that is there; its version. `None`: there is none.
    ///
    /// ```
    /// # let work = async {
    /// # let db = cairndb_async::Database::open_in_memory().await?;
    /// let notes = db.create_collection("notes").await?;
    /// let first = notes.upsert("a", "{}").await?.version;
    /// let second = notes.replace_if("a", "[1]", first).await?.expect("it was so");
    /// assert_eq!(notes.replace_if("a", "[2]", first).await?, None);
    /// assert_eq!(notes.replace("b", "{}").await?, None);
    /// assert!(!notes.delete_if("a", first).await? && notes.delete_if("a", second).await?);
    /// assert!(!notes.delete("a").await?);
    /// # Ok::<(), cairndb::Error>(())
    /// # };
    /// # pollster::block_on(work).unwrap();
    /// ```
    pub async fn replace(&self, id: impl ToValue, doc: &str) -> Result<Option<i64>> {
        by_rules!(self.replace(id, doc));
        self.write(ById::Replace, doc, (id, doc), |row| row.get(0)).await
    }

    /// The same, if the one that is there has this version. `None`: it has not, or there is none.
    pub async fn replace_if(&self, id: impl ToValue, doc: &str, version: i64) -> Result<Option<i64>> {
        by_rules!(self.replace_if(id, doc; version));
        self.write(ById::ReplaceIf, doc, (id, doc, version), |row| row.get(0)).await
    }

    /// Whether there was a document of this id.
    pub async fn delete(&self, id: impl ToValue) -> Result<bool> {
        by_rules!(self.delete(id));
        Ok(self.database.execute(&ById::Delete.sql(self.info.table()), (id,)).await? > 0)
    }

    /// The same, of one that has this version.
    pub async fn delete_if(&self, id: impl ToValue, version: i64) -> Result<bool> {
        by_rules!(self.delete_if(id; version));
        Ok(self.database.execute(&ById::DeleteIf.sql(self.info.table()), (id, version)).await? > 0)
    }

    /// Runs `work` with it on one of the threads that do what takes longer, for all that a [`cairndb::Collection`] can do besides. See
    /// [`Database::call_pipelined`].
    pub async fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&cairndb::Collection<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (name, claims) = (self.info.name().to_owned(), self.claims.clone());
        let opened = move |connection: &Connection| {
            work(&match claims {
                Some(claims) => connection.collection_for_claims(&name, claims)?,
                None => connection.collection(&name)?,
            })
        };
        self.database.call_pipelined(opened).await
    }

    /// Runs a statement that writes a document, and reads the row that it gives.
    async fn write<T>(
        &self,
        what: ById,
        doc: &str,
        params: impl Params,
        read: impl FnOnce(RowRef<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let sql = what.sql(self.info.table());
        let mut rows = match doc.len() > INLINE_BYTES {
            true => self.database.first_handed_over(sql, owned(&params)).await?,
            false => self.database.first(&sql, params).await?,
        };
        rows.next()?.map(|row| read(row.into())).transpose()
    }
}
