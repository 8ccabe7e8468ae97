//! Giving free space back: pages at the end of the file move to free ids below, then the file is cut.

use super::handle::Store;
use crate::tree::overflow_value;
use crate::txn::{Claimed, Op};
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
    for tree in store.snapshot()?.trees() {
        let mut from = Some(Vec::new());
        while from.is_some() {
            let mut writer = engine.lock_with_room(64)?;
            let Some(root) = writer.trees.root(tree) else { break };
            let mut new_root = root;
            let mut long = Vec::new();
            let made = writer.changes.created.len();
            let limit = made + step_pages;
            let step = engine.with_pages(claimed.slot, |pin| {
                writer.edit(&engine.pages, pin, tree, &mut new_root).move_down(wanted_end, limit, &mut from, &mut long)
            });
            writer.trees.set(tree, new_root);
            writer.changed |= new_root != root || !long.is_empty();
            step?;
            moved += writer.changes.created.len() - made + long.len();
            for (key, length, first) in long {
                let mut value = Vec::new();
                overflow_value(&engine.pages, claimed.slot, length, first, &mut value)?;
                engine.apply(&mut writer, claimed.slot, Op::Put { tree, key: &key, value: &value })?;
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
