//! What a crash keeps of what was not synced, and the disk that it leaves.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::content::{Content, cuts};
use super::random::Random;

/// What a drive writes as a whole, in bytes.
const SECTOR: u64 = 512;

/// Which of the unsynced changes a crash keeps. Deterministic: the same strategy keeps the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CrashStrategy {
    /// Only what was synced.
    KeepNone,
    /// Everything, the operation in flight included.
    KeepAll,
    /// Everything before a random operation, of that one the first sectors, nothing after it.
    Prefix {
        /// Chooses the operation and the sectors.
        seed: u64,
    },
    /// Any subset, each write torn at sectors.
    Random {
        /// Chooses the subset.
        seed: u64,
    },
}

impl CrashStrategy {
    /// None, all, one prefix and `random` random subsets, different for different seeds.
    pub fn family(seed: u64, random: u64) -> impl Iterator<Item = CrashStrategy> {
        let mut seeds = Random::new(seed);
        let prefix = CrashStrategy::Prefix { seed: seeds.next() };
        let fixed = [CrashStrategy::KeepNone, CrashStrategy::KeepAll, prefix];
        fixed.into_iter().chain((0..random).map(move |_| CrashStrategy::Random { seed: seeds.next() }))
    }
}

/// A strategy applied to one disk.
#[derive(Clone, Copy, Debug)]
pub(super) enum Chooser {
    None,
    All,
    Until { operation: u64, seed: u64 },
    Random { seed: u64 },
}

impl Chooser {
    /// `unsynced` yields the operations that have something to lose, in order and possibly repeated.
    pub(super) fn new(strategy: CrashStrategy, unsynced: impl FnOnce() -> Vec<u64>) -> Chooser {
        match strategy {
            CrashStrategy::KeepNone => Chooser::None,
            CrashStrategy::KeepAll => Chooser::All,
            CrashStrategy::Random { seed } => Chooser::Random { seed },
            CrashStrategy::Prefix { seed } => {
                let operations = unsynced();
                let index = Random::new(seed).below(operations.len() as u64) as usize;
                Chooser::Until { operation: operations.get(index).copied().unwrap_or(0), seed }
            }
        }
    }

    /// Whether a change that cannot be torn is kept.
    pub(super) fn keeps(self, operation: u64) -> bool {
        match self {
            Chooser::None => false,
            Chooser::All => true,
            Chooser::Until { operation: last, seed } => {
                operation < last || (operation == last && Random::of(seed, operation).chance(1, 2))
            }
            Chooser::Random { seed } => Random::of(seed, operation).chance(1, 2),
        }
    }

    /// How many of a file's unsynced changes of length are kept, always the first ones.
    pub(super) fn lengths_kept(self, file: u64, operations: &[u64]) -> usize {
        match self {
            Chooser::Random { seed } => Random::of(!seed, file).below(operations.len() as u64 + 1) as usize,
            _ => operations.iter().take_while(|&&operation| self.keeps(operation)).count(),
        }
    }

    /// Calls `keep` with the place and bytes of each kept piece of a write.
    pub(super) fn kept_pieces(self, operation: u64, offset: u64, bytes: &[u8], mut keep: impl FnMut(u64, &[u8])) {
        let mut keeps_sector: Box<dyn FnMut(usize) -> bool> = match self {
            Chooser::None => return,
            Chooser::All => return keep(offset, bytes),
            Chooser::Until { operation: last, .. } if operation < last => return keep(offset, bytes),
            Chooser::Until { operation: last, .. } if operation > last => return,
            Chooser::Until { seed, .. } => {
                let sectors = cuts(offset, bytes.len(), SECTOR).count() as u64;
                let kept = Random::of(seed, operation).below(sectors + 1) as usize;
                Box::new(move |sector| sector < kept)
            }
            Chooser::Random { seed } => {
                let mut random = Random::of(seed, operation);
                match random.below(10) {
                    0..3 => return,
                    3..6 => return keep(offset, bytes),
                    // Mostly lost, half, mostly kept: a lone odd sector is another case than a half.
                    share => Box::new(move |_| random.chance([1, 4, 4, 7][share as usize - 6], 8)),
                }
            }
        };
        for (sector, piece) in cuts(offset, bytes.len(), SECTOR).enumerate() {
            if keeps_sector(sector) {
                keep(offset + piece.start as u64, &bytes[piece]);
            }
        }
    }
}

/// The files of a machine that is switched off. Cloning is cheap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskImage {
    pub(super) files: BTreeMap<Arc<Path>, Content>,
}

impl DiskImage {
    /// A disk without files.
    pub fn new() -> DiskImage {
        DiskImage::default()
    }

    /// The names of all files, in order.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.keys().map(|path| &**path)
    }

    /// The content of a file.
    pub fn bytes(&self, path: &Path) -> Option<Vec<u8>> {
        self.files.get(path).map(Content::to_vec)
    }

    /// Replaces or adds a file.
    pub fn insert(&mut self, path: &Path, bytes: &[u8]) {
        self.files.insert(path.into(), Content::from_bytes(bytes));
    }

    /// Removes a file; false if there is none.
    pub fn remove(&mut self, path: &Path) -> bool {
        self.files.remove(path).is_some()
    }

    /// Inverts bit `bit % 8` of byte `bit / 8`; false if there is no such byte.
    pub fn flip_bit(&mut self, path: &Path, bit: u64) -> bool {
        self.files.get_mut(path).is_some_and(|content| content.flip_bit(bit))
    }
}
