//! From text to syntax: `sqlparser` with PostgreSQL's dialect, behind caps on nesting and length.
//!
//! [`split_script`] cuts a script into statements without parsing them, so that a syntax error in the seventh does not
//! keep the first six from running; [`SourceStatement::parse`], [`parse_one`] and [`parse_script`] parse. Positions in
//! errors are 1-based characters of the whole text that was handed in.

mod lexer;
mod limits;
mod literal_rows;
mod opening;
mod parse;
mod position;
mod regroup;
mod script;
mod sequence_options;

pub use limits::{MAX_EXPRESSION_DEPTH, MAX_TEXT_BYTES};
pub use opening::Overriding;
pub use parse::{ParsedStatement, parse_expression, parse_one, parse_query, parse_script};
pub use position::TextPosition;
pub use script::{Script, SourceStatement, split_script};

pub(crate) use limits::with_deep_stack;
