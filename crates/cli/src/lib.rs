//! `cairn`: CairnDB's shell and tools. The program is `main.rs`; this library is there to be tried by tests.

// These panic where nobody reads the output any more: `report::say` and `report::warn` do not.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod args;
mod bench;
mod command;
mod console;
mod copy;
mod demo;
mod described;
mod documents;
mod dump;
mod import;
mod maintenance;
mod output;
mod place;
mod progress;
mod report;
mod serve;
mod shell;
mod signals;
mod system;
mod token;
mod watch;
mod words;

pub use command::run;
pub use copy::{copy_from, copy_to};
pub use report::Failure;
