//! Who waits for commits without a thread of his own: wakers, by the log position that has to be durable.
//!
//! What must hold:
//! - Whoever gives out a ticket says so under the commit lock ([`Queue::gives_ticket`](super::Queue)). So a leader knows
//!   whether there may be wakers for its batch, and looks at nothing here where there are none.
//! - A leader says that its batch is durable before it looks here; who registers looks, under the lock here, whether it is.
//!   So one of the two sees the other.
//! - Whatever makes the database fail wakes all, or leaves it to the log thread, which every ticket has called
//!   (`store/background.rs` `flush`).
//! - Wakers are copied, run and dropped without a lock. One that panics harms nobody else.

use std::collections::BTreeMap;
use std::task::Waker;

use crate::sync::Mutex;
use crate::wakers::wake_all;

/// A ticket's place; each has another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TicketId {
    position: u64,
    serial: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Tickets(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    serial: u64,
    wakers: BTreeMap<TicketId, Waker>,
}

impl Tickets {
    /// Has the waker woken once the log is durable up to `position`, or never will be; false where `is_over` says that this
    /// is so already. `id`: the ticket's place, once it has one.
    pub(crate) fn register(
        &self,
        position: u64,
        id: &mut Option<TicketId>,
        waker: &Waker,
        is_over: impl FnOnce() -> bool,
    ) -> bool {
        let waker = waker.clone();
        let mut waiting = self.0.lock();
        if is_over() {
            return false;
        }
        let id = *id.get_or_insert_with(|| {
            waiting.serial += 1;
            TicketId { position, serial: waiting.serial }
        });
        let before = waiting.wakers.insert(id, waker);
        drop(waiting);
        drop(before);
        true
    }

    /// Nobody waits with this ticket any more.
    pub(crate) fn forget(&self, id: TicketId) {
        let forgotten = self.0.lock().wakers.remove(&id);
        // What belongs to a waker ends without the lock.
        drop(forgotten);
    }

    /// The log is durable up to `durable`.
    pub(super) fn wake(&self, durable: u64) {
        let due = {
            let mut waiting = self.0.lock();
            let later = waiting.wakers.split_off(&TicketId { position: durable, serial: u64::MAX });
            std::mem::replace(&mut waiting.wakers, later)
        };
        wake_each(due);
    }

    /// Nothing will be durable any more.
    #[cold]
    pub(crate) fn wake_all(&self) {
        let all = std::mem::take(&mut self.0.lock().wakers);
        wake_each(all);
    }
}

fn wake_each(wakers: BTreeMap<TicketId, Waker>) {
    wake_all(wakers.into_values());
}
