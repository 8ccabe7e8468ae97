//! How large trees are, for who plans how to read them. Nothing here is remembered as read: a plan is right whatever it was
//! made of.

use super::reader::{Reader, Source};
use crate::engine::Engine;
use crate::page::{PageRef, SlotId};
use crate::tree::{self, Stop, TreeShape};
use crate::{Error, Result, TreeId};

/// How much of a tree a sample takes.
#[derive(Clone, Copy, Debug)]
pub struct SampleSize {
    /// Leaves, evenly spread.
    pub leaves: usize,
    /// Entries of each, evenly spread: of those that have as many as the first. (A leaf of larger entries stands for fewer.)
    pub entries: usize,
    /// Pages that may be read from the file for it; leaves beyond that are left out, unless they are in memory.
    pub loads: usize,
}

/// The next but so many of some places in a row comes to all parts of the row early, and to each place once: about the golden
/// section, and without a common divisor.
fn stride(places: usize) -> usize {
    let divides = |stride: &usize| (2..=*stride).any(|by| stride.is_multiple_of(by) && places.is_multiple_of(by));
    let from = (places as f64 * 0.618) as usize;
    (from.max(1)..places).find(|stride| !divides(stride)).unwrap_or(1)
}

impl Reader {
    /// The tree's root, as long as a transaction's few own changes are not in it.
    pub fn tree_shape(&self, tree: TreeId) -> Result<TreeShape> {
        self.at_root(tree, |engine, slot, root| engine.with_pages(slot, |pin| tree::shape(&engine.pages, pin, root)))
    }

    /// About how many entries the tree has, told from its root and pages that are in memory; exactly, if it has one page.
    /// `entry_bytes`: what an entry takes, as far as the caller knows. A transaction's few own changes are not counted.
    pub fn tree_entries(&self, tree: TreeId, entry_bytes: f64) -> Result<f64> {
        self.at_root(tree, |engine, slot, root| {
            engine.with_pages(slot, |pin| tree::entries_about(&engine.pages, pin, root, entry_bytes))
        })
    }

    /// The share of the tree's leaves that were written since it had this stamp, as far as pages in memory tell.
    pub fn tree_changed(&self, tree: TreeId, since: u64) -> Result<f64> {
        self.at_root(tree, |engine, slot, root| {
            engine.with_pages(slot, |pin| tree::changed(&engine.pages, pin, root, since))
        })
    }

    /// Calls `each` with entries from all parts of the tree, the same ones for the same tree (as long as there
    /// are not more pages to be read than may be). Those whose values lie outside their leaves are left out. It runs while
    /// pages are held, or under the transaction's lock: it must not use the store.
    pub fn sample(&self, tree: TreeId, size: SampleSize, each: &mut dyn FnMut(&[u8], &[u8])) -> Result<()> {
        let SampleSize { leaves, entries, mut loads } = size;
        let (mut key, mut usual, stride) = (Vec::new(), 0, stride(leaves));
        self.at_root(tree, |engine, slot, root| {
            for leaf in (0..leaves).filter(|_| !root.is_none()) {
                // In an order that comes to all parts early: there may be no more pages to be read half-way.
                let place = ((leaf * stride % leaves) as f64 + 0.5) / leaves as f64;
                engine.with_pages(slot, |pin| match tree::leaf_at(&engine.pages, pin, root, place) {
                    Ok((leaf, place)) => {
                        usual = if usual == 0 { leaf.count() } else { usual };
                        let wanted = (entries * leaf.count()).div_ceil(usual.max(1)).min(8 * entries);
                        tree::some_of(leaf, place, wanted, &mut key, each);
                        Ok(())
                    }
                    Err(Stop::Miss(_)) if loads == 0 => Ok(()),
                    Err(stop) => {
                        loads = loads.saturating_sub(1);
                        Err(Error::from(stop))
                    }
                })?;
            }
            Ok(())
        })
    }

