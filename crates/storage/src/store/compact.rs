//! Giving free space back: pages at the end of the file move to free ids below, then the file is cut.

use crate::broken::{self, Broken};
use crate::engine::{Engine, Op, Writer};
use crate::page::SlotId;
use crate::tree::overflow_value;
use crate::txn::Claimed;
use crate::{Error, Result, TreeId};

/// A database closes with less than one page in so many free, if it is small enough to be gone through then.
const FREE_AT_CLOSE: u32 = 10;
const PASSES_AT_CLOSE: u32 = 3;

/// Moves live pages down until none lies beyond as many ids as there are live pages, and truncates. Returns the file's
/// bytes before and after.
pub(super) fn compact(engine: &Engine) -> Result<(u64, u64)> {
    let before = length(engine)?;
    engine.work_off_drops()?;
    engine.run_checkpoint()?;
    for _ in 0..8 {
        if pass(engine)? == 0 {
            break;
        }
    }
    engine.truncate_file()?;
    Ok((before, length(engine)?))
}

/// Before closing: gives back what a small database has too much of. Few passes, so that what it costs is bounded: the
/// second moves what the first had no room for, because it copies inner pages too.
pub(super) fn compact_at_close(engine: &Engine) -> Result<()> {
    engine.run_checkpoint()?;
    engine.pages.sweep_some(usize::MAX);
    if !has_too_much(engine) {
        return Ok(());
    }
    for _ in 0..PASSES_AT_CLOSE {
        let (end, free) = engine.pages.page_counts();
        let live_bytes = u64::from(end - free) * engine.pages.page_size() as u64;
        if live_bytes > engine.options.close_compact_bytes || !has_too_much(engine) {
            break;
        }
        pass(engine)?;
        engine.truncate_file()?;
    }
    engine.truncate_file()
}

fn has_too_much(engine: &Engine) -> bool {
    let (end, free) = engine.pages.page_counts();
    free > 0 && free >= end / FREE_AT_CLOSE
}

/// Moves pages down once. Two checkpoints: after the first, pages that only the one before needed are free; the second
/// lets go of the places that moved pages left. Returns how many were moved.
fn pass(engine: &Engine) -> Result<usize> {
    let moved = move_down(engine)?;
    engine.checkpoint_anyway()?;
    engine.pages.sweep_some(usize::MAX);
    engine.checkpoint_anyway()?;
    Ok(moved)
}

fn length(engine: &Engine) -> Result<u64> {
    engine.pages.file().len().map_err(Error::io("read the file's length"))
}

/// Copies the pages that lie beyond the end that the database would have without free pages. Returns how many.
fn move_down(engine: &Engine) -> Result<usize> {
    let (end, free) = engine.pages.page_counts();
    let wanted_end = end - free;
    let claimed = Claimed::by_engine(engine)?;
    let mut moved = 0;
    // Pages moved, and leaves looked at, per commit: others wait meanwhile.
    let step_pages = (engine.pages.frame_count() / 16).min(256);
    let trees: Vec<TreeId> = engine.lock_writer().trees.list().ids();
    for tree in trees {
        let mut from = Some(Vec::new());
        while from.is_some() {
            let mut writer = engine.lock_with_room(64, None)?;
            let step = Step { tree, wanted_end, pages: step_pages };
            let mark = writer.mark(engine.stamp());
            match step.run(engine, claimed.slot, &mut writer, &mut from) {
                Ok(pages) => moved += pages,
                Err(error) => {
                    writer.undo(mark, &engine.pages);
                    return Err(error);
                }
            }
            // A record without a version would only fill the log: no checkpoint lets go of it.
            if !writer.changed {
                continue;
            }
            // The log has nothing to tell of moved pages, but the version is published with a batch: an empty record.
            let position = engine.append(&mut writer, crate::log::RecordKind::Commit, &[]);
            engine.wait_durable(writer, position)?;
        }
    }
    Ok(moved)
}

/// What one commit moves.
struct Step {
    tree: TreeId,
    wanted_end: u32,
    pages: usize,
}

impl Step {
    /// Moves the next pages of the tree, from the key `from` on; returns how many. After an error the caller undoes it.
    fn run(&self, engine: &Engine, slot: SlotId, writer: &mut Writer, from: &mut Option<Vec<u8>>) -> Result<usize> {
        let Some(root) = writer.trees.root(self.tree) else {
            *from = None;
            return Ok(0);
        };
        let (mut new_root, mut long) = (root, Vec::new());
        let (made, mut left) = (writer.changes.created.len(), self.pages);
        let step = engine.with_pages(slot, |pin| {
            let mut edit = writer.edit(&engine.pages, pin, self.tree, &mut new_root);
            edit.move_down(self.wanted_end, (made + self.pages, &mut left), from, &mut long)
        });
        if !broken::is(Broken::CompactRootKept) {
            writer.trees.set(self.tree, new_root);
        }
        writer.changed |= new_root != root || !long.is_empty();
        step?;
        let moved = writer.changes.created.len().saturating_sub(made) + long.len();
        for (key, length, first) in long {
            let mut value = Vec::new();
            overflow_value(&engine.pages, slot, length, first, &mut value)?;
            engine.apply(writer, slot, Op::Put { tree: self.tree, key: &key, value: &value })?;
        }
        Ok(moved)
    }
}
