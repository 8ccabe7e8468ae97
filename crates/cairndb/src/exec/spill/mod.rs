//! Rows on disk, for operators that hold more than their share of memory.
//!
//! One format ([`block`]) in temporary files that nobody else can open ([`file`]): *runs* of blocks, written once and
//! read in order ([`run`]). Sorting writes sorted runs and merges them ([`merge`]); hashing
//! splits its input into partitions that are worked off one by one ([`partition`]); what is read several times is a list
//! of batches ([`batch_list`]).
//!
//! Invariants: a query's rows, and their order, are the same whether it spilled or not; a temporary file is gone when
//! its operator starts over or is dropped, however the statement ends, and what a crash leaves is an empty file at
//! most (on Windows, where files are deleted on closing, nothing).

mod batch_list;
mod block;
mod file;
mod keys;
mod merge;
mod partition;
mod run;
mod space;
#[cfg(test)]
mod tests;

pub(crate) use batch_list::BatchList;
pub(crate) use keys::SpilledKeys;
pub(crate) use merge::{Merge, MergeKey};
pub(crate) use partition::{LEVELS, NumberedOutput, Outputs, Partition, Partitions, SetAside, add_column, number};
pub(crate) use run::{Run, RunFile, RunScan};
pub use space::SpillSpace;
pub(crate) use space::SpillTotals;
