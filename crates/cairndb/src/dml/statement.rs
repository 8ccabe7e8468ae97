//! A statement that changes rows: what its plan's nodes do, and what it owes when they are done.

use std::cell::{Cell, RefCell};
use std::ops::DerefMut;
use std::sync::Arc;

use super::pending::PendingChecks;
use super::programs::{Program, Programs, is_of_few};
use super::returning::beneath_returning;
use super::source::Source;
use super::triggers::{TableTriggers, has_trigger};
use super::{DmlContext, InsertPlan};
use crate::bind::Callees;
use crate::catalog::{Catalog, Timing};
use crate::exec::{self, Collected, SourceRows, Writes};
use crate::plan::{Expr, Modification, ModificationKind, ModifiedRows, NodeStatistics, PhysicalNode, PhysicalPlan};
use crate::{Error, Result};

/// What a statement did.
#[derive(Debug, Default)]
pub(crate) struct Done {
    /// Rows that the plan's own change affected: not those of WITH.
    pub(crate) affected: u64,
    /// The plan's result.
    pub(crate) rows: Collected,
    /// By node, where the context asks for them.
    pub(crate) statistics: Vec<NodeStatistics>,
}

/// Runs a plan that changes rows to its end. `calls`: what it says itself, and the views that it names.
pub(crate) fn run(
    plan: &Arc<PhysicalPlan>,
    programs: &Programs,
    context: &DmlContext<'_>,
    calls: Callees,
) -> Result<Done> {
    match &beneath_returning(plan).node {
        PhysicalNode::Modify { change, .. } if deletes(change) => {
            context.tx.freeing(|| run_changes(plan, programs, context, calls))
        }
        _ => run_changes(plan, programs, context, calls),
    }
}

fn run_changes(
    plan: &Arc<PhysicalPlan>,
    programs: &Programs,
    context: &DmlContext<'_>,
    calls: Callees,
) -> Result<Done> {
    let change = beneath_returning(plan);
    let mut changes = Vec::new();
    if !is_of_few(plan) {
        changes_in(plan, &mut changes);
    }
    let beside = match () {
        () if changes.iter().any(|(node, _)| !std::ptr::eq(*node, change)) => ConcurrentWrites::Others,
        () if calls == Callees::Writers || asks_triggers(plan) => ConcurrentWrites::Functions,
        () => ConcurrentWrites::Nobody,
    };
    let mut frozen = None;
    // (In a function that is not to see what its caller changes, what it reads is fixed already.)
    let is_asked =
        beside != ConcurrentWrites::Nobody || calls != Callees::BuiltIn || asks(plan, programs, context.catalog)?;
    if (is_asked || !std::ptr::eq(change, plan.as_ref())) && !context.exec.reader.is_frozen() {
        // All its parts see the state that it began with.
        frozen = Some(context.exec.reading(context.tx.reader_of_now()?));
    }
    let follows = calls == Callees::Writers && matches!(changes.as_slice(), [(_, only)] if inserts(only));
    if let (true, Some(exec)) = (follows, &mut frozen) {
        exec.one_by_one = true;
    }
    let context = DmlContext { exec: frozen.as_ref().unwrap_or(context.exec), ..*context };
    let statement = Statement {
        context: &context,
        programs,
        pending: RefCell::new(PendingChecks::new(&context)),
        affected: Cell::new(0),
        beside,
        follows,
    };
    if let Some((change, source)) = of_rows_at_hand(plan).filter(|_| !context.exec.analyze) {
        let rows = statement.change(change, source)?;
        let affected = statement.affected.get();
        statement.pending.into_inner().finish()?;
        return Ok(Done { affected, rows, statistics: vec![] });
    }
    let mut stream = exec::execute(plan.clone(), context.exec.clone())?;
    let mut rows = match plan.fields.is_empty() {
        true => Collected::default(),
        false => Collected::of(context.exec, &plan.fields),
    };
    while let Some(batch) = stream.next_writing(Some(&statement))? {
        (0..batch.len()).try_for_each(|row| rows.push(batch.row(row)))?;
    }
    let affected = match plan.node {
        PhysicalNode::Modify { .. } => statement.affected.get(),
        _ => 0,
    };
    statement.pending.into_inner().finish()?;
    Ok(Done { affected, rows: rows.finish(), statistics: stream.statistics() })
}

/// Whether rows of a table are deleted.
fn deletes(change: &Modification) -> bool {
    matches!(change.kind, ModificationKind::Delete) && !change.table.is_face()
}

/// Whether rows are inserted into a table.
fn inserts(change: &Modification) -> bool {
    matches!(change.kind, ModificationKind::Insert { .. }) && !change.table.is_face()
}

