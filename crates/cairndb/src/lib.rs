//! CairnDB: an embedded SQL database in one library and one file.
//!
//! ```text
//! text --sql::parse--> AST --bind--> LogicalPlan --plan (optimizer)--> PhysicalPlan --exec--> batches --api--> rows
//!                                                        point statements: api::point, straight to the tree
//! ```

mod api;
mod bind;
mod catalog;
mod change_feed;
mod command;
mod copy;
mod ddl;
mod dml;
mod error;
mod exec;
mod functions;
mod inverted;
mod plan;
pub mod reference;
mod routine;
pub mod salvage;
mod sql;
mod state;
mod system;
mod types;
mod verify;

pub use api::schema;
pub use api::{
    Ahead, ArrayElement, AtOnce, Change, ChangeColumn, ChangeFeedLimits, ChangeKind, ChangedTable, Changes, ClientCopy,
    Connection, CopyShape, Database, Durability, Executed, FromRow, FromValue, InterruptHandle, IntoRows, LiveChange,
    LiveGuard, LiveQuery, LiveStatistics, Mapped, NamedParams, Next, Notice, Notification, NotificationGuard,
    Notifications, Options, Outcome, OwnedRow, Params, PlanCache, Pool, Pooled, PooledConnection, Position,
    RelationSize, Row, RowIndex, RowRef, Rows, RowsAs, SettingsSeen, Statement, StopHandle, Ticket, ToValue,
    Transaction, Turn, ValueRef,
};
#[cfg(feature = "derive")]
pub use cairndb_derive::FromRow;
// What the storage engine tells through `Database`.
#[cfg(feature = "counters")]
pub use cairn_storage::counted;
pub use cairn_storage::{Process, Stats, SyncMethod};
pub use error::{Error, Result, SqlState};
pub use functions::{AggregateFunction, Arguments, FunctionOptions};
pub use plan::Field;
pub use salvage::{Salvaged, salvage};
pub use sql::{MAX_DEPTH, MAX_TEXT_BYTES, Script, SourceStatement, split_script};
pub use types::{
    Array, Attribute, Composite, CompositeType, DataType, Dimension, ElementType, EnumType, EnumValue, EvalContext,
    Interval, IntervalField, IntervalLimit, JsonPath, Jsonb, Numeric, NumericRef, Reg, TimeTz, TypeCategory, Value,
    ZoneName, from_text, read_binary, to_text, write_binary, write_text,
};
pub use verify::{Verified, Violated, Violation};

/// What this project's own crates reach into: fuzz targets, `cairndb-async`, and what `derive(FromRow)` writes. No part of the public face: it changes without notice.
#[doc(hidden)]
pub mod internals {
    pub use crate::api::{column_of, refuse_names, text_for};
    pub use crate::types::{key, row, sample_types};
    pub use cairn_storage::{Wakers, wake_caught};
}

/// The README's example is compiled and run with the documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct ReadmeExample;
