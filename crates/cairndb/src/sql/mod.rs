//! From text to syntax: `cairn_parser` behind caps on nesting and length.
//!
//! A script is read statement by statement, so that a syntax error in the seventh does not keep the first six from
//! running: `Script::next_parsed` parses each as it finds it, [`split_script`] only cuts. [`SourceStatement::parse`],
//! [`parse_one`] parses. Positions in errors are 1-based characters of the whole text that was handed
//! in.

mod limits;
mod names;
mod parse;
mod script;
mod types;

pub use limits::{MAX_DEPTH, MAX_TEXT_BYTES};
pub use parse::{ParsedExpression, ParsedStatement, parse_expression, parse_one, parse_query};
pub use script::{Script, SourceStatement, split_script};

pub(crate) use limits::{try_with_deep_stack, with_deep_stack, with_room};
pub(crate) use names::{dotted, list_span, name_text, object_name, plain_name, relation_name};
pub(crate) use parse::parse_one_in;
pub(crate) use types::{UsersTypes, element_or_array, type_of_syntax};
