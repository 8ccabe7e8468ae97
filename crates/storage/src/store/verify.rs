//! Checking a database: every page, checksum, order, and the free space.

use std::collections::HashSet;

use super::handle::Store;
use crate::broken::{self, Broken};
use crate::engine::{Act, Engine};
use crate::page::layout::{self, HEADER};
use crate::sync::Ordering;
use crate::tree::node::Node;
use crate::tree::walk;
use crate::{Error, Result, Snapshot, TreeId};

/// What a verification looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Trees, and the pages and entries in them.
    pub trees: u64,
    /// Pages of trees and long values.
    pub pages: u64,
    /// Entries of leaves.
    pub entries: u64,
    /// Free pages.
    pub free_pages: u64,
    /// Pages that are not free and belong to nothing.
    pub leaked_pages: u64,
}

/// Checks the newest state, then writes it out and checks what the file holds.
pub(super) fn verify(store: &Store) -> Result<Verified> {
    let engine = store.engine();
    if engine.segments.is_some() {
        engine.run_checkpoint()?;
    }
    check_newest(store)
}

fn check_newest(store: &Store) -> Result<Verified> {
    let engine = store.engine();
    let snapshot = Snapshot::unending(store.handle())?;
    if engine.segments.is_some() && !broken::is(Broken::VerifiedUnburied) {
        // Who published the version may not have buried yet what died with it.
        engine.wait_for_all()?;
    }
    let version = snapshot.view().version();
    let number = version.number.load(Ordering::Acquire);
    let mut found = Verified::default();
    let mut seen = HashSet::new();
    for entry in version.trees.list().entries() {
        found.trees += 1;
        check_tree(store, entry.id, entry.root, number, &mut seen, &mut found)?;
    }
    let (end, free) = engine.pages.page_counts();
    found.free_pages = free as u64;
    if engine.segments.is_some() {
        found.leaked_pages = count_leaked(engine, number, end, &mut seen)?;
        // A checkpoint that failed meanwhile keeps its pages until the database is reopened.
        engine.publisher.life.check(Act::Checkpoint)?;
    }
    Ok(found)
}

/// Pages of the version that are neither in a tree (`seen`), nor in the checkpoint's lists, nor still to be freed.
fn count_leaked(engine: &Engine, version: u64, end: u32, seen: &mut HashSet<u32>) -> Result<u64> {
    let checkpoint = engine.checkpoint.lock();
    seen.extend(&checkpoint.own_pages);
    engine.work_off_drops()?;
    Ok((2..end).filter(|&id| engine.pages.lives_in(id, version) && !seen.contains(&id)).count() as u64)
}

fn check_tree(
    store: &Store,
    tree: TreeId,
    root: crate::page::PageRef,
    version: u64,
    seen: &mut HashSet<u32>,
    found: &mut Verified,
) -> Result<()> {
    let engine = store.engine();
    let claimed = crate::txn::Claimed::by_engine(engine)?;
    let mut on_disk = crate::io::AlignedBuf::zeroed(engine.pages.page_size());
    let broken = |page: u32, what: &str| Error::corrupt(format!("tree {}, page {page}: {what}", tree.number()));
    walk(
        &engine.pages,
        claimed.slot,
        root,
        &mut |visit| {
            let id = visit.page.id;
            found.pages += 1;
            if !seen.insert(id) {
                return Err(broken(id, "is referred to twice"));
            }
            if engine.pages.is_free(id) || !engine.pages.lives_in(id, version) {
                return Err(broken(id, "is in use, but listed as free"));
            }
            // The copy in the file, unless it is newer than the last checkpoint.
            if !engine.pages.is_dirty(id) {
                engine.pages.read(visit.page, &mut on_disk)?;
                if !visit.bytes.is_empty() && on_disk[4..] != visit.bytes[4..] {
                    return Err(broken(id, "differs between memory and file"));
                }
            }
            if let Some((lower, upper)) = visit.fences {
                check_node(visit.bytes, tree, lower, upper).map_err(|what| broken(id, what))?;
                let node = Node::new(visit.bytes);
                found.entries += if node.is_inner() { 0 } else { node.count() as u64 };
            }
            Ok(true)
        },
        &mut |_, error| Err(error),
    )
    .map(drop)
}

fn check_node(bytes: &[u8], tree: TreeId, lower: &[u8], upper: Option<&[u8]>) -> Result<(), &'static str> {
    if layout::tree_of(bytes) != tree.0 {
        return Err("belongs to another tree");
    }
    if !Node::is_valid(bytes) || bytes.len() < HEADER {
        return Err("its entries are malformed or out of order");
    }
    let node = Node::new(bytes);
    let mut key = Vec::new();
    for i in [0, node.count().saturating_sub(1)] {
        if i < node.count() {
            node.key_into(i, &mut key);
            if key.as_slice() < lower || upper.is_some_and(|upper| key.as_slice() >= upper) {
                return Err("holds a key outside its parent's bounds");
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::Options;
    use crate::sync::steps;

    /// What died with a version is freed a moment after readers see that: who looked in between told of lost pages.
    #[test]
    fn what_a_publication_is_about_to_free_is_not_lost() {
        let store = Store::open_in_memory(Options::default()).unwrap();
        let put = |byte: u8| {
            let transaction = store.begin().unwrap();
            transaction.put(TreeId::CATALOG, b"long", &[byte; 100_000]).unwrap();
            transaction.commit(None).unwrap();
        };
        put(1);
        let before = store.engine().publisher.newest_number();
        let (told, checked) = std::sync::mpsc::channel();
        let other = store.clone();
        steps::at_each(move || {
            if other.engine().publisher.newest_number() == before {
                return true;
            }
            let (store, told) = (other.clone(), told.clone());
            std::thread::spawn(move || told.send(check_newest(&store)));
            std::thread::sleep(Duration::from_millis(100));
            false
        });
        put(2);
        assert_eq!(checked.recv().unwrap().unwrap().leaked_pages, 0);
    }
}
