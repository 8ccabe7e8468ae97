//! What an open connection has, and how it runs statements: [`Core`](crate::core::Core) lets one thread at a time in.

use std::rc::Rc;
use std::sync::{Arc, Weak};

use cairn_parser::token::TokenKind;
use cairndb::{Connection, Executed, Rows};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::errors::raised;
use crate::feed::{Feed, Held};
use crate::files::Handle;
use crate::from_python::{Given, Param};
use crate::released::released;
use crate::statements::{Prepared, Statements};
use crate::watch::Inner;

/// So many results are looked through for some that nobody has any more.
const HELD_MAX: usize = 16;

/// What an open connection has. Dropped in this order.
pub(crate) struct Open {
    pub(crate) statements: Statements,
    /// (Its only owner. A `Box` would say that nobody else refers to what is in it.)
    pub(crate) connection: Rc<Connection>,
    pub(crate) handle: Handle,
    /// Results that were not read to their end.
    pub(crate) held: Vec<Weak<dyn Held>>,
    /// What tells of changes until the connection is closed.
    pub(crate) watches: Vec<Weak<Inner>>,
    /// The parameters' buffer.
    params: Vec<Param>,
}

// SAFETY: all that borrows the connection lies here beside it, and goes with it from thread to thread, and so does its only `Rc`; each
// part of it could go by itself, and one thread at a time is inside (`Core::open`).
unsafe impl Send for Open {}

/// What a statement did.
pub(crate) struct Done {
    pub(crate) feed: Option<Arc<Feed>>,
    pub(crate) affected: i64,
}

impl Open {
    pub(crate) fn new((handle, connection): (Handle, Connection)) -> Open {
        let connection = Rc::new(connection);
        // SAFETY: the connection is on the heap, where it stays, and dropped behind the statements.
        let statements = unsafe { Statements::new(&connection) };
        Open { statements, connection, handle, held: Vec::new(), watches: Vec::new(), params: Vec::new() }
    }

    /// With the interpreter let go.
    pub(crate) fn close(self) -> cairndb::Result<()> {
        let Open { statements, connection, handle, .. } = self;
        drop(statements);
        drop(connection);
        handle.close()
    }

    /// Begins a transaction, if `begins` and none is open.
    pub(crate) fn begin(&self, py: Python<'_>, begins: bool) -> PyResult<()> {
        if !begins || self.connection.in_transaction() {
            return Ok(());
        }
        self.connection.execute("BEGIN", ()).map_err(|error| raised(py, &error))?;
        Ok(())
    }

    /// Runs a statement, which begins a transaction where `begins` says so and none is open.
    pub(crate) fn execute(
        &mut self,
        py: Python<'_>,
        begins: bool,
        sql: &Bound<'_, PyString>,
        given: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Done> {
        let first = {
            let known = self.statements.get(sql)?;
            if known.is_empty() {
                return Ok(Done { feed: None, affected: -1 });
            }
            known.rewritten.first
        };
        self.before(py, begins, first)?;
        let connection = self.statements.connection();
        let known = self.statements.get(sql)?;
        let mut params = std::mem::take(&mut self.params);
        let prepared = known.prepare(py, connection, given, &mut params)?;
        if let Some(rows) = prepared.statement.query_at_once(Given(&params)) {
            let done = at_once(py, connection, prepared, rows);
            params.clear();
            self.params = params;
            return done;
        }
        let ran = released(py, || {
            let mut executed = prepared.statement.perform(Given(&params))?;
            let mut rows = executed.take_rows();
            let ready = rows.as_mut().map(Feed::ready).transpose()?.flatten();
            Ok((executed, rows, ready))
        });
        let done = match ran {
            Err(error) => Err(known.raised(py, &error)),
            Ok((executed, None, _)) => Ok(Done { feed: None, affected: affected(&executed) }),
            Ok((executed, Some(rows), ready)) => {
                let shape = prepared.shape(py, rows.columns())?;
                let zone = shape.has_zone.then(|| connection.time_zone());
                let (ready, is_end) = ready.map_or((None, false), |(ready, is_end)| (Some(ready), is_end));
                let feed = Arc::new(Feed::new(shape, zone, (!is_end).then_some(rows), ready));
                self.held.push(held_of(&feed));
                Ok(Done { feed: Some(feed), affected: affected(&executed) })
            }
        };
        params.clear();
        self.params = params;
        if matches!(first, TokenKind::Create | TokenKind::Alter | TokenKind::Drop) {
            self.statements.forget_all();
        }
        self.look_through();
        done
    }

    /// What has to be held when its transaction ends.
    pub(crate) fn keep(&mut self, result: Arc<impl Held + 'static>) {
        self.held.push(held_of(&result));
        self.look_through();
    }

    fn look_through(&mut self) {
        if self.held.len() > HELD_MAX {
            self.held.retain(|held| held.upgrade().is_some_and(|held| held.is_open()));
        }
    }

    /// What has to be done before a statement that begins with this word.
    pub(crate) fn before(&mut self, py: Python<'_>, begins: bool, first: TokenKind) -> PyResult<()> {
        use TokenKind::{Abort, Begin, Commit, End, Rollback, Start};
        match first {
            Commit | End | Rollback | Abort => self.hold_results(py),
            Begin | Start => Ok(()),
            _ => self.begin(py, begins),
        }
    }

    /// The transaction ends: its results are kept.
    pub(crate) fn hold_results(&mut self, py: Python<'_>) -> PyResult<()> {
        for held in std::mem::take(&mut self.held).iter().filter_map(Weak::upgrade) {
            // A result that can not be read on says so when it is read.
            if let Err(error) = held.hold(py)
                && !error.is_instance_of::<pyo3::exceptions::PyException>(py)
            {
                return Err(error);
            }
        }
        Ok(())
    }
}

fn held_of(result: &Arc<impl Held + 'static>) -> Weak<dyn Held> {
    let result: Arc<dyn Held> = result.clone();
    Arc::downgrade(&result)
}

/// The result of a statement whose rows are there.
pub(crate) fn at_once(py: Python<'_>, connection: &Connection, prepared: &mut Prepared, rows: Rows) -> PyResult<Done> {
    let shape = prepared.shape(py, rows.columns())?;
    let zone = shape.has_zone.then(|| connection.time_zone());
    Ok(Done { feed: Some(Arc::new(Feed::new(shape, zone, None, Some(rows)))), affected: -1 })
}

/// PEP 249's `rowcount`.
pub(crate) fn affected(executed: &Executed) -> i64 {
    match executed.command() {
        "INSERT" | "UPDATE" | "DELETE" | "MERGE" | "COPY" | "MOVE" => executed.affected() as i64,
        _ => -1,
    }
}
