//! Reading the log after a crash: what is whole, where it ends, and whether that end is honest.
//!
//! The chain of batches ends at the first that is missing or damaged. That is the torn tail of a commit nobody was
//! told of, unless a later batch is whole and says that this position was durable before it was written: then
//! acknowledged data is damaged, and nothing may be dropped silently.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::format::{BATCH_HEADER, BLOCK, BatchHeader, LogIdentity, SEGMENT_HEADER, SegmentHeader, align8};
use crate::broken::{self, Broken};
use crate::io::{AlignedBuf, File};
use crate::{Error, Result};

/// A stretch of the log under one random seed. `end`: where recovery found it to end, once a later one has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Epoch {
    pub(crate) seed: u64,
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl Epoch {
    /// `end` of the epoch that is being written.
    pub(crate) const OPEN: u64 = u64::MAX;
}

/// What to read.
pub(crate) struct Scan<'a> {
    pub(crate) file: &'a Arc<dyn File>,
    pub(crate) identity: LogIdentity,
    pub(crate) epochs: &'a [Epoch],
    /// Where to begin: the oldest position that recovery needs.
    pub(crate) from: u64,
    /// The position that the log must reach.
    pub(crate) must_reach: u64,
}

/// What was found.
#[derive(Debug)]
pub(crate) struct ScanEnd {
    /// Behind the last whole batch.
    pub(crate) position: u64,
    /// Places in the file, and those that hold segments of this log: number to place.
    pub(crate) places: u32,
    pub(crate) segments: HashMap<u64, u32>,
    /// The newest checkpoint that any batch tells of.
    pub(crate) checkpoint: u64,
    /// Where in the file the last whole batch begins, and its bytes.
    pub(crate) last: Option<(u64, usize)>,
}

/// A batch that was found.
pub(crate) struct Visited<'a> {
    pub(crate) position: u64,
    /// Number of its epoch, in `epochs`.
    pub(crate) epoch: usize,
    pub(crate) records: &'a [u8],
    /// Where in the file its records lie.
    pub(crate) offset: u64,
}

