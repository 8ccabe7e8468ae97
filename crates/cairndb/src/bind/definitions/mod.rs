//! What the catalog keeps as text, and what it becomes when it is used: defaults, conditions, keys of indexes, views.

pub(super) mod definition;
pub(super) mod generated;
pub(super) mod groups;
pub(super) mod index;
pub(super) mod rule;
pub(super) mod shown;
pub(super) mod table_rules;
pub(super) mod trigger;
