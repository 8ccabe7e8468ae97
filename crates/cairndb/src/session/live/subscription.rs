//! Who watches a query, until he leaves.

use std::sync::Arc;
use std::time::Duration;

use super::query::Done;
use super::result::RowForm;
use super::service::Service;
use super::shown::Shown;
use super::subscriber::{End, Subscriber};
use crate::plan::Field;
use crate::session::next::Stop;

/// One who watches.
pub(super) struct Subscription {
    pub(super) watching: Arc<Watching>,
    pub(super) fields: Arc<[Field]>,
    pub(super) key: Option<Arc<[usize]>>,
    pub(super) form: Arc<RowForm>,
}

/// Who watches what.
pub(super) struct Watching {
    pub(super) service: Arc<Service>,
    pub(super) shown: Arc<Shown>,
    pub(super) subscriber: Arc<Subscriber>,
}

impl Subscription {
    /// How its query was kept current so far, for all who watch it.
    pub(super) fn done(&self) -> Done {
        match self.subscriber().process.is_current() {
            true => *self.watching.shown.done.lock(),
            false => Done::default(),
        }
    }

    pub(super) fn subscriber(&self) -> &Arc<Subscriber> {
        &self.watching.subscriber
    }

    /// Whether the query was brought to a state of this position, or one behind it: its changes are there to be taken. Waits for a
    /// while otherwise.
    pub(super) fn has_reached(&self, position: u64, time: Duration) -> bool {
        let looked = self.watching.service.looked.lock();
        let is_behind = || self.watching.service.queries.lock().is_behind(self.watching.shown.id);
        if *looked >= position && !is_behind() {
            return true;
        }
        // Commits that are nothing to the query do not wake the thread.
        self.watching.service.interest.call();
        let looked = self.watching.service.has_looked.wait_for(looked, time);
        *looked >= position && !is_behind()
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.watching.leave();
    }
}

impl Stop for Watching {
    fn stop(&self) {
        if self.subscriber.process.is_current() {
            self.subscriber.end(End::Closed);
            self.leave();
        }
    }
}

impl Watching {
    fn leave(&self) {
        // In a child of the process there is nobody to be left.
        if !self.subscriber.process.is_current() {
            return;
        }
        self.subscriber.leave();
        let mut subscribers = self.shown.subscribers.lock();
        subscribers.retain(|subscriber| !Arc::ptr_eq(subscriber, &self.subscriber));
        // Who joins holds the list of queries, too: nobody comes in between.
        let is_last = subscribers.is_empty();
        drop(subscribers);
        if is_last {
            self.service.leave(&self.shown);
        }
    }
}
