//! Statements that change rows.

mod conflict;
pub(super) mod current_of;
mod delete;
mod insert;
mod merge;
pub(super) mod modification;
mod parts;
mod returned;
pub(super) mod rows;
mod target;
pub(super) mod updatable;
mod update;
