//! What operations cost, in units of a sequentially read page of 8 KiB (as PostgreSQL counts), for pages that are mostly
//! in memory: finding a key in a tree costs about eight times as much as stepping to the next row.

/// A page read in order.
const PAGE: f64 = 1.0;
const PAGE_BYTES: f64 = 8192.0;
/// Bytes that a row takes besides its columns.
pub(super) const ROW_OVERHEAD: f64 = 11.0;
/// Decoding one row.
pub(in crate::plan) const ROW: f64 = 0.01;
/// Stepping over one index entry.
pub(in crate::plan) const ENTRY: f64 = 0.005;
/// Decoding what an index entry says in place of its row: part by part, where a scan decodes rows column by column.
pub(in crate::plan) const COVERED: f64 = 0.03;
/// Evaluating one operator on one row.
pub(in crate::plan) const OPERATOR: f64 = 0.0025;
/// Finding a key in a tree.
pub(in crate::plan) const LOOKUP: f64 = 0.08;
/// Adding a row to a hash table.
pub(in crate::plan) const HASH_BUILD: f64 = 0.02;
/// Looking a row up in a hash table.
pub(in crate::plan) const HASH_PROBE: f64 = 0.01;
/// Beginning a group of rows that are told apart by hash,
const NEW_GROUP: f64 = 0.01;
/// and what that costs more where there are so many that each is a place in memory that no cache has.
const FAR_GROUP: f64 = 0.09;
/// From about so many on they are.
const FAR_GROUPS: f64 = 10_000.0;
/// Going past a row of a side of a merge join.
pub(in crate::plan) const MERGE: f64 = 0.0025;
/// Starting a subplan or a lateral side for one row.
pub(in crate::plan) const RESTART: f64 = 0.1;

/// Reading `rows` rows of `width` bytes that lie side by side.
pub(in crate::plan) fn sequential(rows: f64, width: f64) -> f64 {
    rows * (width + ROW_OVERHEAD) / PAGE_BYTES * PAGE
}

/// Finding a row of `width` bytes by an index's entry, and reading it: never less than reading it where the row before was.
pub(in crate::plan) fn row_by_entry(width: f64) -> f64 {
    ENTRY + LOOKUP + ROW + sequential(1.0, width)
}

/// Telling `rows` rows apart by hash, of which so many differ.
pub(in crate::plan) fn hash_groups(rows: f64, groups: f64) -> f64 {
    rows * HASH_PROBE + groups * (NEW_GROUP + FAR_GROUP * groups / (groups + FAR_GROUPS))
}

/// Sorting `rows` rows, of which `kept` are wanted.
pub(in crate::plan) fn sort(rows: f64, kept: f64) -> f64 {
    rows * kept.min(rows).max(2.0).log2() * 2.0 * OPERATOR
}
