//! Switches of the optimizer, and how long it may take.

use std::sync::Arc;
use std::time::Instant;

use crate::Result;
use crate::clock::check_statement;
use crate::interrupt::Interrupt;

/// What the optimizer may do. All on by default; tests turn things off to compare results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptimizerOptions {
    /// Rewrites (pushdown, decorrelation, join order, pruning); off: the query is run as it was written.
    pub rewrites: bool,
    /// Subqueries into joins (needs `rewrites`).
    pub decorrelate: bool,
    /// Another join order than the written one (needs `rewrites`).
    pub reorder_joins: bool,
    /// Secondary indexes, key ranges and index order.
    pub indexes: bool,
    /// Hash joins.
    pub hash_joins: bool,
    /// Merge joins (needs `ordering` and `hash_joins`).
    pub merge_joins: bool,
    /// Index nested-loop joins (needs `indexes`).
    pub index_joins: bool,
    /// The order in which rows come anyway, in place of sorting or hashing them.
    pub ordering: bool,
    /// Point statements, which do without the general path.
    pub point_statements: bool,
    /// Live queries are brought to newer states by what changed in their tables.
    pub live_changes: bool,
    /// Live queries are run again where that is estimated to cost less; off: only where there is no other way.
    pub live_runs: bool,
    /// Rows in a batch when it has grown; 0 means `exec`'s default.
    pub batch_rows: usize,
    pub(crate) patience: Patience,
}

/// What ends planning before its end. No part of what the options say: all are equal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Patience(Option<(Arc<Interrupt>, Option<Instant>)>);

impl PartialEq for Patience {
    fn eq(&self, _: &Patience) -> bool {
        true
    }
}

impl Eq for Patience {}

impl Default for OptimizerOptions {
    fn default() -> Self {
        OptimizerOptions {
            rewrites: true,
            decorrelate: true,
            reorder_joins: true,
            indexes: true,
            hash_joins: true,
            merge_joins: true,
            index_joins: true,
            ordering: true,
            point_statements: true,
            live_changes: true,
            live_runs: true,
            batch_rows: 0,
            patience: Patience::default(),
        }
    }
}

impl OptimizerOptions {
    /// The same for a statement that may be interrupted, and has until `deadline`.
    pub(crate) fn within(&self, interrupt: &Arc<Interrupt>, deadline: Option<Instant>) -> OptimizerOptions {
        OptimizerOptions { patience: Patience(Some((interrupt.clone(), deadline))), ..*self }
    }

    /// The same for whenever they are used.
    pub(crate) fn lasting(&self) -> OptimizerOptions {
        OptimizerOptions { patience: Patience::default(), ..*self }
    }

    /// SQLSTATE 57014 where the statement was interrupted, or its time is over.
    pub(crate) fn check(&self) -> Result<()> {
        match &self.patience.0 {
            Some((interrupt, deadline)) => check_statement(interrupt, *deadline),
            None => Ok(()),
        }
    }

    /// Everything off: full scans, nested loops, the query as written. What other settings must agree with.
    #[cfg(test)]
    pub fn naive() -> Self {
        OptimizerOptions {
            rewrites: false,
            decorrelate: false,
            reorder_joins: false,
            indexes: false,
            hash_joins: false,
            merge_joins: false,
            index_joins: false,
            ordering: false,
            point_statements: false,
            live_changes: false,
            live_runs: true,
            batch_rows: 0,
            patience: Patience::default(),
        }
    }
}
