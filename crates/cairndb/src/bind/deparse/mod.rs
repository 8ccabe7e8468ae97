//! Definitions as PostgreSQL writes them: `pg_get_viewdef` and its kin, whose texts tools compare.
//!
//! A stored text is bound once more, and what binding finds out is noted by the place in its tree (`facts`): the type of each
//! expression, whose column a name is, which columns an item of FROM has. From the tree and these facts nodes are made (`build`,
//! `calls`) that say what PostgreSQL's own trees say: each operator with its operands as the types that it was found for
//! (`resolution`), each literal of a type. These are written (`node`) with all parentheses or with those that are needed, and
//! queries around them clause by clause with PostgreSQL's indentation (`query`, `from`).
//!
//! What is met that is not known here gives no text: whoever asks then tells the stored one.

mod build;
mod calls;
mod constants;
mod facts;
mod forms;
mod from;
mod node;
mod query;
mod resolution;
mod sets;
mod text;
mod ways_in;

pub(in crate::bind) use facts::Facts;
pub(in crate::bind) use ways_in::{expression_text, query_text};
