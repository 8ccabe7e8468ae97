//! Sequence values.
//!
//! A sequence's tree entry holds a high-water mark: values up to it may have been given out. What must hold:
//! - The mark is raised outside transactions, and is durable before the first value below it is given out; so no value is ever given
//!   out twice. A crash skips at most `AHEAD` of them, or, where they are drawn more quickly, twice as many as are drawn in `LASTS`, up to
//!   twice `AHEAD_MAX`. A clean close lowers the mark to what was really used.
//! - Entries of one sequence are written under its own lock ([`Kept::raising`]), so one after the other. The lock over all sequences is held over no
//!   write, but when the database is closed.
//! - Where many draw, the mark is raised before there is need of it, and nobody waits: whoever takes the first half's last value appends it to the log.

use std::collections::HashMap;
use std::sync::Arc;

use cairn_storage::{Store, Ticket, TreeId, WriteError};

use super::reserved::{Identity, Raise, Reserved, Stand, stored, write_entry};
use crate::catalog::Sequence;
use crate::columns::QuickHashes;
use crate::exec::SequenceState;
use crate::session::Session;
use crate::sql::relation_name;
use crate::sync::{Mutex, MutexGuard};
use crate::{Error, Result, SqlState};

/// The values that were reserved and not yet given out, of all sequences in use.
#[derive(Default)]
pub(crate) struct SequenceValues(Mutex<HashMap<Identity, Kept, QuickHashes>>);

type All<'a> = MutexGuard<'a, HashMap<Identity, Kept, QuickHashes>>;

/// What is known of one sequence.
struct Kept {
    reserved: Reserved,
    /// A raise of the mark that may not be durable yet.
    coming: Option<(Raise, Ticket)>,
    /// Held by who writes its entry.
    raising: Arc<Mutex<()>>,
}

impl Kept {
    fn behind(stands: Stand) -> Kept {
        Kept { reserved: Reserved::behind(stands), coming: None, raising: Arc::default() }
    }

    /// Has what a raise allows, once that is durable.
    fn look(&mut self, sequence: &Sequence) {
        if let Some((raise, _)) = self.coming.take_if(|(_, ticket)| ticket.is_durable()) {
            self.reserved.add(&raise, sequence);
        }
    }

    /// The raise that somebody should make now, though nobody needs it yet.
    fn wants(&self, sequence: &Sequence) -> Option<Raise> {
        if self.coming.is_some() { None } else { self.reserved.raise_ahead(sequence) }
    }
}

fn identity(sequence: &Sequence) -> Identity {
    (sequence.id, sequence.generation)
}

impl SequenceValues {
    /// Gives out the next value.
    pub(in crate::session) fn next(&self, store: &Store, tree: TreeId, sequence: &Sequence) -> Result<i64> {
        let mut drawn = None;
        let draw = |reserved: &mut Reserved| {
            drawn = reserved.draw(sequence)?;
            Ok(drawn.is_some())
        };
        self.draw((store, tree), sequence, draw)?;
        drawn.ok_or_else(|| Error::internal("a sequence gave no value"))
    }

    /// Gives out values that follow on each other: `count` at most, and as many as are reserved once one is.
    pub(super) fn next_many(
        &self,
        store: &Store,
        tree: TreeId,
        sequence: &Sequence,
        (count, drawn): (usize, &mut Vec<i64>),
    ) -> Result<()> {
        let (begin, end) = (drawn.len(), drawn.len() + count);
        let draw = |reserved: &mut Reserved| {
            while drawn.len() < end
                && let Some(value) = reserved.draw(sequence)?
            {
                drawn.push(value);
                reserved.draw_in_a_row(sequence, end - drawn.len(), drawn);
            }
            Ok(drawn.len() > begin)
        };
        if count == 0 { Ok(()) } else { self.draw((store, tree), sequence, draw) }
    }

    /// Calls `draw` until it has something, and raises the mark for it.
    fn draw(
        &self,
        (store, tree): (&Store, TreeId),
        sequence: &Sequence,
        mut draw: impl FnMut(&mut Reserved) -> Result<bool>,
    ) -> Result<()> {
        loop {
            let mut all = self.0.lock();
            if let Some(kept) = all.get_mut(&identity(sequence)) {
                kept.look(sequence);
                if draw(&mut kept.reserved)? {
                    self.raise_ahead((store, tree), sequence, all);
                    return Ok(());
                }
            }
            drop(all);
            self.raise((store, tree), sequence)?;
        }
    }

    /// As `next`, without waiting: `None` where the mark has to be raised.
    pub(in crate::session) fn next_reserved(&self, store: &Store, tree: TreeId, sequence: &Sequence) -> Option<i64> {
        let mut all = self.0.lock();
        let kept = all.get_mut(&identity(sequence))?;
        kept.look(sequence);
        let value = kept.reserved.draw(sequence).ok()??;
        self.raise_ahead((store, tree), sequence, all);
        Some(value)
    }

    /// Raises the mark ahead of need, where it is time for that and nothing has to be waited for. (It is tried again with the next value.)
    fn raise_ahead(&self, (store, tree): (&Store, TreeId), sequence: &Sequence, all: All<'_>) {
        let Some(kept) = all.get(&identity(sequence)) else { return };
        if kept.wants(sequence).is_some() {
            let raising = kept.raising.clone();
            drop(all);
            self.raise_at_once((store, tree), sequence, &raising);
        }
    }

