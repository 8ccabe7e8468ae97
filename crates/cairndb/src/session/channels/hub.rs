//! The channels of a database: who listens to them, and what commits have to tell them.
//!
//! ```text
//! commit: place in the order (under the commit lock) -> durable and visible -> told, behind all that is before it
//! ```
//! What must hold:
//! - A commit tells nothing before it is acknowledged, and nothing if it fails.
//! - All listeners hear in the order of commits; a session that listens from a commit on hears of all commits behind it.
//!   So what a commit tells and to what it listens has one place in a queue, which is taken under the commit lock, and the queue is
//!   worked off from its head, by whoever comes, one at a time.
//! - Under the commit lock nobody waits for listeners: the queue has a lock of its own, held for a moment.
//! - Who waits is woken while none of these locks is held.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Weak};
use std::task::Waker;

use cairn_storage::{self as storage, wake_all};

use super::listener::Listener;
use super::said::{Note, Said, Wish};
use crate::Result;
use crate::sync::Mutex;

/// See the module.
#[derive(Default)]
pub(crate) struct Channels {
    queue: Mutex<Queue>,
    listeners: Mutex<Listeners>,
}

#[derive(Default)]
struct Queue {
    places: VecDeque<Place>,
    last: u64,
}

struct Place {
    number: u64,
    /// Behind the commit in the log.
    position: u64,
    is_acknowledged: bool,
    told: Told,
}

/// What a commit tells.
pub(super) struct Told {
    /// The number of the session.
    pub(super) process: i32,
    /// Of the session, if it ever listened.
    pub(super) by: Option<Arc<Listener>>,
    pub(super) said: Said,
}

#[derive(Default)]
struct Listeners {
    by_channel: HashMap<Arc<str>, Vec<Arc<Listener>>>,
    /// Those that listen to nothing among them.
    all: Vec<Weak<Listener>>,
    is_closed: bool,
}

/// What is told once a commit is acknowledged; dropped before that, nothing is.
pub(crate) struct Telling<'a> {
    channels: &'a Channels,
    /// Until it has its place.
    told: Option<Told>,
    place: Option<u64>,
}

impl Channels {
    pub(super) fn new_listener(&self) -> Arc<Listener> {
        let listener = Arc::<Listener>::default();
        let mut listeners = self.listeners.lock();
        listeners.all.retain(|known| known.strong_count() > 0);
        listeners.all.push(Arc::downgrade(&listener));
        if listeners.is_closed {
            // Nobody waits for it yet.
            listener.end(&mut Vec::new());
        }
        listener
    }

    /// Its session is gone.
    pub(super) fn leave(&self, listener: &Arc<Listener>) {
        let mut wakers = Vec::new();
        let mut listeners = self.listeners.lock();
        listeners.unlisten_all(listener);
        // Under the lock: what it wishes afterwards is not done.
        listener.end(&mut wakers);
        drop(listeners);
        wake_all(wakers);
    }

    /// The database is being closed.
    pub(crate) fn close(&self) {
        let all = {
            let mut listeners = self.listeners.lock();
            listeners.is_closed = true;
            std::mem::take(&mut listeners.all)
        };
        let mut wakers = Vec::new();
        all.iter().filter_map(Weak::upgrade).for_each(|listener| listener.end(&mut wakers));
        wake_all(wakers);
    }

    /// Nobody listens any more in a database that is closed, and who notifies is told so.
    pub(super) fn check_open(&self) -> Result<()> {
        if self.listeners.lock().is_closed { Err(storage::Error::Closed.into()) } else { Ok(()) }
    }

    pub(super) fn tell(&self, told: Told) -> Telling<'_> {
        Telling { channels: self, told: Some(told), place: None }
    }

    fn enter(&self, told: Told, position: Option<u64>) -> u64 {
        let mut queue = self.queue.lock();
        queue.last += 1;
        let number = queue.last;
        let (is_acknowledged, position) = (position.is_none(), position.unwrap_or_default());
        queue.places.push_back(Place { number, position, is_acknowledged, told });
        number
    }

    /// Those who have nothing to wait for any more, from the head of the queue on.
    fn work_off(&self) {
        let mut wakers = Vec::new();
        {
            let mut listeners = self.listeners.lock();
            while let Some(told) = self.next() {
                listeners.take(&told, &mut wakers);
            }
        }
        wake_all(wakers);
    }

    fn next(&self) -> Option<Told> {
        let mut queue = self.queue.lock();
        let is_ready = queue.places.front().is_some_and(|place| place.is_acknowledged);
        if is_ready { queue.places.pop_front().map(|place| place.told) } else { None }
    }
}

impl Telling<'_> {
    /// Under the commit lock: takes its place in the order of commits.
    pub(crate) fn appended(&mut self, position: u64) {
        self.place = self.told.take().map(|told| self.channels.enter(told, Some(position)));
    }

    /// The commit is acknowledged, and with it all before it.
    pub(crate) fn acknowledged(mut self, position: Option<u64>) {
        if let Some(told) = self.told.take() {
            // Nothing was changed: its place is here.
            self.channels.enter(told, None);
        }
        let position = position.unwrap_or_default();
        let mut queue = self.channels.queue.lock();
        let number = self.place.take();
        for place in &mut queue.places {
            place.is_acknowledged |= place.position <= position || number == Some(place.number);
        }
        drop(queue);
        self.channels.work_off();
    }
}

impl Drop for Telling<'_> {
    fn drop(&mut self) {
        let Some(number) = self.place else { return };
        self.channels.queue.lock().places.retain(|place| place.number != number);
        // What it stood before need not wait for it.
        self.channels.work_off();
    }
}

impl Listeners {
    fn take(&mut self, told: &Told, wakers: &mut Vec<Waker>) {
        if let Some(by) = &told.by {
            told.said.wishes.iter().for_each(|wish| self.grant(wish, by));
        }
        for note in &told.said.notes {
            self.notify(note, told, wakers);
        }
    }

    fn grant(&mut self, wish: &Wish, by: &Arc<Listener>) {
        match wish {
            Wish::Listen(channel) => {
                if by.add_channel(channel) {
                    self.by_channel.entry(channel.clone()).or_default().push(by.clone());
                }
            }
            Wish::Unlisten(channel) => {
                by.remove_channel(channel);
                self.leave_channel(channel, by);
            }
            Wish::UnlistenAll => self.unlisten_all(by),
        }
    }

    fn unlisten_all(&mut self, by: &Arc<Listener>) {
        by.take_channels().iter().for_each(|channel| self.leave_channel(channel, by));
    }

    fn leave_channel(&mut self, channel: &str, by: &Arc<Listener>) {
        let Some(listeners) = self.by_channel.get_mut(channel) else { return };
        listeners.retain(|listener| !Arc::ptr_eq(listener, by));
        if listeners.is_empty() {
            self.by_channel.remove(channel);
        }
    }

    fn notify(&self, note: &Note, told: &Told, wakers: &mut Vec<Waker>) {
        for listener in self.by_channel.get(&note.channel).into_iter().flatten() {
            let is_own = told.by.as_ref().is_some_and(|by| Arc::ptr_eq(by, listener));
            listener.hear(note, (is_own, told.process), wakers);
        }
    }
}
