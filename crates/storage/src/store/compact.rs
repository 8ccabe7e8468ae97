//! Giving free space back: pages at the end of the file move to free ids below, then the file is cut.

use super::engine::Engine;
use super::handle::Store;
use super::writer::Writer;
use crate::page::SlotId;
use crate::tree::overflow_value;
use crate::txn::{Claimed, Op, TreeId};
use crate::{Error, Result};

/// Moves live pages down until none lies beyond as many ids as there are live pages, and truncates.
pub(super) fn compact(store: &Store) -> Result<(u64, u64)> {
    let engine = store.engine();
    let before = length(store)?;
    // Two checkpoints: after the first, pages that only the one before needed are free; the second lets go of the
    // places that moved pages left.
    engine.work_off_drops()?;
    engine.run_checkpoint()?;
    for _ in 0..8 {
        let moved = move_down(store)?;
        engine.checkpoint_anyway()?;
        engine.pages.sweep_some(usize::MAX);
        engine.checkpoint_anyway()?;
        if moved == 0 {
            break;
        }
    }
    engine.truncate_file()?;
    Ok((before, length(store)?))
}

fn length(store: &Store) -> Result<u64> {
    store.engine().pages.file().len().map_err(Error::io("read the file's length"))
}

/// Copies the pages that lie beyond the end that the database would have without free pages. Returns how many.
fn move_down(store: &Store) -> Result<usize> {
    let engine = store.engine();
    let (end, free) = engine.pages.page_counts();
    let wanted_end = end - free;
    let claimed = Claimed::new(store.handle())?;
    let mut moved = 0;
    // Pages moved per commit.
    let step_pages = (engine.pages.frame_count() / 16).min(256);
    for tree in crate::Snapshot::unending(store.handle())?.trees() {
        let mut from = Some(Vec::new());
        while from.is_some() {
            let mut writer = engine.lock_with_room(64)?;
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
        let made = writer.changes.created.len();
        let step = engine.with_pages(slot, |pin| {
            let mut edit = writer.edit(&engine.pages, pin, self.tree, &mut new_root);
            edit.move_down(self.wanted_end, made + self.pages, from, &mut long)
        });
        writer.trees.set(self.tree, new_root);
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
