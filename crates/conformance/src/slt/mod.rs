//! Logic tests: scripts of statements and expected results.
//!
//! Two dialects of one format. *Classic* is SQLite's (`.test`): expected values one to a line, long results as a hash.
//! *Scenario* is ours (`.slt`): expected rows one to a line, values joined by `|`, errors with their SQLSTATE, several
//! connections. The crate `sqllogictest` does not fit: its engines render values without being told the record's
//! column letters, on which SQLite's format depends (`I` shows a boolean as 1, `R` three decimals).

mod archive;
mod parse;
mod record;
mod render;
mod run;
mod summary;

pub use archive::{Sample, SampleFile};
pub use parse::{Dialect, Expected, ParseError, Record, RecordKind, Sort, parse};
pub use record::record;
pub use run::{FileReport, Mismatch, Selection, run_script};
pub use summary::Summary;
