//! The state that a statement works on: the database's, and beside it the session's own temporary one.
//!
//! Temporary relations live in a store of the session's own, in memory (`store`), with a catalog tree and transactions of its
//! own. Which of the two stores a tree is in is told by its id, so whoever reads or writes trees is told nothing: a
//! [`Reader`] and a [`Transaction`] have the methods of the storage engine's, and ask the store that has the tree.
//!
//! - Nothing of the temporary store is ever in the database's file or log; nobody else sees it, and nobody conflicts with it.
//! - It has a savepoint wherever the database's transaction has one, and is rolled back with it.
//! - A session without temporary relations has no such store. The point path never asks: it works on the database's part alone.

mod reader;
mod row_numbers;
mod said;
mod store;
mod transaction;

pub(crate) use reader::Reader;
pub(crate) use row_numbers::{RowNumbers, row_number, row_number_key};
pub(crate) use said::SaidMark;
pub(crate) use store::{TemporaryStore, TemporaryTrees};
pub(crate) use transaction::{Savepoint, Transaction};
