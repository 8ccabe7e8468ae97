//! From syntax to meaning: names, types, overloads, coercions, as PostgreSQL resolves them.

mod binder;
mod calls;
mod changes;
mod context;
mod definitions;
mod deparse;
mod entry;
mod expressions;
mod nearest;
mod parameters;
mod queries;
mod relations;
mod statement;
mod variables;

pub(crate) use changes::current_of::{RowKey, with_row_key};
pub(crate) use changes::modification::Insertion;
pub(crate) use changes::updatable::{refuse_unchecked, view_face};
pub(crate) use definitions::definition::{
    bind_definition, bind_resting, definition_fields, resolve_check, resolve_default, resolve_query,
};
pub(crate) use definitions::generated::{bind_generated, bind_using, resolve_generated};
pub(crate) use definitions::groups::{BoundGroups, bound_groups};
pub(crate) use definitions::index::{bind_index, bound_indexes, resolve_key, resolve_predicate};
pub(crate) use definitions::rule::{asked_of_values, is_of_values_alone, resolve_rule, with_claims};
pub(crate) use definitions::shown::said;
pub(crate) use definitions::table_rules::{Generated, TableRules};
pub(crate) use definitions::trigger::{bind_when, resolve_when};
pub(crate) use entry::bind_argument;
pub(crate) use entry::bind_rows_of;
pub use entry::{bind_check, bind_default, bind_statement, bind_view_query};
pub(crate) use expressions::domains::{DomainRules, resolve_domain_check};
pub(crate) use parameters::Callees;
pub use parameters::ParameterTypes;
pub(crate) use relations::from::named_as_view;
pub(crate) use relations::virtuals::Virtuals;
pub use statement::{BoundDelete, BoundExplain, BoundStatement, BoundUpdate};
pub(crate) use variables::{Conflict, Parameters, RowsVariable, Variables};

#[cfg(test)]
mod tests;
