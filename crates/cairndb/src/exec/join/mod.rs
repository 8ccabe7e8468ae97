//! Joins: each kind of loop finds candidate pairs of rows; [`pairs`] does the rest for all of them.

mod hash_join;
mod index_join;
mod merge_join;
mod nested_loop;
mod pairs;
mod spilled;
#[cfg(test)]
mod tests;

pub(crate) use hash_join::{HashJoin, HashJoinParts};
pub(crate) use index_join::IndexJoin;
pub(crate) use merge_join::{MergeJoin, MergeJoinParts};
pub(crate) use nested_loop::{LateralJoin, NestedLoopJoin};
pub(crate) use pairs::Pairing;
