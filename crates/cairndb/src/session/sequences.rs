//! Sequence values.
//!
//! A sequence's tree entry holds a high-water mark: values up to it may have been given out. The mark is raised ahead of
//! need, outside transactions, and is durable before the first value below it is given out; so no value is ever given
//! out twice. A crash skips at most [`AHEAD`] of them, or, where they are drawn faster than [`QUICK`] lets that many go, as many
//! as are drawn in twice that time, up to [`AHEAD_MAX`]. A clean close lowers the mark to what was really used.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use cairn_storage::{Acknowledge, Durability, Store, TreeId, WriteError};

use super::Session;
use super::shared::Shared;
use super::temporary::Temporary;
use crate::catalog::{Catalog, ObjectId, Sequence};
use crate::columns::QuickHashes;
use crate::exec::{SequenceSource, SequenceState};
use crate::sql::relation_name;
use crate::state::TemporaryTrees;
use crate::sync::{self, Mutex};
use crate::{Error, Result, SqlState};

/// How many values one raise of the mark allows, unless the sequence is drawn from quickly.
const AHEAD: i64 = 32;

/// How many it allows at most.
const AHEAD_MAX: i64 = 8192;

/// A raise is durable before its first value is given out, which may take a millisecond. Where the one before lasted less
/// than this long, it is for twice as many values: a bulk insert waits some twenty times and not three thousand.
const QUICK: Duration = Duration::from_millis(100);

type Identity = (ObjectId, u64);

/// The values that were reserved and not yet given out, of all sequences in use.
#[derive(Default)]
pub(crate) struct SequenceValues(Mutex<HashMap<Identity, Reserved, QuickHashes>>);

/// What is known of one sequence.
#[derive(Clone, Copy)]
struct Reserved {
    stands: Stand,
    /// Where it stood before, for as long as the last value may come back.
    before: Option<Stand>,
    /// Values that can still be given out before the mark must be raised.
    left: i64,
    /// What they are apart. Under another increment, which ALTER SEQUENCE may have set, they are none.
    step: i64,
    /// When the mark was raised, and by how many values.
    raised: Option<(Instant, i64)>,
}

/// Where a sequence stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stand {
    /// Nothing was given out.
    Start,
    /// This was given out last. As it is stored: values up to it may have been.
    Last(i64),
    /// setval() said that this comes next.
    Next(i64),
}

impl Stand {
    /// The value that comes next; SQLSTATE 2200H at the end of a sequence that does not cycle.
    fn following(self, sequence: &Sequence) -> Result<i64> {
        match self {
            Stand::Start => following(sequence, None),
            Stand::Last(last) => following(sequence, Some(last)),
            Stand::Next(next) => Ok(next),
        }
    }

    fn last(self) -> Option<i64> {
        if let Stand::Last(last) = self { Some(last) } else { None }
    }
}

impl Reserved {
    /// Nothing is reserved behind this.
    fn behind(stands: Stand) -> Reserved {
        Reserved { stands, before: None, left: 0, step: 0, raised: None }
    }

    fn give(&mut self, value: i64) {
        self.before = Some(std::mem::replace(&mut self.stands, Stand::Last(value)));
        self.left -= 1;
    }

    /// As the sequence's columns say it.
    fn state(&self, sequence: &Sequence) -> SequenceState {
        let log_cnt = self.left;
        let (last_value, is_called) = match self.stands {
            Stand::Start => (sequence.restarted.unwrap_or(sequence.start), false),
            Stand::Last(last) => (last, true),
            Stand::Next(next) => (next, false),
        };
        SequenceState { last_value, log_cnt, is_called }
    }

    /// By how many values the mark is to be raised now.
    fn wanted(&self) -> i64 {
        match self.raised {
            Some((at, count)) if sync::since(at) < QUICK => (count * 2).clamp(AHEAD, AHEAD_MAX),
            _ => AHEAD,
        }
    }

    /// Gives out the next value; raises the mark first where none is left.
    fn draw(&mut self, store: &Store, tree: TreeId, sequence: &Sequence) -> Result<i64> {
        let value = self.stands.following(sequence)?;
        if self.left == 0 || self.step != sequence.increment {
            let (mark, count) = ahead(sequence, value, self.wanted());
            write_entry(&mut store.session()?, tree, (sequence.id, sequence.generation), Stand::Last(mark))?;
            (self.left, self.raised) = (count, Some((sync::now(), count)));
        }
        self.give(value);
        self.step = sequence.increment;
        Ok(value)
    }

