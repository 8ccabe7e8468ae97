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

use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

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

/// What a process makes once, and each child by `fork` anew. No lock is taken, which a thread that is not there might have.
///
/// ```
/// static NAME: cairn_storage::PerProcess<String> = cairn_storage::PerProcess::new();
/// let name = NAME.get(|| Ok::<_, ()>(format!("process {}", std::process::id())))?;
/// assert!(std::ptr::eq(name, NAME.get(|| Err(()))?));
/// # Ok::<(), ()>(())
/// ```
#[derive(Debug)]
pub struct PerProcess<T>(AtomicPtr<(Process, T)>);

impl<T> PerProcess<T> {
    /// One that nothing was made for yet.
    pub const fn new() -> PerProcess<T> {
        PerProcess(AtomicPtr::new(std::ptr::null_mut()))
    }
}

impl<T> Default for PerProcess<T> {
    fn default() -> PerProcess<T> {
        PerProcess::new()
    }
}

impl<T: Send + Sync + 'static> PerProcess<T> {
    /// This process's. Where there is none, `make` makes it; of what several threads make at the same time one is kept, and all get
    /// that. It lives as long as the process.
    ///
    /// # Errors
    ///
    /// What `make` fails with; the next call makes it again.
    pub fn get<E>(&self, make: impl FnOnce() -> std::result::Result<T, E>) -> std::result::Result<&'static T, E> {
        let mut found = self.0.load(Ordering::Acquire);
        if let Some(own) = PerProcess::own(found) {
            return Ok(own);
        }
        let made = Box::into_raw(Box::new((Process::current(), make()?)));
        loop {
            match self.0.compare_exchange(found, made, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => found = made,
                Err(other) => found = other,
            }
            if let Some(own) = PerProcess::own(found) {
                if found != made {
                    // SAFETY: made above by `Box::into_raw`, and not put where anybody else could have found it.
                    drop(unsafe { Box::from_raw(made) });
                }
                return Ok(own);
            }
        }
    }

    /// What is pointed to, if it is this process's.
    fn own(found: *mut (Process, T)) -> Option<&'static T> {
        // SAFETY: null, or from `Box::into_raw` in `get`, which lets go of none that was put here: such are never freed, and never changed.
        // They were written before they were put here (`AcqRel`, `Acquire`).
        let (process, made) = unsafe { found.as_ref() }?;
        process.is_current().then_some(made)
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

#[cfg(all(test, not(cairn_shuttle), not(cairn_loom)))]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use super::*;

    #[test]
    fn what_several_threads_make_at_once_is_one_and_the_others_are_dropped() {
        for _ in 0..50 {
            let (one, all_there) = (PerProcess::<Vec<u8>>::new(), Barrier::new(4));
            let get = || {
                all_there.wait();
                let Ok(made) = one.get(|| Ok::<_, std::convert::Infallible>(vec![7; 1000]));
                (std::ptr::from_ref(made) as usize, made.len())
            };
            let found: Vec<_> = thread::scope(|scope| {
                let threads: Vec<_> = (0..4).map(|_| scope.spawn(get)).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            assert!(found.iter().all(|one| *one == found[0] && one.1 == 1000), "{found:?}");
        }
    }

    #[test]
    fn what_could_not_be_made_is_made_the_next_time_and_what_another_process_made_is_not_found() {
        let one = PerProcess::new();
        assert_eq!(one.get(|| Err("no")), Err("no"));
        assert_eq!(one.get(|| Ok::<_, ()>(1)), Ok(&1));
        assert_eq!(one.get(|| Ok::<_, ()>(2)), Ok(&1));
        let other = Process(Process::current().0.wrapping_add(1));
        one.0.store(Box::into_raw(Box::new((other, 3))), Ordering::Release);
        assert_eq!(one.get(|| Err(())), Err(()));
        assert_eq!(one.get(|| Ok::<_, ()>(4)), Ok(&4));
        assert_eq!(one.get(|| Err(())), Ok(&4));
    }
}
