//! The change feed: what commits did to the rows of tables that ask for it, kept in trees of the database's own file, written
//! by the commits themselves.
//!
//! Each table's feed is a tree that is appended to: its keys are log positions and ordinals. One tree for all tables would be read
//! in order without merging; but each table says how long its own is kept, whoever follows one table reads nothing of others, and
//! a prefix of a tree is what can be forgotten cheaply. The ordinals of a commit are drawn by the transaction, so the order holds
//! across tables.
//!
//! What must hold:
//! - Whatever writes a row writes its entry (`dml/row/derive.rs`, `ddl/rewrite.rs`, `ddl/truncate.rs`), in the same commit.
//! - An entry names the description of the table under which it was written ([`catalog::feed`](crate::catalog::feed)), which lies in the same tree: it can
//!   be read whatever was altered since.
//! - Positions belong to one log: a copy of the database (a backup) begins another, and its feeds anew ([`registry::open`]).
//! - What may be missing at a feed's beginning is said before, or with, what is forgotten ([`keeper`]).

mod keeper;
mod registry;

pub(crate) use crate::catalog::feed::{Entry, EntryKind, description, write_entry, write_rewritten};
pub(crate) use keeper::Keeper;
pub(crate) use registry::{
    Epochs, FeedInfo, Limits, add, all, end, ensure, feeds_tree, forgotten, open, put, remove_all,
};
