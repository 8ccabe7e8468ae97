//! CREATE, DROP, ALTER and the other statements that change the schema, as writes to the catalog tree in the caller's
//! storage transaction: a failed or rolled back statement leaves no trace.

mod aggregate;
mod alter_column;
mod alter_table;
mod analyze;
mod change_feed;
mod collection;
mod comment;
mod composites;
mod constraints;
mod context;
mod create_index;
mod create_table;
mod create_table_as;
mod create_view;
mod dependency;
mod domains;
mod drop;
mod execute;
mod explain;
mod extension;
mod follower;
mod foreign_key;
mod index_beside;
mod index_build;
mod kept_view;
mod like;
mod materialized;
mod names;
mod privileges;
mod reindex;
mod resting;
mod rewrite;
mod routine;
mod routine_types;
mod schema;
mod sequence;
mod trigger;
mod truncate;
mod types;
mod upgrade;

pub(crate) use context::SchemaHost;
pub(crate) use execute::{Done, execute};
pub(crate) use upgrade::upgrade;
