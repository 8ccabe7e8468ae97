//! The commit of a transaction of a few operations, all of them in its list.
//!
//! As a point statement: under the commit lock what it read is looked up again, then its operations are applied to the
//! latest state, with no page of its own and no second time. What is not in memory is loaded with the lock released. Whatever
//! is out of the ordinary goes the long way (`commit`): long values, much to compare, a page missing again and again.

use super::latest::{Latest, roll_back};
use super::state::State;
use super::validate::{self, Effort};
use crate::engine::{Engine, GivesUp, OpList, Ops, Trees, Writer, WriterGuard};
use crate::log::RecordKind;
use crate::page::{COMMIT, Lack};
use crate::{Error, Result};

/// How often the commit lock is taken before the long way is.
const TRIES: u32 = 8;

impl State {
    /// Validates, applies and appends; the commit lock is still held. `None`: it has to go the long way.
    pub(super) fn append_short<'e>(
        &mut self,
        engine: &'e Engine,
        gives_up: GivesUp<'_>,
    ) -> Result<Option<(WriterGuard<'e>, u64)>> {
        let (mut lack, mut gone) = (Lack::default(), None);
        let mut tried = 0;
        while tried < TRIES {
            let mut writer = engine.lock_with_room(self.ops.bytes().len(), gives_up)?;
            if let Some(turn) = self.must_wait(engine) {
                drop(writer);
                engine.turns.wait_for(engine, turn, gives_up)?;
                continue;
            }
            tried += 1;
            let applied = match self.is_valid_in(engine, &writer.trees) {
                Ok(true) => {
                    let position = self.end_of_record(&writer, RecordKind::Commit, 0);
                    self.apply_short(engine, &mut writer, position).map(|()| position)
                }
                Ok(false) => return Ok(None),
                Err(error) => Err(error),
            };
            match applied {
                Ok(position) => {
                    let position = self.append_record(engine, &mut writer, RecordKind::Commit, 0, position);
                    engine.counters.commits.add(1);
                    return Ok(Some((writer, position)));
                }
                Err(lacked @ (Error::NotResident(_) | Error::CacheFull)) => {
                    drop(writer);
                    engine.provide_latest(lacked, &mut lack, &mut gone)?;
                }
                Err(Error::TooLarge) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Fails with a conflict if anything that was read is different in `latest`; false if that takes more than a little.
    fn is_valid_in(&self, engine: &Engine, latest: &Trees) -> Result<bool> {
        let base = self.base()?;
        let states = (&base.version().trees, latest);
        match validate::validate_few(engine, base.slot, &self.reads, states)? {
            true => Ok(true),
            false => validate::validate_latest(engine, base.slot, &self.reads.noted(), states, Effort::Little),
        }
    }

    /// Applies all operations to the latest state, or none.
    fn apply_short(&self, engine: &Engine, writer: &mut Writer, position: u64) -> Result<()> {
        let mut undo = OpList::default();
        let applied = engine.pages.slots.pin(COMMIT).and_then(|pin| {
            let mut latest = Latest { engine, writer, pin: &pin, position, undo: &mut undo };
            Ops::new(self.ops.bytes()).try_for_each(|op| latest.apply(op.map_err(|()| Error::TooLarge)?))
        });
        if applied.is_err() {
            roll_back(engine, &undo, writer)?;
        }
        applied.map_err(|error| match error {
            // Dropped meanwhile, or no longer what a blind write took it for.
            Error::NoSuchTree(_) | Error::BadPatch => Error::Conflict,
            error => error,
        })
    }
}
