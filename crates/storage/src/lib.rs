//! CairnDB's storage engine: one log, copy-on-write B+trees, serializable transactions. No SQL.
//!
//! ```
//! use cairn_storage::{Options, Store, TreeId};
//!
//! let store = Store::open_in_memory(Options::default())?;
//! let transaction = store.begin()?;
//! transaction.put(TreeId::CATALOG, b"key", b"value")?;
//! transaction.commit(None)?;
//! assert_eq!(store.snapshot()?.reader().get(TreeId::CATALOG, b"key")?, Some(b"value".to_vec()));
//! # Ok::<(), cairn_storage::Error>(())
//! ```

#![expect(
    clippy::unnecessary_lazy_evaluations,
    reason = "an error that is made where there is none costs its drop, by a call, on each way to a page"
)]

#[cfg(feature = "broken-for-tests")]
#[doc(hidden)]
pub mod broken;
#[cfg(not(feature = "broken-for-tests"))]
#[allow(dead_code)]
mod broken;
mod budget;
mod bytes;
mod counted;
mod crew;
mod engine;
mod env;
mod error;
mod held;
pub mod io;
mod log;
#[cfg(cairn_loom)]
mod modelled;
mod names;
mod options;
mod page;
mod process;
mod progress;
#[cfg(not(any(cairn_shuttle, cairn_loom)))]
pub mod seam;
#[cfg(feature = "simulated")]
#[doc(hidden)]
pub mod simulated;
mod stats;
mod store;
mod sync;
mod system_memory;
mod tree;
mod txn;
mod waits;
mod wakers;

pub use budget::{Memory, Reserved};
#[cfg(feature = "counters")]
pub use counted::counted;
pub use crew::{Crew, Enlisted, Starter};
pub use engine::{AppendKey, COUNTERS_MAX, Losses, OVERFLOWED, Position, counters};
pub use env::{Enlistment, Environment, Host, Join, QuietHost, RealHost};
pub use error::{Error, Result};
pub use held::is_holding;
pub use io::SyncMethod;
pub use names::{PageRef, TreeId};
pub use options::{Durability, Options};
pub use process::{PerProcess, Process};
pub use progress::{OpeningListener, OpeningProgress};
pub use stats::Stats;
pub use store::{
    Doubt, Fault, Loss, Lost, Reasons, Salvage, Store, TreeSize, Uncertain, UncertainEntry, Verified, salvage,
    salvage_with,
};
pub use system_memory::MemoryLeft;
pub use tree::{LeafEntries, Patches, TreeShape};
pub use txn::{
    Acknowledge, AppendCall, AppendListener, Appended, Changed, Cursor, Interest, KeyList, KeyRanges, Lookup, Observer,
    Patience, PointReader, PointWriter, ReadNotes, Reader, SampleSize, Savepoint, Session, Snapshot, Step, Ticket,
    Transaction, TransactionWriter, WriteError,
};
pub use waits::{Wait, Waits};
pub use wakers::{Wakers, wake_all, wake_caught};