    fn at_root<R>(&self, tree: TreeId, look: impl FnOnce(&Engine, SlotId, PageRef) -> Result<R>) -> Result<R> {
        match &self.0 {
            Source::Snapshot(view, _) => {
                let slot = view.claim_slot()?;
                let engine = view.handle.engine();
                let looked = view.root(tree).and_then(|root| look(engine, slot, root));
                view.release_slot(slot);
                looked
            }
            Source::Transaction(private, frozen) => {
                let state = private.lock()?;
                let root = match frozen.as_ref().and_then(|frozen| frozen.then()) {
                    Some(then) => state.root_then(then, tree)?,
                    None => state.root(tree)?,
                };
                look(private.handle().engine(), state.slot()?, root)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SampleSize;
    use crate::{Options, Store, TreeId};

    fn filled(entries: u32) -> Store {
        let store = Store::open_in_memory(Options::default()).unwrap();
        let transaction = store.begin().unwrap();
        for number in 0..entries {
            let key = number.wrapping_mul(2_654_435_761).to_be_bytes();
            transaction.put(TreeId::CATALOG, &key, &vec![1; number as usize % 60]).unwrap();
        }
        transaction.commit(None).unwrap();
        store
    }

    #[test]
    fn trees_of_every_height_are_told_within_a_quarter() {
        for entries in [0, 1, 50, 1_000, 30_000, 400_000] {
            let store = filled(entries);
            let snapshot = store.snapshot().unwrap();
            let about = snapshot.reader().tree_entries(TreeId::CATALOG, 40.0).unwrap();
            let error = (about - f64::from(entries)).abs() / f64::from(entries).max(1.0);
            assert!(error < 0.25, "{entries}: {about}");
            let shape = snapshot.reader().tree_shape(TreeId::CATALOG).unwrap();
            assert!(shape.level > 0 || shape.fan_out == entries as usize, "{shape:?}");
            let transaction = store.begin().unwrap();
            assert_eq!(transaction.reader().tree_entries(TreeId::CATALOG, 40.0).unwrap(), about);
        }
    }

    #[test]
    fn what_was_written_since_is_told_by_the_pages() {
        let store = filled(100_000);
        store.checkpoint().unwrap();
        let then = store.snapshot().unwrap().reader().tree_stamp(TreeId::CATALOG).unwrap();
        let changed = || store.snapshot().unwrap().reader().tree_changed(TreeId::CATALOG, then).unwrap();
        let write = |numbers: std::ops::Range<u32>| {
            let transaction = store.begin().unwrap();
            for number in numbers {
                let key = number.wrapping_mul(2_654_435_761).to_be_bytes();
                transaction.put(TreeId::CATALOG, &key, b"changed").unwrap();
            }
            transaction.commit(None).unwrap();
        };
        assert_eq!(changed(), 0.0);
        write(0..20);
        assert!(changed() < 0.1, "{}", changed());
        write(0..50_000);
        assert!(changed() > 0.9, "{}", changed());
    }

    #[test]
    fn a_sample_is_of_all_parts_and_the_same_each_time() {
        let store = filled(100_000);
        let sampled = |leaves, entries| {
            let mut keys = Vec::new();
            let size = SampleSize { leaves, entries, loads: 0 };
            let snapshot = store.snapshot().unwrap();
            snapshot.reader().sample(TreeId::CATALOG, size, &mut |key, _| keys.push(key.to_vec())).unwrap();
            keys
        };
        let keys = sampled(100, 3);
        assert!((200..=450).contains(&keys.len()), "about three of each leaf: {}", keys.len());
        assert_eq!(keys, sampled(100, 3));
        let firsts: std::collections::BTreeSet<u8> = keys.iter().map(|key| key[0] >> 4).collect();
        assert_eq!(firsts.len(), 16, "from everywhere");
        assert!(sampled(1, 100_000).len() < 2_000, "of one leaf");
    }
}
