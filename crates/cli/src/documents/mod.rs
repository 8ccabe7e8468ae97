//! `cairn import ndjson` and `cairn export`: a collection's documents as lines of JSON.
//!
//! What must hold: all documents come in or none; their text goes to the database as it is, so that no number loses a digit;
//! and what is exported is what is imported again, ids too.

mod export;
mod extended;
mod import;
mod lines;
mod members;

pub use export::{Export, export};
pub use import::{Ndjson, import};