    #[cold]
    fn raise_at_once(&self, (store, tree): (&Store, TreeId), sequence: &Sequence, raising: &Mutex<()>) {
        let Some(_one) = raising.try_lock() else { return };
        let wanted = self.0.lock().get(&identity(sequence)).and_then(|kept| kept.wants(sequence));
        let (Some(raise), Ok(session)) = (wanted, store.session()) else { return };
        let written = write_entry(&mut session.impatient(), tree, identity(sequence), Stand::Last(raise.mark));
        if let (Ok(ticket), Some(kept)) = (written, self.0.lock().get_mut(&identity(sequence))) {
            kept.coming = Some((raise, ticket));
        }
    }

    /// Has something in reserve, whoever sees to it.
    fn raise(&self, (store, tree): (&Store, TreeId), sequence: &Sequence) -> Result<()> {
        let raising = self.raising((store, tree), sequence)?;
        let _one = raising.lock();
        // What is on its way comes first: others may have it in their commits already.
        let coming = self.with(sequence, |kept| kept.coming.take());
        if let Some((raise, ticket)) = coming.flatten() {
            ticket.wait()?;
            self.with(sequence, |kept| kept.reserved.add(&raise, sequence));
        }
        let raise = self.with(sequence, |kept| {
            let reserved = &kept.reserved;
            if reserved.has_some(sequence) { Ok(None) } else { reserved.raise(sequence).map(Some) }
        });
        if let Some(raise) = raise.transpose()?.flatten() {
            write_entry(&mut store.session()?, tree, identity(sequence), Stand::Last(raise.mark))?.wait()?;
            self.with(sequence, |kept| kept.reserved.add(&raise, sequence));
        }
        Ok(())
    }

    fn with<T>(&self, sequence: &Sequence, work: impl FnOnce(&mut Kept) -> T) -> Option<T> {
        self.0.lock().get_mut(&identity(sequence)).map(work)
    }

    /// What is held by who writes the sequence's entry; reads that, where nobody has.
    fn raising(&self, (store, tree): (&Store, TreeId), sequence: &Sequence) -> Result<Arc<Mutex<()>>> {
        if let Some(raising) = self.with(sequence, |kept| kept.raising.clone()) {
            return Ok(raising);
        }
        let stands = stored(store, tree, identity(sequence))?;
        Ok(self.0.lock().entry(identity(sequence)).or_insert_with(|| Kept::behind(stands)).raising.clone())
    }

    /// Takes back what was drawn behind the value at `last` and not used, unless somebody drew since.
    pub(super) fn put_back_behind(&self, sequence: &Sequence, drawn: &[i64], last: usize) {
        self.with(sequence, |Kept { reserved, .. }| {
            let unused = drawn.len() - 1 - last;
            // Not around the end of one that cycles.
            let is_in_a_row = drawn[last..].windows(2).all(|pair| pair[0].checked_add(reserved.step) == Some(pair[1]));
            if reserved.stands.last() == drawn.last().copied() && is_in_a_row {
                let (stands, left) = (Stand::Last(drawn[last]), reserved.left + unused as i64);
                *reserved = Reserved { stands, left, before: None, ..*reserved };
            }
        });
    }

    /// Takes a value back that nobody saw, unless another was given out since.
    pub(in crate::session) fn put_back(&self, sequence: &Sequence, value: i64) {
        self.with(sequence, |Kept { reserved, .. }| {
            if reserved.stands == Stand::Last(value)
                && let Some(before) = reserved.before.take()
            {
                *reserved = Reserved { stands: before, left: reserved.left + 1, before: None, ..*reserved };
            }
        });
    }

    /// What the sequence has in its columns.
    pub(super) fn state(&self, store: &Store, tree: TreeId, sequence: &Sequence) -> Result<SequenceState> {
        let reserved = match self.with(sequence, |kept| kept.reserved) {
            Some(reserved) => reserved,
            None => Reserved::behind(stored(store, tree, identity(sequence))?),
        };
        Ok(reserved.state(sequence))
    }

    pub(super) fn set(&self, store: &Store, tree: TreeId, sequence: &Sequence, value: i64, called: bool) -> Result<()> {
        let raising = self.raising((store, tree), sequence)?;
        let _one = raising.lock();
        let stand = if called { Stand::Last(value) } else { Stand::Next(value) };
        write_entry(&mut store.session()?, tree, identity(sequence), stand)?.wait()?;
        self.with(sequence, |kept| (kept.reserved, kept.coming) = (Reserved::behind(stand), None));
        Ok(())
    }

    /// Lowers every mark to the last value given out. For a clean close; an error costs a gap, nothing else.
    pub(crate) fn settle(&self, store: &Store, tree: TreeId) {
        let all = self.0.lock();
        let Ok(mut session) = store.session() else { return };
        for (&identity, kept) in all.iter().filter(|(_, kept)| kept.reserved.left > 0 || kept.coming.is_some()) {
            let _ =
                write_entry(&mut session, tree, identity, kept.reserved.stands).and_then(|ticket| Ok(ticket.wait()?));
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
