//! Expressions: their forms, and the types that they take from each other.

pub(super) mod arrays;
pub(super) mod coerce;
mod comparable;
pub(super) mod composite;
pub(super) mod domains;
pub(super) mod equal;
pub(super) mod expr;
mod forms;
pub(super) mod literal;
mod once;
pub(super) mod operators;
