//! The public API: databases, connections, statements, rows, transactions.

mod advisory;
mod at_once;
mod backup_requests;
mod belonging;
mod bodies;
mod changes;
mod channels;
mod connection;
mod control;
mod copy;
mod cursor;
mod cursors;
mod database;
mod execute;
mod functions;
mod limits;
mod live;
mod looking;
mod named;
mod named_params;
mod names;
mod next;
mod options;
mod outcome;
mod plan_cache;
pub(crate) mod point;
mod pool;
mod pooled;
mod position;
mod rows;
mod runner;
pub mod schema;
mod sequences;
mod session;
mod settings;
mod sizes;
mod statement;
mod statement_cache;
mod temporary;
mod ticket;
mod transaction;

pub use crate::notice::Notice;
pub use crate::point::RowRef;
pub use crate::result::{FromRow, Row, RowIndex};
pub use crate::types::{FromValue, Params, ToValue};
pub use at_once::AtOnce;
pub use changes::{Change, ChangeColumn, ChangeFeedLimits, ChangeKind, ChangedTable, Changes};
pub use channels::{Notification, NotificationGuard, Notifications};
pub use connection::{Connection, InterruptHandle};
pub use copy::ClientCopy;
pub use database::Database;
pub use live::{LiveChange, LiveGuard, LiveQuery, LiveStatistics};
pub use named_params::{NamedParams, refuse_names, text_for};
pub use next::{Next, StopHandle};
pub use options::{Durability, Options};
pub use outcome::Outcome;
pub use plan_cache::PlanCache;
pub use pool::{Pool, PooledConnection};
pub use pooled::Pooled;
pub use position::Position;
pub use rows::{Ahead, IntoRows, Mapped, OwnedRow, Rows, RowsAs, Turn};
pub(crate) use runner::{Planned, Ran, Runner, UnderPath};
pub use sizes::RelationSize;
pub use statement::Statement;
pub use ticket::Ticket;
pub use transaction::Transaction;

/// What a mutex holds. Where somebody panicked with it, too: whoever shares it keeps it whole at each step.
fn locked<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
