//! A statement with what runs it: its plan, its fast form, or what EXPLAIN tells of it.

mod explain;
mod sized;
mod statement;

pub(crate) use explain::{ExplainedRun, columns as explanation_columns, explanation, explanation_named, report};
pub(crate) use statement::{Access, Body, Prepared};
