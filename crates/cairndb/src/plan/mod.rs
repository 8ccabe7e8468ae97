//! Plans: the logical plan that binding makes, and (by the optimizer) the physical plan that `exec` runs.
#![warn(missing_docs)]

mod constant_rows;
mod explain;
mod expressions;
mod joins;
mod logical;
mod lower;
mod maintained;
mod modification;
mod number;
mod optimize;
mod options;
mod order;
mod origins;
mod physical;
mod planner;
mod rewrites;
mod scans;
mod sorted;
mod statistics;
mod switches;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use constant_rows::ConstantRows;
pub(crate) use constant_rows::{fields_of, literal};
pub use explain::{
    ExplainOptions, NodeStatistics, Whole as ExplainedWhole, explain, explained, json as explain_json,
    yaml as explain_yaml,
};
pub(crate) use expressions::datum::{Columns, Datum};
pub(crate) use expressions::equal::same_expr;
pub use expressions::expr::{AggregateCall, Expr, QuantifiedOp, SequenceOp, Subquery, SubqueryKind};
pub(crate) use expressions::facts::{asks_catalog, is_immutable, mutable_part};
pub(crate) use expressions::held::Held;
pub(crate) use expressions::refs::{
    calls_routine, is_volatile, is_volatile_plan, looks_elsewhere, map_columns, raised, used_columns,
};
pub(crate) use expressions::row_eval::{EvalEnv, eval};
pub(crate) use expressions::stand_in::{StandIn, Version};
pub(crate) use expressions::walk;
pub(crate) use expressions::walk::children as expr_children;
pub use expressions::window::{FrameBound, FrameExclusion, FrameUnit, WindowCall, WindowFrame, Windowed};
pub use logical::{CteId, Field, JoinKind, LogicalPlan, SetOperator, SortKey};
#[cfg(test)]
pub(crate) use maintained::changes::with_fault;
pub(crate) use maintained::changes::{ChangedRows, KeptStages, Maintenance, Stage, Term};
pub(crate) use maintained::changes::{Fault, has as has_fault};
pub(crate) use maintained::groups::{Groups, Part};
pub(crate) use maintained::watched::{columns_read, refuse_unwatchable, result_key, trees_read};
pub use modification::{
    Arbiter, ConflictAction, MergeStep, Modification, ModificationKind, OnConflict, Returning, ViewCheck,
};
pub use optimize::optimize;
pub(crate) use optimize::optimize_asking;
pub use options::OptimizerOptions;
pub use origins::ColumnOrigin;
pub(crate) use origins::origins;
pub use physical::{Items, KeyBound, KeyRange, ModifiedRows, PhysicalNode, PhysicalPlan, Subplan};
pub(crate) use rewrites::fold::with_parameters;
pub(crate) use scans::implied::is_implied;
pub(crate) use scans::indexes::{BoundIndex, BoundIndexes};
pub(crate) use scans::keyed_row::{KeyedRow, keyed_row};
pub(crate) use scans::stored_fields::{StoredPart, stored_part};
pub use scans::system_rows::SystemRows;
pub(crate) use statistics::analyze::StatisticsBuilder;
pub(crate) use statistics::asked::{AskedRange, assume};
pub(crate) use statistics::expressions::KeyExpressions;
pub(crate) use statistics::live::{Sizes, estimated_rows};
