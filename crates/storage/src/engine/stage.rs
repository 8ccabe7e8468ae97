//! What may be done to a database, from its opening to its end.
//!
//! ```text
//!                         read   change   write the log,   checkpoint,   last
//!                                         publish          compact       checkpoint
//! open                     x       x         x                x
//! read-only (by option)    x
//! closing                  x                 x                              x
//! closed                   x
//! failed                   x
//! ```
//! What must hold:
//! - A database begins to close under the commit lock: what was appended before is in the last checkpoint, and nothing
//!   is appended behind it.
//! - It is closed under the lock of checkpoints: none is made behind the one that says that no log is needed.
//! - A failure (a failed write or sync, a panic under the commit lock or in the background) is for good.

use crate::sync::{AtomicU32, Mutex, Ordering};
use crate::{Error, Result};

/// Where a database is between its opening and its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Open,
    /// Opened for reading only.
    ReadOnly,
    /// The last commits are on their way to the last checkpoint.
    Closing,
    /// The meta pages say that no log is needed.
    Closed,
    /// An error left unknown what of the last writes reached the medium, or what of a change was made.
    Failed,
}

/// What needs more than reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Changing something in a transaction, committing it.
    Change = 1,
    /// Writing a batch, publishing a version.
    Log = 2,
    /// Bringing a version to the file, cutting the file.
    Checkpoint = 4,
    /// The checkpoint that closes.
    LastCheckpoint = 8,
}

/// A stage's number lies above its acts.
const NUMBER: u32 = 8;

impl Stage {
    const ALL: [Stage; 5] = [Stage::Open, Stage::ReadOnly, Stage::Closing, Stage::Closed, Stage::Failed];

    /// The table above.
    const fn allows(self) -> u32 {
        match self {
            Stage::Open => Act::Change as u32 | Act::Log as u32 | Act::Checkpoint as u32,
            Stage::Closing => Act::Log as u32 | Act::LastCheckpoint as u32,
            Stage::ReadOnly | Stage::Closed | Stage::Failed => 0,
        }
    }

    const fn word(self) -> u32 {
        (self as u32) << NUMBER | self.allows()
    }
}

/// A database's stage, and what failed first.
#[derive(Debug)]
pub(crate) struct Life {
    /// The stage, with what it allows: a commit looks at one bit.
    stage: AtomicU32,
    /// Held for every change of the stage.
    cause: Mutex<String>,
}

impl Life {
    pub(crate) fn new(stage: Stage) -> Life {
        Life { stage: AtomicU32::new(stage.word()), cause: Mutex::default() }
    }

    pub(crate) fn stage(&self) -> Stage {
        Stage::ALL[(self.stage.load(Ordering::Acquire) >> NUMBER) as usize]
    }

    /// Fails with what the database is, if that does not allow it.
    #[inline]
    pub(crate) fn check(&self, act: Act) -> Result<()> {
        match self.stage.load(Ordering::Acquire) & act as u32 {
            0 => Err(self.refusal()),
            _ => Ok(()),
        }
    }

    #[cold]
    fn refusal(&self) -> Error {
        match self.stage() {
            Stage::Failed => Error::Poisoned { cause: self.cause.lock().clone() },
            Stage::Closing | Stage::Closed => Error::Closed,
            Stage::ReadOnly | Stage::Open => Error::ReadOnly,
        }
    }

    /// An error after which nothing may be written any more. The first one is remembered.
    #[cold]
    pub(crate) fn fail(&self, why: impl ToString) {
        let mut cause = self.cause.lock();
        if matches!(self.stage(), Stage::Open | Stage::Closing) {
            *cause = why.to_string();
            self.stage.store(Stage::Failed.word(), Ordering::Release);
        }
    }

    /// From now on nothing is appended; the caller holds the commit lock. Again after a close that did not come through.
    pub(crate) fn begin_to_close(&self) -> Result<()> {
        self.step(&[Stage::Open, Stage::Closing], Stage::Closing)
    }

    /// The last checkpoint is durable; the caller holds the lock of checkpoints.
    pub(crate) fn end_closing(&self) -> Result<()> {
        self.step(&[Stage::Closing], Stage::Closed)
    }

    fn step(&self, from: &[Stage], to: Stage) -> Result<()> {
        let cause = self.cause.lock();
        if from.contains(&self.stage()) {
            self.stage.store(to.word(), Ordering::Release);
            return Ok(());
        }
        drop(cause);
        Err(self.refusal())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_for_good_and_its_first_cause_is_told() {
        let life = Life::new(Stage::Open);
        life.fail("first");
        life.fail("second");
        assert!(matches!(life.check(Act::Change), Err(Error::Poisoned { cause }) if cause == "first"));
        assert!(matches!(life.begin_to_close(), Err(Error::Poisoned { .. })));
        assert_eq!(life.stage(), Stage::Failed);
    }

    #[test]
    fn closing_lets_the_last_commits_through_and_a_closed_database_says_so() {
        let life = Life::new(Stage::Open);
        assert!(life.check(Act::LastCheckpoint).is_err());
        life.begin_to_close().unwrap();
        life.begin_to_close().unwrap();
        assert!(matches!(life.check(Act::Change), Err(Error::Closed)));
        assert!(matches!(life.check(Act::Checkpoint), Err(Error::Closed)));
        assert!(life.check(Act::Log).is_ok() && life.check(Act::LastCheckpoint).is_ok());
        life.end_closing().unwrap();
        life.fail("too late");
        assert!(matches!(life.check(Act::Log), Err(Error::Closed)));
        assert!(matches!(life.end_closing(), Err(Error::Closed)));
    }

    #[test]
    fn what_was_opened_for_reading_neither_closes_nor_fails() {
        let life = Life::new(Stage::ReadOnly);
        life.fail("a page can not be read");
        assert!(matches!(life.check(Act::Change), Err(Error::ReadOnly)));
        assert!(matches!(life.begin_to_close(), Err(Error::ReadOnly)));
    }
}
