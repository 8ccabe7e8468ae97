//! Plans: the logical plan that binding makes, and (by the optimizer) the physical plan that `exec` runs.

mod expr;
mod logical;

pub use expr::{AggregateCall, Expr, QuantifiedOp, SequenceOp, Subquery, SubqueryKind};
pub use logical::{Field, JoinKind, LogicalPlan, SetOperator, SortKey};
