//! Statements of bodies that are neither queries nor changes of rows.

use std::cell::Cell;

use super::{Runner, no_changes, not_allowed};
use crate::bind::BoundExplain;
use crate::catalog::ObjectName;
use crate::command::{self, Command, SchemaCommand, SessionCommand, TransactionCommand};
use crate::dml::DmlContext;
use crate::exec::ExecContext;
use crate::prepared::{Prepared, explanation};
use crate::routine::Ran;
use crate::session::control::set_constraints;
use crate::session::execute::read_only_violation;
use crate::{Error, Result, SqlState};

impl Runner {
    /// Runs EXPLAIN, whose lines are rows like a query's.
    pub(super) fn explain(&self, of: &BoundExplain, prepared: &Prepared, context: &ExecContext) -> Result<Ran> {
        self.transaction()?.ok_or_else(|| not_allowed("EXPLAIN"))?;
        let explained =
            |dml: Option<&DmlContext<'_>>| explanation(of.told, of.statement.clone(), prepared, context, dml);
        let (fields, rows) = match of.told.analyze && prepared.writes() {
            false => explained(None)?,
            true => {
                let (tx, shared) = self.begin_changes(prepared)?;
                let (_, catalog) = self.now();
                explained(Some(&self.dml(&tx, &catalog, (context, &Cell::default()), &shared)))?
            }
        };
        // FOUND stays what it was.
        Ok(Ran { affected: rows.len() as u64, fields, rows: rows.into(), ..Ran::default() })
    }

    /// Runs a command that changes the schema, or is about channels.
    pub(super) fn command(&self, prepared: &Prepared, context: &ExecContext) -> Result<Ran> {
        let parsed = &prepared.parsed;
        let words = || command::first_words(parsed).unwrap_or_default();
        let command = match Command::of(parsed)? {
            Command::Schema(command) => command,
            Command::Channel(command) => {
                self.transaction()?.ok_or_else(|| no_changes(parsed))?;
                self.session.channels.command(&command)?;
                return Ok(Ran::default());
            }
            Command::Transaction(TransactionCommand::SetConstraints { names, deferred }) => {
                return self.set_constraints(names.as_deref(), deferred, context);
            }
            Command::Session(SessionCommand::SetTransaction { read_only })
                if read_only.is_none_or(|read_only| read_only == self.read_only) =>
            {
                self.transaction()?.ok_or_else(|| no_changes(parsed))?;
                return Ok(Ran::default());
            }
            Command::Transaction(_) => {
                let message = "unsupported transaction command in PL/pgSQL";
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
            _ => return Err(Error::unsupported(format!("{} in a function", words()))),
        };
        let tx = self.transaction()?.ok_or_else(|| no_changes(parsed))?;
        if self.read_only {
            return Err(read_only_violation(parsed));
        }
        if self.temporary.is_none() && (command.makes_temporary() || self.is_temporary_by_path(&command)) {
            let error = Error::unsupported("the session's first temporary relation made in a function");
            return Err(error.with_hint("Make a temporary table before the function is called."));
        }
        let (shared, (_, catalog)) = (self.shared()?, self.now());
        let done = {
            let room = Cell::default();
            let dml = self.dml(&tx, &catalog, (context, &room), &shared);
            shared.change_schema(parsed, (&dml, &self.options), self, false)?
        };
        self.session.channels.notices.add_all(done.notices);
        self.see_changes(&tx, &shared)?;
        let (fields, rows) = done.rows.unwrap_or_default();
        Ok(Ran { affected: done.affected, fields, rows: rows.into(), ..Ran::default() })
    }

    fn set_constraints(&self, names: Option<&[ObjectName]>, deferred: bool, context: &ExecContext) -> Result<Ran> {
        let tx = self.transaction()?.ok_or_else(|| not_allowed("SET CONSTRAINTS"))?;
        let (_, catalog) = self.now();
        let (shared, room) = (self.shared()?, Cell::default());
        let dml = self.dml(&tx, &catalog, (context, &room), &shared);
        set_constraints(names, deferred, self.deferred.as_deref(), &dml)?;
        Ok(Ran::default())
    }

    fn is_temporary_by_path(&self, command: &SchemaCommand) -> bool {
        self.now().1.path().begins_temporary() && command.makes_in_path()
    }
}
