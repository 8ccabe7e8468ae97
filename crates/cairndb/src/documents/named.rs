//! What documents name of another collection: references to others by their ids.
//!
//! A reference is a value at a path that is an id, or an array of such. What is not there, and what is out of the sight of who asks, is left out alike.

use std::collections::HashMap;

use super::filter::Path;
use super::rules::concealed;
use super::{Collection, Document};
use crate::bind::with_claims;
use crate::catalog::RuleKind;
use crate::types::{Array, Document as Json, JsonKind};
use crate::{Error, Result, SqlState, Value};

/// Documents of another collection that are looked up at once.
const NAMED_MAX: usize = 10_000;

/// What a document of a page names at a path: see [`Find::expand`](super::Find::expand).
///
/// ```
/// let named = cairndb::Named::default();
/// assert!(named.documents.is_empty() && !named.is_list);
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Named {
    /// Those that there are, in sight of who asks, as they are named.
    pub documents: Vec<Document>,
    /// An array names them.
    pub is_list: bool,
}

/// What the documents of a [`Page`](super::Page) name at a path.
///
/// ```
/// # let conn = cairndb::Database::open_in_memory()?.connect()?;
/// let notes = conn.create_collection("notes")?;
/// notes.insert_many([r#"{"about": "a"}"#, "{}"])?;
/// notes.put("a", "{}")?;
/// let page = notes.find("{}").expand("about", &notes).page()?;
/// let cairndb::Expanded { path, named, .. } = &page.expanded[0];
/// assert_eq!((path.as_str(), named.len()), ("about", page.documents.len()));
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Expanded {
    /// The path.
    pub path: String,
    /// Of each document of the page what it names there.
    pub named: Vec<Named>,
}

/// A collection, for as long as a question is asked.
pub(super) trait Names {
    /// Of each of these documents what it names of the collection at the path.
    fn named_by(&self, documents: &[Document], path: &Path) -> Result<Vec<Named>>;
}

impl Names for Collection<'_> {
    fn named_by(&self, documents: &[Document], path: &Path) -> Result<Vec<Named>> {
        if let Some(ruled) = self.ruled() {
            ruled.under.rule(RuleKind::View)?;
        }
        let ids = documents.iter().map(|document| self.ids_at(document, path)).collect::<Result<Vec<_>>>()?;
        let (mut wanted, mut found) = (Vec::new(), HashMap::new());
        for (text, id) in ids.iter().flat_map(|(ids, _)| ids) {
            if found.insert(text.clone(), None).is_none() {
                wanted.push(id.clone());
            }
        }
        if wanted.len() > NAMED_MAX {
            let message = format!("the documents name more than {NAMED_MAX} others");
            return Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message).with_hint("Ask for fewer at a time."));
        }
        for document in self.all_of(wanted)? {
            found.insert(document.id_text(), Some(document));
        }
        let named = |(ids, is_list): (Vec<(String, Value)>, bool)| {
            let documents = ids.iter().filter_map(|(text, _)| found.get(text).cloned().flatten()).collect();
            Named { documents, is_list }
        };
        Ok(ids.into_iter().map(named).collect())
    }
}

impl Collection<'_> {
    /// The ids at a path, each with its text, and whether an array has them.
    fn ids_at(&self, document: &Document, path: &Path) -> Result<(Vec<(String, Value)>, bool)> {
        let Some(found) = Json::Node(document.doc.root()).path(path.steps().iter().map(String::as_str))? else {
            return Ok((Vec::new(), false));
        };
        let is_list = found.kind()? == JsonKind::Array;
        let parts = if is_list { found.elements()? } else { vec![found] };
        let mut ids = Vec::new();
        for part in parts {
            let (kind, text) = (part.kind()?, part.to_text()?);
            let Some(text) = text.as_str() else { continue };
            let id = match kind {
                JsonKind::String => self.id(text),
                JsonKind::Number => self.info().ids().of_number(text),
                _ => None,
            };
            ids.extend(id.map(|id| (text.to_owned(), id)));
        }
        Ok((ids, is_list))
    }

    /// The documents of these ids that there are, or that are in sight.
    fn all_of(&self, ids: Vec<Value>) -> Result<Vec<Document>> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let table = self.info().table();
        let mut params = vec![Value::from(Array::new(self.id_data_type(), ids))];
        let condition = match self.ruled() {
            None => String::new(),
            Some(ruled) => {
                params.push(ruled.under.claims());
                format!(" AND ({})", with_claims(ruled.under.rule(RuleKind::View)?, 2))
            }
        };
        let sql = format!("SELECT id, version, doc FROM {table} AS document WHERE id = ANY($1){condition}");
        let all = self.connection().query(&sql, params).and_then(|mut rows| {
            let mut all = Vec::new();
            while let Some(row) = rows.next()? {
                all.push(Document::of_row(&row, &[])?);
            }
            Ok(all)
        });
        all.map_err(|error| if self.ruled().is_some() { concealed(error) } else { error })
    }
}
