//! The batch being filled, in memory.

use super::format::{
    BATCH_HEADER, BLOCK, RecordKind, SEGMENT_HEADER, SegmentHeader, align8, record_length, record_size, write_record,
};
use super::kept::Taker;
use super::segments::Segments;
use crate::io::AlignedBuf;

/// The most bytes of log in memory that no write has taken yet.
const BUFFER: usize = 1 << 20;

/// What the buffers have room for at first; then for [`BUFFER`] at once. (Growing by doubling left the allocator holes which
/// took others' buffers that grow: they were copied where they had grown in place.)
const FIRST: usize = 56 << 10;

/// Records on their way to the log, laid out as they will be written: behind the bytes that share the first block with
/// them. Two buffers take turns: while one is being written nobody touches it.
#[derive(Debug)]
pub(crate) struct OpenBatch {
    buffer: AlignedBuf,
    spare: Option<AlignedBuf>,
    /// Position of the buffer's first byte; a multiple of the block size within its segment.
    base: u64,
    /// Where in the buffer the batch begins.
    start: usize,
    /// Bytes at the buffer's start that earlier batches wrote; their headers are not sealed in this copy.
    shared: usize,
    records: u32,
    /// Where the segment lies in the file, and the position it begins at; `None` before the first.
    segment: Option<(u64, u64)>,
    segment_bytes: usize,
    alignment: usize,
    epoch: u64,
    separate_blocks: bool,
}

/// A batch taken to be written.
#[derive(Debug)]
pub(crate) struct SealedBatch {
    pub(crate) buffer: AlignedBuf,
    /// Where the batch begins in the buffer.
    pub(crate) start: usize,
    /// Bytes at the buffer's start that earlier batches wrote: to be filled in as they were written.
    pub(crate) shared: usize,
    /// Bytes of the buffer's last block that the next batch will write again.
    pub(crate) shared_with_next: usize,
    /// Header and records.
    pub(crate) length: usize,
    /// Where the buffer begins in the file.
    pub(crate) offset: u64,
    /// The batch's position.
    pub(crate) position: u64,
    pub(crate) records: u32,
    /// Where in the buffer the bytes begin that no earlier write has taken: the batch, or its segment's header.
    pub(crate) unwritten: usize,
}

/// The record does not fit behind what is in the batch already, or needs a segment that is not ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoRoom {
    /// Write the batch, then try again.
    WriteFirst,
    /// No place for the next segment is ready.
    NoSegment,
}

impl OpenBatch {
    /// Continues at the segment boundary `position`.
    pub(crate) fn new(
        position: u64,
        alignment: usize,
        epoch: u64,
        separate_blocks: bool,
        segment_bytes: usize,
    ) -> OpenBatch {
        // Most batches are small.
        let capacity = FIRST.min(segment_bytes) + 2 * BLOCK;
        OpenBatch {
            buffer: AlignedBuf::with_capacity(capacity),
            spare: Some(AlignedBuf::with_capacity(capacity)),
            base: position,
            start: 0,
            shared: 0,
            records: 0,
            segment: None,
            segment_bytes,
            alignment,
            epoch,
            separate_blocks,
        }
    }

    /// The most bytes of operations in one record.
    pub(crate) fn record_limit(segment_bytes: u64) -> usize {
        (segment_bytes as usize).min(BUFFER) / 8
    }

    /// So many bytes of a running transaction's operations go to the log at once, so that less is left for its commit: enough
    /// that writing them takes several times as long as a write of few, which each of these writes costs besides.
    pub(crate) fn ahead_limit(segment_bytes: u64) -> u64 {
        (segment_bytes / 8).min(512 << 10)
    }

    /// A running transaction's operations are kept in memory while they are no more bytes than this.
    pub(crate) fn early_limit(segment_bytes: u64) -> usize {
        (segment_bytes as usize / 4).min(BUFFER)
    }

    /// How many segments so many bytes of operations take in parts, at the most: the first may be full but for a little, each part
    /// may be a batch of its own, and the end of a segment that has no room for another stays empty.
    pub(crate) fn segments_for(operations: u64, segment_bytes: u64, separate_blocks: bool) -> u64 {
        let part = Self::record_limit(segment_bytes);
        let unit = if separate_blocks { BLOCK } else { 8 };
        let batch = (BATCH_HEADER + record_size(part)).next_multiple_of(unit) as u64;
        let header = (SEGMENT_HEADER as u64).next_multiple_of(unit as u64);
        let parts = operations.div_ceil(part as u64);
        parts.div_ceil((segment_bytes - header) / batch) + 1
    }

    /// How many segments so many bytes of operations take at the least: one batch fills each.
    pub(crate) fn least_segments_for(operations: u64, segment_bytes: u64) -> u64 {
        operations.div_ceil(segment_bytes - (SEGMENT_HEADER + BATCH_HEADER) as u64)
    }

    pub(crate) fn segment_bytes(&self) -> u64 {
        self.segment_bytes as u64
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.records == 0
    }

    pub(crate) fn records(&self) -> u32 {
        self.records
    }

    /// Where the batch begins.
    pub(crate) fn position(&self) -> u64 {
        self.base + self.start as u64
    }

    /// Where the next record will end up, or the position after the last.
    pub(crate) fn end(&self) -> u64 {
        self.base + self.buffer.len() as u64
    }

