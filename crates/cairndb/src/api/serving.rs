//! What who serves statements to others asks of a connection beside what a program does: a statement whose parameters have types
//! that are said before, what is known of a result before there is one, what settings have become.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use cairn_parser::TokenKind;
use cairn_parser::token::{Lexer, Placeholders};

use super::execute::{Executed, Runnable};
use super::session::Settings;
use super::{Connection, Params, Rows, Statement};
use crate::catalog::oid_of;
use crate::command::{Command, CursorCommand, PreparedCommand, SessionCommand};
use crate::exec::Kept;
use crate::plan::Field;
use crate::sql::ParsedStatement;
use crate::types::{DataType, ShownSettings};
use crate::{Error, Result, SqlState};

/// What [`Connection::changed_settings`] has told so far.
#[derive(Default)]
pub struct SettingsSeen(Option<Arc<Settings>>);

impl Executed {
    /// The first words of PostgreSQL's command tag: `INSERT`, `SELECT`, `CREATE TABLE`.
    pub fn command(&self) -> &'static str {
        self.tag
    }

    /// How many rows the statement inserted, updated, deleted, moved over or copied.
    pub fn affected(&self) -> u64 {
        self.affected
    }

    /// The rows, where the statement returns rows (perhaps none).
    pub fn take_rows(&mut self) -> Option<Rows> {
        self.rows.take()
    }
}

impl Connection {
    /// Runs one statement, whatever it is: see [`Statement::perform`].
    ///
    /// ```
    /// let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// let mut done = conn.perform("CREATE TABLE t (id int)", ())?;
    /// assert_eq!((done.command(), done.affected(), done.take_rows().is_none()), ("CREATE TABLE", 0, true));
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn perform(&self, sql: &str, params: impl Params) -> Result<Executed> {
        self.run_text(sql, &params).map_err(|error| match error.sqlstate() {
            SqlState::UNDEFINED_PARAMETER if params.count() == 0 => at_parameter(error, sql),
            _ => error,
        })
    }

    /// Prepares one statement, whose first parameters have these types; [`DataType::Unknown`]: what the statement says.
    ///
    /// ```
    /// use cairndb::DataType;
    ///
    /// let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// let statement = conn.prepare_typed("SELECT $1", &[DataType::Date])?;
    /// assert_eq!(statement.columns()[0].data_type, DataType::Date);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn prepare_typed(&self, sql: &str, types: &[DataType]) -> Result<Statement<'_>> {
        self.forget_interrupt();
        let mut runnable = self.runnable(sql)?;
        if types.iter().any(|of| *of != DataType::Unknown) {
            runnable = Runnable::new(Arc::new(declaring(&runnable.parsed, types.to_vec())));
        }
        runnable.kept = Some(Kept::default());
        self.prepare_now(&mut runnable)?;
        if let (None, Some(prepared)) = (runnable.hash, &runnable.prepared) {
            // A later plan has the same ones, even where it would come to others.
            runnable.parsed = Arc::new(declaring(&runnable.parsed, prepared.parameters.clone()));
        }
        Ok(Statement::of(self, runnable))
    }

    /// What was to be stopped is over: what begins now is something else.
    pub(super) fn forget_interrupt(&self) {
        if !self.keeps_interrupt {
            self.interrupt.store(false, Ordering::Relaxed);
        }
    }

    /// The type of this number in `pg_type`; of a domain, the type that it rests on.
    ///
    /// ```
    /// let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// assert_eq!(conn.type_of_oid(23)?, Some(cairndb::DataType::Integer));
    /// assert_eq!(conn.type_of_oid(0)?, None);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn type_of_oid(&self, oid: u32) -> Result<Option<DataType>> {
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

    /// These settings, as `SHOW` says them, if any setting has changed since the last call with the same `seen`.
    ///
    /// ```
    /// let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// let mut seen = cairndb::SettingsSeen::default();
    /// assert_eq!(conn.changed_settings(&["timezone"], &mut seen), Some(vec!["UTC".to_owned()]));
    /// assert_eq!(conn.changed_settings(&["timezone"], &mut seen), None);
    /// conn.execute("SET timezone = 'Europe/Rome'", ())?;
    /// assert_eq!(conn.changed_settings(&["timezone"], &mut seen), Some(vec!["Europe/Rome".to_owned()]));
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn changed_settings(&self, names: &[&str], seen: &mut SettingsSeen) -> Option<Vec<String>> {
        let state = self.state.borrow();
        if seen.0.as_ref().is_some_and(|seen| Arc::ptr_eq(seen, &state.settings)) {
            return None;
        }
        // For as long as it is held, whoever changes a setting makes another of it.
        seen.0 = Some(state.settings.clone());
        Some(names.iter().map(|name| state.settings.shown(name).unwrap_or_default()).collect())
    }

    /// Fails the open transaction, if there is one, as a statement that fails does.
    ///
    /// ```
    /// let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// conn.execute("BEGIN", ())?;
    /// conn.fail_transaction();
    /// assert!(conn.transaction_failed());
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn fail_transaction(&self) {
        self.state.borrow().fail();
    }
}

