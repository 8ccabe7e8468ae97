//! Queries: the clauses of SELECT in the order in which they mean something, and what combines queries.

pub(super) mod grouping;
mod grouping_sets;
mod late;
mod locking;
mod long;
pub(super) mod output_name;
pub(super) mod query;
pub(super) mod select;
pub(super) mod subquery;
pub(super) mod windows;
