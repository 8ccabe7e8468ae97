//! The engine's locks, condition variables, atomics and sleeps under a scheduler that owns every interleaving.
//!
//! Compiled in only with the feature `simulated`. A thread of the system that [`run_under`] a scheduler carries many
//! simulated threads, of which one runs at a time; each place below tells the scheduler that another may go on. What
//! must hold: nothing between a look at a shared value and the change that rests on it gives way, unless the same could
//! happen between two threads of a real machine. Threads without a scheduler use std's primitives as ever, so that the
//! ordinary tests of a build with this feature test the same engine.
//!
//! Locks, waits, wakings and sleeps always ask the scheduler. Atomics, which are many, count down to the next one that
//! does ([`Scheduler::stride`]). All atomics are sequentially consistent here: the order of steps is simulated, not
//! the memory model.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::{LazyLock, LockResult, PoisonError, TryLockError, TryLockResult};
use std::time::{Duration, Instant, SystemTime};

/// Decides which simulated thread goes on.
pub trait Scheduler {
    /// Another thread may go on instead of the caller.
    fn point(&self);
    /// The caller sleeps until somebody wakes those at `place`, or for at most so long, or (rarely) for no reason.
    fn wait(&self, place: usize, longest: Option<Duration>);
    /// Ends the wait of one, or of all, who wait at `place`.
    fn wake(&self, place: usize, all: bool);
    /// The caller sleeps.
    fn sleep(&self, time: Duration);
    /// How long it is since the run began.
    fn now(&self) -> Duration;
    /// The number of the caller's simulated thread.
    fn thread(&self) -> usize;
    /// How many atomic operations from now the next point is.
    fn stride(&self) -> u32;
}

thread_local! {
    static SCHEDULER: RefCell<Option<Rc<dyn Scheduler>>> = const { RefCell::new(None) };
    /// Atomic operations until the next point.
    static LEFT: Cell<u32> = const { Cell::new(u32::MAX) };
}

/// Runs `work` on the calling thread with everything of the engine that happens there under `scheduler`.
pub fn run_under<R>(scheduler: Rc<dyn Scheduler>, work: impl FnOnce() -> R) -> R {
    LEFT.set(scheduler.stride());
    SCHEDULER.set(Some(scheduler));
    let result = work();
    SCHEDULER.set(None);
    result
}

/// Calls `ask` with the scheduler, if this thread is under one. Nothing stays borrowed while other threads run.
fn with<R>(ask: impl FnOnce(&dyn Scheduler) -> R) -> Option<R> {
    let scheduler = SCHEDULER.with_borrow(Clone::clone)?;
    Some(ask(&*scheduler))
}

fn point() {
    with(|scheduler| scheduler.point());
}

#[inline]
fn atomic() {
    let left = LEFT.get();
    LEFT.set(left.wrapping_sub(1));
    if left == 0 {
        reach_point();
    }
}

#[cold]
fn reach_point() {
    let stride = with(|scheduler| {
        scheduler.point();
        scheduler.stride()
    });
    LEFT.set(stride.unwrap_or(u32::MAX));
}

pub(crate) fn sleep(time: Duration) {
    if with(|scheduler| scheduler.sleep(time)).is_none() {
        std::thread::sleep(time);
    }
}

pub(crate) fn yield_now() {
    if with(|scheduler| scheduler.point()).is_none() {
        std::thread::yield_now();
    }
}

pub(crate) fn now() -> Option<Instant> {
    /// When the process began to ask.
    static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
    with(|scheduler| *BEGIN + scheduler.now())
}

/// Simulated runs begin with 2020.
pub(crate) fn wall_clock() -> Option<SystemTime> {
    const BEGIN: Duration = Duration::from_secs(1_577_836_800);
    with(|scheduler| SystemTime::UNIX_EPOCH + BEGIN + scheduler.now())
}

/// Of the one thread that is real, each simulated one is another.
pub(crate) fn this_thread() -> usize {
    with(|scheduler| scheduler.thread()).map_or(0, |number| number + 1)
}

/// As std's.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(std::sync::Mutex<T>);

