//! Statements that are answered where they are asked, where that takes no waiting.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cairn_storage::Acknowledge;

use super::{Connection, Params, PlanCache, RowRef, Rows, Ticket};
use crate::Result;
use crate::catalog::Catalog;
use crate::prepared::Prepared;
use crate::result::FewRows;
use crate::session::Session;
use crate::session::point::{add_row, rows_of};

/// Runs point statements whose plan is known, whose pages are in memory, and for which nobody has to be waited for; anything
/// else is not answered, and leaves no trace. What fails is not answered either: whoever can wait is to run it, and to tell why.
///
/// For programs whose threads must not wait: what this does not answer they hand to a thread of a [`Pooled`](super::Pooled)
/// connection with the same [`PlanCache`], which plans what is not planned yet.
///
/// ```
/// use cairndb::{NonBlocking, Database, PlanCache, Pooled};
///
/// let db = Database::open_in_memory()?;
/// db.connect()?.execute_script("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 5)")?;
/// let plans = PlanCache::new();
/// let (pooled, at_once) = (Pooled::new(db.connect()?, &plans), NonBlocking::new(db.connect()?, &plans)?);
/// let read = "SELECT n FROM t WHERE id = $1";
/// assert_eq!(at_once.query_point(read, (1,), |row| row.get_i64(0)), None, "nobody has planned it");
/// pooled.connection().query(read, (1,))?;
/// assert_eq!(at_once.query_point(read, (1,), |row| row.get_i64(0)), Some(Some(Some(5))));
/// # Ok::<(), cairndb::Error>(())
/// ```
pub struct NonBlocking {
    session: Session,
}

impl NonBlocking {
    /// Answers as the connection would; what was set on it so far stays. Each thread uses its own.
    pub fn new(connection: Connection, plans: &PlanCache) -> Result<NonBlocking> {
        let mut session = connection.session;
        session.share_plans(plans);
        let storage = session.shared().store.session()?;
        session.storage.replace(storage.impatient());
        Ok(NonBlocking { session })
    }

    /// Runs a point write; the ticket says when it is durable, and what it changed.
    pub fn execute(&self, sql: &str, params: impl Params) -> Option<Ticket> {
        self.with_plan(sql, &params, |prepared| self.write(prepared, &params))
    }

    /// Runs a point statement that gives rows; those of a write are to be told once its ticket is durable.
    pub fn query(&self, sql: &str, params: impl Params) -> Option<(Rows, Option<Ticket>)> {
        self.with_plan(sql, &params, |prepared| {
            if prepared.point()?.is_write() {
                let ticket = self.write(prepared, &params)?;
                let returns = ticket.affected() > 0 && !prepared.fields().is_empty();
                let returned =
                    || self.session.point_buffers().map(|mut buffers| std::mem::take(&mut buffers.write.returned));
                let row = returns.then(returned).and_then(crate::Result::ok);
                return Some((Rows::buffered(prepared.fields().to_vec(), row.into_iter().collect()), Some(ticket)));
            }
            let (width, mut rows) = (prepared.fields().len(), Ok(FewRows::default()));
            self.session.try_read(prepared, &params, |row| add_row(&mut rows, row, width)).ok()??;
            Some((rows_of(prepared, rows.ok()?), None))
        })
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
        self.with_plan(sql, &params, |prepared| {
            let once = |row: RowRef<'_>| ControlFlow::Break(read.take().map(|read| read(row)));
            self.session.try_read(prepared, &params, once).ok()?.map(Option::flatten)
        })
    }

    /// Whether a point SELECT that looks at no table gives a row.
    pub(crate) fn holds_for_values(&self, sql: &str, params: impl Params) -> Option<bool> {
        self.with_plan(sql, &params, |prepared| {
            if !prepared.point()?.reads_nothing() {
                return None;
            }
            let once = |_: RowRef<'_>| ControlFlow::Break(());
            Some(self.session.try_read(prepared, &params, once).ok()??.is_some())
        })
    }

    /// The schema, where it was read already.
    pub(crate) fn catalog(&self) -> Option<Arc<Catalog>> {
        self.session.known_catalog().ok().flatten()
    }

    /// See [`Database::opening`](super::Database::opening).
    pub(crate) fn opening(&self) -> String {
        self.session.shared().opening()
    }

    fn write(&self, prepared: &Prepared, params: &dyn Params) -> Option<Ticket> {
        let acknowledge = Acknowledge::Now(self.session.durability());
        let (affected, ticket) = self.session.try_write(prepared, params, acknowledge).ok()??;
        Some(Ticket::new(affected, ticket))
    }

    /// Runs `work` with the text's plan; if that is out of date, with the one that others have made since.
    fn with_plan<T>(&self, sql: &str, params: &dyn Params, mut work: impl FnMut(&Prepared) -> Option<T>) -> Option<T> {
        let known = if params.names().is_some() { None } else { self.session.known_plan(sql) };
        let done = match &known {
            Some(known) => work(known).or_else(|| work(&*self.session.newer_plan(sql, known)?)),
            None => None,
        };
        if done.is_none() {
            self.count_handed_over(known.is_some());
        }
        done
    }

    #[cold]
    fn count_handed_over(&self, is_planned: bool) {
        let counts = &self.session.shared().handed_over;
        counts.all.fetch_add(1, Ordering::Relaxed);
        counts.for_plan.fetch_add(u64::from(!is_planned), Ordering::Relaxed);
    }
}
