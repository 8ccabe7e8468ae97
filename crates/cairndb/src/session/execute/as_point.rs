//! Statements that came as text and are point statements.

use cairn_storage::{Acknowledge, Durability};

use super::{Executed, Runnable, tag_of};
use crate::Result;
use crate::point::{Miss, PointPlan};
use crate::prepared::Prepared;
use crate::session::point;
use crate::session::rows::{FewRows, add_row};
use crate::session::session_state::SessionState;
use crate::session::{Params, RowRef, Rows, Session};

impl Session {
    /// Runs a statement that writes, in no transaction of the user's, as a point statement, if it is one.
    pub(super) fn write_as_point(&self, statement: &mut Runnable, params: &dyn Params) -> Result<Option<Executed>> {
        let prepared = self.with_state(|state| self.plan(statement, state))?;
        self.run_as_point(statement, &prepared, params)
    }

    /// Runs what came as text as a point statement, if it is one and nothing is out of the ordinary. Who prepares statements
    /// has tried that before.
    pub(super) fn run_as_point(
        &self,
        statement: &Runnable,
        prepared: &Prepared,
        params: &dyn Params,
    ) -> Result<Option<Executed>> {
        let session = self.state.borrow();
        let read_only = session.is_read_only();
        let (Some(plan), None) = (prepared.point(), &statement.kept) else { return Ok(None) };
        let is_explained = statement.explained.is_some();
        if params.count() != prepared.parameters.len() || plan.is_write() && read_only || is_explained {
            return Ok(None);
        }
        let (columns, tag) = (prepared.fields(), tag_of(statement.parsed.syntax()));
        let mut buffers = self.point_buffers()?;
        let done = match plan {
            PointPlan::Select(_) | PointPlan::Rows(_) | PointPlan::Aggregate(_) => {
                let mut rows = Ok(FewRows::default());
                let add = |row: RowRef<'_>| add_row(&mut rows, row, columns.len());
                let read = point::read(self, &session, (prepared, plan), params, &mut buffers, add);
                read.map(|_| (0, rows.map(|rows| Rows::few(prepared, rows))))
            }
            _ => {
                let acknowledge = self.acknowledge(&session);
                let written = point::write(self, &session, (prepared, plan), (params, acknowledge), &mut buffers);
                written.map(|(affected, ticket)| {
                    if self.pipelines.get() && ticket.is_some() {
                        self.pending.set(ticket);
                    }
                    let row = (affected > 0).then(|| std::mem::take(&mut buffers.write.returned));
                    (affected, Ok(Rows::buffered(columns.to_vec(), row.into_iter().collect())))
                })
            }
        };
        match done {
            Ok((affected, rows)) => {
                let rows = rows?;
                // Rows of a SELECT may have no columns.
                let has_rows = !columns.is_empty() || !plan.is_write();
                Ok(Some(Executed { tag, affected, rows: has_rows.then_some(rows) }))
            }
            Err(Miss::General | Miss::Unfit) => Ok(None),
            Err(Miss::Error(error)) => Err(error),
        }
    }

    /// How a point write of this connection is acknowledged.
    fn acknowledge(&self, session: &SessionState) -> Acknowledge {
        let durability = session.settings.durability;
        match durability.unwrap_or(session.settings.default_durability) {
            Durability::Full | Durability::Group if self.pipelines.get() => Acknowledge::Later,
            _ => Acknowledge::Now(durability),
        }
    }
}
