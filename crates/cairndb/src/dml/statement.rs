//! A statement that changes rows: what its plan's nodes do, and what it owes when they are done.

use std::cell::{Cell, RefCell};
use std::ops::DerefMut;
use std::sync::Arc;

use super::foreign_keys::ForeignKeys;
use super::returning::{Later, beneath_returning, is_later};
use super::source::Source;
use super::triggers::{TableTriggers, has_trigger};
use super::{DeletePlan, DmlContext, InsertPlan, InsteadPlan, MergePlan, UpdatePlan};
use crate::bind::{BoundDelete, BoundInsert, BoundMerge, BoundUpdate, Callees, InsertSource, Returning};
use crate::catalog::{Catalog, Table, Timing, TriggerEvent};
use crate::exec::{self, Collected, SourceRows, Writes};
use crate::plan::{
    Expr, Field, LogicalPlan, ModifiedRows, NodeStatistics, OptimizerOptions, PhysicalNode, PhysicalPlan, optimize,
};
use crate::{Error, Result};

/// What becomes of each row that a plan's node is given.
#[derive(Debug)]
pub enum Change {
    #[allow(missing_docs)]
    Insert(InsertPlan),
    #[allow(missing_docs)]
    Update(UpdatePlan),
    #[allow(missing_docs)]
    Delete(DeletePlan),
    #[allow(missing_docs)]
    Merge(MergePlan),
    /// Of a view's rows, by its triggers.
    Instead(InsteadPlan),
}

impl Change {
    pub(crate) fn table(&self) -> &Arc<Table> {
        match self {
            Change::Insert(plan) => &plan.program.rules.target.table,
            Change::Update(plan) => &plan.target().table,
            Change::Delete(plan) => &plan.target().table,
            Change::Merge(plan) => &plan.target.table,
            Change::Instead(plan) => &plan.face,
        }
    }

    pub(crate) fn verb(&self) -> &'static str {
        match self {
            Change::Insert(_) => "Insert",
            Change::Update(_) => "Update",
            Change::Delete(_) => "Delete",
            Change::Merge(_) => "Merge",
            Change::Instead(plan) => match plan.event {
                TriggerEvent::Insert => "Insert",
                TriggerEvent::Update => "Update",
                _ => "Delete",
            },
        }
    }

    /// What triggers of the table may be for; none, where it has no triggers.
    fn events(&self) -> Vec<TriggerEvent> {
        match self {
            change if change.table().triggers.is_empty() => vec![],
            Change::Insert(plan) if plan.program.may_update() => vec![TriggerEvent::Insert, TriggerEvent::Update],
            Change::Insert(_) => vec![TriggerEvent::Insert],
            Change::Update(_) => vec![TriggerEvent::Update],
            Change::Delete(_) => vec![TriggerEvent::Delete],
            Change::Merge(plan) => plan.events(),
            Change::Instead(plan) => vec![plan.event],
        }
    }

    /// The columns that an UPDATE assigns.
    fn assigned(&self) -> Arc<[usize]> {
        match self {
            Change::Update(plan) => plan.assigned.as_slice().into(),
            Change::Insert(plan) => plan.program.updated_columns().into(),
            Change::Delete(_) => Arc::default(),
            Change::Merge(plan) => plan.assigned.clone(),
            Change::Instead(plan) => plan.assigned.clone(),
        }
    }

    fn returning(&self) -> Option<&Returning> {
        match self {
            Change::Insert(plan) => plan.returning.as_ref(),
            Change::Update(plan) => plan.returning.as_ref(),
            Change::Delete(plan) => plan.returning.as_ref(),
            Change::Merge(plan) => plan.returning.as_ref(),
            Change::Instead(plan) => plan.returning.as_ref(),
        }
    }

    /// The columns of its rows: RETURNING's.
    pub(crate) fn fields(&self) -> &[Field] {
        self.returning().map_or(&[], |returning| &returning.fields)
    }
}

/// The logical plan of an INSERT that computes its rows.
pub(crate) fn insert_of(mut bound: BoundInsert, catalog: &Catalog) -> Result<LogicalPlan> {
    let input = taken(bound.source.as_plan());
    let later = Later::of(&mut bound.returning);
    let change = insertion(bound, &input, catalog)?;
    Ok(later.over(input, |input| modify(change, input)))
}

#[inline]
fn insertion(bound: BoundInsert, around: &LogicalPlan, catalog: &Catalog) -> Result<Change> {
    Ok(match bound.table.is_face {
        true => Change::Instead(InsteadPlan::insert(bound)),
        false => Change::Insert(InsertPlan::new(bound, around, catalog)?),
    })
}

