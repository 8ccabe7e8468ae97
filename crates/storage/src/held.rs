//! Whether code of the caller's is running while this thread holds a transaction or the commit lock.
//!
//! Whatever it asks the store for then may wait for the very lock that its own thread holds, for ever, and everybody else waits for
//! it. Builds with debug assertions count, so that whoever runs code that asks for anything can assert that nothing is held. Other builds
//! do nothing, and say that nothing is.

use std::marker::PhantomData;

#[cfg(debug_assertions)]
thread_local! {
    static HELD: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Whether this thread has a [`TransactionWriter`](crate::TransactionWriter) or a [`PointWriter`](crate::PointWriter) now; false in
/// builds without debug assertions.
///
/// ```
/// # use cairn_storage::{Options, Store};
/// let transaction = Store::open_in_memory(Options::default())?.begin()?;
/// let writer = transaction.writer()?;
/// assert_eq!(cairn_storage::is_holding(), cfg!(debug_assertions));
/// drop(writer);
/// assert!(!cairn_storage::is_holding());
/// # Ok::<(), cairn_storage::Error>(())
/// ```
pub fn is_holding() -> bool {
    #[cfg(debug_assertions)]
    return HELD.get() > 0;
    #[cfg(not(debug_assertions))]
    false
}

/// Something is held for as long as this lives, which is on one thread.
pub(crate) struct Holding(PhantomData<*const ()>);

impl Holding {
    #[inline]
    pub(crate) fn new() -> Holding {
        #[cfg(debug_assertions)]
        HELD.set(HELD.get() + 1);
        Holding(PhantomData)
    }
}

#[cfg(debug_assertions)]
impl Drop for Holding {
    fn drop(&mut self) {
        HELD.set(HELD.get() - 1);
    }
}
