//! Checkpoints on a full disk: the log and the file give back what they do not need, then the checkpoint is written, then the log
//! may grow.
//!
//! What must hold:
//! - Space is given back before the log takes more: otherwise the log takes whatever becomes free, and no checkpoint, which
//!   alone lets go of the log, ever finds room.
//! - A checkpoint that found no room leaves nothing of the disk taken but what the next one needs: pages of the newest version, and
//!   what is durable. So the next needs no more than this one, be its pages where they are.
//! - Where the newest version has the same trees as the durable checkpoint, nothing but the log's begin has changed (what was in the
//!   log was parts of transactions that are no more, say). Its lists are right for it, then: they name the same pages, what they call
//!   free is free, and what they call dropped may be freed once more. So meta pages do, which take no room. Both of them are
//!   written before the log is let go of: whichever is damaged later, the other needs no more of the log.

use super::checkpoint::{CheckpointState, Target};
use super::meta::Meta;
use super::shared::Engine;
use super::stage::{Act, Stage};
use crate::broken::{self, Broken};
use crate::sync::Ordering;
use crate::{Error, Result};

/// Pages of a checkpoint's lists, mostly.
const LISTS_PAGES: u64 = 8;

impl Engine {
    /// Writes a checkpoint; on a full disk once more, in the room that log and file do not need.
    pub(super) fn write_with_room(&self, state: &mut CheckpointState, target: &Target, clean: bool) -> Result<()> {
        let mut written = self.write_checkpoint(state, target, clean);
        if self.lacks_room(&written) {
            self.give_back_log(state)?;
            self.pages.give_back_free()?;
            written = self.write_checkpoint(state, target, clean);
        }
        if self.lacks_room(&written) {
            self.pages.give_back_free()?;
        }
        let is_same = || target.trees == state.trees && !broken::is(Broken::LogKeepsAll);
        if self.lacks_room(&written) && is_same() {
            written = self.let_go_of_log(state, target, clean);
        }
        if let (Ok(()), Some(segments)) = (&written, &self.segments) {
            segments.look_again();
        }
        written.map_err(|error| error.needing(self.bytes_of(state, target)))
    }

    /// Whether it failed for that, and nothing is written that may be there or not.
    fn lacks_room(&self, written: &Result<()>) -> bool {
        is_of_disk(written) && self.publisher.life.stage() != Stage::Failed
    }

    /// About what the checkpoint takes: its pages, and lists like those of the last.
    fn bytes_of(&self, state: &CheckpointState, target: &Target) -> u64 {
        let pages = self.pages.dirty_in(target.version).len() + state.own_pages.len() + 2;
        pages as u64 * self.pages.page_size() as u64
    }

    /// About what a checkpoint takes now.
    pub(crate) fn checkpoint_room(&self) -> u64 {
        (self.pages.dirty_count() as u64 + LISTS_PAGES) * self.pages.page_size() as u64
    }

    /// The checkpoint before, which needs less of the log.
    fn let_go_of_log(&self, state: &mut CheckpointState, target: &Target, clean: bool) -> Result<()> {
        let held = state.meta.version;
        for _ in 0..2 {
            let before = &state.meta;
            let (checkpoint, directory, free_map, end) =
                (before.checkpoint, before.directory, before.free_map, before.end);
            let described = self.describe(before, target, clean);
            let meta = Meta { checkpoint, directory, free_map, end, lists: before.lists.clone(), ..described };
            self.write_meta(state, &meta)?;
            state.meta = meta;
        }
        self.pages.unhold(held);
        self.checkpoint_position.store(state.meta.position, Ordering::Release);
        if let Some(segments) = &self.segments {
            segments.release_before(state.meta.needed_from);
        }
        self.set_pressure();
        Ok(())
    }

    /// Gives back what log and file do not need of the disk.
    pub(crate) fn give_back(&self) -> Result<()> {
        let mut state = self.checkpoint.lock();
        self.publisher.life.check(Act::Checkpoint)?;
        self.give_back_log(&mut state)?;
        self.pages.give_back_free()
    }

    fn give_back_log(&self, state: &mut CheckpointState) -> Result<()> {
        let Some(segments) = &self.segments else { return Ok(()) };
        let given = segments.give_back(|log_places| {
            // In both: whichever is damaged later, the other is believed.
            (0..2).try_for_each(|_| {
                let meta = Meta { log_places, sequence: state.meta.sequence + 1, ..state.meta.clone() };
                self.write_meta(state, &meta)?;
                state.meta = meta;
                Ok(())
            })
        });
        given.map(drop).inspect_err(|error| {
            if segments.failed() {
                self.publisher.life.fail(error);
            }
        })
    }
}

/// Whether the file system has no room: for `max_pages` the log can do nothing.
fn is_of_disk(written: &Result<()>) -> bool {
    matches!(written, Err(error @ Error::DiskFull { .. }) if !error.is_of_pages())
}
