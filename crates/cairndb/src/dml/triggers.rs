//! Triggers of the tables, and views, that a statement changes.
//!
//! - What there is to do is compiled once for a table and a version of the catalog ([`TableTriggers`]); a table without
//!   triggers has nothing.
//! - BEFORE ROW runs where the row program asks, and says what the row becomes. What AFTER ROW will see is put down as the
//!   row programs tell of it, those of foreign keys' actions too, and runs when the statement is done, in that order.

use std::sync::Arc;

use super::DmlContext;
use super::transition::{TableRows, TransitionRows};
use crate::bind::{Callees, Virtuals, bind_when};
use crate::catalog::{Catalog, ObjectId, Table, Timing, Trigger, TriggerEvent};
use crate::columns::Batch;
use crate::functions::{Firing, TriggerCall, TriggerRunner};
use crate::plan::{Columns, Datum, Expr, eval};
use crate::types::{CompositeType, Shape, ValueRef};
use crate::{Error, Result, SqlState, Value};

/// The triggers of a table.
#[derive(Debug)]
pub(crate) struct TableTriggers {
    table: Arc<Table>,
    shape: Arc<Shape>,
    all: Vec<Compiled>,
    virtuals: Virtuals,
}

#[derive(Debug)]
struct Compiled {
    trigger: Arc<Trigger>,
    call: Arc<TriggerCall>,
    /// Over the columns of NEW, then those of OLD.
    when: Option<Expr>,
}

/// The triggers that a statement has run, ready to run again.
#[derive(Default)]
pub(crate) struct ReadyTriggers {
    all: Vec<(Arc<TriggerCall>, Box<dyn TriggerRunner>)>,
    /// Of the statement.
    pub(super) rows: Vec<TransitionRows>,
}

/// Triggers that run, in what their statement runs in.
pub(crate) struct Running<'a> {
    context: &'a DmlContext<'a>,
    ready: &'a mut ReadyTriggers,
}

impl<'a> Running<'a> {
    pub(crate) fn new(context: &'a DmlContext<'a>, ready: &'a mut ReadyTriggers) -> Running<'a> {
        Running { context, ready }
    }

    fn fire(
        &mut self,
        call: &Arc<TriggerCall>,
        event: TriggerEvent,
        (old, new): (Option<Vec<Value>>, Option<Vec<Value>>),
    ) -> Result<Option<Vec<Value>>> {
        let tables = match call.sees_tables() {
            true => self.tables(call, event)?,
            false => [None, None],
        };
        self.ready(call)?.fire(Firing { event, old, new, tables })
    }

    /// The trigger, ready to run.
    fn ready(&mut self, call: &Arc<TriggerCall>) -> Result<&mut dyn TriggerRunner> {
        let all = &mut self.ready.all;
        let at = match all.iter().position(|(known, _)| Arc::ptr_eq(known, call)) {
            Some(at) => at,
            None => {
                let eval = &self.context.exec.eval;
                all.push((call.clone(), eval.caller()?.clone().trigger(call, eval)?));
                all.len() - 1
            }
        };
        Ok(&mut *all[at].1)
    }

    /// The rows of the statement, as functions see them.
    fn tables(&mut self, call: &TriggerCall, event: TriggerEvent) -> Result<TableRows> {
        let row_type = || call.shape.row_type();
        match self.ready.rows.iter_mut().find(|rows| rows.are_of(call.table, event)) {
            Some(rows) => rows.given(row_type),
            None => TransitionRows::new(call.table, event).given(row_type),
        }
    }

    /// Runs a trigger that was put off, if it is still there.
    pub(super) fn fire_late(&mut self, late: Late) -> Result<()> {
        let catalog = self.context.catalog;
        let Some(table) = catalog.table_by_id(late.table) else { return Ok(()) };
        let triggers = TableTriggers::of(table, catalog)?;
        match triggers.all.iter().find(|compiled| compiled.trigger.id == late.trigger) {
            Some(compiled) => self.fire(&compiled.call, late.event, (late.old, late.new)).map(drop),
            None => Ok(()),
        }
    }
}

/// A row that AFTER ROW triggers are to see.
#[derive(Debug)]
pub(crate) struct Changed {
    pub(super) triggers: Arc<TableTriggers>,
    event: TriggerEvent,
    old: Option<Vec<Value>>,
    new: Option<Vec<Value>>,
    assigned: Arc<[usize]>,
}

/// Rows that were updated, which AFTER ROW triggers are to see.
#[derive(Debug)]
pub(crate) struct ChangedRows {
    triggers: Arc<TableTriggers>,
    old: Batch,
    new: Batch,
    assigned: Arc<[usize]>,
}

/// Whether a table has such a trigger.
pub(crate) fn has_trigger(table: &Table, event: TriggerEvent, timing: Timing, per_row: bool) -> bool {
    table.triggers.iter().any(|trigger| trigger.is_for(event, timing, per_row))
}

/// Whether triggers of the table are to see each row once it was changed.
pub(crate) fn is_told(table: &Table, event: TriggerEvent) -> bool {
    let sees = |trigger: &Trigger| {
        trigger.is_for(event, Timing::After, true)
            || trigger.sees_tables() && trigger.is_for(event, Timing::After, false)
    };
    table.triggers.iter().any(|trigger| sees(trigger))
}

impl TableTriggers {
    pub(crate) fn of(table: &Arc<Table>, catalog: &Catalog) -> Result<Arc<TableTriggers>> {
        catalog.compiled(table, || TableTriggers::new(table, catalog))
    }

