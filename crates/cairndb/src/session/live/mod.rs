//! Live queries: results that are kept current, told as changes.

mod behind;
mod change;
mod changes;
mod definition;
mod follow;
#[cfg(test)]
mod histories;
mod live_query;
mod long;
mod plans;
mod query;
mod result;
mod service;
mod shown;
mod steps;
mod subscribed;
mod subscriber;
mod subscription;
#[cfg(test)]
mod tests;
mod wakes;
mod watch;

pub use change::LiveChange;
pub(crate) use follow::{Followers, User};
pub use live_query::{LiveGuard, LiveQuery};
pub use query::LiveStatistics;
pub(crate) use service::LiveQueries;
pub(super) use subscribed::SubscribedRows;