/// Hears of a batch.
pub(crate) type Visit<'a> = &'a mut dyn FnMut(Visited<'_>) -> Result<()>;

/// Calls `visit` with every batch, in order.
pub(crate) fn scan(scan: &Scan<'_>, visit: Visit<'_>) -> Result<ScanEnd> {
    let mut reader = Reader::new(scan)?;
    let mut position = scan.from;
    for (number, epoch) in scan.epochs.iter().enumerate() {
        if epoch.end <= position && epoch.end != Epoch::OPEN {
            continue;
        }
        // Where a batch ends is padded to where the next may begin.
        position = align8(position).max(epoch.start);
        position = reader.chain(number, epoch, position, visit)?;
        if epoch.end != Epoch::OPEN && position != epoch.end {
            return Err(damaged(position, epoch.end));
        }
    }
    if let Some(durable) = reader.durable_beyond(scan.epochs, position)? {
        return Err(damaged(position, durable));
    }
    if position < scan.must_reach {
        return Err(damaged(position, scan.must_reach));
    }
    let Reader { places, segments, checkpoint, last, .. } = reader;
    let segments = segments.into_iter().map(|(number, (place, _))| (number, place)).collect();
    Ok(ScanEnd { position, places, segments, checkpoint, last })
}

/// The segments that a recovery reads, oldest first, as (number, place), and how many places there are.
pub(crate) fn live_segments(scan: &Scan<'_>) -> Result<(VecDeque<(u64, u32)>, u32)> {
    let Reader { places, segments, .. } = Reader::new(scan)?;
    let first = scan.from / scan.identity.segment_bytes as u64;
    let live = segments.into_iter().map(|(number, (place, _))| (number, place));
    let mut live: Vec<(u64, u32)> = live.filter(|(number, _)| *number >= first).collect();
    live.sort_unstable();
    Ok((live.into(), places))
}

/// As `scan`, of a log that may be damaged: calls `behind` with every whole batch that lies behind the damage. Returns where
/// the undamaged part ends, and what is wrong there.
pub(crate) fn scan_damaged(scan: &Scan<'_>, visit: Visit<'_>, behind: Visit<'_>) -> Result<(u64, Option<Error>)> {
    let mut reader = Reader::new(scan)?;
    reader.name_segments()?;
    let (mut position, mut damage) = (scan.from, None);
    for (number, epoch) in scan.epochs.iter().enumerate() {
        if damage.is_some() || epoch.end <= position && epoch.end != Epoch::OPEN {
            continue;
        }
        position = align8(position).max(epoch.start);
        position = reader.chain(number, epoch, position, visit)?;
        if epoch.end != Epoch::OPEN && position != epoch.end {
            damage = Some(damaged(position, epoch.end));
        }
    }
    if damage.is_none() {
        let durable = reader.durable_beyond(scan.epochs, position)?.unwrap_or(scan.must_reach);
        damage = (position < durable).then(|| damaged(position, durable));
    }
    if damage.is_some() {
        reader.whole_batches(position, behind)?;
    }
    Ok((position, damage))
}

/// No log has so many segments: a header that says so is forged.
const SEGMENTS_MAX: u64 = 1 << 30;

/// Epochs that the log has segments of behind all `known` ones, oldest first, as if each ended where its last whole batch
/// does.
pub(crate) fn later_epochs(file: &Arc<dyn File>, identity: LogIdentity, known: &[Epoch]) -> Result<Vec<Epoch>> {
    let behind = known.last().map_or(0, |epoch| epoch.start) / identity.segment_bytes as u64;
    let mut later: Vec<Epoch> = Vec::new();
    let mut headers: Vec<SegmentHeader> = read_headers(file, identity)?.into_iter().flatten().collect();
    headers.retain(|header| header.database == identity.database && header.number < SEGMENTS_MAX);
    headers.retain(|header| header.number > behind || known.is_empty());
    headers.sort_unstable_by_key(|header| header.number);
    for header in headers {
        if known.iter().chain(&later).all(|epoch| epoch.seed != header.epoch) {
            let start = header.number * identity.segment_bytes as u64;
            later.push(Epoch { seed: header.epoch, start, end: Epoch::OPEN });
        }
    }
    Ok(later)
}

/// Whether the log goes on in an epoch that the database file does not know, behind all that it knows: then the file is
/// an older copy, and what was committed since would be lost silently. `position`: where the scan ended.
pub(crate) fn has_later_epoch(
    file: &Arc<dyn File>,
    identity: LogIdentity,
    epochs: &[Epoch],
    position: u64,
) -> Result<bool> {
    if broken::is(Broken::OlderMeta) {
        return Ok(false);
    }
    // Segments of epochs that were forgotten lie before the begin of the last one.
    let known = position.max(epochs.last().map_or(0, |epoch| epoch.start)) / identity.segment_bytes as u64;
    let headers = read_headers(file, identity)?;
    Ok(headers.iter().flatten().any(|header| {
        let is_unknown = epochs.iter().all(|epoch| epoch.seed != header.epoch);
        header.database == identity.database && is_unknown && header.number > known
    }))
}

/// How many segments have room in the file.
pub(crate) fn places(file: &Arc<dyn File>, identity: LogIdentity) -> Result<u32> {
    let length = file.len().map_err(Error::io("read the log's length"))?;
    Ok((length.saturating_sub(BLOCK as u64) / identity.segment_bytes as u64) as u32)
}

/// Makes durable what a scan found, before anything is built on it.
///
/// It may be in the system's cache only: written by a process that was killed before it synced, or whose sync failed,
/// after which no later sync brings it to the disk. At most the last batch can be so, and the file's length: both are
/// written again.
pub(crate) fn rewrite_end(file: &Arc<dyn File>, end: &ScanEnd) -> Result<()> {
    let length = file.len().map_err(Error::io("read the log's length"))?;
    let block = BLOCK as u64;
    if let Some((offset, bytes)) = end.last {
        rewrite(file, offset / block * block, (offset + bytes as u64).next_multiple_of(block).min(length))?;
    }
    rewrite(file, length.saturating_sub(block) / block * block, length)?;
    file.sync().map_err(Error::io("sync the log"))
}

fn rewrite(file: &Arc<dyn File>, from: u64, to: u64) -> Result<()> {
    let mut bytes = AlignedBuf::zeroed((to - from) as usize);
    file.read_at(&mut bytes, from).map_err(Error::io("read the log"))?;
    file.write_at(&bytes, from).map_err(Error::io("write the log"))
}

/// How many segments the file had room for when it last grew.
pub(crate) fn noted_places(file: &Arc<dyn File>) -> Result<u32> {
    let mut block = AlignedBuf::zeroed(BLOCK);
    file.read_at(&mut block, 0).map_err(Error::io("read the log's header"))?;
    LogIdentity::decode_places(&block)
}

/// What is in front of each place's segment; `None`: nothing, or no segment header.
fn read_headers(file: &Arc<dyn File>, identity: LogIdentity) -> Result<Vec<Option<SegmentHeader>>> {
    let size = identity.segment_bytes as u64;
    let mut block = AlignedBuf::zeroed(BLOCK);
    (0..u64::from(places(file, identity)?))
        .map(|place| {
            file.read_at(&mut block, BLOCK as u64 + place * size).map_err(Error::io("read the log"))?;
            Ok(SegmentHeader::decode(&block))
        })
        .collect()
}

/// Whether a batch continues a chain that ends at `position`. Where the scan begins there is no checksum of a batch before
/// to compare: what the log was durable to tells of a damaged batch that was passed over.
fn follows(header: &BatchHeader, position: u64, previous: Option<u32>) -> bool {
    (header.durable <= position || broken::is(Broken::PassedOver)) && previous.is_none_or(|crc| crc == header.previous)
}

fn damaged(position: u64, durable: u64) -> Error {
    Error::corrupt(format!(
        "the log is damaged at position {position}, although it was durable up to {durable}: acknowledged commits are affected"
    ))
}

struct Reader<'a> {
    scan: &'a Scan<'a>,
    places: u32,
    /// Number to (place, epoch seed).
    segments: HashMap<u64, (u32, u64)>,
    /// Places without a segment header: not used yet, or damaged.
    nameless: Vec<u32>,
    /// The segment read last, and its bytes.
    current: Option<u64>,
    bytes: AlignedBuf,
    checkpoint: u64,
    last: Option<(u64, usize)>,
}

