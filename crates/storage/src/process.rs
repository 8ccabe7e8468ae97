//! In which process something was opened: a child of `fork` has all of its parent's memory, none of its threads, and shares its
//! files and their locks.
//!
//! What must hold: in a child nothing that its parent opened reads, waits, writes, removes a file or gives a lock back. Every call
//! fails before it takes a lock, which a thread that is not there may have; what is dropped is only forgotten.
//!
//! Noticing it is a load and a branch, without a system call: the C library calls [`forked`] in a child before its `fork` returns
//! there. A child that runs another program (`vfork`, `posix_spawn`, `Command`) never comes here. One that is made by the bare
//! system call, past the C library, is not noticed.
//!
//! What lost: a page that the kernel clears in children (`MADV_WIPEONFORK`) would notice those as well, but is Linux's alone, and
//! needs a second load; a look at the process's id is a system call.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::{Error, Result};

/// How many forks lie between the process that was started and this one.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// The process in which something was made.
///
/// ```
/// let here = cairn_storage::Process::current();
/// assert!(here.is_current() && here.check().is_ok());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process(u32);

impl Process {
    /// The one that runs. Its children by `fork` are others from here on.
    pub fn current() -> Process {
        watch();
        Process(FORKS.load(Ordering::Relaxed))
    }

    /// Whether it is the one that runs.
    #[inline]
    pub fn is_current(self) -> bool {
        self.0 == FORKS.load(Ordering::Relaxed)
    }

    /// [`Error::Forked`] in a child.
    #[inline]
    pub fn check(self) -> Result<()> {
        if self.is_current() { Ok(()) } else { Err(refusal()) }
    }
}

/// Out of the way of those who ask.
#[cold]
#[inline(never)]
fn refusal() -> Error {
    Error::Forked
}

impl Default for Process {
    fn default() -> Process {
        Process::current()
    }
}

/// Has [`forked`] called in children. By two threads at once it may be called twice, which does no harm.
#[cfg(all(unix, not(miri)))]
fn watch() {
    use std::alloc::{Layout, handle_alloc_error};
    use std::ffi::c_int;
    use std::sync::atomic::AtomicBool;

    type Handler = unsafe extern "C" fn();

    unsafe extern "C" {
        fn pthread_atfork(prepare: Option<Handler>, parent: Option<Handler>, child: Option<Handler>) -> c_int;
    }

    static IS_WATCHED: AtomicBool = AtomicBool::new(false);
    if IS_WATCHED.load(Ordering::Acquire) {
        return;
    }
    // SAFETY: POSIX's declaration of it; the handler lives as long as the program, and does only what a child may do in which
    // threads are missing.
    if unsafe { pthread_atfork(None, None, Some(forked)) } != 0 {
        // The only reason there is.
        handle_alloc_error(Layout::new::<Handler>());
    }
    IS_WATCHED.store(true, Ordering::Release);
}

#[cfg(not(all(unix, not(miri))))]
fn watch() {}

/// In a child, before anything else runs there.
#[cfg_attr(not(all(unix, not(miri))), allow(dead_code))]
extern "C" fn forked() {
    FORKS.store(FORKS.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
}