    fn new(table: &Arc<Table>, catalog: &Catalog) -> Result<TableTriggers> {
        let columns = table.columns.iter().map(|column| (column.name.clone(), column.data_type));
        let shape = Arc::new(Shape(columns.collect(), None));
        let compiled = |trigger: &Arc<Trigger>| {
            let function = catalog.routine_by_id(trigger.routine).and_then(|function| function.routine());
            let missing = || Error::internal(format!("the function of trigger \"{}\" is missing", trigger.name));
            let when = trigger.when.as_ref().map(|when| bind_when(when, &trigger.known, table, catalog));
            let call = TriggerCall {
                routine: function.ok_or_else(missing)?.clone(),
                name: trigger.name.clone(),
                timing: trigger.timing.name(),
                per_row: trigger.per_row,
                args: trigger.args.clone(),
                transition_tables: [trigger.old_table.clone(), trigger.new_table.clone()],
                table: table.id,
                table_name: table.name.clone(),
                schema: catalog.schema_name(table.schema).unwrap_or_default().to_owned(),
                shape: shape.clone(),
            };
            Ok(Compiled { trigger: trigger.clone(), call: Arc::new(call), when: when.transpose()? })
        };
        let all = table.triggers.iter().map(compiled).collect::<Result<_>>()?;
        Ok(TableTriggers { table: table.clone(), shape, all, virtuals: Virtuals::of(table, catalog)? })
    }

    /// Whether some of them are not to see what the statement changes: functions that change nothing.
    pub(super) fn read(&self) -> bool {
        let reads = |compiled: &Compiled| {
            !compiled.call.routine.may_write()
                || compiled.when.as_ref().is_some_and(|when| Callees::of(when) != Callees::BuiltIn)
        };
        self.all.iter().any(reads)
    }

