//! The public API: databases, connections, statements, rows, transactions.

mod connection;
mod control;
mod convert;
mod database;
mod execute;
mod explain;
mod limits;
mod notice;
mod options;
mod outcome;
mod parameters;
mod params;
mod point;
mod prepared;
mod rows;
mod sequences;
mod session;
mod settings;
mod statement;
mod statement_cache;
mod ticket;
mod transaction;

pub use crate::types::ValueRef;
pub use connection::{Connection, InterruptHandle};
pub use convert::FromValue;
pub use database::Database;
pub(crate) use database::Shared;
pub use notice::Notice;
pub use options::{Durability, Options};
pub use outcome::Outcome;
pub use params::{Params, ToValue};
pub use point::RowRef;
pub use rows::{Mapped, Row, RowIndex, Rows};
pub use statement::Statement;
pub use ticket::Ticket;
pub use transaction::Transaction;
