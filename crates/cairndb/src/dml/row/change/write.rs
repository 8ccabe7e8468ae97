//! What of a change is written: bytes of the row, entries of indexes, what is derived.

use super::buffers::{RowWrite, changed_stretch};
use super::{ChangeBuffers, NewRow, RowChange};
use crate::catalog::Index;
use crate::dml::row::assign::Both;
use crate::dml::row::derive::derive;
use crate::dml::row::entry::Entry;
use crate::dml::row::{Env, Stop, Stored, Trees, Violation, exists};
use crate::plan::Columns;
use crate::types::row::encode_value_raw;

impl RowChange {
    /// The new values' bytes, and the new row where patching in place will not do.
    pub(super) fn encode(
        &self,
        key: &[u8],
        beside: Option<&dyn Columns<Stop>>,
        env: Env<'_>,
        buffers: &mut ChangeBuffers,
        moved: bool,
    ) -> Result<(), Stop> {
        let ChangeBuffers { old, values, bytes, ranges, patches, row, write, .. } = buffers;
        let target = &*self.rules.target;
        let stored = Stored { layout: &target.layout, key, value: old };
        let both = Both { old: &stored, beside, width: target.table.columns.len() };
        let new = NewRow { change: self, both: &both, values, env };
        let layout = target.layout.row();
        bytes.clear();
        ranges.clear();
        patches.clear();
        let mut patch = self.is_fixed && !moved;
        for (at, assignment) in self.assignments.iter().enumerate() {
            let Some(place) = assignment.place else {
                ranges.push(None);
                continue;
            };
            let start = bytes.len();
            let value = new.value(at)?;
            match if patch { layout.patch(old, place, value.get(), bytes)? } else { None } {
                Some(offset) => patches.push((offset, start..bytes.len())),
                None => {
                    patch = false;
                    encode_value_raw(value.get(), bytes);
                }
            }
            ranges.push((!value.is_null()).then_some(start..bytes.len()));
        }
        if patch {
            *write = RowWrite::Patch;
            return Ok(());
        }
        // A damaged row must be noticed, not rewritten with NULLs.
        for place in 0..layout.types().len() {
            target.layout.raw_column(old, place)?;
        }
        row.clear();
        let stored_columns = target.layout.stored_columns();
        layout.encode_raw(
            |place| match self.by_column[stored_columns[place]] {
                Some(at) => ranges[at].clone().map(|range| &bytes[range]),
                None => target.layout.raw_column(old, place).ok().flatten(),
            },
            row,
        );
        *write = match changed_stretch(old, row) {
            _ if moved => RowWrite::Move,
            Some(stretch) if stretch.len() * 2 <= row.len() => RowWrite::Stretch(stretch),
            _ => RowWrite::Replace,
        };
        Ok(())
    }

    /// The entries that change.
    pub(super) fn changed<'a>(
        &'a self,
        buffers: &'a ChangeBuffers,
    ) -> impl Iterator<Item = (usize, &'a Index, &'a Entry, &'a Entry)> {
        let entries = self.indexes.iter().zip(&buffers.entries);
        let changed = entries.filter(|(_, (before, after))| before != after || buffers.write.is_move());
        changed.map(|(&at, (before, after))| (at, &*self.rules.target.table.indexes[at], before, after))
    }

    /// Sees to it that the old row's entries are those that it has.
    #[inline]
    pub(crate) fn settle_old(
        &self,
        trees: &mut dyn Trees,
        key: &[u8],
        env: Env<'_>,
        buffers: &mut ChangeBuffers,
    ) -> Result<(), Stop> {
        let target = &*self.rules.target;
        if !target.loses_entries {
            return Ok(());
        }
        let mut entries = self.indexes.iter().zip(&mut buffers.entries);
        entries.try_for_each(|(&at, (before, _))| before.settle(trees, target.kept_index(at), key, env))
    }

    /// Finds what is in the new row's way. `taken`: the old row's entries are not there any more.
    pub(crate) fn find_duplicate(
        &self,
        trees: &mut dyn Trees,
        buffers: &ChangeBuffers,
        taken: bool,
    ) -> Result<(), Stop> {
        let tree = self.rules.target.table.tree;
        if buffers.write.is_move() && exists(trees, tree, &buffers.new_key)? {
            return Err(Violation::Duplicate(None).into());
        }
        for (at, index, before, after) in self.changed(buffers) {
            let is_own = !taken && !before.absent && before.key == after.key;
            if after.is_exclusive() && !is_own && exists(trees, index.tree, &after.key)? {
                return Err(Violation::Duplicate(Some(at)).into());
            }
        }
        Ok(())
    }

    /// Takes away what of the old row would be in the way of new keys: its entries that change, and the row itself where
    /// its key does. [`RowChange::put_new`] must follow.
    pub(crate) fn take_old(&self, trees: &mut dyn Trees, key: &[u8], buffers: &ChangeBuffers) -> Result<(), Stop> {
        if buffers.write.is_move() {
            trees.delete(self.rules.target.table.tree, key)?;
            // A row under another key goes, and comes: others may take its key, and it another's, in between.
            derive(trees, &self.rules.target, Some((key, &buffers.old)), None)?;
        }
        let stays = !buffers.write.is_move();
        for (_, index, before, after) in self.changed(buffers).filter(|(.., before, _)| !before.absent) {
            before.take(trees, index, key, stays.then_some(after))?;
        }
        Ok(())
    }

    /// Writes the new row and its changed entries, in whose way nothing is.
    pub(crate) fn put_new(&self, trees: &mut dyn Trees, key: &[u8], buffers: &ChangeBuffers) -> Result<(), Stop> {
        let (tree, old_key) = (self.rules.target.table.tree, key);
        let key = buffers.key_after(key);
        let stays = !buffers.write.is_move();
        for (_, index, before, after) in self.changed(buffers).filter(|(.., after)| !after.absent) {
            after.put(trees, index, key, stays.then_some(before))?;
        }
        match &buffers.write {
            RowWrite::Patch => {
                for (offset, range) in &buffers.patches {
                    trees.patch(tree, key, *offset, &buffers.bytes[range.clone()])?;
                }
            }
            RowWrite::Stretch(stretch) if stretch.is_empty() => {}
            RowWrite::Stretch(stretch) => trees.patch(tree, key, stretch.start, &buffers.row[stretch.clone()])?,
            RowWrite::Replace | RowWrite::Move => trees.put(tree, key, &buffers.row)?,
        }
        match self.rules.target.table.is_derived_from() {
            false => Ok(()),
            true => self.derive(trees, (old_key, key), buffers),
        }
    }

    #[cold]
    fn derive(&self, trees: &mut dyn Trees, (old, new): (&[u8], &[u8]), buffers: &ChangeBuffers) -> Result<(), Stop> {
        let mut patched = Vec::new();
        let row = match buffers.write {
            RowWrite::Patch => {
                patched.extend_from_slice(&buffers.old);
                for (offset, range) in &buffers.patches {
                    let bytes = &buffers.bytes[range.clone()];
                    patched[*offset..][..bytes.len()].copy_from_slice(bytes);
                }
                &patched
            }
            _ => &buffers.row,
        };
        let old = (!buffers.write.is_move()).then_some((old, &buffers.old[..]));
        derive(trees, &self.rules.target, old, Some((new, row)))
    }
}