/// The logical plan of an UPDATE.
pub(crate) fn update_of(mut bound: BoundUpdate, catalog: &Catalog) -> Result<LogicalPlan> {
    let input = taken(&mut bound.source);
    let later = Later::of(&mut bound.returning);
    let change = match bound.table.is_face {
        true => Change::Instead(InsteadPlan::update(bound)),
        false => Change::Update(UpdatePlan::new(bound, catalog)?),
    };
    Ok(later.over(input, |input| modify(change, input)))
}

/// The logical plan of a DELETE.
pub(crate) fn delete_of(mut bound: BoundDelete, catalog: &Catalog) -> Result<LogicalPlan> {
    let input = taken(&mut bound.source);
    let later = Later::of(&mut bound.returning);
    let change = match bound.table.is_face {
        true => Change::Instead(InsteadPlan::delete(bound)),
        false => Change::Delete(DeletePlan::new(bound, catalog)?),
    };
    Ok(later.over(input, |input| modify(change, input)))
}

/// The logical plan of a MERGE.
pub(crate) fn merge_of(mut bound: BoundMerge, catalog: &Catalog) -> Result<LogicalPlan> {
    let input = taken(&mut bound.source);
    let later = Later::of(&mut bound.returning);
    let change = Change::Merge(MergePlan::new(bound, catalog)?);
    Ok(later.over(input, |input| modify(change, input)))
}

fn taken(source: &mut LogicalPlan) -> LogicalPlan {
    std::mem::replace(source, LogicalPlan::Values { rows: vec![], fields: vec![] })
}

fn modify(change: Change, input: LogicalPlan) -> LogicalPlan {
    LogicalPlan::Modify { change: Arc::new(change), input: Box::new(input) }
}

/// The plan of an INSERT; of one of constants into a table there is nothing to choose.
pub(crate) fn plan_insert(
    mut bound: BoundInsert,
    catalog: &Catalog,
    options: &OptimizerOptions,
) -> Result<PhysicalPlan> {
    if matches!(bound.source, InsertSource::Plan(_)) || bound.table.is_face || is_later(bound.returning.as_ref()) {
        return optimize(insert_of(bound, catalog)?, catalog, options);
    }
    let nothing = LogicalPlan::Values { rows: vec![], fields: vec![] };
    let InsertSource::Constants(rows) = std::mem::replace(&mut bound.source, InsertSource::Plan(nothing)) else {
        return Err(Error::internal("an INSERT without rows"));
    };
    let no_parts = LogicalPlan::Values { rows: vec![], fields: vec![] };
    let change = Arc::new(insertion(bound, &no_parts, catalog)?);
    let fields = change.fields().to_vec();
    let node = PhysicalNode::Modify { change, rows: ModifiedRows::Constants(Arc::new(rows)) };
    Ok(PhysicalPlan { id: 0, fields, estimate: Default::default(), node, alias: None })
}

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
pub(crate) fn run(plan: &Arc<PhysicalPlan>, context: &DmlContext<'_>, calls: Callees) -> Result<Done> {
    match &beneath_returning(plan).node {
        PhysicalNode::Modify { change, .. } if matches!(**change, Change::Delete(_)) => {
            context.tx.freeing(|| run_changes(plan, context, calls))
        }
        _ => run_changes(plan, context, calls),
    }
}

fn run_changes(plan: &Arc<PhysicalPlan>, context: &DmlContext<'_>, calls: Callees) -> Result<Done> {
    let change = beneath_returning(plan);
    let mut changes = Vec::new();
    if !is_of_few(plan) {
        changes_in(plan, &mut changes);
    }
    let beside = match () {
        () if changes.iter().any(|(node, _)| !std::ptr::eq(*node, change)) => Beside::Others,
        () if calls == Callees::Writers || asks_triggers(plan) => Beside::Functions,
        () => Beside::Nobody,
    };
    let mut frozen = None;
    // (In a function that is not to see what its caller changes, what it reads is fixed already.)
    let is_asked = beside != Beside::Nobody || calls != Callees::BuiltIn || asks(plan, context.catalog)?;
    if (is_asked || !std::ptr::eq(change, plan.as_ref())) && !context.exec.reader.is_frozen() {
        // All its parts see the state that it began with.
        frozen = Some(context.exec.reading(context.tx.reader_of_now()?));
    }
    let follows = calls == Callees::Writers && matches!(changes.as_slice(), [(_, Change::Insert(_))]);
    if let (true, Some(exec)) = (follows, &mut frozen) {
        exec.one_by_one = true;
    }
    let context = DmlContext { exec: frozen.as_ref().unwrap_or(context.exec), ..*context };
    let statement = Statement {
        context: &context,
        keys: RefCell::new(ForeignKeys::new(&context)),
        affected: Cell::new(0),
        beside,
        follows,
    };
    if let Some((change, source)) = of_rows_at_hand(plan).filter(|_| !context.exec.analyze) {
        let rows = statement.change(change, source)?;
        let affected = statement.affected.get();
        statement.keys.into_inner().finish()?;
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
    statement.keys.into_inner().finish()?;
    Ok(Done { affected, rows: rows.finish(), statistics: stream.statistics() })
}

/// The change that a plan is, and its rows, where nothing is below it that would have to run.
fn of_rows_at_hand(plan: &PhysicalPlan) -> Option<(&Change, SourceRows<'_>)> {
    let PhysicalNode::Modify { change, rows } = &plan.node else { return None };
    match (&**change, rows) {
        (_, ModifiedRows::Constants(rows)) => Some((change, SourceRows::Constants(rows))),
        (Change::Insert(_), ModifiedRows::Few(values)) => match &values.node {
            PhysicalNode::Values { rows } => Some((change, SourceRows::Few(rows))),
            _ => None,
        },
        _ => None,
    }
}

/// The INSERT of one row of expressions that a plan is, where nothing comes of it but the row.
pub(crate) fn one_row_insert(plan: &PhysicalPlan) -> Option<(&InsertPlan, &[Expr])> {
    let PhysicalNode::Modify { change, rows: ModifiedRows::Few(values) } = &plan.node else { return None };
    let (Change::Insert(insert), PhysicalNode::Values { rows }) = (&**change, &values.node) else { return None };
    let [row] = rows.as_slice() else { return None };
    insert.is_repeatable(row).then_some((insert, row))
}

/// The changes in a plan.
fn changes_in<'p>(plan: &'p PhysicalPlan, into: &mut Vec<(&'p PhysicalPlan, &'p Change)>) {
    if let PhysicalNode::Modify { change, .. } = &plan.node {
        into.push((plan, change));
    }
    if !is_of_few(plan) {
        plan.children().into_iter().for_each(|child| changes_in(child, into));
    }
}

