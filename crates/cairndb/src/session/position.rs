//! Positions: where a commit stands, and waiting for one.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::Session;
use super::shared::Shared;
use crate::clock::check_statement;
use crate::{Error, Result, SqlState};

/// Where a database stands: all commits up to there. It names its database and its *opening*, which is another after each crash; so
/// a commit that was not waited for, and that a crash took, is never taken for one that came to stand behind it. As text it
/// outlives the process.
///
/// Positions of one opening are ordered: `<` and `>` tell which has more commits. Of two openings only the database can tell
/// ([`Connection::wait_for`](crate::Connection::wait_for)), and they are neither.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// conn.execute("CREATE TABLE t (id int PRIMARY KEY)", ())?;
/// let created = conn.position().expect("a commit");
/// conn.execute("INSERT INTO t VALUES (1)", ())?;
/// assert!(conn.position().expect("a commit") > created);
/// assert_eq!(created.to_string().parse::<cairndb::Position>()?, created);
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Hash)]
pub struct Position(pub(crate) cairn_storage::Position);

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Position {
    type Err = Error;

    fn from_str(text: &str) -> Result<Position> {
        cairn_storage::Position::parse(text).map(Position).ok_or_else(|| {
            let message = format!("\"{text}\" is no position of a database, or one of a later version");
            Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
        })
    }
}

impl Shared {
    /// A place in the log, as users are told it.
    pub(crate) fn told(&self, position: u64) -> Position {
        Position(self.store.told(position))
    }
}

impl Shared {
    /// See [`Database::opening`](crate::Database::opening).
    pub(crate) fn opening(&self) -> String {
        self.store.told(0).opening()
    }
}

impl Session {
    /// The position of this connection's last commit: a snapshot that has it has the commit. `None`: nothing was committed so far.
    pub(crate) fn position(&self) -> Option<Position> {
        let position = Some(self.committed.get()).filter(|position| *position > 0);
        position.map(|position| self.shared().told(position))
    }

    /// Waits until statements of any connection see the commit at this position, for at most so long; false: not so far.
    pub(crate) fn wait_for(&self, position: Position, time: Duration) -> Result<bool> {
        let place = self.shared().store.place_of(&position.0)?;
        self.wait_for_place(place, time)
    }

    pub(crate) fn wait_for_place(&self, place: u64, time: Duration) -> Result<bool> {
        let deadline = self.deadline();
        let in_time = || check_statement(&self.interrupt, deadline);
        match self.shared().store.wait_visible(place, Some(time), &|| in_time().is_err()) {
            Err(error @ cairn_storage::Error::GivenUp) => Err(in_time().err().unwrap_or_else(|| Error::from(error))),
            waited => Ok(waited?),
        }
    }
}
