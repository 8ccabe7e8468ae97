//! What a session has heard, and nobody has taken yet.
//!
//! What must hold: it is never more than [`HEARD_BYTES_MAX`]: beyond that the oldest is dropped, and counted by what follows it; so
//! whoever notifies waits for nobody who listens. While a transaction is open in the session, nothing is given out.
//! (What [wakers](Wakers) ask for holds, too.)

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use cairn_storage::{Process, Wakers, wake_all};

use super::Notification;
use super::said::{NOTE_BYTES, Note};
use crate::sync::{self, Condvar, Mutex, MutexGuard};

/// What waits for one session takes no more memory than this.
pub(super) const HEARD_BYTES_MAX: usize = 4 << 20;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Listener {
    heard: Mutex<Heard>,
    changed: Condvar,
    /// Where it hears: in a child of the process nobody says anything, and who had a lock is not there.
    process: Process,
}

#[derive(Debug, Default)]
struct Heard {
    waiting: VecDeque<Notification>,
    bytes: usize,
    /// Those to which it listens, in the order in which it began to.
    channels: Vec<Arc<str>>,
    /// The transactions that hold back what is heard.
    holds: usize,
    is_over: bool,
    wakers: Wakers,
}

/// Holds back what is heard for as long as it lives.
#[derive(Debug)]
pub(crate) struct Hold(Arc<Listener>);

impl Hold {
    pub(super) fn of(listener: &Arc<Listener>) -> Hold {
        listener.heard().holds += 1;
        Hold(listener.clone())
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if !self.0.is_here() {
            return;
        }
        let mut wakers = Vec::new();
        self.0.change(&mut wakers, |heard| heard.holds -= 1);
        wake_all(wakers);
    }
}

/// What there is for who asks.
pub(super) enum Taken {
    Some(Notification),
    Nothing,
    /// And there will be nothing.
    Over,
}

impl Listener {
    pub(super) fn is_here(&self) -> bool {
        self.process.is_current()
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock()
    }

    /// Changes something, and tells those who wait, of whom tasks are left in `wakers`: to be woken once no lock is held.
    fn change(&self, wakers: &mut Vec<Waker>, change: impl FnOnce(&mut Heard)) {
        let mut heard = self.heard();
        change(&mut heard);
        heard.tell(wakers);
        drop(heard);
        self.changed.notify_all();
    }

    pub(super) fn hear(&self, note: &Note, from: (bool, i32), wakers: &mut Vec<Waker>) {
        self.change(wakers, |heard| heard.add(note, from));
    }

    pub(super) fn channels(&self) -> Vec<Arc<str>> {
        self.heard().channels.clone()
    }

    /// False: it listens to the channel already, or to none any more.
    pub(super) fn add_channel(&self, channel: &Arc<str>) -> bool {
        let mut heard = self.heard();
        let is_new = !heard.is_over && !heard.channels.contains(channel);
        if is_new {
            heard.channels.push(channel.clone());
        }
        is_new
    }

    pub(super) fn remove_channel(&self, channel: &str) {
        self.heard().channels.retain(|known| **known != *channel);
    }

    pub(super) fn take_channels(&self) -> Vec<Arc<str>> {
        std::mem::take(&mut self.heard().channels)
    }

    /// Nothing more is heard.
    pub(super) fn end(&self, wakers: &mut Vec<Waker>) {
        self.change(wakers, |heard| heard.is_over = true);
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.heard().look(), Taken::Over)
    }

    /// Those who wait look again whether they still do.
    pub(super) fn rouse(&self) {
        let wakers = self.heard().wakers.take_all();
        self.changed.notify_all();
        wake_all(wakers);
    }

    /// All there is.
    pub(super) fn take_all(&self) -> Vec<Notification> {
        let mut heard = self.heard();
        std::iter::from_fn(|| if let Taken::Some(notification) = heard.take() { Some(notification) } else { None })
            .collect()
    }

    /// The next, waiting for it until then, unless the caller gives up.
    pub(super) fn take(&self, until: Option<Instant>, gives_up: &dyn Fn() -> bool) -> Option<Notification> {
        let mut heard = self.heard();
        loop {
            match heard.take() {
                Taken::Some(notification) => return Some(notification),
                Taken::Over => return None,
                Taken::Nothing if gives_up() => return None,
                Taken::Nothing => {}
            }
            heard = match until.map(|until| until.saturating_duration_since(sync::now())) {
                None => self.changed.wait(heard),
                Some(Duration::ZERO) => return None,
                Some(left) => self.changed.wait_for(heard, left),
            };
        }
    }

    /// The next; where there is nothing, the waker is woken when there is. `place`: of who asks, once he has one.
    pub(super) fn poll(&self, place: &mut Option<u64>, waker: &Waker) -> Taken {
        let waker = waker.clone();
        let mut heard = self.heard();
        let taken = heard.take();
        if matches!(taken, Taken::Nothing) {
            let before = heard.wakers.put(place, waker);
            drop(heard);
            drop(before);
        }
        taken
    }

    /// Nobody asks from there any more.
    pub(super) fn forget(&self, place: u64) {
        let forgotten = self.heard().wakers.take(place);
        drop(forgotten);
    }
}

impl Heard {
    fn look(&self) -> Taken {
        match self.waiting.is_empty() {
            _ if self.holds > 0 && !self.is_over => Taken::Nothing,
            true if self.is_over => Taken::Over,
            _ => Taken::Nothing,
        }
    }

    fn take(&mut self) -> Taken {
        if self.holds > 0 && !self.is_over {
            return Taken::Nothing;
        }
        match self.waiting.pop_front() {
            Some(notification) => {
                self.bytes -= bytes_of(&notification);
                Taken::Some(notification)
            }
            None => self.look(),
        }
    }

    fn add(&mut self, note: &Note, (is_own, process): (bool, i32)) {
        if self.is_over {
            return;
        }
        let Note { channel, payload } = note.clone();
        let mut added = Notification { channel, payload, missed: 0, is_own, process };
        self.bytes += bytes_of(&added);
        while self.bytes > HEARD_BYTES_MAX
            && let Some(oldest) = self.waiting.pop_front()
        {
            self.bytes -= bytes_of(&oldest);
            self.waiting.front_mut().unwrap_or(&mut added).missed += oldest.missed + 1;
        }
        self.waiting.push_back(added);
    }

    /// Those who wait for something, if there is.
    fn tell(&mut self, wakers: &mut Vec<Waker>) {
        if self.is_over || self.holds == 0 {
            wakers.extend(self.wakers.take_all());
        }
    }
}

fn bytes_of(notification: &Notification) -> usize {
    NOTE_BYTES + notification.channel.len() + notification.payload.len()
}
