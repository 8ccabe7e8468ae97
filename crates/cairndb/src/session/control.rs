//! BEGIN, COMMIT, ROLLBACK, SAVEPOINT and their kin.

use std::sync::Arc;

use cairn_storage::Losses;

use super::Executed;
use super::Session;
use super::execute::State;
use super::session_state::SessionState;
use crate::catalog::{Catalog, Deferral, ObjectId, ObjectName, no_schema};
use crate::command::TransactionCommand;
use crate::dml::{Deferred, DmlContext};
use crate::state::Transaction;
use crate::{Error, Result, SqlState};

impl Session {
    pub(crate) fn control(&self, command: &TransactionCommand) -> Result<Executed> {
        use TransactionCommand as T;
        match command {
            T::Begin { read_only, tag } => {
                self.begin_transaction(*read_only)?;
                Ok(Executed::tag(tag))
            }
            T::Commit { chain } => self.commit_transaction(*chain),
            T::Rollback { chain } => self.rollback_transaction(*chain),
            T::RollbackTo(name) => self.rollback_to(name),
            T::Savepoint(name) => self.set_savepoint(name),
            T::Release(name) => self.release_savepoint(name),
            T::SetConstraints { names, deferred } => self.set_constraints(names.as_deref(), *deferred),
        }
    }

    /// BEGIN, COMMIT and ROLLBACK without their texts.
    pub(crate) fn begin_now(&self) -> Result<()> {
        let begin = || self.begin_transaction(None).map(|()| Executed::tag("BEGIN"));
        self.run_as_statement(false, begin).map(drop)
    }

    pub(crate) fn commit_now(&self) -> Result<()> {
        self.run_as_statement(false, || self.commit_transaction(false)).map(drop)
    }

    pub(crate) fn rollback_now(&self) -> Result<()> {
        self.run_as_statement(true, || self.rollback_transaction(false)).map(drop)
    }

    fn begin_transaction(&self, read_only: Option<bool>) -> Result<()> {
        let mut state = self.state.borrow_mut();
        if let Some(open) = &state.transaction {
            if open.failed() {
                return Err(Error::aborted_transaction());
            }
            self.notice("WARNING", SqlState::ACTIVE_SQL_TRANSACTION, "there is already a transaction in progress");
            return Ok(());
        }
        if read_only == Some(false) {
            state.settings.check_write()?;
        }
        let lost = std::mem::take(&mut state.lost);
        drop(state);
        let begun = self.begin_in_time(&lost, self.deadline());
        let mut state = self.state.borrow_mut();
        state.lost = lost;
        let tx = begun?;
        state.begin(tx, read_only);
        Ok(())
    }

    fn commit_transaction(&self, chain: bool) -> Result<Executed> {
        let deadline = self.deadline();
        let mut state = self.state.borrow_mut();
        let Some(open) = &state.transaction else {
            refuse_chain("COMMIT", chain)?;
            self.notice("WARNING", SqlState::NO_ACTIVE_SQL_TRANSACTION, "there is no transaction in progress");
            return Ok(Executed::tag("COMMIT"));
        };
        if open.failed() {
            drop(state);
            return self.rollback_transaction(chain);
        }
        if state.temporary.is_some() || open.deferred.is_owed() || self.has_cursors() {
            drop(state);
            if let Err(error) = self.before_commit_of_open() {
                self.rollback_transaction(chain)?;
                return Err(error);
            }
            state = self.state.borrow_mut();
        }
        let durability = state.settings.durability;
        let Some(open) = state.end(true) else { return Ok(Executed::tag("COMMIT")) };
        let (read_only, catalog) = (open.read_only, open.catalog.into_inner());
        let committed = self.commit_in_time(sole(open.tx)?, durability, &mut state.lost, deadline);
        self.end_cursors(committed.is_ok());
        state.see_temporary()?;
        committed?;
        if state.lost.times() > 0 {
            state.lost = Losses::default();
        }
        drop(state);
        if let Some((_, catalog)) = catalog {
            self.settle_indexes(catalog.inverted_indexes());
        }
        self.chain(chain, read_only)?;
        Ok(Executed::tag("COMMIT"))
    }

