//! What a pool of connections needs of a session.

use std::sync::Arc;

use super::sequences::SessionSequences;
use super::settings::Settings;
use super::{InterruptHandle, Session};

impl Session {
    /// The settings that it has now.
    pub(crate) fn settings(&self) -> Arc<Settings> {
        self.state.borrow().settings.clone()
    }

    /// A handle that interrupts what is run until this is called again: what runs when it is used, and all that begins after that.
    pub(crate) fn renew_interrupt(&mut self) -> InterruptHandle {
        self.interrupt = Arc::default();
        self.channels().locks.renew_interrupt(&self.interrupt);
        self.keeps_interrupt = true;
        self.interrupt_handle()
    }

    /// Runs `work`, whose commits are not waited for; the last of them, if there is any to wait for.
    pub(crate) fn pipelined<T>(&self, work: impl FnOnce() -> T) -> (T, Option<cairn_storage::Ticket>) {
        self.pending.take();
        self.pipelines.set(true);
        let done = work();
        self.pipelines.set(false);
        (done, self.pending.take())
    }

    /// Forgets what does not matter to the next user; false: something of the last user's would matter, who had it with these settings.
    pub(crate) fn end_use(&self, settings: &Arc<Settings>) -> bool {
        self.take_notices();
        self.channels().random.forget();
        *self.sequences.lock() = SessionSequences::default();
        if self.forget_losses().is_err() {
            return false;
        }
        let state = self.state.borrow();
        state.transaction.is_none()
            && Arc::ptr_eq(&state.settings, settings)
            && self.named().is_empty()
            && !self.has_cursors()
            && !self.channels().is_listening()
            && !self.channels().locks.has_any()
    }
}
