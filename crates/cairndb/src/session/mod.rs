//! What runs statements: settings, transactions, statements and their plans, cursors, sequences, channels, locks, live queries. Connections
//! (`api`) are its public face; bodies of functions run within its statements.

mod advisory;
mod backup_requests;
mod bodies;
mod ceilings;
mod changing;
#[cfg(test)]
mod changing_tests;
mod channels;
mod control;
mod copy;
mod cursor;
mod cursors;
mod execute;
mod interrupt;
mod limits;
mod live;
mod looking;
mod named;
mod named_params;
mod names;
mod next;
mod options;
mod plan_cache;
pub(crate) mod point;
mod pooled;
mod portals;
mod position;
mod runner;
mod sequences;
mod serving;
#[allow(clippy::module_inception)]
mod session;
mod session_state;
mod settings;
mod shared;
mod statement_cache;
mod temporary;
mod ticket;
mod try_point;

pub(crate) use crate::notice::Notice;
pub(crate) use crate::point::RowRef;
pub(crate) use crate::result::{Executed, FewRows, Outcome, Row, Rows};
pub(crate) use crate::types::{Params, ToValue};
pub(crate) use backup_requests::request_backup;
pub use ceilings::Ceilings;
pub use channels::{Notification, NotificationGuard, Notifications};
pub use copy::CopyShape;
pub(crate) use execute::{Runnable, retry, tag_of};
pub use interrupt::InterruptHandle;
pub use live::{LiveChange, LiveGuard, LiveQuery, LiveStatistics};
pub(crate) use named_params::Ordered;
pub use named_params::{NamedParams, refuse_names, text_for};
pub(crate) use next::Stop;
pub use next::{Next, StopHandle};
pub use options::{Durability, Memory, OpeningListener, OpeningProgress, Options};
pub use plan_cache::PlanCache;
pub use portals::{Begun, PortalState};
pub use position::Position;
use runner::Runner;
pub use serving::SettingsSeen;
pub(crate) use session::{Session, exhaust};
pub(crate) use settings::Settings;
pub(crate) use shared::{Handle, Shared};
pub use ticket::Ticket;
