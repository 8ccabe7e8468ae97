//! Where the lists of a checkpoint lie, which hold the copy of the catalog: apart from the catalog itself, so that no damage to
//! one part of the file takes both.
//!
//! What must hold, where there is room for it (`docs/format.md` says how far, and why):
//! - A cut takes both only if it takes nearly all of the file: where pages of the catalog lie at the end, the lists lie in its
//!   first pages, which are kept for them, or as far before the catalog as there are free ids.
//! - What damages some of the pages on either side of one of both leaves the other: no list lies within `distance` pages of a page
//!   of the catalog, but in files that are too small for that.
//!
//! Ids that are kept are free like others in the free map: only who hands ids out knows of them, and a file of which they
//! are in use is as good. Tried and dropped: moving the catalog away from the lists (a commit of the engine's own, whenever a
//! table is made), and a second chain of lists (twice the writing at each checkpoint).

use std::ops::Range;

use super::cache::{NO_VERSIONS, Pages};
use super::supply::{Needs, Supply};
use crate::broken::{self, Broken};
use crate::sync::Ordering;
use crate::{Error, Result};

/// Pages that are kept for the lists: twice three for the trees and the catalog, twice one for the free map, for the lists
/// of a checkpoint are written before those of the last are free.
pub(super) const KEPT: Range<u32> = 2..10;

/// Of a database that may have fewer pages than this none are kept.
const MAX_PAGES_MIN: u32 = 1024;

/// Files of fewer pages than this are too small for a distance.
const PAGES_MIN: u32 = 64;

/// A distance is one in so many of the pages, but within these bounds.
const SHARE: u32 = 64;
const DISTANCE: [u32; 2] = [16, 256];

/// So many free ids are looked at, and as many as are taken: who commits waits for it. (Where a catalog lies all over a
/// file of 16 million pages, looking at each took half a second.)
const LOOKS: usize = 10_000;

/// Pages around those of the catalog, in which no list should lie.
struct Around<'a> {
    /// Ascending.
    catalog: &'a [u32],
    distance: u32,
}

impl Around<'_> {
    fn has(&self, id: u32) -> bool {
        let behind = self.catalog.partition_point(|&page| page < id);
        let is_near = |page: Option<&u32>| page.is_some_and(|page| page.abs_diff(id) <= self.distance);
        self.distance > 0 && (is_near(self.catalog.get(behind)) || behind > 0 && is_near(self.catalog.get(behind - 1)))
    }
}

impl Supply {
    /// Sets the end of a file, and keeps its first pages; those of a new one are free.
    pub(super) fn keep_apart(&mut self, end: u32, max_pages: u32) {
        self.end = end.max(KEPT.start);
        if max_pages < MAX_PAGES_MIN {
            return;
        }
        self.ids.keep(KEPT);
        if end <= KEPT.start {
            self.end = KEPT.end;
            KEPT.for_each(|id| self.ids.insert(id));
        }
    }

    /// Takes ids for the lists of a checkpoint, of a database whose catalog lies in these pages.
    fn take_apart(&mut self, count: usize, catalog: &[u32]) -> Result<Vec<u32>> {
        let distance = if self.end < PAGES_MIN { 0 } else { (self.end / SHARE).clamp(DISTANCE[0], DISTANCE[1]) };
        let around = Around { catalog, distance };
        let far = |ids: &mut dyn Iterator<Item = u32>| {
            ids.take(LOOKS + count).filter(|&id| !around.has(id)).take(count).collect::<Vec<_>>()
        };
        let free = [far(&mut self.ids.kept()), far(&mut self.ids.others(self.end))];
        if let Some(ids) = free.into_iter().find(|ids| ids.len() == count) {
            ids.iter().for_each(|&id| self.ids.remove(id));
            return Ok(ids);
        }
        let kept: Vec<u32> = self.ids.kept().take(count).collect();
        // Behind the end, and a gap where the catalog lies before it. A cut takes all that is there: then rather beside the
        // catalog's first pages.
        let behind = (self.end..).find(|&id| !around.has(id)).unwrap_or(u32::MAX);
        if kept.len() == count && behind > self.end {
            kept.iter().for_each(|&id| self.ids.remove(id));
            return Ok(kept);
        }
        match u32::try_from(count).ok().and_then(|count| behind.checked_add(count)).filter(|&end| end <= self.limit) {
            Some(end) => {
                (self.end..behind).for_each(|id| self.ids.insert(id));
                self.end = end;
                Ok((behind..end).collect())
            }
            None => self.take_any(count),
        }
    }

    /// Takes the ids that any page would get.
    fn take_any(&mut self, count: usize) -> Result<Vec<u32>> {
        let mut taken = Vec::with_capacity(count);
        for _ in 0..count {
            match self.take_id(Needs::Checkpoint) {
                Ok(id) => taken.push(id),
                Err(error) => {
                    if !broken::is(Broken::CheckpointIdsLeak) {
                        taken.into_iter().for_each(|id| self.ids.insert(id));
                        self.fill_up();
                    }
                    return Err(error);
                }
            }
        }
        Ok(taken)
    }
}

impl Pages {
    /// Takes ids for pages that only the checkpoint of `version` holds and that never enter the cache, apart from those of
    /// the catalog (ascending; none if they are not known).
    pub(crate) fn take_checkpoint_ids(&self, version: u64, count: usize, catalog: &[u32]) -> Result<Vec<u32>> {
        self.try_take_checkpoint_ids(version, count, catalog).or_else(|_: Error| {
            self.look_for_free_ids();
            self.try_take_checkpoint_ids(version, count, catalog)
        })
    }

    fn try_take_checkpoint_ids(&self, version: u64, count: usize, catalog: &[u32]) -> Result<Vec<u32>> {
        let mut supply = self.supply.lock();
        // Those that there is a gap of before them, and no more of that than the distance.
        self.reach(&mut supply, u32::try_from(count).unwrap_or(u32::MAX).saturating_add(DISTANCE[1] + 1))?;
        let taken = match broken::is(Broken::CatalogTogether) {
            true => supply.take_any(count),
            false => supply.take_apart(count, catalog),
        }?;
        for info in taken.iter().map(|&id| self.info.at(id)) {
            // Before it joins: from then on it could be taken for one of something dropped.
            info.death.store(if broken::is(Broken::ListsUnmarked) { 0 } else { NO_VERSIONS }, Ordering::Release);
            info.joined.store(version, Ordering::Release);
        }
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::super::frames::FreeFrames;
    use super::*;

    /// All were looked at, while who commits waited for a page.
    #[test]
    fn few_free_ids_are_looked_at_for_those_apart() {
        const END: u32 = 60_000;
        let taken_of = |free: u32| {
            let mut supply = Supply::new(2 * END, 0, FreeFrames::none(), 0);
            assert!(supply.ids.reach(2 * END));
            supply.keep_apart(END, 2 * END);
            // All of them near the catalog, but for the last.
            (END - free..END).for_each(|id| supply.ids.insert(id));
            let catalog: Vec<u32> = (0..END - 1000).step_by(100).collect();
            supply.take_apart(1, &catalog).unwrap()[0]
        };
        assert!((END - 1000..END).contains(&taken_of(5_000)));
        assert_eq!(taken_of(40_000), END);
    }
}
