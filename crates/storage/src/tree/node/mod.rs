//! Tree pages as nodes: how they lie in their bytes, reading them, changing them in place, sharing their entries out.

mod change;
mod entries;
mod layout;
mod read;
#[cfg(test)]
mod tests;

pub(crate) use change::{append_in_place, append_run, begin_like, close_gaps, insert_in_place, remove, set_child};
pub(crate) use entries::{Entries, separator, separator_length};
pub(crate) use layout::{Cell, OVERFLOW_REF, Payload, init_body, inline_limit, key_limit};
pub(crate) use read::{Node, is_well_formed};