    fn rollback_transaction(&self, chain: bool) -> Result<Executed> {
        let mut state = self.state.borrow_mut();
        let Some(open) = state.end(false) else {
            refuse_chain("ROLLBACK", chain)?;
            self.notice("WARNING", SqlState::NO_ACTIVE_SQL_TRANSACTION, "there is no transaction in progress");
            return Ok(Executed::tag("ROLLBACK"));
        };
        let read_only = open.read_only;
        self.channels().forget();
        self.end_cursors(false);
        drop(open);
        state.see_temporary()?;
        drop(state);
        self.chain(chain, read_only)?;
        Ok(Executed::tag("ROLLBACK"))
    }

    /// AND CHAIN: the next transaction begins at once, with the same modes.
    fn chain(&self, chain: bool, read_only: bool) -> Result<()> {
        if chain {
            let begun = self.shared().store.begin_patiently(&Losses::default(), self.channels().clone(), &|| false);
            let tx = self.with_temporary(begun?)?;
            self.state.borrow_mut().begin(tx, Some(read_only));
        }
        Ok(())
    }

    fn set_savepoint(&self, name: &str) -> Result<Executed> {
        let mut state = self.state.borrow_mut();
        let SessionState { transaction, settings, .. } = &mut *state;
        let open = transaction.as_mut().ok_or_else(|| outside("SAVEPOINT"))?;
        if open.failed() {
            return Err(Error::aborted_transaction());
        }
        open.savepoint(name.to_string(), settings)?;
        Ok(Executed::tag("SAVEPOINT"))
    }

    fn release_savepoint(&self, name: &str) -> Result<Executed> {
        let mut state = self.state.borrow_mut();
        let open = state.transaction.as_mut().ok_or_else(|| outside("RELEASE SAVEPOINT"))?;
        if open.failed() {
            return Err(Error::aborted_transaction());
        }
        let left = open.release(name)?;
        drop(state);
        self.merge_cursors_behind(left);
        Ok(Executed::tag("RELEASE"))
    }

    fn rollback_to(&self, name: &str) -> Result<Executed> {
        let mut state = self.state.borrow_mut();
        let SessionState { transaction, settings, .. } = &mut *state;
        let open = transaction.as_mut().ok_or_else(|| outside("ROLLBACK TO SAVEPOINT"))?;
        let before = open.rollback_to(name, settings)?;
        state.see_temporary()?;
        drop(state);
        self.end_cursors_behind(before);
        Ok(Executed::tag("ROLLBACK"))
    }

    /// Of the open transaction's foreign keys and triggers. SQLSTATE 42704, 42809, and 23503 where one is violated that is to hold now.
    fn set_constraints(&self, names: Option<&[ObjectName]>, deferred: bool) -> Result<Executed> {
        let tag = Executed::tag("SET CONSTRAINTS");
        if !self.in_transaction() {
            let catalog = self.catalog()?;
            deferrable_keys(names, deferred, &catalog)?;
            let message = "SET CONSTRAINTS can only be used in transaction blocks";
            self.notice("WARNING", SqlState::NO_ACTIVE_SQL_TRANSACTION, message);
            return Ok(tag);
        }
        if self.transaction_failed() {
            return Err(Error::aborted_transaction());
        }
        let session = self.state.borrow();
        let Some(open) = &session.transaction else { return Err(Error::internal("no open transaction")) };
        let state = State::of_open(self, open)?;
        self.with_dml(&state, |dml| set_constraints(names, deferred, Some(&open.deferred), dml))?;
        Ok(tag)
    }

