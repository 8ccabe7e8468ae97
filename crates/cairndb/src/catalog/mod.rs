//! What the database holds: tables, indexes, constraints, views, sequences. An immutable [`Catalog`] is loaded from
//! the catalog tree and shared; DDL writes that tree in its transaction.

mod cache;
mod codec;
pub(crate) mod collection;
mod dependencies;
mod entries;
pub(crate) mod feed;
mod layout;
mod live;
mod names;
mod objects;
mod past;
mod routine;
mod rules;
mod schema;
mod statistics;
mod store;
mod trigger;
mod user_types;
mod version;

pub(crate) use cache::{CatalogCache, CatalogStamp};
pub(crate) use dependencies::{PlanDependencies, note_all, note_keys};
pub(crate) use layout::Apart;
pub use layout::{ColumnPlace, TableLayout};
pub(crate) use live::{Live, Sample};
pub use names::ObjectName;
pub(crate) use names::{SearchPath, TEMPORARY, USER, default_path, take_quoted};
pub use objects::{Catalog, Relation, RelationKind};
pub(crate) use objects::{Commentable, MadeExtension, already_exists, no_schema};
pub(crate) use past::PastLayout;
pub(crate) use rules::RuleKind;
pub use rules::Rules;
pub use schema::{
    Check, Column, ColumnStatistics, Deferral, ForeignKey, Identity, Index, IndexColumn, ObjectId, ReferentialAction,
    Sequence, Table, TableStatistics, View,
};
pub(crate) use schema::{
    CheckOption, EXPRESSIONS, ExpressionStatistics, Feed, Inverted, KeyExpression, Maintained, Materialized, OnCommit,
    RowExpression, TableKind, number_at,
};
pub(crate) use store::{
    CatalogStore, EntryKind, SystemTrees, bootstrap, check_entry, decode_table_entry, delete_feeds_tree,
    delete_statistics, ensure_followed_tree, feeds_tree_of, followed_tree_of, is_up_to_date, load, load_after,
    load_temporary, load_types, put_feeds_tree, put_statistics, schema_name_of, system_trees, temporary_stamp,
};
pub use trigger::Trigger;
pub(crate) use trigger::{Enabled, Timing, Triggered};
pub use user_types::UserType;
pub(crate) use user_types::{CompositeParts, Domain, TypeKind};

// What its entries are of, and whoever calls or computes knows too.
pub(crate) use crate::functions::{
    AggregateParts, Callee, Language, OfDomain, ParameterMode, Returns, Routine, RoutineKind, RoutineParameter,
    TriggerEvent,
};
pub use crate::types::Definition;
pub(crate) use crate::types::{KnownColumn, Reference, oid_of, type_id};
