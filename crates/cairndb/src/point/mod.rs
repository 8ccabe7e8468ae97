//! Point statements: one row by its whole key, from parameters to the tree and back.
//!
//! What qualifies is recognised in the plan, never in the text: a SELECT, an UPDATE or a DELETE whose source is a
//! `PointGet`, and an INSERT of one row of VALUES, with ON CONFLICT or without. Where already the bound statement tells
//! that its source will be one (`plan::keyed_row`), it is not planned until the general path needs it. Index entries, CHECK constraints and
//! foreign keys that point elsewhere are looked after. Everything else takes the general path, and so does a point
//! statement whenever something is out of the ordinary: the schema changed, a constraint is violated, an expression
//! fails. The general path then plans, converts, or words the error.
//!
//! - The catalog's stamp is compared in the same state (for writes: under the commit lock) as the row is read in.
//! - All that can stop a write is looked up before its first change.
//! - In steady state nothing is allocated: keys and rows are encoded into the statement's buffers from lent values.
//!   Values that are computed, not given, pass through `eval`, which allocates where a function makes a string.

mod aggregate;
mod arguments;
mod delete;
mod few;
#[cfg(test)]
mod few_tests;
mod insert;
mod join;
mod key;
mod limit;
mod place;
mod row_ref;
mod rows;
mod select;
mod shape;
#[cfg(test)]
mod tests;
mod update;

use std::sync::Arc;

use cairn_storage::{Error as StorageError, WriteError};

use crate::bind::{BoundDelete, BoundStatement, BoundUpdate};
use crate::catalog::{Catalog, Sequence};
use crate::dml::row::{ChangeBuffers, DeleteBuffers, InsertBuffers, Spare, Stop, Target};
use crate::plan::{
    Field, KeyedRow, LogicalPlan, ModificationKind, ModifiedRows, OptimizerOptions, PhysicalNode, PhysicalPlan,
    keyed_row,
};
use crate::types::{EvalContext, SessionUses};
use crate::{Error, Value};
pub(crate) use aggregate::PointAggregate;
pub(crate) use arguments::{Arguments, all_fit, fit};
pub(crate) use delete::PointDelete;
pub(crate) use insert::PointInsert;
pub(crate) use place::Place;
pub use row_ref::RowRef;
pub(crate) use rows::PointRows;
pub(crate) use select::PointSelect;
use shape::PointSource;
pub(crate) use update::PointUpdate;

/// A statement that qualifies.
#[derive(Debug)]
pub(crate) enum PointPlan {
    Select(Box<PointSelect>),
    /// The few rows that begin with a key.
    Rows(Box<PointRows>),
    /// Of such rows.
    Aggregate(Box<PointAggregate>),
    /// With the sequences that it draws a value from.
    Insert(Box<PointInsert>, Box<[Arc<Sequence>]>),
    Update(Box<PointUpdate>, Box<[Arc<Sequence>]>),
    Delete(Box<PointDelete>),
    /// A change of no rows, whatever the parameters: WHERE is false.
    Nothing,
}

