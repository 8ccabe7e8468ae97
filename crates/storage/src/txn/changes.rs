//! What a transaction writes, key by key: into its list while that takes it, else into a private tree.

use super::lookup::KeyList;
use super::reader::{get_at, get_inline_at};
use super::state::{Private, State};
use crate::engine::meta::ADDS;
use crate::engine::{Deltas, Engine, Sum};
use crate::page::Pages;
use crate::tree::Patched;
use crate::tree::node::{self, Cell};
use crate::{Error, Result, TreeId};

impl State {
    /// Whether a write of so long a value goes to the list. Private trees are made if the list is outgrown by it.
    fn takes_short(&mut self, engine: &Engine, tree: TreeId, key: &[u8], value: usize) -> Result<bool> {
        if !self.is_short
            || key.len() + value > node::inline_limit(engine.pages.page_size())
            || self.find(tree).is_some()
        {
            return Ok(false);
        }
        if self.own.has_room(key, value) {
            // The list has no entries of trees that are not there.
            return self.base()?.root(tree).map(|_| true);
        }
        self.outgrow(engine)?;
        Ok(false)
    }

    pub(super) fn put(&mut self, engine: &Engine, tree: TreeId, key: &[u8], value: &[u8]) -> Result<()> {
        if self.takes_short(engine, tree, key, value.len())? {
            self.own.write(tree, key, Some(value));
        } else if key.len() + value.len() > node::inline_limit(engine.pages.page_size()) {
            self.put_value(engine, tree, key, value)?;
        } else if !self.append_entry(engine, tree, key, value)? {
            self.change(engine, tree, |edit| edit.put(key, Cell::Inline(value)).map(drop))?;
        }
        self.ops.put(tree, key, value);
        Ok(())
    }

    /// False, and nothing put, if the key is there.
    pub(super) fn insert(&mut self, private: &Private, tree: TreeId, key: &[u8], value: &[u8]) -> Result<bool> {
        self.note_key(tree, key);
        let engine = private.engine();
        let is_long = key.len() + value.len() > node::inline_limit(engine.pages.page_size());
        let mut put = false;
        if is_long || self.takes_short(engine, tree, key, value.len())? {
            put = !self.has(private, tree, key)?;
            match put {
                true if is_long => self.put_value(engine, tree, key, value)?,
                true => self.own.write(tree, key, Some(value)),
                false => {}
            }
        } else if self.append_entry(engine, tree, key, value)? {
            put = true;
        } else {
            self.change(engine, tree, |edit| {
                put = edit.put_if(key, Cell::Inline(value), |old| old.is_none())?.1;
                Ok(())
            })?;
        }
        if put {
            self.ops.put(tree, key, value);
        }
        Ok(put)
    }

    /// See [`Writer::insert_each`](super::TransactionWriter::insert_each).
    pub(super) fn insert_each(
        &mut self,
        private: &Private,
        tree: TreeId,
        (keys, values): (&KeyList, &KeyList),
        from: usize,
    ) -> Result<usize> {
        let engine = private.engine();
        let limit = node::inline_limit(engine.pages.page_size());
        let mut at = from;
        while at < keys.len() {
            let entries = (at..keys.len()).map(|at| (keys.get(at), values.get(at)));
            let short = entries.take_while(|(key, value)| key.len() + value.len() <= limit);
            let end = at + self.append_run(engine, tree, short)?;
            self.note_keys(tree, (at..end).map(|at| keys.get(at)));
            (at..end).for_each(|at| self.ops.put(tree, keys.get(at), values.get(at)));
            at = end;
            if at < keys.len() {
                if !self.insert(private, tree, keys.get(at), values.get(at))? {
                    return Ok(at);
                }
                at += 1;
            }
        }
        Ok(at)
    }

    pub(super) fn patch(
        &mut self,
        private: &Private,
        tree: TreeId,
        key: &[u8],
        offset: usize,
        bytes: &[u8],
    ) -> Result<()> {
        self.note_key(tree, key);
        let engine = private.engine();
        // A row that is patched is short, most likely: if it has no room in the list, it is found out below.
        if !self.patch_short(private, tree, key, offset, bytes)? {
            let mut patched = Patched::Done;
            self.change(engine, tree, |edit| {
                patched = edit.patch(key, offset, bytes, |_| ())?;
                Ok(())
            })?;
            match patched {
                Patched::Impossible => return Err(Error::BadPatch),
                Patched::Done => {}
                Patched::Long(length, first) => {
                    // Under the transaction's lock: another thread that changes the value frees these pages.
                    let value = engine.patched(self.slot()?, length, first, offset, bytes)?;
                    self.put_value(engine, tree, key, &value)?;
                }
            }
        }
        self.ops.patch(tree, key, offset, bytes);
        Ok(())
    }

