//! SET, SHOW, RESET and DISCARD.

use std::sync::Arc;

use super::{Settings, unrecognized};
use crate::catalog::SearchPath;
use crate::command::{ChannelCommand, Discard, SessionCommand};
use crate::plan::Field;
use crate::result::Executed;
use crate::session::ceilings::Ceilings;
use crate::session::control::outside;
use crate::session::sequences::SessionSequences;
use crate::session::{Rows, Session};
use crate::settings::{Setting, boolean, listed, setting};
use crate::types::{DataType, ShownSettings, Value};
use crate::{Error, Result, SqlState};

/// What stands above the row of SHOW.
pub(in crate::session) fn shown_name(name: &str) -> &str {
    setting(name).map_or(name, |of| of.name)
}

impl Session {
    pub(crate) fn session_command(&self, command: &SessionCommand) -> Result<Executed> {
        use SessionCommand as S;
        match command {
            S::Set { name, value, local } => self.change_setting(name, value.as_deref(), *local),
            S::SetTransaction { read_only } => self.set_transaction(*read_only),
            S::SetCharacteristics { read_only, local } => match read_only {
                Some(read_only) => {
                    let value = if *read_only { "on" } else { "off" };
                    self.change_setting("default_transaction_read_only", Some(value), *local)
                }
                None => Ok(Executed::tag("SET")),
            },
            S::Show { name } => self.show(name),
            S::ShowAll => self.show_all(),
            S::Reset { name } => {
                self.change_setting(name, None, false)?;
                Ok(Executed::tag("RESET"))
            }
            S::ResetAll => {
                let first = self.first_settings();
                self.change_settings(|settings| {
                    let path = first.search_path.clone().in_session(&settings.search_path);
                    *settings = Settings { search_path: path, ..Settings::clone(&first) };
                })?;
                Ok(Executed::tag("RESET"))
            }
            S::Discard(what) => self.discard(*what),
            S::Checkpoint => {
                self.handle.store.checkpoint()?;
                Ok(Executed::tag("CHECKPOINT"))
            }
            S::LockToRead(tables) => {
                if !self.in_transaction() {
                    return Err(outside("LOCK TABLE"));
                }
                let catalog = self.catalog()?;
                tables.iter().try_for_each(|table| {
                    catalog.relation(table).map(drop).ok_or_else(|| catalog.no_relation(table))
                })?;
                Ok(Executed::tag("LOCK TABLE"))
            }
        }
    }

    /// What RESET goes back to.
    fn first_settings(&self) -> Arc<Settings> {
        self.state.borrow().first_settings.clone()
    }

    /// The session begins with these settings, goes back to them, and goes never beyond these ceilings: of one that was just made.
    pub(crate) fn begin_within(&self, ceilings: &Ceilings, settings: &[(String, String)]) -> Result<()> {
        let defaults = Settings::of(&self.handle).under(Some(Arc::new(ceilings.clone())));
        let mut first = defaults.clone();
        settings.iter().try_for_each(|(name, value)| first.set(&name.to_lowercase(), Some(value), &defaults))?;
        let mut state = self.state_mut()?;
        state.settings = Arc::new(first);
        state.first_settings = state.settings.clone();
        self.channels().begins_with(state.settings.clone());
        self.channels().locks.limit(ceilings.names.unwrap_or(usize::MAX));
        Ok(())
    }

    fn set_transaction(&self, read_only: Option<bool>) -> Result<Executed> {
        let mut state = self.state.borrow_mut();
        match (state.transaction.is_some(), read_only) {
            (true, Some(read_only)) => {
                if !read_only {
                    state.settings.check_write()?;
                }
                state.set_read_only(read_only);
            }
            (true, None) => {}
            (false, _) => {
                drop(state);
                let message = "SET TRANSACTION can only be used in transaction blocks";
                self.notice("WARNING", SqlState::NO_ACTIVE_SQL_TRANSACTION, message);
            }
        }
        Ok(Executed::tag("SET"))
    }

