//! A session's temporary relations: their store, which is made with the first of them, and what the session sees of them.
//!
//! Their catalog is part of the session's search path. When it changes, by DDL or because a transaction or a part of one is
//! taken back, the session gets another path; so what was planned before is planned anew.

use std::sync::Arc;

use cairn_parser::token::quoted;
use cairn_storage::Reader;

use super::Session;
use super::execute::Runnable;
use super::sequences::SequenceValues;
use super::session_state::SessionState;
use crate::catalog::{OnCommit, RelationKind, SearchPath, load_temporary, temporary_stamp};
use crate::command::SchemaCommand;
use crate::sql::parse_one;
use crate::state::{TemporaryStore, Transaction};
use crate::{Error, Result, SqlState};

/// What a session has once it made a temporary relation.
pub(crate) struct Temporary {
    pub(crate) store: Arc<TemporaryStore>,
    pub(crate) sequences: SequenceValues,
}

impl SessionState {
    pub(crate) fn temporary_store(&self) -> Option<&Arc<TemporaryStore>> {
        self.temporary.as_ref().map(|temporary| &temporary.store)
    }

    /// Sees the temporary relations as they are now, in the open transaction or as the last one left them.
    pub(crate) fn see_temporary(&mut self) -> Result<()> {
        let Some(temporary) = &self.temporary else { return Ok(()) };
        let known = &self.settings.search_path;
        let seen = match self.transaction.as_ref().and_then(|open| open.tx.reader().temporary()) {
            Some(reader) => seen(known, reader)?,
            None => seen(known, temporary.store.store().snapshot()?.reader())?,
        };
        if let Some(path) = seen {
            self.change_path(|_| path.clone());
        }
        Ok(())
    }

    /// Changes the search path, whatever becomes of the open transaction.
    pub(crate) fn change_path(&mut self, change: impl Fn(&SearchPath) -> Arc<SearchPath>) {
        let path = change(&self.settings.search_path);
        if let Some(kept) = self.kept_settings() {
            kept.search_path = kept.search_path.clone().in_session(&path);
        }
        Arc::make_mut(&mut self.settings).search_path = path;
    }
}

/// A path with the temporary relations that the reader sees; `None`: it has them.
pub(super) fn seen(known: &SearchPath, reader: &Reader) -> Result<Option<Arc<SearchPath>>> {
    let stamp = temporary_stamp(reader)?;
    if known.temporary.as_ref().is_some_and(|temporary| temporary.stamp == stamp) {
        return Ok(None);
    }
    Ok(Some(known.with_temporary(load_temporary(reader)?)))
}

impl Session {
    /// To be called before a command that makes a temporary relation.
    pub(super) fn provide_temporary(&self, command: &SchemaCommand) -> Result<()> {
        let mut state = self.state.borrow_mut();
        let in_path = || state.settings.search_path.begins_temporary() && command.makes_in_path();
        if state.temporary.is_some() || !(command.makes_temporary() || in_path()) {
            return Ok(());
        }
        let memory = self.shared().store.memory();
        let store = TemporaryStore::open(state.settings.limits.temp_table_limit, memory.as_ref())?;
        if let Some(open) = &state.transaction {
            open.tx.add_temporary(&store)?;
        }
        state.temporary = Some(Arc::new(Temporary { store, sequences: SequenceValues::default() }));
        state.see_temporary()
    }

    /// Does what ON COMMIT says, in a transaction that is about to be committed.
    pub(super) fn before_commit(&self, tx: &Transaction) -> Result<()> {
        let Some(reader) = tx.reader().temporary() else { return Ok(()) };
        let known = self.state.borrow().settings.search_path.clone();
        let path = seen(&known, reader)?.unwrap_or(known);
        let Some(temporary) = &path.temporary else { return Ok(()) };
        let names = |what| {
            let names: Vec<String> = temporary.on_commit(what).map(|table| quoted(&table.name)).collect();
            (!names.is_empty()).then(|| format!("pg_temp.{}", names.join(", pg_temp.")))
        };
        let emptied = names(OnCommit::DeleteRows).map(|names| format!("TRUNCATE {names}"));
        if let Some(sql) = emptied {
            self.quietly(|| self.change_schema_in(tx, &path, &Arc::new(parse_one(&sql)?))).map_err(not_emptied)?;
        }
        let path = seen(&path, reader)?.unwrap_or(path.clone());
        let dropped = names(OnCommit::Drop).map(|names| format!("DROP TABLE {names} CASCADE"));
        dropped.map_or(Ok(()), |sql| self.quietly(|| self.change_schema_in(tx, &path, &Arc::new(parse_one(&sql)?))))
    }

    /// DISCARD TEMP.
    pub(super) fn discard_temporary(&self) -> Result<()> {
        let Some(temporary) = self.state.borrow().settings.search_path.temporary.clone() else { return Ok(()) };
        let kinds =
            [(RelationKind::View, "VIEW"), (RelationKind::Table, "TABLE"), (RelationKind::Sequence, "SEQUENCE")];
        for (kind, noun) in kinds {
            let of_kind = temporary.relations().filter(|(_, relation)| relation.kind() == kind);
            let names: Vec<String> = of_kind.map(|(name, _)| quoted(name)).collect();
            if !names.is_empty() {
                // What an earlier one took along is not there any more.
                let names = names.join(", pg_temp.");
                let sql = format!("DROP {noun} IF EXISTS pg_temp.{names} CASCADE");
                self.quietly(|| {
                    let parsed = Arc::new(parse_one(&sql)?);
                    self.dispatch(&mut Runnable::new(parsed), &()).map(drop)
                })?;
            }
        }
        Ok(())
    }

    /// Does something that the user is not told of.
    fn quietly(&self, work: impl FnOnce() -> Result<()>) -> Result<()> {
        let notices = self.take_notices();
        let done = work();
        self.take_notices();
        notices.into_iter().for_each(|notice| self.notice_with(notice));
        done
    }

    /// Begins a transaction of a session that may have temporary relations.
    pub(super) fn with_temporary(&self, tx: cairn_storage::Transaction) -> Result<Transaction> {
        Ok(Transaction::new(tx, self.state.borrow().temporary_store())?)
    }
}

/// SQLSTATE 0A000 where a table that keeps its rows refers to one that does not.
fn not_emptied(error: Error) -> Error {
    if error.sqlstate() != SqlState::FEATURE_NOT_SUPPORTED {
        return error;
    }
    let tables = error.detail().unwrap_or_default().trim_end_matches('.');
    Error::new(error.sqlstate(), "unsupported ON COMMIT and foreign key combination")
        .with_detail(format!("{tables}, but they do not have the same ON COMMIT setting."))
}
