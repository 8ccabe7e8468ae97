//! Locks, waits, sleeps, stacks and the clock for what is built on the engine: from where the engine's own come (`sync.rs`), so that
//! whoever owns those, a simulation, owns these too.
//!
//! - A lock that somebody panicked under is taken as it is: who shares one keeps what is under it whole at each step.
//! - Threads that go on by themselves are begun by the store ([`Store::spawn`](crate::Store::spawn)), whose host may be a simulated one.
//! - Not simulated: a thread that only lends its stack ([`on_own_stack`]), and what is made once (`OnceLock`).

use std::fmt;
use std::sync::{LockResult, PoisonError, TryLockError};
use std::time::{Duration, Instant, SystemTime};

use crate::sync::{RawCondvar, RawMutex, thread};

pub use crate::sync::MutexGuard;

/// A mutex. One that a thread panicked with is taken as it is.
///
/// ```
/// let sum = cairn_storage::seam::Mutex::new(1);
/// *sum.lock() += 1;
/// assert_eq!(sum.into_inner(), 2);
/// ```
#[derive(Default)]
pub struct Mutex<T>(RawMutex<T>);

impl<T> Mutex<T> {
    /// Nobody has it.
    #[inline]
    pub const fn new(value: T) -> Mutex<T> {
        Mutex(RawMutex::new(value))
    }

    /// Waits for who has it.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        as_it_is(self.0.lock())
    }

    /// `None`: somebody has it.
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// What is in it, of which there is no other user.
    #[inline]
    pub fn into_inner(self) -> T {
        as_it_is(self.0.into_inner())
    }

    /// What is in it, of which there is no other user now.
    #[inline]
    pub fn get_mut(&mut self) -> &mut T {
        as_it_is(self.0.get_mut())
    }
}

impl<T: fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[inline]
fn as_it_is<G>(locked: LockResult<G>) -> G {
    locked.unwrap_or_else(PoisonError::into_inner)
}

/// A condition variable over [`Mutex`].
#[derive(Debug, Default)]
pub struct Condvar(RawCondvar);

impl Condvar {
    /// Nobody waits.
    pub const fn new() -> Condvar {
        Condvar(RawCondvar::new())
    }

    /// Until somebody wakes, or for no reason.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        as_it_is(self.0.wait(guard))
    }

    /// The same, for so long at most.
    pub fn wait_for<'a, T>(&self, guard: MutexGuard<'a, T>, time: Duration) -> MutexGuard<'a, T> {
        as_it_is(self.0.wait_timeout(guard, time)).0
    }

    /// Wakes one of those who wait.
    #[inline]
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes all who wait.
    #[inline]
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

/// The clock that only goes on.
#[inline]
pub fn now() -> Instant {
    #[cfg(feature = "simulated")]
    if let Some(now) = crate::simulated::now() {
        return now;
    }
    Instant::now()
}

/// How long it is since then.
#[inline]
pub fn since(then: Instant) -> Duration {
    now().saturating_duration_since(then)
}

/// The date and the time.
#[inline]
pub fn wall_clock() -> SystemTime {
    #[cfg(feature = "simulated")]
    if let Some(now) = crate::simulated::wall_clock() {
        return now;
    }
    SystemTime::now()
}

/// The caller does nothing for so long.
pub fn sleep(time: Duration) {
    thread::sleep(time);
}

/// Others may go on.
pub fn yield_now() {
    #[cfg(feature = "simulated")]
    crate::simulated::yield_now();
    #[cfg(not(feature = "simulated"))]
    std::thread::yield_now();
}

/// Which thread it is: as long as it runs, no other is equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadId(std::thread::ThreadId, usize);

/// The caller's.
pub fn this_thread() -> ThreadId {
    #[cfg(feature = "simulated")]
    let simulated = crate::simulated::this_thread();
    #[cfg(not(feature = "simulated"))]
    let simulated = 0;
    ThreadId(std::thread::current().id(), simulated)
}

/// Runs `work` on a stack of so many bytes of its own, `meanwhile` on the caller's, and waits for both. A panic of `work` is the caller's.
pub fn on_own_stack<T: Send>(
    name: &str,
    bytes: usize,
    work: impl FnOnce() -> T + Send,
    meanwhile: impl FnOnce(),
) -> std::io::Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name(name.to_owned()).stack_size(bytes);
        let working = thread.spawn_scoped(scope, work)?;
        meanwhile();
        Ok(working.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_somebody_panicked_with_is_taken_as_it_is() {
        let lock = Mutex::new(1);
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            *lock.lock() = 2;
            panic!("with the lock");
        }));
        assert!(panicked.is_err());
        assert_eq!(lock.try_lock().map(|held| *held), Some(2));
        let held = lock.lock();
        assert!(lock.try_lock().is_none(), "somebody has it");
        drop(held);
        assert_eq!(lock.into_inner(), 2);
    }

    #[test]
    fn a_stack_of_its_own_is_another_threads() {
        let here = this_thread();
        let mut met = false;
        let there = on_own_stack("test", 1 << 20, this_thread, || met = true).unwrap();
        assert!(there != here && met);
        assert_eq!(this_thread(), here);
    }
}
