//! A document as it was read.

use super::filter::Path;
use super::tree::projected;
use crate::types::{EvalContext, Jsonb, to_text};
use crate::{Error, Result, Row, Value};

/// A document of a [`Collection`](super::Collection).
///
/// ```
/// # let conn = cairndb::Database::open_in_memory()?.connect()?;
/// let notes = conn.create_collection("notes")?;
/// notes.put("a", r#"{"title": "Tides"}"#)?;
/// let note = notes.get("a")?.expect("it was put there");
/// assert_eq!((note.id_text().as_str(), note.version), ("a", 1));
/// assert_eq!(note.doc.to_string(), r#"{"title": "Tides"}"#);
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Document {
    /// A text, a uuid or a bigint, as the collection has them.
    pub id: Value,
    /// Which no other state of a document of the collection has.
    pub version: i64,
    /// What it is.
    pub doc: Jsonb,
}

impl Document {
    /// The id in the one form that it has as text.
    pub fn id_text(&self) -> String {
        to_text(&self.id, &EvalContext::default())
    }

    /// Of a row of `id, version, doc`, of which these parts are wanted.
    pub(super) fn of_row(row: &Row<'_>, fields: &[Path]) -> Result<Document> {
        let mut document = Document { id: row.get(0)?, version: row.get(1)?, doc: jsonb(row.get(2)?)? };
        document.project(fields)?;
        Ok(document)
    }

    /// Leaves these parts only; all of them, where none is named.
    pub(super) fn project(&mut self, fields: &[Path]) -> Result<()> {
        if !fields.is_empty() {
            self.doc = projected(&self.doc, fields)?;
        }
        Ok(())
    }
}

/// What a column of type `jsonb` gives.
pub(super) fn jsonb(value: Value) -> Result<Jsonb> {
    match value {
        Value::Jsonb(doc) => Ok(doc),
        other => Err(Error::internal(format!("{other:?} is no document"))),
    }
}

/// What was written: the document's id, and the version that it has now.
///
/// ```
/// # let conn = cairndb::Database::open_in_memory()?.connect()?;
/// let notes = conn.create_collection("notes")?;
/// let written = notes.insert(r#"{"title": "Tides"}"#)?;
/// assert!(notes.delete_if(&written.id, written.version)?);
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Written {
    /// A text, a uuid or a bigint, as the collection has them.
    pub id: Value,
    /// Its version.
    pub version: i64,
}
