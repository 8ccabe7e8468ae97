//! Bound scalar expressions: every name resolved, every type known, every coercion explicit.

use std::sync::Arc;

use super::LogicalPlan;
use crate::functions::{Aggregate, Function};
use crate::types::{DataType, Value};

#[derive(Clone, Debug)]
pub enum Expr {
    Literal {
        value: Value,
        data_type: DataType,
    },
    /// A column of the input row.
    Column {
        index: usize,
        data_type: DataType,
    },
    /// A column of an enclosing query's row: `level` 1 is the query directly around this one.
    Outer {
        level: usize,
        index: usize,
        data_type: DataType,
    },
    /// `$1` is index 0.
    Parameter {
        index: usize,
        data_type: DataType,
    },
    Call {
        function: &'static Function,
        args: Vec<Expr>,
    },
    /// Explicit or implied conversion.
    Cast {
        input: Box<Expr>,
        to: DataType,
    },
    /// Flattened, three-valued; evaluation may stop early.
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Not(Box<Expr>),
    IsNull(Box<Expr>),
    /// `IS [NOT] DISTINCT FROM` is `IsNotDistinct`, negated by `Not`.
    IsNotDistinct(Box<Expr>, Box<Expr>),
    /// `CASE`; a simple case is bound to `=` comparisons.
    Case {
        branches: Vec<(Expr, Expr)>,
        otherwise: Option<Box<Expr>>,
        data_type: DataType,
    },
    Coalesce {
        args: Vec<Expr>,
        data_type: DataType,
    },
    /// `input IN (list)`: `equal` compares input with each element.
    InList {
        input: Box<Expr>,
        list: Vec<Expr>,
        equal: &'static Function,
    },
    Subquery(Box<Subquery>),
    /// What the optimizer leaves of a `Subquery` that it could not turn into a join: physical plans only.
    Subplan(Box<super::Subplan>),
    /// `nextval('name')` and friends: not functions of their arguments alone.
    Sequence {
        op: SequenceOp,
        name: Box<Expr>,
        value: Option<Box<Expr>>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SequenceOp {
    NextVal,
    CurrVal,
    SetVal,
}

/// A query inside an expression. Its own `Outer { level: 1 }` refers to the row this expression is evaluated on.
#[derive(Clone, Debug)]
pub struct Subquery {
    pub kind: SubqueryKind,
    pub plan: Arc<LogicalPlan>,
}

#[derive(Clone, Debug)]
pub enum SubqueryKind {
    /// One column, at most one row (SQLSTATE 21000 otherwise); NULL for none.
    Scalar {
        data_type: DataType,
    },
    Exists,
    /// `left op ANY (query)` or `ALL`; `IN` is `= ANY`. Row forms have several columns, all compared by `=`.
    Quantified {
        left: Vec<Expr>,
        ops: Vec<&'static Function>,
        quantifier: QuantifiedOp,
    },
}

impl SubqueryKind {
    /// The type of the expression.
    pub fn data_type(&self) -> DataType {
        match self {
            SubqueryKind::Scalar { data_type } => *data_type,
            SubqueryKind::Exists | SubqueryKind::Quantified { .. } => DataType::Boolean,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuantifiedOp {
    Any,
    All,
}

#[derive(Clone, Debug)]
pub struct AggregateCall {
    pub aggregate: &'static Aggregate,
    /// Empty for `count(*)`.
    pub args: Vec<Expr>,
    pub distinct: bool,
    pub filter: Option<Expr>,
    /// `string_agg(x, ',' ORDER BY y)`.
    pub order_by: Vec<super::SortKey>,
}

impl Expr {
    pub fn data_type(&self) -> DataType {
        match self {
            Expr::Literal { data_type, .. }
            | Expr::Column { data_type, .. }
            | Expr::Outer { data_type, .. }
            | Expr::Parameter { data_type, .. }
            | Expr::Case { data_type, .. }
            | Expr::Coalesce { data_type, .. } => *data_type,
            Expr::Call { function, .. } => function.returns,
            Expr::Cast { to, .. } => *to,
            Expr::And(_) | Expr::Or(_) | Expr::Not(_) | Expr::IsNull(_) | Expr::IsNotDistinct(..) => DataType::Boolean,
            Expr::InList { .. } => DataType::Boolean,
            Expr::Subquery(subquery) => subquery.kind.data_type(),
            Expr::Subplan(subplan) => subplan.kind.data_type(),
            Expr::Sequence { .. } => DataType::BigInt,
        }
    }
}
