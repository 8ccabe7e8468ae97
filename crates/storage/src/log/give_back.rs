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
    /// The places that stay, and those that there are.
    left: u32,
    before: u32,
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
        if surplus.left < surplus.before && !broken::is(Broken::CutUnnoted) {
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
        let before = places.count;
        places.ready.retain(|&place| place < left);
        Surplus {
            left: left.min(before),
            before,
            withdrawn: ready.into_iter().filter(|&place| place >= left).collect(),
        }
    }

    /// A place could not be filled, for want of space: others need the room of the part that was. The file is as long as its header says
    /// again, or a little longer, which harms nobody.
    pub(super) fn stop_short(&self) {
        self.is_short.store(true, Ordering::Release);
        if !broken::is(Broken::LogKeepsAll) {
            let count = self.lock_places().count;
            let _ = self.cut(count);
        }
    }

    fn cut(&self, places: u32) -> Result<()> {
        self.set_places(places)?;
        self.sync()
    }

    /// Cuts the file, which is longer, to so many places.
    pub(super) fn set_places(&self, places: u32) -> Result<()> {
        let cut = self.growing.set_len(self.offset(places)).map_err(Error::io("cut the log"));
        cut.inspect_err(|_| self.failed.store(true, Ordering::Release))
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
