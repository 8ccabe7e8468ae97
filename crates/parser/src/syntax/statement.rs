//! Statements.

use super::{Delete, Insert, Merge, Part, Query, Update};
use crate::tree::{Id, syntax};

syntax! {
    family 1;
    /// A statement.
    pub enum Statement {
        /// `SELECT`, `VALUES`, `TABLE`, with or without `WITH`.
        Query { query: Id<Query> },
        /// `INSERT`
        Insert { insert: Id<Insert> },
        /// `UPDATE`
        Update { update: Id<Update> },
        /// `DELETE`
        Delete { delete: Id<Delete> },
        /// `MERGE`
        Merge { merge: Id<Merge> },
        /// Any other command: a [`Part::Rule`].
        Utility { command: Id<Part> },
    }
}
