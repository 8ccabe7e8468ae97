//! Copy-on-write B+trees over the page cache.

mod ahead;
mod cursor;
mod diff;
mod edit;
mod gather;
pub(crate) mod node;
mod overflow;
mod read;
mod size;
mod teardown;
mod walk;

pub use cursor::LeafEntries;
pub(crate) use cursor::{TreeCursor, is_empty};
pub(crate) use diff::{Difference, Next, differs_at};
pub use edit::Patches;
pub(crate) use edit::{Patched, Ran, Scratch, TreeEdit};
pub(crate) use gather::{Wanted, gather};
pub(crate) use node::is_well_formed;
pub(crate) use overflow::{LongValue, first_of, next as next_in_chain, write_at_once};
pub(crate) use read::{GROUP, Stop, Value, entries, first_at_or_after, get, get_group, overflow_value};
pub use size::TreeShape;
pub(crate) use size::{changed, entries as entries_about, leaf_at, shape, some_of};
pub(crate) use teardown::{Site, Teardown};
#[cfg(test)]
pub(crate) use walk::Visit;
pub(crate) use walk::walk;

/// More levels than any tree can have: pages hold at least three entries.
pub(crate) const MAX_DEPTH: usize = 24;
