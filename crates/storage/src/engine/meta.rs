//! The two meta pages: where the newest checkpoint is, and what of the log belongs to it.
//!
//! They lie at the beginning of the file, one page each, and are written in turn, so that a torn write leaves the other.
//! Each holds, in its first 512 bytes:
//!
//! ```text
//!   0 magic 8            8 format u32        12 compatible u32     16 read-only compatible u32   20 incompatible u32
//!  24 page size u32     28 clean u32         32 database u128      48 timeline u64
//!  56 sequence u64      64 checkpoint u64    72 version u64        80 position u64               88 needed from u64
//!  96 next stamp u64   104 next tree u32    108 end of pages u32  112 directory 12              124 free map 12
//! 136 log segment u32  140 epochs u32       144 epochs: (seed, start, end) u64 x 3 each, up to 12
//! 432 log places u32  436 opening u64      444 where the newest openings began, plus 1: u64 x 8    508 checksum u32
//! ```
//! What follows in the page is a copy of the checkpoint's lists, for salvage ([`super::copies`]).
//!
//! Feature bits: an unknown bit in *incompatible* keeps the file from being opened, in *read-only compatible* from being
//! written.

use super::openings::Openings;
use crate::broken::{self, Broken};
use crate::bytes::{get_u32, get_u64, put_u32, put_u64};
use crate::io::AlignedBuf;
use crate::log::Epoch;
use crate::options::is_page_size;
use crate::page::PageRef;
use crate::{Error, Result, TreeId};

pub(crate) const META_BYTES: usize = 512;
/// Epochs that the meta page can tell of; a checkpoint shortens the list.
pub(crate) const EPOCHS_MAX: usize = 12;
/// The log may have operations that append: who does not know them can not recover from it. Set before the first, for good.
pub(crate) const APPENDS: u32 = 1;
/// Or such that add to counters: the same.
pub(crate) const ADDS: u32 = 2;
/// No number that counts on and on, or position in the log, reaches this: so they can be added to, and be a multiple of a
/// segment's bytes.
const NUMBERS: u64 = 1 << 62;
/// All that this library knows.
const KNOWN: u32 = APPENDS | ADDS;

const MAGIC: &[u8; 8] = b"CairnDB\n";
const FORMAT: u32 = 1;
const CHECKSUM: usize = META_BYTES - 4;
const LOG_PLACES: usize = 144 + 24 * EPOCHS_MAX;
const OPENINGS: usize = LOG_PLACES + 4;
const _: () = assert!(OPENINGS + Openings::BYTES <= CHECKSUM);

/// A meta page's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Meta {
    /// Features without which the file can not be opened.
    pub(crate) incompatible: u32,
    pub(crate) page_size: u32,
    /// Closed cleanly: no log is needed.
    pub(crate) clean: bool,
    pub(crate) database: u128,
    /// Changes when a database is restored to an earlier state, so that logs of another future are told apart.
    pub(crate) timeline: u64,
    /// Of this meta page: one more than the one before.
    pub(crate) sequence: u64,
    /// Number of the checkpoint, the version it holds, and its log position.
    pub(crate) checkpoint: u64,
    pub(crate) version: u64,
    pub(crate) position: u64,
    /// Where recovery begins to read the log.
    pub(crate) needed_from: u64,
    pub(crate) next_stamp: u64,
    pub(crate) next_tree: u32,
    /// No page at or beyond this is in use.
    pub(crate) end: u32,
    pub(crate) directory: PageRef,
    pub(crate) free_map: PageRef,
    pub(crate) log_segment_bytes: u32,
    pub(crate) epochs: Vec<Epoch>,
    /// Places that the log has at least.
    pub(crate) log_places: u32,
    pub(crate) openings: Openings,
    /// What the page holds behind these bytes, for salvage (see `copies`): not read back with them.
    pub(crate) lists: Vec<u8>,
}

