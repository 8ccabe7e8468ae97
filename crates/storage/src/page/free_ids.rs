//! Free page ids, lowest first: a short list of those that were freed last, which commits take again before there are more,
//! in front of a bitmap with summaries, in which finding one looks at a word per level. The first ids may be kept for the lists of
//! checkpoints (`page/apart.rs`): nobody else gets these before there are no others.

use std::ops::Range;

/// The length of the short list.
const RECENT: usize = 16;

/// How many words the levels have for so many ids, the lowest level first.
fn lengths_for(capacity: u32) -> impl Iterator<Item = usize> {
    let words = |bits: usize| bits.div_ceil(64).max(1);
    std::iter::successors(Some(words(capacity as usize)), move |&below| (below > 1).then(|| words(below)))
}

/// Stands for no id.
const NONE: u32 = u32::MAX;

/// A set of page ids.
#[derive(Debug)]
pub(crate) struct FreeIds {
    /// In no order, and not in the bitmap.
    recent: Vec<u32>,
    /// `levels[0]` has a bit per id; a bit of a higher level says that the word below it is not zero. The highest has one word.
    levels: Vec<Vec<u64>>,
    /// The bitmap's lowest id.
    lowest: u32,
    count: u32,
    /// The ids that are kept, at most 64, and a bit for each of them that is free. `count` is without them.
    kept: Range<u32>,
    kept_free: u64,
}

impl Default for FreeIds {
    fn default() -> FreeIds {
        FreeIds {
            recent: Vec::with_capacity(RECENT),
            levels: vec![vec![0]],
            lowest: NONE,
            count: 0,
            kept: 0..0,
            kept_free: 0,
        }
    }
}

impl FreeIds {
    /// Lets it have ids below `capacity`; false: there is no memory for their bits, and it is as it was.
    pub(super) fn reach(&mut self, capacity: u32) -> bool {
        let lengths: Vec<usize> = lengths_for(capacity).collect();
        let mut above = vec![Vec::new(); lengths.len().saturating_sub(self.levels.len())];
        let levels = self.levels.iter_mut().chain(&mut above).zip(&lengths);
        let has_memory = levels.fold(true, |has_memory, (level, length)| {
            has_memory && level.try_reserve(length.saturating_sub(level.len())).is_ok()
        });
        if !has_memory {
            return false;
        }
        self.levels.append(&mut above);
        for (at, &length) in lengths.iter().enumerate() {
            let is_new = self.levels[at].is_empty();
            let length = length.max(self.levels[at].len());
            self.levels[at].resize(length, 0);
            if is_new {
                self.sum_up(at);
            }
        }
        true
    }

    /// Fills a level, which is new, from the one below it.
    fn sum_up(&mut self, at: usize) {
        let (below, above) = self.levels.split_at_mut(at);
        for (word, _) in below[at - 1].iter().enumerate().filter(|(_, bits)| **bits != 0) {
            above[0][word / 64] |= 1 << (word % 64);
        }
    }

    /// Keeps the ids of a range for checkpoints, before any is inserted.
    pub(super) fn keep(&mut self, kept: Range<u32>) {
        debug_assert!(self.count == 0 && kept.len() <= 64);
        (self.kept, self.kept_free) = (kept, 0);
    }

    /// How many there are, without those that are kept.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Those that are kept, ascending.
    pub(super) fn kept(&self) -> impl Iterator<Item = u32> {
        let (first, free) = (self.kept.start, self.kept_free);
        self.kept.clone().filter(move |id| free & 1 << (id - first) != 0)
    }

    /// The others, ascending, all of which lie below `end`.
    pub(super) fn others(&self, end: u32) -> impl Iterator<Item = u32> {
        let words = self.levels[0].iter().enumerate().take(end.div_ceil(64) as usize).skip(self.lowest as usize / 64);
        let words = words.filter(|(_, word)| **word != 0);
        let of_bitmap = words.flat_map(|(at, &word)| {
            (0..64).filter(move |bit| word & 1 << bit != 0).map(move |bit| at as u32 * 64 + bit)
        });
        let mut recent = self.recent.clone();
        recent.sort_unstable();
        let (mut recent, mut of_bitmap) = (recent.into_iter().peekable(), of_bitmap.peekable());
        std::iter::from_fn(move || match (recent.peek(), of_bitmap.peek()) {
            (Some(one), Some(other)) if one < other => recent.next(),
            (Some(_), None) => recent.next(),
            _ => of_bitmap.next(),
        })
    }

    pub(crate) fn contains(&self, id: u32) -> bool {
        if self.kept.contains(&id) {
            return self.kept_free & 1 << (id - self.kept.start) != 0;
        }
        self.levels[0][id as usize / 64] & (1 << (id % 64)) != 0 || self.recent.contains(&id)
    }

    #[inline]
    pub(crate) fn insert(&mut self, id: u32) {
        debug_assert!(!self.contains(id), "page {id} freed twice");
        if self.kept.contains(&id) {
            self.kept_free |= 1 << (id - self.kept.start);
            return;
        }
        self.count += 1;
        if self.recent.len() == RECENT {
            self.move_to_bitmap();
        }
        self.recent.push(id);
    }

