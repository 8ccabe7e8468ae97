//! The settings of a session: which there are, and what each takes.
//!
//! - `settings.tsv` is the one table of them: SHOW, SHOW ALL, `pg_settings`, every check of a value and what served sessions may set
//!   are made of its lines. A setting that changes nothing is its line and no more.
//! - What a setting changes is its place in `session/settings.rs` `Settings::place`, or where texts have a meaning of their own, in `put`.

mod amount;
mod check;
mod table;

pub(crate) use amount::show_bytes;
pub(crate) use check::{Checked, boolean, invalid};
pub(crate) use table::{Ceiling, Kind, Setting, listed, setting};
