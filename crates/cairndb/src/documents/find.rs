//! Questions to a collection.

use std::ops::ControlFlow;

use super::by_id::ById;
use super::filter::{Asked, Filter, Path, condition, wrong};
use super::id::IdKind;
use super::named::{Expanded, Names};
use super::rules::{Under, concealed};
use super::{Collection, Document, order};
use crate::api::Connection;
use crate::bind::with_claims;
use crate::catalog::RuleKind;
use crate::{Jsonb, LiveQuery, Result, RowRef, Rows, Value};

/// About as long as a question of few conditions is in SQL.
const SQL_BYTES: usize = 128;

/// A question to a [`Collection`](super::Collection): a filter, and what is wanted of the documents that it finds. Nothing is asked before one of the last
/// methods is called.
///
/// ```
/// # let conn = cairndb::Database::open_in_memory()?.connect()?;
/// let notes = conn.create_collection("notes")?;
/// for (id, day) in [("a", 3), ("b", 1), ("c", 2)] {
///     notes.put(id, format!(r#"{{"day": {day}, "text": "..."}}"#))?;
/// }
/// let page = notes.find(r#"{"day": {"$lte": 3}}"#).sort(["-day"]).select(["day"]).limit(2).page()?;
/// let ids: Vec<String> = page.documents.iter().map(|note| note.id_text()).collect();
/// assert_eq!(ids, ["a", "c"]);
/// assert_eq!(page.documents[0].doc.to_string(), r#"{"day": 3}"#);
///
/// let next = page.next.expect("there is more");
/// let rest = notes.find(r#"{"day": {"$lte": 3}}"#).sort(["-day"]).after(next).limit(2).page()?;
/// assert_eq!((rest.documents[0].id_text().as_str(), rest.next), ("b", None));
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone)]
pub struct Find<'a> {
    connection: &'a Connection,
    table: &'a str,
    ids: IdKind,
    /// Who asks comes with claims.
    under: Option<&'a Under>,
    filter: String,
    sort: Vec<String>,
    fields: Vec<String>,
    after: Option<String>,
    limit: Option<u32>,
    /// Paths, and what documents there name.
    expand: Vec<(String, &'a dyn Names)>,
}

/// Documents of a question, and where the next ones are.
///
/// ```
/// # let conn = cairndb::Database::open_in_memory()?.connect()?;
/// let notes = conn.create_collection("notes")?;
/// let page = notes.find("{}").limit(10).page()?;
/// assert!(page.documents.is_empty() && page.next.is_none());
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Page {
    /// At most as many as were wanted.
    pub documents: Vec<Document>,
    /// What [`Find::after`] takes to go on; `None`: these were the last.
    pub next: Option<String>,
    /// What they name, for each path of [`Find::expand`].
    pub expanded: Vec<Expanded>,
}

impl<'a> Find<'a> {
    pub(super) fn new(
        connection: &'a Connection,
        (table, ids): (&'a str, IdKind),
        under: Option<&'a Under>,
        filter: &str,
    ) -> Find<'a> {
        let (filter, sort, fields) = (filter.to_owned(), Vec::new(), Vec::new());
        Find { connection, table, ids, under, filter, sort, fields, after: None, limit: None, expand: Vec::new() }
    }

