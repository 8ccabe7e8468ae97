//! The change feed as its consumers see it: what every commit did to the tables that ask for it, in order.

mod change;
mod places;
mod read;

pub use change::{Change, ChangeColumn, ChangeKind, ChangedTable};
pub use places::ChangeFeedLimits;
pub use read::Changes;
