//! What a new page needs: an id that nobody uses, and a frame.
//!
//! Under a lock of its own, which is only held to take or to give: a commit takes it for every page that it copies, while
//! whoever publishes the commits before it is busy with `Reuse`. Where both locks are taken, this is the second.
//!
//! The last frames are for who loads pages: a new page is dirty, and while the disk is full it can not go. Pages that were
//! loaded can always go, so who only reads finds frames however much was changed.
//!
//! Ids beyond `max_pages` ([`reserve_of`]) are for who frees pages, and the last quarter of them for checkpoints: copy on write
//! takes pages before it gives any back, and what a commit replaced is free only when the next checkpoint is made. Why they
//! suffice: taking one row away copies the path to it in each tree that knows the row, and at most a neighbour beside each
//! page of it. A tree of n pages is at most log2 n deep, and mostly far less: the 48 of the smallest database (64 pages, 6
//! deep, twice that) are for four trees, the 49,152 of one of 2 GiB for more than a table has indexes. Rows taken away in the
//! order of a tree give each leaf back when the last of its rows goes, being the transaction's own; only leaves of indexes in
//! another order pile up, and of those there may be an eighth of all pages. Dropping and emptying a table changes the catalog
//! alone. A checkpoint's lists take two or three bytes for each run of free pages, less than a page in 1,300, and a few for
//! each tree. Who still finds no id has a checkpoint made and tries again (`State::change_when_full`), so that one row after
//! the other goes on for ever. Where there are as many of them as pages (`Options::pages_to_free`), none is copied twice, so that whatever is deleted at once finds its ids.
//! What becomes free while some of the reserve is in use fills that up before anybody else gets it.

use std::collections::BTreeSet;

use super::frames::{Frame, FreeFrames};
use super::free_ids::FreeIds;
use crate::broken::{self, Broken};
use crate::{Error, Options, Result};

/// The fewest pages that options allow.
const PAGES_MIN: u32 = 64;

/// How many ids there are beyond `max_pages`, for who frees. (Models of a few pages have none.)
pub(super) fn reserve_of(options: &Options) -> u32 {
    let most = options.max_pages;
    let reserve = match options.pages_to_free {
        _ if most < PAGES_MIN => 0,
        0 => (most / 8).clamp(64, 1 << 16),
        asked => asked.max(64),
    };
    reserve.min(u32::MAX - most)
}

/// Who takes an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Pages that stay.
    More,
    /// Pages in place of more others.
    Less,
    /// Those of a checkpoint's lists.
    Checkpoint,
}

#[derive(Debug)]
pub(crate) struct Supply {
    pub(super) ids: FreeIds,
    /// No page at or beyond this was ever used.
    pub(super) end: u32,
    /// What is kept by id is there for all below this: no id beyond it is handed out.
    pub(super) reached: u32,
    /// Where ids end for those who need more pages.
    pub(super) limit: u32,
    /// How many there are beyond that, and as many of them as lie below `end`, where others' are in use in their place.
    reserve_most: u32,
    pub(super) reserve: BTreeSet<u32>,
    pub(super) frames: FreeFrames,
    /// Frames that no new page gets.
    pub(super) kept: usize,
}

impl Supply {
    pub(super) fn new(max_pages: u32, reserve_most: u32, frames: FreeFrames, kept: usize) -> Supply {
        let (ids, reserve) = (FreeIds::default(), BTreeSet::new());
        Supply { ids, end: 2, reached: 0, limit: max_pages, reserve_most, reserve, frames, kept }
    }

    /// A frame and an id, or neither.
    pub(super) fn take(&mut self, needs: Needs) -> Result<(Frame, u32)> {
        if !self.frames.are_more_than(self.kept) && !broken::is(Broken::ReadersStarved) {
            return Err(Error::CacheFull);
        }
        let frame = self.frames.pop().ok_or_else(|| Error::CacheFull)?;
        match self.take_id(needs) {
            Ok(id) => Ok((frame, id)),
            Err(error) => {
                self.frames.push(frame);
                Err(error)
            }
        }
    }

