//! What a user can choose when opening a database.

use std::time::Duration;

use crate::budget::Memory;
use crate::io::SyncMethod;
use crate::progress::OpeningListener;
use crate::{Error, Result};

/// What a commit's acknowledgement means. The weaker modes are the user's visible choice, per database and per
/// transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Durable before it is acknowledged or visible.
    #[default]
    Full,
    /// As `Full`, after a wait of up to `group_interval` (or until `group_size` commits wait) to share the write.
    Group,
    /// Acknowledged and visible at once, written and synced every `sync_interval`. A crash may lose that much, and
    /// never part of a transaction.
    Interval,
    /// Acknowledged and visible at once, written with checkpoints, or with a later commit of a stronger mode.
    Off,
}

/// How a database is opened.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The mode of commits that do not choose their own.
    pub durability: Durability,
    /// Opens for reading only; works from read-only media. A database that was not closed is recovered in memory, which
    /// takes as much of it as the commits in its log changed, at most four times `cache_bytes` (1 GiB where it is 0).
    pub read_only: bool,
    /// Fails instead of creating a database that is not there.
    pub must_exist: bool,
    /// The most bytes of memory for pages, of which none is taken before it is used; 0: what there is of `memory` (a database in memory
    /// has 256 MiB).
    pub cache_bytes: usize,
    /// Memory for pages that is shared with other databases. `None`: all databases of the process that say nothing else share a
    /// quarter of what it may use, of the machine's memory, the control group's, or `ulimit -v`; one with `cache_bytes` has those for
    /// itself.
    pub memory: Option<Memory>,
    /// Bytes of a page of a new database: a power of two, 512 to 32,768.
    pub page_size: usize,
    /// Bytes of a log segment: a power of two; a transaction's log parts are at most a quarter of it.
    pub log_segment_bytes: usize,
    /// The most bytes of log kept; commits wait, then fail, rather than pass it.
    pub log_limit_bytes: u64,
    /// A checkpoint begins after this many bytes of log.
    pub checkpoint_log_bytes: u64,
    /// A database with at most so many bytes in use, of whose file a tenth or more is free, is compacted when it is
    /// closed. (A larger one only gives back what is free at its end; `Store::compact` does the rest.) 0: never.
    pub close_compact_bytes: u64,
    /// How the log reaches the medium; `Auto` probes.
    pub sync_method: SyncMethod,
    /// Starts each batch on its own block, for media whose torn writes may damage bytes that were written again
    /// unchanged.
    pub separate_blocks: bool,
    /// The longest that `Durability::Group` waits for company.
    pub group_interval: Duration,
    /// The number of waiting commits that ends the wait.
    pub group_size: u32,
    /// How much time a crash may lose under `Durability::Interval`.
    pub sync_interval: Duration,
    /// How long a snapshot (or a transaction's) may keep pages that newer versions gave up; then it is ended, and who
    /// reads from it gets [`Error::SnapshotTooOld`](crate::Error::SnapshotTooOld). `None`: as long as it lives. A
    /// snapshot of the newest version keeps nothing and does not age. Backups and checks are never ended.
    pub max_snapshot_age: Option<Duration>,
    /// The most bytes of operations (keys and values, in the log's encoding) that a transaction may hold; 0: no limit of
    /// their own.
    pub max_transaction_bytes: u64,
    /// Snapshots, transactions and cursors that may be open at once, at most 1,048,576. Sessions take none of these, and neither
    /// does the engine.
    pub max_snapshots: usize,
    /// Pages that the database may grow to.
    pub max_pages: u32,
    /// Pages beyond those for who frees pages, who copies some before he gives others back; a quarter of them is for checkpoints
    /// alone. 0: an eighth of `max_pages`. With four thirds of `max_pages`, whatever is deleted at once finds some.
    pub pages_to_free: u32,
    /// Is told how far an opening is that takes longer than a second.
    pub on_opening: Option<OpeningListener>,
    /// A new database is a copy that is being made: its id says so.
    pub(crate) is_copy: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            durability: Durability::Full,
            read_only: false,
            must_exist: false,
            cache_bytes: 0,
            memory: None,
            page_size: 4096,
            log_segment_bytes: 4 << 20,
            log_limit_bytes: 1 << 30,
            checkpoint_log_bytes: 64 << 20,
            close_compact_bytes: 256 << 20,
            sync_method: SyncMethod::Auto,
            separate_blocks: false,
            group_interval: Duration::from_millis(1),
            group_size: 64,
            sync_interval: Duration::from_millis(10),
            max_snapshot_age: None,
            max_transaction_bytes: 0,
            max_snapshots: 4096,
            max_pages: 1 << 26,
            pages_to_free: 0,
            on_opening: None,
            is_copy: false,
        }
    }
}

/// The cache of a database in memory whose user chose none, of which each page would be in memory twice.
pub(crate) const IN_MEMORY_CACHE: usize = 256 << 20;

/// The log has room for so many segments at the least, also where it is one of larger ones than are asked for.
pub(crate) const LOG_SEGMENTS_MIN: u64 = 4;

/// Each has a slot, of 128 bytes of addresses.
const SNAPSHOTS_MAX: usize = 1 << 20;

/// A recovery in memory may take so many times as much of it as the cache, if somebody chose its size; otherwise so much.
const OVERLAY: (usize, usize) = (4, 1 << 30);

impl Options {
    /// The bytes of changed pages that a recovery in memory may hold.
    pub(crate) fn overlay_bytes(&self) -> usize {
        match self.cache_bytes {
            0 => OVERLAY.1,
            chosen => chosen.saturating_mul(OVERLAY.0),
        }
    }

    pub(crate) fn check(&self) -> Result<()> {
        let page = self.page_size;
        let segment = self.log_segment_bytes;
        if !is_page_size(page) {
            return Err(Error::BadOption("page_size must be a power of two from 512 to 32768"));
        }
        if !segment.is_power_of_two() || !(16384..=1 << 30).contains(&segment) {
            return Err(Error::BadOption("log_segment_bytes must be a power of two from 16 KiB to 1 GiB"));
        }
        if self.log_limit_bytes < LOG_SEGMENTS_MIN * segment as u64 {
            return Err(Error::BadOption("log_limit_bytes must be at least four segments"));
        }
        if self.cache_bytes != 0 && self.cache_bytes < 64 * page {
            return Err(Error::BadOption("cache_bytes must be at least 64 pages, or 0"));
        }
        if self.max_pages < 64 || self.max_snapshots < 4 {
            return Err(Error::BadOption("max_pages must be at least 64, max_snapshots at least 4"));
        }
        if self.max_snapshots > SNAPSHOTS_MAX {
            return Err(Error::BadOption("max_snapshots must be at most 1,048,576"));
        }
        Ok(())
    }
}

/// Whether pages can have this many bytes.
pub(crate) fn is_page_size(bytes: usize) -> bool {
    bytes.is_power_of_two() && (512..=32768).contains(&bytes)
}
