//! PREPARE, EXECUTE and DEALLOCATE: statements that a session knows by name.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use cairn_parser::{Expr, Id, Statement, TypeName};

use super::Executed;
use super::Session;
use super::execute::Runnable;
use crate::bind::bind_argument;
use crate::catalog::{Catalog, already_exists};
use crate::command::{self, Execute, PreparedCommand};
use crate::exec::{Kept, eval_row};
use crate::plan::Field;
use crate::prepared::Prepared;
use crate::sql::{ParsedStatement, type_of_syntax};
use crate::sync::{Mutex, MutexGuard};
use crate::types::datetime::clock_micros;
use crate::types::{DataType, ListedStatement};
use crate::{Error, Result, SqlState, Value};

/// What PREPARE made, or a client's protocol.
#[derive(Clone)]
pub(super) struct Named {
    runnable: Runnable,
    parameters: Vec<DataType>,
    /// What its rows are, whatever becomes of the tables.
    fields: Vec<Field>,
    /// Microseconds since 2000-01-01 UTC.
    made: i64,
    is_of_sql: bool,
    executions: u64,
}

/// By name. Transactions have no part in it.
pub(super) type NamedStatements = BTreeMap<String, Named>;

/// Those of a session.
#[derive(Default)]
pub(super) struct PreparedStatements(Mutex<NamedStatements>);

impl fmt::Debug for PreparedStatements {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_set().entries(self.lock().keys()).finish()
    }
}

impl PreparedStatements {
    fn lock(&self) -> MutexGuard<'_, NamedStatements> {
        self.0.lock()
    }

    /// As `pg_prepared_statements` lists them.
    pub(super) fn listed(&self) -> Vec<ListedStatement> {
        let listed = |(name, of): (&String, &Named)| ListedStatement {
            name: name.clone(),
            statement: of.runnable.parsed.text().to_owned(),
            made: of.made,
            parameters: of.parameters.clone(),
            is_of_sql: of.is_of_sql,
            executions: of.executions,
        };
        self.lock().iter().map(listed).collect()
    }
}

