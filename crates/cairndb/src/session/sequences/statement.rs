//! Sequences as a statement of a session sees them, and what the session remembers of them.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, Weak};

use cairn_storage::{Store, TreeId};

use super::SequenceValues;
use crate::catalog::{Catalog, ObjectId, Sequence};
use crate::columns::QuickHashes;
use crate::exec::{SequenceSource, SequenceState};
use crate::session::shared::Shared;
use crate::session::temporary::Temporary;
use crate::sql::relation_name;
use crate::state::TemporaryTrees;
use crate::sync::Mutex;
use crate::{Error, Result, SqlState};

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
    pub(in crate::session) fn remember(&mut self, sequence: &Sequence, value: i64) {
        self.current.insert(sequence.id, value);
        self.last = Some(sequence.id);
    }
}

impl StatementSequences {
    pub(in crate::session) fn new(
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
