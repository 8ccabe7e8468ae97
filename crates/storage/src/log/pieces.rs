//! The operations of a transaction that lie in the log in several pieces, before its commit.
//!
//! Each piece says where among the transaction's operations it begins. One that begins before the end of those written
//! earlier takes their place from there on: that is how rolling back to a savepoint undoes what is in the log already.
//! Pieces end anywhere, also within an operation. They are read back with a checksum each, so that a bad byte on the
//! medium is reported rather than applied.

use std::sync::Arc;

use crate::io::{AlignedBuf, BLOCK, File};
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

impl Piece {
    /// Reads what was written. Whole blocks, as the log is written: the one that it ends in may just be written again, with
    /// the same bytes here, and on a direct file the two must go the same way (`io::File`).
    fn read<'b>(&self, file: &Arc<dyn File>, blocks: &'b mut AlignedBuf) -> Result<&'b [u8]> {
        let before = self.offset % BLOCK as u64;
        blocks.resize((before as usize + self.written).next_multiple_of(BLOCK));
        file.read_at(blocks, self.offset - before).map_err(Error::io("read a transaction's operations back"))?;
        Ok(&blocks[before as usize..][..self.written])
    }
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

    /// Reads the first `length` bytes back, in order: `each` is called when `buffer` holds another piece behind what it left
    /// there.
    pub(crate) fn read(
        &self,
        file: &Arc<dyn File>,
        length: u64,
        buffer: &mut Vec<u8>,
        mut each: impl FnMut(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let mut blocks = AlignedBuf::new();
        let mut left = length;
        for piece in &self.pieces {
            let wanted = left.min(piece.length as u64) as usize;
            if wanted == 0 {
                break;
            }
            left -= wanted as u64;
            let written = piece.read(file, &mut blocks)?;
            if crc32c::crc32c(written) != piece.crc {
                let what = format!("the log's bytes at offset {} are not what a transaction wrote there", piece.offset);
                return Err(Error::corrupt(what));
            }
            buffer.extend_from_slice(&written[..wanted]);
            each(buffer)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{Create, FileSystem, MemFs, OpenHow, SyncMethod};

    /// Lets only whole blocks pass, as the rule of `File` asks of a direct file that others write.
    #[derive(Debug)]
    struct Direct(Arc<dyn File>);

    impl File for Direct {
        fn read_at(&self, buf: &mut [u8], offset: u64) -> std::io::Result<()> {
            assert!((buf.as_ptr() as usize | buf.len() | offset as usize).is_multiple_of(BLOCK), "not aligned");
            self.0.read_at(buf, offset)
        }
        fn write_at(&self, buf: &[u8], offset: u64) -> std::io::Result<()> {
            self.0.write_at(buf, offset)
        }
        fn write_durable_at(&self, buf: &[u8], offset: u64) -> std::io::Result<()> {
            self.0.write_durable_at(buf, offset)
        }
        fn sync(&self) -> std::io::Result<()> {
            self.0.sync()
        }
        fn len(&self) -> std::io::Result<u64> {
            self.0.len()
        }
        fn set_len(&self, len: u64) -> std::io::Result<()> {
            self.0.set_len(len)
        }
        fn alignment(&self) -> usize {
            BLOCK
        }
        fn sync_method(&self) -> SyncMethod {
            SyncMethod::DirectDsync
        }
        fn choose_sync_method(&self, _: SyncMethod, _: &[u8], _: u64) -> std::io::Result<SyncMethod> {
            Ok(SyncMethod::DirectDsync)
        }
    }

    /// They were read from where they begin to where they end, through the system's cache, while the last block may be
    /// written past it.
    #[test]
    fn pieces_of_a_direct_file_are_read_in_whole_blocks() {
        let how = OpenHow { create: Create::New, read_only: false, direct: true };
        let memory = MemFs::new().open("log".as_ref(), how).unwrap();
        memory.set_len(4 * BLOCK as u64).unwrap();
        let mut pieces = Pieces::default();
        let mut expected = Vec::new();
        for (offset, length) in [(100, 50), (BLOCK - 10, 20), (2 * BLOCK, BLOCK), (2 * BLOCK - 1, BLOCK + 2)] {
            let bytes = vec![length as u8; length];
            memory.write_at(&bytes, offset as u64).unwrap();
            let mut alone = Pieces::default();
            assert!(alone.push(0, offset as u64, &bytes));
            let file: Arc<dyn File> = Arc::new(Direct(memory.clone()));
            let mut read = Vec::new();
            alone.read(&file, alone.length(), &mut read, |_| Ok(())).unwrap();
            assert_eq!(read, bytes);
            if offset < BLOCK {
                assert!(pieces.push(expected.len() as u64, offset as u64, &bytes));
                expected.extend(bytes);
            }
        }
        pieces.cut(60);
        let file: Arc<dyn File> = Arc::new(Direct(memory));
        let mut read = Vec::new();
        pieces.read(&file, 60, &mut read, |_| Ok(())).unwrap();
        assert_eq!(read, expected[..60]);
        for length in [0, 1, 50, 55] {
            read.clear();
            pieces.read(&file, length, &mut read, |_| Ok(())).unwrap();
            assert_eq!(read, expected[..length as usize]);
        }
    }
}
