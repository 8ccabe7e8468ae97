//! What is served to others: see `api/serving.rs`, and `Statement::perform` and `result`.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use cairn_parser::TokenKind;
use cairn_parser::token::{Lexer, Placeholders};

use super::execute::Runnable;
use super::settings::shown_name;
use super::{Executed, Params, Session, Settings};
use crate::catalog::oid_of;
use crate::command::{Command, CursorCommand, PreparedCommand, SchemaCommand, SessionCommand};
use crate::exec::Kept;
use crate::plan::Field;
use crate::prepared::explanation_columns;
use crate::sql::ParsedStatement;
use crate::sync;
use crate::types::{DataType, Server, ShownSettings};
use crate::{Error, Result, SqlState};

/// What [`Connection::changed_settings`](crate::Connection::changed_settings) has told so far.
///
/// ```
/// let conn = cairndb::Database::open_in_memory()?.connect()?;
/// let mut seen = cairndb::SettingsSeen::default();
/// assert!(conn.changed_settings(&["timezone"], &mut seen).is_some());
/// assert!(conn.changed_settings(&["timezone"], &mut seen).is_none(), "nothing has changed");
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Default)]
pub struct SettingsSeen(Option<Arc<Settings>>);

impl Session {
    pub(crate) fn perform(&self, sql: &str, params: &dyn Params) -> Result<Executed> {
        self.run_text(sql, params).map_err(|error| match error.sqlstate() {
            SqlState::UNDEFINED_PARAMETER if params.count() == 0 => at_parameter(error, sql),
            _ => error,
        })
    }

    pub(crate) fn prepare_typed(&self, sql: &str, types: &[DataType]) -> Result<Runnable> {
        self.try_prepare(sql, types).inspect_err(|_| self.state.borrow().fail())
    }

    /// As `prepare_typed`; where it fails, the open transaction does not.
    pub(crate) fn try_prepare(&self, sql: &str, types: &[DataType]) -> Result<Runnable> {
        self.forget_interrupt();
        let mut runnable = self.parsed(sql)?;
        if types.iter().any(|of| *of != DataType::Unknown) {
            runnable = Runnable::new(Arc::new(declaring(&runnable.parsed, types.to_vec())));
        }
        self.plan_now(&mut runnable)?;
        // (From now on its columns stay: those that its text had before are nothing to it.)
        runnable.kept = Some(Kept::default());
        if let (None, Some(prepared)) = (runnable.hash, &runnable.prepared) {
            // A later plan has the same ones, even where it would come to others.
            runnable.parsed = Arc::new(declaring(&runnable.parsed, prepared.parameters.clone()));
        }
        Ok(runnable)
    }

    /// What was to be stopped is over: what begins now is something else.
    pub(crate) fn forget_interrupt(&self) {
        if !self.keeps_interrupt {
            self.interrupt.store(false, Ordering::Relaxed);
        }
    }

    pub(crate) fn type_of_oid(&self, oid: u32) -> Result<Option<DataType>> {
        if oid == DataType::Unknown.oid() {
            return Ok(Some(DataType::Unknown));
        }
        if let Some(known) = DataType::of_oid(oid) {
            return Ok(Some(known));
        }
        let catalog = self.catalog()?;
        Ok(catalog.types().find_map(|of| match oid {
            _ if oid_of(of.id) == oid => Some(of.data_type),
            _ if oid_of(of.array_id) == oid => of.data_type.array(),
            _ => None,
        }))
    }

    pub(crate) fn changed_settings(&self, names: &[&str], seen: &mut SettingsSeen) -> Option<Vec<String>> {
        let state = self.state.borrow();
        if seen.0.as_ref().is_some_and(|seen| Arc::ptr_eq(seen, &state.settings)) {
            return None;
        }
        // For as long as it is held, whoever changes a setting makes another of it.
        seen.0 = Some(state.settings.clone());
        Some(names.iter().map(|name| state.settings.shown(name).unwrap_or_default()).collect())
    }

    pub(crate) fn serve(&self, server: Arc<dyn Server>) {
        self.channels().serve(server);
    }

    pub(crate) fn idle_limit(&self) -> Option<(Instant, Error)> {
        let state = self.state.borrow();
        let limits = &state.settings.limits;
        if let Some(open) = &state.transaction {
            return open.idle_limit(limits);
        }
        let idle = limits.idle_session?;
        let message = "terminating connection due to idle-session timeout";
        Some((sync::now() + idle, Error::new(SqlState::IDLE_SESSION_TIMEOUT, message)))
    }

    pub(crate) fn result_of(&self, runnable: &Runnable) -> Result<Option<Vec<Field>>> {
        if let Some(prepared) = runnable.prepared.as_ref().filter(|of| !of.is_command() || !of.fields().is_empty()) {
            let is_query = matches!(runnable.parsed.syntax(), cairn_parser::Statement::Query { .. });
            return Ok((is_query || !prepared.fields().is_empty()).then(|| prepared.fields().to_vec()));
        }
        let text = |name: &str| Field { name: name.to_owned(), data_type: DataType::Text };
        Ok(match Command::of(&runnable.parsed)? {
            Command::Session(SessionCommand::Show { name }) => Some(vec![text(shown_name(&name))]),
            Command::Session(SessionCommand::ShowAll) => Some(["name", "setting", "description"].map(text).to_vec()),
            Command::Prepared(PreparedCommand::Execute(execute)) => self.fields_of_named(&execute.name)?,
            Command::Prepared(PreparedCommand::Explain { told, .. }) => Some(explanation_columns(told)),
            Command::Schema(SchemaCommand::Explain(made)) => Some(explanation_columns(made.told)),
            Command::Cursor(CursorCommand::Fetch { name, moves: false, .. }) => self.fields_of_cursor(&name),
            _ => None,
        })
    }
}

/// Where the first parameter stands, in a text that is run without any.
fn at_parameter(error: Error, sql: &str) -> Error {
    let mut lexer = Lexer::new(sql, 0, Placeholders::default());
    loop {
        let token = lexer.next_token();
        match token.kind {
            TokenKind::Param => {
                let before = sql.get(..token.start as usize).unwrap_or("");
                return error.at(before.chars().count() + 1);
            }
            TokenKind::Eof | TokenKind::Bad => return error,
            _ => {}
        }
    }
}

fn declaring(parsed: &ParsedStatement, types: Vec<DataType>) -> ParsedStatement {
    parsed.within(parsed.statement, types)
}
