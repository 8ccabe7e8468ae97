//! The text forms of values, in and out, as PostgreSQL's (datestyle ISO, intervalstyle postgres, bytea hex, shortest
//! floats that read back the same).

mod float;
mod input;
mod output;

pub use input::from_text;
pub(crate) use input::plain_integer;
pub(crate) use input::{parse_escaped, parse_hex};
pub use output::{to_text, write_hex, write_text};
