//! A growable byte buffer at an address that direct I/O accepts.
//!
//! Invariants: `blocks` covers at least `len` bytes, and every block begins at a multiple of [`BLOCK`]. All bytes are
//! initialised always, so the two views below are the only `unsafe` code.

use std::ops::{Deref, DerefMut};

/// Alignment of [`AlignedBuf`], in bytes: enough for direct I/O on every drive with sectors of up to 4 KiB.
pub const BLOCK: usize = 4096;

#[derive(Clone, Copy)]
#[repr(C, align(4096))]
struct Block([u8; BLOCK]);

const ZERO: Block = Block([0; BLOCK]);

/// Bytes at an address that is a multiple of [`BLOCK`], growing like a `Vec`.
#[derive(Clone, Default)]
pub struct AlignedBuf {
    blocks: Vec<Block>,
    len: usize,
}

impl AlignedBuf {
    /// An empty buffer that allocates nothing yet.
    pub const fn new() -> AlignedBuf {
        AlignedBuf { blocks: Vec::new(), len: 0 }
    }

    /// An empty buffer with room for `bytes`.
    pub fn with_capacity(bytes: usize) -> AlignedBuf {
        AlignedBuf { blocks: vec![ZERO; bytes.div_ceil(BLOCK)], len: 0 }
    }

    /// `len` zero bytes.
    pub fn zeroed(len: usize) -> AlignedBuf {
        AlignedBuf { blocks: vec![ZERO; len.div_ceil(BLOCK)], len }
    }

    /// How many bytes fit without allocating.
    pub fn capacity(&self) -> usize {
        self.blocks.len() * BLOCK
    }

    /// Lets it have room for `bytes` in all.
    #[cold]
    pub fn reserve(&mut self, bytes: usize) {
        let blocks = bytes.div_ceil(BLOCK).max(self.blocks.len());
        self.blocks.reserve_exact(blocks - self.blocks.len());
        self.blocks.resize(blocks, ZERO);
    }

    /// Forgets the content and keeps the memory.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Shortens the content to `len` bytes; does nothing if it is shorter already.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Changes the length; new bytes are zero.
    pub fn resize(&mut self, len: usize) {
        let old_len = self.len;
        self.reach(len);
        self.len = len;
        if len > old_len {
            self[old_len..].fill(0);
        }
    }

    /// Appends `bytes`.
    #[inline]
    pub fn extend_from_slice(&mut self, bytes: &[u8]) {
        let old_len = self.len;
        self.reach(old_len + bytes.len());
        self.len += bytes.len();
        self[old_len..].copy_from_slice(bytes);
    }

    /// Appends zeros up to the next multiple of `alignment`, which must not be zero.
    pub fn pad_to(&mut self, alignment: usize) {
        self.resize(self.len.next_multiple_of(alignment));
    }

    /// Drops the first `bytes` bytes and moves the rest to the front.
    pub fn consume(&mut self, bytes: usize) {
        let bytes = bytes.min(self.len);
        self.copy_within(bytes.., 0);
        self.len -= bytes;
    }

    fn reach(&mut self, bytes: usize) {
        let needed = bytes.div_ceil(BLOCK);
        if needed > self.blocks.len() {
            let doubled = self.blocks.len() * 2;
            self.blocks.resize(needed.max(doubled), ZERO);
        }
    }
}

impl Deref for AlignedBuf {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        debug_assert!(self.len <= self.capacity());
        // SAFETY: the blocks are `capacity()` contiguous initialised bytes (`Block` is a `u8` array without padding)
        // owned by `self` for the borrow's life, and every method keeps `len <= capacity()`.
        unsafe { std::slice::from_raw_parts(self.blocks.as_ptr().cast(), self.len) }
    }
}

impl DerefMut for AlignedBuf {
    fn deref_mut(&mut self) -> &mut [u8] {
        debug_assert!(self.len <= self.capacity());
        // SAFETY: as in `deref`; the borrow of `self` is exclusive, and any byte pattern is a valid `Block`.
        unsafe { std::slice::from_raw_parts_mut(self.blocks.as_mut_ptr().cast(), self.len) }
    }
}

impl std::fmt::Debug for AlignedBuf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AlignedBuf").field("len", &self.len).field("capacity", &self.capacity()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_stays_aligned_while_it_grows() {
        let mut buf = AlignedBuf::new();
        for round in 0..2000u32 {
            buf.extend_from_slice(&round.to_le_bytes());
            assert_eq!(buf.as_ptr() as usize % BLOCK, 0);
        }
        assert_eq!(buf.len(), 8000);
        assert_eq!(buf[4 * 1999..], 1999u32.to_le_bytes());
    }

    #[test]
    fn bytes_gained_by_resize_are_zero_even_in_reused_memory() {
        let mut buf = AlignedBuf::zeroed(5000);
        buf.fill(7);
        buf.clear();
        buf.extend_from_slice(&[1, 2, 3]);
        buf.pad_to(BLOCK);
        assert_eq!(buf.len(), BLOCK);
        assert_eq!(buf[..3], [1, 2, 3]);
        assert!(buf[3..].iter().all(|&byte| byte == 0));
    }

    #[test]
    fn consume_keeps_the_tail() {
        let mut buf = AlignedBuf::with_capacity(10);
        buf.extend_from_slice(b"hello world");
        buf.consume(6);
        assert_eq!(&buf[..], b"world");
        buf.consume(100);
        assert!(buf.is_empty());
    }
}
