//! What the execution of a data-changing statement needs.

use std::cell::RefCell;
use std::sync::Arc;

use cairn_storage::{Store, Transaction};

use super::RowNumbers;
use super::row::Numbers;
use crate::catalog::Catalog;
use crate::exec::{ExecContext, NodeStatistics};

/// The transaction to write to, and how to read and evaluate.
#[derive(Clone, Copy)]
pub(crate) struct DmlContext<'a> {
    pub(crate) tx: &'a Transaction,
    pub(crate) catalog: &'a Arc<Catalog>,
    /// Its reader is the transaction's.
    pub(crate) exec: &'a ExecContext,
    pub(crate) store: &'a Store,
    pub(crate) row_numbers: &'a RowNumbers,
    /// Where the counters of the source's plan go (`EXPLAIN ANALYZE`).
    pub(crate) statistics: Option<&'a RefCell<Vec<NodeStatistics>>>,
}

impl<'a> DmlContext<'a> {
    pub(crate) fn numbers(&self) -> Numbers<'a> {
        (self.store, self.row_numbers)
    }
}
