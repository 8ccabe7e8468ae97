//! The one place threads, locks and atomics come from (for what is built on the engine: `seam.rs`), so that a model checker can stand in for them
//! (`--cfg cairn_shuttle` swaps in `shuttle`, which then owns every interleaving, `--cfg cairn_loom` `loom`, see
//! `modelled.rs`) or a simulation (the feature `simulated`, see `simulated.rs`).

#[cfg(all(not(cairn_shuttle), not(cairn_loom), not(feature = "simulated")))]
mod primitives {
    pub use std::sync::MutexGuard;
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
    pub(crate) use std::sync::{Condvar as RawCondvar, Mutex as RawMutex};
    pub(crate) use std::thread;
}

#[cfg(all(not(cairn_shuttle), not(cairn_loom), feature = "simulated"))]
mod primitives {
    pub(crate) use std::sync::atomic::Ordering;

    pub use crate::simulated::MutexGuard;
    pub(crate) use crate::simulated::{
        AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Condvar as RawCondvar, Mutex as RawMutex,
    };

    pub(crate) mod thread {
        pub(crate) use std::thread::{Builder, current};

        pub(crate) use crate::simulated::sleep;
    }
}

#[cfg(cairn_shuttle)]
mod primitives {
    pub use shuttle::sync::MutexGuard;
    pub(crate) use shuttle::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
    pub(crate) use shuttle::sync::{Condvar as RawCondvar, Mutex as RawMutex};
    pub(crate) use shuttle::thread;
}

#[cfg(cairn_loom)]
use crate::modelled as primitives;

pub use primitives::MutexGuard;
pub(crate) use primitives::*;
use std::time::Duration;

/// Stands before every change of a frame's word or the page table that rests on what was read of them before: a test has
/// others do there what they could do ([`steps`]). Nothing in other builds.
#[inline(always)]
pub(crate) fn step() {
    #[cfg(test)]
    steps::reached();
}

/// Lets others go on, on whom the caller waits.
#[cold]
pub(crate) fn give_way() {
    thread::sleep(Duration::from_micros(1));
}

/// A moment in which somebody else is about to be done, on another processor.
#[inline]
fn spin() {
    #[cfg(all(not(cairn_shuttle), not(cairn_loom), not(feature = "simulated")))]
    std::hint::spin_loop();
    #[cfg(any(cairn_shuttle, cairn_loom, feature = "simulated"))]
    give_way();
}

/// What a test does at each [`step`] of a thread.
#[cfg(test)]
pub(crate) mod steps {
    use std::cell::RefCell;

    /// Whether to be called again.
    type Hook = Box<dyn FnMut() -> bool>;

    thread_local! {
        static HOOK: RefCell<Option<Hook>> = const { RefCell::new(None) };
    }

    /// Calls `hook` at each step that this thread comes to from now on, but for those of the hook itself, until it
    /// returns false.
    pub(crate) fn at_each(hook: impl FnMut() -> bool + 'static) {
        HOOK.set(Some(Box::new(hook)));
    }

    pub(super) fn reached() {
        let Some(mut hook) = HOOK.take() else { return };
        if hook() {
            HOOK.set(Some(hook));
        }
    }
}

/// A mutex without poisoning by value: a thread that panicked while it held one of the engine's locks may have left
/// half a change, so everyone after it panics too instead of going on with it. (Locks under which callers' closures run
/// are taken with [`Mutex::lock_noting`].)
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(RawMutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Mutex<T> {
        Mutex(RawMutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().expect("a thread panicked while it held this lock")
    }

    /// As `lock_noting`, for a lock that is held for less time than it takes to fall asleep and be woken: one of those who
    /// wait stays awake for that long.
    #[inline]
    pub(crate) fn lock_soon(&self, awake: &Awake, panicked: impl FnOnce()) -> MutexGuard<'_, T> {
        // A model tries every order of taking the lock without this.
        let quickly = || self.try_lock().or_else(|| awake.wait(|| self.try_lock()));
        let guard = if IS_MODELLED { None } else { quickly() };
        guard.unwrap_or_else(|| self.lock_noting(panicked))
    }

    /// The lock, if it is to be had within a moment.
    pub(crate) fn try_lock_soon(&self, awake: &Awake) -> Option<MutexGuard<'_, T>> {
        self.try_lock().or_else(|| awake.wait(|| self.try_lock()))
    }

    /// The lock, if nobody has it and nobody panicked under it.
    #[inline]
    fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.0.try_lock().ok()
    }

    /// The lock, if nobody has it.
    pub(crate) fn lock_at_once(&self) -> Option<MutexGuard<'_, T>> {
        self.try_lock()
    }

    /// As `lock`, for who can do with half a change, or knows how to keep it from spreading: `panicked` is called when
    /// there may be one.
    #[inline]
    pub(crate) fn lock_noting(&self, panicked: impl FnOnce()) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(|poison| {
            assert!(
                !crate::broken::is(crate::broken::Broken::PanicsSpread),
                "a thread panicked while it held this lock"
            );
            panicked();
            poison.into_inner()
        })
    }
}

/// At most one who waits without sleeping, where two threads can run at once. (More would keep whom they wait for from a
/// processor.)
#[derive(Debug)]
pub(crate) struct Awake {
    has_processors: bool,
    is_taken: AtomicBool,
}

/// How often who stays awake looks, and for how many moments it does not in between: together about what falling asleep and
/// being woken takes.
const LOOKS: u32 = if IS_MODELLED { 4 } else { 128 };
const MOMENTS: u32 = if IS_MODELLED { 1 } else { 8 };
/// By a model checker or a simulation, whose choices must not depend on the machine.
const IS_MODELLED: bool = cfg!(any(cairn_shuttle, cairn_loom, feature = "simulated"));

impl Awake {
    pub(crate) fn new() -> Awake {
        let are_many = || std::thread::available_parallelism().is_ok_and(|processors| processors.get() > 1);
        Awake { has_processors: IS_MODELLED || are_many(), is_taken: AtomicBool::new(false) }
    }

    /// Looks again and again, for a moment; `None`: there was nothing, or it is not worth it, and the caller should sleep.
    #[cold]
    pub(crate) fn wait<R>(&self, mut look: impl FnMut() -> Option<R>) -> Option<R> {
        if !self.has_processors || self.is_taken.swap(true, Ordering::Acquire) {
            return None;
        }
        let found = (0..LOOKS).find_map(|_| {
            (0..MOMENTS).for_each(|_| spin());
            look()
        });
        self.is_taken.store(false, Ordering::Release);
        found
    }
}

/// A condition variable over [`Mutex`].
#[derive(Debug, Default)]
pub(crate) struct Condvar(RawCondvar);

impl Condvar {
    pub(crate) fn new() -> Condvar {
        Condvar(RawCondvar::new())
    }

    pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0.wait(guard).expect("a thread panicked while it held this lock")
    }

    pub(crate) fn wait_for<'a, T>(&self, guard: MutexGuard<'a, T>, time: Duration) -> MutexGuard<'a, T> {
        self.0.wait_timeout(guard, time).expect("a thread panicked while it held this lock").0
    }

    pub(crate) fn notify_one(&self) {
        self.0.notify_one();
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }
}
