//! A statement that changes rows: what its plan's nodes do, and what it owes when they are done.

use std::sync::Arc;
use std::time::Instant;

use super::changing::{Changes, ConcurrentWrites, Writing};
use super::programs::{Program, Programs, is_of_few};
use super::returning::beneath_returning;
use super::triggers::{TableTriggers, has_trigger};
use super::{DmlContext, InsertPlan};
use crate::bind::Callees;
use crate::catalog::{Catalog, Timing};
use crate::exec::{self, Collected, ExecContext, NoAnswer, RowStream, SourceRows, Step, Turn, Writes, until_done};
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

/// A statement that changes rows, as far as it is. It refers to nothing of who runs it, so it waits with no thread: whoever
/// goes on with it says in what, which is the same each time. One that is dropped before its end has left rows in the
/// transaction, which is to be rolled back then.
pub(crate) struct Statement {
    plan: Arc<PhysicalPlan>,
    /// What all its parts see, where that is not what who runs it reads.
    frozen: Option<Box<ExecContext>>,
    /// It deletes: pages come free.
    frees: bool,
    /// Runs its plan; `None`: the rows that it changes are at hand. (Apart, being large: a statement is moved about.)
    stream: Option<Box<RowStream>>,
    /// What came of that so far.
    rows: Collected,
    changes: Changes,
    /// All rows are changed, and what it owes is looked at.
    done: Option<Done>,
}

/// Runs a plan that changes rows to its end. `calls`: what it says itself, and the views that it names.
pub(crate) fn run(
    plan: &Arc<PhysicalPlan>,
    programs: &Programs,
    context: &DmlContext<'_>,
    calls: Callees,
) -> Result<Done> {
    let mut statement = Statement::begin(plan, programs, context, calls)?;
    until_done(|| statement.step(programs, context, None))
}

impl Statement {
    /// Nothing is changed yet. `calls`: what the plan says itself, and the views that it names.
    pub(crate) fn begin(
        plan: &Arc<PhysicalPlan>,
        programs: &Programs,
        context: &DmlContext<'_>,
        calls: Callees,
    ) -> Result<Statement> {
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
            frozen = Some(Box::new(context.exec.reading(context.tx.reader_of_now()?)));
        }
        let follows = calls == Callees::Writers && matches!(changes.as_slice(), [(_, only)] if inserts(only));
        if let (true, Some(exec)) = (follows, &mut frozen) {
            exec.one_by_one = true;
        }
        let exec = frozen.as_deref().unwrap_or(context.exec);
        let stream = match of_rows_at_hand(plan) {
            Some(_) if !exec.analyze => None,
            _ => Some(Box::new(exec::execute(plan.clone(), exec.clone())?)),
        };
        let rows = match plan.fields.is_empty() || stream.is_none() {
            true => Collected::default(),
            false => Collected::of(exec, &plan.fields),
        };
        let frees = matches!(&change.node, PhysicalNode::Modify { change, .. } if deletes(change));
        let changes = Changes::new(beside, follows);
        Ok(Statement { plan: plan.clone(), frozen, frees, stream, rows, changes, done: None })
    }

    /// Goes on, until it is over, or until the end of a turn (`None`: there is none).
    pub(crate) fn step(&mut self, programs: &Programs, context: &DmlContext<'_>, end: Option<Instant>) -> Step<Done> {
        match self.frees {
            true => context.tx.freeing(|| self.step_within(programs, context, &Turn::until(end))),
            false => self.step_within(programs, context, &Turn::until(end)),
        }
    }

    fn step_within(&mut self, programs: &Programs, context: &DmlContext<'_>, turn: &Turn) -> Step<Done> {
        let Statement { frozen, changes, .. } = self;
        let context = DmlContext { exec: frozen.as_deref().unwrap_or(context.exec), ..*context };
        let done = match self.done.take() {
            Some(done) => done,
            None => {
                let writing = Writing { changes, programs, context: &context };
                change_rows(&self.plan, (self.stream.as_deref_mut(), &mut self.rows), (&writing, turn))?
            }
        };
        match changes.settle(&context, turn) {
            Err(NoAnswer::NotYet) => {
                self.done = Some(done);
                Err(NoAnswer::NotYet)
            }
            settled => settled.map(|()| done),
        }
    }
}

/// Changes all rows; what came of it.
fn change_rows(
    plan: &PhysicalPlan,
    (stream, rows): (Option<&mut RowStream>, &mut Collected),
    (writing, turn): (&Writing<'_>, &Turn),
) -> Step<Done> {
    let Some(stream) = stream else {
        let at_hand = of_rows_at_hand(plan).ok_or_else(|| Error::internal("no rows are at hand"))?;
        let rows = writing.change(at_hand.0, at_hand.1, turn)?;
        return Ok(Done { affected: writing.affected(), rows, statistics: vec![] });
    };
    while let Some(batch) = stream.step_writing(writing, turn.end())? {
        (0..batch.len()).try_for_each(|row| rows.push(batch.row(row)))?;
        turn.take()?;
    }
    let affected = match plan.node {
        PhysicalNode::Modify { .. } => writing.affected(),
        _ => 0,
    };
    Ok(Done { affected, rows: std::mem::take(rows).finish(), statistics: stream.statistics() })
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
