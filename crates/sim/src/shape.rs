//! How a run leans: drawn from its seed, so that different runs look for different things.

use std::time::Duration;

use cairn_storage::{Options, SyncMethod};

use crate::random::Random;

/// Faults of the disk while clients are at work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Of a million reads, so many fail.
    pub reads_ppm: u32,
    /// Of a million writes, changes of length and syncs.
    pub writes_ppm: u32,
    /// Whether the disk is full at times.
    pub full: bool,
    /// Whether ranges of files fail at times.
    pub ranges: bool,
    /// Whether bits flip while the database is closed.
    pub flips: bool,
}

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Bytes of a page.
    pub page_size: usize,
    /// Keys per table.
    pub keys: u32,
    /// Clients.
    pub writers: u64,
    /// Clients that only read.
    pub readers: u64,
    /// Whether some commits are in modes that may lose them.
    pub weak: bool,
    /// Whether most commits wait for company.
    pub grouped: bool,
    /// One value in so many is long.
    pub long: u64,
    /// Whether the database is copied now and then.
    pub backups: bool,
    /// Whether it is compacted now and then.
    pub compactions: bool,
    /// Of the disk.
    pub faults: Faults,
    /// How the log reaches the disk.
    pub method: SyncMethod,
    /// Whether each batch has blocks of its own.
    pub separate_blocks: bool,
    /// Frames of the cache.
    pub frames: usize,
    /// Whether some transactions are so large that they go to the log in parts, again and again.
    pub large: bool,
    /// When snapshots are ended.
    pub max_snapshot_age: Option<Duration>,
}

impl Shape {
    /// The shape of a seed's run.
    pub fn of(seed: u64) -> Shape {
        let mut random = Random::new(seed ^ 0x5ea9_e000);
        let methods = [SyncMethod::DirectDsync, SyncMethod::DirectDsync, SyncMethod::Dsync, SyncMethod::WriteSync];
        Shape {
            page_size: random.pick(&[512, 512, 512, 1024]),
            keys: random.pick(&[12, 40, 80]),
            writers: random.pick(&[2, 3, 4, 4, 6, 8]),
            readers: 1 + random.below(2),
            weak: random.one_in(4),
            grouped: random.one_in(4),
            long: random.pick(&[2, 4, 10]),
            backups: random.one_in(3),
            compactions: random.one_in(3),
            faults: Faults::of(&mut random),
            method: random.pick(&methods),
            separate_blocks: random.one_in(4),
            frames: random.pick(&[64, 64, 96]),
            large: random.one_in(3),
            max_snapshot_age: random.pick(&[
                None,
                None,
                Some(Duration::from_millis(1)),
                Some(Duration::from_millis(8)),
            ]),
        }
    }

    /// As small as options allow: everything wraps around, and is evicted, all the time.
    pub fn options(&self) -> Options {
        let mut options = Options::default();
        options.page_size = self.page_size;
        options.cache_bytes = self.frames * self.page_size;
        options.log_segment_bytes = 16 << 10;
        options.log_limit_bytes = 64 << 10;
        options.checkpoint_log_bytes = 20 << 10;
        options.max_snapshots = 40;
        options.max_pages = 4096;
        options.separate_blocks = self.separate_blocks;
        options.max_snapshot_age = self.max_snapshot_age;
        options
    }
}

impl Faults {
    fn of(random: &mut Random) -> Faults {
        if random.one_in(2) {
            return Faults::default();
        }
        Faults {
            reads_ppm: random.pick(&[0, 0, 300, 3000]),
            writes_ppm: random.pick(&[0, 300, 1000, 5000]),
            full: random.one_in(3),
            ranges: random.one_in(3),
            flips: random.one_in(3),
        }
    }
}