/// The change that a plan is, and its rows, where nothing is below it that would have to run.
fn of_rows_at_hand(plan: &PhysicalPlan) -> Option<(&Modification, SourceRows<'_>)> {
    let PhysicalNode::Modify { change, rows } = &plan.node else { return None };
    match rows {
        ModifiedRows::Constants(rows) => Some((change, SourceRows::Constants(rows))),
        ModifiedRows::Few(values) if inserts(change) => match &values.node {
            PhysicalNode::Values { rows } => Some((change, SourceRows::Few(rows))),
            _ => None,
        },
        _ => None,
    }
}

/// The INSERT of one row of expressions that a plan is, where nothing comes of it but the row.
pub(crate) fn one_row_insert<'p>(
    plan: &'p PhysicalPlan,
    programs: &'p Programs,
) -> Option<(&'p InsertPlan, &'p [Expr])> {
    let PhysicalNode::Modify { change, rows: ModifiedRows::Few(values) } = &plan.node else { return None };
    let (Program::Insert(insert), PhysicalNode::Values { rows }) = (programs.program(change).ok()?, &values.node)
    else {
        return None;
    };
    let [row] = rows.as_slice() else { return None };
    insert.is_repeatable(row).then_some((insert, row))
}

/// The changes in a plan.
fn changes_in<'p>(plan: &'p PhysicalPlan, into: &mut Vec<(&'p PhysicalPlan, &'p Modification)>) {
    if let PhysicalNode::Modify { change, .. } = &plan.node {
        into.push((plan, change));
    }
    if !is_of_few(plan) {
        plan.children().into_iter().for_each(|child| changes_in(child, into));
    }
}

/// Who else changes rows while a statement does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConcurrentWrites {
    Nobody,
    /// Other parts of the statement: what they have changed is left alone.
    Others,
    /// Functions that it calls, BEFORE triggers: what they have changed cannot be changed once more.
    Functions,
}

/// Whether triggers are asked for each row before it is changed, or instead.
fn asks_triggers(plan: &PhysicalPlan) -> bool {
    let asks = match &plan.node {
        PhysicalNode::Modify { change, .. } => {
            let events = change.events();
            let asks = |event, timing| has_trigger(&change.table, event, timing, true);
            events.iter().any(|event| asks(*event, Timing::Before) || asks(*event, Timing::InsteadOf))
        }
        _ => false,
    };
    asks || !is_of_few(plan) && plan.children().into_iter().any(|child| asks_triggers(child))
}

/// Whether its own change asks for each row what may read: subqueries, functions in the table's rules and of its triggers.
fn asks(plan: &PhysicalPlan, programs: &Programs, catalog: &Catalog) -> Result<bool> {
    let PhysicalNode::Modify { change, .. } = &plan.node else { return Ok(false) };
    let table = &change.table;
    Ok(programs.program(change)?.asks() || !table.triggers.is_empty() && TableTriggers::of(table, catalog)?.read())
}

/// A running statement.
struct Statement<'a> {
    context: &'a DmlContext<'a>,
    programs: &'a Programs,
    pending: RefCell<PendingChecks<'a>>,
    /// Of the change that ran last: that of the plan itself, if it has one.
    affected: Cell<u64>,
    beside: ConcurrentWrites,
    /// What is inserted asks functions that change rows, or look for those that are there by then.
    follows: bool,
}

impl Writes for Statement<'_> {
    fn change(&self, change: &Modification, rows: SourceRows<'_>) -> Result<Collected> {
        let mut pending = self.pending.borrow_mut();
        let pending = pending.deref_mut();
        let source = |rows| match rows {
            SourceRows::Batches(batches, shared) => Ok(Source::new(batches, shared)),
            SourceRows::Few(_) | SourceRows::Constants(_) | SourceRows::Lazy(_) => {
                Err(Error::internal("rows that are only inserted"))
            }
        };
        let table = &change.table;
        let events = change.events();
        let assigned: Arc<[usize]> = if table.triggers.is_empty() { Arc::default() } else { change.assigned() };
        for event in &events {
            pending.before_statement(table, *event, &assigned)?;
        }
        let (context, beside) = (self.context, self.beside);
        let result = match self.programs.program(change)? {
            Program::Insert(plan) => plan.run(rows, context, pending, beside)?,
            Program::Update(plan) => plan.run(&source(rows)?, context, pending, beside)?,
            Program::Delete(plan) => plan.run(&source(rows)?, context, pending, beside)?,
            Program::Merge(plan) => plan.run(&source(rows)?, context, pending, beside)?,
            Program::Instead(plan) => plan.run(&source(rows)?, context, pending)?,
        };
        for event in events.iter().rev() {
            pending.after_statement(table, *event, &assigned)?;
        }
        self.affected.set(result.affected);
        Ok(result.rows.finish())
    }

    fn follows(&self) -> bool {
        self.follows
    }
}
