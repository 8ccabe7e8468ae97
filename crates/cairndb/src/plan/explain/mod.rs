//! EXPLAIN: a physical plan as it is shown.

mod details;
mod format;
mod names;
mod nodes;
mod shown;

pub use format::{Whole, json, yaml};
pub use shown::{ExplainOptions, explain, explained};