impl Statement<'_> {
    /// The columns of the result, as far as they are known before it runs, of SHOW, EXECUTE and FETCH, too; `None`: it returns no
    /// rows.
    ///
    /// ```
    /// let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// let columns = conn.prepare("SHOW TimeZone")?.result()?.expect("a row");
    /// assert_eq!(columns[0].name, "TimeZone");
    /// assert!(conn.prepare("CREATE TABLE t (id int)")?.result()?.is_none());
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn result(&self) -> Result<Option<Vec<Field>>> {
        let (connection, runnable) = self.parts();
        if let Some(prepared) = &runnable.prepared {
            let is_query = matches!(runnable.parsed.syntax(), cairn_parser::Statement::Query { .. });
            return Ok((is_query || !prepared.fields().is_empty()).then(|| prepared.fields().to_vec()));
        }
        let text = |name: &str| Field { name: name.to_owned(), data_type: DataType::Text };
        Ok(match Command::of(&runnable.parsed)? {
            Command::Session(SessionCommand::Show { name }) => Some(vec![text(shown_name(&name))]),
            Command::Session(SessionCommand::ShowAll) => Some(["name", "setting", "description"].map(text).to_vec()),
            Command::Session(SessionCommand::Configure(calls)) => {
                Some(calls.iter().map(|call| text(&call.column)).collect())
            }
            Command::Prepared(PreparedCommand::Execute(execute)) => connection.fields_of_named(&execute.name)?,
            Command::Prepared(PreparedCommand::Explain { .. }) => Some(vec![text("QUERY PLAN")]),
            Command::Cursor(CursorCommand::Fetch { name, moves: false, .. }) => {
                Some(connection.fields_of_cursor(&name)?)
            }
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

/// What stands above the row of SHOW.
pub(super) fn shown_name(name: &str) -> &str {
    match name {
        "timezone" => "TimeZone",
        "datestyle" => "DateStyle",
        "intervalstyle" => "IntervalStyle",
        name => name,
    }
}

fn declaring(parsed: &ParsedStatement, types: Vec<DataType>) -> ParsedStatement {
    parsed.within(parsed.statement, types)
}

impl DataType {
    /// PostgreSQL's modifier of the type (`atttypmod`): -1 where it has none.
    ///
    /// ```
    /// use cairndb::DataType;
    ///
    /// assert_eq!(DataType::Varchar(Some(20)).type_modifier(), 24);
    /// assert_eq!(DataType::Integer.type_modifier(), -1);
    /// ```
    pub fn type_modifier(self) -> i32 {
        match crate::system::modifier(self) {
            crate::Value::Integer(modifier) => modifier,
            _ => -1,
        }
    }
}
