//! The plans of statements that change rows.

use std::sync::Arc;

use super::returned::{Later, is_later};
use crate::bind::statement::{BoundDelete, BoundInsert, BoundMerge, BoundUpdate, InsertSource};
use crate::plan::{ConstantRows, LogicalPlan, Modification, ModificationKind};
use crate::{Error, Result};

/// What an INSERT comes to.
pub(crate) enum Insertion {
    Plan(LogicalPlan),
    /// There is nothing to choose for it.
    Constants(Arc<Modification>, ConstantRows),
}

fn nothing() -> LogicalPlan {
    LogicalPlan::Values { rows: vec![], fields: vec![] }
}

fn modify(change: Modification, input: LogicalPlan) -> LogicalPlan {
    LogicalPlan::Modify { change: Arc::new(change), input: Box::new(input) }
}

impl BoundInsert {
    /// What is to be planned, or done.
    pub(crate) fn insertion(self: Box<Self>) -> Result<Insertion> {
        if matches!(self.source, InsertSource::Plan(_)) || self.table.is_face() || is_later(self.returning.as_ref()) {
            return self.plan().map(Insertion::Plan);
        }
        let BoundInsert { table, source, mut on_conflict, returning, view_checks, .. } = *self;
        let InsertSource::Constants(rows) = source else { return Err(Error::internal("an INSERT without rows")) };
        on_conflict.as_mut().map_or(Ok(()), |conflict| conflict.take_query(&table, &nothing()))?;
        let kind = ModificationKind::Insert { on_conflict };
        Ok(Insertion::Constants(Arc::new(Modification { table, kind, returning, view_checks }), rows))
    }

    /// The plan of one that computes its rows.
    pub(in crate::bind) fn plan(mut self) -> Result<LogicalPlan> {
        let input = std::mem::replace(self.source.as_plan(), nothing());
        let later = Later::of(&mut self.returning);
        let change = self.modification(&input)?;
        Ok(later.over(input, |input| modify(change, input)))
    }

    /// `around`: the rows that it is given, with the parts of the statement's WITH around them.
    fn modification(self, around: &LogicalPlan) -> Result<Modification> {
        let BoundInsert { table, mut on_conflict, returning, view_checks, .. } = self;
        on_conflict.as_mut().map_or(Ok(()), |conflict| conflict.take_query(&table, around))?;
        Ok(Modification { table, kind: ModificationKind::Insert { on_conflict }, returning, view_checks })
    }
}

impl BoundUpdate {
    pub(crate) fn plan(self) -> LogicalPlan {
        let BoundUpdate { table, source, assigned, mut returning, is_joined, view_checks } = self;
        let later = Later::of(&mut returning);
        let kind = ModificationKind::Update { assigned, is_joined };
        later.over(source, |input| modify(Modification { table, kind, returning, view_checks }, input))
    }
}

impl BoundDelete {
    pub(crate) fn plan(self) -> LogicalPlan {
        let BoundDelete { table, source, mut returning } = self;
        let later = Later::of(&mut returning);
        let (kind, view_checks) = (ModificationKind::Delete, vec![]);
        later.over(source, |input| modify(Modification { table, kind, returning, view_checks }, input))
    }
}

impl BoundMerge {
    pub(crate) fn plan(self) -> LogicalPlan {
        let BoundMerge { table, source, action_at, steps, extra, mut returning } = self;
        let later = Later::of(&mut returning);
        let (kind, view_checks) = (ModificationKind::Merge { action_at, steps, extra }, vec![]);
        later.over(source, |input| modify(Modification { table, kind, returning, view_checks }, input))
    }
}