    /// Patches in the list; false if the value has no room there.
    fn patch_short(
        &mut self,
        private: &Private,
        tree: TreeId,
        key: &[u8],
        offset: usize,
        bytes: &[u8],
    ) -> Result<bool> {
        if !self.is_short || self.find(tree).is_some() {
            return Ok(false);
        }
        let engine = private.engine();
        if let Some(own) = self.own.get(tree, key) {
            let length = own.ok_or_else(|| Error::BadPatch)?.len();
            return match self.takes_short(engine, tree, key, length)? {
                true if self.own.patch(tree, key, offset, bytes) => Ok(true),
                true => Err(Error::BadPatch),
                false => Ok(false),
            };
        }
        let root = self.root(tree)?;
        let own = &mut self.own;
        let patched = get_inline_at(
            private.handle(),
            self.base.as_ref().ok_or_else(|| Error::Ended)?.slot,
            root,
            key,
            |value| {
                let fits = offset.checked_add(bytes.len()).is_some_and(|end| end <= value.len());
                let has_room = own.has_room(key, value.len());
                if fits && has_room {
                    own.write_patched(tree, key, Some(value), offset, bytes);
                }
                (fits, has_room)
            },
        )?;
        match patched {
            Some(Some((true, true))) => Ok(true),
            Some(Some((true, false))) => self.outgrow(engine).map(|()| false),
            // A long value is no matter for the list.
            Some(None) => Ok(false),
            None | Some(Some((false, _))) => Err(Error::BadPatch),
        }
    }

    pub(super) fn delete(&mut self, private: &Private, tree: TreeId, key: &[u8]) -> Result<bool> {
        self.note_key(tree, key);
        let engine = private.engine();
        let mut found = false;
        if self.takes_short(engine, tree, key, 0)? {
            found = self.has(private, tree, key)?;
            if found {
                self.own.write(tree, key, None);
            }
        } else {
            self.change_as(engine, tree, true, |edit| {
                found = edit.delete(key)?;
                Ok(())
            })?;
        }
        if found {
            self.ops.delete(tree, key);
        }
        Ok(found)
    }

    /// Adds to the counters of the entry under `key`. Nothing counts as read for it.
    pub(super) fn add(
        &mut self,
        private: &Private,
        tree: TreeId,
        key: &[u8],
        front: &[u8],
        deltas: &[i128],
    ) -> Result<()> {
        let engine = private.engine();
        engine.allow(ADDS)?;
        let is_sum = self.own.get_noted(tree, key).is_none_or(|(_, is_sum)| is_sum);
        let sum = self.sum(private, tree, key, front, deltas)?;
        match sum.value() {
            Some(value) if key.len() + value.len() > node::inline_limit(engine.pages.page_size()) => {
                return Err(Error::TooLarge);
            }
            value if self.takes_short(engine, tree, key, value.map_or(0, <[u8]>::len))? => {
                self.own.write_sum(tree, key, value, is_sum);
            }
            Some(value) => self.change(engine, tree, |edit| edit.put(key, Cell::Inline(value)).map(drop))?,
            None => self.change(engine, tree, |edit| edit.delete(key).map(drop))?,
        }
        self.ops.add(tree, key, front, deltas);
        Ok(())
    }

    /// What the transaction sees under `key`, with something added.
    fn sum(&mut self, private: &Private, tree: TreeId, key: &[u8], front: &[u8], deltas: &[i128]) -> Result<Sum> {
        let (mut sum, deltas) = (Sum::new(), Deltas::Given(deltas));
        if let Some(own) = self.own.get(tree, key) {
            sum.add(tree, own, front, deltas)?;
            return Ok(sum);
        }
        let add = |old: &[u8]| sum.add(tree, Some(old), front, deltas);
        let found = match self.find(tree) {
            Some(at) if !self.trees[at].dropped => self.get_private(private.engine(), at, key, add)?,
            _ => get_at(private.handle(), self.slot()?, self.root(tree)?, key, add)?,
        };
        match found {
            Some(added) => added?,
            None => sum.add(tree, None, front, deltas)?,
        }
        Ok(sum)
    }

    fn has(&self, private: &Private, tree: TreeId, key: &[u8]) -> Result<bool> {
        match self.own.get(tree, key) {
            Some(own) => Ok(own.is_some()),
            None => Ok(get_inline_at(private.handle(), self.slot()?, self.root(tree)?, key, |_| ())?.is_some()),
        }
    }
}

pub(super) fn check_key(pages: &Pages, key: &[u8]) -> Result<()> {
    let limit = node::key_limit(pages.page_size());
    match key.len() <= limit {
        true => Ok(()),
        false => Err(Error::KeyTooLong { length: key.len(), limit }),
    }
}
