//! CairnDB: an embedded SQL database in one library and one file.
//!
//! ```text
//! text --sql::parse--> AST --bind--> LogicalPlan --plan (optimizer)--> PhysicalPlan --exec--> batches --api--> rows
//!                                                        point statements: api::point, straight to the tree
//! ```

pub mod api;
pub mod bind;
pub mod catalog;
mod command;
mod ddl;
mod dml;
mod error;
pub mod exec;
pub mod functions;
pub mod plan;
pub mod salvage;
pub mod sql;
pub mod types;
mod verify;

pub use api::{
    Connection, Database, Durability, FromValue, InterruptHandle, Mapped, Notice, Options, Outcome, Params, Row,
    RowIndex, RowRef, Rows, Statement, Ticket, ToValue, Transaction, ValueRef,
};
// What the storage engine tells through `Database`.
#[cfg(feature = "counters")]
pub use cairn_storage::counted;
pub use cairn_storage::{Stats, SyncMethod};
pub use error::{Error, Result, SqlState};
pub use plan::Field;
pub use salvage::{Salvaged, salvage};
pub use types::{DataType, Value};
pub use verify::{Verified, Violated, Violation};

/// The README's example is compiled and run with the documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct ReadmeExample;
