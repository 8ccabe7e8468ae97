//! The bytes of a simulated file, copied on write, so that thousands of images of a disk share what they have in common.
//!
//! Invariants: a missing chunk is a hole and reads as zeros; bytes of the last chunk past the length are zero.

use std::ops::Range;
use std::sync::Arc;

pub(super) const CHUNK: u64 = 4096;

type Chunk = [u8; CHUNK as usize];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Content {
    chunks: Arc<Vec<Option<Arc<Chunk>>>>,
    len: u64,
}

impl Content {
    pub(super) fn from_bytes(bytes: &[u8]) -> Content {
        let mut content = Content::default();
        content.write(0, bytes);
        content
    }

    pub(super) fn to_vec(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.len as usize];
        self.read(0, &mut bytes);
        bytes
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Cuts, or extends with a hole.
    pub(super) fn set_len(&mut self, len: u64) {
        let chunks = Arc::make_mut(&mut self.chunks);
        chunks.resize(len.div_ceil(CHUNK) as usize, None);
        let used = (len % CHUNK) as usize;
        if let (true, Some(Some(last))) = (len < self.len && used != 0, chunks.last_mut()) {
            Arc::make_mut(last)[used..].fill(0);
        }
        self.len = len;
    }

    /// Whether all of the range lies within the length; if so `buf` is filled from it.
    pub(super) fn read(&self, offset: u64, buf: &mut [u8]) -> bool {
        if offset.checked_add(buf.len() as u64).is_none_or(|end| end > self.len) {
            return false;
        }
        for (index, start, piece) in pieces(offset, buf.len()) {
            let target = &mut buf[piece];
            match &self.chunks[index] {
                Some(chunk) => target.copy_from_slice(&chunk[start..start + target.len()]),
                None => target.fill(0),
            }
        }
        true
    }

    /// Writes all of `bytes`, extending as needed.
    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) {
        let end = offset + bytes.len() as u64;
        if !bytes.is_empty() && end > self.len {
            self.set_len(end);
        }
        self.write_within(offset, bytes);
    }

    /// Writes what of `bytes` falls within the length.
    pub(super) fn write_within(&mut self, offset: u64, bytes: &[u8]) {
        let room = self.len.saturating_sub(offset).min(bytes.len() as u64) as usize;
        let chunks = Arc::make_mut(&mut self.chunks);
        for (index, start, piece) in pieces(offset, room) {
            let chunk = chunks[index].get_or_insert_with(|| Arc::new([0; CHUNK as usize]));
            Arc::make_mut(chunk)[start..start + piece.len()].copy_from_slice(&bytes[piece]);
        }
    }

    /// Makes zeros of what of the range falls within the length, and holes of chunks that have nothing else.
    pub(super) fn clear(&mut self, offset: u64, length: usize) {
        let room = self.len.saturating_sub(offset).min(length as u64) as usize;
        let chunks = Arc::make_mut(&mut self.chunks);
        for (index, start, piece) in pieces(offset, room) {
            if let Some(chunk) = &mut chunks[index] {
                Arc::make_mut(chunk)[start..start + piece.len()].fill(0);
                if chunk.iter().all(|&byte| byte == 0) {
                    chunks[index] = None;
                }
            }
        }
    }

    /// Inverts one bit; false if the file ends before it.
    pub(super) fn flip_bit(&mut self, bit: u64) -> bool {
        let mut byte = [0];
        if !self.read(bit / 8, &mut byte) {
            return false;
        }
        self.write_within(bit / 8, &[byte[0] ^ (1 << (bit % 8))]);
        true
    }

    /// How many chunks take space.
    pub(super) fn allocated_chunks(&self) -> u64 {
        self.chunks.iter().filter(|chunk| chunk.is_some()).count() as u64
    }

    /// How many of the first bytes of a write of `length` bytes fit if at most `free` chunks may be allocated.
    pub(super) fn fitting(&self, offset: u64, length: usize, mut free: u64) -> usize {
        for (index, _, piece) in pieces(offset, length) {
            if self.chunks.get(index).is_none_or(Option::is_none) {
                if free == 0 {
                    return piece.start;
                }
                free -= 1;
            }
        }
        length
    }
}

/// Cuts `length` bytes from `offset` at chunk borders: (chunk, start in the chunk, range among the bytes).
fn pieces(offset: u64, length: usize) -> impl Iterator<Item = (usize, usize, Range<usize>)> {
    cuts(offset, length, CHUNK).map(move |piece| {
        let at = offset + piece.start as u64;
        ((at / CHUNK) as usize, (at % CHUNK) as usize, piece)
    })
}

/// Cuts `length` bytes from `offset` at multiples of `unit`: ranges among the bytes.
pub(super) fn cuts(offset: u64, length: usize, unit: u64) -> impl Iterator<Item = Range<usize>> {
    let mut done = 0_usize;
    std::iter::from_fn(move || {
        let room = (unit - (offset + done as u64) % unit) as usize;
        let piece = done..length.min(done.saturating_add(room));
        done = piece.end;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_do_not_see_later_writes() {
        let mut content = Content::from_bytes(&[1; 10_000]);
        let copy = content.clone();
        content.write(4000, &[2; 200]);
        assert_eq!(copy.to_vec(), vec![1; 10_000]);
        assert_eq!(content.to_vec()[3999..4201], [&[1][..], &[2; 200], &[1]].concat());
    }

    #[test]
    fn a_file_cut_and_extended_again_shows_zeros() {
        let mut content = Content::from_bytes(&[1; 5000]);
        content.set_len(100);
        content.set_len(5000);
        assert_eq!(content.to_vec(), [vec![1; 100], vec![0; 4900]].concat());
    }

    #[test]
    fn only_holes_need_space() {
        let mut content = Content::default();
        content.set_len(3 * CHUNK);
        content.write(CHUNK, &[1]);
        assert_eq!(content.allocated_chunks(), 1);
        assert_eq!(content.fitting(CHUNK, 10, 0), 10);
        assert_eq!(content.fitting(CHUNK + 10, 2 * CHUNK as usize, 0), CHUNK as usize - 10);
        assert_eq!(content.fitting(0, 4 * CHUNK as usize, 2), 3 * CHUNK as usize);
    }

    #[test]
    fn what_is_cleared_is_zeros_and_holes_where_nothing_else_is() {
        let mut content = Content::from_bytes(&[1; 3 * CHUNK as usize]);
        content.clear(100, 2 * CHUNK as usize);
        assert_eq!(content.allocated_chunks(), 2);
        let at = |index: usize| content.to_vec()[index];
        assert_eq!([99, 100, 2 * CHUNK as usize + 99, 2 * CHUNK as usize + 100].map(at), [1, 0, 0, 1]);
        content.clear(0, 10 * CHUNK as usize);
        assert_eq!((content.allocated_chunks(), content.len()), (0, 3 * CHUNK));
    }
}