    /// Where in the file a position of the current segment lies.
    pub(crate) fn offset_of(&self, position: u64) -> u64 {
        let (offset, start) = self.segment.expect("a segment was entered");
        offset + (position - start)
    }

    /// Makes sure that a record of so many bytes of operations can be appended; true if a new segment was entered.
    #[inline]
    pub(crate) fn reserve(&mut self, operations: usize, segments: &Segments, database: u128) -> Result<bool, NoRoom> {
        self.reserve_for(Taker::Anybody, operations, segments, database)
    }

    /// As `reserve`, by whoever it is.
    pub(crate) fn reserve_for(
        &mut self,
        by: Taker,
        operations: usize,
        segments: &Segments,
        database: u128,
    ) -> Result<bool, NoRoom> {
        let header = if self.records == 0 { BATCH_HEADER } else { 0 };
        let needed = align8((header + record_size(operations)) as u64);
        let end = self.end() + needed;
        // Not from `base`: behind a batch that fills its segment to the last byte, that is the next one's begin.
        let segment_start = self.segment.map_or(self.base, |(_, start)| start);
        let segment_end = segment_start + segments.size();
        let fits = end <= segment_end && self.buffer.len() + needed as usize <= BUFFER;
        if fits && self.segment.is_some() {
            self.have_room(needed as usize);
            return Ok(false);
        }
        if self.records > 0 {
            return Err(NoRoom::WriteFirst);
        }
        let is_untouched = self.segment.is_some_and(|(_, start)| start == self.base && self.start == SEGMENT_HEADER);
        assert!(!is_untouched, "a segment without batches would break the chain that recovery follows");
        let number = if self.segment.is_none() { self.base / segments.size() } else { segment_end / segments.size() };
        let place = segments.take(number, by).ok_or(NoRoom::NoSegment)?;
        self.enter_segment(number, place, segments, database);
        self.have_room(needed as usize);
        Ok(true)
    }

    /// Lets the buffer have room for so many bytes, and what pads them.
    #[inline]
    fn have_room(&mut self, bytes: usize) {
        if self.buffer.len() + bytes + BLOCK > self.buffer.capacity() {
            self.buffer.reserve(BUFFER.min(self.segment_bytes) + 2 * BLOCK);
        }
    }

    fn enter_segment(&mut self, number: u64, place: u32, segments: &Segments, database: u128) {
        self.base = number * segments.size();
        self.segment = Some((segments.offset(place), self.base));
        self.buffer.clear();
        self.buffer.extend_from_slice(&SegmentHeader { database, number, epoch: self.epoch }.encode());
        self.start = SEGMENT_HEADER;
        self.shared = 0;
    }

    /// The position behind a record with so many bytes of operations, if it is the next one, for which room was reserved.
    pub(crate) fn end_with(&self, kind: RecordKind, operations: usize) -> u64 {
        let header = if self.records == 0 { BATCH_HEADER } else { 0 };
        self.end() + header as u64 + record_length(kind, operations)
    }

    /// Appends a record for which room was reserved; returns the position behind it.
    pub(crate) fn append(&mut self, kind: RecordKind, operations: &[u8]) -> u64 {
        self.begin();
        self.records += 1;
        let buffer = &mut self.buffer;
        write_record(kind, operations, |piece| buffer.extend_from_slice(piece));
        self.end()
    }

    fn begin(&mut self) {
        if self.records == 0 {
            self.buffer.extend_from_slice(&[0; BATCH_HEADER]);
        }
    }

    /// Takes the batch for writing (an empty one too: it tells what is durable). The next one begins behind it, in the
    /// other buffer, with a copy of the block they share.
    ///
    /// The caller makes sure that room was reserved, for an empty one too, and that no other batch is out.
    pub(crate) fn seal(&mut self) -> SealedBatch {
        self.begin();
        let length = self.buffer.len() - self.start;
        let (base, start, already, records) = (self.base, self.start, self.shared, self.records);
        let (segment_offset, segment_start) = self.segment.expect("a segment was entered");
        let offset = segment_offset + (base - segment_start);
        let end = self.padded_end();
        let place = self.segment_bytes as u64;
        assert!(base + end as u64 <= segment_start + place, "a batch for which no room was reserved");
        let shared = if self.alignment > 1 { end % BLOCK } else { 0 };
        let mut next = self.spare.take().expect("only one batch is out at a time");
        next.clear();
        self.buffer.resize(end);
        next.extend_from_slice(&self.buffer[end - shared..end]);
        self.base = base + (end - shared) as u64;
        self.start = shared;
        self.shared = shared;
        self.records = 0;
        let mut buffer = std::mem::replace(&mut self.buffer, next);
        if self.alignment > 1 {
            buffer.pad_to(BLOCK);
        }
        let unwritten = if offset == segment_offset { 0 } else { start };
        let position = base + start as u64;
        SealedBatch {
            buffer,
            start,
            shared: already,
            shared_with_next: shared,
            length,
            offset,
            position,
            records,
            unwritten,
        }
    }

    fn padded_end(&self) -> usize {
        let unit = if self.separate_blocks { BLOCK } else { 8 };
        self.buffer.len().next_multiple_of(unit)
    }

    /// Gives a written batch's buffer back.
    pub(crate) fn give_back(&mut self, buffer: AlignedBuf) {
        self.spare = Some(buffer);
    }
}
