//! What CairnDB is fuzzed with. A target is a function of bytes; it panics where the engine broke a promise, and returns
//! otherwise. `cargo fuzz` (folder `fuzz/`) and the ordinary test `tests/corpus.rs` run the same functions.
//!
//! Of every target: nothing panics, overflows the stack, or goes on after its time is up; errors are typed, and none
//! is an internal one (SQLSTATE XX000). What else each one promises stands at its head.

mod csv_import;
mod damage;
mod database_and_log;
mod documents;
mod http_bodies;
mod machine;
mod mutate;
mod parse_and_print;
mod row_and_key;
mod sql_and_file;
mod sql_text;
mod wire;

pub use csv_import::csv_import;
pub use database_and_log::database_and_log;
pub use documents::documents;
pub use http_bodies::http_bodies;
pub use mutate::{Mutator, Random};
pub use parse_and_print::parse_and_print;
pub use row_and_key::row_and_key;
pub use sql_and_file::sql_and_file;
pub use sql_text::sql_text;
pub use wire::{wire_bytes, wire_messages};

/// Panics where the engine broke a promise.
pub type Target = fn(&[u8]);

/// Every target by its name, which its seed corpus has too.
pub const TARGETS: [(&str, Target); 10] = [
    ("sql_text", sql_text),
    ("parse_and_print", parse_and_print),
    ("sql_and_file", sql_and_file),
    ("database_and_log", database_and_log),
    ("row_and_key", row_and_key),
    ("csv_import", csv_import),
    ("wire_bytes", wire_bytes),
    ("wire_messages", wire_messages),
    ("documents", documents),
    ("http_bodies", http_bodies),
];
