//! What EXPLAIN ANALYZE counts.

/// What one plan node did (`EXPLAIN ANALYZE`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeStatistics {
    /// Rows it returned, over all its runs.
    pub rows: u64,
    /// Batches it returned.
    pub batches: u64,
    /// Times it ran from its start to its end.
    pub loops: u64,
    /// Nanoseconds spent in it and its inputs.
    pub nanos: u64,
    /// Those of them until the first batch of each run.
    pub first_nanos: u64,
    /// Of an index join: rows that its lookups found, and the time they took.
    pub inner_rows: u64,
    /// See `inner_rows`.
    pub inner_nanos: u64,
    /// Rows that it read and its filter dropped.
    pub removed_rows: u64,
    /// Pages that it and its inputs found in memory, and those that they waited for, where that was asked.
    pub pages_hit: u64,
    /// See `pages_hit`.
    pub pages_read: u64,
    /// The most bytes that it held at once.
    pub memory_bytes_max: u64,
    /// Bytes that it wrote to temporary files.
    pub spilled_bytes: u64,
    /// Temporary files that it made.
    pub spill_files: u64,
}