    pub(super) fn connection(&self) -> &'a Connection {
        self.connection
    }

    /// By what lies at these paths, of which those with a `-` before them descend; at last by id.
    pub fn sort(mut self, paths: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.sort = paths.into_iter().map(Into::into).collect();
        self
    }

    /// Only what lies at these paths; of an array what its elements have there.
    pub fn select(mut self, paths: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.fields = paths.into_iter().map(Into::into).collect();
        self
    }

    /// Has beside each document of a [page](Find::page) those of another collection that it names at a path: by an id there, or an array of ids. What
    /// is not there, and what is out of the sight of who comes with claims (the other's `view` rule), is left out alike.
    ///
    /// ```
    /// # let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// let (books, authors) = (conn.create_collection("books")?, conn.create_collection("authors")?);
    /// authors.put("ada", r#"{"name": "Ada"}"#)?;
    /// books.put("a", r#"{"by": "ada"}"#)?;
    /// books.put("b", r#"{"by": ["ada", "nobody"]}"#)?;
    /// let page = books.find("{}").expand("by", &authors).page()?;
    /// let [of_a, of_b] = &page.expanded[0].named[..] else { panic!("a page of two") };
    /// assert_eq!(of_a.documents[0].doc.to_string(), r#"{"name": "Ada"}"#);
    /// assert!(of_b.is_list && of_b.documents.len() == 1 && !of_a.is_list);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of a page: SQLSTATE 22023: it is no path. 54000: a page names more than 10,000 documents. 42501: no rule lets anybody view the other's.
    pub fn expand(mut self, path: impl Into<String>, of: &'a Collection<'_>) -> Self {
        self.expand.push((path.into(), of));
        self
    }

    /// At most so many.
    pub fn limit(mut self, limit: u32) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Behind the page that gave this cursor, in the same order.
    pub fn after(mut self, cursor: impl Into<String>) -> Self {
        self.after = Some(cursor.into());
        self
    }

    /// The SQL that this is, and its parameters.
    ///
    /// ```
    /// # let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// let notes = conn.create_collection("notes")?;
    /// let (sql, params) = notes.find(r#"{"day": 3}"#).sql()?;
    /// assert_eq!(sql, "SELECT id, version, doc FROM public.notes WHERE ((doc -> 'day') = $1) ORDER BY id");
    /// assert_eq!(params[0].to_string(), "3");
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn sql(&self) -> Result<(String, Vec<Value>)> {
        self.sql_of(self.limit)
    }

    /// The same of so many.
    fn sql_of(&self, limit: Option<u32>) -> Result<(String, Vec<Value>)> {
        let keys = order::keys(&self.sort)?;
        let (condition, mut asked) = self.condition(RuleKind::List)?;
        let mut sql = String::with_capacity(SQL_BYTES);
        let parts = ["SELECT id, version, doc FROM ", self.table, self.alias(), " WHERE ", &condition];
        parts.iter().for_each(|part| sql.push_str(part));
        if let Some(cursor) = &self.after {
            sql.push_str(" AND ");
            sql.push_str(&order::behind(&keys, cursor, &mut asked)?);
        }
        sql.push_str(" ORDER BY ");
        sql.push_str(&order::sql(&keys));
        if let Some(limit) = limit {
            sql.push_str(" LIMIT ");
            asked.write_param(Value::BigInt(limit.into()), &mut sql);
        }
        Ok((sql, asked.params))
    }

    /// What has to be so of a document: what the rule says, and the filter.
    pub(super) fn condition(&self, kind: RuleKind) -> Result<(String, Asked)> {
        let mut asked = Asked::new(self.ids);
        // Before the filter is looked at: who may not ask is told that.
        let under = self.under.map(|under| Ok::<_, crate::Error>((under.rule(kind)?, under.claims()))).transpose()?;
        let rule = under.map(|(rule, claims)| {
            asked.param(claims);
            with_claims(rule, asked.params.len())
        });
        let filter = Filter::parse(&self.filter)?;
        let condition = condition(&filter, &mut asked)?;
        let both = match rule {
            None => condition,
            // An expression can fail: it is not matched with what is out of sight.
            Some(rule) if filter.may_fail() => format!("CASE WHEN ({rule}) THEN {condition} ELSE false END"),
            Some(rule) => format!("({rule}) AND {condition}"),
        };
        Ok((both, asked))
    }

    /// The collection, as rules name it.
    pub(super) fn from(&self) -> String {
        format!("{}{}", self.table, self.alias())
    }

    fn alias(&self) -> &'static str {
        if self.under.is_some() { " AS document" } else { "" }
    }

    /// An error of what was asked: where there is a rule, it tells nothing of rows.
    pub(super) fn told(&self, error: crate::Error) -> crate::Error {
        if self.under.is_some() { concealed(error) } else { error }
    }

    /// The documents, one after the other, of the state that there is now.
    pub fn iter(&self) -> Result<Documents> {
        let fields = self.paths()?;
        let (sql, params) = self.sql()?;
        let rows = self.connection.query(&sql, params).map_err(|error| self.told(error))?;
        Ok(Documents { rows, fields, is_ruled: self.under.is_some() })
    }

    /// All of them.
    pub fn all(&self) -> Result<Vec<Document>> {
        let fields = self.paths()?;
        self.read(self.limit, &fields)
    }

    /// The first of them.
    pub fn one(&self) -> Result<Option<Document>> {
        let fields = self.paths()?;
        Ok(self.read(Some(1), &fields)?.pop())
    }

    /// What is wanted of each.
    fn paths(&self) -> Result<Vec<Path>> {
        self.fields.iter().map(|path| Path::parse(path)).collect()
    }

    /// At most so many of them, from the beginning: as a point statement, where it is one that was planned before.
    fn read(&self, limit: Option<u32>, fields: &[Path]) -> Result<Vec<Document>> {
        let (sql, params) = self.sql_of(limit)?;
        let mut all = Vec::new();
        let each = |row: RowRef<'_>| match ById::document(row) {
            Ok(document) => {
                all.push(document);
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(error),
        };
        match self.connection.read_known(&sql, &params, each).map_err(|error| self.told(error))? {
            Some(None) => {}
            Some(Some(error)) => return Err(self.told(error)),
            None => {
                let rows = self.connection.query(&sql, params).map_err(|error| self.told(error))?;
                return Documents { rows, fields: fields.to_vec(), is_ruled: self.under.is_some() }.collect();
            }
        }
        all.iter_mut().try_for_each(|document| document.project(fields))?;
        Ok(all)
    }

    /// As many as [`limit`](Find::limit) says, or 100, and where the next ones are.
    pub fn page(&self) -> Result<Page> {
        let limit = self.limit.unwrap_or(100);
        let keys = order::keys(&self.sort)?;
        // One more tells whether there are more. What the cursor says may not be among what is wanted.
        let mut documents = self.read(Some(limit.saturating_add(1)), &[])?;
        let has_more = documents.len() > limit as usize;
        documents.truncate(limit as usize);
        let next = match documents.last().filter(|_| has_more) {
            Some(last) => Some(order::cursor(&keys, last)?),
            None if has_more => return Err(wrong("a page has at least one document")),
            None => None,
        };
        let expanded = self.expand.iter().map(|(path, of)| {
            Ok(Expanded { path: path.clone(), named: of.named_by(&documents, &Path::parse(path)?)? })
        });
        let expanded = expanded.collect::<Result<Vec<_>>>()?;
        let fields = self.paths()?;
        documents.iter_mut().try_for_each(|document| document.project(&fields))?;
        Ok(Page { documents, next, expanded })
    }

    /// How many there are; of an order, a limit or a cursor it knows nothing.
    pub fn count(&self) -> Result<u64> {
        let (condition, asked) = self.condition(RuleKind::List)?;
        let sql = format!("SELECT count(*) FROM {} WHERE {condition}", self.from());
        let count = self.connection.query_row(&sql, asked.params, |row| row.get::<i64>(0));
        Ok(count.map_err(|error| self.told(error))?.unsigned_abs())
    }

    /// Whether it finds this document, whatever the collection has: for who is told of documents as they were. Of an order, a limit or a
    /// cursor it knows nothing. The rule that is asked is that of `view`.
    ///
    /// ```
    /// # let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// let notes = conn.create_collection("notes")?;
    /// let open = notes.find(r#"{"open": true, "$id": "a"}"#);
    /// assert!(open.finds(&"a".into(), 1, &r#"{"open": true}"#.parse()?)?);
    /// assert!(!open.finds(&"b".into(), 1, &r#"{"open": true}"#.parse()?)?);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn finds(&self, id: &Value, version: i64, doc: &Jsonb) -> Result<bool> {
        let (condition, mut asked) = self.condition(RuleKind::View)?;
        let values = [id.clone(), Value::BigInt(version), Value::Jsonb(doc.clone())];
        let [id, version, doc] = values.map(|value| asked.param(value));
        let kind = self.ids.name();
        let of = format!("SELECT {id}::{kind} AS id, {version}::bigint AS version, {doc}::jsonb AS doc");
        let sql = format!("SELECT coalesce({condition}, false) FROM ({of}) AS document");
        self.connection.query_row(&sql, asked.params, |row| row.get(0)).map_err(|error| self.told(error))
    }

    /// What there is, and what becomes of it: see [`LiveQuery`]. Its rows are `id, version, doc`.
    ///
    /// ```
    /// # let db = cairndb::Database::open_in_memory()?;
    /// # let conn = db.connect()?;
    /// let notes = conn.create_collection("notes")?;
    /// let mut watched = notes.find(r#"{"open": true}"#).watch()?;
    /// assert!(watched.next_change()?.expect("the state as it is").is_first());
    /// notes.put("a", r#"{"open": true}"#)?;
    /// let change = watched.next_change()?.expect("the document came");
    /// assert_eq!(change.added().next().expect("a row").get::<String>(0)?, "a");
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn watch(&self) -> Result<LiveQuery> {
        let (condition, asked) = self.condition(RuleKind::List)?;
        let sql = format!("SELECT id, version, doc FROM {} WHERE {condition}", self.from());
        self.connection.live(&sql, asked.params)
    }
}

/// The documents of a question, as they are read.
///
/// ```
/// # let conn = cairndb::Database::open_in_memory()?.connect()?;
/// let notes = conn.create_collection("notes")?;
/// notes.insert_many([r#"{"n": 1}"#, r#"{"n": 2}"#])?;
/// for note in notes.find(r#"{"n": {"$gt": 1}}"#).iter()? {
///     assert_eq!(note?.doc.to_string(), r#"{"n": 2}"#);
/// }
/// assert_eq!(notes.find("{}").all()?.len(), 2);
/// assert!(notes.find(r#"{"n": 3}"#).one()?.is_none());
/// # Ok::<(), cairndb::Error>(())
/// ```
pub struct Documents {
    rows: Rows,
    fields: Vec<Path>,
    is_ruled: bool,
}

impl Iterator for Documents {
    type Item = Result<Document>;

    fn next(&mut self) -> Option<Result<Document>> {
        let (fields, is_ruled) = (&self.fields, self.is_ruled);
        let row = self.rows.next().transpose()?;
        let document = row.and_then(|row| Document::of_row(&row, fields));
        Some(document.map_err(|error| if is_ruled { concealed(error) } else { error }))
    }
}