/// As std's.
#[derive(Debug)]
pub struct MutexGuard<'a, T> {
    /// Taken only by `unlock`.
    held: Option<std::sync::MutexGuard<'a, T>>,
    mutex: &'a Mutex<T>,
}

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Mutex<T> {
        Mutex(std::sync::Mutex::new(value))
    }

    pub(crate) fn into_inner(self) -> LockResult<T> {
        self.0.into_inner()
    }

    pub(crate) fn get_mut(&mut self) -> LockResult<&mut T> {
        self.0.get_mut()
    }

    fn place(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    pub(crate) fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        point();
        self.relock()
    }

    pub(crate) fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        point();
        self.take()
    }

    fn guard<'a>(&'a self, held: std::sync::MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        MutexGuard { held: Some(held), mutex: self }
    }

    fn take(&self) -> TryLockResult<MutexGuard<'_, T>> {
        self.0.try_lock().map(|held| self.guard(held)).map_err(|error| match error {
            TryLockError::Poisoned(held) => PoisonError::new(self.guard(held.into_inner())).into(),
            TryLockError::WouldBlock => TryLockError::WouldBlock,
        })
    }

    fn relock(&self) -> LockResult<MutexGuard<'_, T>> {
        loop {
            match self.take() {
                Ok(guard) => return Ok(guard),
                Err(TryLockError::Poisoned(held)) => return Err(held),
                Err(TryLockError::WouldBlock) => {}
            }
            if with(|scheduler| scheduler.wait(self.place(), None)).is_none() {
                let poisoned = |held: PoisonError<_>| PoisonError::new(self.guard(held.into_inner()));
                return self.0.lock().map(|held| self.guard(held)).map_err(poisoned);
            }
        }
    }
}

impl<'a, T> MutexGuard<'a, T> {
    /// Unlocks without giving way; returns the mutex.
    fn unlock(mut self) -> &'a Mutex<T> {
        self.release();
        self.mutex
    }

    fn release(&mut self) {
        if self.held.take().is_some() {
            with(|scheduler| scheduler.wake(self.mutex.place(), true));
        }
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        self.release();
    }
}

impl<T> std::ops::Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.held.as_ref().expect("held until it is dropped")
    }
}

impl<T> std::ops::DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.held.as_mut().expect("held until it is dropped")
    }
}

/// As std's.
#[derive(Debug, Default)]
pub(crate) struct Condvar(std::sync::Condvar);

impl Condvar {
    pub(crate) const fn new() -> Condvar {
        Condvar(std::sync::Condvar::new())
    }

    fn place(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        self.wait_at_most(guard, None)
    }

    pub(crate) fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        time: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, ())> {
        let poisoned = |held: PoisonError<MutexGuard<'a, T>>| PoisonError::new((held.into_inner(), ()));
        self.wait_at_most(guard, Some(time)).map(|guard| (guard, ())).map_err(poisoned)
    }

    fn wait_at_most<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        longest: Option<Duration>,
    ) -> LockResult<MutexGuard<'a, T>> {
        if SCHEDULER.with_borrow(Option::is_none) {
            return self.wait_really(guard, longest);
        }
        // Nobody else runs between the two, so no waking is missed.
        let mutex = guard.unlock();
        with(|scheduler| scheduler.wait(self.place(), longest));
        mutex.relock()
    }

    fn wait_really<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        longest: Option<Duration>,
    ) -> LockResult<MutexGuard<'a, T>> {
        let mutex = guard.mutex;
        let held = guard.held.take().expect("held until it is dropped");
        let again = |held| MutexGuard { held: Some(held), mutex };
        let poisoned = |held| PoisonError::new(again(held));
        match longest {
            None => self.0.wait(held).map(again).map_err(|held| poisoned(held.into_inner())),
            Some(time) => match self.0.wait_timeout(held, time) {
                Ok((held, _)) => Ok(again(held)),
                Err(held) => Err(poisoned(held.into_inner().0)),
            },
        }
    }

    pub(crate) fn notify_one(&self) {
        self.notify(false);
    }

    pub(crate) fn notify_all(&self) {
        self.notify(true);
    }

    fn notify(&self, all: bool) {
        let told = with(|scheduler| {
            scheduler.point();
            scheduler.wake(self.place(), all);
        });
        match (told, all) {
            (Some(()), _) => {}
            (None, true) => self.0.notify_all(),
            (None, false) => self.0.notify_one(),
        }
    }
}

