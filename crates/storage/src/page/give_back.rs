//! What the file has of the disk and does not need goes back to the file system: its tail, when it is compacted; and all that
//! is free in it, where the disk is full. Checkpoints that found no room have written pages that are free by now, and what is
//! to be written next has its places elsewhere: so each of them would need more than the one before.
//!
//! What must hold: only pages that are free are given back, and while the lock of the supply keeps them from being taken, and
//! written. No durable checkpoint has them then, neither in its trees nor as its lists, so that it does not matter what a crash
//! leaves of it, and when.

use std::ops::Range;

use super::cache::Pages;
use crate::broken::{self, Broken};
use crate::sync::Ordering;
use crate::{Error, Result};

/// Pages that are looked at under one hold of the supply's lock, and no more holes are made: others wait for it meanwhile.
const AT_ONCE: u32 = 256;

impl Pages {
    /// Gives back free ids at the end, and the file's bytes there.
    pub(crate) fn truncate(&self) -> Result<()> {
        let mut supply = self.supply.lock();
        supply.cut();
        let end = supply.end - u32::from(broken::is(Broken::CutTooShort));
        let length = u64::from(end) * self.page_size() as u64;
        self.file().set_len(length).map_err(Error::io("truncate the database file"))
    }

    /// On a full disk: gives the file system whatever the file has for pages that are free.
    pub(crate) fn give_back_free(&self) -> Result<()> {
        if broken::is(Broken::FileKeepsAll) {
            return Ok(());
        }
        self.look_for_free_ids();
        let length = self.file().len().map_err(Error::io("read the file's length"))?;
        // A crash may have left more than there ever were ids.
        let behind = self.cut_tail(length)?;
        let mut first = 2;
        while first < behind {
            let next = behind.min(first.saturating_add(AT_ONCE));
            self.give_back_among(first..next)?;
            first = next;
        }
        Ok(())
    }

    /// Cuts the file, which is so long, behind the last page in use. Where its pages end.
    fn cut_tail(&self, length: u64) -> Result<u32> {
        let mut supply = self.supply.lock();
        supply.cut();
        let size = self.page_size() as u64;
        let used = u64::from(supply.end) * size;
        if used < length {
            self.file().set_len(used).map_err(Error::io("truncate the database file"))?;
        }
        Ok(length.div_ceil(size).min(supply.end.into()) as u32)
    }

    fn give_back_among(&self, ids: Range<u32>) -> Result<()> {
        let supply = self.supply.lock();
        let is_dead = |id: u32| broken::is(Broken::HolesInUse) && self.info.at(id).death.load(Ordering::Relaxed) != 0;
        let is_free = |id: u32| supply.ids.contains(id) || supply.reserve.contains(&id) || is_dead(id);
        let mut first = ids.start;
        while let Some(hole) = next_run(first..ids.end, is_free) {
            first = hole.end;
            let (size, pages) = (self.page_size() as u64, u64::from(hole.end - hole.start));
            let given = self.file().give_back(u64::from(hole.start) * size, pages * size);
            match given.map_err(Error::io("give free pages back to the file system")) {
                // To say that there is a hole may take room, too. What stays is as good as it was.
                Ok(()) | Err(Error::DiskFull { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// The first ids of the range, all in a row, that are such.
fn next_run(ids: Range<u32>, is_such: impl Fn(u32) -> bool) -> Option<Range<u32>> {
    let first = ids.clone().find(|&id| is_such(id))?;
    Some(first..(first..ids.end).find(|&id| !is_such(id)).unwrap_or(ids.end))
}

#[cfg(test)]
mod tests {
    use super::next_run;

    #[test]
    fn runs_are_found_one_after_the_other() {
        let is_such = |id: u32| matches!(id, 2 | 5..=7 | 9);
        assert_eq!(next_run(2..10, is_such), Some(2..3));
        assert_eq!(next_run(3..10, is_such), Some(5..8));
        assert_eq!(next_run(3..7, is_such), Some(5..7));
        assert_eq!(next_run(8..10, is_such), Some(9..10));
        assert_eq!(next_run(10..10, is_such), None);
    }
}
