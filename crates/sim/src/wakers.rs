//! Tasks' wakers, which are others' code: these panic when they are woken.
//!
//! What must hold: whoever wakes one goes on as if nothing had been; and none stays where nobody waits any more.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use cairn_storage::simulated::Scheduler as _;
use cairn_storage::{AppendListener, Result, Ticket};

use crate::clients::World;
use crate::random::Random;
use crate::scheduler;

/// Milliseconds after which nobody is about to wake one any more.
const NAPS: u32 = 500;

#[derive(Default)]
struct Panics {
    is_woken: AtomicBool,
}

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        self.is_woken.store(true, Ordering::Relaxed);
        // Told to nobody: it is not a failure of the run.
        resume_unwind(Box::new("on purpose"));
    }
}

/// Those that somebody has given away.
#[derive(Default)]
pub(crate) struct Given(Vec<Arc<Panics>>);

impl Given {
    fn waker(&mut self, world: &World) -> Waker {
        world.note(|did| did.wakers += 1);
        let panics = Arc::new(Panics::default());
        self.0.push(panics.clone());
        Waker::from(panics)
    }

    /// Waits for a commit as a task does, before it is waited for otherwise.
    pub(crate) fn poll(&mut self, world: &World, ticket: &mut Ticket) -> Option<Result<()>> {
        match ticket.poll(&mut Context::from_waker(&self.waker(world))) {
            Poll::Ready(told) => Some(told),
            Poll::Pending => None,
        }
    }

    /// As a task that is called when something was appended, and does other things meanwhile. Whether it waits to be called.
    pub(crate) fn wait(&mut self, world: &World, listener: &mut AppendListener, random: &mut Random) -> bool {
        let waits = listener.wake(&self.waker(world));
        if waits {
            scheduler::current().sleep(Duration::from_micros(random.below(3000)));
        }
        waits
    }

    /// Who waited last was called, or is about to be.
    pub(crate) fn is_called(&self, world: &World) {
        let Some(last) = self.0.last() else { return };
        for nap in 0.. {
            if last.is_woken.load(Ordering::Relaxed) || world.disk.has_crashed() {
                return;
            }
            if nap > NAPS {
                scheduler::current().fail("something was appended, and who waits for that was not called".to_owned());
            }
            scheduler::current().sleep(Duration::from_millis(1));
        }
    }

    /// Once nobody waits with any of them.
    pub(crate) fn are_gone(&mut self, world: &World) {
        for nap in 0.. {
            // Who wakes some others at the moment has his copy.
            self.0.retain(|panics| Arc::strong_count(panics) > 1);
            if self.0.is_empty() || world.disk.has_crashed() {
                return;
            }
            if nap > NAPS {
                scheduler::current().fail(format!("{} wakers stay, and nobody waits", self.0.len()));
            }
            scheduler::current().sleep(Duration::from_millis(1));
        }
    }
}
