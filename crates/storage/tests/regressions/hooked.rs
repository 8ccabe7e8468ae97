//! A waker of which a test hears: whenever it is copied, woken or dropped, as others' code may do anything then.

use std::sync::Arc;
use std::task::{RawWaker, RawWakerVTable, Waker};

/// What is done to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    Copied,
    Woken,
    Dropped,
}

struct Hook(Box<dyn Fn(Done) + Send + Sync>);

/// Calls `hook` before whatever is done to it or a copy.
pub fn hooked(hook: impl Fn(Done) + Send + Sync + 'static) -> Waker {
    let data = Arc::into_raw(Arc::new(Hook(Box::new(hook)))).cast();
    // SAFETY: the table's functions take a pointer from `Arc::into_raw`, of which each waker has one count, and may be called
    // on any thread, for the hook is `Send` and `Sync`.
    unsafe { Waker::new(data, &TABLE) }
}

const TABLE: RawWakerVTable = RawWakerVTable::new(
    |data| {
        tell(data, Done::Copied);
        // SAFETY: it is that of a waker, whose count is there meanwhile.
        unsafe { Arc::increment_strong_count(data.cast::<Hook>()) };
        RawWaker::new(data, &TABLE)
    },
    |data| {
        tell(data, Done::Woken);
        let_go(data);
    },
    |data| tell(data, Done::Woken),
    |data| {
        tell(data, Done::Dropped);
        let_go(data);
    },
);

fn tell(data: *const (), done: Done) {
    // SAFETY: the table's functions alone call this, with a waker's data, whose count is there meanwhile.
    (unsafe { &*data.cast::<Hook>() }.0)(done);
}

fn let_go(data: *const ()) {
    // SAFETY: as above; the waker's count is given up with it.
    unsafe { Arc::decrement_strong_count(data.cast::<Hook>()) };
}
