//! What the execution of a data-changing statement needs.

use std::cell::Cell;
use std::sync::Arc;

use cairn_storage::{Store, TreeId};

use super::row::Numbers;
use super::{Deferred, InserterBuffers};
use crate::Result;
use crate::catalog::Catalog;
use crate::exec::ExecContext;
use crate::state::{RowNumbers, TemporaryTrees, Transaction};

/// The transaction to write to, and how to read and evaluate.
#[derive(Clone, Copy)]
pub(crate) struct DmlContext<'a> {
    pub(crate) tx: &'a Transaction,
    pub(crate) catalog: &'a Arc<Catalog>,
    /// Its reader is the transaction's, or that of the state in which the statement began.
    pub(crate) exec: &'a ExecContext,
    pub(crate) store: &'a Store,
    pub(crate) row_numbers: &'a RowNumbers,
    /// Of the user's open transaction: where what is looked at when it commits is put down.
    pub(crate) deferred: Option<&'a Deferred>,
    /// What the INSERT before has left.
    pub(crate) room: &'a Cell<InserterBuffers>,
}

impl<'a> DmlContext<'a> {
    /// Whether the row under `key` is what it was when the statement began.
    pub(super) fn is_untouched(&self, tree: TreeId, key: &[u8]) -> Result<bool> {
        Ok(self.exec.reader.get(tree, key)? == self.tx.reader().get(tree, key)?)
    }

    /// Where the rows of this tree get their numbers.
    pub(crate) fn numbers(&self, tree: TreeId) -> Numbers<'a> {
        match self.tx.temporary_store() {
            Some(temporary) if TemporaryTrees::have(tree) => (temporary.store(), &temporary.row_numbers),
            _ => (self.store, self.row_numbers),
        }
    }
}
