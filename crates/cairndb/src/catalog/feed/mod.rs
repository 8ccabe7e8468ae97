//! What lies in the tree of a change feed: entries, and the descriptions of the table by which they are read.

mod description;
mod entry;

pub(crate) use description::description;
pub(super) use description::put_description;
pub(crate) use entry::{Entry, EntryKind, write_entry, write_rewritten};
