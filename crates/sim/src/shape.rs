//! How a run leans: drawn from its seed, so that different runs look for different things.

use std::sync::OnceLock;
use std::time::Duration;

use cairn_storage::{Memory, Options, SyncMethod};

use crate::random::Random;

/// What the engine does not withstand: nothing now. `CAIRN_SIM_HELD_BACK` names dimensions that are not to be tried, separated
/// by commas.
const HELD_BACK: &str = "";

/// Whether so named a dimension is tried.
pub(crate) fn is_tried(dimension: &str) -> bool {
    static CHOSEN: OnceLock<String> = OnceLock::new();
    let held_back = CHOSEN.get_or_init(|| std::env::var("CAIRN_SIM_HELD_BACK").unwrap_or(HELD_BACK.to_owned()));
    !held_back.split(',').any(|name| name == dimension)
}

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
    /// Of a million writes, those after which the system fails to write back what is not synced.
    pub writebacks_ppm: u32,
}

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Bytes of a page.
    pub page_size: usize,
    /// What is asked for instead, of a database that has another size.
    pub asked_page_size: usize,
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
    /// Their memory is one that others might share: a chunk of it is taken at a time.
    pub shares: bool,
    /// Whether some transactions are so large that they go to the log in parts, again and again.
    pub large: bool,
    /// When snapshots are ended.
    pub max_snapshot_age: Option<Duration>,
    /// Pages that the database may have.
    pub max_pages: u32,
    /// Of everything that options size.
    pub sizes: Sizes,
    /// Who is there besides writers, readers and the keeper, and what else they do.
    pub company: Company,
}

/// How much of everything there is.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// As small as options allow: everything wraps around, and is evicted, all the time.
    pub is_least: bool,
    /// Bytes of a log segment.
    pub segment: usize,
    /// Segments that the log may have.
    pub segments: u64,
    /// The most bytes of a key.
    pub key_bytes: usize,
    /// The most bytes of a long value.
    pub value_bytes: u64,
    /// Snapshots, cursors and sessions at once.
    pub snapshots: usize,
}

/// What happens beside the usual work.
#[derive(Clone, Copy, Debug, Default)]
pub struct Company {
    /// Now and then a background thread can not be started.
    pub spawns_fail: bool,
    /// Somebody closes the database while everybody is at work.
    pub closes: bool,
    /// The director's handle is dropped while everybody is at work: the last one to leave closes the database.
    pub drops: bool,
    /// Snapshots of different versions are held by the hundred.
    pub holds: bool,
    /// Sessions that do nothing take every slot there is.
    pub idles: bool,
    /// Closures of point writes panic.
    pub panics: bool,
    /// Somebody follows what changes.
    pub watches: bool,
    /// Somebody takes what is appended.
    pub listens: bool,
    /// Some transactions end with a value that takes much of the log.
    pub huge: bool,
    /// Wakers panic when they are woken.
    pub wakers: bool,
    /// A backup is made by two at once, now and then.
    pub twice: bool,
    /// Many transactions end with a value that takes much of the log, or nearly all of it, and some give up when they have to wait.
    pub room: bool,
    /// The machine loses power when somebody has just taken what was appended.
    pub cuts: bool,
}

