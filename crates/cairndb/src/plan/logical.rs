//! The logical plan: what to compute, as the binder understood it; the optimizer rewrites it and chooses how.

use std::sync::Arc;

use super::expr::{AggregateCall, Expr};
use crate::catalog::Table;
use crate::types::DataType;

/// An output column.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    pub name: String,
    pub data_type: DataType,
}

#[derive(Clone, Debug)]
pub enum LogicalPlan {
    /// Literal rows; one row of no columns is the input of a SELECT without FROM.
    Values {
        rows: Vec<Vec<Expr>>,
        fields: Vec<Field>,
    },
    /// Chosen columns of a table (positions in `table.columns`), in that order. `usize::MAX` is the hidden row number
    /// of a table without primary key, a BIGINT.
    Scan {
        table: Arc<Table>,
        columns: Vec<usize>,
    },
    Filter {
        input: Box<LogicalPlan>,
        predicate: Expr,
    },
    Project {
        input: Box<LogicalPlan>,
        exprs: Vec<Expr>,
        fields: Vec<Field>,
    },
    /// Output: the left row's columns, then the right's (`Semi` and `Anti`, made by the optimizer: the left's only).
    /// `on` sees both. `lateral`: the right side's `Outer { level: 1 }` is the left row.
    Join {
        kind: JoinKind,
        left: Box<LogicalPlan>,
        right: Box<LogicalPlan>,
        on: Option<Expr>,
        lateral: bool,
    },
    /// Output: the group expressions, then the aggregates. No group expressions: one row always.
    Aggregate {
        input: Box<LogicalPlan>,
        group_by: Vec<Expr>,
        aggregates: Vec<AggregateCall>,
        fields: Vec<Field>,
    },
    Sort {
        input: Box<LogicalPlan>,
        keys: Vec<SortKey>,
    },
    /// Expressions without columns; NULL means no limit.
    Limit {
        input: Box<LogicalPlan>,
        limit: Option<Expr>,
        offset: Option<Expr>,
    },
    /// `on`: DISTINCT ON expressions (first row of each, in input order); empty: whole rows.
    Distinct {
        input: Box<LogicalPlan>,
        on: Vec<Expr>,
    },
    SetOperation {
        op: SetOperator,
        all: bool,
        left: Box<LogicalPlan>,
        right: Box<LogicalPlan>,
    },
    /// WITH: `id` names the shared result inside `body`.
    With {
        id: usize,
        name: String,
        definition: Box<LogicalPlan>,
        body: Box<LogicalPlan>,
    },
    /// WITH RECURSIVE: `step` reads the rows of the last round through `CteScan { id }`.
    RecursiveWith {
        id: usize,
        name: String,
        base: Box<LogicalPlan>,
        step: Box<LogicalPlan>,
        all: bool,
        body: Box<LogicalPlan>,
    },
    CteScan {
        id: usize,
        fields: Vec<Field>,
    },
    /// A set-returning function in FROM (`generate_series`).
    TableFunction {
        name: String,
        args: Vec<Expr>,
        fields: Vec<Field>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    Inner,
    Left,
    Right,
    Full,
    Semi,
    Anti,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOperator {
    Union,
    Intersect,
    Except,
}

#[derive(Clone, Debug)]
pub struct SortKey {
    pub expr: Expr,
    pub descending: bool,
    pub nulls_first: bool,
}

impl LogicalPlan {
    /// The output columns.
    pub fn fields(&self) -> Vec<Field> {
        match self {
            LogicalPlan::Values { fields, .. }
            | LogicalPlan::Project { fields, .. }
            | LogicalPlan::Aggregate { fields, .. }
            | LogicalPlan::CteScan { fields, .. }
            | LogicalPlan::TableFunction { fields, .. } => fields.clone(),
            LogicalPlan::Scan { table, columns } => columns
                .iter()
                .map(|&c| match table.columns.get(c) {
                    Some(column) => Field { name: column.name.clone(), data_type: column.data_type },
                    // The hidden row number of a table without primary key.
                    None => Field { name: String::new(), data_type: DataType::BigInt },
                })
                .collect(),
            LogicalPlan::Filter { input, .. }
            | LogicalPlan::Sort { input, .. }
            | LogicalPlan::Limit { input, .. }
            | LogicalPlan::Distinct { input, .. } => input.fields(),
            LogicalPlan::Join { kind: JoinKind::Semi | JoinKind::Anti, left, .. } => left.fields(),
            LogicalPlan::Join { left, right, .. } => [left.fields(), right.fields()].concat(),
            LogicalPlan::SetOperation { left, .. } => left.fields(),
            LogicalPlan::With { body, .. } | LogicalPlan::RecursiveWith { body, .. } => body.fields(),
        }
    }
}