    fn before_commit_of_open(&self) -> Result<()> {
        self.look_at_deferred(None)?;
        self.hold_cursors()?;
        let state = self.state.borrow();
        match &state.transaction {
            Some(open) => self.before_commit(&open.tx),
            None => Ok(()),
        }
    }
}

/// Has these constraints (`None`: all that may wait) looked at when the transaction commits, or from now on at once: then at what it owes
/// them, too.
pub(super) fn set_constraints(
    names: Option<&[ObjectName]>,
    deferred: bool,
    known: Option<&Deferred>,
    dml: &DmlContext<'_>,
) -> Result<()> {
    let keys = deferrable_keys(names, deferred, dml.catalog)?;
    let Some(known) = known else { return Ok(()) };
    known.set(keys.as_deref(), deferred);
    if deferred || !known.is_owed() {
        return Ok(());
    }
    known.look(keys.as_deref(), &DmlContext { deferred: None, ..*dml })
}

/// The foreign keys, keys and constraint triggers of these names; `None`: ALL.
fn deferrable_keys(names: Option<&[ObjectName]>, deferred: bool, catalog: &Catalog) -> Result<Option<Vec<ObjectId>>> {
    let keys = names.map(|names| names.iter().map(|name| keys_named(name, deferred, catalog)).collect());
    Ok(keys.transpose()?.map(|keys: Vec<Vec<ObjectId>>| keys.concat()))
}

/// The foreign keys, keys and constraint triggers of a name, in the first schema that has a constraint of it.
fn keys_named(name: &ObjectName, deferred: bool, catalog: &Catalog) -> Result<Vec<ObjectId>> {
    let schemas = match &name.schema {
        Some(schema) => vec![catalog.schema(schema).ok_or_else(|| no_schema(schema))?],
        None => catalog.searched().to_vec(),
    };
    for schema in schemas {
        let tables = || catalog.tables().filter(|table| table.schema == schema);
        let keys = || tables().flat_map(|table| &table.foreign_keys).map(|key| (&key.name, key.deferral, key.id));
        let of_index = || tables().flat_map(|table| table.all_indexes()).filter(|index| index.constraint);
        let unique = move || of_index().map(|index| (&index.name, index.deferral, index.id));
        let triggers = || {
            let all = tables().flat_map(|table| &table.triggers);
            all.filter_map(|trigger| Some((&trigger.name, trigger.deferral?, trigger.id)))
        };
        let constraints = || keys().chain(unique()).chain(triggers()).filter(|(known, ..)| **known == name.name);
        let deferrable = || constraints().filter(|(_, deferral, _)| *deferral != Deferral::Never);
        if deferrable().next().is_some() {
            return Ok(deferrable().map(|(.., id)| id).collect());
        }
        if constraints().next().is_some()
            || tables().any(|table| table.checks.iter().any(|check| check.name == name.name))
        {
            // Checked at once it is already.
            if !deferred {
                return Ok(Vec::new());
            }
            let message = format!("constraint \"{}\" is not deferrable", name.name);
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        }
    }
    Err(Error::new(SqlState::UNDEFINED_OBJECT, format!("constraint \"{}\" does not exist", name.name)))
}

pub(in crate::session) fn outside(what: &str) -> Error {
    Error::new(SqlState::NO_ACTIVE_SQL_TRANSACTION, format!("{what} can only be used in transaction blocks"))
}

/// A transaction that nobody uses any more.
pub(super) fn sole(tx: Arc<Transaction>) -> Result<Transaction> {
    Arc::into_inner(tx).ok_or_else(|| Error::new(SqlState::OBJECT_IN_USE, "a function still uses the transaction"))
}

/// SQLSTATE 25P01 for AND CHAIN where there is no transaction to go on from.
fn refuse_chain(words: &str, chain: bool) -> Result<()> {
    let message = format!("{words} AND CHAIN can only be used in transaction blocks");
    if chain { Err(Error::new(SqlState::NO_ACTIVE_SQL_TRANSACTION, message)) } else { Ok(()) }
}