    /// Gives out so many of the values that are reserved, as far as they follow on the last one without leaving the sequence's range.
    fn draw_in_a_row(&mut self, sequence: &Sequence, count: usize, drawn: &mut Vec<i64>) {
        let (Stand::Last(last), step) = (self.stands, self.step) else { return };
        let bound = if step > 0 { sequence.max } else { sequence.min };
        let steps = (i128::from(bound) - i128::from(last)).checked_div(step.into()).unwrap_or(0);
        let count = steps.min(self.left.into()).min(count as i128).max(0) as i64;
        drawn.extend((1..=count).map(|nth| last + nth * step));
        if count > 0 {
            (self.before, self.stands) =
                (Some(Stand::Last(last + (count - 1) * step)), Stand::Last(last + count * step));
            self.left -= count;
        }
    }
}

/// Key and value of a sequence's entry: the mark, and whether it counts as given out.
fn entry_key((id, generation): Identity) -> [u8; 12] {
    let mut key = [0; 12];
    key[..4].copy_from_slice(&id.0.to_be_bytes());
    key[4..].copy_from_slice(&generation.to_be_bytes());
    key
}

/// What a sequence's entry says: nothing, a number, or a number and a zero behind it.
fn decode_entry(bytes: &[u8]) -> Result<Stand> {
    let damaged = || Error::damaged("a sequence's value is damaged");
    let (number, stand): (_, fn(i64) -> Stand) = match bytes {
        [] => return Ok(Stand::Start),
        [number @ .., 0] if number.len() == size_of::<i64>() => (number, Stand::Next),
        number => (number, Stand::Last),
    };
    Ok(stand(number.try_into().map(i64::from_le_bytes).map_err(|_| damaged())?))
}

fn encode_entry(stand: Stand) -> Vec<u8> {
    match stand {
        Stand::Start => Vec::new(),
        Stand::Last(last) => last.to_le_bytes().to_vec(),
        Stand::Next(next) => [&next.to_le_bytes()[..], &[0]].concat(),
    }
}

fn stored(store: &Store, tree: TreeId, identity: Identity) -> Result<Stand> {
    let entry = store.snapshot()?.reader().get(tree, &entry_key(identity))?;
    Ok(entry.map(|bytes| decode_entry(&bytes)).transpose()?.unwrap_or(Stand::Start))
}

fn write_entry(session: &mut cairn_storage::Session, tree: TreeId, identity: Identity, stand: Stand) -> Result<()> {
    let written = session.write::<(), Error>(Acknowledge::Now(Some(Durability::Full)), |writer| {
        Ok(writer.put(tree, &entry_key(identity), &encode_entry(stand))?)
    });
    written.map(drop).map_err(flatten)
}

/// The error of a point write.
pub(crate) fn flatten(error: WriteError<Error>) -> Error {
    match error {
        WriteError::Storage(error) => error.into(),
        WriteError::Caller(error) => error,
    }
}

impl SequenceValues {
    /// Gives out the next value.
    pub(super) fn next(&self, store: &Store, tree: TreeId, sequence: &Sequence) -> Result<i64> {
        self.with(store, tree, sequence, |reserved| reserved.draw(store, tree, sequence))
    }

