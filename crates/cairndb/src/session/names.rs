//! What a session knows by names.

use super::cursors::OpenCursors;
use super::named::PreparedStatements;
use crate::catalog::ObjectId;
use crate::types::{ListedCursor, ListedStatement, SessionNames};
use crate::{Result, Value};

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Names {
    pub(super) cursors: OpenCursors,
    pub(super) prepared: PreparedStatements,
}

impl SessionNames for Names {
    fn key_of_current(&self, cursor: &str, table: (ObjectId, u64), table_name: &str) -> Result<Vec<Value>> {
        self.cursors.key_of_current(cursor, table, table_name)
    }

    fn cursors(&self) -> Result<Vec<ListedCursor>> {
        self.cursors.listed()
    }

    fn prepared(&self) -> Vec<ListedStatement> {
        self.prepared.listed()
    }
}
