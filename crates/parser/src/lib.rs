//! PostgreSQL's SQL: from text to a compact tree, and back.
//!
//! PostgreSQL 15's grammar is the specification, with what later versions added where it is plain. What it takes is
//! parsed, whether or not an engine can do it; what it refuses is refused with its SQLSTATE, message and place.
//!
//! ```
//! use cairn_parser::{Expr, Options, QueryBody, Statement, parse_statement};
//!
//! let parsed = parse_statement("SELECT a + 1 FROM t", Options::default())?.expect("a statement");
//! let tree = &parsed.tree;
//! let Statement::Query { query } = tree.get(parsed.statement) else { panic!("a query") };
//! let QueryBody::Select { targets, .. } = tree.get(tree.get(query).body) else { panic!("a SELECT") };
//! let target = tree.get(tree.nth(targets, 0).expect("a target"));
//! let Expr::Binary { left, .. } = tree.get(target.expr) else { panic!("a sum") };
//! assert_eq!(tree.written(left), "a");
//! # Ok::<(), Box<cairn_parser::ParseError>>(())
//! ```
//!
//! # How it is laid out
//!
//! - [`token`]: the lexer, keywords, what constants and names say, and what shells need.
//! - `tree`: how nodes are stored. A [`Tree`] is a few vectors; an [`Id`] is a node's number with its type;
//!   [`Tree::get`] gives a node's view by value, an `enum` or a `struct` to match on.
//! - `syntax`: what nodes there are, one `syntax!` for each family of kinds.
//! - `parse`: the parser, a file for each part of the grammar.
//! - `utility`: every command that is neither a query nor a change of rows, by a grammar that is a text; [`Parts`] looks
//!   at their trees.
//! - `print`: the way back, [`Tree::print`].
//! - `fingerprint`: what statements have in common that differ in constants, [`Tree::fingerprint`].
//!
//! # Adding a kind of statement
//!
//! 1. In a file of its own below `syntax/`, say what the statement consists of with `syntax! { family N; ... }`, N being
//!    the next free number; add its `KINDS` at the end of `FAMILIES` in `syntax/mod.rs`, and a variant to `Statement`.
//! 2. In a file of its own below `parse/`, write `impl Parser<'_>`: take tokens with `eat`, `expect`, `at` and `peek`;
//!    names with `name` (`ColId`), `label` (`ColLabel`), `qualified_name`, `dotted_name` (`any_name`); the rest with
//!    `expr`, `restricted_expr` (`b_expr`), `type_name`, `function_type`, `query`, `index_element`, `option_value`, ...;
//!    lists with `comma_list` and `parenthesized`; nodes with `node(start, ...)`. Anything else is
//!    `Err(self.unexpected())`, at the first token that no statement could have there.
//! 3. In `parse/statement.rs`, dispatch to it by the statement's first words.
//! 4. In a file of its own below `print/`, implement `Print` for its families: `say` words, then `node`, `list`,
//!    `optional`, `dotted`, ... in order; in `print/statement.rs`, print the variant's node.

mod error;
mod fingerprint;
mod hints;
mod parse;
mod print;
mod syntax;
pub mod token;
mod tree;
mod utility;

pub use error::*;
pub use hints::Hint;
pub use parse::{
    FirstStatement, Options, ParsedStatement, Room, Statements, parse_expression, parse_first, parse_statement,
    parse_statement_in, parse_statements, parse_type_name,
};
pub use syntax::*;
pub use token::{Placeholders, Token, TokenKind};
pub use tree::{FieldSort, Id, KindInfo, List, NodeRef, Span, Syntax, Text, Tree};
pub use utility::{Parts, command_examples};
