//! Ctrl-C: stops the running statement, never the shell.
//!
//! At the prompt the line editor reads Ctrl-C as a key; here it arrives as a signal while a statement or an import
//! runs. A script that is not running a statement (it waits for input) ends, as any filter would.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cairndb::InterruptHandle;

/// Exit code of a process that a SIGINT ended, by the shells' convention.
const EXIT_INTERRUPTED: i32 = 130;

/// Whether something runs that Ctrl-C should stop, and whether it was asked to.
#[derive(Clone, Default)]
pub struct Interrupts(Arc<Flags>);

#[derive(Default)]
struct Flags {
    running: AtomicBool,
    requested: AtomicBool,
}

/// While it lives, Ctrl-C stops the work instead of the process.
pub struct Running<'a>(&'a Flags);

impl Interrupts {
    /// Takes over SIGINT for the process. `interactive`: outside of running work the signal is ignored.
    pub fn install(&self, statement: InterruptHandle, interactive: bool) {
        let flags = self.0.clone();
        // A second handler in one process is the only failure there is; the first goes on serving then.
        let _ = ctrlc::set_handler(move || {
            if flags.running.load(Ordering::SeqCst) {
                flags.requested.store(true, Ordering::SeqCst);
                statement.interrupt();
            } else if !interactive {
                std::process::exit(EXIT_INTERRUPTED);
            }
        });
    }

    /// Marks the beginning of work that can be interrupted.
    pub fn run(&self) -> Running<'_> {
        self.0.requested.store(false, Ordering::SeqCst);
        self.0.running.store(true, Ordering::SeqCst);
        Running(&self.0)
    }

    /// Ctrl-C was pressed since the work began.
    pub fn requested(&self) -> bool {
        self.0.requested.load(Ordering::SeqCst)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.store(false, Ordering::SeqCst);
    }
}