impl PointPlan {
    /// `parameters`: how many the statement has.
    pub(crate) fn of(plan: &PhysicalPlan, parameters: usize, catalog: &Catalog) -> Option<PointPlan> {
        let PhysicalNode::Modify { change, rows } = &plan.node else {
            let of_one = PointSelect::of(plan, catalog).map(|plan| PointPlan::Select(Box::new(plan)));
            let of_few = || Some(PointPlan::Rows(Box::new(PointRows::of(plan, catalog)?)));
            let aggregate = || Some(PointPlan::Aggregate(Box::new(PointAggregate::of(plan, catalog)?)));
            return of_one.or_else(of_few).or_else(aggregate);
        };
        // Some run whether or not there are rows.
        if !change.table.triggers.is_empty() {
            return None;
        }
        let source = match rows {
            ModifiedRows::Plan(source) if shape::is_empty(source) => return Some(PointPlan::Nothing),
            ModifiedRows::Plan(source) | ModifiedRows::Few(source) => Some(source),
            ModifiedRows::Constants(_) => None,
        };
        // Rows that views look at are the general path's, and so are those of views.
        if change.table.is_face() || !change.view_checks.is_empty() {
            return None;
        }
        Some(match &change.kind {
            ModificationKind::Insert { .. } => {
                let mut row = insert::only_row(rows)?;
                let draws = arguments::draws(&mut row, parameters, catalog)?;
                PointPlan::Insert(Box::new(PointInsert::of(change, &row, catalog)?), draws.into())
            }
            ModificationKind::Update { assigned, .. } => {
                let returning = change.returning.as_ref();
                let (source, target) = (PointSource::of(source?)?, Target::of(&change.table, catalog).ok()?);
                let around = (parameters, catalog);
                let (update, draws) = PointUpdate::of_source(source, &target, assigned, returning, around)?;
                PointPlan::Update(Box::new(update), draws)
            }
            ModificationKind::Delete => {
                let (source, target) = (PointSource::of(source?)?, Target::of(&change.table, catalog).ok()?);
                PointPlan::Delete(Box::new(PointDelete::of_source(source, &target, change.returning.as_ref())?))
            }
            ModificationKind::Merge { .. } => return None,
        })
    }

    /// As [`PointPlan::of`], of a statement about one row by key, before it is planned; and the columns of its result,
    /// which the statement loses then. Folds the statement's constants.
    pub(crate) fn of_bound(
        bound: &mut BoundStatement,
        (parameters, catalog): (usize, &Catalog),
        options: &OptimizerOptions,
    ) -> crate::Result<Option<(PointPlan, Vec<Field>)>> {
        let point = match bound {
            BoundStatement::Query(plan) => PointPlan::of_query(plan, catalog, options),
            BoundStatement::Update(update) => {
                let Some(row) = keyed_row(&mut update.source, options) else { return Ok(None) };
                let target = Target::of(&update.table, catalog)?;
                PointPlan::of_update(row, update, &target, (parameters, catalog))
            }
            BoundStatement::Delete(delete) => {
                let Some(row) = keyed_row(&mut delete.source, options) else { return Ok(None) };
                let target = Target::of(&delete.table, catalog)?;
                PointPlan::of_delete(row, delete, &target)
            }
            _ => None,
        };
        Ok(point.map(|point| (point, bound.take_fields())))
    }

    fn of_query(plan: &mut LogicalPlan, catalog: &Catalog, options: &OptimizerOptions) -> Option<PointPlan> {
        let row = keyed_row(plan, options)?;
        let LogicalPlan::Project { exprs, .. } = plan else { return None };
        Some(PointPlan::Select(Box::new(PointSelect::of_row(row, exprs, catalog)?)))
    }

    fn of_update(
        row: KeyedRow,
        update: &BoundUpdate,
        target: &Arc<Target>,
        around: (usize, &Catalog),
    ) -> Option<PointPlan> {
        let BoundUpdate { source: LogicalPlan::Project { exprs, .. }, assigned, returning, .. } = update else {
            return None;
        };
        if !update.view_checks.is_empty() {
            return None;
        }
        let source = PointSource::of_row(row, exprs.clone())?;
        let (update, draws) = PointUpdate::of_source(source, target, assigned, returning.as_ref(), around)?;
        Some(PointPlan::Update(Box::new(update), draws))
    }

    fn of_delete(row: KeyedRow, delete: &BoundDelete, target: &Arc<Target>) -> Option<PointPlan> {
        let outputs = match &delete.source {
            LogicalPlan::Project { exprs, .. } => exprs.clone(),
            _ => shape::all_columns(&row.table),
        };
        let source = PointSource::of_row(row, outputs)?;
        Some(PointPlan::Delete(Box::new(PointDelete::of_source(source, target, delete.returning.as_ref())?)))
    }

