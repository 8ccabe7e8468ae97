//! The log's bytes.
//!
//! ```text
//! file:    | file header, one block | segment | segment | ...            the header: who, and how many segments
//! segment: | segment header 64 | batch | batch | ...                     a fixed size; the rest is zeroes or old bytes
//! batch:   | batch header 72 | record | record | ... | zeroes to a multiple of 8
//! record:  | length varint | kind u8 | transaction varint (parts only) | operations |
//! ```
//! A *log position* is a byte's place in the endless sequence of segments: segment number x segment size + offset. It
//! never goes back. A batch lies within one segment. Its checksum covers the log's current epoch (a random number, new
//! at each recovery), its header with the checksum of the batch before it, and its records: bytes of an earlier use of
//! the space, of another database, or inside a value never pass for a batch that follows.

use crate::bytes::{get_u32, get_u64, put_u32, put_u64};
use crate::{Error, Result};

/// Blocks of direct I/O; also the file header's size.
pub(crate) const BLOCK: usize = 4096;
pub(crate) const SEGMENT_HEADER: usize = 64;
pub(crate) const BATCH_HEADER: usize = 72;

/// Where the file header says how many segments have room: in a sector of its own, so that a torn write of the header
/// leaves the old number or the new one, and nothing else different.
const PLACES: usize = SECTOR;
const SECTOR: usize = 512;

const FILE_MAGIC: &[u8; 8] = b"CairnLog";
const SEGMENT_MAGIC: &[u8; 8] = b"CairnSeg";
pub(crate) const FORMAT: u32 = 1;

/// Who a log belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogIdentity {
    pub(crate) database: u128,
    pub(crate) segment_bytes: u32,
}

impl LogIdentity {
    /// The file header. `places`: how many segments have room in the file, durably.
    pub(crate) fn encode(self, places: u32) -> [u8; BLOCK] {
        let mut block = [0; BLOCK];
        block[..8].copy_from_slice(FILE_MAGIC);
        put_u32(&mut block, 8, FORMAT);
        put_u32(&mut block, 12, self.segment_bytes);
        block[16..32].copy_from_slice(&self.database.to_le_bytes());
        let crc = crc32c::crc32c(&block[..BLOCK - 4]);
        put_u32(&mut block, BLOCK - 4, crc);
        put_u32(&mut block, PLACES, places);
        let crc = crc32c::crc32c(&block[..PLACES + 4]);
        put_u32(&mut block, PLACES + 4, crc);
        block
    }

    /// How many segments the file had room for when its header was last written.
    pub(crate) fn decode_places(block: &[u8]) -> Result<u32> {
        match get_u32(block, PLACES + 4) == crc32c::crc32c(&block[..PLACES + 4]) {
            true => Ok(get_u32(block, PLACES)),
            false => Err(Error::corrupt("the log's header is damaged")),
        }
    }

    /// The checksum of what never changes: the sector of `places` counts as zeroes.
    fn checksum(block: &[u8]) -> u32 {
        let front = crc32c::crc32c(&block[..PLACES]);
        crc32c::crc32c_append(crc32c::crc32c_append(front, &[0; SECTOR]), &block[PLACES + SECTOR..BLOCK - 4])
    }

    /// `None`: not a log's first block, or a damaged one.
    pub(crate) fn decode(block: &[u8]) -> Result<Option<LogIdentity>> {
        if &block[..8] != FILE_MAGIC || get_u32(block, BLOCK - 4) != Self::checksum(block) {
            return Ok(None);
        }
        match get_u32(block, 8) {
            FORMAT => {}
            found => return Err(Error::NewerFormat { found, supported: FORMAT }),
        }
        let database = u128::from_le_bytes(block[16..32].try_into().expect("sixteen bytes"));
        let segment_bytes = get_u32(block, 12);
        // No log was made so, and positions are divided by it.
        if !segment_bytes.is_power_of_two() || (segment_bytes as usize) < BLOCK {
            return Err(Error::corrupt(format!("the log's header says that segments have {segment_bytes} bytes")));
        }
        Ok(Some(LogIdentity { database, segment_bytes }))
    }
}

/// The first bytes of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    pub(crate) database: u128,
    pub(crate) number: u64,
    pub(crate) epoch: u64,
}

impl SegmentHeader {
    pub(crate) fn encode(self) -> [u8; SEGMENT_HEADER] {
        let mut bytes = [0; SEGMENT_HEADER];
        bytes[..8].copy_from_slice(SEGMENT_MAGIC);
        bytes[8..24].copy_from_slice(&self.database.to_le_bytes());
        put_u64(&mut bytes, 24, self.number);
        put_u64(&mut bytes, 32, self.epoch);
        let crc = crc32c::crc32c(&bytes[..SEGMENT_HEADER - 4]);
        put_u32(&mut bytes, SEGMENT_HEADER - 4, crc);
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<SegmentHeader> {
        let bytes = bytes.get(..SEGMENT_HEADER)?;
        if &bytes[..8] != SEGMENT_MAGIC || get_u32(bytes, 60) != crc32c::crc32c(&bytes[..60]) {
            return None;
        }
        let database = u128::from_le_bytes(bytes[8..24].try_into().expect("sixteen bytes"));
        Some(SegmentHeader { database, number: get_u64(bytes, 24), epoch: get_u64(bytes, 32) })
    }
}

/// What a batch says of itself and of the log when it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BatchHeader {
    /// Header and records, without the padding.
    pub(crate) length: u32,
    /// Where the batch begins.
    pub(crate) position: u64,
    /// Everything before this was durable already.
    pub(crate) durable: u64,
    /// The number of the newest completed checkpoint.
    pub(crate) checkpoint: u64,
    /// The checksum of the batch before, in the same epoch; 0 for the first.
    pub(crate) previous: u32,
    pub(crate) records: u32,
}

