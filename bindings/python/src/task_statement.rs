//! A statement of a task's: answered where it is asked, or handed to the workers of `cairndb-async`.
//!
//! The texts, what their parameters are, and the statements that answer at once are a connection's ([`Core`](crate::core::Core)) that
//! runs nothing else. A text that it does not know is prepared by a worker first, for that may have to read the catalog.

use std::sync::Arc;

use cairn_parser::token::TokenKind;
use cairndb::{DataType, Rows};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::answer::Answer;
use crate::awaited::{Came, Work};
use crate::errors::raised;
use crate::feed::Feed;
use crate::from_python::{Given, Param, utf8};
use crate::open::{Done, affected, at_once};
use crate::placeholders::Rewritten;
use crate::shape::Shape;
use crate::workers::{Inner, attached};

/// See the module.
pub(crate) struct TaskStatement {
    workers: Arc<Inner>,
    sql: Py<PyString>,
    given: Option<Py<PyAny>>,
    /// A worker was asked to prepare it.
    was_prepared: bool,
    /// Once it was handed over: its text, and the columns that it had then.
    handed_over: Option<(Arc<Rewritten>, Arc<Shape>)>,
}

/// What a statement came to that was run by a worker.
pub(crate) struct Ran {
    affected: i64,
    /// All of them.
    rows: Option<Rows>,
}

/// How a statement begins.
pub(crate) enum Begun {
    Done(Answer),
    Waits(Work),
}

/// What the connection says of a statement.
enum Said {
    Done(Done),
    Unknown,
    HandOver { rewritten: Arc<Rewritten>, shape: Arc<Shape>, types: Vec<DataType>, params: Vec<Param>, is_write: bool },
}

impl TaskStatement {
    pub(crate) fn new(workers: Arc<Inner>, sql: Py<PyString>, given: Option<Py<PyAny>>) -> TaskStatement {
        TaskStatement { workers, sql, given, was_prepared: false, handed_over: None }
    }

    /// Answers where that takes no waiting, or hands it over.
    pub(crate) fn begin(&mut self, py: Python<'_>) -> PyResult<Begun> {
        match self.ask(py)? {
            Said::Done(done) => Ok(Begun::Done(self.workers.answer(py, done))),
            Said::Unknown => {
                self.was_prepared = true;
                self.prepare(py).map(Begun::Waits)
            }
            Said::HandOver { rewritten, shape, types, params, is_write } => {
                let work = self.run(py, rewritten.clone(), types, params, is_write)?;
                self.handed_over = Some((rewritten, shape));
                Ok(Begun::Waits(work))
            }
        }
    }

    fn ask(&self, py: Python<'_>) -> PyResult<Said> {
        let (sql, given) = (self.sql.bind(py), self.given.as_ref().map(|given| given.bind(py)));
        let said = self.workers.core.try_with(py, |open| {
            let connection = open.statements.connection();
            let known = open.statements.get(sql)?;
            if known.is_empty() {
                return Ok(Said::Done(Done { feed: None, affected: -1 }));
            }
            if !known.is_prepared() && !self.was_prepared {
                return Ok(Said::Unknown);
            }
            let (rewritten, mut params) = (known.rewritten.clone(), Vec::new());
            let prepared = known.prepare(py, connection, given, &mut params)?;
            if let Some(rows) = prepared.statement.query_at_once(Given(&params)) {
                return at_once(py, connection, prepared, rows).map(Said::Done);
            }
            let (shape, types) = (prepared.own_shape(py)?, prepared.types.clone());
            let is_write = prepared.statement.is_point() && shape.fields.is_empty() && types.is_empty();
            Ok(Said::HandOver { rewritten, shape, types, params, is_write })
        })?;
        // Somebody else has the connection: a worker waits for it.
        Ok(said.unwrap_or(Said::Unknown))
    }

    /// Has a worker prepare it.
    fn prepare(&self, py: Python<'_>) -> PyResult<Work> {
        let database = self.workers.database(py)?;
        let (core, sql) = (self.workers.core.clone(), self.sql.clone_ref(py));
        let given = self.given.as_ref().map(|given| given.clone_ref(py));
        let prepare = move |py: Python<'_>| {
            let (sql, given) = (sql.into_bound(py), given.map(|given| given.into_bound(py)));
            core.with(py, |open| {
                let connection = open.statements.connection();
                open.statements.get(&sql)?.prepare(py, connection, given.as_ref(), &mut Vec::new()).map(drop)
            })
        };
        Ok(Box::pin(async move { database.call(|_| Ok(Came::Prepared(attached(prepare)))).await }))
    }

    /// Has a worker run it, or, where it writes a row by its key, does that here; it is ready once that is durable.
    fn run(
        &self,
        py: Python<'_>,
        rewritten: Arc<Rewritten>,
        types: Vec<DataType>,
        params: Vec<Param>,
        is_write: bool,
    ) -> PyResult<Work> {
        let database = self.workers.database(py)?;
        if is_write {
            return Ok(Box::pin(async move {
                let affected = database.execute(&rewritten.sql, Given(&params)).await?;
                Ok(Came::Ran(Ran { affected: affected as i64, rows: None }))
            }));
        }
        let run = move |connection: &cairndb::Connection| {
            let (sql, params) = (&rewritten.sql, Given(&params));
            let mut executed = match types.is_empty() {
                true => connection.perform(sql, params)?,
                false => connection.prepare_typed(sql, &types)?.perform(params)?,
            };
            let whole = |mut rows: Rows| rows.ahead(usize::MAX, std::time::Duration::MAX).map(|ahead| ahead.rows);
            let rows = executed.take_rows().map(whole).transpose()?;
            Ok(Came::Ran(Ran { affected: affected(&executed), rows }))
        };
        Ok(Box::pin(async move { database.call_pipelined(run).await }))
    }

    /// What it came to.
    pub(crate) fn answer(&self, py: Python<'_>, ran: Ran) -> PyResult<Answer> {
        let Ran { affected, rows } = ran;
        if let Some((rewritten, _)) = &self.handed_over
            && matches!(rewritten.first, TokenKind::Create | TokenKind::Alter | TokenKind::Drop)
        {
            self.workers.core.try_with(py, |open| {
                open.statements.forget_all();
                Ok(())
            })?;
        }
        let feed = match rows {
            None => None,
            Some(rows) => {
                let known = self.handed_over.as_ref().map(|(_, shape)| shape);
                let shape = match known.filter(|shape| shape.fields == rows.columns()) {
                    Some(shape) => shape.clone(),
                    None => Arc::new(Shape::new(py, rows.columns())?),
                };
                let zone = shape.has_zone.then(|| self.workers.zone.clone());
                Some(Arc::new(Feed::new(shape, zone, None, Some(rows))))
            }
        };
        Ok(self.workers.answer(py, Done { feed, affected }))
    }

    /// The exception of an error of it. What is known of the text may be of a schema that was changed, and is asked anew.
    pub(crate) fn failed(&self, py: Python<'_>, error: &cairndb::Error) -> PyErr {
        let sql = self.sql.bind(py);
        if matches!(error.sqlstate().as_str().get(..2), Some("0A" | "22" | "42")) {
            // An error of this would be of less use than the one that there is.
            let _ = self.workers.core.try_with(py, |open| open.statements.forget(sql));
        }
        match (&self.handed_over, utf8(sql)) {
            (Some((rewritten, _)), Ok(text)) => rewritten.raised(py, text, error),
            _ => raised(py, error),
        }
    }
}
