//! What a statement owes until it has written all its rows: foreign keys, UNIQUE and PRIMARY KEY that may wait, AFTER triggers.
//!
//! The row programs tell of each row ([`RowObserver`](super::row::RowObserver)); here it is kept, and settled at the end.
//!
//! - Referenced rows that went away or changed are *events*, worked off in order; the actions they cause (CASCADE, SET NULL, SET
//!   DEFAULT) write rows and so make more events, in one flat loop, however long the chain.
//! - Then keys that several rows had, and the new references, are looked up, and last NO ACTION is enforced, so that rows of one
//!   statement may refer to each other and a referenced key may be replaced. A reference to another table than the written one is
//!   looked up at once, and again at the end only where it was missing.
//! - What is wrong and may wait is put down for COMMIT ([`Deferred`](super::Deferred)).
//! - AFTER triggers run behind all that, in the order in which rows were told of.

mod actions;
mod checks;
mod double_keys;
mod references;
mod triggers;

pub(super) use checks::{PendingChecks, Unsettled};
pub(crate) use references::verify_foreign_key;