impl Meta {
    /// Writes the first 512 bytes and, into a whole page, what follows them.
    pub(crate) fn encode(&self, out: &mut [u8]) {
        if let Some(lists) = out.get_mut(META_BYTES..META_BYTES + self.lists.len()) {
            lists.copy_from_slice(&self.lists);
        }
        out[..META_BYTES].fill(0);
        out[..8].copy_from_slice(MAGIC);
        put_u32(out, 8, FORMAT);
        put_u32(out, 20, self.incompatible);
        put_u32(out, 24, self.page_size);
        put_u32(out, 28, self.clean as u32);
        out[32..48].copy_from_slice(&self.database.to_le_bytes());
        let words = [self.timeline, self.sequence, self.checkpoint, self.version, self.position];
        let more = [self.needed_from, self.next_stamp];
        for (i, word) in words.iter().chain(&more).enumerate() {
            put_u64(out, 48 + 8 * i, *word);
        }
        put_u32(out, 104, self.next_tree);
        put_u32(out, 108, self.end);
        out[112..124].copy_from_slice(&self.directory.to_bytes());
        out[124..136].copy_from_slice(&self.free_map.to_bytes());
        put_u32(out, 136, self.log_segment_bytes);
        put_u32(out, 140, self.epochs.len() as u32);
        for (i, epoch) in self.epochs.iter().enumerate() {
            put_u64(out, 144 + 24 * i, epoch.seed);
            put_u64(out, 152 + 24 * i, epoch.start);
            put_u64(out, 160 + 24 * i, epoch.end);
        }
        put_u32(out, LOG_PLACES, self.log_places);
        self.openings.encode(&mut out[OPENINGS..]);
        let crc = crc32c::crc32c(&out[..CHECKSUM]);
        put_u32(out, CHECKSUM, crc);
    }

    /// The whole page, and where in the file its turn has it.
    pub(crate) fn page(&self) -> (AlignedBuf, u64) {
        let mut page = AlignedBuf::zeroed(self.page_size as usize);
        self.encode(&mut page);
        let turn = if broken::is(Broken::MetaInPlace) { 0 } else { self.sequence % 2 };
        (page, turn * u64::from(self.page_size))
    }

    /// What a meta page's bytes are.
    pub(crate) fn decode(bytes: &[u8]) -> MetaPage {
        if &bytes[..8] != MAGIC {
            return MetaPage::Foreign;
        }
        if get_u32(bytes, CHECKSUM) != crc32c::crc32c(&bytes[..CHECKSUM]) {
            return MetaPage::Damaged;
        }
        let format = get_u32(bytes, 8);
        let incompatible = get_u32(bytes, 20);
        if format > FORMAT || incompatible & !KNOWN != 0 {
            return MetaPage::Newer(format);
        }
        // The cache is made of such pages: a forged size must not ask for memory.
        let page_size = get_u32(bytes, 24);
        if !is_page_size(page_size as usize) || get_u32(bytes, 104) > TreeId::NUMBERS {
            return MetaPage::Damaged;
        }
        let count = (get_u32(bytes, 140) as usize).min(EPOCHS_MAX);
        let word = |i: usize| get_u64(bytes, 48 + 8 * i);
        if (1..7).any(|i| word(i) >= NUMBERS) {
            return MetaPage::Damaged;
        }
        MetaPage::Whole(Box::new(Meta {
            incompatible,
            page_size,
            clean: get_u32(bytes, 28) == 1,
            database: u128::from_le_bytes(bytes[32..48].try_into().expect("sixteen bytes")),
            timeline: word(0),
            sequence: word(1),
            checkpoint: word(2),
            version: word(3),
            position: word(4),
            needed_from: word(5),
            next_stamp: word(6),
            next_tree: get_u32(bytes, 104),
            end: get_u32(bytes, 108),
            directory: PageRef::read(&bytes[112..]),
            free_map: PageRef::read(&bytes[124..]),
            log_segment_bytes: get_u32(bytes, 136),
            epochs: (0..count).map(|i| Self::epoch(bytes, 144 + 24 * i)).collect(),
            log_places: get_u32(bytes, LOG_PLACES),
            openings: Openings::decode(&bytes[OPENINGS..]),
            lists: Vec::new(),
        }))
    }

