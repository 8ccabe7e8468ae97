//! How far a walk along the leaves reads ahead.
//!
//! The first page that is not in memory is read alone: it may be all that is wanted. From the second on, those that
//! come after it are read with it, twice as many each time, as far as the cache bears it. A walk to somewhere else begins
//! anew.
//!
//! What lies apart in the file is read at the same time, by other threads (`page/fetch.rs`). A walk that reads as many at a time
//! as it may has them read those that come then, and asks for the next ones when it comes to the first of them. Where they
//! have not come yet, it reads with those threads.
//!
//! A walk that misses more than a part of a full cache does not run the rest through it: leaves that it has read and
//! passed, and that nobody else looked at, make room for those that come next. So what others read stays, a part of a
//! table that is larger than the cache is still there for the next walk, and the frames, few and always the same, stay in
//! the processor's cache, where reading into them takes half the time.

use crate::page::{PageRef, Pages, Pin};

/// Pages read together at the second miss.
const FIRST: usize = 4;

/// Leaves read for each page above them that is read with others.
const LEAVES_PER_INNER: usize = 32;

/// A walk that missed fewer leaves than one in so many of the cache's frames keeps them.
const KEPT: usize = 4;

/// The leaves that a walk reads and passes.
#[derive(Debug)]
pub(super) struct Trail {
    /// Leaves read so far.
    read: usize,
    /// Those that were read, or asked for, and not passed yet, in the order of the walk, if they are let go then.
    last: Vec<PageRef>,
    /// Where among them the walk was last.
    at: usize,
    /// Leaves are let go, until the walk goes somewhere else.
    is_passing: bool,
    /// The first of the leaves that were asked for last, or none.
    due: PageRef,
    /// How many they are.
    asked: usize,
    /// Where in `last` they begin, or those behind them where they were there already.
    due_at: usize,
}

impl Default for Trail {
    fn default() -> Trail {
        let (last, due) = (Vec::new(), PageRef::NONE);
        Trail { read: 0, last, at: 0, is_passing: false, due, asked: 0, due_at: 0 }
    }
}

impl Trail {
    pub(super) fn restart(&mut self) {
        (self.read, self.is_passing) = (0, false);
        (self.due, self.asked, self.due_at) = (PageRef::NONE, 0, 0);
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

    /// Whether the walk has come to what was asked for last, and those behind that are to be asked for.
    #[inline]
    pub(super) fn is_due(&self, leaf: PageRef) -> bool {
        leaf == self.due
    }

    /// How many leaves were asked for last.
    pub(super) fn asked(&self) -> usize {
        self.asked
    }

    /// The walk has come to what was asked for last: lets go of what was before it. The caller must not be pinned.
    pub(super) fn pass_to_due(&mut self, pages: &Pages) {
        self.pass(pages, self.due_at);
    }

    /// The walk has come to the first of these leaves, which is missing and was not asked for: lets go of what was before them, and
    /// is about to read those of them that are not in memory, as far as what was asked for. The caller must not be pinned.
    pub(super) fn read(&mut self, pages: &Pages, coming: &mut Vec<PageRef>) {
        let missed = coming.first().copied();
        coming.truncate(coming.iter().position(|leaf| self.is_due(*leaf)).unwrap_or(coming.len()));
        // What others asked for comes without this walk, but for what it waits for.
        missed.into_iter().for_each(|missed| pages.fetches.leave_out(coming, missed));
        let end = if self.is_asking() { self.due_at } else { self.last.len() };
        let to = self.last.iter().position(|own| coming.contains(own)).unwrap_or(end);
        self.pass(pages, to);
        let mut missing = pages.missing(coming);
        missing.retain(|leaf| !self.last.contains(leaf));
        self.note(pages, &missing);
    }

    /// Whether the walk has yet to come to what was asked for last.
    pub(super) fn is_asking(&self) -> bool {
        !self.due.is_none()
    }

    fn pass(&mut self, pages: &Pages, to: usize) {
        if to > 0 {
            pages.let_go(&self.last[..to]);
            self.last.drain(..to);
            self.at = self.at.saturating_sub(to);
            self.due_at = self.due_at.saturating_sub(to);
        }
    }

    fn note(&mut self, pages: &Pages, missing: &[PageRef]) {
        self.read += missing.len();
        self.is_passing |= self.read > pages.frame_count() / KEPT && pages.is_full();
        if self.is_passing {
            self.last.extend_from_slice(missing);
        }
    }

    /// Has other threads read the leaves, and pages above those that come then.
    pub(super) fn ask(&mut self, pages: &Pages, leaves: &[PageRef], above: &[PageRef]) {
        let mut wanted = pages.missing(&[leaves, above].concat());
        let is_asked = wanted.is_empty() || pages.ask(&mut wanted);
        let due = leaves.first().filter(|_| is_asked);
        (self.due, self.asked, self.due_at) = (due.copied().unwrap_or(PageRef::NONE), leaves.len(), self.last.len());
        if is_asked {
            wanted.retain(|page| !above.contains(page));
            self.note(pages, &wanted);
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

    /// Whether as many are read together as ever will be.
    pub(super) fn is_at(&self, limit: usize) -> bool {
        self.window == limit
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
