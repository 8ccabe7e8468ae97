//! What is known and guessed of rows and what operations on them cost.

pub(super) mod analyze;
pub(super) mod asked;
pub(super) mod cost;
pub(super) mod estimate;
pub(super) mod expressions;
pub(super) mod live;
