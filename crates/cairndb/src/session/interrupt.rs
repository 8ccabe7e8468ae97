//! Stopping what a session runs.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::interrupt::Interrupt;

/// Stops the statement that a connection is running, from another thread. Cheap to clone. (The default one is no connection's.)
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// let handle = conn.interrupt_handle();
/// let (ended, has_ended) = std::sync::mpsc::channel::<()>();
/// std::thread::scope(|scope| {
///     scope.spawn(move || {
///         // Again, for the statement may not have begun.
///         while has_ended.recv_timeout(std::time::Duration::from_millis(50)).is_err_and(|error| error == std::sync::mpsc::RecvTimeoutError::Timeout) {
///             handle.interrupt();
///         }
///     });
///     let error = conn.query_row("SELECT count(*) FROM generate_series(1, 1000000000)", (), |row| row.get::<i64>(0));
///     drop(ended);
///     assert_eq!(error.unwrap_err().sqlstate(), cairndb::SqlState::QUERY_CANCELED);
/// });
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct InterruptHandle(pub(super) Arc<Interrupt>);

impl InterruptHandle {
    /// The running statement fails with SQLSTATE 57014; nothing happens when none is running.
    pub fn interrupt(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
