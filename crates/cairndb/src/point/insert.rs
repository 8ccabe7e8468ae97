//! INSERT of one row, with or without ON CONFLICT.

use std::sync::Arc;

use cairn_storage::Ticket;

use super::place::Place;
use super::{Miss, WriteBuffers};
use crate::catalog::Catalog;
use crate::dml::InsertPlan;
use crate::dml::row::{Env, Numbers, ObservedAtOnce, RowInsert, RowSource};
use crate::plan::{Expr, Held, Modification, ModifiedRows, PhysicalNode, PhysicalPlan};

/// An INSERT of one row of VALUES.
#[derive(Debug)]
pub(crate) struct PointInsert {
    source: RowSource,
    program: Arc<RowInsert>,
    is_plain: bool,
}

impl PointInsert {
    pub(super) fn of(of: &Modification, exprs: &[Expr], catalog: &Catalog) -> Option<PointInsert> {
        let program = InsertPlan::program(of, catalog).ok()?;
        let source =
            RowSource::of(&program.rules.target.table, exprs).filter(|_| program.is_evaluable(Held::Commit))?;
        Some(PointInsert { is_plain: source.is_plain() && program.evaluates_nothing(), source, program })
    }

    pub(crate) fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// Every parameter is a column's value: making the row tells whether all are of their types.
    pub(super) fn notices_unfit(&self) -> bool {
        self.is_plain && !self.program.has_conflict()
    }

    /// Inserts the row, or does what ON CONFLICT says; the number of rows, and the ticket of the commit.
    pub(crate) fn run(
        &self,
        place: Place<'_>,
        stamp: u64,
        env: Env<'_>,
        buffers: &mut WriteBuffers,
        numbers: Numbers<'_>,
    ) -> Result<(u64, Option<Ticket>), Miss> {
        let WriteBuffers { values, generated, proposed: spare, insert, returned, .. } = buffers;
        let target = &self.program.rules.target;
        self.source.compute(&target.table, env, values)?;
        let row = self.source.row(env.params, values, spare.take())?.generated(target, env, generated)?;
        self.program.prepare(&row, env, numbers, insert)?;
        let written = place.write(stamp, &mut |trees| {
            self.program.run(trees, &row, env, insert, (&mut ObservedAtOnce, None), returned)
        });
        spare.keep(row);
        written
    }
}

/// The expressions of the row, if it is one.
pub(super) fn only_row(rows: &ModifiedRows) -> Option<Vec<Expr>> {
    match rows {
        ModifiedRows::Plan(plan) | ModifiedRows::Few(plan) => only_row_of(plan),
        ModifiedRows::Constants(rows) => rows.only_row(),
    }
}

/// The expressions of a source that is one row of VALUES.
fn only_row_of(plan: &PhysicalPlan) -> Option<Vec<Expr>> {
    match &plan.node {
        PhysicalNode::Values { rows } => match rows.as_slice() {
            [row] => Some(row.clone()),
            _ => None,
        },
        PhysicalNode::Project { input, exprs } => super::shape::project(exprs, &only_row_of(input)?),
        _ => None,
    }
}
