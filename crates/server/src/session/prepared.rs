//! Prepared statements, by whose names both the protocol and SQL know them.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use cairn_wire::{Find, Prepare};
use cairndb::{ColumnOrigin, DataType, Error, SqlState, Statement};

use super::{Session, put, take};
use crate::line::Line;
use crate::results::tell_notices;
use crate::statements::Counts;

/// A statement that was prepared, its result's columns, and the tables' columns that they show.
type Described<'c> = (Statement<'c>, Option<Vec<cairndb::Field>>, Vec<Option<ColumnOrigin>>);

/// PostgreSQL's oid of `void`: what pgjdbc calls the type of an argument that only comes out.
const VOID: u32 = 2278;

/// A prepared statement; portals of it keep it.
pub(super) struct Prepared<'c> {
    /// `None`: it is one of the server's (`database_statement.rs`).
    pub(super) statement: Option<RefCell<Statement<'c>>>,
    /// By which SQL knows it, too, but the server's; empty: none.
    pub(super) name: String,
    pub(super) text: Arc<str>,
    /// Where it is counted, if it is.
    pub(super) counts: Option<Arc<Counts>>,
    /// It has rows, as far as was known when it was prepared.
    pub(super) returns: bool,
}

impl<'c> Session<'c> {
    pub(super) fn prepare(&mut self, line: &mut Line, prepare: Prepare) {
        let Prepare { statement: number, name, text, types } = prepare;
        drop(take(&mut self.statements, number));
        match self.of_server(&text) {
            Ok(None) => {}
            Ok(Some(_)) => {
                let prepared = Prepared { statement: None, name, text: text.into(), counts: None, returns: false };
                put(&mut self.statements, number, Rc::new(prepared));
                return line.conversation.prepared(Vec::new(), None, Vec::new());
            }
            Err(error) => {
                self.connection.fail_transaction();
                return self.fail(line, &error);
            }
        }
        let prepared = self.prepared(&text, &types);
        let named = prepared.and_then(|of| match name.is_empty() {
            true => Ok(of),
            false => self.connection.name_statement(&name, &of.0).map(|()| of),
        });
        match named {
            Ok((statement, columns, origins)) => {
                let parameters = statement.parameter_types().to_vec();
                self.keep(number, statement, (name, text.into()), columns.is_some());
                tell_notices(line, self.connection);
                self.tell_status(line);
                line.conversation.prepared(parameters, columns, origins);
            }
            Err(error) => self.fail(line, &error),
        }
    }

    fn keep(&mut self, number: usize, statement: Statement<'c>, (name, text): (String, Arc<str>), returns: bool) {
        let (statement, counts) = (Some(RefCell::new(statement)), self.counts(&text));
        put(&mut self.statements, number, Rc::new(Prepared { statement, name, text, counts, returns }));
    }

    /// What PREPARE has made, for the protocol.
    pub(super) fn find(&mut self, line: &mut Line, find: &Find) {
        let found = self.connection.named_statement(&find.name).and_then(|statement| {
            let (columns, origins) = (statement.result()?, statement.origins()?);
            Ok((statement, columns, origins))
        });
        match found {
            Ok((statement, columns, origins)) => {
                let (parameters, text) = (statement.parameter_types().to_vec(), Arc::<str>::from(statement.text()));
                let returns = columns.is_some();
                line.conversation.found(text.len(), parameters, columns, origins);
                self.keep(find.statement, statement, (find.name.clone(), text), returns);
            }
            Err(error) => self.fail(line, &error),
        }
    }

    /// Neither the protocol nor SQL knows it any more; portals of it go on.
    pub(super) fn close(&mut self, number: usize) {
        if let Some(prepared) = take(&mut self.statements, number)
            && !prepared.name.is_empty()
        {
            self.connection.forget_statement(&prepared.name);
        }
    }

    /// DEALLOCATE has forgotten one of those that both know.
    pub(super) fn forget_deallocated(&self, line: &mut Line) {
        let own = self.statements.iter().flatten().filter(|of| of.statement.is_none());
        let own: Vec<&str> = own.map(|of| of.name.as_str()).collect();
        line.conversation.keep_statements(|name| self.connection.knows_statement(name) || own.contains(&name));
    }

    fn prepared(&self, text: &str, types: &[u32]) -> Result<Described<'c>, Error> {
        let of_oid = |oid: &u32| match *oid {
            0 => Ok(DataType::Unknown),
            VOID => Ok(DataType::Void),
            oid => self.connection.type_of_oid(oid)?.ok_or_else(|| {
                let message = format!("type with OID {oid} does not exist");
                Error::new(SqlState::UNDEFINED_OBJECT, message)
            }),
        };
        let types: Vec<DataType> = types.iter().map(of_oid).collect::<Result<_, _>>()?;
        let statement = self.connection.prepare_typed(text, &types).map_err(without_place)?;
        let columns = statement.result()?;
        let origins = statement.origins()?;
        Ok((statement, columns, origins))
    }

    pub(super) fn describe_cursor(&self, line: &mut Line, name: &str) {
        let fetch = format!("FETCH FROM {}", quoted(name));
        let columns = self.connection.prepare_typed(&fetch, &[]).and_then(|fetch| fetch.result());
        match columns {
            Ok(columns) => line.conversation.described(&columns.unwrap_or_default()),
            Err(error) => {
                self.connection.fail_transaction();
                let error = match error.sqlstate() {
                    code @ SqlState::INVALID_CURSOR_NAME => {
                        Error::new(code, format!("portal \"{name}\" does not exist"))
                    }
                    _ => error,
                };
                self.fail(line, &error);
            }
        }
    }
}

/// PostgreSQL does not say where the second statement begins in a text that may have one only.
fn without_place(error: Error) -> Error {
    match error.message() {
        message @ "cannot insert multiple commands into a prepared statement" => Error::new(error.sqlstate(), message),
        _ => error,
    }
}

/// A name, as SQL has it whatever is in it.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
