//! Snapshots, transactions, and the point path.

mod appended;
mod appends;
mod changes;
mod commit;
mod cursor;
mod holds;
mod latest;
mod listen;
mod lookup;
mod observer;
mod own;
mod parts;
mod patch_each;
mod point;
mod private;
mod reader;
mod rebase;
mod savepoint;
mod short;
mod size;
mod state;
mod ticket;
mod transaction;
mod validate;

pub use appended::Appended;
pub use cursor::Cursor;
pub use listen::{AppendCall, AppendListener};
pub use lookup::{KeyList, Lookup};
pub use observer::{Changed, Interest, KeyRanges, Observer, ReadNotes, Step};
pub use point::{Acknowledge, PointReader, PointWriter, Session, WriteError};
pub(crate) use reader::Claimed;
pub use reader::{Reader, Snapshot};
pub use savepoint::Savepoint;
pub use size::SampleSize;
pub use ticket::Ticket;
pub use transaction::{Transaction, Writer as TransactionWriter};
