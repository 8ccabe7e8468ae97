//! One user of a database at a time.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;

use super::face::LockOutcome;

/// Tries to lock the database file `path`.
pub(super) fn lock(path: &Path) -> io::Result<LockOutcome> {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    match file.try_lock() {
        Ok(()) => Ok(LockOutcome::Held(Box::new(file))),
        Err(std::fs::TryLockError::WouldBlock) => Ok(LockOutcome::Busy { pid: None }),
        Err(std::fs::TryLockError::Error(error)) => Err(error),
    }
}
