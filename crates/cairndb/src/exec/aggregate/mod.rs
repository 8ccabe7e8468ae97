//! Grouping and aggregates.

mod call;
mod groups;
mod hash_aggregate;
mod minmax;
mod sorted_aggregate;
mod spilled;
mod state;
mod sums;
#[cfg(test)]
mod tests;

pub(crate) use call::Call;
pub(crate) use groups::GroupKeys;
pub(crate) use hash_aggregate::HashAggregate;
pub(crate) use sorted_aggregate::SortedAggregate;
