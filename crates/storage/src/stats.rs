//! Plain counters: relaxed additions on the paths that count, a copy when asked.

use crate::sync::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// Counted since the database was opened. Times are in microseconds, sizes in bytes.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Stats { $($(#[$doc])* pub $name: u64,)* }

        #[derive(Debug, Default)]
        pub(crate) struct Counters { $(pub(crate) $name: Counter,)* }

        impl Counters {
            pub(crate) fn read(&self) -> Stats {
                Stats { $($name: self.$name.get(),)* }
            }
        }

        impl Stats {
            /// Every counter with its name, for display.
            pub fn entries(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name),)*]
            }
        }
    };
}

counters! {
    /// Commits that changed something.
    commits,
    /// Transactions that lost to another (SQLSTATE 40001).
    conflicts,
    /// Transactions that had lost often and got a turn, in which no other commit beats them.
    turns,
    /// Commits whose operations were applied again to a newer tree.
    rebases,
    /// Log writes; `commits / batches` is the group commit's size.
    batches,
    /// Records of all batches: of commits, and of parts of large ones.
    records,
    /// The most commits in one batch.
    batch_commits_max,
    /// Batches of one record.
    batches_of_1,
    /// Of at most 4, those of one among them.
    batches_within_4,
    /// Of at most 16, those of at most 4 among them.
    batches_within_16,
    /// Of at most 64, those of at most 16 among them.
    batches_within_64,
    /// Log writes that were synced.
    syncs,
    /// Time in synced log writes.
    sync_us,
    /// The longest synced log write.
    sync_us_max,
    /// Synced log writes that took at most 1 ms.
    syncs_within_1ms,
    /// At most 10 ms, those of at most 1 ms among them.
    syncs_within_10ms,
    /// At most 100 ms, those of at most 10 ms among them.
    syncs_within_100ms,
    /// Time since the last synced log write; 0 where there was none.
    since_sync_us,
    /// Time that commits waited, each from when it was in the log's memory to when it was durable.
    commit_wait_us,
    /// Commits that waited at most 1 ms. (Those of a database in memory, and those that do not wait, are none of these four.)
    commits_waited_1ms,
    /// Longer, and at most 10 ms.
    commits_waited_10ms,
    /// Longer, and at most 100 ms.
    commits_waited_100ms,
    /// Longer.
    commits_waited_longer,
    /// Bytes of batches, without padding.
    log_bytes_written,
    /// Bytes of log that a recovery would have to look at now.
    log_bytes_live,
    /// Pages read from the file when they were asked for.
    pages_read,
    /// Pages read from the file before they were asked for.
    pages_read_ahead,
    /// Pages written to the file.
    pages_written,
    /// Pages found in memory on the way to a key.
    page_hits,
    /// Page look-ups that had to load.
    page_misses,
    /// Dirty pages that eviction had to write before they could go.
    pages_written_back,
    /// Pages dropped from the cache.
    pages_evicted,
    /// Dirty bytes in the cache, now.
    dirty_bytes,
    /// Bytes of pages that the cache takes at most; memory for them is taken as they are used.
    cache_bytes,
    /// Bytes of memory that its pages have, now.
    cache_bytes_used,
    /// Bytes of memory that the cache gave back to the system.
    cache_bytes_released,
    /// Trees and long values that were dropped, and whose pages are still to be freed, now.
    drops_left,
    /// Pages of dropped trees and long values that were freed.
    dropped_pages_freed,
    /// Pages in the file, now, free ones included.
    pages_total,
    /// Free pages in the file, now.
    pages_free,
    /// Completed checkpoints.
    checkpoints,
    /// Time in checkpoints.
    checkpoint_us,
    /// The longest checkpoint.
    checkpoint_us_max,
    /// Time that commits were slowed because the log or the cache was filling up.
    backpressure_us,
    /// Versions between the oldest snapshot in use and the newest.
    snapshot_age_versions,
    /// Snapshots that were ended because they were older than `max_snapshot_age`.
    snapshots_ended,
    /// Keys looked up, in reads and before writes of point statements.
    tree_searches,
    /// Puts, patches and deletes.
    tree_changes,
    /// Page splits.
    tree_splits,
    /// Page merges.
    tree_merges,
    /// Bytes of pages copied before a change.
    bytes_copied,
    /// Statements of who must not wait, left to who can: a page was not in memory.
    handed_over_for_page,
    /// Somebody had the commit lock for longer than a moment.
    handed_over_for_lock,
    /// The log had to be made room in, or commits are slowed.
    handed_over_for_log,
    /// A transaction has its turn.
    handed_over_for_turn,
    /// A sequence had no value in reserve, or others drew from it (counted by the layer above, as the two that follow).
    handed_over_for_sequence,
    /// Nobody had planned it.
    handed_over_for_plan,
    /// All of them: those of these causes, and what only the general path can do or word.
    handed_over,
    /// Temporary files made by queries that needed more memory than they may use (counted by the layer above).
    spill_files,
    /// Bytes written to them.
    spill_bytes_written,
}

/// A counter that many threads add to and nobody waits for.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, n: u64) {
        // Load and store instead of a locked add: a lost increment is cheaper than a contended line.
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
    }

    pub(crate) fn set(&self, n: u64) {
        self.0.store(n, Ordering::Relaxed);
    }

    pub(crate) fn raise(&self, n: u64) {
        if n > self.0.load(Ordering::Relaxed) {
            self.0.store(n, Ordering::Relaxed);
        }
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
