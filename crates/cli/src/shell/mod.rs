//! The shell: statements and backslash commands, typed, scripted or given as arguments.

mod colours;
mod complete;
mod cursor;
mod describe;
mod help;
mod history;
mod meta;
mod prompt;
mod run;
mod script;
mod session;
mod splitter;

pub use run::run;
pub use session::open_file;
