//! Results that follow the tables they were computed from: live queries, and views that commits keep.

pub(super) mod askers;
pub(super) mod changes;
pub(super) mod groups;
mod keyed_change;
pub(super) mod watched;