impl Session {
    /// What PREPARE made.
    pub(super) fn named(&self) -> MutexGuard<'_, NamedStatements> {
        self.routines.names.prepared.lock()
    }

    pub(super) fn prepared_command(
        &self,
        parsed: &Arc<ParsedStatement>,
        command: &PreparedCommand,
    ) -> Result<Executed> {
        match command {
            PreparedCommand::Prepare { name, types, statement } => {
                self.prepare_named(parsed, name, (types, *statement))?;
                Ok(Executed::tag("PREPARE"))
            }
            PreparedCommand::Execute(execute) => {
                let (mut runnable, values) = self.executed(parsed, execute)?;
                self.dispatch(&mut runnable, &values)
            }
            PreparedCommand::Explain { told, execute, new_relation } => {
                if let Some(name) = new_relation
                    && self.catalog()?.relation(name).is_some()
                {
                    return Err(already_exists(&name.name));
                }
                let (mut runnable, values) = self.executed(parsed, execute)?;
                runnable.explained = Some(*told);
                self.dispatch(&mut runnable, &values)
            }
            PreparedCommand::Deallocate(Some(name)) => match self.named().remove(name) {
                Some(_) => Ok(Executed::tag("DEALLOCATE")),
                None => Err(unknown(name)),
            },
            PreparedCommand::Deallocate(None) => {
                self.named().clear();
                Ok(Executed::tag("DEALLOCATE ALL"))
            }
        }
    }

    fn prepare_named(
        &self,
        parsed: &ParsedStatement,
        name: &str,
        (types, statement): (&[Id<TypeName>], Id<Statement>),
    ) -> Result<()> {
        self.check_unnamed(name)?;
        let (there, bytes) = {
            let named = self.named();
            (named.len(), named.values().map(|known| known.runnable.parsed.text().len()).sum::<usize>())
        };
        self.state.borrow().settings.check_names("prepared statements", there, bytes + parsed.text().len())?;
        let catalog = self.catalog()?;
        let users = catalog.users_types();
        let declared = |&id: &Id<TypeName>| {
            let place = || parsed.position_of(parsed.tree.span(id).start as usize);
            type_of_syntax(&parsed.tree, id, &users).map_err(|error| error.at(place()))
        };
        let declared: Vec<DataType> = types.iter().map(declared).collect::<Result<_>>()?;
        let within = Arc::new(parsed.within(statement, declared));
        command::refuse_into(&within, "SELECT ... INTO in PREPARE")?;
        let mut runnable = Runnable::new(within);
        self.prepare_now(&mut runnable)?;
        let prepared = runnable.prepared.as_ref().ok_or_else(|| Error::internal("a statement without a plan"))?;
        let (parameters, fields) = (prepared.parameters.clone(), prepared.fields().to_vec());
        // A later plan has the same ones, even where it would come to others.
        runnable.parsed = Arc::new(parsed.within(statement, parameters.clone()));
        self.keep_named(name, (runnable, true), (parameters, fields));
        Ok(())
    }

    /// SQLSTATE 42P05 where there is a statement of this name.
    fn check_unnamed(&self, name: &str) -> Result<()> {
        if self.named().contains_key(name) {
            let message = format!("prepared statement \"{name}\" already exists");
            return Err(Error::new(SqlState::DUPLICATE_PREPARED_STATEMENT, message));
        }
        Ok(())
    }

    fn keep_named(
        &self,
        name: &str,
        (runnable, is_of_sql): (Runnable, bool),
        (parameters, fields): (Vec<DataType>, Vec<Field>),
    ) {
        let named = Named { runnable, parameters, fields, made: clock_micros(), is_of_sql, executions: 0 };
        self.named().insert(name.to_owned(), named);
    }

    /// What a client's protocol has prepared has this name from now on.
    pub(crate) fn name_runnable(&self, name: &str, runnable: &Runnable) -> Result<()> {
        self.check_unnamed(name)?;
        let prepared = runnable.prepared.as_ref();
        let of = prepared.map(|prepared| (prepared.parameters.clone(), prepared.fields().to_vec())).unwrap_or_default();
        self.keep_named(name, (Runnable { kept: None, ..runnable.clone() }, false), of);
        Ok(())
    }

    /// What a client's protocol runs of a statement of this name.
    pub(crate) fn named_runnable(&self, name: &str) -> Result<Runnable> {
        let mut runnable = self.named().get(name).map(|named| named.runnable.clone()).ok_or_else(|| unknown(name))?;
        runnable.kept = Some(Kept::default());
        Ok(runnable)
    }

    pub(crate) fn knows_named(&self, name: &str) -> bool {
        self.named().contains_key(name)
    }

    pub(crate) fn forget_named(&self, name: &str) {
        self.named().remove(name);
    }

    /// What the rows are that EXECUTE gives of a statement of this name; `None`: it returns none.
    pub(super) fn fields_of_named(&self, name: &str) -> Result<Option<Vec<Field>>> {
        let fields = self.named().get(name).map(|named| named.fields.clone()).ok_or_else(|| unknown(name))?;
        Ok((!fields.is_empty()).then_some(fields))
    }

    /// What EXECUTE runs, with what it gives for the parameters.
    pub(super) fn executed(&self, parsed: &ParsedStatement, execute: &Execute) -> Result<(Runnable, Vec<Value>)> {
        let Execute { name, arguments } = execute;
        let Named { mut runnable, parameters, fields, .. } =
            self.named().get(name).cloned().ok_or_else(|| unknown(name))?;
        if runnable.prepared.as_ref().is_some_and(|prepared| prepared.is_command()) {
            return Err(Error::unsupported("EXECUTE of a command that a client's protocol has prepared"));
        }
        if parameters.len() != arguments.len() {
            let message = format!("wrong number of parameters for prepared statement \"{name}\"");
            let detail = format!("Expected {} parameters but got {}.", parameters.len(), arguments.len());
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).with_detail(detail));
        }
        let values = self.arguments(parsed, arguments, &parameters)?;
        self.prepare_now(&mut runnable)?;
        let now = runnable.prepared.as_ref().map_or(&[][..], |prepared| prepared.fields());
        if *now != *fields {
            refuse_other_columns(now, &fields, &*self.catalog()?)?;
        }
        if let Some(named) = self.named().get_mut(name) {
            named.runnable.prepared.clone_from(&runnable.prepared);
            named.executions += 1;
        }
        Ok((runnable, values))
    }

    /// What EXECUTE gives for the parameters.
    fn arguments(&self, parsed: &ParsedStatement, arguments: &[Id<Expr>], types: &[DataType]) -> Result<Vec<Value>> {
        if arguments.is_empty() {
            return Ok(Vec::new());
        }
        self.with_state(|state| {
            let utility = Prepared::utility(&Arc::new(parsed.clone()), state.stamp, &state.catalog);
            let context = self.context(&utility, state, &())?;
            let value = |((number, expr), to): ((usize, &Id<Expr>), &DataType)| {
                let to = state.catalog.now(*to);
                eval_row(&bind_argument(parsed, (*expr, number), to, &state.catalog)?, &[], &context)
            };
            (1..).zip(arguments).zip(types).map(value).collect()
        })
    }
}

/// SQLSTATE 0A000 where a statement's columns are not those that it was prepared with. A type that was altered is still the same.
pub(super) fn refuse_other_columns(now: &[Field], then: &[Field], catalog: &Catalog) -> Result<()> {
    let is_same = |(now, then): (&Field, &Field)| now.name == then.name && now.data_type == catalog.now(then.data_type);
    if now.len() == then.len() && now.iter().zip(then).all(is_same) {
        return Ok(());
    }
    Err(Error::changed_result())
}

fn unknown(name: &str) -> Error {
    let message = format!("prepared statement \"{name}\" does not exist");
    Error::new(SqlState::INVALID_SQL_STATEMENT_NAME, message)
}
