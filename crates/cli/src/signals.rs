//! Ctrl-C: stops the running statement, never the shell.
//!
//! At the prompt the line editor reads Ctrl-C as a key; here it arrives as a signal while a statement or an import
//! runs. A script that is not running a statement (it waits for input) ends, as any filter would.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use cairndb::InterruptHandle;

/// Exit code of a process that a SIGINT ended, by the shells' convention.
const EXIT_INTERRUPTED: i32 = 130;

/// Whether something runs that Ctrl-C should stop, and whether it was asked to.
#[derive(Clone, Default)]
pub struct Interrupts(Arc<Flags>);

#[derive(Default)]
struct Flags {
    /// How many works, one within the other.
    running: AtomicUsize,
    requested: AtomicBool,
    /// Stops the running statement.
    statement: Mutex<Option<InterruptHandle>>,
}

/// While it lives, Ctrl-C stops the work instead of the process.
pub struct Running<'a>(&'a Flags);

impl Interrupts {
    /// Takes over SIGINT for the process. `interactive`: outside of running work the signal is ignored.
    pub fn install(&self, statement: InterruptHandle, interactive: bool) {
        self.watch(statement);
        let flags = self.0.clone();
        // A second handler in one process is the only failure there is; the first goes on serving then.
        let _ = ctrlc::set_handler(move || {
            if flags.running.load(Ordering::SeqCst) > 0 {
                flags.requested.store(true, Ordering::SeqCst);
                if let Some(statement) = flags.statement.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
                    statement.interrupt();
                }
            } else if !interactive {
                std::process::exit(EXIT_INTERRUPTED);
            }
        });
    }

    /// Ctrl-C stops this connection's statements from now on.
    pub fn watch(&self, statement: InterruptHandle) {
        *self.0.statement.lock().unwrap_or_else(PoisonError::into_inner) = Some(statement);
    }

    /// Marks the beginning of work that can be interrupted; it may be part of other such work.
    pub fn run(&self) -> Running<'_> {
        if self.0.running.fetch_add(1, Ordering::SeqCst) == 0 {
            self.0.requested.store(false, Ordering::SeqCst);
        }
        Running(&self.0)
    }

    /// Ctrl-C was pressed since the work began.
    pub fn requested(&self) -> bool {
        self.0.requested.load(Ordering::SeqCst)
    }

    /// The same, once.
    pub fn take_requested(&self) -> bool {
        self.0.requested.swap(false, Ordering::SeqCst)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}
