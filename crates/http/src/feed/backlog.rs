//! What lies before the place from which on a stream is told: read by itself.

use std::time::Duration;

use cairndb::{Changes, Database, Error, Next, Position};

use super::told::{Place, Told};

/// Changes that are read together.
const BATCH: usize = 256;

/// See the module.
pub(crate) struct Backlog {
    changes: Changes,
    place: Place,
    table: u32,
}

/// What was read together.
pub(crate) struct Batch {
    /// What becomes of the table.
    pub(crate) told: Vec<Told>,
    /// How far all was read, and the last commit that was read whole.
    pub(crate) place: Place,
    pub(crate) whole: Position,
    /// There was no more.
    pub(crate) is_all: bool,
}

impl Backlog {
    /// Of a table, behind a place. May wait for the disk, as reading may.
    ///
    /// # Errors
    ///
    /// 55000 where some of it is not kept any more.
    pub(crate) fn begin(database: &Database, table: u32, from: Position) -> Result<Backlog, Error> {
        let changes = database.changes(Some(from))?;
        Ok(Backlog { place: Place::behind(changes.token()), changes, table })
    }

    /// The same, of all that is kept.
    ///
    /// # Errors
    ///
    /// 58030 where the feeds can not be read.
    pub(crate) fn of_all(database: &Database, table: u32) -> Result<Backlog, Error> {
        let changes = database.kept_changes()?;
        Ok(Backlog { place: Place::behind(changes.token()), changes, table })
    }

    /// Where it stands: the last commit that was read whole.
    pub(crate) fn token(&self) -> Position {
        self.changes.token()
    }

    /// Reads on.
    ///
    /// # Errors
    ///
    /// 55000 where it was too slow. 57P01: the database was closed.
    pub(crate) fn read(&mut self) -> Result<Batch, Error> {
        let (mut told, mut is_all) = (Vec::new(), false);
        for _ in 0..BATCH {
            match self.changes.next_change_within(Duration::ZERO)? {
                Next::Item(change) => {
                    self.place = self.place.next(change.position());
                    if change.table().id == self.table {
                        told.push(Told::of(&change, self.place).with_documents(&change)?);
                    }
                }
                Next::NotYet => {
                    is_all = true;
                    break;
                }
                Next::End => return Err(Error::new(cairndb::SqlState::ADMIN_SHUTDOWN, "the database was closed")),
            }
        }
        Ok(Batch { told, place: self.place, whole: self.changes.token(), is_all })
    }
}
