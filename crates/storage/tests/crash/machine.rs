//! A database as small as options allow, on a simulated disk, without threads of its own: all it does is done by the
//! thread that asks, so a seed decides everything.

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use cairn_storage::io::SimDisk;
use cairn_storage::{Environment, Options, QuietHost, Result, Store};

pub const DATABASE: &str = "db";
pub const LOG: &str = "db-log";

/// SplitMix64.
#[derive(Clone, Debug)]
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// The smallest segments, few and small pages, little log: everything wraps around and is evicted all the time.
pub fn options(page_size: usize) -> Options {
    let mut options = Options::default();
    options.page_size = page_size;
    options.cache_bytes = 64 * page_size;
    options.log_segment_bytes = 16 << 10;
    options.log_limit_bytes = 96 << 10;
    options.checkpoint_log_bytes = 1 << 40;
    options.max_snapshots = 16;
    options.max_pages = 4096;
    options
}

pub fn environment(disk: &SimDisk, seed: u64) -> Environment {
    Environment { files: Arc::new(disk.clone()), host: Arc::new(QuietHost::new(seed)) }
}

pub fn open(disk: &SimDisk, options: &Options, seed: u64) -> Result<Store> {
    Store::open_with(Path::new(DATABASE), options.clone(), environment(disk, seed))
}
