//! CairnDB: an embedded SQL database in one library and one file.
//!
//! ```text
//! text --sql::parse--> AST --bind--> LogicalPlan --plan (optimizer)--> PhysicalPlan --exec--> batches --api--> rows
//!                                                        point statements: point, straight to the tree
//! ```

mod api;
mod bind;
mod catalog;
mod change_feed;
mod clock;
mod columns;
mod command;
mod copy;
mod ddl;
mod dml;
mod documents;
mod dump;
mod error;
mod exec;
mod functions;
mod interrupt;
mod inverted;
mod notice;
mod plan;
mod point;
mod prepared;
pub mod reference;
mod result;
mod routine;
pub mod salvage;
mod session;
mod settings;
mod sql;
mod state;
mod sync;
mod system;
mod types;
mod verify;

pub use api::schema;
pub use api::{
    Change, ChangeColumn, ChangeFeedLimits, ChangeKind, ChangedTable, Changes, ClientCopy, Connection, Database,
    NonBlocking, Pool, Pooled, PooledConnection, RelationSize, Statement, Transaction,
};
#[cfg(feature = "derive")]
pub use cairndb_derive::FromRow;
// What the storage engine tells through `Database`.
#[cfg(feature = "counters")]
pub use cairn_storage::counted;
pub use cairn_storage::{PerProcess, Process, Stats, SyncMethod, Wait, Waits};
pub use catalog::Rules;
pub use columns::{Batch, Bitmap, ByteStrings, Data, Decimals, NO_ROW, Vector};
pub use documents::{
    Aggregation, Collection, CollectionInfo, CollectionOptions, Document, Documents, Expanded, Find, Named, Page,
    Upserted, Written,
};
pub use dump::{DumpOptions, LeftOut};
pub use error::{Error, Result, SqlState};
pub use functions::json::write_json;
pub use functions::{AggregateFunction, Arguments, FunctionOptions};
pub use notice::Notice;
pub use plan::{ColumnOrigin, Field};
pub use point::RowRef;
pub use result::{
    Executed, FromRow, IntoRows, Mapped, Outcome, OwnedRow, Prefetched, Row, RowIndex, Rows, RowsAs, Timeslice,
    command_tag,
};
pub use salvage::{Salvaged, salvage};
pub use session::{
    Begun, Ceilings, CopyShape, Durability, InterruptHandle, LiveChange, LiveGuard, LiveQuery, LiveStatistics, Memory,
    NamedParams, Next, Notification, NotificationGuard, Notifications, OpeningListener, OpeningProgress, Options,
    PlanCache, PortalState, Position, SettingsSeen, StopHandle, Ticket,
};
pub use sql::{MAX_DEPTH, MAX_TEXT_BYTES, Script, SourceStatement, split_script};
pub use types::{
    Array, ArrayElement, Attribute, Citext, Composite, CompositeType, DataType, Dimension, ElementType, EnumType,
    EnumValue, EvalContext, ExtensionType, Form, FromValue, Hstore, Inet, Interval, IntervalField, IntervalLimit,
    JsonPath, Jsonb, Numeric, NumericRef, Params, Reg, RegValue, ServedDatabase, ServedSession, ServedStatement,
    Server, TimeTz, ToValue, TypeCategory, Value, ValueRef, ZoneName, from_text, read_binary, to_text, write_binary,
    write_text,
};
pub use verify::{Verified, Violated, Violation};

/// What this project's own crates reach into: fuzz targets, `cairndb-async`, and what `derive(FromRow)` writes. No part of the public face: it changes without notice.
#[doc(hidden)]
pub mod internals {
    pub use crate::documents::{ById, Equalities, Looked, Wanted};
    pub use crate::result::column_of;
    pub use crate::session::{refuse_names, text_for};
    pub use crate::types::{key, row, sample_types};
    pub use cairn_storage::{Wakers, wake_caught};
}

/// The examples of these pages are compiled with the documentation tests; the README's is run, too.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
#[doc = include_str!("../../../docs/documents.md")]
struct Pages;

#[cfg(all(doctest, feature = "derive"))]
#[doc = include_str!("../../../docs/rust.md")]
struct RustsPage;
