//! When an opening tells how far it is.

use std::time::Duration;

use crate::env::Environment;
use crate::progress::{OpeningListener, OpeningProgress};

/// What takes no longer than this says nothing.
const QUIET: Duration = Duration::from_secs(1);
const BETWEEN: Duration = Duration::from_millis(100);

/// Who is told, if anybody is, and when next.
pub(super) struct Told<'a> {
    to: Option<(&'a OpeningListener, &'a Environment)>,
    began: Duration,
    next: Duration,
    /// The log: where what is applied begins, and its bytes.
    from: u64,
    bytes: u64,
    applied: u64,
}

impl<'a> Told<'a> {
    pub(super) fn new(listener: Option<&'a OpeningListener>, env: &'a Environment) -> Told<'a> {
        let to = listener.map(|listener| (listener, env));
        let began = if to.is_some() { env.host.now() } else { Duration::ZERO };
        Told { to, began, next: began + QUIET, from: 0, bytes: 0, applied: 0 }
    }

    /// `log`: where it begins, and its bytes; asked for where somebody is told.
    pub(super) fn begins<E>(&mut self, log: impl FnOnce() -> Result<(u64, u64), E>) -> Result<(), E> {
        if self.to.is_some() {
            ((self.from, self.bytes), self.applied) = (log()?, 0);
        }
        Ok(())
    }

    /// Everything before a position is applied.
    pub(super) fn applied(&mut self, position: u64) {
        self.applied = position.saturating_sub(self.from);
        self.go_on();
    }

    /// It is at work.
    pub(super) fn go_on(&mut self) {
        let Some((listener, env)) = self.to else { return };
        let now = env.host.now();
        if now >= self.next {
            self.next = now + BETWEEN;
            let (applied_bytes, log_bytes) = (self.applied.min(self.bytes), self.bytes);
            listener.tell(&OpeningProgress { applied_bytes, log_bytes, took: now - self.began });
        }
    }
}
