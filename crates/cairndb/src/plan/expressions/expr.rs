//! Bound scalar expressions: every name resolved, every type known, every coercion explicit.

use std::sync::Arc;

use crate::functions::{Aggregate, Function};
use crate::plan::LogicalPlan;
use crate::types::{DataType, Value};

/// A scalar expression.
#[derive(Clone, Debug)]
pub enum Expr {
    /// A constant.
    Literal {
        /// The value.
        value: Value,
        /// The type.
        data_type: DataType,
    },
    /// A column of the input row.
    Column {
        /// Position, from 0.
        index: usize,
        /// The type.
        data_type: DataType,
    },
    /// A column of an enclosing query's row: `level` 1 is the query directly around this one.
    Outer {
        /// How many rows out, from 1.
        level: usize,
        /// Position, from 0.
        index: usize,
        /// The type.
        data_type: DataType,
    },
    /// `$1` is index 0.
    Parameter {
        /// Position, from 0.
        index: usize,
        /// The type.
        data_type: DataType,
        /// What estimates take it to be, where a plan is made for certain values; nothing else looks at it.
        assumed: Option<Arc<Value>>,
    },
    /// A function or operator.
    Call {
        /// Which, resolved.
        function: Arc<Function>,
        /// The arguments.
        args: Vec<Expr>,
    },
    /// Explicit or implied conversion.
    Cast {
        /// The input.
        input: Box<Expr>,
        /// The target type.
        to: DataType,
    },
    /// Flattened, three-valued; evaluation may stop early.
    And(Vec<Expr>),
    /// Flattened OR.
    Or(Vec<Expr>),
    /// NOT.
    Not(Box<Expr>),
    /// IS NULL.
    IsNull(Box<Expr>),
    /// `IS [NOT] DISTINCT FROM` is `IsNotDistinct`, negated by `Not`.
    IsNotDistinct(Box<Expr>, Box<Expr>),
    /// `CASE`; a simple case is bound to `=` comparisons.
    Case {
        /// WHEN and THEN, in order.
        branches: Vec<(Expr, Expr)>,
        /// ELSE; none: NULL.
        otherwise: Option<Box<Expr>>,
        /// The type.
        data_type: DataType,
    },
    /// COALESCE: evaluation stops at the first value.
    Coalesce {
        /// The arguments.
        args: Vec<Expr>,
        /// The type.
        data_type: DataType,
    },
    /// `input IN (list)`: `equal` compares input with each element.
    InList {
        /// The input.
        input: Box<Expr>,
        /// The elements.
        list: Vec<Expr>,
        /// Compares the input with an element.
        equal: Arc<Function>,
    },
    /// A value that is worked out once, and then referred to: what is volatile is never copied.
    Let {
        /// What `Shared` expressions of this number in the body stand for; those of a `Let` inside it hide them.
        id: usize,
        /// The value.
        value: Box<Expr>,
        /// What is made of it. (No query in it refers to it.)
        body: Box<Expr>,
    },
    /// The value of the `Let` around it that has this number.
    Shared {
        /// Its number.
        id: usize,
        /// The type.
        data_type: DataType,
    },
    /// A query in an expression.
    Subquery(Box<Subquery>),
    /// What the optimizer leaves of a `Subquery` that it could not turn into a join: physical plans only.
    Subplan(Box<crate::plan::Subplan>),
    /// `nextval('name')` and friends: not functions of their arguments alone.
    Sequence {
        /// Which operation.
        op: SequenceOp,
        /// Its name.
        name: Box<Expr>,
        /// The value.
        value: Option<Box<Expr>>,
    },
}

/// What is done with a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SequenceOp {
    /// nextval
    Next,
    /// currval
    Current,
    /// lastval, of whichever sequence it was.
    Last,
    /// setval
    Set,
    /// setval(.., false): the value is the next one.
    SetNext,
    /// The column `last_value` of the sequence.
    LastValue,
    /// Its column `log_cnt`.
    LogCount,
    /// Its column `is_called`.
    IsCalled,
}

impl SequenceOp {
    /// What it gives.
    pub fn data_type(self) -> DataType {
        if self == SequenceOp::IsCalled { DataType::Boolean } else { DataType::BigInt }
    }
}

/// A query inside an expression. Its own `Outer { level: 1 }` refers to the row this expression is evaluated on.
#[derive(Clone, Debug)]
pub struct Subquery {
    /// What kind.
    pub kind: SubqueryKind,
    /// The query.
    pub plan: Arc<LogicalPlan>,
}

/// What a subquery is used for.
#[derive(Clone, Debug)]
pub enum SubqueryKind {
    /// One column, at most one row (SQLSTATE 21000 otherwise); NULL for none.
    Scalar {
        /// The type.
        data_type: DataType,
    },
    /// EXISTS.
    Exists,
    /// `left op ANY (query)` or `ALL`; `IN` is `= ANY`. Row forms have several columns, all compared by `=`.
    Quantified {
        /// The left side.
        left: Vec<Expr>,
        /// One operator for each column.
        ops: Vec<Arc<Function>>,
        /// ANY or ALL.
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

/// Which quantifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuantifiedOp {
    /// ANY, SOME, IN.
    Any,
    /// ALL.
    All,
}

/// A call of an aggregate.
#[derive(Clone, Debug)]
pub struct AggregateCall {
    /// Which, resolved.
    pub aggregate: Arc<Aggregate>,
    /// Empty for `count(*)`.
    pub args: Vec<Expr>,
    /// DISTINCT: each different argument once.
    pub distinct: bool,
    /// FILTER (WHERE ..).
    pub filter: Option<Expr>,
    /// `string_agg(x, ',' ORDER BY y)`.
    pub order_by: Vec<crate::plan::SortKey>,
}

impl AggregateCall {
    /// What it evaluates for a row.
    pub(crate) fn exprs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let keys = self.order_by.iter_mut().map(|key| &mut key.expr);
        self.args.iter_mut().chain(&mut self.filter).chain(keys)
    }
}

impl Expr {
    /// `$1` is index 0.
    pub fn parameter(index: usize, data_type: DataType) -> Expr {
        Expr::Parameter { index, data_type, assumed: None }
    }

    /// The type of the value.
    pub fn data_type(&self) -> DataType {
        match self {
            Expr::Literal { data_type, .. }
            | Expr::Column { data_type, .. }
            | Expr::Outer { data_type, .. }
            | Expr::Parameter { data_type, .. }
            | Expr::Shared { data_type, .. }
            | Expr::Case { data_type, .. }
            | Expr::Coalesce { data_type, .. } => *data_type,
            Expr::Call { function, .. } => function.returns,
            Expr::Cast { to, .. } => *to,
            Expr::And(_) | Expr::Or(_) | Expr::Not(_) | Expr::IsNull(_) | Expr::IsNotDistinct(..) => DataType::Boolean,
            Expr::InList { .. } => DataType::Boolean,
            Expr::Let { body, .. } => body.data_type(),
            Expr::Subquery(subquery) => subquery.kind.data_type(),
            Expr::Subplan(subplan) => subplan.kind.data_type(),
            Expr::Sequence { op, .. } => op.data_type(),
        }
    }
}
