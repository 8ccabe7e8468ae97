//! Plans: the logical plan that binding makes, and (by the optimizer) the physical plan that `exec` runs.

mod expr;
mod logical;
mod lower;
mod number;
mod optimize;
mod options;
mod physical;
pub(crate) mod walk;

pub use expr::{AggregateCall, Expr, QuantifiedOp, SequenceOp, Subquery, SubqueryKind};
pub use logical::{Field, JoinKind, LogicalPlan, SetOperator, SortKey};
pub use optimize::optimize;
pub use options::OptimizerOptions;
pub use physical::{Estimate, KeyBound, KeyRange, PhysicalNode, PhysicalPlan, Subplan};
pub(crate) use walk::children as expr_children;
