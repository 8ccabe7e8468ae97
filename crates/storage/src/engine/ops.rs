//! Operations: what a transaction did, in the encoding that the log keeps and that a rebase and a recovery replay.
//!
//! ```text
//! 1 tree                       the operations that follow are on this tree
//! 2 keylen key vallen value    put
//! 3 keylen key offset len data patch
//! 4 keylen key                 delete
//! 5 tree                       create a tree (and go on with it)
//! 6 tree                       drop a tree
//! 7 keylen key frontlen front deltaslen deltas   add to the entry's counters (`counters`)
//! 8 ordinal vallen value       append: put, under a key that the commit gives
//! ```
//! Numbers are LEB128. Tree 0 precedes the first operation. A tree is its number shifted left by one; bit 0 says that it is
//! derived from others (an index), so that a consumer of the log can pass over its operations.
//!
//! The key of an append is the log position behind the record that commits it, and its ordinal, which is no other's of the
//! transaction ([`AppendKey`]). So it is known where the record is appended, and is the same wherever the record is read; and
//! keys of later commits are greater.

use super::counters::push_signed;
use crate::TreeId;
use crate::log::format::{read_varint, varint_into};

/// The most that a put takes besides its key and value: two tags, a tree, two lengths.
const PUT_BYTES: usize = 2 + 3 * 10;

/// Room that a list takes when it is first written to: enough for a few rows.
const FEW_BYTES: usize = 512;

/// Room that a list keeps of what it took before it was sent.
const KEPT_BYTES: usize = 4 << 20;

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op<'a> {
    Put { tree: TreeId, key: &'a [u8], value: &'a [u8] },
    Patch { tree: TreeId, key: &'a [u8], offset: usize, bytes: &'a [u8] },
    Delete { tree: TreeId, key: &'a [u8] },
    Add { tree: TreeId, key: &'a [u8], front: &'a [u8], deltas: &'a [u8] },
    Append { tree: TreeId, ordinal: u32, value: &'a [u8] },
    Create { tree: TreeId },
    Drop { tree: TreeId },
}

impl<'a> Op<'a> {
    /// The key of the entry that it changes; `None`: it makes or drops a tree, or only its commit says it.
    pub(crate) fn key(&self) -> Option<&'a [u8]> {
        match *self {
            Op::Put { key, .. } | Op::Patch { key, .. } | Op::Delete { key, .. } | Op::Add { key, .. } => Some(key),
            Op::Append { .. } | Op::Create { .. } | Op::Drop { .. } => None,
        }
    }

    /// What it is in a commit whose record ends at `position`: an append is the put that it stands for.
    pub(crate) fn at<'k>(self, position: u64, key: &'k mut AppendKey) -> Op<'k>
    where
        'a: 'k,
    {
        match self {
            Op::Append { tree, ordinal, value } => {
                *key = AppendKey::new(position, ordinal);
                Op::Put { tree, key: &key.0, value }
            }
            op => op,
        }
    }

    pub(crate) fn tree(&self) -> TreeId {
        match *self {
            Op::Put { tree, .. }
            | Op::Patch { tree, .. }
            | Op::Delete { tree, .. }
            | Op::Add { tree, .. }
            | Op::Append { tree, .. }
            | Op::Create { tree }
            | Op::Drop { tree } => tree,
        }
    }
}

/// The key of an entry that was appended: eight bytes of log position, four of ordinal, which sort like these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AppendKey([u8; AppendKey::BYTES]);

impl AppendKey {
    /// Bytes of such a key.
    pub const BYTES: usize = 12;

    /// Of the commit whose record ends at `position`.
    pub fn new(position: u64, ordinal: u32) -> AppendKey {
        let mut bytes = [0; AppendKey::BYTES];
        bytes[..8].copy_from_slice(&position.to_be_bytes());
        bytes[8..].copy_from_slice(&ordinal.to_be_bytes());
        AppendKey(bytes)
    }

    /// Position and ordinal, of a key of such bytes.
    pub fn read(key: &[u8]) -> Option<(u64, u32)> {
        let (position, ordinal) = key.split_first_chunk::<8>()?;
        Some((u64::from_be_bytes(*position), u32::from_be_bytes(ordinal.try_into().ok()?)))
    }

    /// The key's bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// A list of operations being written. Its beginning may be elsewhere already (in the log).
#[derive(Debug, Default)]
pub(crate) struct OpList {
    /// Bytes of operations that are elsewhere.
    sent: u64,
    bytes: Vec<u8>,
    tree: u32,
}

/// Where a list can be cut back to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpMark {
    length: u64,
    tree: u32,
}

impl OpList {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How many bytes of operations are elsewhere: `bytes` begins behind them.
    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    /// Bytes of operations in all.
    pub(crate) fn length(&self) -> u64 {
        self.sent + self.bytes.len() as u64
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.length() == 0
    }

