//! The statements about one document by its id, and what their rows are.

use super::collection::Upserted;
use super::document::{Document, Written, jsonb};
use crate::{Error, Result, RowRef, SqlState};

/// A statement about one document. Its parameters are the id and the document, of those that it has, and then the version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ById {
    /// Gives what [`ById::document`] reads.
    Get,
    /// Of no id; gives what [`ById::written`] reads, as do those that follow.
    Insert,
    /// Under an id.
    InsertAs,
    /// The same, or in place of what is there.
    Put,
    /// Gives the version, as the next does.
    Replace,
    /// If it has a version.
    ReplaceIf,
    /// Gives nothing, as the next.
    Delete,
    /// Its parameters are the id and the version.
    DeleteIf,
}

impl ById {
    /// How often a document that comes and goes under others' hands is tried to be written.
    pub const UPSERT_ATTEMPTS: u32 = 8;
    pub(super) const COUNT: usize = ById::DeleteIf as usize + 1;

    /// The statement, of a table as SQL has it.
    pub fn sql(self, table: &str) -> String {
        match self {
            ById::Get => format!("SELECT id, version, doc FROM {table} WHERE id = $1"),
            ById::Insert => format!("INSERT INTO {table} (doc) VALUES ($1) RETURNING id, version"),
            ById::InsertAs => format!("INSERT INTO {table} (id, doc) VALUES ($1, $2) RETURNING id, version"),
            ById::Put => format!(
                "INSERT INTO {table} (id, doc) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET doc = excluded.doc \
                 RETURNING id, version"
            ),
            ById::Replace => format!("UPDATE {table} SET doc = $2 WHERE id = $1 RETURNING version"),
            ById::ReplaceIf => {
                format!("UPDATE {table} SET doc = $2 WHERE id = $1 AND version = $3 RETURNING version")
            }
            ById::Delete => format!("DELETE FROM {table} WHERE id = $1"),
            ById::DeleteIf => format!("DELETE FROM {table} WHERE id = $1 AND version = $2"),
        }
    }

    /// A document of a row.
    pub fn document(row: RowRef<'_>) -> Result<Document> {
        Ok(Document { id: row.value(0)?, version: row.get(1)?, doc: jsonb(row.value(2)?)? })
    }

    /// An id and a version of a row.
    pub fn written(row: RowRef<'_>) -> Result<Written> {
        Ok(Written { id: row.value(0)?, version: row.get(1)? })
    }

    /// A trigger left the row out. SQLSTATE P0002.
    pub fn left_out() -> Error {
        Error::new(SqlState::NO_DATA_FOUND, "the document was not written")
    }

    /// What an upsert wrote.
    pub fn upserted(version: i64, is_new: bool) -> Upserted {
        Upserted { version, is_new }
    }
}
