//! Joins: their order, their methods, and the physical nodes that they become.

mod asked;
mod build;
pub(super) mod graph;
mod merge;
mod method;
mod order;