impl<'a> Reader<'a> {
    fn new(scan: &'a Scan<'a>) -> Result<Reader<'a>> {
        let headers = read_headers(scan.file, scan.identity)?;
        let places = headers.len() as u32;
        let mut segments = HashMap::new();
        let mut nameless = Vec::new();
        for (place, header) in headers.into_iter().enumerate() {
            let Some(header) = header else {
                nameless.push(place as u32);
                continue;
            };
            // Only a segment of an epoch that the database knows counts; others are old bytes.
            let known = scan.epochs.iter().any(|epoch| epoch.seed == header.epoch);
            if header.database == scan.identity.database && known {
                segments.insert(header.number, (place as u32, header.epoch));
            }
        }
        let bytes = AlignedBuf::new();
        Ok(Reader { scan, places, segments, nameless, current: None, bytes, checkpoint: 0, last: None })
    }

    fn size(&self) -> u64 {
        self.scan.identity.segment_bytes as u64
    }

    /// Reads a segment, if it is there and of this epoch.
    fn enter(&mut self, number: u64, seed: u64) -> Result<bool> {
        if self.segments.get(&number).is_none_or(|&(_, epoch)| epoch != seed) {
            return Ok(false);
        }
        if self.current != Some(number) {
            self.read_place(self.segments[&number].0)?;
            self.current = Some(number);
        }
        Ok(true)
    }

    fn read_place(&mut self, place: u32) -> Result<()> {
        self.current = None;
        self.bytes.resize(self.size() as usize);
        let offset = BLOCK as u64 + place as u64 * self.size();
        self.scan.file.read_at(&mut self.bytes, offset).map_err(Error::io("read the log"))
    }

    /// The whole batch at a position of the current segment, if there is one.
    fn batch(&self, position: u64, seed: u64) -> Option<BatchHeader> {
        let bytes = self.bytes.get((position % self.size()) as usize..)?;
        let expected = match broken::is(Broken::StaleBatches) {
            false => position,
            true => crate::bytes::get_u64(bytes.get(..BATCH_HEADER)?, 8),
        };
        let header = BatchHeader::parse(bytes, expected)?;
        if broken::is(Broken::TornBatches) && header.length as usize <= bytes.len() {
            return Some(header);
        }
        header.matches(seed, bytes).then_some(header)
    }

    /// Follows an epoch's chain from `position`; returns where it ends.
    fn chain(&mut self, number: usize, epoch: &Epoch, mut position: u64, visit: Visit<'_>) -> Result<u64> {
        let mut previous = (position == epoch.start).then_some(0);
        loop {
            let Some((at, header)) = self.next(epoch, position, previous)? else { return Ok(position) };
            let start = (at % self.size()) as usize;
            let batch = &self.bytes[start..start + header.length as usize];
            previous = Some(crate::bytes::get_u32(batch, 0));
            self.checkpoint = self.checkpoint.max(header.checkpoint);
            let place = u64::from(self.segments[&(at / self.size())].0);
            let offset = BLOCK as u64 + place * self.size() + start as u64;
            self.last = Some((offset, header.length as usize));
            let (records, offset) = (&batch[BATCH_HEADER..], offset + BATCH_HEADER as u64);
            visit(Visited { position: at, epoch: number, records, offset })?;
            position = align8(at + header.length as u64);
        }
    }

    /// The batch that continues the chain at `position`: there, at the next block, or at the next segment.
    fn next(&mut self, epoch: &Epoch, position: u64, previous: Option<u32>) -> Result<Option<(u64, BatchHeader)>> {
        let segment = position / self.size();
        let first = (segment * self.size()) + SEGMENT_HEADER as u64;
        let behind = (segment + 1) * self.size() + SEGMENT_HEADER as u64;
        for at in [position.max(first), position.next_multiple_of(BLOCK as u64), behind] {
            if at < epoch.end && self.enter(at / self.size(), epoch.seed)? {
                let header = self.batch(at, epoch.seed);
                if let Some(header) =
                    header.filter(|header| broken::is(Broken::StaleBatches) || follows(header, position, previous))
                {
                    return Ok(Some((at, header)));
                }
            }
        }
        Ok(None)
    }

    /// Looks through all live space behind `position` for a whole batch that says the log was durable beyond it.
    fn durable_beyond(&mut self, epochs: &[Epoch], position: u64) -> Result<Option<u64>> {
        if broken::is(Broken::DurablePosition) {
            return Ok(None);
        }
        let Some(epoch) = epochs.last() else { return Ok(None) };
        let first = position / self.size();
        let mut numbers: Vec<u64> = self.segments.keys().copied().filter(|&number| number >= first).collect();
        numbers.sort_unstable();
        for number in numbers {
            if !self.enter(number, epoch.seed)? {
                continue;
            }
            let start = number * self.size();
            for at in (start..start + self.size()).step_by(8) {
                if at >= position
                    && let Some(header) = self.batch(at, epoch.seed)
                    && header.durable > position
                {
                    return Ok(Some(header.durable));
                }
            }
        }
        self.durable_beyond_nameless(epoch, position)
    }

    /// Finds out by the batches in them which segments those are whose headers are damaged.
    fn name_segments(&mut self) -> Result<()> {
        for place in self.nameless.clone() {
            self.read_place(place)?;
            let found = (SEGMENT_HEADER..self.bytes.len().saturating_sub(BATCH_HEADER)).step_by(8).find_map(|start| {
                let at = crate::bytes::get_u64(&self.bytes, start + 8);
                let of = |epoch: &&Epoch| self.batch(at, epoch.seed).is_some();
                let epoch = (at % self.size() == start as u64).then(|| self.scan.epochs.iter().find(of))?;
                epoch.map(|epoch| (at / self.size(), (place, epoch.seed)))
            });
            if let Some((number, segment)) = found {
                self.segments.entry(number).or_insert(segment);
            }
        }
        Ok(())
    }

    /// Calls `visit` with every whole batch at or behind `position`.
    fn whole_batches(&mut self, position: u64, visit: Visit<'_>) -> Result<()> {
        let mut numbers: Vec<u64> = self.segments.keys().copied().collect();
        numbers.retain(|&number| (position / self.size()..SEGMENTS_MAX).contains(&number));
        numbers.sort_unstable();
        for number in numbers {
            let (place, seed) = self.segments[&number];
            let epoch = self.scan.epochs.iter().position(|epoch| epoch.seed == seed).unwrap_or_default();
            if !self.enter(number, seed)? {
                continue;
            }
            let begin = number * self.size();
            let mut start = SEGMENT_HEADER as u64;
            while start < self.size() {
                let header = self.batch(begin + start, seed).filter(|_| begin + start >= position);
                let Some(header) = header else {
                    start += 8;
                    continue;
                };
                let bytes = &self.bytes[start as usize..start as usize + header.length as usize];
                let offset = BLOCK as u64 + u64::from(place) * self.size() + start + BATCH_HEADER as u64;
                visit(Visited { position: begin + start, epoch, records: &bytes[BATCH_HEADER..], offset })?;
                start = align8(start + u64::from(header.length));
            }
        }
        Ok(())
    }

    /// As `durable_beyond`, where a damaged segment header hides the batches behind it.
    fn durable_beyond_nameless(&mut self, epoch: &Epoch, position: u64) -> Result<Option<u64>> {
        for place in std::mem::take(&mut self.nameless) {
            self.read_place(place)?;
            for start in (SEGMENT_HEADER..self.bytes.len() - BATCH_HEADER).step_by(8) {
                let at = crate::bytes::get_u64(&self.bytes, start + 8);
                if at >= position
                    && at % self.size() == start as u64
                    && let Some(header) = self.batch(at, epoch.seed)
                    && header.durable > position
                {
                    return Ok(Some(header.durable));
                }
            }
        }
        Ok(None)
    }
}
