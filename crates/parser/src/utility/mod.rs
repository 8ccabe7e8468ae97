//! Utility commands: what neither queries nor changes rows of its own, from BEGIN to CREATE TABLE.
//!
//! There are some 150 of them, most of them words in an order. So their grammar is a text, `commands.grammar` (and
//! `own.grammar` for those that PostgreSQL does not have), that
//! [`grammar`] compiles and [`read`] reads by; expressions, names, types and queries in it are the parser's ([`leaf`]),
//! and what words in order may still have wrong is in [`check`]. A command's tree is its rules and words in the order
//! they stand, looked at by [`Parts`].

mod check;
mod examples;
mod grammar;
mod leaf;
mod read;
mod view;

pub use examples::command_examples;
pub use view::Parts;
pub(crate) use view::keyword_text;
