//! What is kept for each page, by its id: in one array, long enough for a file that is twice as large as when it was opened, and
//! behind that in chunks that come as the file grows further. A database takes address space for the pages that it has, not for
//! those that it may have (2 GiB), and who looks something up pays nothing for it. What lost: chunks for all, whose root costs six
//! instructions for each look-up, 2 to 3 % of a commit's and 4 % of a small join's.
//!
//! What must hold:
//! - A chunk is all zeros when it comes, and stays where it is until the table goes: who found an entry may keep the reference.
//! - Chunks come one at a time (`&self` is shared, but their maker has the lock of the supply), and before an id in them is handed
//!   out. So who has an id finds its entry. A reference that damage made may name another id: who follows it asks with
//!   [`Table::get`], and there is nothing.
//! - Where there is no memory for a chunk, nothing has changed.

use super::memory::{ZeroAtomic, zeroed};
use crate::sync::{AtomicPtr, Ordering};

/// Ids of a chunk; a power of two.
pub(super) const CHUNK: usize = if cfg!(cairn_loom) { 4 } else { 8192 };

/// See the module.
#[derive(Debug)]
pub(super) struct Table<T: ZeroAtomic> {
    near: Box<[T]>,
    /// Of all ids; for those that are near there is none.
    far: Box<[Chunk<T>]>,
}

/// [`CHUNK`] entries, or null.
#[derive(Debug)]
struct Chunk<T>(AtomicPtr<T>);

impl<T> ZeroAtomic for Chunk<T> {
    fn zero() -> Self {
        Chunk(AtomicPtr::new(std::ptr::null_mut()))
    }
}

impl<T: ZeroAtomic> Table<T> {
    /// For ids below `ids`, of which `near` are there from the begin. `None`: the address space has no room for it.
    pub(super) fn new(ids: u32, near: u32) -> Option<Table<T>> {
        let near = (near as usize).next_multiple_of(CHUNK);
        Some(Table { near: zeroed(near)?, far: zeroed((ids as usize).div_ceil(CHUNK))? })
    }

    /// What is kept for the id, if it is there.
    #[inline(always)]
    pub(super) fn get(&self, id: u32) -> Option<&T> {
        match self.near.get(id as usize) {
            Some(entry) => Some(entry),
            None => self.get_far(id),
        }
    }

    /// Without a call: with one, who looks something up keeps registers for it.
    #[inline(always)]
    fn get_far(&self, id: u32) -> Option<&T> {
        let chunk = self.far.get(id as usize / CHUNK)?.0.load(Ordering::Acquire);
        if chunk.is_null() {
            return None;
        }
        // SAFETY: a chunk has so many initialised entries, is shared from when it is in the root, and goes with the table.
        Some(unsafe { &*chunk.add(id as usize % CHUNK) })
    }

    /// The same for an id that was handed out.
    #[inline(always)]
    pub(super) fn at(&self, id: u32) -> &T {
        self.get(id).expect("the tables reach as far as ids were handed out")
    }

    /// Makes the chunks of all ids below `end`, which is within what the table was made for. False: there is no memory for one.
    ///
    /// Nobody else does so meanwhile.
    pub(super) fn reach(&self, end: u32) -> bool {
        let far = self.near.len() / CHUNK..(end as usize).div_ceil(CHUNK);
        self.far.get(far).is_none_or(|chunks| chunks.iter().all(Chunk::make))
    }
}

impl<T: ZeroAtomic> Chunk<T> {
    fn make(&self) -> bool {
        if !self.0.load(Ordering::Relaxed).is_null() {
            return true;
        }
        let Some(made) = zeroed::<T>(CHUNK) else { return false };
        self.0.store(Box::into_raw(made).cast(), Ordering::Release);
        true
    }
}

impl<T> Drop for Chunk<T> {
    fn drop(&mut self) {
        let made = self.0.load(Ordering::Acquire);
        if !made.is_null() {
            // SAFETY: from a box of so many; nobody is left who could find it.
            drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(made, CHUNK)) });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::memory::failing;
    use super::*;
    use crate::sync::AtomicU64;

    const IDS: u32 = 20 * CHUNK as u32 - 5;
    const NEAR: u32 = CHUNK as u32 + 1;

    fn load(table: &Table<AtomicU64>, id: u32) -> Option<u64> {
        table.get(id).map(|entry| entry.load(Ordering::Relaxed))
    }

    /// Against a map that has what was stored.
    #[test]
    fn what_was_stored_is_found_however_the_table_grows() {
        let table = Table::<AtomicU64>::new(IDS, NEAR).unwrap();
        let (mut model, mut reached, mut state) = (BTreeMap::new(), 2 * CHUNK as u32, 1u64);
        for step in 0..if cfg!(miri) { 300 } else { 30_000 } {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let id = (state >> 33) as u32 % IDS;
            match state >> 60 {
                0 if step % 20 == 0 && id > reached => {
                    assert!(table.reach(id));
                    reached = id.next_multiple_of(CHUNK as u32);
                }
                1..8 if id < reached => {
                    table.at(id).store(state, Ordering::Relaxed);
                    model.insert(id, state);
                }
                _ => {
                    let expected = (id < reached).then(|| model.get(&id).copied().unwrap_or(0));
                    assert_eq!(load(&table, id), expected);
                }
            }
        }
        assert!(table.reach(IDS) && model.iter().all(|(id, stored)| load(&table, *id) == Some(*stored)));
        assert_eq!([load(&table, IDS + 5), load(&table, u32::MAX)], [None, None]);
    }

    #[test]
    fn an_entry_stays_where_it_is_while_others_come() {
        let table = Table::<AtomicU64>::new(IDS, NEAR).unwrap();
        assert!(table.reach(2 * CHUNK as u32 + 1));
        let first = table.at(2 * CHUNK as u32);
        std::thread::scope(|scope| {
            scope.spawn(|| (3..20).for_each(|chunk| assert!(table.reach(chunk * CHUNK as u32 + 1))));
            (1..=1000).for_each(|number| {
                first.store(number, Ordering::Relaxed);
                assert_eq!(load(&table, 2 * CHUNK as u32), Some(number));
                let found = load(&table, 3 * CHUNK as u32 + number as u32 * 100);
                assert!(found.is_none_or(|found| found == 0), "a chunk was seen before it was zeros");
            });
        });
        assert_eq!(load(&table, 19 * CHUNK as u32), Some(0));
    }

    #[test]
    fn without_memory_for_a_chunk_nothing_has_changed() {
        let table = Table::<AtomicU64>::new(IDS, NEAR).unwrap();
        assert!(table.reach(3 * CHUNK as u32));
        let last = 3 * CHUNK as u32 - 1;
        [3, last].iter().for_each(|&id| table.at(id).store(7, Ordering::Relaxed));
        failing::after(1, || assert!(!table.reach(5 * CHUNK as u32)));
        assert_eq!([load(&table, 3), load(&table, last), load(&table, 4 * CHUNK as u32)], [Some(7), Some(7), None]);
        assert!(table.reach(IDS));
        assert_eq!([load(&table, 3), load(&table, last), load(&table, IDS - 1)], [Some(7), Some(7), Some(0)]);
    }
}
