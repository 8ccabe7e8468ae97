//! The shell: statements and backslash commands, typed, scripted or given as arguments.

mod catalog;
mod colours;
mod complete;
mod condition;
mod connect;
mod describe;
mod dot;
mod foreign;
mod help;
mod history;
mod looks;
mod meta;
mod open;
mod pager;
mod pattern;
mod prompt;
mod run;
mod script;
mod session;
mod splitter;
mod statement;
mod variables;

pub use open::{answer_backups, open_file};
pub use run::run;
pub use script::line_of;
pub use splitter::{Piece, Splitter};
