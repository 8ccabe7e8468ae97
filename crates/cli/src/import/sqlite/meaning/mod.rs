//! What an expression or a query of SQLite's means, said in PostgreSQL's SQL; or why it can not be said.
//!
//! What must hold: what comes out gives the values that SQLite gives, for every row that may come, or what differs is among
//! the changes that are told, or it fails loudly when it runs (a number that overflows). So nothing passes because both
//! languages have a word for it: operators and functions are those of a list, each for the kinds of values for which it was
//! looked up. SQLite's 0 and 1 as the outcome of a condition are false and true here.

mod expression;
mod functions;
mod moments;
mod operators;
mod query;
mod scope;
mod value;

pub use expression::Translator;
pub use scope::{Column, Relation};
pub use value::{Kind, Value};
