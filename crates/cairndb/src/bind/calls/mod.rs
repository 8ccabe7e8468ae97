//! Calls: which function is meant, and what it becomes.

mod candidates;
mod elsewhere;
pub(super) mod functions;
pub(super) mod named_arguments;
pub(super) mod ordered_sets;
pub(super) mod overload;
pub(super) mod routine;
mod sequence_call;
mod stored_aggregates;
pub(super) mod system;
