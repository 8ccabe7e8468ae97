//! Plans: the logical plan that binding makes, and (by the optimizer) the physical plan that `exec` runs.
#![warn(missing_docs)]

mod access;
mod analyze;
mod any_of;
mod askers;
mod both;
mod changes;
mod closure;
mod cost;
mod cte;
mod decorrelate;
mod equal;
mod estimate;
mod explain;
mod explain_format;
mod expr;
mod extremes;
mod factor;
mod flatten;
mod fold;
mod fold_dates;
mod groups;
mod implied;
mod indexes;
mod join_asked;
mod join_build;
mod join_graph;
mod join_merge;
mod join_method;
mod join_order;
mod keyed_change;
mod keyed_row;
mod keys;
mod live;
mod logical;
mod loose;
mod lower;
mod narrow;
mod nulls;
mod number;
mod optimize;
mod options;
mod order;
mod physical;
mod planner;
mod print;
mod prune;
mod pull;
mod pushdown;
mod refs;
mod scan;
mod sorted;
mod stored_fields;
mod switches;
mod system_rows;
mod system_scan;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod unique;
pub(crate) mod walk;
mod watched;
mod window;

pub use analyze::StatisticsBuilder;
#[cfg(test)]
pub(crate) use changes::with_fault;
pub(crate) use changes::{ChangedRows, KeptStages, Maintenance, Stage, Term};
pub(crate) use changes::{Fault, has as has_fault};
pub(crate) use equal::same_expr;
pub use explain::{ExplainOptions, explain, explained};
pub use explain_format::{Whole as ExplainedWhole, json as explain_json, yaml as explain_yaml};
pub use expr::{
    AggregateCall, Expr, NEW_BASE, OLD_BASE, QuantifiedOp, ROW_PRESENT, SequenceOp, Subquery, SubqueryKind,
};
pub(crate) use fold::with_parameters;
pub(crate) use groups::{Groups, Part};
pub(crate) use implied::is_implied;
pub(crate) use indexes::{BoundIndex, BoundIndexes};
pub(crate) use keyed_row::{KeyedRow, keyed_row};
pub(crate) use live::{Sizes, estimated_rows};
pub use logical::{Field, JoinKind, LogicalPlan, SetOperator, SortKey};
pub use optimize::optimize;
pub use options::OptimizerOptions;
pub use physical::{Items, KeyBound, KeyRange, ModifiedRows, PhysicalNode, PhysicalPlan, Subplan};
pub(crate) use refs::{is_volatile, is_volatile_plan, map_columns, raised, used_columns};
pub(crate) use stored_fields::{StoredPart, stored_part};
pub use system_rows::SystemRows;
pub(crate) use walk::children as expr_children;
pub(crate) use watched::{columns_read, refuse_unwatchable, result_key, trees_read};
pub use window::{FrameBound, FrameExclusion, FrameUnit, WindowCall, WindowFrame, Windowed};
