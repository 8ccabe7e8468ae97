//! The row programs of a statement's changes: compiled when its plan first runs, and kept beside it.

use std::sync::Arc;

use super::{DeletePlan, InsertPlan, InsteadPlan, MergePlan, UpdatePlan};
use crate::bind::Callees;
use crate::catalog::Catalog;
use crate::plan::{Modification, ModificationKind, ModifiedRows, PhysicalNode, PhysicalPlan};
use crate::{Error, Result};

/// One for each node of a plan that changes rows. Most plans have one such node or none: then nothing is allocated.
#[derive(Debug, Default)]
pub(crate) struct Programs {
    first: Option<Compiled>,
    others: Vec<Compiled>,
}

#[derive(Debug)]
struct Compiled {
    of: Arc<Modification>,
    program: Program,
}

/// How the rows of a change are changed.
#[derive(Debug)]
pub(super) enum Program {
    Insert(InsertPlan),
    Update(Box<UpdatePlan>),
    Delete(Box<DeletePlan>),
    Merge(Box<MergePlan>),
    /// Of a view's rows, by its triggers.
    Instead(InsteadPlan),
}

impl Programs {
    /// Those of a plan that was made of this catalog.
    pub(crate) fn of(plan: &PhysicalPlan, catalog: &Catalog) -> Result<Programs> {
        let mut programs = Programs::default();
        programs.add(plan, catalog)?;
        Ok(programs)
    }

    fn add(&mut self, plan: &PhysicalPlan, catalog: &Catalog) -> Result<()> {
        if let PhysicalNode::Modify { change, .. } = &plan.node {
            let compiled = Compiled { of: change.clone(), program: Program::of(change, catalog)? };
            match &mut self.first {
                None => self.first = Some(compiled),
                Some(_) => self.others.push(compiled),
            }
        }
        if is_of_few(plan) {
            Ok(())
        } else {
            plan.children().into_iter().try_for_each(|child| self.add(child, catalog))
        }
    }

    /// That of one of the plan's changes.
    pub(super) fn program(&self, change: &Modification) -> Result<&Program> {
        self.numbered(change).map(|(_, program)| program)
    }

    /// The same, and which of them it is.
    pub(super) fn numbered(&self, change: &Modification) -> Result<(usize, &Program)> {
        let is_its = |(_, compiled): &(usize, &Compiled)| std::ptr::eq(&*compiled.of, change);
        let found = self.first.iter().chain(&self.others).enumerate().find(is_its);
        let found = found.ok_or_else(|| Error::internal("a change without its row program"))?;
        Ok((found.0, &found.1.program))
    }
}

impl Program {
    fn of(change: &Arc<Modification>, catalog: &Catalog) -> Result<Program> {
        Ok(match &change.kind {
            ModificationKind::Merge { .. } => Program::Merge(Box::new(MergePlan::new(change, catalog)?)),
            _ if change.table.is_face() => Program::Instead(InsteadPlan::new(change)),
            ModificationKind::Insert { .. } => Program::Insert(InsertPlan::new(change, catalog)?),
            ModificationKind::Update { .. } => Program::Update(Box::new(UpdatePlan::new(change, catalog)?)),
            ModificationKind::Delete => Program::Delete(Box::new(DeletePlan::new(change, catalog)?)),
        })
    }

    /// Whether it asks for each row what may read: subqueries, functions in the table's rules.
    pub(super) fn asks(&self) -> bool {
        match self {
            Program::Insert(insert) => insert.program.asks_queries(),
            Program::Update(update) => update.asks_queries(),
            Program::Merge(merge) => merge.target.bound.calls != Callees::BuiltIn,
            Program::Delete(_) | Program::Instead(_) => false,
        }
    }
}

/// Whether it is a change below which there is none, which is plain to see.
pub(super) fn is_of_few(plan: &PhysicalPlan) -> bool {
    matches!(plan.node, PhysicalNode::Modify { rows: ModifiedRows::Constants(_) | ModifiedRows::Few(_), .. })
}
