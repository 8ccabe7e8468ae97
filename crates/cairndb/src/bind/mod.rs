//! From syntax to meaning: names, types, overloads, coercions, as PostgreSQL resolves them.

mod arrays;
mod binder;
mod candidates;
mod coerce;
mod comparable;
mod composite;
mod conflict;
mod context;
mod current_of;
mod definition;
mod delete;
mod domains;
mod elsewhere;
mod entry;
mod equal;
mod expr;
mod forms;
mod from;
mod from_functions;
mod functions;
mod generated;
mod grouping;
mod grouping_sets;
mod groups;
mod index;
mod insert;
mod join;
mod late;
mod literal;
mod locking;
mod long;
mod merge;
mod named_arguments;
mod nearest;
mod once;
mod operators;
mod ordered_sets;
mod output_name;
mod overload;
mod parameters;
mod query;
mod routine;
mod rows;
mod rows_from;
mod sample;
mod scope;
mod search;
mod select;
mod sequence_call;
mod shown;
mod star;
mod statement;
mod subquery;
mod system;
mod target;
mod trigger;
mod updatable;
mod update;
mod variables;
mod virtuals;
mod windows;
mod with;

pub(crate) use current_of::{RowKey, with_row_key};
pub(crate) use definition::{
    bind_definition, bind_resting, definition_fields, resolve_check, resolve_default, resolve_query,
};
pub(crate) use domains::{DomainRules, resolve_domain_check};
pub(crate) use entry::bind_argument;
pub(crate) use entry::bind_rows_of;
pub use entry::{bind_check, bind_default, bind_statement, bind_view_query};
pub(crate) use from::named_as_view;
pub(crate) use generated::{bind_generated, bind_using, resolve_generated};
pub(crate) use groups::{BoundGroups, bound_groups};
pub(crate) use index::{bind_index, bound_indexes, is_immutable, mutable_part, resolve_key, resolve_predicate};
pub(crate) use parameters::Callees;
pub use parameters::ParameterTypes;
pub use rows::ConstantRows;
pub(crate) use shown::said;
pub use statement::{
    Arbiter, BoundDelete, BoundExplain, BoundInsert, BoundMerge, BoundStatement, BoundUpdate, ConflictAction,
    InsertSource, MergeStep, OnConflict, Returning,
};
pub(crate) use system::{asks_catalog, names_oids};
pub(crate) use trigger::{bind_when, resolve_when};
pub use updatable::ViewCheck;
pub(crate) use updatable::{is_deletable, refuse_unchecked, updatable_columns, view_face};
pub(crate) use variables::{Conflict, Parameters, RowsVariable, Variables};
pub(crate) use virtuals::Virtuals;

#[cfg(test)]
mod tests;
