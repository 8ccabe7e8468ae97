//! Where an expression stands: which names it sees and what it may contain.

use std::cell::RefCell;

use cairn_parser::Span;

use super::expressions::equal::same_call;
use super::queries::windows::Windows;
use super::relations::scope::Env;
use crate::plan::{AggregateCall, Expr, Field, StandIn};
use crate::types::{CompositeType, DataType};
use crate::{Error, Result, SqlState};

/// The clause that an expression stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clause {
    Select,
    Where,
    Join,
    GroupBy,
    Having,
    OrderBy,
    Values,
    /// The only row of an INSERT's VALUES, which is a SELECT's list.
    OnlyRow,
    Limit,
    Offset,
    Update,
    Returning,
    Check,
    IndexKey,
    IndexPredicate,
    Default,
    Generated,
    Transform,
    TriggerWhen,
    From,
    Filter,
    Execute,
    Call,
    MergeWhen,
    WindowPartition,
    WindowOrder,
    WindowRange,
    WindowRows,
    WindowGroups,
}

impl Clause {
    /// As messages name the one expression that stands there: "cannot use subquery in ...".
    pub(super) fn place(self) -> &'static str {
        match self {
            Clause::Check => "check constraint",
            Clause::IndexKey => "index expression",
            Clause::IndexPredicate => "index predicate",
            Clause::Default => "DEFAULT expression",
            Clause::Generated => "column generation expression",
            Clause::Transform => "transform expression",
            Clause::TriggerWhen => "trigger WHEN condition",
            Clause::Execute => "EXECUTE parameter",
            Clause::Call => "CALL argument",
            other => other.name(),
        }
    }

    /// Whether a row, or the lack of one, is all that there is to an expression.
    pub(super) fn refuses_subqueries(self) -> bool {
        matches!(
            self,
            Clause::Check
                | Clause::IndexKey
                | Clause::IndexPredicate
                | Clause::Default
                | Clause::Generated
                | Clause::Transform
                | Clause::TriggerWhen
                | Clause::Execute
                | Clause::Call
        )
    }

    /// As messages name it: "aggregate functions are not allowed in ...".
    pub(super) fn name(self) -> &'static str {
        match self {
            Clause::Select => "SELECT",
            Clause::Where => "WHERE",
            Clause::Join => "JOIN conditions",
            Clause::GroupBy => "GROUP BY",
            Clause::Having => "HAVING",
            Clause::OrderBy => "ORDER BY",
            Clause::Values | Clause::OnlyRow => "VALUES",
            Clause::Limit => "LIMIT",
            Clause::Offset => "OFFSET",
            Clause::Update => "UPDATE",
            Clause::Returning => "RETURNING",
            Clause::Check => "check constraints",
            Clause::IndexKey => "index expressions",
            Clause::IndexPredicate => "index predicates",
            Clause::Default => "DEFAULT expressions",
            Clause::Generated => "column generation expressions",
            Clause::Transform => "transform expressions",
            Clause::TriggerWhen => "trigger WHEN conditions",
            Clause::Execute => "EXECUTE parameters",
            Clause::Call => "CALL arguments",
            Clause::MergeWhen => "MERGE WHEN conditions",
            Clause::From => "functions in FROM",
            Clause::Filter => "FILTER",
            Clause::WindowPartition => "window PARTITION BY",
            Clause::WindowOrder => "window ORDER BY",
            Clause::WindowRange => "window RANGE",
            Clause::WindowRows => "window ROWS",
            Clause::WindowGroups => "window GROUPS",
        }
    }
}

/// A function that returns rows: its call over the query's row, and its columns.
#[derive(Clone)]
pub(super) struct SetCall {
    pub(super) call: Expr,
    pub(super) fields: Vec<Field>,
    /// The type of the row that the columns are; `None`: there is one column, and no row around it.
    pub(super) row: Option<CompositeType>,
}

impl SetCall {
    /// The type of its value.
    pub(super) fn data_type(&self) -> DataType {
        let only = || self.fields.first().map_or(DataType::Unknown, |field| field.data_type);
        self.row.map_or_else(only, DataType::Composite)
    }
}

