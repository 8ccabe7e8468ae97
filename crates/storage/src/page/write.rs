//! Writing pages to the file.
//!
//! What must hold:
//! - Only sealed pages are written. A write may go on while the page is read, and even while it is freed: its id and its
//!   frame are its own until the write has ended.
//! - One write at a time per page, so that no older one lands last.

use super::cache::Pages;
use super::frames::{DIRTY, FIXED, FREED, Place, WRITING};
use super::layout;
use crate::io::AlignedBuf;
use crate::{Error, Result};

/// Pages written in one go.
pub(super) const RUN: usize = 32;

/// A page that is being written, by whoever has this.
#[derive(Debug)]
#[must_use = "a write that has begun ends"]
pub(super) struct Writing {
    id: u32,
    place: Place,
}

impl Pages {
    /// Dirty sealed pages that belong to `version`, ascending.
    pub(crate) fn dirty_in(&self, version: u64) -> Vec<u32> {
        let mut ids: Vec<u32> = self
            .states()
            .filter(|state| state.is(DIRTY) && !state.is(FIXED))
            .filter_map(|state| state.page())
            .filter(|&id| self.info.at(id).lives_in(version))
            .collect();
        ids.sort_unstable();
        ids
    }

    /// Whether the newest copy of the page is not in the file yet.
    pub(crate) fn is_dirty(&self, id: u32) -> bool {
        self.frames.find(id).is_some_and(|place| place.state.is(DIRTY))
    }

    pub(crate) fn dirty_count(&self) -> usize {
        self.states().filter(|state| state.is(DIRTY)).count()
    }

    /// Writes sealed dirty pages to their places, neighbours together, without syncing.
    pub(crate) fn write_out(&self, ids: &mut Vec<u32>) -> Result<()> {
        ids.sort_unstable();
        let mut staging = AlignedBuf::zeroed(RUN * self.page_size());
        let mut rest = ids.as_slice();
        while let Some(&first) = rest.first() {
            let run = rest.iter().enumerate().take(RUN).take_while(|&(i, &id)| id == first + i as u32).count();
            let written = self.write_run(&rest[..run], &mut staging)?;
            // A page that was freed, cleaned or is being written since it was chosen ends the run before it.
            rest = &rest[run.min(written + 1)..];
        }
        Ok(())
    }

    /// Writes the first of these neighbours, up to one that can not be written; how many.
    fn write_run(&self, ids: &[u32], staging: &mut AlignedBuf) -> Result<usize> {
        let size = self.page_size();
        let writes: Vec<Writing> = ids.iter().map_while(|&id| self.begin_write(id)).collect();
        for (writing, copy) in writes.iter().zip(staging.chunks_exact_mut(size)) {
            let address = self.frames.memory.address(writing.place.frame);
            // SAFETY: begun writes keep the page and its frame; it is sealed, so its bytes do not change.
            copy.copy_from_slice(unsafe { self.frames.memory.page(address) });
            layout::seal_checksum(copy);
        }
        let count = writes.len();
        let result = match count {
            0 => Ok(()),
            _ => self.file().write_at(&staging[..count * size], u64::from(ids[0]) * size as u64),
        };
        writes.into_iter().for_each(|writing| self.end_write(writing, result.is_ok()));
        result.map_err(Error::io("write pages"))?;
        self.counters.pages_written.add(count as u64);
        Ok(count)
    }

    /// Claims a dirty sealed page for writing.
    fn begin_write(&self, id: u32) -> Option<Writing> {
        loop {
            let place = self.frames.find(id)?;
            if !place.state.is(DIRTY) || place.state.any(FIXED | WRITING) {
                return None;
            }
            let state = place.state.with(WRITING);
            if self.frames.change(place, state) {
                return Some(Writing { id, place: Place { state, ..place } });
            }
        }
    }

    fn end_write(&self, writing: Writing, is_written: bool) {
        let Writing { id, mut place } = writing;
        let ended = WRITING | FREED | if is_written { DIRTY } else { 0 };
        while !self.frames.change(place, place.state.without(ended)) {
            let now = self.frames.state(place.frame);
            // Only its id may have been freed meanwhile: unless the engine was broken on purpose, it is the same page.
            if !now.same_use(place.state) {
                return;
            }
            place.state = now;
        }
        if place.state.is(FREED) {
            self.free_private(&[id]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{SlowFile, create, few_pages};
    use super::*;

    /// Each page that could not be written began another call, with memory of its own, for those behind it.
    #[test]
    fn pages_that_others_write_are_passed_over() {
        let pages = few_pages(SlowFile::new());
        let ids: Vec<u32> = (0..40).map(|birth| create(&pages, birth + 1).id).collect();
        let are_others = |at: usize| matches!(at, 0 | 3 | 4 | 31 | 39);
        let others: Vec<u32> = (0..40).filter(|&at| are_others(at)).map(|at| ids[at]).collect();
        let writes: Vec<Writing> = others.iter().filter_map(|&id| pages.begin_write(id)).collect();
        assert_eq!(writes.len(), others.len());
        pages.write_out(&mut ids.clone()).unwrap();
        assert_eq!(pages.counters.read().pages_written, 35);
        ids.iter().for_each(|&id| assert_eq!(pages.is_dirty(id), others.contains(&id)));
        writes.into_iter().for_each(|writing| pages.end_write(writing, false));
        pages.write_out(&mut ids.clone()).unwrap();
        assert!(!ids.iter().any(|&id| pages.is_dirty(id)));
    }
}