    fn chosen<'t>(
        &'t self,
        event: TriggerEvent,
        (timing, per_row): (Timing, bool),
        assigned: &'t [usize],
    ) -> impl Iterator<Item = &'t Compiled> {
        let is_assigned = move |trigger: &Trigger| {
            trigger.columns.is_empty()
                || event != TriggerEvent::Update
                || assigned.iter().any(|column| trigger.columns.contains(&self.table.columns[*column].number))
        };
        let all = self.all.iter();
        all.filter(move |Compiled { trigger, .. }| trigger.is_for(event, timing, per_row) && is_assigned(trigger))
    }

    fn holds(
        &self,
        compiled: &Compiled,
        (old, new): (Option<&[Value]>, Option<&[Value]>),
        context: &DmlContext<'_>,
    ) -> Result<bool> {
        let Some(when) = &compiled.when else { return Ok(true) };
        let rows = NewAndOld { new, old, width: self.table.columns.len() };
        Ok(eval(when, &rows, context.exec)?.into_value() == Value::Boolean(true))
    }

    /// Computes what rows that are there have in virtual columns.
    pub(super) fn fill<'r>(
        &self,
        rows: impl IntoIterator<Item = &'r mut Vec<Value>>,
        context: &DmlContext<'_>,
    ) -> Result<()> {
        rows.into_iter().try_for_each(|row| self.virtuals.fill(row, context.exec))
    }

    /// BEFORE ROW and INSTEAD OF: what the row becomes; `None`: nothing happens to it. Virtual columns of a row that is yet to
    /// be are NULL, as those are that are computed when it is written.
    pub(super) fn ask_row(
        &self,
        (event, timing): (TriggerEvent, Timing),
        mut old: Option<Vec<Value>>,
        mut new: Option<Vec<Value>>,
        assigned: &[usize],
        running: &mut Running<'_>,
    ) -> Result<Option<Vec<Value>>> {
        self.fill(&mut old, running.context)?;
        for compiled in self.chosen(event, (timing, true), assigned) {
            if !self.holds(compiled, (old.as_deref(), new.as_deref()), running.context)? {
                continue;
            }
            match (running.fire(&compiled.call, event, (old.clone(), new.take()))?, event) {
                (None, _) => return Ok(None),
                // What is deleted is what was there.
                (Some(_), TriggerEvent::Delete) => {}
                (given, _) => new = given,
            }
        }
        new.iter_mut().for_each(|row| self.virtuals.clear(row));
        Ok(if event == TriggerEvent::Delete { old } else { new })
    }

    /// BEFORE or AFTER, for a statement.
    pub(crate) fn statement(
        &self,
        event: TriggerEvent,
        timing: Timing,
        assigned: &[usize],
        running: &mut Running<'_>,
    ) -> Result<()> {
        for compiled in self.chosen(event, (timing, false), assigned) {
            if self.holds(compiled, (None, None), running.context)? {
                running.fire(&compiled.call, event, (None, None))?;
            }
        }
        Ok(())
    }

    /// What a row of the table is to functions.
    pub(super) fn row_type(&self) -> Result<CompositeType> {
        self.shape.row_type()
    }

    /// Whether triggers see all rows of a statement.
    pub(super) fn sees_tables(&self, event: TriggerEvent) -> bool {
        let sees = |trigger: &Trigger| {
            trigger.sees_tables() && [true, false].iter().any(|per_row| trigger.is_for(event, Timing::After, *per_row))
        };
        self.all.iter().any(|compiled| sees(&compiled.trigger))
    }

    /// A row that AFTER ROW triggers are to see, if there are such.
    pub(super) fn after(
        self: &Arc<Self>,
        event: TriggerEvent,
        old: Option<Vec<Value>>,
        new: Option<Vec<Value>>,
        assigned: &Arc<[usize]>,
    ) -> Option<Changed> {
        self.chosen(event, (Timing::After, true), assigned).next()?;
        Some(Changed { triggers: self.clone(), event, old, new, assigned: assigned.clone() })
    }
}

impl TableTriggers {
    /// Rows that were updated, if AFTER ROW triggers are to see them.
    pub(super) fn after_rows(self: &Arc<Self>, old: Batch, new: Batch, assigned: &Arc<[usize]>) -> Option<ChangedRows> {
        self.chosen(TriggerEvent::Update, (Timing::After, true), assigned).next()?;
        Some(ChangedRows { triggers: self.clone(), old, new, assigned: assigned.clone() })
    }
}

