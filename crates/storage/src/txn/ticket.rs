//! Commits that were not waited for.

use std::sync::Arc;

use crate::broken::{self, Broken};
use crate::engine::Handle;
use crate::{Error, Result};

/// A commit on its way to the disk.
#[derive(Debug)]
#[must_use = "the commit is durable only once `wait` returned"]
pub struct Ticket {
    /// `None`: acknowledged already.
    pub(super) handle: Option<Arc<Handle>>,
    pub(super) position: u64,
}

impl Ticket {
    /// Returns once the commit is durable.
    pub fn wait(self) -> Result<()> {
        let Some(handle) = &self.handle else { return Ok(()) };
        let engine = handle.engine();
        if engine.durable() >= self.position || broken::is(Broken::TicketEarly) {
            return Ok(());
        }
        engine.wait_durable(engine.lock_writer(), self.position).map_err(Error::of_appended_commit)
    }

    /// Whether `wait` would return at once, successfully.
    pub fn is_durable(&self) -> bool {
        let durable = |handle: &Arc<Handle>| handle.engine().durable();
        self.handle.as_ref().is_none_or(|handle| durable(handle) >= self.position)
    }

    /// The log position behind the commit.
    pub fn position(&self) -> u64 {
        self.position
    }
}
