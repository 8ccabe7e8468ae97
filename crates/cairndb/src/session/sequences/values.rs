//! Sequence values.
//!
//! A sequence's tree entry holds a high-water mark: values up to it may have been given out. The mark is raised ahead of
//! need, outside transactions, and is durable before the first value below it is given out; so no value is ever given
//! out twice. A crash skips at most `AHEAD` of them, or, where they are drawn more quickly, as many as are drawn in `LASTS`, up to `AHEAD_MAX`. A clean close lowers the mark to what was really used.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use cairn_storage::{Store, TreeId, WriteError};

use super::reserved::{Identity, Reserved, Stand, stored, write_entry};
use crate::catalog::Sequence;
use crate::columns::QuickHashes;
use crate::exec::SequenceState;
use crate::session::Session;
use crate::sql::relation_name;
use crate::sync::Mutex;
use crate::{Error, Result, SqlState};

/// The values that were reserved and not yet given out, of all sequences in use.
#[derive(Default)]
pub(crate) struct SequenceValues(Mutex<HashMap<Identity, Reserved, QuickHashes>>);

impl SequenceValues {
    /// Gives out the next value.
    pub(in crate::session) fn next(&self, store: &Store, tree: TreeId, sequence: &Sequence) -> Result<i64> {
        self.with(store, tree, sequence, |reserved| reserved.draw(store, tree, sequence))
    }

    /// Gives out values that follow on each other: `count` at most, and as many as are reserved once one is.
    pub(super) fn next_many(
        &self,
        store: &Store,
        tree: TreeId,
        sequence: &Sequence,
        (count, drawn): (usize, &mut Vec<i64>),
    ) -> Result<()> {
        self.with(store, tree, sequence, |reserved| {
            let end = drawn.len() + count;
            while drawn.len() < end {
                drawn.push(reserved.draw(store, tree, sequence)?);
                reserved.draw_in_a_row(sequence, end - drawn.len(), drawn);
                if reserved.left == 0 {
                    break;
                }
            }
            Ok(())
        })
    }

    /// Takes back what was drawn behind the value at `last` and not used, unless somebody drew since.
    pub(super) fn put_back_behind(&self, sequence: &Sequence, drawn: &[i64], last: usize) {
        let mut all = self.0.lock();
        let Some(reserved) = all.get_mut(&(sequence.id, sequence.generation)) else { return };
        let unused = drawn.len() - 1 - last;
        // Not around the end of one that cycles.
        let is_in_a_row = drawn[last..].windows(2).all(|pair| pair[0].checked_add(reserved.step) == Some(pair[1]));
        if reserved.stands.last() == drawn.last().copied() && is_in_a_row {
            let (stands, left) = (Stand::Last(drawn[last]), reserved.left + unused as i64);
            *reserved = Reserved { stands, left, before: None, ..*reserved };
        }
    }

    fn with<T>(
        &self,
        store: &Store,
        tree: TreeId,
        sequence: &Sequence,
        work: impl FnOnce(&mut Reserved) -> Result<T>,
    ) -> Result<T> {
        let identity = (sequence.id, sequence.generation);
        let mut all = self.0.lock();
        work(match all.entry(identity) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(Reserved::behind(stored(store, tree, identity)?)),
        })
    }

    /// As `next`, without waiting: `None` where somebody else draws, or the mark has to be raised.
    pub(in crate::session) fn next_reserved(&self, sequence: &Sequence) -> Option<i64> {
        let mut all = self.0.try_lock()?;
        let reserved = all.get_mut(&(sequence.id, sequence.generation))?;
        let value = reserved.stands.following(sequence).ok()?;
        if reserved.left == 0 || reserved.step != sequence.increment {
            return None;
        }
        reserved.give(value);
        Some(value)
    }

    /// Takes a value back that nobody saw, unless another was given out since.
    pub(in crate::session) fn put_back(&self, sequence: &Sequence, value: i64) {
        let mut all = self.0.lock();
        let Some(reserved) = all.get_mut(&(sequence.id, sequence.generation)) else { return };
        if reserved.stands == Stand::Last(value)
            && let Some(before) = reserved.before.take()
        {
            *reserved = Reserved { stands: before, left: reserved.left + 1, before: None, ..*reserved };
        }
    }

    /// What the sequence has in its columns.
    pub(super) fn state(&self, store: &Store, tree: TreeId, sequence: &Sequence) -> Result<SequenceState> {
        let identity = (sequence.id, sequence.generation);
        let all = self.0.lock();
        let reserved = match all.get(&identity) {
            Some(reserved) => *reserved,
            None => Reserved::behind(stored(store, tree, identity)?),
        };
        Ok(reserved.state(sequence))
    }

    pub(super) fn set(&self, store: &Store, tree: TreeId, sequence: &Sequence, value: i64, called: bool) -> Result<()> {
        let identity = (sequence.id, sequence.generation);
        let mut all = self.0.lock();
        let stand = if called { Stand::Last(value) } else { Stand::Next(value) };
        write_entry(&mut store.session()?, tree, identity, stand)?;
        all.insert(identity, Reserved::behind(stand));
        Ok(())
    }

    /// Lowers every mark to the last value given out. For a clean close; an error costs a gap, nothing else.
    pub(crate) fn settle(&self, store: &Store, tree: TreeId) {
        let all = self.0.lock();
        let Ok(mut session) = store.session() else { return };
        for (&identity, reserved) in all.iter().filter(|(_, reserved)| reserved.left > 0) {
            let _ = write_entry(&mut session, tree, identity, reserved.stands);
        }
    }
}

impl Session {
    /// Where a sequence stands, which SQL names so: the value that it gave out last and `true`, or the one that it gives out
    /// first and `false`. It is not a matter of transactions, nor of what they see.
    pub(crate) fn sequence_value(&self, name: &str) -> Result<(i64, bool)> {
        let catalog = self.catalog()?;
        let sequence = catalog.find_sequence(&relation_name(name)?)?;
        if sequence.id.is_temporary() {
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, "temporary sequences are looked at with currval"));
        }
        let shared = self.shared();
        let state = match shared.trees {
            Some(trees) => shared.sequences.state(&shared.store, trees.sequences, sequence)?,
            None => Reserved::behind(Stand::Start).state(sequence),
        };
        Ok((state.last_value, state.is_called))
    }
}

/// The error of a point write.
pub(super) fn flatten(error: WriteError<Error>) -> Error {
    match error {
        WriteError::Storage(error) => error.into(),
        WriteError::Caller(error) => error,
    }
}