/// The context of an expression.
pub(super) struct Context<'e> {
    pub(super) env: Option<&'e Env<'e>>,
    pub(super) clause: Clause,
    /// The aggregates met so far, where the clause may have them. (Subqueries add those that belong here.)
    pub(super) aggregates: Option<RefCell<Vec<AggregateCall>>>,
    /// Inside an aggregate's arguments.
    pub(super) in_aggregate: bool,
    /// The windows and the calls over them met so far, where the clause may have them.
    pub(super) windows: Option<Windows>,
    /// Inside a window function's arguments.
    pub(super) in_window: bool,
    /// The arguments of the GROUPING calls met so far, and where they stand.
    pub(super) groupings: RefCell<Vec<Vec<(Expr, Span)>>>,
    /// The set-returning functions of the select list met so far.
    pub(super) series: Vec<SetCall>,
    /// The form that the expression stands in, where that may not have such a function.
    pub(super) conditional: Option<&'static str>,
    /// Columns of the row and where they were used outside aggregates, in this order.
    pub(super) mentions: Vec<(usize, Span)>,
}

impl<'e> Context<'e> {
    /// A place without aggregates.
    pub(super) fn new(env: Option<&'e Env<'e>>, clause: Clause) -> Context<'e> {
        Context {
            env,
            clause,
            aggregates: None,
            in_aggregate: false,
            windows: None,
            in_window: false,
            groupings: RefCell::default(),
            series: vec![],
            conditional: None,
            mentions: vec![],
        }
    }

    /// A place that may have aggregates.
    pub(super) fn with_aggregates(env: &'e Env<'e>, clause: Clause) -> Context<'e> {
        Context { aggregates: Some(RefCell::default()), ..Context::new(Some(env), clause) }
    }

    /// Adds an aggregate, unless there is the same already: the number of its column. An error where it may not stand.
    pub(super) fn add_aggregate(&self, call: AggregateCall) -> Result<usize> {
        let message = match (&self.aggregates, self.in_aggregate) {
            _ if self.clause == Clause::Filter => "aggregate functions are not allowed in FILTER".to_owned(),
            (_, true) => "aggregate function calls cannot be nested".to_owned(),
            (None, _) => format!("aggregate functions are not allowed in {}", self.clause.name()),
            (Some(_), false) if self.env.is_some_and(|env| env.scope.reads_itself()) => {
                let message = "aggregate functions are not allowed in a recursive query's recursive term";
                return Err(Error::new(SqlState::INVALID_RECURSION, message));
            }
            (Some(calls), false) => {
                let mut calls = calls.borrow_mut();
                let known = calls.iter().position(|other| same_call(other, &call));
                let position = known.unwrap_or_else(|| {
                    calls.push(call);
                    calls.len() - 1
                });
                return Ok(StandIn::Aggregate(position).column());
            }
        };
        Err(Error::new(SqlState::GROUPING_ERROR, message))
    }

    /// The error for a window function that may not stand here, if it may not.
    pub(super) fn refuse_window(&self) -> Option<Error> {
        use Clause::{OrderBy, Select, WindowGroups, WindowOrder, WindowPartition, WindowRange, WindowRows};
        let message = match self.clause {
            WindowPartition | WindowOrder | WindowRange | WindowRows | WindowGroups => {
                "window functions are not allowed in window definitions".to_owned()
            }
            Select | OrderBy if self.in_aggregate => {
                let message = "aggregate function calls cannot contain window function calls";
                return Some(Error::new(SqlState::GROUPING_ERROR, message));
            }
            Select | OrderBy if self.in_window => "window function calls cannot be nested".to_owned(),
            Select | OrderBy if self.windows.is_some() => return None,
            clause => format!("window functions are not allowed in {}", clause.name()),
        };
        Some(Error::new(SqlState::WINDOWING_ERROR, message))
    }

    /// Notes where a column of the row is named.
    pub(super) fn mention(&mut self, expr: &Expr, span: Span) {
        if let Expr::Column { index, .. } = expr {
            self.mentions.push((*index, span));
        }
    }

    /// Adds a GROUPING: the number of its column. An error where it may not stand.
    pub(super) fn add_grouping(&self, args: Vec<(Expr, Span)>) -> Result<usize> {
        let message = match (&self.aggregates, self.in_aggregate) {
            (_, true) => "aggregate function calls cannot contain grouping operations".to_owned(),
            (None, _) => format!("grouping operations are not allowed in {}", self.clause.name()),
            (Some(_), false) => {
                let mut groupings = self.groupings.borrow_mut();
                groupings.push(args);
                return Ok(StandIn::Grouping(groupings.len() - 1).column());
            }
        };
        Err(Error::new(SqlState::GROUPING_ERROR, message))
    }
}
