//! Operations: what a transaction did, in the encoding that the log keeps and that a rebase and a recovery replay.
//!
//! ```text
//! 1 tree                       the operations that follow are on this tree
//! 2 keylen key vallen value    put
//! 3 keylen key offset len data patch
//! 4 keylen key                 delete
//! 5 tree                       create a tree (and go on with it)
//! 6 tree                       drop a tree
//! 7                            reserved: add to a counter
//! ```
//! Numbers are LEB128. Tree 0 precedes the first operation. In operation 1, bit 0 of the number is reserved to say that the tree is
//! derived from others (an index), for later consumers of the log; the tree is in the bits above.

use super::version::TreeId;
use crate::log::format::{read_varint, varint_into};

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op<'a> {
    Put { tree: TreeId, key: &'a [u8], value: &'a [u8] },
    Patch { tree: TreeId, key: &'a [u8], offset: usize, bytes: &'a [u8] },
    Delete { tree: TreeId, key: &'a [u8] },
    Create { tree: TreeId },
    Drop { tree: TreeId },
}

impl Op<'_> {
    pub(crate) fn tree(&self) -> TreeId {
        match *self {
            Op::Put { tree, .. }
            | Op::Patch { tree, .. }
            | Op::Delete { tree, .. }
            | Op::Create { tree }
            | Op::Drop { tree } => tree,
        }
    }
}

/// A list of operations being written.
#[derive(Debug, Default)]
pub(crate) struct OpList {
    bytes: Vec<u8>,
    tree: u32,
}

/// Where a list can be cut back to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpMark {
    length: usize,
    tree: u32,
}

impl OpList {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.tree = 0;
    }

    pub(crate) fn mark(&self) -> OpMark {
        OpMark { length: self.bytes.len(), tree: self.tree }
    }

    pub(crate) fn cut(&mut self, mark: OpMark) {
        self.bytes.truncate(mark.length);
        self.tree = mark.tree;
    }

    pub(crate) fn put(&mut self, tree: TreeId, key: &[u8], value: &[u8]) {
        self.begin(tree, 2);
        self.slice(key);
        self.slice(value);
    }

    pub(crate) fn patch(&mut self, tree: TreeId, key: &[u8], offset: usize, bytes: &[u8]) {
        self.begin(tree, 3);
        self.slice(key);
        self.number(offset as u64);
        self.slice(bytes);
    }

    pub(crate) fn delete(&mut self, tree: TreeId, key: &[u8]) {
        self.begin(tree, 4);
        self.slice(key);
    }

    pub(crate) fn create(&mut self, tree: TreeId) {
        self.bytes.push(5);
        self.number(tree.0 as u64);
        self.tree = tree.0;
    }

    pub(crate) fn drop_tree(&mut self, tree: TreeId) {
        self.bytes.push(6);
        self.number(tree.0 as u64);
    }

    fn begin(&mut self, tree: TreeId, tag: u8) {
        if self.tree != tree.0 {
            self.bytes.push(1);
            self.number((tree.0 as u64) << 1);
            self.tree = tree.0;
        }
        self.bytes.push(tag);
    }

    fn slice(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    fn number(&mut self, n: u64) {
        let mut out = [0; 10];
        let length = varint_into(&mut out, n);
        self.bytes.extend_from_slice(&out[..length]);
    }
}

/// Reads operations; `Err(())` for bytes that are none.
pub(crate) struct Ops<'a> {
    bytes: &'a [u8],
    tree: u32,
}

impl<'a> Ops<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Ops<'a> {
        Ops { bytes, tree: 0 }
    }

    fn slice(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(read_varint(&mut self.bytes)?).ok()?;
        let (slice, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        Some(slice)
    }

    fn tree_number(&mut self) -> Option<u32> {
        u32::try_from(read_varint(&mut self.bytes)?).ok()
    }

    fn read(&mut self) -> Option<Op<'a>> {
        loop {
            let (&tag, rest) = self.bytes.split_first()?;
            self.bytes = rest;
            let tree = TreeId(self.tree);
            return Some(match tag {
                1 => {
                    self.tree = u32::try_from(read_varint(&mut self.bytes)? >> 1).ok()?;
                    continue;
                }
                2 => Op::Put { tree, key: self.slice()?, value: self.slice()? },
                3 => Op::Patch {
                    tree,
                    key: self.slice()?,
                    offset: usize::try_from(read_varint(&mut self.bytes)?).ok()?,
                    bytes: self.slice()?,
                },
                4 => Op::Delete { tree, key: self.slice()? },
                5 => {
                    self.tree = self.tree_number()?;
                    Op::Create { tree: TreeId(self.tree) }
                }
                6 => Op::Drop { tree: TreeId(self.tree_number()?) },
                _ => return None,
            });
        }
    }
}

impl<'a> Iterator for Ops<'a> {
    type Item = Result<Op<'a>, ()>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.bytes.is_empty() {
            return None;
        }
        let op = self.read();
        if op.is_none() {
            self.bytes = &[];
        }
        Some(op.ok_or(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_back_in_order() {
        let (a, b) = (TreeId(3), TreeId(300));
        let mut list = OpList::default();
        list.put(a, b"key", b"value");
        list.patch(b, b"", 200, b"xy");
        let mark = list.mark();
        list.create(TreeId(7));
        list.cut(mark);
        list.delete(b, &[9; 200]);
        list.drop_tree(a);
        let ops: Vec<_> = Ops::new(list.bytes()).map(Result::unwrap).collect();
        let expected = [
            Op::Put { tree: a, key: b"key", value: b"value" },
            Op::Patch { tree: b, key: b"", offset: 200, bytes: b"xy" },
            Op::Delete { tree: b, key: &[9; 200] },
            Op::Drop { tree: a },
        ];
        assert_eq!(ops, expected);
    }

    #[test]
    fn bytes_that_are_no_operations_are_refused_without_panic() {
        for length in 0..60 {
            for seed in 0..200u8 {
                let bytes: Vec<u8> =
                    (0..length).map(|i| seed.wrapping_mul(31).wrapping_add(u8::wrapping_mul(i, 7)) % 12).collect();
                assert!(Ops::new(&bytes).count() <= bytes.len());
            }
        }
        assert_eq!(Ops::new(&[2, 255]).next(), Some(Err(())));
    }
}
