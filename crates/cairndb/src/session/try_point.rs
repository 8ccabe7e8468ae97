//! Whether a statement runs as a point statement: asked here, for text, prepared statements, and whoever must not wait.
//!
//! - Its plan has a fast form, and it has as many parameters as are given.
//! - The transaction has not failed, and is not READ ONLY where the statement writes.
//! - Names mean what they meant when the plan was made: the session's path is the same one ([`Session::try_read`], [`Session::try_write`]),
//!   or the plan was just compared with the catalog ([`Session::run_as_point`]). That the catalog is the same is looked at where the row is.
//!
//! Whatever is out of the ordinary is the general path's.

use std::ops::ControlFlow;

use cairn_storage::{Acknowledge, Durability, Ticket};

use super::FewRows;
use super::execute::{Runnable, tag_of};
use super::point;
use super::point::{add_row, rows_of};
use super::session_state::SessionState;
use super::{Executed, Params, RowRef, Rows, Session};
use crate::point::Miss;
use crate::prepared::Prepared;
use crate::sync;
use crate::{Error, Result};

/// Whether a statement's fast form is for these parameters, in this state.
#[inline]
fn fits(prepared: &Prepared, params: &dyn Params, state: &SessionState) -> bool {
    params.count() == prepared.parameters.len() && !state.failed()
}

impl Session {
    /// Runs a statement as a point SELECT, if it is one, whose rows are handed to `read` until it breaks, with what it breaks with; `None`:
    /// the general path must.
    #[inline]
    pub(crate) fn try_read<R>(
        &self,
        prepared: &Prepared,
        params: &dyn Params,
        read: impl FnMut(RowRef<'_>) -> ControlFlow<R>,
    ) -> Result<Option<Option<R>>> {
        let Some(plan) = prepared.point().filter(|plan| !plan.is_write()) else { return Ok(None) };
        let state = self.state.borrow();
        if !fits(prepared, params, &state) || !prepared.is_under(&state.settings.search_path) {
            return Ok(None);
        }
        let mut buffers = self.point_buffers()?;
        let done = in_time(&state, || point::read(self, &state, (prepared, plan), params, &mut buffers, read));
        answer(&state, done)
    }

    /// Runs a statement as a point write, if it is one: how many rows it changed, and where its commit is on its way. What RETURNING made is
    /// in the buffers then. `None`: the general path must.
    #[inline]
    pub(crate) fn try_write(
        &self,
        prepared: &Prepared,
        params: &dyn Params,
        acknowledge: Acknowledge,
    ) -> Result<Option<(u64, Option<Ticket>)>> {
        let Some(plan) = prepared.point().filter(|plan| plan.is_write()) else { return Ok(None) };
        let state = self.state.borrow();
        let fits = fits(prepared, params, &state) && prepared.is_under(&state.settings.search_path);
        if !fits || state.is_read_only() {
            return Ok(None);
        }
        let mut buffers = self.point_buffers()?;
        let write = || point::write(self, &state, (prepared, plan), (params, acknowledge), &mut buffers);
        answer(&state, in_time(&state, write))
    }

    /// Runs what came as text, and was just compared with the catalog, within [`Session::run_as_statement`]. Who prepares statements has
    /// tried that before.
    pub(super) fn run_as_point(
        &self,
        statement: &Runnable,
        prepared: &Prepared,
        params: &dyn Params,
    ) -> Result<Option<Executed>> {
        if statement.kept.is_some() || statement.explained.is_some() {
            return Ok(None);
        }
        let state = self.state.borrow();
        let Some(plan) = prepared.point().filter(|_| fits(prepared, params, &state)) else { return Ok(None) };
        if plan.is_write() && state.is_read_only() {
            return Ok(None);
        }
        let (columns, tag) = (prepared.fields(), tag_of(statement.parsed.syntax()));
        let mut buffers = self.point_buffers()?;
        if !plan.is_write() {
            let mut rows = Ok(FewRows::default());
            let add = |row: RowRef<'_>| add_row(&mut rows, row, columns.len());
            let read = point::read(self, &state, (prepared, plan), params, &mut buffers, add);
            return match answer(&state, read)? {
                // Rows of a SELECT may have no columns.
                Some(_) => Ok(Some(Executed::rows(tag, rows_of(prepared, rows?)))),
                None => Ok(None),
            };
        }
        let acknowledge = self.acknowledge(&state);
        let written = point::write(self, &state, (prepared, plan), (params, acknowledge), &mut buffers);
        let Some((affected, ticket)) = answer(&state, written)? else { return Ok(None) };
        if self.pipelines.get() && ticket.is_some() {
            self.pending.set(ticket);
        }
        let row = (affected > 0).then(|| std::mem::take(&mut buffers.write.returned));
        let rows = (!columns.is_empty()).then(|| Rows::buffered(columns.to_vec(), row.into_iter().collect()));
        Ok(Some(Executed { tag, affected, rows }))
    }

    /// How a point write that came as text is acknowledged.
    fn acknowledge(&self, state: &SessionState) -> Acknowledge {
        let durability = state.settings.durability;
        match durability.unwrap_or(state.settings.default_durability) {
            Durability::Full | Durability::Group if self.pipelines.get() => Acknowledge::Later,
            _ => Acknowledge::Now(durability),
        }
    }
}

/// What a try came to; an error fails the open transaction.
#[inline]
fn answer<T>(state: &SessionState, done: Result<T, Miss>) -> Result<Option<T>> {
    match done {
        Ok(done) => Ok(Some(done)),
        Err(Miss::General | Miss::Unfit) => Ok(None),
        Err(Miss::Error(error)) => failed(state, error),
    }
}

#[cold]
fn failed<T>(state: &SessionState, error: Error) -> Result<T> {
    state.fail();
    Err(error)
}

/// What point statements have of [`Session::run_as_statement`]: a transaction follows the locks that it got; one with a time
/// limit is looked at before, and waits for its next statement from here on.
#[inline]
fn in_time<T>(state: &SessionState, work: impl FnOnce() -> Result<T, Miss>) -> Result<T, Miss> {
    let limited = match state.transaction.as_ref() {
        Some(open) => {
            state.follow_locks();
            Some(open).filter(|_| state.settings.limits.has_times())
        }
        None => None,
    };
    let Some(open) = limited else { return work() };
    open.check_time(&state.settings.limits)?;
    let done = work();
    open.idle_since.set(sync::now());
    done
}
