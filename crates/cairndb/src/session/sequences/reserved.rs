//! Where a sequence stands, as its tree entry says it and as values are reserved ahead of it.

use std::time::{Duration, Instant};

use cairn_storage::{Acknowledge, Durability, Store, Ticket, TreeId};

use super::values::flatten;
use crate::catalog::{ObjectId, Sequence};
use crate::exec::SequenceState;
use crate::sync;
use crate::{Error, Result, SqlState};

/// How many values one raise of the mark allows, unless the sequence is drawn from quickly.
const AHEAD: i64 = 32;

/// How many it allows at most.
const AHEAD_MAX: i64 = 8192;

/// A raise is durable before its first value is given out, which may take a millisecond. So it is for as many values as are drawn in this time, going
/// by those that were since the one before, but for twice as many as there were then at most.
const LASTS: Duration = Duration::from_millis(200);

pub(super) type Identity = (ObjectId, u64);

/// Where a sequence stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stand {
    /// Nothing was given out.
    Start,
    /// This was given out last. As it is stored: values up to it may have been.
    Last(i64),
    /// setval() said that this comes next.
    Next(i64),
}

impl Stand {
    /// The value that comes next; SQLSTATE 2200H at the end of a sequence that does not cycle.
    pub(super) fn following(self, sequence: &Sequence) -> Result<i64> {
        match self {
            Stand::Start => following(sequence, None),
            Stand::Last(last) => following(sequence, Some(last)),
            Stand::Next(next) => Ok(next),
        }
    }

    pub(super) fn last(self) -> Option<i64> {
        if let Stand::Last(last) = self { Some(last) } else { None }
    }
}

/// What is known of one sequence.
#[derive(Clone, Copy)]
pub(super) struct Reserved {
    pub(super) stands: Stand,
    /// Where it stood before, for as long as the last value may come back.
    pub(super) before: Option<Stand>,
    /// Values that can still be given out before the mark must be raised.
    pub(super) left: i64,
    /// What they are apart. Under another increment, which ALTER SEQUENCE may have set, they are none.
    pub(super) step: i64,
    /// When the mark was raised, and how many values were left then.
    pub(super) raised: Option<(Instant, i64)>,
}

impl Reserved {
    /// Nothing is reserved behind this.
    pub(super) fn behind(stands: Stand) -> Reserved {
        Reserved { stands, before: None, left: 0, step: 0, raised: None }
    }

    pub(super) fn give(&mut self, value: i64) {
        self.before = Some(std::mem::replace(&mut self.stands, Stand::Last(value)));
        self.left -= 1;
    }

    /// As the sequence's columns say it.
    pub(super) fn state(&self, sequence: &Sequence) -> SequenceState {
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
        let Some((at, count)) = self.raised else { return AHEAD };
        let (drawn, lasted) = ((count - self.left).max(0), sync::since(at).as_micros().max(1));
        // (It does not go beyond what it may be, whatever the clock says.)
        let drawn = (drawn as u128 * LASTS.as_micros() / lasted).min(2 * count as u128) as i64;
        drawn.clamp(AHEAD, AHEAD_MAX)
    }

    /// Whether there is a value for who has this of the sequence.
    pub(super) fn has_some(&self, sequence: &Sequence) -> bool {
        self.left > 0 && self.step == sequence.increment
    }

    /// Gives out the next value; `None`: the mark has to be raised first.
    pub(super) fn draw(&mut self, sequence: &Sequence) -> Result<Option<i64>> {
        let value = self.stands.following(sequence)?;
        if !self.has_some(sequence) {
            return Ok(None);
        }
        self.give(value);
        Ok(Some(value))
    }

    /// The last of the values that are reserved.
    fn end(&self) -> Option<i64> {
        self.stands.last()?.checked_add(self.left.checked_mul(self.step)?)
    }

    /// The raise that is to be made now, where there is nothing in reserve.
    pub(super) fn raise(&self, sequence: &Sequence) -> Result<Raise> {
        let first = self.stands.following(sequence)?;
        let (mark, count) = ahead(sequence, first, self.wanted());
        Ok(Raise { first, mark, count, step: sequence.increment })
    }

    /// The raise that is to be made before there is need of it: of a sequence that is drawn from so quickly that many would wait for it, once half of
    /// what was reserved is gone.
    pub(super) fn raise_ahead(&self, sequence: &Sequence) -> Option<Raise> {
        let (_, count) = self.raised?;
        if !self.has_some(sequence) || self.left > count / 2 {
            return None;
        }
        let (wanted, step) = (self.wanted(), self.step);
        let first = self.end()?.checked_add(step)?;
        let mark = first.checked_add(step.checked_mul(wanted - 1)?)?;
        let is_within = (sequence.min..=sequence.max).contains(&mark);
        (wanted > AHEAD && is_within).then_some(Raise { first, mark, count: wanted, step })
    }

