//! Trees that a transaction changed much: private copies of their pages.
//!
//! Writes go into copies of the pages they change, so a read finds them there. What the transaction alone sees is changed in
//! place, or free as soon as it is replaced (`holds`).

use super::reader::{Found, read_once};
use super::state::State;
use crate::broken::{self, Broken};
use crate::engine::{Engine, SPILL};
use crate::page::{Created, PageRef, Pages, Pin, SlotId};
use crate::tree::{LongValue, TreeEdit, node};
use crate::{Error, Result, TreeId};

/// A tree that the transaction changed.
#[derive(Debug)]
pub(crate) struct PrivateTree {
    pub(super) id: TreeId,
    /// The root it started from; `None`: the tree is new.
    pub(super) base: Option<PageRef>,
    pub(super) root: PageRef,
    pub(super) dropped: bool,
    pub(super) created: Created,
    pub(super) dead: Vec<u32>,
    pub(super) chains: Vec<PageRef>,
    /// How often it was changed.
    pub(super) writes: u64,
}

impl PrivateTree {
    /// `began`: the transaction's first stamp.
    pub(super) fn new(id: TreeId, base: Option<PageRef>, began: u64) -> PrivateTree {
        PrivateTree {
            id,
            base,
            root: base.unwrap_or(PageRef::NONE),
            dropped: false,
            created: Created::of_transaction(began),
            dead: Vec::new(),
            chains: Vec::new(),
            writes: 0,
        }
    }

    /// Frees every page it made; nothing of it was ever published.
    pub(super) fn discard(&mut self, pages: &Pages) {
        self.created.free_from(pages, 0);
    }
}

impl State {
    /// The private tree for changes, made from the base and what the list has of it if need be.
    pub(super) fn open(&mut self, engine: &Engine, tree: TreeId) -> Result<usize> {
        if let Some(at) = self.find(tree) {
            return if self.trees[at].dropped { Err(Error::NoSuchTree(tree)) } else { Ok(at) };
        }
        let base = self.base()?.root(tree)?;
        self.add_tree(tree, Some(base));
        let at = self.trees.len() - 1;
        if let Err(error) = self.take_from_list(engine, at) {
            let mut unfinished = self.trees.swap_remove(at);
            unfinished.discard(&engine.pages);
            self.forget_places();
            return Err(error);
        }
        Ok(at)
    }

    /// Moves what the list has of a tree into the private one.
    fn take_from_list(&mut self, engine: &Engine, at: usize) -> Result<()> {
        let (tree, slot) = (self.trees[at].id, self.slot()?);
        if self.own.changes_of(tree).is_none() {
            return Ok(());
        }
        let own = std::mem::take(&mut self.own);
        let frees = self.is_freeing() || self.only_frees();
        let moved = own.of(tree).try_for_each(|(key, value)| {
            self.spill_if_large(engine);
            let cell = value.map(node::Cell::Inline);
            self.try_and_spill(engine, slot, at, frees || cell.is_none(), |edit| match cell {
                Some(cell) => edit.put(key, cell).map(drop),
                None => edit.delete(key).map(drop),
            })
        });
        self.own = own;
        moved?;
        self.own.remove(tree);
        self.trees[at].writes += 1;
        Ok(())
    }

    /// The list takes no more: what it has goes to private trees.
    pub(super) fn outgrow(&mut self, engine: &Engine) -> Result<()> {
        self.is_short = false;
        while let Some(tree) = self.own.any_tree() {
            self.open(engine, tree)?;
        }
        Ok(())
    }

    /// Appends an entry to the tree's last leaf, if the transaction has that as its own and the key goes behind
    /// everything in it: no page is looked for, copied or made. False: it has to be put.
    pub(super) fn append_entry(&mut self, engine: &Engine, tree: TreeId, key: &[u8], value: &[u8]) -> Result<bool> {
        self.send_early(engine)?;
        let Some(at) = self.find(tree).filter(|&at| !self.trees[at].dropped) else { return Ok(false) };
        let entry = (key, node::Cell::Inline(value));
        let appended = self.scratch.append(&engine.pages, (tree.0, self.stamp), entry, || true).is_some();
        self.trees[at].writes += u64::from(appended);
        engine.pages.counters.tree_changes.add(u64::from(appended));
        Ok(appended)
    }

