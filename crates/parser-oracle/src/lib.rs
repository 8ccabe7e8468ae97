//! PostgreSQL's own grammar as the judge of ours.
//!
//! The judge is the raw parser of the PostgreSQL server that the differential tests start: [`Grammar::judge`] tells
//! what it takes and what it refuses, with its words and the place, and nothing is ever run. [`statements`] gathers
//! what the repository's tests say to a database, [`grammar_file`] reads a grammar in yacc's form, [`mod@derive`] makes
//! statements from it and [`mutate`] spoils them.

mod grammar;
mod wire;

pub mod compare;
pub mod derive;
pub mod differences;
pub mod grammar_file;
pub mod mutate;
pub mod ours;
pub mod statements;

pub use grammar::{Grammar, Refusal, Verdict};