    /// Gives out values that follow on each other: `count` at most, and as many as are reserved once one is.
    fn next_many(
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
    fn put_back_behind(&self, sequence: &Sequence, drawn: &[i64], last: usize) {
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
    pub(super) fn next_reserved(&self, sequence: &Sequence) -> Option<i64> {
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
    pub(super) fn put_back(&self, sequence: &Sequence, value: i64) {
        let mut all = self.0.lock();
        let Some(reserved) = all.get_mut(&(sequence.id, sequence.generation)) else { return };
        if reserved.stands == Stand::Last(value)
            && let Some(before) = reserved.before.take()
        {
            *reserved = Reserved { stands: before, left: reserved.left + 1, before: None, ..*reserved };
        }
    }

    /// What the sequence has in its columns.
    fn state(&self, store: &Store, tree: TreeId, sequence: &Sequence) -> Result<SequenceState> {
        let identity = (sequence.id, sequence.generation);
        let all = self.0.lock();
        let reserved = match all.get(&identity) {
            Some(reserved) => *reserved,
            None => Reserved::behind(stored(store, tree, identity)?),
        };
        Ok(reserved.state(sequence))
    }

    fn set(&self, store: &Store, tree: TreeId, sequence: &Sequence, value: i64, called: bool) -> Result<()> {
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

/// The value after `last`; SQLSTATE 2200H at the end of a sequence that does not cycle.
fn following(sequence: &Sequence, last: Option<i64>) -> Result<i64> {
    let Some(last) = last else { return Ok(sequence.restarted.unwrap_or(sequence.start)) };
    let next = last.checked_add(sequence.increment);
    if let Some(next) = next.filter(|next| (sequence.min..=sequence.max).contains(next)) {
        return Ok(next);
    }
    let (end, limit, wrapped) = match sequence.increment > 0 {
        true => ("maximum", sequence.max, sequence.min),
        false => ("minimum", sequence.min, sequence.max),
    };
    if sequence.cycle {
        return Ok(wrapped);
    }
    let message = format!("nextval: reached {end} value of sequence \"{}\" ({limit})", sequence.name);
    Err(Error::new(SqlState::SEQUENCE_GENERATOR_LIMIT_EXCEEDED, message))
}

/// How far the mark can be raised from `value` without leaving the sequence's range, by so many values: the mark, and their
/// number.
fn ahead(sequence: &Sequence, value: i64, wanted: i64) -> (i64, i64) {
    let by = |count: i64| {
        let last = sequence.increment.checked_mul(count - 1).and_then(|step| value.checked_add(step));
        Some((last.filter(|last| (sequence.min..=sequence.max).contains(last))?, count))
    };
    by(wanted).or_else(|| by(AHEAD)).unwrap_or((value, 1))
}

/// What a session remembers of sequences: `currval` and `lastval`.
#[derive(Default)]
pub(crate) struct SessionSequences {
    current: HashMap<ObjectId, i64, QuickHashes>,
    last: Option<ObjectId>,
}

/// Sequences as a statement sees them.
pub(crate) struct StatementSequences {
    shared: Weak<Shared>,
    pub(crate) catalog: Arc<Catalog>,
    session: Arc<Mutex<SessionSequences>>,
    /// Where the session's own are.
    temporary: Option<Arc<Temporary>>,
    pub(crate) read_only: bool,
    /// The first sequence that it was asked for, by the name that was said: most statements ask for no other.
    known: OnceLock<(Box<str>, Arc<Sequence>)>,
}

impl SessionSequences {
    /// For `currval` and `lastval`.
    pub(super) fn remember(&mut self, sequence: &Sequence, value: i64) {
        self.current.insert(sequence.id, value);
        self.last = Some(sequence.id);
    }
}

impl StatementSequences {
    pub(super) fn new(
        shared: Weak<Shared>,
        catalog: &Arc<Catalog>,
        session: Arc<Mutex<SessionSequences>>,
        temporary: Option<Arc<Temporary>>,
        read_only: bool,
    ) -> StatementSequences {
        StatementSequences { shared, catalog: catalog.clone(), session, temporary, read_only, known: OnceLock::new() }
    }

    fn sequence(&self, name: &str) -> Result<&Arc<Sequence>> {
        if let Some((known, sequence)) = self.known.get()
            && **known == *name
        {
            return Ok(sequence);
        }
        let sequence = self.catalog.find_sequence(&relation_name(name)?)?;
        let _ = self.known.set((name.into(), sequence.clone()));
        Ok(sequence)
    }

    /// Calls `work` with the values of a sequence, and where they are kept; `function`: what changes them, if that is done.
    fn with<T>(
        &self,
        function: Option<&str>,
        sequence: &Sequence,
        work: impl FnOnce(&SequenceValues, &Store, TreeId) -> Result<T>,
    ) -> Result<T> {
        if let (true, Some(temporary)) = (sequence.id.is_temporary(), &self.temporary) {
            return work(&temporary.sequences, temporary.store.store(), TemporaryTrees::SEQUENCES);
        }
        if self.read_only
            && let Some(function) = function
        {
            let message = format!("cannot execute {function}() in a read-only transaction");
            return Err(Error::new(SqlState::READ_ONLY_SQL_TRANSACTION, message));
        }
        let shared = self.shared.upgrade().ok_or_else(|| Error::internal("the database is closed"))?;
        let trees = shared.trees.ok_or_else(|| Error::internal("the database has no sequence tree"))?;
        work(&shared.sequences, &shared.store, trees.sequences)
    }

    fn remember(&self, sequence: &Sequence, value: i64) {
        self.session.lock().remember(sequence, value);
    }
}

impl SequenceSource for StatementSequences {
    fn next_value(&self, name: &str) -> Result<i64> {
        let sequence = self.sequence(name)?;
        let value = self.with(Some("nextval"), sequence, |values, store, tree| values.next(store, tree, sequence))?;
        self.remember(sequence, value);
        Ok(value)
    }

    fn next_values(&self, name: &str, count: usize, drawn: &mut Vec<i64>) -> Result<()> {
        let sequence = self.sequence(name)?;
        let wanted = (count, &mut *drawn);
        let all =
            self.with(Some("nextval"), sequence, |values, store, tree| values.next_many(store, tree, sequence, wanted));
        if let Some(&last) = drawn.last() {
            self.remember(sequence, last);
        }
        all
    }

    fn used_up_to(&self, name: &str, drawn: &[i64], last: usize) -> Result<()> {
        let sequence = self.sequence(name)?;
        let Some(&value) = drawn.get(last) else { return Ok(()) };
        self.remember(sequence, value);
        self.with(None, sequence, |values, _, _| {
            values.put_back_behind(sequence, drawn, last);
            Ok(())
        })
    }

    fn current_value(&self, name: &str) -> Result<i64> {
        let sequence = self.sequence(name)?;
        let session = self.session.lock();
        session.current.get(&sequence.id).copied().ok_or_else(|| {
            let message = format!("currval of sequence \"{}\" is not yet defined in this session", sequence.name);
            Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
        })
    }

    fn value_of_session(&self) -> Result<i64> {
        let session = self.session.lock();
        // A sequence that was dropped since has no value.
        let last = session.last.filter(|id| self.catalog.sequences().any(|sequence| sequence.id == *id));
        last.and_then(|id| session.current.get(&id).copied()).ok_or_else(|| {
            let message = "lastval is not yet defined in this session";
            Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
        })
    }

    fn state(&self, name: &str) -> Result<SequenceState> {
        let sequence = self.sequence(name)?;
        self.with(None, sequence, |values, store, tree| values.state(store, tree, sequence))
    }

    fn set_value(&self, name: &str, value: i64, called: bool) -> Result<i64> {
        let sequence = self.sequence(name)?;
        self.catalog.refuse_counter(sequence)?;
        if !(sequence.min..=sequence.max).contains(&value) {
            let message = format!(
                "setval: value {value} is out of bounds for sequence \"{}\" ({}..{})",
                sequence.name, sequence.min, sequence.max
            );
            return Err(Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message));
        }
        self.with(Some("setval"), sequence, |values, store, tree| values.set(store, tree, sequence, value, called))?;
        if called {
            // It is no value that was got: `lastval` stays with the sequence that gave one.
            self.session.lock().current.insert(sequence.id, value);
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::DataType;

    fn sequence(increment: i64, min: i64, max: i64, cycle: bool) -> Sequence {
        let start = if increment > 0 { min } else { max };
        let (id, name) = (ObjectId(1), "s".to_string());
        Sequence {
            id,
            schema: ObjectId::PUBLIC,
            name,
            data_type: DataType::BigInt,
            start,
            restarted: None,
            increment,
            min,
            max,
            cycle,
            owner: None,
            generation: 1,
            change: 0,
        }
    }

    #[test]
    fn values_follow_the_increment_and_stop_or_wrap_at_the_end() {
        let up = sequence(5, 1, 12, false);
        assert_eq!(following(&up, None).unwrap(), 1);
        assert_eq!(following(&up, Some(6)).unwrap(), 11);
        assert_eq!(following(&up, Some(11)).unwrap_err().sqlstate(), SqlState::SEQUENCE_GENERATOR_LIMIT_EXCEEDED);
        assert_eq!(following(&sequence(5, 1, 12, true), Some(11)).unwrap(), 1);
        assert_eq!(following(&sequence(-1, 1, 12, true), Some(1)).unwrap(), 12);
        assert!(following(&sequence(1, 1, i64::MAX, false), Some(i64::MAX)).is_err());
    }

    #[test]
    fn an_entry_says_whether_its_value_was_given_out() {
        for stand in [Stand::Start, Stand::Last(7), Stand::Next(-8), Stand::Last(0)] {
            assert_eq!(decode_entry(&encode_entry(stand)).unwrap(), stand);
        }
        assert!(decode_entry(&[1, 2]).is_err());
    }

    #[test]
    fn the_mark_never_leaves_the_range() {
        assert_eq!(ahead(&sequence(1, 1, 1000, false), 1, 32), (32, 32));
        assert_eq!(ahead(&sequence(1, 1, 10, false), 1, 32), (1, 1));
        assert_eq!(ahead(&sequence(1, 1, i64::MAX, false), i64::MAX, 32), (i64::MAX, 1));
    }

    #[test]
    fn the_mark_goes_further_ahead_of_who_is_quick_and_no_further_of_who_is_not() {
        let raised = |at, count| Reserved { raised: Some((at, count)), ..Reserved::behind(Stand::Last(1)) }.wanted();
        let now = Instant::now();
        let before = now.checked_sub(2 * QUICK).expect("a clock that has run for a while");
        assert_eq!([raised(now, 32), raised(now, AHEAD_MAX), raised(before, 1024)], [64, AHEAD_MAX, AHEAD]);
        assert_eq!(Reserved::behind(Stand::Start).wanted(), AHEAD);
    }
}
