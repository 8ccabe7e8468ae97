//! Operations that a recovery has read and not applied yet, so that it can apply them in key order.
//!
//! Commits touch pages in any order; a recovery that followed them would meet each page again and again, long after the
//! processor's cache has forgotten it. Nobody reads while the database is opened, so only the final state counts, and
//! operations on different keys may change places. Those on one key keep theirs: the order is by tree, the key's first
//! bytes, then where in the log.

use crate::broken::{self, Broken};
use crate::engine::{AppendKey, Op, Ops};
use crate::page::prefetch;
use crate::{Result, TreeId};

/// So many bytes of operations are sorted together, at most one commit more.
const BYTES: usize = 16 << 20;
/// Operations lie scattered once they are sorted: so many ahead are fetched into the processor's cache.
const AHEAD: usize = 8;

/// Operations and their order.
#[derive(Debug, Default)]
pub(super) struct Pending {
    bytes: Vec<u8>,
    /// Tree, the key's first eight bytes, where in `bytes`: from the highest bits to the lowest.
    order: Vec<u128>,
}

impl Pending {
    /// Adds the operations of a commit whose record ends at `position`. `Ok(false)`, and nothing added, if one of them makes or drops a tree: it must keep its
    /// place among the others. `Err(())` for bytes that are no operations.
    pub(super) fn add(&mut self, operations: &[u8], position: u64) -> Result<bool, ()> {
        let (base, count) = (self.bytes.len(), self.order.len());
        self.bytes.extend_from_slice(operations);
        let mut ops = Ops::new(operations);
        while let Some(op) = ops.next() {
            let (tree, head) = match op? {
                Op::Put { tree, key, .. }
                | Op::Patch { tree, key, .. }
                | Op::Delete { tree, key }
                | Op::Add { tree, key, .. } => (tree, head(key)),
                // Its key begins with it.
                Op::Append { tree, .. } => (tree, position),
                Op::Create { .. } | Op::Drop { .. } => {
                    self.bytes.truncate(base);
                    self.order.truncate(count);
                    return Ok(false);
                }
            };
            let at = base + ops.last_begin();
            self.order.push(u128::from(tree.0) << 96 | u128::from(head) << 32 | at as u128);
        }
        Ok(true)
    }

    pub(super) fn is_full(&self) -> bool {
        self.bytes.len() > BYTES
    }

    /// Whether a list of so many bytes can be added: places in `bytes` are numbers of 32 bits.
    pub(super) fn has_room_for(&self, operations: usize) -> bool {
        self.bytes.len() + operations <= u32::MAX as usize
    }

    /// Applies everything, in order, to the latest state.
    pub(super) fn apply(&mut self, mut each: impl FnMut(Op<'_>) -> Result<()>) -> Result<()> {
        self.order.sort_unstable();
        let bytes = |entry: u128| &self.bytes[entry as u32 as usize..];
        let result = self.order.iter().enumerate().try_for_each(|(i, &entry)| {
            if let Some(&later) = self.order.get(i + AHEAD) {
                prefetch(bytes(later));
            }
            let op = Ops::one_at(bytes(entry), TreeId((entry >> 96) as u32));
            if broken::is(Broken::AddsMerged) && self.is_added_to_again(i) {
                return Ok(());
            }
            let mut key = AppendKey::default();
            each(op.expect("it was read before").at((entry >> 32) as u64, &mut key))
        });
        self.order.clear();
        self.bytes.clear();
        result
    }

    /// For tests only: whether this operation and the next one add to the same entry.
    fn is_added_to_again(&self, i: usize) -> bool {
        let added_to = |at: usize| {
            let entry = *self.order.get(at)?;
            match Ops::one_at(&self.bytes[entry as u32 as usize..], TreeId((entry >> 96) as u32))? {
                Op::Add { tree, key, .. } => Some((tree, key)),
                _ => None,
            }
        };
        added_to(i).is_some() && added_to(i) == added_to(i + 1)
    }
}

/// The first eight bytes, as a number that sorts like them.
fn head(key: &[u8]) -> u64 {
    let mut head = [0; 8];
    let length = key.len().min(8);
    head[..length].copy_from_slice(&key[..length]);
    u64::from_be_bytes(head)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::OpList;

    #[test]
    fn operations_come_in_key_order_and_those_on_one_key_as_they_were_added() {
        let mut pending = Pending::default();
        for round in 0..5u8 {
            let mut ops = OpList::default();
            for key in [9u8, 1, 200, 1] {
                ops.put(TreeId(u32::from(key % 2) + 1), &[key; 20], &[round]);
                ops.delete(TreeId(7), &[key, round]);
            }
            assert_eq!(pending.add(ops.bytes(), u64::from(round)), Ok(true));
        }
        let mut seen = Vec::new();
        let note = |op: Op<'_>| {
            if let Op::Put { tree, key, value } = op {
                seen.push((tree.0, key[0], value[0]));
            }
            Ok(())
        };
        pending.apply(note).unwrap();
        let puts = |tree, key, times: usize| (0..5u8).flat_map(move |round| vec![(tree, key, round); times]);
        let expected: Vec<_> = puts(1, 200, 1).chain(puts(2, 1, 2)).chain(puts(2, 9, 1)).collect();
        assert_eq!(seen, expected);
    }

    #[test]
    fn what_cannot_be_sorted_is_refused() {
        let mut ops = OpList::default();
        ops.put(TreeId(3), b"key", b"value");
        ops.drop_tree(TreeId(3));
        let mut pending = Pending::default();
        assert_eq!(pending.add(ops.bytes(), 0), Ok(false));
        assert!(pending.bytes.is_empty() && pending.order.is_empty());
        assert_eq!(pending.add(&[99], 0), Err(()));
    }
}