    #[cold]
    fn move_to_bitmap(&mut self) {
        for id in self.recent.drain(..) {
            self.lowest = self.lowest.min(id);
            let mut at = id as usize;
            for level in &mut self.levels {
                let word = &mut level[at / 64];
                let was_empty = *word == 0;
                *word |= 1 << (at % 64);
                if !was_empty {
                    break;
                }
                at /= 64;
            }
        }
    }

    pub(crate) fn remove(&mut self, id: u32) {
        debug_assert!(self.contains(id));
        if self.kept.contains(&id) {
            self.kept_free &= !(1 << (id - self.kept.start));
            return;
        }
        self.count -= 1;
        match self.recent.iter().position(|&recent| recent == id) {
            Some(at) => drop(self.recent.swap_remove(at)),
            None => self.remove_from_bitmap(id),
        }
    }

    fn remove_from_bitmap(&mut self, id: u32) {
        let mut at = id as usize;
        for level in &mut self.levels {
            let word = &mut level[at / 64];
            *word &= !(1 << (at % 64));
            if *word != 0 {
                break;
            }
            at /= 64;
        }
        if id == self.lowest {
            self.lowest = self.first_of_bitmap();
        }
    }

    fn first_of_bitmap(&self) -> u32 {
        let mut at = 0;
        for level in self.levels.iter().rev() {
            let word = level[at];
            if word == 0 {
                return NONE;
            }
            at = at * 64 + word.trailing_zeros() as usize;
        }
        at as u32
    }

    /// Takes the lowest id of those that are kept: for whoever finds no other.
    #[cold]
    pub(super) fn pop_kept(&mut self) -> Option<u32> {
        let id = self.kept().next()?;
        self.remove(id);
        Some(id)
    }

    /// Takes the lowest id.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<u32> {
        let (mut lowest, mut place) = (self.lowest, None);
        for (at, &id) in self.recent.iter().enumerate() {
            if id < lowest {
                (lowest, place) = (id, Some(at));
            }
        }
        if lowest == NONE {
            return None;
        }
        self.count -= 1;
        match place {
            Some(at) => drop(self.recent.swap_remove(at)),
            None => self.remove_from_bitmap(lowest),
        }
        Some(lowest)
    }

    /// The ids, ascending, as runs of (first, length).
    #[cfg(test)]
    fn runs(&mut self) -> Vec<(u32, u32)> {
        self.move_to_bitmap();
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for (w, &word) in self.levels[0].iter().enumerate() {
            let mut rest = word;
            while rest != 0 {
                let id = (w * 64) as u32 + rest.trailing_zeros();
                rest &= rest - 1;
                match runs.last_mut() {
                    Some((first, length)) if *first + *length == id => *length += 1,
                    _ => runs.push((id, 1)),
                }
            }
        }
        runs
    }
}

#[cfg(test)]
mod tests {
    use super::FreeIds;
    use std::collections::BTreeSet;

    #[test]
    fn ids_that_are_kept_are_handed_out_to_nobody_who_does_not_ask_for_them() {
        let mut ids = FreeIds::default();
        assert!(ids.reach(1000));
        ids.keep(2..10);
        (2..100).for_each(|id| ids.insert(id));
        assert_eq!((ids.count(), ids.kept().collect::<Vec<_>>()), (90, (2..10).collect()));
        assert!(ids.others(100).eq(10..100));
        assert_eq!((ids.pop(), ids.pop_kept(), ids.contains(2), ids.contains(3)), (Some(10), Some(2), false, true));
        ids.insert(2);
        ids.remove(5);
        assert!(ids.kept().eq([2, 3, 4, 6, 7, 8, 9]));
        while ids.pop().is_some() {}
        assert_eq!(ids.kept().count(), 7);
    }

    #[test]
    fn hands_out_the_lowest_id_first_as_a_sorted_set_would() {
        for capacity in [64, 65, 4_096, 10_000, 300_000] {
            check(capacity);
        }
    }

    fn check(largest: u32) {
        let mut ids = FreeIds::default();
        let mut capacity = 60.min(largest);
        assert!(ids.reach(capacity));
        let mut model = BTreeSet::new();
        let mut state = 7u64;
        for step in 0..20_000 {
            // As a file grows: now and then by much.
            if step % 500 == 499 {
                capacity = largest.min(capacity + capacity / 3 + 1);
                assert!(ids.reach(capacity));
            }
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let id = (state >> 33) as u32 % capacity;
            // Few at a time, as commits have them, and many.
            let is_full = step / 1000 % 2 == 0 && model.len() >= 12;
            match state >> 61 {
                0..4 if !is_full => {
                    if model.insert(id) {
                        ids.insert(id);
                    }
                }
                4 => {
                    let other = model.range(id..).next().copied();
                    if let Some(other) = other.filter(|&other| model.remove(&other)) {
                        ids.remove(other);
                    }
                }
                _ => assert_eq!(ids.pop(), model.pop_first()),
            }
            assert_eq!(ids.count() as usize, model.len());
            assert_eq!(ids.contains(id), model.contains(&id));
        }
        let listed: Vec<u32> = ids.runs().iter().flat_map(|&(first, n)| first..first + n).collect();
        assert_eq!(listed, model.into_iter().collect::<Vec<_>>());
    }
}
