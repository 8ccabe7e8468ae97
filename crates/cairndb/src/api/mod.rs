//! The public API: databases, connections, statements, transactions, pools, the schema as data. What runs is `session`.

mod backups;
mod changes;
mod connection;
mod copy;
mod database;
mod functions;
mod non_blocking;
mod pool;
mod pooled;
pub mod schema;
mod serving;
mod sizes;
mod statement;
mod told;
mod transaction;

use crate::notice::Notice;
use crate::point::RowRef;
use crate::result::{FromRow, Mapped, Outcome, Row, Rows, RowsAs};
use crate::session::{Durability, InterruptHandle, LiveQuery, Notifications, Options, PlanCache, Position, Ticket};
use crate::types::Params;
pub use changes::{Change, ChangeColumn, ChangeFeedLimits, ChangeKind, ChangedTable, Changes};
pub use connection::Connection;
pub use copy::ClientCopy;
pub use database::Database;
pub use non_blocking::NonBlocking;
pub use pool::{Pool, PooledConnection};
pub use pooled::Pooled;
pub use sizes::RelationSize;
pub use statement::Statement;
pub use transaction::Transaction;
