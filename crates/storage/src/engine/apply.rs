//! Operations applied to the latest state: by commits whose trees others changed meanwhile, by who undoes a point write, by
//! recovery.

use super::counters::{Deltas, Sum};
use super::ops::Op;
use super::shared::Engine;
use super::writer::Writer;
use crate::page::{PageRef, SlotId};
use crate::tree::{LongValue, Patched, Value, overflow_value};
use crate::{Error, Result, TreeId};

impl Engine {
    /// Applies an operation to the latest state, loading what it needs while the commit lock is held. (Whoever can
    /// wait without the lock has loaded the pages before.)
    pub(crate) fn apply(&self, writer: &mut Writer, slot: SlotId, op: Op<'_>) -> Result<()> {
        let tree = op.tree();
        match op {
            Op::Create { .. } => {
                writer.trees.set(tree, PageRef::NONE);
                return Ok(());
            }
            Op::Drop { .. } => {
                let root = writer.trees.remove(tree).ok_or_else(|| Error::NoSuchTree(tree))?;
                if !root.is_none() {
                    writer.changes.drops.push(root);
                }
                return Ok(());
            }
            _ => {}
        }
        let mut root = writer.trees.root(tree).ok_or_else(|| Error::NoSuchTree(tree))?;
        if let Op::Add { key, front, deltas, .. } = op {
            let sum = self.sum_at(slot, (tree, root), key, front, Deltas::Encoded(deltas))?;
            return match sum.value() {
                Some(value) => self.apply(writer, slot, Op::Put { tree, key, value }),
                None => self.apply(writer, slot, Op::Delete { tree, key }),
            };
        }
        let result = self.apply_to(writer, slot, op, &mut root);
        writer.trees.set(tree, root);
        match (result?, op) {
            (Patched::Long(length, first), Op::Patch { key, offset, bytes, .. }) => {
                let value = self.patched(slot, length, first, offset, bytes)?;
                self.apply(writer, slot, Op::Put { tree, key, value: &value })
            }
            (Patched::Impossible, _) => Err(Error::BadPatch),
            _ => Ok(()),
        }
    }

    fn apply_to(&self, writer: &mut Writer, slot: SlotId, op: Op<'_>, root: &mut PageRef) -> Result<Patched> {
        writer.spill(self);
        let (tree, pages) = (op.tree(), &self.pages);
        match op {
            Op::Put { key, value, .. } => {
                let stamp = writer.stamp;
                let long = LongValue::write(pages, tree, stamp, key, value, &mut writer.changes.created)?;
                let cell = long.cell(value);
                self.with_pages(slot, |pin| writer.edit(pages, pin, tree, root).put(key, cell))?;
            }
            Op::Delete { key, .. } => {
                self.with_pages(slot, |pin| writer.edit(pages, pin, tree, root).delete(key))?;
            }
            Op::Patch { key, offset, bytes, .. } => {
                return self
                    .with_pages(slot, |pin| writer.edit(pages, pin, tree, root).patch(key, offset, bytes, |_| ()));
            }
            Op::Add { .. } => unreachable!("it is a put, or a delete"),
            Op::Append { .. } => unreachable!("its commit made a put of it"),
            Op::Create { .. } | Op::Drop { .. } => unreachable!("these are no changes inside a tree"),
        }
        Ok(Patched::Done)
    }

    /// What the entry under `key` comes to with something added.
    pub(crate) fn sum_at(
        &self,
        slot: SlotId,
        (tree, root): (TreeId, PageRef),
        key: &[u8],
        front: &[u8],
        deltas: Deltas<'_>,
    ) -> Result<Sum> {
        let mut sum = Sum::new();
        self.with_pages(slot, |pin| match crate::tree::get(&self.pages, pin, root, key)? {
            Some(Value::Long(..)) => {
                Err(Error::corrupt(format!("tree {} has a long entry of counters", tree.number())))
            }
            Some(Value::Inline(old)) => sum.add(tree, Some(old), front, deltas),
            None => sum.add(tree, None, front, deltas),
        })?;
        Ok(sum)
    }

    /// A long value with some bytes replaced.
    pub(crate) fn patched(
        &self,
        slot: SlotId,
        length: u64,
        first: PageRef,
        offset: usize,
        bytes: &[u8],
    ) -> Result<Vec<u8>> {
        let mut value = Vec::new();
        overflow_value(&self.pages, slot, length, first, &mut value)?;
        let part =
            value.get_mut(offset..).and_then(|rest| rest.get_mut(..bytes.len())).ok_or_else(|| Error::BadPatch)?;
        part.copy_from_slice(bytes);
        Ok(value)
    }
}
