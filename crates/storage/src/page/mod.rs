//! Pages: their layout, the cache, and the allocation and reuse of their ids.

mod ahead;
mod apart;
mod balance;
mod cache;
mod created;
mod evict;
mod fetch;
mod frames;
mod free_ids;
mod ghosts;
mod give_back;
#[cfg(any(test, feature = "broken-for-tests"))]
mod invariants;
pub(crate) mod layout;
mod load;
mod memory;
#[cfg(all(test, cairn_loom))]
mod models;
mod release;
mod reuse;
mod share;
mod slots;
mod supply;
mod table;
#[cfg(test)]
mod testing;
mod write;

pub(crate) use crate::PageRef;
pub(crate) use balance::Sharing;
pub(crate) use cache::{LARGE, Pages};
pub(crate) use created::Created;
pub(crate) use evict::Lack;
pub(crate) use memory::{CACHE_LINE, prefetch};
pub(crate) use slots::{COMMIT, Owner, PAGES_ONLY, Pin, SlotId, Slots};