macro_rules! atomic_integers {
    ($($name:ident, $integer:ty;)*) => {$(
        /// As std's.
        #[derive(Debug, Default)]
        #[repr(transparent)]
        pub(crate) struct $name(std::sync::atomic::$name);

        #[allow(dead_code)]
        impl $name {
            pub(crate) const fn new(value: $integer) -> $name {
                $name(std::sync::atomic::$name::new(value))
            }

            #[inline]
            pub(crate) fn load(&self, order: Ordering) -> $integer {
                atomic();
                self.0.load(order)
            }

            #[inline]
            pub(crate) fn store(&self, value: $integer, order: Ordering) {
                atomic();
                self.0.store(value, order);
            }

            #[inline]
            pub(crate) fn swap(&self, value: $integer, order: Ordering) -> $integer {
                atomic();
                self.0.swap(value, order)
            }

            #[inline]
            pub(crate) fn compare_exchange(
                &self,
                current: $integer,
                new: $integer,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$integer, $integer> {
                atomic();
                self.0.compare_exchange(current, new, success, failure)
            }

            /// Nobody comes between what it reads and what it writes, here as in std's.
            #[inline]
            pub(crate) fn fetch_update(
                &self,
                set: Ordering,
                fetch: Ordering,
                update: impl FnMut($integer) -> Option<$integer>,
            ) -> Result<$integer, $integer> {
                atomic();
                self.0.fetch_update(set, fetch, update)
            }

            #[inline]
            pub(crate) fn fetch_and(&self, value: $integer, order: Ordering) -> $integer {
                atomic();
                self.0.fetch_and(value, order)
            }

            #[inline]
            pub(crate) fn fetch_or(&self, value: $integer, order: Ordering) -> $integer {
                atomic();
                self.0.fetch_or(value, order)
            }
        }
    )*};
}

macro_rules! atomic_arithmetic {
    ($($name:ident, $integer:ty;)*) => {$(
        #[allow(dead_code)]
        impl $name {
            #[inline]
            pub(crate) fn fetch_add(&self, value: $integer, order: Ordering) -> $integer {
                atomic();
                self.0.fetch_add(value, order)
            }

            #[inline]
            pub(crate) fn fetch_sub(&self, value: $integer, order: Ordering) -> $integer {
                atomic();
                self.0.fetch_sub(value, order)
            }

            #[inline]
            pub(crate) fn fetch_max(&self, value: $integer, order: Ordering) -> $integer {
                atomic();
                self.0.fetch_max(value, order)
            }

            #[inline]
            pub(crate) fn fetch_min(&self, value: $integer, order: Ordering) -> $integer {
                atomic();
                self.0.fetch_min(value, order)
            }
        }
    )*};
}

atomic_integers! { AtomicBool, bool; AtomicU32, u32; AtomicU64, u64; AtomicUsize, usize; }
atomic_arithmetic! { AtomicU32, u32; AtomicU64, u64; AtomicUsize, usize; }

/// As std's.
#[derive(Debug)]
pub(crate) struct AtomicPtr<T>(std::sync::atomic::AtomicPtr<T>);

#[allow(dead_code)]
impl<T> AtomicPtr<T> {
    pub(crate) const fn new(value: *mut T) -> AtomicPtr<T> {
        AtomicPtr(std::sync::atomic::AtomicPtr::new(value))
    }

    pub(crate) fn load(&self, order: Ordering) -> *mut T {
        atomic();
        self.0.load(order)
    }

    pub(crate) fn store(&self, value: *mut T, order: Ordering) {
        atomic();
        self.0.store(value, order);
    }

    pub(crate) fn swap(&self, value: *mut T, order: Ordering) -> *mut T {
        atomic();
        self.0.swap(value, order)
    }
}
