//! Changes of the latest state, under the commit lock, that can be taken back one by one.
//!
//! For point statements, and for transactions of a few operations. What takes a change back is an operation too: sealing the
//! state instead would copy every page again.

use crate::broken::{self, Broken};
use crate::engine::{AppendKey, Deltas, Engine, Op, OpList, OpMark, Ops, Sum, Writer};
use crate::page::{COMMIT, PageRef, Pin};
use crate::tree::node::{Cell, Node, inline_limit};
use crate::tree::{Patched, Value, first_of, write_at_once};
use crate::{Error, Result, TreeId};

/// See above. Values that do not lie in their leaf are [`Error::TooLarge`] for it, but for those of few pages that are appended.
pub(super) struct Latest<'a> {
    pub(super) engine: &'a Engine,
    pub(super) writer: &'a mut Writer,
    pub(super) pin: &'a Pin<'a>,
    /// Where the record will end, for what it appends.
    pub(super) position: u64,
    /// What takes each change back, first change first.
    pub(super) undo: &'a mut OpList,
}

impl<'a> Latest<'a> {
    pub(super) fn root(&self, tree: TreeId) -> Result<PageRef> {
        self.writer.trees.root(tree).ok_or_else(|| Error::NoSuchTree(tree))
    }

    /// The value under `key`. A change of the same key that follows needs no second descent.
    pub(super) fn get(&mut self, tree: TreeId, key: &[u8]) -> Result<Option<&'a [u8]>> {
        inline(self.find(tree, key)?)
    }

    fn find(&mut self, tree: TreeId, key: &[u8]) -> Result<Option<Value<'a>>> {
        let mut root = self.root(tree)?;
        let place = self.writer.edit(&self.engine.pages, self.pin, tree, &mut root).find(key)?;
        let Some((leaf, at)) = place else { return Ok(None) };
        let page = self.engine.pages.get(self.pin, leaf).ok_or_else(|| Error::NotResident(leaf))?;
        Ok(Some(Node::new(page).cell(at).0.into()))
    }

    /// Puts the value if `wanted` says so, knowing whether the key is there; whether it did.
    pub(super) fn put_if(
        &mut self,
        tree: TreeId,
        key: &[u8],
        value: &[u8],
        wanted: impl Fn(bool) -> bool,
    ) -> Result<bool> {
        let mut root = self.root(tree)?;
        let mark = self.undo.mark();
        let mut long = false;
        if key.len() + value.len() > inline_limit(self.engine.pages.page_size()) {
            return Err(Error::TooLarge);
        }
        let undo = &mut *self.undo;
        let note = |old: Option<Cell<'_>>| {
            match old {
                _ if !wanted(old.is_some()) => return false,
                Some(Cell::Inline(old)) => undo.put(tree, key, old),
                Some(Cell::Overflow(_)) => {
                    long = true;
                    return false;
                }
                None => undo.delete(tree, key),
            }
            true
        };
        let cell = Cell::Inline(value);
        let result = self.writer.edit(&self.engine.pages, self.pin, tree, &mut root).put_if(key, cell, note);
        self.writer.trees.set(tree, root);
        let (_, put) = self.done(result, mark)?;
        if long { Err(Error::TooLarge) } else { Ok(put) }
    }

    /// Puts what a commit appends, under a key that there is not yet: its value may be one of few pages.
    fn append(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<()> {
        let pages = &self.engine.pages;
        if key.len() + value.len() <= inline_limit(pages.page_size()) {
            return self.put_if(tree, key, value, |_| true).map(drop);
        }
        // The way there is in memory before a page is made for it.
        if self.find(tree, key)?.is_some() {
            return Err(Error::corrupt(format!("tree {} has an entry of a commit to come", tree.number())));
        }
        let (mut root, stamp, mark) = (self.root(tree)?, self.writer.stamp, self.undo.mark());
        let reference = write_at_once(pages, tree.0, stamp, value, &mut self.writer.changes.created)?;
        self.undo.delete(tree, key);
        let put = self.writer.edit(pages, self.pin, tree, &mut root).put(key, Cell::Overflow(&reference));
        self.writer.trees.set(tree, root);
        if put.is_err() {
            // Its pages are nobody's.
            self.writer.changes.chains.push(first_of(&reference));
        }
        self.done(put.map(drop), mark)
    }

    /// Overwrites `bytes` at `offset` of the value under `key`, which must exist and be long enough.
    pub(super) fn patch(&mut self, tree: TreeId, key: &[u8], offset: usize, bytes: &[u8]) -> Result<()> {
        let mut root = self.root(tree)?;
        let mark = self.undo.mark();
        let undo = &mut *self.undo;
        let note = |old: &[u8]| undo.patch(tree, key, offset, old);
        let result = self.writer.edit(&self.engine.pages, self.pin, tree, &mut root).patch(key, offset, bytes, note);
        self.writer.trees.set(tree, root);
        match self.done(result, mark)? {
            Patched::Done => Ok(()),
            Patched::Impossible => Err(Error::BadPatch),
            Patched::Long(..) => Err(Error::TooLarge),
        }
    }

    /// Removes `key`; whether it was there.
    pub(super) fn delete(&mut self, tree: TreeId, key: &[u8]) -> Result<bool> {
        let mut root = self.root(tree)?;
        let Some(old) = inline(self.find(tree, key)?)? else { return Ok(false) };
        let mark = self.undo.mark();
        self.undo.put(tree, key, old);
        let result = self.writer.edit(&self.engine.pages, self.pin, tree, &mut root).delete(key);
        self.writer.trees.set(tree, root);
        self.done(result, mark)
    }

    /// Adds to the counters of the entry under `key`.
    pub(super) fn add(&mut self, tree: TreeId, key: &[u8], front: &[u8], deltas: Deltas<'_>) -> Result<()> {
        let mut sum = Sum::new();
        let old = self.get(tree, key)?.filter(|_| !broken::is(Broken::AddsForget));
        sum.add(tree, old, front, deltas)?;
        match sum.value() {
            Some(value) => self.put_if(tree, key, value, |_| true).map(drop),
            None => self.delete(tree, key).map(drop),
        }
    }

    /// Applies one operation on a tree's entries.
    pub(super) fn apply(&mut self, op: Op<'_>) -> Result<()> {
        match op {
            Op::Put { tree, key, value } => self.put_if(tree, key, value, |_| true).map(drop),
            Op::Patch { tree, key, offset, bytes } => self.patch(tree, key, offset, bytes),
            Op::Delete { tree, key } => self.delete(tree, key).map(drop),
            Op::Add { tree, key, front, deltas } => self.add(tree, key, front, Deltas::Encoded(deltas)),
            Op::Append { .. } => {
                let mut key = AppendKey::default();
                match op.at(self.position, &mut key) {
                    Op::Put { tree, key, value } => self.append(tree, key, value),
                    op => self.apply(op),
                }
            }
            Op::Create { .. } | Op::Drop { .. } => Err(Error::TooLarge),
        }
    }

    /// A change that failed changed nothing, so there is nothing to take back.
    fn done<T>(&mut self, result: Result<T>, mark: OpMark) -> Result<T> {
        match result {
            Ok(value) => {
                self.writer.changed = true;
                Ok(value)
            }
            Err(error) => {
                // The way there may be copied already: another state than the published one, which nothing would publish.
                self.writer.changed |= error.is_of_pages();
                self.undo.cut(mark);
                Err(error)
            }
        }
    }
}

/// Takes back what was changed, last change first. Failing that, the state is nobody's: the database is read-only then.
pub(super) fn roll_back(engine: &Engine, undo: &OpList, writer: &mut Writer) -> Result<()> {
    if undo.is_empty() || broken::is(Broken::UndoForgotten) {
        return Ok(());
    }
    let undo: Vec<Op<'_>> = Ops::new(undo.bytes()).filter_map(Result::ok).collect();
    // It may have failed for want of ids.
    writer.changes.created.frees = true;
    let undone = undo.into_iter().rev().try_for_each(|op| engine.apply(writer, COMMIT, op));
    writer.changes.created.frees = false;
    undone.inspect_err(|error| engine.poison(error))
}

pub(super) fn inline(value: Option<Value<'_>>) -> Result<Option<&[u8]>> {
    match value {
        None => Ok(None),
        Some(Value::Inline(bytes)) => Ok(Some(bytes)),
        Some(Value::Long(..)) => Err(Error::TooLarge),
    }
}
