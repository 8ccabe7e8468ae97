//! The text forms of values, in and out, as PostgreSQL's in the session's style.

mod float;
mod input;
mod output;
mod short;
mod utf8;

pub use input::from_text;
pub(in crate::types) use input::invalid;
pub(crate) use input::{internal_char, parse_integer, plain_integer};
pub(crate) use input::{parse_escaped, parse_hex};
pub(crate) use output::is_plain_text;
pub(in crate::types) use output::{put_number, put_time, write_long};
pub use output::{to_text, write_hex, write_text};
pub(crate) use short::{Short, pair};
pub(crate) use utf8::{has_zero_byte, utf8};
