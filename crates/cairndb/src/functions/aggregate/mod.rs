//! Aggregates: the catalogue of them and their accumulators.

mod basic;
mod catalogue;
mod collect;
mod json;
mod numeric_sum;
mod ordered;
mod statistics;
mod stored;

pub(super) use catalogue::AGGREGATES;
pub use numeric_sum::NumericSum;
pub use ordered::{Hypothetical, Placed, PlacedBy};
pub(crate) use stored::StoredAggregate;