impl Shape {
    /// The shape of a seed's run.
    pub fn of(seed: u64) -> Shape {
        let mut random = Random::new(seed ^ 0x5ea9_e000);
        // Streams of their own: what is drawn for one thing does not depend on the others.
        let mut other = Random::new(seed ^ 0x517e_5000);
        let (least, keys) = (random.pick(&[512, 512, 512, 1024]), random.pick(&[12, 40, 80]));
        let is_least = !(other.one_in(3) && is_tried("sizes"));
        let page_size = if is_least { least } else { other.pick(&[512, 1024, 2048, 4096, 8192]) };
        let (later, latest) = (Random::new(seed ^ 0xc0de_0000), Random::new(seed ^ 0x400b_0000));
        let company = Company::of(&mut other, later, latest);
        let sizes = Sizes::of(is_least, page_size, company, &mut other);
        let methods = [SyncMethod::DirectDsync, SyncMethod::DirectDsync, SyncMethod::Dsync, SyncMethod::WriteSync];
        Shape {
            page_size,
            asked_page_size: page_size,
            keys: if sizes.is_least { keys } else { other.pick(&[40, 120, 250]) },
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
            frames: match (random.pick(&[64, 64, 96]), is_least) {
                (frames, true) => frames,
                (_, false) => other.pick(&[64, 80, 128, 200, 600]),
            },
            shares: Random::new(seed ^ 0x5a4e_0000).one_in(3) && is_tried("shares"),
            large: random.one_in(3),
            max_snapshot_age: random.pick(&[
                None,
                None,
                Some(Duration::from_millis(1)),
                Some(Duration::from_millis(8)),
            ]),
            max_pages: pages(&mut Random::new(seed ^ 0x9a6e_0000)),
            sizes,
            company,
        }
    }

    /// Whether the database may come to have as many pages as it may.
    pub(crate) fn is_narrow(&self) -> bool {
        self.max_pages < PAGES
    }

    /// What the database is opened with.
    pub fn options(&self) -> Options {
        let mut options = Options::default();
        options.page_size = self.asked_page_size;
        let cache_bytes = self.frames * self.page_size.max(self.asked_page_size);
        match self.shares {
            true => options.memory = Some(Memory::shared(cache_bytes)),
            false => options.cache_bytes = cache_bytes,
        }
        options.log_segment_bytes = self.sizes.segment;
        options.log_limit_bytes = self.sizes.segments * self.sizes.segment as u64;
        options.checkpoint_log_bytes = self.sizes.segment as u64 * 5 / 4;
        options.max_snapshots = self.sizes.snapshots;
        options.max_pages = self.max_pages;
        options.separate_blocks = self.separate_blocks;
        options.max_snapshot_age = self.max_snapshot_age;
        options
    }
}

/// Mostly more than are needed.
const PAGES: u32 = 4096;

fn pages(random: &mut Random) -> u32 {
    if random.one_in(4) && is_tried("pages") { random.pick(&[120, 160, 240, 400]) } else { PAGES }
}

impl Sizes {
    fn of(is_least: bool, page_size: usize, company: Company, random: &mut Random) -> Sizes {
        let snapshots = if company.holds { 600 } else { 40 };
        if is_least {
            return Sizes { is_least, segment: 16 << 10, segments: 4, key_bytes: 34, value_bytes: 1650, snapshots };
        }
        let page = page_size as u64;
        Sizes {
            is_least,
            segment: random.pick(&[16 << 10, 32 << 10, 64 << 10, 256 << 10]),
            segments: random.pick(&[4, 5, 8]),
            key_bytes: random.pick(&[34, (page_size - 128) / 4 - 24]),
            value_bytes: random.pick(&[1650, 3 * page, 8 * page]),
            snapshots,
        }
    }
}

impl Company {
    fn of(random: &mut Random, mut later: Random, mut latest: Random) -> Company {
        Company {
            room: latest.one_in(4) && is_tried("room"),
            cuts: latest.one_in(2) && is_tried("cuts"),
            huge: later.one_in(4) && is_tried("huge"),
            wakers: later.one_in(3) && is_tried("wakers"),
            twice: later.one_in(2) && is_tried("twice"),
            spawns_fail: random.one_in(4) && is_tried("spawns"),
            closes: random.one_in(4) && is_tried("closes"),
            drops: random.one_in(4) && is_tried("drops"),
            holds: random.one_in(12) && is_tried("holds"),
            idles: random.one_in(10) && is_tried("slots"),
            panics: random.one_in(10) && is_tried("panics"),
            watches: random.one_in(3) && is_tried("watches"),
            listens: random.one_in(3) && is_tried("listens"),
        }
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
            flips: random.one_in(2),
            writebacks_ppm: if is_tried("writebacks") { random.pick(&[0, 0, 500, 3000]) } else { 0 },
        }
    }
}