    fn discard(&self, what: Discard) -> Result<Executed> {
        if what == Discard::All {
            if self.in_transaction() {
                let message = "DISCARD ALL cannot run inside a transaction block";
                return Err(Error::new(SqlState::ACTIVE_SQL_TRANSACTION, message));
            }
            self.named().clear();
            self.close_cursors()?;
            self.channel_command(&ChannelCommand::Unlisten(None))?;
        }
        if matches!(what, Discard::All | Discard::Plans) {
            self.forget_plans();
        }
        if matches!(what, Discard::All | Discard::Sequences) {
            *self.sequences.lock() = SessionSequences::default();
        }
        if matches!(what, Discard::All | Discard::Temporary) {
            self.discard_temporary()?;
        }
        if what == Discard::All {
            let first = self.first_settings();
            let mut state = self.state.borrow_mut();
            let path = first.search_path.clone().in_session(&SearchPath {
                temporary: state.settings.search_path.temporary.clone(),
                ..SearchPath::default()
            });
            state.settings = Arc::new(Settings { search_path: path, ..Settings::clone(&first) });
        }
        Ok(Executed::tag(match what {
            Discard::All => "DISCARD ALL",
            Discard::Plans => "DISCARD PLANS",
            Discard::Sequences => "DISCARD SEQUENCES",
            Discard::Temporary => "DISCARD TEMP",
        }))
    }

    fn change_setting(&self, name: &str, value: Option<&str>, local: bool) -> Result<Executed> {
        if let ("transaction_read_only", Some(value), true) = (name, value, self.in_transaction()) {
            return self.set_transaction(Some(boolean(name, value)?));
        }
        if let ("default_tablespace", Some(value)) = (name, value.filter(|value| !matches!(*value, "" | "pg_default")))
        {
            let message = format!("default_tablespace = {value} does nothing: a database is one file");
            self.notice("NOTICE", SqlState::SUCCESSFUL_COMPLETION, message);
        }
        let defaults = self.first_settings();
        let mut state = self.state.borrow_mut();
        if local && state.transaction.is_none() {
            let message = "SET LOCAL can only be used in transaction blocks";
            self.notice("WARNING", SqlState::NO_ACTIVE_SQL_TRANSACTION, message);
            return Ok(Executed::tag("SET"));
        }
        if let (Some(kept), false) = (state.kept(), local) {
            kept.set(name, value, &defaults)?;
            // The same path is one object, by which plans know it.
            let kept = kept.search_path.clone();
            let settings = Arc::make_mut(&mut state.settings);
            settings.set(name, value, &defaults)?;
            if *kept == *settings.search_path {
                settings.search_path = kept;
            }
            return Ok(Executed::tag("SET"));
        }
        Arc::make_mut(&mut state.settings).set(name, value, &defaults)?;
        Ok(Executed::tag("SET"))
    }

    /// Does what calls of `set_config()` asked for in the statement that has come to its end.
    pub(in crate::session) fn settle_settings(&self) -> Result<()> {
        for change in self.channels().take_settings() {
            // What is local to a transaction that ended with the statement is gone when anybody looks.
            if !change.local || self.in_transaction() {
                self.change_setting(&change.name, Some(&change.value), change.local)?;
            }
        }
        Ok(())
    }

    fn show_all(&self) -> Result<Executed> {
        let settings = &self.state.borrow().settings;
        let fields = ["name", "setting", "description"];
        let fields = fields.map(|name| Field { name: name.to_owned(), data_type: DataType::Text });
        let row = |of: &Setting| {
            let shown = settings.shown(&of.name.to_ascii_lowercase())?;
            Some(vec![Value::text(of.name), Value::text(shown), Value::text(of.description)])
        };
        Ok(Executed::rows("SHOW", Rows::buffered(fields.into(), listed().iter().filter_map(row).collect())))
    }

    fn show(&self, name: &str) -> Result<Executed> {
        let shown = self.state.borrow().settings.shown(name).ok_or_else(|| unrecognized(name))?;
        let name = shown_name(name).to_owned();
        let fields = vec![Field { name, data_type: DataType::Text }];
        Ok(Executed::rows("SHOW", Rows::buffered(fields, vec![vec![Value::text(shown)]])))
    }
}
