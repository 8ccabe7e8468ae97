//! How far a walk along the leaves reads ahead.
//!
//! The first page that is not in memory is read alone: it may be all that is wanted. From the second on, those that
//! come after it are read with it, twice as many each time, as far as the cache bears it. A walk to somewhere else begins
//! anew.
//!
//! A walk that misses more than a part of a full cache does not run the rest through it: leaves that it has read and
//! passed, and that nobody else looked at, make room for those that come next. So what others read stays, a part of a
//! table that is larger than the cache is still there for the next walk, and the frames, few and always the same, stay in
//! the processor's cache, where reading into them takes half the time.

use super::cursor::Direction;
use crate::page::{PageRef, Pages, Pin};

/// Pages read together at the second miss.
const FIRST: usize = 4;

/// Leaves read for each page above them that is read with others.
const LEAVES_PER_INNER: usize = 32;

/// A walk that missed fewer leaves than one in so many of the cache's frames keeps them.
const KEPT: usize = 4;

/// The leaves that a walk reads and passes.
#[derive(Debug, Default)]
pub(super) struct Trail {
    /// Leaves read so far.
    read: usize,
    /// Those that were read and not passed yet, if they are let go then.
    last: Vec<PageRef>,
    /// Where among them the walk was last.
    at: usize,
    /// Leaves are let go, until the walk goes somewhere else.
    is_passing: bool,
}

impl Trail {
    pub(super) fn restart(&mut self) {
        (self.read, self.is_passing) = (0, false);
        self.last.clear();
    }

    /// A page that the walk comes to, if it is in memory. Its own are looked at without a trace of that; those that others
    /// read ahead are not, so that they stay for others, too.
    #[inline]
    pub(super) fn get<'p>(&mut self, pages: &Pages, pin: &'p Pin<'_>, page: PageRef) -> Option<&'p [u8]> {
        if self.is_passing && self.has(page) { pages.get_passing(pin, page) } else { pages.get(pin, page) }
    }

    /// Whether the leaf is one of its own: that where it was last, mostly, or one beside it.
    #[inline]
    fn has(&mut self, page: PageRef) -> bool {
        let near = [self.at, self.at + 1, self.at.wrapping_sub(1)];
        let is_there = |&at: &usize| self.last.get(at) == Some(&page);
        let found = near.into_iter().find(is_there).or_else(|| self.last.iter().position(|own| *own == page));
        self.at = found.unwrap_or(self.at);
        found.is_some()
    }

    /// The walk misses a leaf, and is about to read those of `coming` that are not in memory: those behind it are let go. The
    /// caller must not be pinned.
    pub(super) fn go_on(&mut self, pages: &Pages, missed: PageRef, coming: &[PageRef], direction: Direction) {
        let behind = match (self.last.iter().position(|page| *page == missed), direction) {
            (None, _) => 0..self.last.len(),
            // It was evicted before the walk came to it; others are still to come.
            (Some(at), Direction::Forward) => 0..at + 1,
            (Some(at), Direction::Backward) => at..self.last.len(),
        };
        if !behind.is_empty() {
            pages.let_go(&self.last[behind.clone()]);
            self.last.drain(behind);
        }
        let missing = pages.missing(coming);
        self.read += missing.len();
        self.is_passing |= self.read > pages.frame_count() / KEPT && pages.is_full();
        if self.is_passing {
            self.last.extend(missing);
        }
    }
}

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
