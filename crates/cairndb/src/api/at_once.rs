//! Statements that are answered where they are asked, where that takes no waiting.

use std::ops::ControlFlow;
use std::sync::Arc;

use cairn_storage::Acknowledge;

use super::{Connection, Params, PlanCache, RowRef, Rows, Ticket};
use crate::Result;
use crate::point::Miss;
use crate::prepared::Prepared;
use crate::session::{FewRows, Session, SessionState, add_row, point};

/// Runs point statements whose plan is known, whose pages are in memory, and for which nobody has to be waited for; anything
/// else is not answered, and leaves no trace. What fails is not answered either: whoever can wait is to run it, and to tell why.
///
/// For programs whose threads must not wait: what this does not answer they hand to a thread of a [`Pooled`](super::Pooled)
/// connection with the same [`PlanCache`], which plans what is not planned yet.
///
/// ```
/// use cairndb::{AtOnce, Database, PlanCache, Pooled};
///
/// let db = Database::open_in_memory()?;
/// db.connect()?.execute_script("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 5)")?;
/// let plans = PlanCache::new();
/// let (pooled, at_once) = (Pooled::new(db.connect()?, &plans), AtOnce::new(db.connect()?, &plans)?);
/// let read = "SELECT n FROM t WHERE id = $1";
/// assert_eq!(at_once.query_point(read, (1,), |row| row.get_i64(0)), None, "nobody has planned it");
/// pooled.connection().query(read, (1,))?;
/// assert_eq!(at_once.query_point(read, (1,), |row| row.get_i64(0)), Some(Some(Some(5))));
/// # Ok::<(), cairndb::Error>(())
/// ```
pub struct AtOnce {
    session: Session,
}

impl AtOnce {
    /// Answers as the connection would; what was set on it so far stays. Each thread uses its own.
    pub fn new(connection: Connection, plans: &PlanCache) -> Result<AtOnce> {
        let mut session = connection.session;
        session.share_plans(plans);
        let storage = session.shared().store.session()?;
        session.storage.replace(storage.impatient());
        Ok(AtOnce { session })
    }

    /// Runs a point write; the ticket says when it is durable, and what it changed.
    pub fn execute(&self, sql: &str, params: impl Params) -> Option<Ticket> {
        self.write(sql, &params, |_, ticket, _| ticket)
    }

    /// Runs a point statement that gives rows; those of a write are to be told once its ticket is durable.
    pub fn query(&self, sql: &str, params: impl Params) -> Option<(Rows, Option<Ticket>)> {
        let read = |prepared: &Prepared, state: &SessionState| {
            let plan = prepared.point().filter(|plan| !plan.is_write()).ok_or(Miss::General)?;
            let (width, mut rows) = (prepared.fields().len(), Ok(FewRows::default()));
            let mut buffers = self.session.point_buffers()?;
            let add = |row: RowRef<'_>| add_row(&mut rows, row, width);
            point::read(&self.session, state, (prepared, plan), &params, &mut buffers, add)?;
            Ok(Rows::few(prepared, rows?))
        };
        match self.with_plan(sql, &params, read) {
            Some(rows) => Some((rows, None)),
            None => self.write(sql, &params, |prepared, ticket, row| {
                let rows = Rows::buffered(prepared.fields().to_vec(), row.into_iter().collect());
                (rows, Some(ticket))
            }),
        }
    }

    /// Runs a point SELECT and hands its first row to `read`, without copying it; `Some(None)`: there is none. See
    /// [`Statement::query_point`](super::Statement::query_point).
    pub fn query_point<R>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(RowRef<'_>) -> R,
    ) -> Option<Option<R>> {
        let mut read = Some(read);
        self.with_plan(sql, &params, |prepared, state| {
            let plan = prepared.point().filter(|plan| !plan.is_write()).ok_or(Miss::General)?;
            let mut buffers = self.session.point_buffers()?;
            let once = |row: RowRef<'_>| ControlFlow::Break(read.take().map(|read| read(row)));
            let found = point::read(&self.session, state, (prepared, plan), &params, &mut buffers, once)?;
            Ok(found.flatten())
        })
    }

    /// `done` is given what RETURNING made of the row, if there is one.
    fn write<T>(
        &self,
        sql: &str,
        params: &dyn Params,
        done: impl FnOnce(&Prepared, Ticket, Option<Vec<crate::Value>>) -> T,
    ) -> Option<T> {
        let mut done = Some(done);
        self.with_plan(sql, params, |prepared, state| {
            let plan = prepared.point().filter(|plan| plan.is_write()).ok_or(Miss::General)?;
            let mut buffers = self.session.point_buffers()?;
            let acknowledge = Acknowledge::Now(state.settings.durability);
            let (affected, ticket) =
                point::write(&self.session, state, (prepared, plan), (params, acknowledge), &mut buffers)?;
            let returned = affected > 0 && !prepared.fields().is_empty();
            let row = returned.then(|| std::mem::take(&mut buffers.write.returned));
            let done = done.take().ok_or(Miss::General)?;
            Ok(done(prepared, Ticket::new(affected, ticket), row))
        })
    }

    /// Runs `work` with the text's plan; if that is out of date, with the one that others have made since.
    fn with_plan<T>(
        &self,
        sql: &str,
        params: &dyn Params,
        mut work: impl FnMut(&Prepared, &SessionState) -> Result<T, Miss>,
    ) -> Option<T> {
        if params.names().is_some() {
            return None;
        }
        let state = self.session.state.borrow();
        let mut run = |prepared: Arc<Prepared>| {
            let is_fit = params.count() == prepared.parameters.len() && prepared.is_under(&state.settings.search_path);
            if is_fit { work(&prepared, &state).ok() } else { None }
        };
        let known = self.session.known_plan(sql)?;
        run(known.clone()).or_else(|| run(self.session.newer_plan(sql, &known)?))
    }
}
