//! Waiting for commits: for what they append, and until one can be seen.

use std::fmt;
use std::sync::{Arc, Weak};
use std::task::Waker;
use std::time::Duration;

use crate::broken::{self, Broken};
use crate::engine::{Act, Bell, Engine, Handle};
use crate::page::Owner;
use crate::{Error, Result};

/// Hears of commits that appended ([`Transaction::append`](super::Transaction::append)) once they are durable.
///
/// [`note`](AppendListener::note), look at what there is, wait: nothing is missed. While somebody listens, commits in mode `off`
/// are written as often as those in mode `interval`.
pub struct AppendListener {
    handle: Arc<Handle>,
    seen: u64,
    /// Its place among those whose wakers are woken, once it has one.
    place: Option<u64>,
}

impl fmt::Debug for AppendListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AppendListener")
    }
}

impl AppendListener {
    pub(crate) fn new(handle: &Arc<Handle>) -> AppendListener {
        handle.engine().appended.listen();
        AppendListener { handle: handle.clone(), seen: 0, place: None }
    }

    fn bell(&self) -> &Bell {
        &self.handle.engine().appended
    }

    /// What becomes durable from now on ends a wait.
    pub fn note(&mut self) {
        if self.handle.is_here() {
            self.seen = self.bell().times();
        }
    }

    /// By which somebody else ends its wait.
    pub fn caller(&self) -> AppendCall {
        AppendCall { handle: Arc::downgrade(&self.handle) }
    }

    /// The position up to which what was appended is durable.
    pub fn durable(&self) -> u64 {
        match broken::is(Broken::AppendsUndurable) {
            false => self.handle.engine().durable(),
            true => u64::MAX,
        }
    }

    /// Fails once nothing is committed any more: the database is being closed, or failed, or is only read. And in a child of
    /// the process that opened it, where nothing here waits.
    pub fn check(&self) -> Result<()> {
        self.handle.engine_here()?.publisher.life.check(Act::Change)
    }

    /// Sleeps until something was appended since the last `note`, for at most so long, or for no reason.
    pub fn wait(&self, longest: Option<Duration>) {
        if self.handle.is_here() {
            self.bell().wait(self.seen, longest);
        }
    }

    /// Has the waker woken, in place of the one before, once something is appended; false if something was since the last
    /// `note`.
    pub fn wake(&mut self, waker: &Waker) -> bool {
        let bell = &self.handle.engine().appended;
        self.handle.is_here() && bell.wake(self.seen, &mut self.place, waker)
    }
}

/// Ends the waits of those who hear of appends, for no reason that they know of. It keeps nothing open.
pub struct AppendCall {
    handle: Weak<Handle>,
}

impl fmt::Debug for AppendCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AppendCall")
    }
}

impl AppendCall {
    /// Calls them.
    pub fn call(&self) {
        if let Some(handle) = self.handle.upgrade().filter(|handle| handle.is_here()) {
            handle.engine().appended.ring();
        }
    }
}

impl Drop for AppendListener {
    fn drop(&mut self) {
        self.bell().leave();
        if let Some(place) = self.place.filter(|_| self.handle.is_here()) {
            self.bell().forget(place);
        }
    }
}

impl Engine {
    /// Whether readers see the commit at `position` before so much time has passed, or the caller gives up.
    pub(crate) fn wait_visible(
        &self,
        position: u64,
        longest: Option<Duration>,
        gives_up: &dyn Fn() -> bool,
    ) -> Result<bool> {
        if self.newest_position()? >= position {
            return Ok(true);
        }
        // `gives_up` is the caller's, and may panic.
        let _listening = self.published.listening();
        self.wait_listening(position, longest, gives_up)
    }

    /// Of what readers see.
    fn newest_position(&self) -> Result<u64> {
        let (slot, version) = self.enter_newest(Owner::Engine)?;
        let position = version.position;
        self.pages.slots.release(slot);
        Ok(position)
    }

    fn wait_listening(&self, position: u64, longest: Option<Duration>, gives_up: &dyn Fn() -> bool) -> Result<bool> {
        /// How often who waits looks whether the caller has given up.
        const LOOK: Duration = Duration::from_millis(10);
        let until = longest.map(|longest| self.env.host.now() + longest);
        loop {
            let times = self.published.times();
            if self.newest_position()? >= position {
                return Ok(true);
            }
            self.publisher.life.check(Act::Log)?;
            let left = until.map(|until| until.saturating_sub(self.env.host.now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(false);
            }
            if gives_up() {
                return Err(Error::GivenUp);
            }
            self.published.wait(times, Some(left.map_or(LOOK, |left| left.min(LOOK))));
        }
    }
}