    pub(crate) fn clear(&mut self) {
        *self = OpList { bytes: std::mem::take(&mut self.bytes), ..OpList::default() };
        self.bytes.clear();
    }

    pub(crate) fn mark(&self) -> OpMark {
        OpMark { length: self.length(), tree: self.tree }
    }

    pub(crate) fn cut(&mut self, mark: OpMark) {
        self.bytes.truncate(mark.length.saturating_sub(self.sent) as usize);
        self.sent = self.sent.min(mark.length);
        self.tree = mark.tree;
    }

    /// The first `count` of `bytes` are elsewhere from now on.
    pub(crate) fn send(&mut self, count: usize) {
        self.bytes.drain(..count);
        // A large value's room is not for those that follow.
        self.bytes.shrink_to(KEPT_BYTES);
        self.sent += count as u64;
    }

    pub(crate) fn put(&mut self, tree: TreeId, key: &[u8], value: &[u8]) {
        self.bytes.reserve(key.len() + value.len() + PUT_BYTES);
        self.begin(tree, 2);
        self.slice(key);
        self.slice(value);
    }

    pub(crate) fn patch(&mut self, tree: TreeId, key: &[u8], offset: usize, bytes: &[u8]) {
        self.bytes.reserve(key.len() + bytes.len() + PUT_BYTES + 10);
        self.begin(tree, 3);
        self.slice(key);
        self.number(offset as u64);
        self.slice(bytes);
    }

    pub(crate) fn delete(&mut self, tree: TreeId, key: &[u8]) {
        self.begin(tree, 4);
        self.slice(key);
    }

    /// Adds to the counters of the entry under `key`, which begins with `front` where there is none.
    pub(crate) fn add(&mut self, tree: TreeId, key: &[u8], front: &[u8], deltas: &[i128]) {
        self.begin(tree, 7);
        self.slice(key);
        self.slice(front);
        // Their length comes before them: one byte, most likely.
        let start = self.bytes.len();
        self.bytes.push(0);
        deltas.iter().for_each(|delta| push_signed(*delta, &mut self.bytes));
        match u8::try_from(self.bytes.len() - start - 1) {
            Ok(length @ ..0x80) => self.bytes[start] = length,
            _ => {
                let deltas = self.bytes.split_off(start + 1);
                self.bytes.pop();
                self.slice(&deltas);
            }
        }
    }

    pub(crate) fn append(&mut self, tree: TreeId, ordinal: u32, value: &[u8]) {
        self.bytes.reserve(value.len() + PUT_BYTES);
        self.begin(tree, 8);
        self.number(ordinal.into());
        self.slice(value);
    }

    pub(crate) fn create(&mut self, tree: TreeId) {
        self.bytes.push(5);
        self.number(tree_code(tree));
        self.tree = tree.0;
    }

    pub(crate) fn drop_tree(&mut self, tree: TreeId) {
        self.bytes.push(6);
        self.number(tree_code(tree));
    }

    fn begin(&mut self, tree: TreeId, tag: u8) {
        if self.bytes.capacity() == 0 {
            self.bytes.reserve(FEW_BYTES);
        }
        if self.tree != tree.0 {
            self.bytes.push(1);
            self.number(tree_code(tree));
            self.tree = tree.0;
        }
        self.bytes.push(tag);
    }

    #[inline]
    fn slice(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    #[inline]
    fn number(&mut self, n: u64) {
        match u8::try_from(n) {
            Ok(short @ ..0x80) => self.bytes.push(short),
            _ => self.long_number(n),
        }
    }

    #[inline(never)]
    fn long_number(&mut self, n: u64) {
        let mut out = [0; 10];
        let length = varint_into(&mut out, n);
        self.bytes.extend_from_slice(&out[..length]);
    }
}

/// The tree's number above the bit that says whether it is derived.
fn tree_code(tree: TreeId) -> u64 {
    u64::from(tree.0.rotate_left(1))
}

/// Reads operations; `Err(())` for bytes that are none.
pub(crate) struct Ops<'a> {
    bytes: &'a [u8],
    tree: u32,
    /// Bytes in all, and how many were left before the operation read last (without the tree in front of it).
    length: usize,
    left: usize,
}

