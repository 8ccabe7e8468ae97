//! The one place threads, locks and atomics come from, so that a model checker can stand in for them
//! (`--cfg cairn_shuttle` swaps in `shuttle`, which then owns every interleaving) or a simulation (the feature
//! `simulated`, see `simulated.rs`).

#[cfg(all(not(cairn_shuttle), not(feature = "simulated")))]
mod primitives {
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
    pub(crate) use std::sync::{Condvar as RawCondvar, Mutex as RawMutex, MutexGuard};
    pub(crate) use std::thread;
}

#[cfg(all(not(cairn_shuttle), feature = "simulated"))]
mod primitives {
    pub(crate) use std::sync::atomic::Ordering;

    pub(crate) use crate::simulated::{
        AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Condvar as RawCondvar, Mutex as RawMutex, MutexGuard,
    };

    pub(crate) mod thread {
        pub(crate) use std::thread::Builder;

        pub(crate) use crate::simulated::sleep;
    }
}

#[cfg(cairn_shuttle)]
mod primitives {
    pub(crate) use shuttle::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
    pub(crate) use shuttle::sync::{Condvar as RawCondvar, Mutex as RawMutex, MutexGuard};
    pub(crate) use shuttle::thread;
}

pub(crate) use primitives::*;
use std::time::Duration;

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

    /// As `lock`, for who can do with half a change, or knows how to keep it from spreading: `panicked` is called when
    /// there may be one.
    #[inline]
    pub(crate) fn lock_noting(&self, panicked: impl FnOnce()) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(|poison| {
            panicked();
            poison.into_inner()
        })
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
