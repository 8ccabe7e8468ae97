//! The operations of a transaction that lie in the log in several pieces, before its commit.
//!
//! Each piece says where among the transaction's operations it begins. One that begins before the end of those written
//! earlier takes their place from there on: that is how rolling back to a savepoint undoes what is in the log already.
//! Pieces end anywhere, also within an operation. They are read back with a checksum each, so that a bad byte on the
//! medium is reported rather than applied.

use std::sync::Arc;

use crate::io::File;
use crate::{Error, Result};

/// Where some operations lie.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// Where they begin in the log's file.
    offset: u64,
    /// How many bytes were written, and how many of them still count.
    written: usize,
    length: usize,
    crc: u32,
}

/// A transaction's pieces, in order, without gaps.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    pieces: Vec<Piece>,
    length: u64,
}

impl Pieces {
    /// Bytes of operations in all of them.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Adds a piece that begins `at` so many bytes of operations; false if some are missing before it.
    #[must_use]
    pub(crate) fn push(&mut self, at: u64, offset: u64, operations: &[u8]) -> bool {
        self.cut(at);
        if self.length != at {
            return false;
        }
        let length = operations.len();
        self.pieces.push(Piece { offset, written: length, length, crc: crc32c::crc32c(operations) });
        self.length += length as u64;
        true
    }

    /// Forgets what lies behind the first `length` bytes.
    pub(crate) fn cut(&mut self, length: u64) {
        while self.length > length
            && let Some(mut last) = self.pieces.pop()
        {
            self.length -= last.length as u64;
            if self.length < length {
                last.length = (length - self.length) as usize;
                self.pieces.push(last);
                self.length = length;
            }
        }
    }

    /// Reads them back, in order: `each` is called when `buffer` holds another one behind what it left there.
    pub(crate) fn read(
        &self,
        file: &Arc<dyn File>,
        buffer: &mut Vec<u8>,
        mut each: impl FnMut(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        for piece in &self.pieces {
            let start = buffer.len();
            buffer.resize(start + piece.written, 0);
            file.read_at(&mut buffer[start..], piece.offset)
                .map_err(Error::io("read a transaction's operations back"))?;
            if crc32c::crc32c(&buffer[start..]) != piece.crc {
                let what = format!("the log's bytes at offset {} are not what a transaction wrote there", piece.offset);
                return Err(Error::corrupt(what));
            }
            buffer.truncate(start + piece.length);
            each(buffer)?;
        }
        Ok(())
    }
}
