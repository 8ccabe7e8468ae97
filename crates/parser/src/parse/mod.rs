//! The parser: recursive descent, one file for each part of the grammar.
//!
//! Expressions keep what is open (parentheses, calls, CASE, operators) on a stack of their own ([`frames`]), so that
//! the thread's stack does not grow with them. What recurses for real (a query in an expression, joins in
//! parentheses, the functions with a syntax of their own) is counted by [`Parser::enter`]; the tree's depth is counted
//! as its nodes are made. Neither count depends on the machine or on how this was compiled.
//!
//! Invariant: an error is told of the first token that no statement could have there, as PostgreSQL does; in queries,
//! expressions and statements that change rows nothing is tried and taken back (utility commands do go back). Where a choice needs the token behind the next, [`Parser::peek`] looks at it.

mod call;
mod constant;
mod cte;
mod dml;
mod expr;
mod frames;
mod from;
mod grouping;
mod index;
mod insert;
mod merge;
mod names;
mod operand;
mod operator;
pub(crate) mod power;
mod query;
mod resume;
mod script;
mod select;
mod special;
mod state;
mod statement;
mod types;
mod window;
mod xml;

pub(crate) use power::Power;
pub use script::{
    FirstStatement, Options, ParsedStatement, Room, Statements, parse_expression, parse_first, parse_statement,
    parse_statement_in, parse_statements, parse_type_name,
};
pub(crate) use state::Parser;
