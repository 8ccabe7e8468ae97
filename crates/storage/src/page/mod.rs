//! Pages: their layout, the cache, and the allocation and reuse of their ids.

mod ahead;
mod cache;
mod created;
mod evict;
mod free_ids;
pub(crate) mod layout;
mod memory;
mod reuse;
mod slots;
mod supply;
#[cfg(test)]
mod testing;

pub(crate) use cache::Pages;
pub(crate) use created::Created;
pub use layout::PageRef;
pub(crate) use memory::{CACHE_LINE, prefetch};
pub(crate) use slots::{Pin, SlotId};
