//! What stops a statement: a flag that others set, and a handler that the thread which runs it asks.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::sync::{self, Mutex};

/// Says whether a statement is to go on.
pub(crate) type Handler = Arc<dyn Fn() -> bool + Send + Sync>;

/// A session's: the flag, which it derefs to, and the handler, if it has one.
#[derive(Default)]
pub struct Interrupt {
    is_set: AtomicBool,
    has_handler: AtomicBool,
    handler: Mutex<Option<Asked>>,
}

struct Asked {
    handler: Handler,
    every: Duration,
    next: Instant,
}

impl Interrupt {
    /// From now on the handler is asked, about so often.
    pub(crate) fn set_handler(&self, handler: Option<(Duration, Handler)>) {
        let asked = handler.map(|(every, handler)| Asked { handler, every, next: sync::now() });
        self.has_handler.store(asked.is_some(), Ordering::Relaxed);
        *self.handler.lock() = asked;
    }

    /// Whether there is a handler that does not want it to go on.
    #[inline]
    pub(crate) fn is_refused(&self) -> bool {
        self.has_handler.load(Ordering::Relaxed) && self.asks()
    }

    #[cold]
    fn asks(&self) -> bool {
        // Asked without the lock: it may do anything.
        let handler = {
            let mut asked = self.handler.lock();
            let Some(asked) = &mut *asked else { return false };
            let now = sync::now();
            if now < asked.next {
                return false;
            }
            asked.next = now + asked.every;
            asked.handler.clone()
        };
        !handler()
    }
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.is_set.fmt(out)
    }
}

impl Deref for Interrupt {
    type Target = AtomicBool;

    fn deref(&self) -> &AtomicBool {
        &self.is_set
    }
}
