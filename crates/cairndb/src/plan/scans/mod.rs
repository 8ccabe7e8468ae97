//! How one table is read: its access paths, and what conditions and orders they can answer.

pub(super) mod access;
pub(super) mod any_of;
mod both;
mod extremes;
pub(super) mod implied;
pub(super) mod indexes;
pub(super) mod keyed_row;
pub(super) mod keys;
pub(super) mod known;
mod loose;
pub(super) mod scan;
pub(super) mod stored_fields;
pub(super) mod system_rows;
pub(super) mod system_scan;
