//! Log positions: where a commit stands, and waiting for one.

use std::time::Duration;

use super::Connection;
use crate::exec::check_statement;
use crate::{Error, Result};

impl Connection {
    /// The log position behind this connection's last commit: a snapshot that has it has the commit. `None`: nothing was
    /// committed so far. Positions grow from commit to commit, also from one opening of the database to the next; those of
    /// commits that a crash took are given to others.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let db = cairndb::Database::open_in_memory()?;
    /// let (writer, reader) = (db.connect()?, db.connect()?);
    /// writer.execute("CREATE TABLE t (id int PRIMARY KEY)", ())?;
    /// let position = writer.position().expect("a commit");
    /// assert!(reader.wait_for(position, Duration::from_secs(1))?);
    /// assert!(!reader.wait_for(position + 1, Duration::from_millis(1))?);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn position(&self) -> Option<u64> {
        Some(self.committed.get()).filter(|position| *position > 0)
    }

    /// Waits until statements of any connection see the commit at this position, for at most so long; false: not so far.
    ///
    /// # Errors
    ///
    /// 57014 after an [interrupt](super::InterruptHandle::interrupt) or the statement's timeout; 55000 once the database is closed.
    pub fn wait_for(&self, position: u64, time: Duration) -> Result<bool> {
        let deadline = self.deadline();
        let in_time = || check_statement(&self.interrupt, deadline);
        match self.shared().store.wait_visible(position, Some(time), &|| in_time().is_err()) {
            Err(error @ cairn_storage::Error::GivenUp) => Err(in_time().err().unwrap_or_else(|| Error::from(error))),
            waited => Ok(waited?),
        }
    }
}