impl<'a> Ops<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Ops<'a> {
        Ops::on(bytes, 0)
    }

    fn on(bytes: &'a [u8], tree: u32) -> Ops<'a> {
        Ops { bytes, tree, length: bytes.len(), left: bytes.len() }
    }

    /// The operation on `tree` that begins the bytes.
    pub(crate) fn one_at(bytes: &'a [u8], tree: TreeId) -> Option<Op<'a>> {
        Ops::on(bytes, tree.0).read()
    }

    /// Where the operation that was read last begins.
    pub(crate) fn last_begin(&self) -> usize {
        self.length - self.left
    }

    fn slice(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(read_varint(&mut self.bytes)?).ok()?;
        let (slice, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        Some(slice)
    }

    fn tree_number(&mut self) -> Option<u32> {
        u32::try_from(read_varint(&mut self.bytes)?).ok().map(|code| code.rotate_right(1))
    }

    fn read(&mut self) -> Option<Op<'a>> {
        loop {
            self.left = self.bytes.len();
            let (&tag, rest) = self.bytes.split_first()?;
            self.bytes = rest;
            let tree = TreeId(self.tree);
            return Some(match tag {
                1 => {
                    self.tree = self.tree_number()?;
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
                7 => Op::Add { tree, key: self.slice()?, front: self.slice()?, deltas: self.slice()? },
                8 => Op::Append {
                    tree,
                    ordinal: u32::try_from(read_varint(&mut self.bytes)?).ok()?,
                    value: self.slice()?,
                },
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

/// Reads operations from bytes that come piece by piece, each ending anywhere.
#[derive(Debug, Default)]
pub(crate) struct OpStream {
    tree: u32,
}

impl OpStream {
    /// Calls `each` with every whole operation in `bytes`, and takes them away.
    pub(crate) fn read<E>(
        &mut self,
        bytes: &mut Vec<u8>,
        mut each: impl FnMut(Op<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut ops = Ops::on(bytes, self.tree);
        let mut left = ops.bytes.len();
        while let Some(op) = ops.read() {
            each(op)?;
            left = ops.bytes.len();
            self.tree = ops.tree;
        }
        bytes.drain(..bytes.len() - left);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_reads_the_same_operations_wherever_it_is_cut() {
        let mut list = OpList::default();
        for i in 0..20u8 {
            list.put(TreeId(u32::from(i % 3)), &[i; 5], &[i; 200]);
            list.delete(TreeId(300), &[i]);
        }
        let whole: Vec<String> = Ops::new(list.bytes()).map(|op| format!("{op:?}")).collect();
        for size in [1, 2, 7, 100, 5000] {
            let (mut stream, mut buffer, mut read) = (OpStream::default(), Vec::new(), Vec::new());
            for piece in list.bytes().chunks(size) {
                buffer.extend_from_slice(piece);
                let each = |op: Op<'_>| {
                    read.push(format!("{:?}", Ok::<_, ()>(op)));
                    Ok::<(), ()>(())
                };
                stream.read(&mut buffer, each).unwrap();
            }
            assert!(buffer.is_empty());
            assert_eq!(read, whole, "in pieces of {size}");
        }
    }

    #[test]
    fn a_list_whose_beginning_was_sent_can_be_cut_back_behind_and_before_it() {
        let mut list = OpList::default();
        list.put(TreeId(5), b"a", b"1");
        let early = list.mark();
        list.put(TreeId(6), b"b", b"2");
        list.send(list.bytes().len());
        let late = list.mark();
        list.put(TreeId(6), b"c", b"3");
        list.cut(late);
        assert_eq!((list.length(), list.bytes().len()), (list.sent(), 0));
        list.cut(early);
        assert_eq!((list.sent(), list.length()), (early.length, early.length));
        // The tree is the one that the mark saw: no need to say it again.
        list.put(TreeId(5), b"d", b"4");
        assert_eq!(list.bytes()[0], 2);
    }

    #[test]
    fn what_was_written_is_read_back_in_order() {
        let (a, b) = (TreeId(3), TreeId::new(300, true));
        let mut list = OpList::default();
        list.put(a, b"key", b"value");
        list.patch(b, b"", 200, b"xy");
        let mark = list.mark();
        list.create(TreeId(7));
        list.cut(mark);
        list.delete(b, &[9; 200]);
        list.create(TreeId::new(8, true));
        list.append(a, 70_000, b"entry");
        list.add(b, b"k", b"f", &[1, -1]);
        list.add(b, b"k", b"", &[i128::MAX; 9]);
        list.drop_tree(a);
        let mut long = Vec::new();
        (0..9).for_each(|_| push_signed(i128::MAX, &mut long));
        let ops: Vec<_> = Ops::new(list.bytes()).map(Result::unwrap).collect();
        let expected = [
            Op::Put { tree: a, key: b"key", value: b"value" },
            Op::Patch { tree: b, key: b"", offset: 200, bytes: b"xy" },
            Op::Delete { tree: b, key: &[9; 200] },
            Op::Create { tree: TreeId::new(8, true) },
            Op::Append { tree: a, ordinal: 70_000, value: b"entry" },
            Op::Add { tree: b, key: b"k", front: b"f", deltas: &[2, 1] },
            Op::Add { tree: b, key: b"k", front: b"", deltas: &long },
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
