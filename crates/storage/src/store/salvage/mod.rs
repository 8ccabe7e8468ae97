//! Saving what is left of a damaged database into a new one, and saying what is not.
//!
//! What must hold:
//! - The damaged files are only read, and nothing is held in memory that grows with them but one bit a page and what is
//!   reported.
//! - A row is saved where a checkpoint and its log show it to be live: its leaf is reached from the list of trees; or what
//!   led to it is damaged, and the checkpoint's free map has the leaf in use (a page in use that its tree does not reach
//!   otherwise was reached by what is damaged).
//! - Whatever can not be told to be live is handed over apart ([`Uncertain`]), with the reason. Nothing comes back to life
//!   silently.
//! - Every reference is followed at most once and levels only descend, so that forged pages can not make it go on for
//!   ever.
//!
//! ```text
//! meta pages, lists, copies --state--> roots, free map --rescue--> leaves in key order --target--> the new database
//!                                      what they do not reach --orphans--^      the log's commits --replay--^
//! ```
//! Entries of derived trees (indexes) are not saved: who knows what they are derived from makes them anew. Survived:
//! any damage to pages, meta pages, lists and log, and files that were cut.

mod log;
mod orphans;
mod reasons;
mod report;
mod rescue;
mod run;
mod source;
mod state;
mod target;
#[cfg(test)]
mod tests;

pub use reasons::{Fault, Reasons};
pub use report::{Doubt, Loss, Lost, Salvage};
pub use run::{salvage, salvage_with};
pub use target::{Uncertain, UncertainEntry};
