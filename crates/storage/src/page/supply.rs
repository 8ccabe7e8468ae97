//! What a new page needs: an id that nobody uses, and a frame.
//!
//! Under a lock of its own, which is only held to take or to give: a commit takes it for every page that it copies, while
//! whoever publishes the commits before it is busy with `Reuse`. Where both locks are taken, this is the second.
//!
//! The last frames are for who loads pages: a new page is dirty, and while the disk is full it can not go. Pages that were
//! loaded can always go, so who only reads finds frames however much was changed.

use super::frames::{Frame, FreeFrames};
use super::free_ids::FreeIds;
use crate::broken::{self, Broken};
use crate::{Error, Result};

#[derive(Debug)]
pub(crate) struct Supply {
    pub(super) ids: FreeIds,
    /// No page at or beyond this was ever used.
    pub(super) end: u32,
    pub(super) frames: FreeFrames,
    /// Frames that no new page gets.
    pub(super) kept: usize,
}

impl Supply {
    pub(super) fn new(max_pages: u32, frames: FreeFrames, kept: usize) -> Supply {
        Supply { ids: FreeIds::new(max_pages), end: 2, frames, kept }
    }

    /// A frame and an id, or neither.
    pub(super) fn take(&mut self, max_pages: u32) -> Result<(Frame, u32)> {
        if self.frames.len() <= self.kept && !broken::is(Broken::ReadersStarved) {
            return Err(Error::CacheFull);
        }
        let frame = self.frames.pop().ok_or(Error::CacheFull)?;
        match self.take_id(max_pages) {
            Ok(id) => Ok((frame, id)),
            Err(error) => {
                self.frames.push(frame);
                Err(error)
            }
        }
    }

    pub(super) fn take_id(&mut self, max_pages: u32) -> Result<u32> {
        if let Some(id) = self.ids.pop() {
            return Ok(id);
        }
        if self.end >= max_pages {
            if let Some(id) = self.ids.pop_kept() {
                return Ok(id);
            }
            return Err(Error::DiskFull { what: "allocate a page (max_pages reached)" });
        }
        self.end += 1;
        Ok(self.end - 1)
    }
}