/// A trigger that runs when the transaction commits.
#[derive(Clone, Debug)]
pub(super) struct Late {
    pub(super) table: ObjectId,
    pub(super) trigger: ObjectId,
    event: TriggerEvent,
    old: Option<Vec<Value>>,
    new: Option<Vec<Value>>,
}

impl Late {
    fn of(compiled: &Compiled, event: TriggerEvent, (old, new): (Option<Vec<Value>>, Option<Vec<Value>>)) -> Late {
        Late { table: compiled.call.table, trigger: compiled.trigger.id, event, old, new }
    }
}

impl Changed {
    /// Bytes that it holds.
    pub(super) fn memory_bytes(&self) -> usize {
        let width = self.triggers.table.columns.len();
        size_of::<Changed>() + 2 * width * (size_of::<Value>() + 8)
    }

    /// AFTER ROW.
    pub(super) fn run(self, running: &mut Running<'_>) -> Result<()> {
        let Changed { triggers, event, old, new, assigned } = self;
        let mut chosen = triggers.chosen(event, (Timing::After, true), &assigned).peekable();
        let (mut old, mut new) = (old, new);
        while let Some(compiled) = chosen.next() {
            if !triggers.holds(compiled, (old.as_deref(), new.as_deref()), running.context)? {
                continue;
            }
            let rows = match chosen.peek() {
                Some(_) => (old.clone(), new.clone()),
                None => (old.take(), new.take()),
            };
            match running.context.deferred.filter(|deferred| deferred.puts_off_trigger(&compiled.trigger)) {
                Some(deferred) => deferred.fire_later(Late::of(compiled, event, rows)),
                None => drop(running.fire(&compiled.call, event, rows)?),
            }
        }
        Ok(())
    }
}

impl ChangedRows {
    /// Bytes that it holds.
    pub(super) fn memory_bytes(&self) -> usize {
        size_of::<ChangedRows>() + self.old.memory_bytes() + self.new.memory_bytes()
    }

    /// AFTER ROW, of one row after the other.
    pub(super) fn run(self, running: &mut Running<'_>) -> Result<()> {
        let ChangedRows { triggers, old, new, assigned } = self;
        let event = TriggerEvent::Update;
        let mut chosen = triggers.chosen(event, (Timing::After, true), &assigned);
        if let (Some(only), None) = (chosen.next(), chosen.next())
            && only.when.is_none()
            && !running.context.deferred.is_some_and(|deferred| deferred.puts_off_trigger(&only.trigger))
            && running.ready(&only.call)?.fire_all(event, (&old, &new))?
        {
            return Ok(());
        }
        for row in 0..old.len() {
            running.context.exec.check()?;
            let (old, new) = (Some(old.row(row)), Some(new.row(row)));
            Changed { triggers: triggers.clone(), event, old, new, assigned: assigned.clone() }.run(running)?;
        }
        Ok(())
    }
}

/// A row as it will be, then as it was; NULLs for what there is not.
struct NewAndOld<'a> {
    new: Option<&'a [Value]>,
    old: Option<&'a [Value]>,
    width: usize,
}

impl Columns<Error> for NewAndOld<'_> {
    fn column(&self, index: usize) -> Result<Datum<'_>> {
        let (row, at) = if index < self.width { (self.new, index) } else { (self.old, index - self.width) };
        Ok(Datum::Lent(row.and_then(|row| row.get(at)).map_or(ValueRef::Null, ValueRef::from)))
    }
}

/// SQLSTATE 27000: a BEFORE trigger has changed the row that is to be changed.
pub(crate) fn changed_by_trigger(verb: &str) -> Error {
    let message = format!("tuple to be {verb} was already modified by an operation triggered by the current command");
    Error::new(SqlState::TRIGGERED_DATA_CHANGE_VIOLATION, message)
        .with_hint("Consider using an AFTER trigger instead of a BEFORE trigger to propagate changes to other rows.")
}
