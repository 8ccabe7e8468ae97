//! Bound statements: what is planned.

use std::sync::Arc;

use crate::catalog::Table;
use crate::command::ExplainRequest;
use crate::plan::{ConstantRows, Field, LogicalPlan, MergeStep, OnConflict, Returning, ViewCheck};

/// A statement, understood.
#[derive(Clone, Debug)]
pub enum BoundStatement {
    /// SELECT, VALUES, TABLE.
    Query(LogicalPlan),
    /// INSERT.
    Insert(Box<BoundInsert>),
    /// UPDATE.
    Update(Box<BoundUpdate>),
    /// DELETE.
    Delete(Box<BoundDelete>),
    /// MERGE.
    Merge(Box<BoundMerge>),
    /// EXPLAIN.
    Explain(Box<BoundExplain>),
    /// DDL, transaction control, settings: executed as what `crate::command` makes of them.
    Utility,
}

impl BoundStatement {
    /// Gives it a plan with all that it does, whose nodes can be told of.
    pub(crate) fn be_explained(&mut self) {
        if let BoundStatement::Insert(insert) = self {
            insert.source.as_plan();
        }
    }

    /// The columns of a projection's result, or of RETURNING's, which it loses.
    pub(crate) fn take_fields(&mut self) -> Vec<Field> {
        let returning = match self {
            BoundStatement::Query(LogicalPlan::Project { fields, .. }) => return std::mem::take(fields),
            BoundStatement::Update(update) => &mut update.returning,
            BoundStatement::Delete(delete) => &mut delete.returning,
            _ => return vec![],
        };
        returning.as_mut().map_or(vec![], |returning| std::mem::take(&mut returning.fields))
    }
}

/// INSERT. Rows are complete: defaults, identity values (as `Expr::Sequence`) and casts are part of `source`.
#[derive(Clone, Debug)]
pub struct BoundInsert {
    /// Where to.
    pub table: Arc<Table>,
    /// One row per new row: every column of the table, in the table's order, of the column's type. Lengths of
    /// `varchar(n)` and `char(n)`, NOT NULL and CHECK are for the executor of the statement to enforce.
    pub source: InsertSource,
    /// ON CONFLICT.
    pub on_conflict: Option<OnConflict>,
    /// RETURNING, over the new (or updated) row.
    pub returning: Option<Returning>,
    /// What views that it goes through ask of the row.
    pub view_checks: Vec<ViewCheck>,
}

/// Where the rows of an INSERT come from.
#[derive(Clone, Debug)]
pub enum InsertSource {
    /// They have yet to be computed.
    Plan(LogicalPlan),
    /// They are all there.
    Constants(ConstantRows),
}

impl InsertSource {
    /// The plan, made now where there was nothing to compute.
    pub(crate) fn as_plan(&mut self) -> &mut LogicalPlan {
        if let InsertSource::Constants(rows) = self {
            *self = InsertSource::Plan(rows.plan());
        }
        match self {
            InsertSource::Plan(plan) => plan,
            InsertSource::Constants(_) => unreachable!("made a plan above"),
        }
    }
}

/// UPDATE. A row of `source` is:
/// the table's columns as they are (in the table's order); where the table has no primary key, its hidden row number;
/// the new values, one per `assigned`; then columns (of FROM tables) that only RETURNING reads.
/// A target row may appear more than once (UPDATE ... FROM): the first wins, the others are ignored.
#[derive(Clone, Debug)]
pub struct BoundUpdate {
    /// What to update.
    pub table: Arc<Table>,
    /// See above.
    pub source: LogicalPlan,
    /// The columns to set, in the order of their new values.
    pub assigned: Vec<usize>,
    /// RETURNING, over the updated row's columns, then those others.
    pub returning: Option<Returning>,
    /// There are FROM tables: only then a target row may appear more than once.
    pub is_joined: bool,
    /// What views that it goes through ask of the row.
    pub view_checks: Vec<ViewCheck>,
}

/// DELETE. A row of `source` is: the table's columns; where the table has no primary key, its hidden row number; then
/// columns of USING tables. A target row may appear more than once.
#[derive(Clone, Debug)]
pub struct BoundDelete {
    /// What to delete from.
    pub table: Arc<Table>,
    /// See above.
    pub source: LogicalPlan,
    /// RETURNING, over the deleted row's columns, then those others.
    pub returning: Option<Returning>,
}

/// MERGE. A row of `source` is: the table's columns, NULL where the row has no part in the table; where the table has no primary
/// key, its hidden row number; the number of the step that is for the row, or NULL; the values of the steps; and the columns of
/// the data source, where RETURNING sees them. A target row may not be changed twice.
#[derive(Clone, Debug)]
pub struct BoundMerge {
    /// Where to.
    pub table: Arc<Table>,
    /// See above.
    pub source: LogicalPlan,
    /// The position of the step's number.
    pub action_at: usize,
    /// By number.
    pub steps: Vec<MergeStep>,
    /// The positions of the data source's columns.
    pub extra: std::ops::Range<usize>,
    /// RETURNING, over the columns of the row as it is now (or was, where it is deleted), those of the data source, and what
    /// was done.
    pub returning: Option<Returning>,
}

/// EXPLAIN.
#[derive(Clone, Debug)]
pub struct BoundExplain {
    /// What is told of it.
    pub told: ExplainRequest,
    /// The explained statement.
    pub statement: BoundStatement,
}
