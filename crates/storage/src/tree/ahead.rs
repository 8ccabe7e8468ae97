//! How far a walk along the leaves reads ahead.
//!
//! The first page that is not in memory is read alone: it may be all that is wanted. From the second on, those that
//! come after it are read with it, twice as many each time, as far as the cache bears it. A walk to somewhere else begins
//! anew.

/// Pages read together at the second miss.
const FIRST: usize = 4;

/// Leaves read for each page above them that is read with others.
const LEAVES_PER_INNER: usize = 32;

/// What a walk has missed so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ahead {
    has_missed: bool,
    /// Pages read together at the last miss.
    window: usize,
}

impl Ahead {
    /// A leaf is missing: how many pages, itself included, to read now.
    pub(super) fn at_leaf(&mut self, limit: usize) -> usize {
        if std::mem::replace(&mut self.has_missed, true) {
            self.window = (self.window * 2).max(FIRST).min(limit);
        }
        self.window
    }

    /// A page above the leaves is missing.
    pub(super) fn at_inner(&self) -> usize {
        self.window / LEAVES_PER_INNER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_miss_reads_four_pages_and_each_later_one_twice_as_many_up_to_the_limit() {
        let mut ahead = Ahead::default();
        let windows: Vec<usize> = (0..7).map(|_| ahead.at_leaf(40)).collect();
        assert_eq!(windows, [0, 4, 8, 16, 32, 40, 40]);
        assert_eq!(ahead.at_inner(), 1);
    }
}
