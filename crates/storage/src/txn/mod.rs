//! Snapshots, transactions, and the point path.

mod commit;
mod cursor;
mod holds;
mod lookup;
mod ops;
mod parts;
mod point;
mod reader;
mod reads;
mod transaction;
mod version;

pub use cursor::Cursor;
pub use lookup::Lookup;
#[cfg(test)]
pub(crate) use ops::OpList;
pub(crate) use ops::{Op, OpStream, Ops};
pub use point::{Acknowledge, PointReader, PointWriter, Session, WriteError};
pub(crate) use reader::Claimed;
pub use reader::{Reader, Snapshot};
pub use transaction::{Savepoint, Ticket, Transaction};
pub use version::TreeId;
pub(crate) use version::{Trees, Version, VersionPtr};