    /// The raise is durable: its values may be given out, unless the sequence stands elsewhere by now; they are left out then.
    pub(super) fn add(&mut self, raise: &Raise, sequence: &Sequence) {
        let follows =
            self.step == raise.step && self.end().and_then(|end| end.checked_add(raise.step)) == Some(raise.first);
        let is_next = || self.stands.following(sequence).ok() == Some(raise.first);
        if follows {
            self.left += raise.count;
        } else if (self.left == 0 || self.step != raise.step) && is_next() {
            (self.left, self.step, self.before) = (raise.count, raise.step, None);
        } else {
            return;
        }
        self.raised = Some((sync::now(), self.left));
    }

    /// Gives out so many of the values that are reserved, as far as they follow on the last one without leaving the sequence's range.
    pub(super) fn draw_in_a_row(&mut self, sequence: &Sequence, count: usize, drawn: &mut Vec<i64>) {
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

/// A raise of the mark: values that it lets be given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Raise {
    first: i64,
    /// The last of them.
    pub(super) mark: i64,
    count: i64,
    step: i64,
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

pub(super) fn stored(store: &Store, tree: TreeId, identity: Identity) -> Result<Stand> {
    let entry = store.snapshot()?.reader().get(tree, &entry_key(identity))?;
    Ok(entry.map(|bytes| decode_entry(&bytes)).transpose()?.unwrap_or(Stand::Start))
}

/// Writes a sequence's entry, durably; with an impatient session, by the ticket.
pub(super) fn write_entry(
    session: &mut cairn_storage::Session,
    tree: TreeId,
    identity: Identity,
    stand: Stand,
) -> Result<Ticket> {
    let written = session.write::<(), Error>(Acknowledge::Now(Some(Durability::Full)), |writer| {
        Ok(writer.put(tree, &entry_key(identity), &encode_entry(stand))?)
    });
    written.map(|((), ticket)| ticket).map_err(flatten)
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
        let before = |times: u32| now.checked_sub(times * LASTS).expect("a clock that has run for a while");
        assert_eq!([raised(now, 32), raised(now, AHEAD_MAX), raised(before(100), 1024)], [64, AHEAD_MAX, AHEAD]);
        // Who goes on as quickly as before has as many again; a little time goes by meanwhile.
        assert!((900..=1024).contains(&raised(before(1), 1024)), "{}", raised(before(1), 1024));
        assert!((450..=512).contains(&raised(before(2), 1024)), "{}", raised(before(2), 1024));
        assert_eq!(Reserved::behind(Stand::Start).wanted(), AHEAD);
    }

    fn reserved(last: i64, left: i64, of: i64) -> Reserved {
        Reserved { left, step: 1, raised: Some((Instant::now(), of)), ..Reserved::behind(Stand::Last(last)) }
    }

    #[test]
    fn a_raise_ahead_is_for_the_quick_and_begins_behind_what_is_reserved() {
        let all = sequence(1, 1, i64::MAX, false);
        let raise = reserved(50, 50, 100).raise_ahead(&all).unwrap();
        assert_eq!((raise.first, raise.mark, raise.count), (101, 300, 200));
        assert_eq!(reserved(50, 51, 100).raise_ahead(&all), None, "there is enough");
        assert_eq!(reserved(50, 50, 100).raise_ahead(&sequence(2, 1, i64::MAX, false)), None, "another increment");
        assert_eq!(reserved(50, 50, 100).raise_ahead(&sequence(1, 1, 299, true)), None, "it would leave the range");
        let long_ago = Instant::now().checked_sub(100 * LASTS).expect("a clock that has run for a while");
        assert_eq!(Reserved { raised: Some((long_ago, 100)), ..reserved(50, 50, 100) }.raise_ahead(&all), None);
    }

    #[test]
    fn what_a_raise_allows_joins_what_it_was_made_behind_and_nothing_else() {
        let all = sequence(1, 1, i64::MAX, false);
        let raise = reserved(50, 50, 100).raise_ahead(&all).unwrap();
        let joined = |mut reserved: Reserved| {
            reserved.add(&raise, &all);
            reserved.left
        };
        assert_eq!(joined(reserved(80, 20, 100)), 220, "others have drawn meanwhile");
        assert_eq!(joined(reserved(100, 0, 100)), 200);
        assert_eq!(joined(reserved(99, 1, 100)), 201, "one was put back");
        assert_eq!(joined(reserved(7, 0, 100)), 0, "setval() has taken it elsewhere");
        assert_eq!(joined(reserved(7, 30, 100)), 30);
        assert_eq!(joined(Reserved { step: 5, ..reserved(50, 50, 100) }), 50);
    }
}
