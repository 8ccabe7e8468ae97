//! Commits that were not waited for.

use std::sync::Arc;
use std::task::{Context, Poll};

use crate::broken::{self, Broken};
use crate::engine::{Act, Handle, TicketId};
use crate::{Error, Result};

/// A commit on its way to the disk.
#[derive(Debug)]
#[must_use = "the commit is durable only once `wait` returned"]
pub struct Ticket {
    /// `None`: acknowledged already.
    handle: Option<Arc<Handle>>,
    position: u64,
    /// Its place among those whose wakers are woken.
    id: Option<TicketId>,
}

impl Ticket {
    /// `pending`: whether it is not yet what it promises.
    pub(super) fn new(handle: &Arc<Handle>, position: u64, pending: Option<u64>) -> Ticket {
        Ticket { handle: pending.map(|_| handle.clone()), position: pending.unwrap_or(position), id: None }
    }

    /// Returns once the commit is durable.
    pub fn wait(self) -> Result<()> {
        let Some(handle) = &self.handle else { return Ok(()) };
        let engine = handle.engine();
        if engine.durable() >= self.position || broken::is(Broken::TicketEarly) {
            return Ok(());
        }
        engine.check_process()?;
        engine.wait_durable(engine.lock_writer(), self.position).map_err(Error::of_appended_commit)
    }

    /// As `wait`, for tasks of an asynchronous program: the task is woken when there is an answer.
    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<()>> {
        let Some(handle) = &self.handle else { return Poll::Ready(Ok(())) };
        let engine = handle.engine();
        let is_durable = || engine.durable() >= self.position;
        if is_durable() || broken::is(Broken::TicketEarly) {
            return Poll::Ready(Ok(()));
        }
        if let Err(forked) = engine.check_process() {
            return Poll::Ready(Err(forked));
        }
        let is_over = || is_durable() || engine.publisher.life.check(Act::Log).is_err();
        if engine.tickets.register(self.position, &mut self.id, context.waker(), is_over) {
            return Poll::Pending;
        }
        match engine.publisher.life.check(Act::Log) {
            Err(error) if !is_durable() => Poll::Ready(Err(error.of_appended_commit())),
            _ => Poll::Ready(Ok(())),
        }
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

impl Drop for Ticket {
    fn drop(&mut self) {
        if let (Some(handle), Some(id)) = (&self.handle, self.id)
            && handle.is_here()
        {
            handle.engine().tickets.forget(id);
        }
    }
}
