//! Inputs that damage files: what changes where, and whether the checksums are forged to match.
//!
//! ```text
//! flags u8 | number of changes u8 | change, 8 bytes, each | the rest is for the target
//! flags:  bit 0: forge checksums   bit 1: the database was killed and has a log   bit 2: files may be cut
//! change: kind u8 | at u24 | argument u24 | byte u8          little endian; bit 7 of the kind: in the log
//! ```

use std::ops::Range;
use std::path::Path;

use cairn_storage::io::DiskImage;

use crate::machine::{DATABASE, LOG, SEGMENT_BYTES};

const CHANGES_MAX: usize = 8;
const CHANGE_BYTES: usize = 8;
/// A meta page's own bytes, its checksum the last four of them.
const META_BYTES: usize = 512;
const LOG_BLOCK: usize = 4096;
const SECTOR: usize = 512;
const SEGMENT_HEADER: usize = 64;
const BATCH_HEADER: usize = 72;

/// What an input asks for.
pub(crate) struct Damage<'a> {
    /// Pages and batches that were changed get the checksum of their new bytes.
    pub(crate) forged: bool,
    /// The database was killed: there is a log.
    pub(crate) killed: bool,
    may_cut: bool,
    changes: Vec<Change>,
    /// What follows the changes.
    pub(crate) rest: &'a [u8],
}

#[derive(Clone, Copy, Debug)]
struct Change {
    kind: u8,
    in_log: bool,
    at: usize,
    argument: usize,
    byte: u8,
}

impl<'a> Damage<'a> {
    /// Reads an input; every input is one.
    pub(crate) fn parse(data: &'a [u8]) -> Damage<'a> {
        let (flags, rest) = data.split_first().map_or((0, data), |(flags, rest)| (*flags, rest));
        let (count, rest) = rest.split_first().map_or((0, rest), |(count, rest)| (usize::from(*count), rest));
        let bytes = (count % (CHANGES_MAX + 1) * CHANGE_BYTES).min(rest.len());
        let (changes, rest) = rest.split_at(bytes);
        let changes = changes.chunks_exact(CHANGE_BYTES).map(Change::parse).collect();
        Damage { forged: flags & 1 != 0, killed: flags & 2 != 0, may_cut: flags & 4 != 0, changes, rest }
    }

    /// Changes the files; the bytes of the log that are other than before, first to last.
    pub(crate) fn apply(&self, image: &mut DiskImage, page_size: usize) -> Option<Range<usize>> {
        let log = self.apply_to(image, Path::new(LOG), true, reseal_log);
        self.apply_to(image, Path::new(DATABASE), false, |before, bytes| reseal_pages(before, bytes, page_size));
        log
    }

    fn apply_to(
        &self,
        image: &mut DiskImage,
        path: &Path,
        in_log: bool,
        reseal: impl Fn(&[u8], &mut [u8]),
    ) -> Option<Range<usize>> {
        let before = image.bytes(path)?;
        let mut bytes = before.clone();
        // Most of a segment is zeroes behind the last batch; damage is to meet something.
        let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        for change in self.changes.iter().filter(|change| change.in_log == in_log) {
            change.apply(&mut bytes, used, self.may_cut);
        }
        if self.forged {
            reseal(&before, &mut bytes);
        }
        image.insert(path, &bytes);
        let differs = |at: &usize| bytes.get(*at) != before.get(*at);
        let first = (0..before.len()).find(differs)?;
        let last = (0..before.len()).rev().find(differs)?;
        Some(first..last + 1)
    }
}

impl Change {
    fn parse(bytes: &[u8]) -> Change {
        let number = |at: usize| bytes[at..at + 3].iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
        let kind = bytes[0] & 0x7f;
        Change { kind, in_log: bytes[0] & 0x80 != 0, at: number(1), argument: number(4), byte: bytes[7] }
    }

    /// `used`: the file's bytes up to its last that is not zero.
    fn apply(self, bytes: &mut Vec<u8>, used: usize, may_cut: bool) {
        let used = used.min(bytes.len());
        if used == 0 {
            return;
        }
        let at = self.at % used;
        match self.kind % 6 {
            0 => bytes[at] ^= 1 << (self.byte % 8),
            1 => bytes[at] = self.byte,
            2 => {
                let end = (at + 1 + self.argument % 1024).min(bytes.len());
                bytes[at..end].fill(self.byte);
            }
            3 => {
                let from = self.argument % used;
                let length = (1 + usize::from(self.byte) * 8).min(used - from).min(used - at);
                bytes.copy_within(from..from + length, at);
            }
            4 => {
                // A number one more or less: what counts and offsets do not survive.
                let end = (at + 4).min(bytes.len());
                let step = if self.byte.is_multiple_of(2) { 1 } else { 255 };
                bytes[at..end].iter_mut().take(1 + self.argument % 4).for_each(|byte| *byte = byte.wrapping_add(step));
            }
            _ if may_cut => bytes.truncate(at),
            _ => bytes[at] = !bytes[at],
        }
    }
}

fn put_u32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

fn get_u32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Pages that changed get the checksum of what they are now. The first two pages are meta pages.
fn reseal_pages(before: &[u8], bytes: &mut [u8], page_size: usize) {
    for (number, page) in bytes.chunks_exact_mut(page_size).enumerate() {
        let start = number * page_size;
        if before.get(start..start + page_size) == Some(&*page) {
            continue;
        }
        if number < 2 {
            let crc = crc32c::crc32c(&page[..META_BYTES - 4]);
            put_u32(page, META_BYTES - 4, crc);
        } else {
            let crc = crc32c::crc32c(&page[4..]);
            put_u32(page, 0, crc);
        }
    }
}

/// All headers and batches get the checksums of what they are now, each batch also that of the one before.
pub(crate) fn reseal_log(_before: &[u8], bytes: &mut [u8]) {
    let Some((block, segments)) = bytes.split_at_mut_checked(LOG_BLOCK) else { return };
    reseal_log_header(block);
    let mut previous = 0;
    for segment in segments.chunks_exact_mut(SEGMENT_BYTES) {
        if segment.starts_with(b"CairnSeg") {
            reseal_segment(segment, &mut previous);
        }
    }
}

/// The header's second sector holds what changes, with a checksum of its own, and counts as zeroes for the header's.
fn reseal_log_header(block: &mut [u8]) {
    let front = crc32c::crc32c_append(crc32c::crc32c(&block[..SECTOR]), &[0; SECTOR]);
    let crc = crc32c::crc32c_append(front, &block[2 * SECTOR..LOG_BLOCK - 4]);
    put_u32(block, LOG_BLOCK - 4, crc);
    let crc = crc32c::crc32c(&block[..SECTOR + 4]);
    put_u32(block, SECTOR + 4, crc);
}

fn reseal_segment(segment: &mut [u8], previous: &mut u32) {
    let crc = crc32c::crc32c(&segment[..SEGMENT_HEADER - 4]);
    put_u32(segment, SEGMENT_HEADER - 4, crc);
    let epoch = crc32c::crc32c(&segment[32..40]);
    let mut at = SEGMENT_HEADER;
    while let Some(batch) = segment.get_mut(at..).filter(|rest| rest.len() >= BATCH_HEADER) {
        let length = get_u32(batch, 4) as usize;
        if length < BATCH_HEADER || length > batch.len() {
            break;
        }
        put_u32(batch, 32, *previous);
        *previous = crc32c::crc32c_append(epoch, &batch[4..length]);
        put_u32(batch, 0, *previous);
        at += length.next_multiple_of(8);
    }
}