    /// As `append_entry`, of all entries that go there, as they come; how many they were.
    pub(super) fn append_run<'k>(
        &mut self,
        engine: &Engine,
        tree: TreeId,
        entries: impl Iterator<Item = (&'k [u8], &'k [u8])>,
    ) -> Result<usize> {
        self.send_early(engine)?;
        let Some(at) = self.find(tree).filter(|&at| !self.trees[at].dropped) else { return Ok(0) };
        let appended = self.scratch.append_run(&engine.pages, (tree.0, self.stamp), entries);
        self.trees[at].writes += appended as u64;
        engine.pages.counters.tree_changes.add(appended as u64);
        Ok(appended)
    }

    /// To be called when private pages are freed under the stamp that goes on: their ids may come back as others.
    pub(super) fn forget_places(&mut self) {
        self.scratch.forget();
    }

    /// A new, empty tree.
    pub(super) fn make_tree(&mut self, engine: &Engine, derived: bool) -> Result<TreeId> {
        let tree = TreeId::new(engine.tree_number()?, derived);
        self.add_tree(tree, None);
        self.ops.create(tree);
        Ok(tree)
    }

    pub(super) fn add_tree(&mut self, tree: TreeId, base: Option<PageRef>) {
        self.trees.push(PrivateTree::new(tree, base, self.holds.began()));
    }

    /// Runs one change of a tree, loading pages as needed.
    pub(super) fn change(
        &mut self,
        engine: &Engine,
        tree: TreeId,
        run: impl FnMut(&mut TreeEdit<'_>) -> Result<()>,
    ) -> Result<()> {
        self.change_as(engine, tree, self.is_freeing(), run)
    }

    /// As `change`; `frees`: pages, in the end.
    pub(super) fn change_as(
        &mut self,
        engine: &Engine,
        tree: TreeId,
        frees: bool,
        mut run: impl FnMut(&mut TreeEdit<'_>) -> Result<()>,
    ) -> Result<()> {
        let at = self.open(engine, tree)?;
        let pages = &engine.pages;
        self.send_early(engine)?;
        self.spill_if_large(engine);
        let slot = self.slot()?;
        let chains = self.trees[at].chains.len();
        self.try_and_spill(engine, slot, at, frees, &mut run)?;
        self.free_chains(engine, slot, at, chains);
        self.free_waiting(pages);
        self.trees[at].writes += 1;
        Ok(())
    }

    /// Changes a tree; where its own pages fill the cache, once more without them, and where the database has none left, once
    /// more when it may have.
    pub(super) fn try_and_spill(
        &mut self,
        engine: &Engine,
        slot: SlotId,
        at: usize,
        frees: bool,
        mut run: impl FnMut(&mut TreeEdit<'_>) -> Result<()>,
    ) -> Result<()> {
        let pages = &engine.pages;
        let mut change = |state: &mut State| engine.with_pages(slot, |pin| run(&mut state.edit(at, pages, pin)));
        let changed = match change(self) {
            Err(Error::CacheFull) if !broken::is(Broken::ListUnspilled) => {
                self.spill(engine);
                change(self)
            }
            result => result,
        };
        match changed {
            Err(error) if error.is_of_pages() => self.change_when_full(engine, slot, at, frees, &mut run),
            changed => changed,
        }
    }

    /// Calls `read` with the value under `key`. Who changes it next, or reads the next key, need not look for it.
    pub(super) fn get_private<R>(
        &mut self,
        engine: &Engine,
        at: usize,
        key: &[u8],
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>> {
        let (slot, mut apply) = (self.slot()?, read_once(read));
        let found = engine.with_pages(slot, |pin| {
            let value = self.edit(at, &engine.pages, pin).get(key)?;
            Found::of(value, &mut apply)
        })?;
        found.read(engine, slot, apply)
    }

    /// Puts a value that may be long.
    pub(super) fn put_value(&mut self, engine: &Engine, tree: TreeId, key: &[u8], value: &[u8]) -> Result<()> {
        // Before all its pages are written.
        engine.check_log_takes(self.ops.length() + value.len() as u64)?;
        let at = self.open(engine, tree)?;
        let (stamp, pages) = (self.stamp, &engine.pages);
        let chain = self.trees[at].created.len();
        let created = &mut self.trees[at].created;
        let long = LongValue::write(pages, tree, stamp, key, value, created).inspect_err(|_| {
            created.free_from(pages, chain);
        })?;
        self.change(engine, tree, |edit| edit.put(key, long.cell(value)).map(drop))
    }

    pub(super) fn edit<'a>(&'a mut self, at: usize, pages: &'a Pages, pin: &'a Pin<'a>) -> TreeEdit<'a> {
        let seen_before = self.holds.seen_before();
        let PrivateTree { id, root, created, dead, chains, .. } = &mut self.trees[at];
        let (tree, stamp, scratch) = (id.0, self.stamp, &mut self.scratch);
        TreeEdit { pages, pin, tree, stamp, root, seen_before, created, dead, chains, scratch }
    }

    /// Long values that the transaction wrote and took back, seen by nobody: their pages are free at once. `from`: the
    /// tree's chains before. What cannot be read now is freed after the commit.
    pub(super) fn free_chains(&mut self, engine: &Engine, slot: SlotId, at: usize, from: usize) {
        let seen_before = self.holds.seen_before();
        let PrivateTree { created, dead, chains, .. } = &mut self.trees[at];
        if chains.get(from).is_none_or(|first| first.birth < seen_before) {
            return;
        }
        for first in chains.split_off(from) {
            let mut page = first;
            while !page.is_none() {
                let Ok(next) = engine.with_pages(slot, |pin| next_in_chain(&engine.pages, pin, page)) else {
                    chains.push(page);
                    break;
                };
                if !created.free(&engine.pages, page.id) {
                    dead.push(page.id);
                }
                page = next;
            }
        }
    }

    /// Frees what savepoints and cursors saw that are gone by now. To be called before each new one too: where there is
    /// always one, nothing is free while it lives.
    pub(super) fn free_waiting(&mut self, pages: &Pages) {
        let seen_before = self.holds.seen_before();
        self.trees.iter_mut().for_each(|tree| tree.created.free_waiting(pages, seen_before));
    }

    /// Sends the operations so far to the log, if they take much memory.
    pub(super) fn send_early(&mut self, engine: &Engine) -> Result<()> {
        self.parts.send_early(engine, &mut self.ops)
    }

    /// Gives up the pages made so far, if they take too much of the cache.
    pub(super) fn spill_if_large(&mut self, engine: &Engine) {
        let kept: usize = self.trees.iter().map(|tree| tree.created.kept()).sum();
        if kept * 2 * SPILL > engine.pages.frame_count() {
            self.spill(engine);
        }
    }

    /// Gives the pages made so far to eviction, sealed.
    pub(super) fn spill(&mut self, engine: &Engine) {
        self.seal(engine);
        self.trees.iter_mut().for_each(|tree| tree.created.allow_eviction(&engine.pages));
    }
}

/// The page that follows in a long value's chain.
fn next_in_chain(pages: &Pages, pin: &Pin<'_>, page: PageRef) -> Result<PageRef> {
    pages.get(pin, page).map(crate::tree::next_in_chain).ok_or_else(|| Error::NotResident(page))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Lack;
    use crate::{Options, Store};

    /// It failed as soon as its own pages filled the cache, although they could go.
    #[test]
    fn a_list_that_becomes_a_tree_in_a_full_cache_spills() {
        const TREE: TreeId = TreeId::CATALOG;
        let options = Options { page_size: 512, cache_bytes: 64 * 512, ..Options::default() };
        let store = Store::open_in_memory(options).unwrap();
        let base = store.begin().unwrap();
        (0..200u8).for_each(|key| base.put(TREE, &[key], &[1; 100]).unwrap());
        base.commit(None).unwrap();
        for left in 4..9 {
            let transaction = store.begin().unwrap();
            (0..200u8).step_by(20).for_each(|key| transaction.put(TREE, &[key], &[2; 100]).unwrap());
            let pages = &store.engine().pages;
            let mut others = Vec::new();
            // Unsealed: nothing but these frames is left.
            while others.len() + left < 56 {
                match pages.create(1, None) {
                    Ok(page) => others.push(page.id),
                    Err(_) => pages.make_room(&mut Lack::default()).unwrap(),
                }
            }
            transaction.private.lock().unwrap().outgrow(store.engine()).unwrap();
            pages.free_private(&others);
            transaction.commit(None).unwrap();
        }
    }

    #[test]
    fn a_list_that_does_not_spill_is_noticed() {
        crate::broken::must_be_caught(Broken::ListUnspilled, a_list_that_becomes_a_tree_in_a_full_cache_spills);
    }
}
