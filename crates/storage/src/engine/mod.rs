//! What all that works on an open database shares: the latest state and its commit, what readers may see, the log's and
//! the file's upkeep.

mod announced;
mod apply;
mod bell;
pub(crate) mod checkpoint;
mod commit;
pub(crate) mod copies;
mod counters;
mod drops;
mod handle;
mod interests;
pub(crate) mod lists;
mod log_room;
pub(crate) mod meta;
mod openings;
mod ops;
mod publisher;
mod reads;
mod shared;
mod signals;
mod stage;
mod tickets;
mod turns;
mod version;
mod watch;
mod writer;

pub(crate) use bell::Bell;
pub(crate) use commit::WriterGuard;
pub use counters::{COUNTER_BYTES, COUNTERS_MAX, OVERFLOWED, counters};
pub(crate) use counters::{Deltas, Sum};
pub(crate) use handle::Handle;
pub use openings::Position;
pub(crate) use openings::{Opening, Openings};
pub use ops::AppendKey;
pub(crate) use ops::{Op, OpList, OpMark, OpStream, Ops};
pub(crate) use publisher::{Publisher, Queue};
pub(crate) use reads::{Bounds, KeyRange, Noted, Reads, is_before, is_behind, lower_order, upper_is_below};
pub(crate) use shared::{Chain, Dropped, Engine};
pub(crate) use signals::{Signal, Signals};
pub(crate) use stage::{Act, Stage};
pub(crate) use tickets::{TicketId, Tickets};
pub use turns::Losses;
pub(crate) use turns::{GivesUp, Turn};
pub(crate) use version::{Trees, Version, VersionPtr};
pub(crate) use watch::{Call, Kept, Touched, Watch};
pub(crate) use writer::{Changes, OpenParts, SPILL, Spares, Writer};
