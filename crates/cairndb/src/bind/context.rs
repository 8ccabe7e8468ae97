//! Where an expression stands: which names it sees and what it may contain.

use cairn_parser::Span;

use super::scope::Env;
use crate::plan::{AggregateCall, Expr};
use crate::types::DataType;
use crate::{Error, SqlState};

/// Until a query's grouping is known, its aggregates are columns numbered from here.
pub(super) const AGGREGATE_BASE: usize = usize::MAX / 2;

/// And its GROUPING calls from here.
pub(super) const GROUPING_BASE: usize = AGGREGATE_BASE + usize::MAX / 4;

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
    Limit,
    Offset,
    Update,
    Returning,
    Check,
    IndexKey,
    IndexPredicate,
    Default,
    From,
}

impl Clause {
    /// As messages name it: "aggregate functions are not allowed in ...".
    pub(super) fn name(self) -> &'static str {
        match self {
            Clause::Select => "SELECT",
            Clause::Where => "WHERE",
            Clause::Join => "JOIN conditions",
            Clause::GroupBy => "GROUP BY",
            Clause::Having => "HAVING",
            Clause::OrderBy => "ORDER BY",
            Clause::Values => "VALUES",
            Clause::Limit => "LIMIT",
            Clause::Offset => "OFFSET",
            Clause::Update => "UPDATE",
            Clause::Returning => "RETURNING",
            Clause::Check => "check constraints",
            Clause::IndexKey => "index expressions",
            Clause::IndexPredicate => "index predicates",
            Clause::Default => "DEFAULT expressions",
            Clause::From => "functions in FROM",
        }
    }
}

/// A function that returns rows: its arguments over the FROM row, and its column's type.
pub(super) struct SetCall {
    pub(super) name: String,
    pub(super) args: Vec<Expr>,
    pub(super) data_type: DataType,
}

/// The context of an expression.
pub(super) struct Context<'e> {
    pub(super) env: Option<&'e Env<'e>>,
    pub(super) clause: Clause,
    /// The aggregates met so far, where the clause may have them.
    pub(super) aggregates: Option<Vec<AggregateCall>>,
    /// Inside an aggregate's arguments.
    pub(super) in_aggregate: bool,
    /// The arguments of the GROUPING calls met so far, and where they stand.
    pub(super) groupings: Vec<Vec<(Expr, Span)>>,
    /// The set-returning function of the select list.
    pub(super) series: Option<SetCall>,
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
            groupings: vec![],
            series: None,
            mentions: vec![],
        }
    }

    /// A place that may have aggregates.
    pub(super) fn with_aggregates(env: &'e Env<'e>, clause: Clause) -> Context<'e> {
        Context { aggregates: Some(vec![]), ..Context::new(Some(env), clause) }
    }

    /// The error for an aggregate that may not stand here, if it may not.
    pub(super) fn refuse_aggregate(&self) -> Option<Error> {
        let message = match (&self.aggregates, self.in_aggregate) {
            (_, true) => "aggregate function calls cannot be nested".to_owned(),
            (None, _) => format!("aggregate functions are not allowed in {}", self.clause.name()),
            (Some(_), false) => return None,
        };
        Some(Error::new(SqlState::GROUPING_ERROR, message))
    }

    /// The error for a GROUPING that may not stand here, if it may not.
    pub(super) fn refuse_grouping(&self) -> Option<Error> {
        let message = match (&self.aggregates, self.in_aggregate) {
            (_, true) => "aggregate function calls cannot contain grouping operations".to_owned(),
            (None, _) => format!("grouping operations are not allowed in {}", self.clause.name()),
            (Some(_), false) => return None,
        };
        Some(Error::new(SqlState::GROUPING_ERROR, message))
    }
}