    fn epoch(bytes: &[u8], at: usize) -> Epoch {
        Epoch { seed: get_u64(bytes, at), start: get_u64(bytes, at + 8), end: get_u64(bytes, at + 16) }
    }
}

/// What a place for a meta page holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MetaPage {
    Whole(Box<Meta>),
    /// Its checksum does not match: torn by a crash, or damaged.
    Damaged,
    /// Not a meta page.
    Foreign,
    /// Of a format this library does not know.
    Newer(u32),
}

pub(crate) fn newer_format(found: u32) -> Error {
    Error::NewerFormat { found, supported: FORMAT }
}

/// The meta page to go by, of the two found in the file.
pub(crate) fn choose(a: MetaPage, b: MetaPage, path: &std::path::Path) -> Result<Meta> {
    match (a, b) {
        (MetaPage::Newer(found), _) | (_, MetaPage::Newer(found)) => Err(newer_format(found)),
        (MetaPage::Whole(a), MetaPage::Whole(b)) => {
            Ok(if (a.sequence >= b.sequence) != broken::is(Broken::MetaFallback) { *a } else { *b })
        }
        (MetaPage::Whole(meta), _) | (_, MetaPage::Whole(meta)) => Ok(*meta),
        (MetaPage::Foreign, MetaPage::Foreign) => Err(Error::NotADatabase { path: path.to_path_buf() }),
        _ => Err(Error::corrupt("both meta pages are damaged")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Meta {
        Meta {
            incompatible: APPENDS,
            page_size: 4096,
            clean: true,
            database: 77,
            timeline: 1,
            sequence: 9,
            checkpoint: 4,
            version: 5,
            position: 6,
            needed_from: 6,
            next_stamp: 100,
            next_tree: 3,
            end: 12,
            directory: PageRef { id: 3, birth: 4 },
            free_map: PageRef { id: 5, birth: 6 },
            log_segment_bytes: 1 << 20,
            epochs: vec![Epoch { seed: 1, start: 2, end: 3 }],
            log_places: 3,
            openings: Openings::FIRST.next(5, 8),
            lists: Vec::new(),
        }
    }

    #[test]
    fn a_page_size_that_no_database_has_is_damage() {
        for page_size in [0, 256, 5000, 65536, 1 << 28] {
            let mut bytes = [0; META_BYTES];
            Meta { page_size, ..example() }.encode(&mut bytes);
            assert_eq!(Meta::decode(&bytes), MetaPage::Damaged, "{page_size}");
        }
    }

    #[test]
    fn a_next_tree_that_no_database_has_is_damage() {
        for next_tree in [TreeId::NUMBERS + 1, u32::MAX] {
            let mut bytes = [0; META_BYTES];
            Meta { next_tree, ..example() }.encode(&mut bytes);
            assert_eq!(Meta::decode(&bytes), MetaPage::Damaged, "{next_tree}");
        }
    }

    /// Opening overflowed.
    #[test]
    fn a_number_that_no_database_reaches_is_damage() {
        let numbers: [fn(&mut Meta) -> &mut u64; 6] = [
            |meta| &mut meta.sequence,
            |meta| &mut meta.checkpoint,
            |meta| &mut meta.version,
            |meta| &mut meta.position,
            |meta| &mut meta.needed_from,
            |meta| &mut meta.next_stamp,
        ];
        for number in numbers {
            let (mut meta, mut bytes) = (example(), [0; META_BYTES]);
            *number(&mut meta) = u64::MAX;
            meta.encode(&mut bytes);
            assert_eq!(Meta::decode(&bytes), MetaPage::Damaged);
        }
    }

    #[test]
    fn every_flipped_bit_of_a_meta_page_is_noticed() {
        let meta = example();
        let mut bytes = [0; META_BYTES];
        meta.encode(&mut bytes);
        assert_eq!(Meta::decode(&bytes), MetaPage::Whole(Box::new(meta)));
        for bit in 0..META_BYTES * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(matches!(Meta::decode(&bytes), MetaPage::Damaged | MetaPage::Foreign), "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
}
