//! Snapshots, transactions, and the point path.

mod announced;
mod changes;
mod commit;
mod cursor;
mod holds;
mod latest;
mod lookup;
mod ops;
mod own;
mod parts;
mod point;
mod private;
mod reader;
mod reads;
mod rebase;
mod savepoint;
mod short;
mod state;
mod ticket;
mod transaction;
mod turn;
mod validate;
mod version;

pub use cursor::Cursor;
pub use lookup::Lookup;
#[cfg(test)]
pub(crate) use ops::OpList;
pub(crate) use ops::{Op, OpStream, Ops};
pub use point::{Acknowledge, PointReader, PointWriter, Session, WriteError};
pub(crate) use reader::Claimed;
pub use reader::{Reader, Snapshot};
pub use savepoint::Savepoint;
pub use ticket::Ticket;
pub use transaction::Transaction;
pub use turn::Losses;
pub(crate) use turn::Turns;
pub use version::TreeId;
pub(crate) use version::{Trees, Version, VersionPtr};
