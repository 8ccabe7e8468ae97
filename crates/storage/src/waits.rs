//! What a thread waits for, for others to look at while it does.
//!
//! What must hold: it is noted where a thread is about to sleep or to ask the operating system for something, never where it goes
//! on at once; and on threads that nobody looks at it is a look at a variable of the thread's own.

use std::cell::{Cell, OnceCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

thread_local! {
    /// Somebody looks at the thread. (Apart: a look at what needs no drop is one load.)
    static IS_SEEN: Cell<bool> = const { Cell::new(false) };
    /// There, once somebody does.
    static SEEN: OnceCell<Arc<AtomicU8>> = const { OnceCell::new() };
}

/// Nothing is waited for.
const NOTHING: u8 = u8::MAX;

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// The log, while the thread writes and syncs a batch of it.
    LogSync,
    /// The log, while another writes it.
    LogWrite,
    /// A transaction that lost often, and has a turn now.
    Turn,
    /// Room in the log, or a checkpoint that was asked for.
    Checkpoint,
    /// A page of the file.
    PageRead,
    /// Commits of others, to tell of them.
    Commits,
    /// A lock that an application names.
    AdvisoryLock,
    /// That time passes.
    Time,
    /// What the client says.
    ClientRead,
    /// That the client takes what it is told.
    ClientWrite,
}

/// By PostgreSQL's names, type and event, which those who look know.
const ALL: [(Wait, (&str, &str)); 10] = [
    (Wait::LogSync, ("IO", "WALSync")),
    (Wait::LogWrite, ("LWLock", "WALWrite")),
    (Wait::Turn, ("Lock", "transactionid")),
    (Wait::Checkpoint, ("IPC", "CheckpointDone")),
    (Wait::PageRead, ("IO", "DataFileRead")),
    (Wait::Commits, ("Client", "WalSenderWaitForWAL")),
    (Wait::AdvisoryLock, ("Lock", "advisory")),
    (Wait::Time, ("Timeout", "PgSleep")),
    (Wait::ClientRead, ("Client", "ClientRead")),
    (Wait::ClientWrite, ("Client", "ClientWrite")),
];

/// A thread's waits, as another sees them.
///
/// ```
/// use cairn_storage::{Wait, Waits};
///
/// let waits = Waits::of_this_thread();
/// assert_eq!(waits.now(), None);
/// Wait::Time.during(|| assert_eq!(waits.now().map(Wait::names), Some(("Timeout", "PgSleep"))));
/// ```
#[derive(Clone, Debug)]
pub struct Waits(Arc<AtomicU8>);

impl Waits {
    /// From now on those of this thread are noted.
    pub fn of_this_thread() -> Waits {
        IS_SEEN.set(true);
        SEEN.with(|seen| Waits(seen.get_or_init(|| Arc::new(AtomicU8::new(NOTHING))).clone()))
    }

    /// What the thread waits for at this moment.
    pub fn now(&self) -> Option<Wait> {
        ALL.get(usize::from(self.0.load(Ordering::Relaxed))).map(|(wait, _)| *wait)
    }
}

impl Wait {
    /// PostgreSQL's type of it, and its event.
    pub fn names(self) -> (&'static str, &'static str) {
        ALL[self as usize].1
    }

    /// Waits, and has it noted meanwhile.
    #[inline]
    pub fn during<R>(self, wait: impl FnOnce() -> R) -> R {
        if IS_SEEN.get() { self.during_seen(wait) } else { wait() }
    }

    fn during_seen<R>(self, wait: impl FnOnce() -> R) -> R {
        // (A thread that ends has none any more.)
        let _noted = SEEN.try_with(|seen| seen.get().map(|seen| self.note(seen))).ok().flatten();
        wait()
    }

    fn note(self, seen: &Arc<AtomicU8>) -> Noted {
        let before = seen.load(Ordering::Relaxed);
        seen.store(self as u8, Ordering::Relaxed);
        Noted { seen: seen.clone(), before }
    }
}

/// Until it is dropped.
struct Noted {
    seen: Arc<AtomicU8>,
    before: u8,
}

impl Drop for Noted {
    fn drop(&mut self) {
        self.seen.store(self.before, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_its_place() {
        assert!(ALL.iter().enumerate().all(|(at, (wait, _))| *wait as usize == at));
    }

    #[test]
    fn one_within_another_gives_way_to_it_even_where_it_fails() {
        let waits = Waits::of_this_thread();
        Wait::Checkpoint.during(|| {
            let failed = std::panic::catch_unwind(|| Wait::LogSync.during(|| panic!("a test's")));
            assert!(failed.is_err());
            assert_eq!(waits.now(), Some(Wait::Checkpoint));
        });
        assert_eq!(waits.now(), None);
        let other = std::thread::spawn(|| Waits::of_this_thread().now());
        Wait::Turn.during(|| assert_eq!(other.join().unwrap(), None));
    }
}