    /// Where there is none, there may be one once what is kept by id reaches further.
    #[inline]
    pub(super) fn take_id(&mut self, needs: Needs) -> Result<u32> {
        if let Some(id) = self.ids.pop() {
            return Ok(id);
        }
        if self.end >= self.limit.min(self.reached) {
            return self.take_last(needs);
        }
        self.end += 1;
        Ok(self.end - 1)
    }

    #[cold]
    fn take_last(&mut self, needs: Needs) -> Result<u32> {
        if self.end >= self.reached {
            return Err(Error::DiskFull { what: Error::NO_PAGE, needed: 0 });
        }
        if let Some(id) = self.ids.pop_kept() {
            return Ok(id);
        }
        let is_enough = match needs {
            Needs::More => false,
            Needs::Less => self.reserved() > self.reserve_most / 4 && !broken::is(Broken::IdsUnkept),
            Needs::Checkpoint => self.reserved() > 0 && !broken::is(Broken::ListsUnkept),
        };
        if !is_enough {
            return Err(Error::DiskFull { what: Error::NO_PAGE, needed: 0 });
        }
        let id = self.reserve.pop_first();
        Ok(id.unwrap_or_else(|| {
            self.end += 1;
            self.end - 1
        }))
    }

    /// How much of the reserve is left.
    fn reserved(&self) -> u32 {
        self.reserve.len() as u32 + (self.limit + self.reserve_most - self.end.max(self.limit))
    }

    /// Ids were freed: what was taken of the reserve is made good first.
    #[inline]
    pub(super) fn fill_up(&mut self) {
        if self.end > self.limit {
            self.reserve_more();
        }
    }

    #[cold]
    fn reserve_more(&mut self) {
        while self.reserved() < self.reserve_most
            && let Some(id) = self.ids.pop()
        {
            self.reserve.insert(id);
        }
    }

    /// Takes free ids from the end.
    pub(super) fn cut(&mut self) {
        for id in std::mem::take(&mut self.reserve) {
            self.ids.insert(id);
        }
        while self.end > 2 && self.ids.contains(self.end - 1) {
            self.end -= 1;
            self.ids.remove(self.end);
        }
        self.fill_up();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_frees_finds_ids_where_others_do_not_and_a_checkpoint_where_he_does_not() {
        let mut supply = Supply::new(100, 64, FreeFrames::none(), 0);
        assert!(supply.ids.reach(164));
        supply.reached = u32::MAX;
        let take = |supply: &mut Supply, needs| std::iter::from_fn(|| supply.take_id(needs).ok()).collect::<Vec<_>>();
        assert_eq!(take(&mut supply, Needs::More), (2..100).collect::<Vec<_>>());
        assert_eq!(take(&mut supply, Needs::Less), (100..148).collect::<Vec<_>>());
        assert!(take(&mut supply, Needs::More).is_empty());
        assert_eq!(take(&mut supply, Needs::Checkpoint), (148..164).collect::<Vec<_>>());
        // What becomes free is put by again before others have any of it.
        (2..66).for_each(|id| supply.ids.insert(id));
        supply.fill_up();
        assert!(take(&mut supply, Needs::More).is_empty());
        (66..100).for_each(|id| supply.ids.insert(id));
        supply.fill_up();
        assert_eq!(take(&mut supply, Needs::More).len(), 34);
        assert_eq!(take(&mut supply, Needs::Less).len(), 48);
    }

    #[test]
    fn the_reserve_is_cut_from_the_end_like_other_ids() {
        let mut supply = Supply::new(100, 64, FreeFrames::none(), 0);
        assert!(supply.ids.reach(164));
        supply.reached = u32::MAX;
        while supply.take_id(Needs::Checkpoint).is_ok() {}
        (50..164).for_each(|id| supply.ids.insert(id));
        supply.fill_up();
        supply.cut();
        assert_eq!((supply.end, supply.ids.count(), supply.reserved()), (50, 0, 64));
    }
}
