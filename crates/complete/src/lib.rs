//! What an editor of SQL offers at its cursor: the shell's, and the console's.

mod candidates;
mod cursor;
mod words;

pub use candidates::Completer;
pub use words::{KEYWORDS, first_words};