impl BatchHeader {
    /// Fills in the header in front of a batch's records; returns the checksum, which the next batch continues.
    pub(crate) fn seal(&self, epoch: u64, batch: &mut [u8]) -> u32 {
        put_u32(batch, 4, self.length);
        put_u64(batch, 8, self.position);
        put_u64(batch, 16, self.durable);
        put_u64(batch, 24, self.checkpoint);
        put_u32(batch, 32, self.previous);
        put_u32(batch, 36, self.records);
        // 40..72: reserved, for a nonce and an authentication tag.
        batch[40..BATCH_HEADER].fill(0);
        let crc = checksum(epoch, &batch[..self.length as usize]);
        put_u32(batch, 0, crc);
        crc
    }

    /// Reads a header without checking the batch; `None` if it can not be one at this position.
    pub(crate) fn parse(bytes: &[u8], position: u64) -> Option<BatchHeader> {
        let bytes = bytes.get(..BATCH_HEADER)?;
        let header = BatchHeader {
            length: get_u32(bytes, 4),
            position: get_u64(bytes, 8),
            durable: get_u64(bytes, 16),
            checkpoint: get_u64(bytes, 24),
            previous: get_u32(bytes, 32),
            records: get_u32(bytes, 36),
        };
        (header.position == position && header.length as usize >= BATCH_HEADER).then_some(header)
    }

    /// Whether the batch's bytes are what was written in this epoch.
    pub(crate) fn matches(&self, epoch: u64, batch: &[u8]) -> bool {
        let length = self.length as usize;
        batch.len() >= length && get_u32(batch, 0) == checksum(epoch, &batch[..length])
    }
}

fn checksum(epoch: u64, batch: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&epoch.to_le_bytes()), &batch[4..])
}

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordKind {
    /// A whole transaction.
    Commit,
    /// Some operations of a transaction that is not committed yet. They begin `at` so many bytes of its operations; what
    /// earlier parts had from there on is undone.
    Part { transaction: u64, at: u64 },
    /// The last operations of a transaction in parts, and its commit.
    CommitParts { transaction: u64, at: u64 },
}

impl RecordKind {
    fn tag(self) -> (u8, Option<(u64, u64)>) {
        match self {
            RecordKind::Commit => (1, None),
            RecordKind::Part { transaction, at } => (2, Some((transaction, at))),
            RecordKind::CommitParts { transaction, at } => (3, Some((transaction, at))),
        }
    }
}

/// Bytes of a record with `operations` bytes of operations, at most.
pub(crate) fn record_size(operations: usize) -> usize {
    operations + 10 + 1 + 10 + 10
}

/// Hands the pieces of a record to `push`.
pub(crate) fn write_record(kind: RecordKind, operations: &[u8], mut push: impl FnMut(&[u8])) {
    let (tag, part) = kind.tag();
    let mut head = [0u8; 21];
    head[0] = tag;
    let mut head_length = 1;
    for number in part.into_iter().flat_map(|(transaction, at)| [transaction, at]) {
        head_length += varint_into(&mut head[head_length..], number);
    }
    let mut length = [0u8; 10];
    let n = varint_into(&mut length, (head_length + operations.len()) as u64);
    push(&length[..n]);
    push(&head[..head_length]);
    push(operations);
}

/// The bytes that `write_record` hands over.
pub(crate) fn record_length(kind: RecordKind, operations: usize) -> u64 {
    let varint_length = |number: u64| u64::from((64 - (number | 1).leading_zeros()).div_ceil(7));
    let (_, part) = kind.tag();
    let head = part.into_iter().flat_map(|(transaction, at)| [transaction, at]).map(varint_length).sum::<u64>() + 1;
    let length = head + operations as u64;
    varint_length(length) + length
}

/// Takes a record off the front of a batch's records.
pub(crate) fn read_record<'a>(bytes: &mut &'a [u8]) -> Option<(RecordKind, &'a [u8])> {
    let length = read_varint(bytes)? as usize;
    let (mut record, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    let (&tag, operations) = record.split_first()?;
    record = operations;
    let kind = match tag {
        1 => RecordKind::Commit,
        2 => RecordKind::Part { transaction: read_varint(&mut record)?, at: read_varint(&mut record)? },
        3 => RecordKind::CommitParts { transaction: read_varint(&mut record)?, at: read_varint(&mut record)? },
        _ => return None,
    };
    Some((kind, record))
}

/// LEB128; returns the bytes used.
pub(crate) fn varint_into(out: &mut [u8], mut value: u64) -> usize {
    let mut n = 0;
    while value >= 0x80 {
        out[n] = value as u8 | 0x80;
        value >>= 7;
        n += 1;
    }
    out[n] = value as u8;
    n + 1
}

pub(crate) fn read_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

pub(crate) fn align8(n: u64) -> u64 {
    n.next_multiple_of(8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_with_an_impossible_segment_size_is_damaged() {
        let decode = |segment_bytes| LogIdentity::decode(&LogIdentity { database: 7, segment_bytes }.encode(1));
        assert!(matches!(decode(16 << 10), Ok(Some(_))));
        assert!([0, 5000, 64].into_iter().all(|bytes| matches!(decode(bytes), Err(Error::Corrupt { .. }))));
    }
}