/// Who else changes rows while a statement does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beside {
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
            let asks = |event, timing| has_trigger(change.table(), event, timing, true);
            events.iter().any(|event| asks(*event, Timing::Before) || asks(*event, Timing::InsteadOf))
        }
        _ => false,
    };
    asks || !is_of_few(plan) && plan.children().into_iter().any(|child| asks_triggers(child))
}

/// Whether its own change asks for each row what may read: subqueries, functions in the table's rules and of its triggers.
fn asks(plan: &PhysicalPlan, catalog: &Catalog) -> Result<bool> {
    let PhysicalNode::Modify { change, .. } = &plan.node else { return Ok(false) };
    let asks = match &**change {
        Change::Insert(insert) => insert.program.asks(),
        Change::Update(update) => update.asks(),
        Change::Merge(merge) => merge.target.calls != Callees::BuiltIn,
        Change::Delete(_) | Change::Instead(_) => false,
    };
    let table = change.table();
    Ok(asks || !table.triggers.is_empty() && TableTriggers::of(table, catalog)?.read())
}

/// Whether it is a change below which there is none, which is plain to see.
fn is_of_few(plan: &PhysicalPlan) -> bool {
    matches!(plan.node, PhysicalNode::Modify { rows: ModifiedRows::Constants(_) | ModifiedRows::Few(_), .. })
}

/// A running statement.
struct Statement<'a> {
    context: &'a DmlContext<'a>,
    keys: RefCell<ForeignKeys<'a>>,
    /// Of the change that ran last: that of the plan itself, if it has one.
    affected: Cell<u64>,
    beside: Beside,
    /// What is inserted asks functions that change rows, or look for those that are there by then.
    follows: bool,
}

impl Writes for Statement<'_> {
    fn change(&self, change: &Change, rows: SourceRows<'_>) -> Result<Collected> {
        let mut keys = self.keys.borrow_mut();
        let keys = keys.deref_mut();
        let source = |rows| match rows {
            SourceRows::Batches(batches, shared) => Ok(Source::new(batches, shared)),
            SourceRows::Few(_) | SourceRows::Constants(_) | SourceRows::Lazy(_) => {
                Err(Error::internal("rows that are only inserted"))
            }
        };
        let table = change.table();
        let events = change.events();
        let assigned: Arc<[usize]> = if table.triggers.is_empty() { Arc::default() } else { change.assigned() };
        for event in &events {
            keys.before_statement(table, *event, &assigned)?;
        }
        let result = match change {
            Change::Insert(plan) => plan.run(rows, self.context, keys, self.beside)?,
            Change::Update(plan) => plan.run(&source(rows)?, self.context, keys, self.beside)?,
            Change::Delete(plan) => plan.run(&source(rows)?, self.context, keys, self.beside)?,
            Change::Merge(plan) => plan.run(&source(rows)?, self.context, keys, self.beside)?,
            Change::Instead(plan) => plan.run(&source(rows)?, self.context, keys)?,
        };
        for event in events.iter().rev() {
            keys.after_statement(table, *event, &assigned)?;
        }
        self.affected.set(result.affected);
        Ok(result.rows.finish())
    }

    fn follows(&self) -> bool {
        self.follows
    }
}
