//! The text forms of values, in and out, as PostgreSQL's (datestyle ISO, intervalstyle postgres, bytea hex, shortest
//! floats that read back the same).

mod float;
mod input;
mod output;

pub use float::{parse_double, parse_real, write_double, write_real};
pub use input::{from_text, parse_bool, parse_bytea, parse_integer, parse_uuid};
pub(crate) use input::{parse_escaped, parse_hex};
pub use output::{to_text, write_hex, write_text};