    /// Whether the statement only moves values, so that the clock and the time zone are none of its business.
    pub(crate) fn is_plain(&self) -> bool {
        match self {
            PointPlan::Select(plan) => plan.is_plain(),
            PointPlan::Rows(plan) => plan.is_plain(),
            // Of the answers something may be computed.
            PointPlan::Aggregate(_) => false,
            PointPlan::Insert(plan, _) => plan.is_plain(),
            PointPlan::Update(plan, _) => plan.is_plain(),
            PointPlan::Delete(plan) => plan.is_plain(),
            PointPlan::Nothing => true,
        }
    }

    /// Whether the statement itself notices, before it does anything, that a parameter is not of its type as it came.
    pub(crate) fn notices_unfit(&self) -> bool {
        match self {
            PointPlan::Insert(plan, _) => plan.notices_unfit(),
            _ => false,
        }
    }

    pub(crate) fn is_write(&self) -> bool {
        !matches!(self, PointPlan::Select(_) | PointPlan::Rows(_) | PointPlan::Aggregate(_))
    }

    /// Whether it reads or writes one row by its whole key.
    pub(crate) fn is_of_one_row(&self) -> bool {
        !matches!(self, PointPlan::Rows(_) | PointPlan::Aggregate(_))
    }

    /// Whether it is a SELECT that looks at no table.
    pub(crate) fn reads_nothing(&self) -> bool {
        matches!(self, PointPlan::Select(plan) if plan.reads_nothing())
    }

    /// The sequences that it draws a value from.
    pub(crate) fn sequences(&self) -> &[Arc<Sequence>] {
        match self {
            PointPlan::Insert(_, sequences) | PointPlan::Update(_, sequences) => sequences,
            _ => &[],
        }
    }
}

/// Why a point statement did not give an answer.
#[derive(Debug)]
pub(crate) enum Miss {
    /// The general path must decide.
    General,
    /// A parameter has to be converted first; once it was, as `General`.
    Unfit,
    Error(Error),
}

impl From<StorageError> for Miss {
    fn from(error: StorageError) -> Miss {
        Miss::Error(error.into())
    }
}

impl From<Error> for Miss {
    fn from(error: Error) -> Miss {
        Miss::Error(error)
    }
}

impl From<Stop> for Miss {
    fn from(stop: Stop) -> Miss {
        match stop {
            Stop::Unfit => Miss::Unfit,
            Stop::Storage(error) => error.into(),
            // The general path comes to the same, and words it.
            Stop::Violation(_) | Stop::Error(_) => Miss::General,
        }
    }
}

/// Out of a point write.
pub(crate) fn missed(error: WriteError<Miss>) -> Miss {
    match error {
        // A value outside its leaf, or too much for one point write.
        // Or it would have to wait, for which the general path knows how long it may.
        // Or there is no room: the general path may find some.
        WriteError::Storage(
            StorageError::TooLarge | StorageError::GivenUp | StorageError::WouldWait | StorageError::DiskFull { .. },
        ) => Miss::General,
        WriteError::Storage(error) => error.into(),
        WriteError::Caller(miss) => miss,
    }
}

/// Ends a point write from within.
pub(crate) fn general<T>() -> Result<T, WriteError<Miss>> {
    Err(WriteError::Caller(Miss::General))
}

/// The buffers of a session's point statements, reused by every execution.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    pub(crate) fitted: Vec<Value>,
    pub(crate) drawn: Vec<i64>,
    pub(crate) eval: EvalContext,
    pub(crate) select: select::Scratch,
    pub(crate) rows: rows::Scratch,
    pub(crate) aggregate: aggregate::Scratch,
    pub(crate) write: WriteBuffers,
    /// What they count.
    pub(crate) uses: SessionUses,
}

/// Those of writes.
#[derive(Debug, Default)]
pub(crate) struct WriteBuffers {
    /// The key that was asked for, or the new row's.
    key: Vec<u8>,
    /// The row's key, where another key led to it.
    row_key: Vec<u8>,
    row: Vec<u8>,
    insert: InsertBuffers,
    change: ChangeBuffers,
    delete: DeleteBuffers,
    /// A new row's computed values.
    values: Vec<Value>,
    /// Its generated columns.
    generated: Vec<Value>,
    proposed: Spare,
    /// What RETURNING made of the row.
    pub(crate) returned: Vec<Value>,
}
