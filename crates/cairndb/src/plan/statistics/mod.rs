//! What is known and guessed of rows and what operations on them cost.

pub(super) mod analyze;
pub(super) mod assumed;
pub(super) mod cost;
pub(super) mod estimate;
pub(super) mod live;
