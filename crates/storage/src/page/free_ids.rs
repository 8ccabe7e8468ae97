//! Free page ids, lowest first: a bitmap with summaries, so that finding one looks at a word per level.

/// A set of page ids below a fixed capacity.
#[derive(Debug)]
pub(crate) struct FreeIds {
    /// `levels[0]` has a bit per id; a bit of a higher level says that the word below it is not zero.
    levels: Vec<Vec<u64>>,
    count: u32,
}

impl FreeIds {
    pub(crate) fn new(capacity: u32) -> FreeIds {
        let mut levels = Vec::new();
        let mut bits = capacity as usize;
        loop {
            bits = bits.div_ceil(64);
            levels.push(vec![0u64; bits]);
            if bits == 1 {
                return FreeIds { levels, count: 0 };
            }
        }
    }

    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    pub(crate) fn contains(&self, id: u32) -> bool {
        self.levels[0][id as usize / 64] & (1 << (id % 64)) != 0
    }

    pub(crate) fn insert(&mut self, id: u32) {
        debug_assert!(!self.contains(id), "page {id} freed twice");
        self.count += 1;
        let mut at = id as usize;
        for level in &mut self.levels {
            let word = &mut level[at / 64];
            let was_empty = *word == 0;
            *word |= 1 << (at % 64);
            if !was_empty {
                return;
            }
            at /= 64;
        }
    }

    pub(crate) fn remove(&mut self, id: u32) {
        debug_assert!(self.contains(id));
        self.count -= 1;
        let mut at = id as usize;
        for level in &mut self.levels {
            let word = &mut level[at / 64];
            *word &= !(1 << (at % 64));
            if *word != 0 {
                return;
            }
            at /= 64;
        }
    }

    /// Takes the lowest id.
    pub(crate) fn pop(&mut self) -> Option<u32> {
        let mut at = 0;
        for level in self.levels.iter().rev() {
            let word = level[at];
            if word == 0 {
                return None;
            }
            at = at * 64 + word.trailing_zeros() as usize;
        }
        self.remove(at as u32);
        Some(at as u32)
    }

    /// The ids, ascending, as runs of (first, length).
    #[cfg(test)]
    fn runs(&self) -> Vec<(u32, u32)> {
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
    fn hands_out_the_lowest_id_first_as_a_sorted_set_would() {
        let mut ids = FreeIds::new(10_000);
        let mut model = BTreeSet::new();
        let mut state = 7u64;
        for _ in 0..20_000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let id = (state >> 33) as u32 % 10_000;
            if state >> 63 == 0 {
                if model.insert(id) {
                    ids.insert(id);
                }
            } else {
                assert_eq!(ids.pop(), model.pop_first());
            }
            assert_eq!(ids.count() as usize, model.len());
        }
        let listed: Vec<u32> = ids.runs().iter().flat_map(|&(first, n)| first..first + n).collect();
        assert_eq!(listed, model.into_iter().collect::<Vec<_>>());
    }
}
