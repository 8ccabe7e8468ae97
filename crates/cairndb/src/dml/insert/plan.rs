//! What an INSERT into a table does.

use std::sync::Arc;

use super::rows::{ConstantRow, InsertRows};
use super::{Inserter, InserterState};
use crate::catalog::Catalog;
use crate::columns::Batch;
use crate::dml::changing::{ConcurrentWrites, Work};
use crate::dml::row::{Conflict, RowInsert, Target};
use crate::dml::source::Place;
use crate::dml::{DmlContext, DmlResult};
use crate::exec::{SourceRows, Step};
use crate::plan::{Expr, Modification, ModificationKind, walk};
use crate::{Error, Result};

/// INSERT into a table.
#[derive(Debug)]
pub(crate) struct InsertPlan {
    pub(crate) program: Arc<RowInsert>,
    of: Arc<Modification>,
}

impl InsertPlan {
    pub(in crate::dml) fn new(of: &Arc<Modification>, catalog: &Catalog) -> Result<InsertPlan> {
        Ok(InsertPlan { program: InsertPlan::program(of, catalog)?, of: of.clone() })
    }

    /// What inserts a row.
    pub(crate) fn program(of: &Modification, catalog: &Catalog) -> Result<Arc<RowInsert>> {
        let on_conflict = match &of.kind {
            ModificationKind::Insert { on_conflict } => on_conflict.as_ref(),
            _ => return Err(Error::internal("not an INSERT")),
        };
        if on_conflict.is_none() && of.returning.is_none() && of.view_checks.is_empty() {
            return RowInsert::plain(&of.table, catalog);
        }
        let target = Target::of(&of.table, catalog)?;
        let returning = of.returning.as_ref().map(|returning| returning.exprs.as_slice());
        let conflict = on_conflict.map(|bound| Conflict::new(&target, bound, returning, catalog)).transpose()?;
        Ok(Arc::new(RowInsert::new(&target, conflict, returning).through(&of.view_checks)?))
    }

    /// Whether to run it again and again, for one row of these expressions each time, can be done in one go.
    pub(in crate::dml) fn is_repeatable(&self, row: &[Expr]) -> bool {
        let mut is_simple = true;
        for expr in row {
            walk::walk(expr, 0, &mut |expr, _| {
                is_simple &= match expr {
                    Expr::Subquery(_) | Expr::Subplan(_) | Expr::Outer { .. } | Expr::Column { .. } => false,
                    Expr::Call { function, .. } => !function.calls_routines(),
                    _ => true,
                };
            });
        }
        // What subqueries see is frozen for a statement, which this is one of for each row.
        is_simple && self.program.is_only_insert() && !self.program.asks_queries()
    }

    /// `beside`: who else changes rows.
    pub(in crate::dml) fn begin(&self, context: &DmlContext<'_>, beside: ConcurrentWrites) -> Inserting {
        let mut inserted = InserterState::of(&self.program);
        inserted.is_alone = beside == ConcurrentWrites::Nobody;
        inserted.result = DmlResult::new(context, self.of.returning.as_ref());
        Inserting { inserted, place: Place::default(), batch: None, next: 0 }
    }

    pub(in crate::dml) fn step(
        &self,
        at: &mut Inserting,
        rows: SourceRows<'_>,
        work: &mut Work<'_>,
    ) -> Step<DmlResult> {
        let Work { context, pending, turn, .. } = work;
        let Inserting { inserted, place, batch, next } = at;
        let mut inserter = Inserter::new(&self.program, context, inserted);
        match InsertRows::of(rows) {
            InsertRows::Expressions(rows) => {
                inserter.insert_expressions(rows.iter().map(Vec::as_slice), &mut place.row, (pending, turn))?;
            }
            InsertRows::Constants(rows, computed) => {
                let rows = rows.iter().map(|values| ConstantRow { values, computed });
                inserter.insert_expressions(rows, &mut place.row, (pending, turn))?;
            }
            InsertRows::Columns(mut batches) => loop {
                if batch.is_none() {
                    (*batch, *next) = (batches.next(place, (context.exec, turn))?, 0);
                }
                let Some(rows) = batch else { break };
                while *next < rows.len() {
                    *next = inserter.insert_part(rows, *next, pending, turn).map_err(|(error, _)| error)?;
                    turn.take()?;
                }
                *batch = None;
            },
        }
        drop(inserter);
        Ok(std::mem::take(&mut inserted.result))
    }
}

/// How far an INSERT is.
pub(in crate::dml) struct Inserting {
    inserted: InserterState,
    place: Place,
    /// What the source gave last, and the row of it that comes next.
    batch: Option<Batch>,
    next: usize,
}
