//! `cairn-bench`: CairnDB beside the embedded databases that people would pick instead, in one run on their machine.
//!
//! ```text
//! args --> setup (engines, media) --> workload::<name> --> report --> table, JSON lines, page
//!                                       rounds: engine, engine, ..., floor; engine, engine, ..., floor; ...
//! ```
//!
//! What must hold:
//! - Every engine of a comparison acknowledges with the same durability, and its setting is printed.
//! - Engines take turns round by round, so that a machine whose speed drifts treats all alike; ratios are taken within
//!   a round, and the medians of rounds are reported with their spread.
//! - The medium's floor is measured in the same rounds.
//! - CairnDB is used through its public SQL API, as any program would.
//! - All that was measured goes into the `report`; whatever shows it (table, JSON lines, page) only reads it, so that a
//!   report that was written can be shown again without measuring again.

mod args;
mod check;
mod child;
mod compare;
mod count;
mod documents;
mod engine;
mod error;
mod flamegraph;
mod floor;
mod keys;
mod latency;
mod machine;
mod page;
mod program;
mod report;
mod rows;
mod schedule;
mod setup;
mod statistics;
mod sync;
mod table;
mod terminal;
mod versions;
mod workload;

pub use program::main;

pub(crate) use error::{Error, Result};
