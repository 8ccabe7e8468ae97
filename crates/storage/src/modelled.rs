//! The engine's atomics and locks under `loom`, which tries every order in which the memory model lets them be seen.
//!
//! Loom knows sequential consistency of fences only, so `SeqCst` accesses have fences where a processor of the x86 kind has
//! them: behind stores, and around what reads and writes at once. A `SeqCst` load is an acquire load. Weaker accesses are
//! as they are.

pub use loom::sync::MutexGuard;
pub(crate) use loom::sync::atomic::Ordering;
pub(crate) use loom::sync::{Condvar as RawCondvar, Mutex as RawMutex};

use loom::sync::atomic::{self, fence};

pub(crate) mod thread {
    pub(crate) use loom::thread::{Builder, ThreadId, current};

    pub(crate) fn sleep(_time: std::time::Duration) {
        loom::thread::yield_now();
    }
}

/// Before or behind an access.
fn fence_of(order: Ordering) {
    if order == Ordering::SeqCst {
        fence(Ordering::SeqCst);
    }
}

macro_rules! atomics {
    ($($name:ident $([$generic:ident])?: $value:ty, $($method:ident),*;)*) => {$(
        /// As std's.
        #[derive(Debug)]
        pub(crate) struct $name$(<$generic>)?(atomic::$name$(<$generic>)?);

        #[allow(dead_code)]
        impl$(<$generic>)? $name$(<$generic>)? {
            pub(crate) fn new(value: $value) -> Self {
                Self(atomic::$name::new(value))
            }

            #[track_caller]
            pub(crate) fn load(&self, order: Ordering) -> $value {
                self.0.load(if order == Ordering::SeqCst { Ordering::Acquire } else { order })
            }

            #[track_caller]
            pub(crate) fn store(&self, value: $value, order: Ordering) {
                self.0.store(value, if order == Ordering::SeqCst { Ordering::Release } else { order });
                fence_of(order);
            }

            #[track_caller]
            pub(crate) fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                order: Ordering,
                failed: Ordering,
            ) -> Result<$value, $value> {
                fence_of(order);
                let changed = self.0.compare_exchange(current, new, order, failed);
                fence_of(order);
                changed
            }

            #[track_caller]
            #[allow(dead_code)]
            pub(crate) fn fetch_update(
                &self,
                set: Ordering,
                fetch: Ordering,
                update: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                fence_of(set);
                let changed = self.0.fetch_update(set, fetch, update);
                fence_of(set);
                changed
            }

            $(
                #[track_caller]
                pub(crate) fn $method(&self, value: $value, order: Ordering) -> $value {
                    fence_of(order);
                    let old = self.0.$method(value, order);
                    fence_of(order);
                    old
                }
            )*
        }
    )*};
}

atomics! {
    AtomicBool: bool, swap, fetch_or;
    AtomicU32: u32, swap, fetch_add, fetch_sub, fetch_max;
    AtomicU64: u64, swap, fetch_add, fetch_sub, fetch_max, fetch_and;
    AtomicUsize: usize, swap, fetch_add, fetch_sub, fetch_max, fetch_min;
    AtomicPtr[T]: *mut T, swap;
}

impl Default for AtomicU64 {
    fn default() -> Self {
        AtomicU64::new(0)
    }
}

impl Default for AtomicBool {
    fn default() -> Self {
        AtomicBool::new(false)
    }
}
