//! A full disk: what the log does not need of its file goes back to the file system.
//!
//! What must hold:
//! - Only what lies at the file's end is given back, behind everything that is live, and nothing that is ready for who was promised a
//!   segment. (So the lowest place that is ready is used first.)
//! - Before the file is cut, its header and both meta pages say durably that there are fewer places: a log that is shorter than
//!   one of them says was cut by somebody else, and is refused. A crash in between leaves a file that is longer than they say, as a
//!   crash while it grows does.
//! - A place that is about to be cut is in nobody's hands from before that until it is gone, or until it is known that it stays.
//! - The log leaves room for a small checkpoint: it grows only where it finds that besides. (Otherwise the parts of one large
//!   transaction take the disk to its last block, and what others commit meanwhile has no way out of the log.)
//! - Once the disk was full the log grows no more ahead of need until a checkpoint came through: what is left of the disk is for
//!   that, which gives back more than it takes.

use super::segments::Segments;
use crate::broken::{self, Broken};
use crate::sync::Ordering;
use crate::{Error, Result};

/// What a log is about to give back.
struct Surplus {
    /// The places that stay, and those that the header may count.
    left: u32,
    noted: u32,
    withdrawn: Vec<u32>,
}

impl Segments {
    /// Gives the file system what lies at the end of the log's file and is not needed; whether there was any. `note` has both meta pages
    /// say how many places are left. No checkpoint may be made meanwhile.
    pub(crate) fn give_back(&self, note: impl FnOnce(u32) -> Result<()>) -> Result<bool> {
        let _one = self.filling.lock();
        self.is_short.store(true, Ordering::Release);
        let length = self.growing.len().map_err(Error::io("read the log's length"))?;
        if broken::is(Broken::LogKeepsAll) {
            return Ok(false);
        }
        let surplus = self.withdraw();
        if length <= self.offset(surplus.left) {
            self.lock_places().take_back(surplus.withdrawn);
            return Ok(false);
        }
        if surplus.left < surplus.noted && !broken::is(Broken::CutUnnoted) {
            let noted = self.note_places(surplus.left).and_then(|()| note(surplus.left));
            noted.inspect_err(|_| self.lock_places().take_back(surplus.withdrawn))?;
        }
        self.cut(surplus.left)?;
        self.lock_places().count = surplus.left;
        Ok(true)
    }

    /// Takes from those that are ready what is to be given back.
    fn withdraw(&self) -> Surplus {
        let mut places = self.lock_places();
        let in_use = places.live.iter().map(|(_, place)| place + 1).max().unwrap_or(1);
        let mut ready: Vec<u32> = places.ready.iter().copied().collect();
        ready.sort_unstable();
        let kept = places.promises.segments().min(ready.len());
        let promised = kept.checked_sub(1).map_or(0, |last| ready[last] + 1);
        let mut left = in_use.max(promised);
        if broken::is(Broken::CutInUse) {
            left = left.saturating_sub(1).max(1);
        }
        let (count, noted) = (places.count, places.noted);
        places.ready.retain(|&place| place < left);
        Surplus { left: left.min(count), noted, withdrawn: ready.into_iter().filter(|&place| place >= left).collect() }
    }

    /// A place could not be added, for want of space: others need the room of the part that was filled. The file is as long as its
    /// header may say again (a place whose count could not be written stays), or a little longer, which harms nobody.
    pub(super) fn stop_short(&self) {
        self.is_short.store(true, Ordering::Release);
        if !broken::is(Broken::LogKeepsAll) {
            let noted = self.lock_places().noted;
            let _ = self.cut(noted);
        }
    }

    /// Cuts the file, which is longer, to so many places.
    fn cut(&self, places: u32) -> Result<()> {
        let cut = self.growing.set_len(self.offset(places)).map_err(Error::io("cut the log"));
        cut.inspect_err(|_| self.failed.store(true, Ordering::Release))?;
        self.sync()
    }

    /// Whether the file system had no room for another place, as far as is known.
    pub(crate) fn is_short(&self) -> bool {
        self.is_short.load(Ordering::Acquire) && !broken::is(Broken::GrowsFirst)
    }

    /// A checkpoint came through, or the log grew: there may be room again.
    pub(crate) fn look_again(&self) {
        self.is_short.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::Error;
    use crate::io::{CrashStrategy, FileSystem, SimDisk, SyncMethod};
    use crate::log::format::{BLOCK, LogIdentity};
    use crate::log::segments::Segments;

    /// Whether the header says that a place is there whose count could not be written. It is there, after a place more was tried.
    fn header_counts_what_failed(seed: u64) -> bool {
        let (disk, path) = (SimDisk::new(seed), Path::new("log"));
        let identity = LogIdentity { database: 7, segment_bytes: 16 << 10 };
        let segments = Segments::create(&disk, path, identity, 1 << 20, SyncMethod::Dsync).unwrap();
        assert!(segments.grow(|| 0).unwrap());
        // The zeros are synced, what counts them is not.
        disk.fail_sync_of(path, 2);
        assert!(segments.grow(|| 0).is_err());
        assert_eq!(segments.places(), 1);
        disk.set_capacity(Some(disk.space_used()));
        assert!(matches!(segments.grow(|| 0), Err(Error::DiskFull { .. })));

        let left = SimDisk::from_image(&disk.crash(CrashStrategy::KeepAll), seed);
        let (file, found) = Segments::open(&left as &dyn FileSystem, path, true).unwrap();
        assert_eq!(found, Some(identity));
        let mut header = crate::io::AlignedBuf::zeroed(BLOCK);
        file.read_at(&mut header, 0).unwrap();
        let counted = LogIdentity::decode_places(&header).unwrap();
        let there = (file.len().unwrap() - BLOCK as u64) / segments.size();
        assert!(there >= counted.into(), "{there} places, and the header says {counted}");
        counted > 1
    }

    /// The header said that there were two places, the file was cut to one, and the next opening refused it as damaged.
    #[test]
    fn a_place_that_the_header_may_count_is_not_cut_off() {
        assert!((0..20).filter(|&seed| header_counts_what_failed(seed)).count() > 2);
    }
}
