//! Triggers of the tables that a statement changes.
//!
//! - What there is to do is compiled once for a table and a version of the catalog ([`TableTriggers`]); a table without
//!   triggers has nothing.
//! - BEFORE ROW runs where the row program asks, and says what the row becomes. What AFTER ROW will see is put down as the
//!   row programs tell of it, those of foreign keys' actions too, and runs when the statement is done, in that order.

use std::sync::Arc;

use super::DmlContext;
use crate::bind::bind_when;
use crate::catalog::{Catalog, Table, Trigger, TriggerEvent};
use crate::exec::{Columns, Datum, eval};
use crate::plan::Expr;
use crate::routine::{Fires, Firing, Shape, TriggerCall};
use crate::types::ValueRef;
use crate::{Error, Result, SqlState, Value};

/// The triggers of a table.
#[derive(Debug)]
pub(crate) struct TableTriggers {
    table: Arc<Table>,
    all: Vec<Compiled>,
}

#[derive(Debug)]
struct Compiled {
    call: Arc<TriggerCall>,
    /// Over the columns of NEW, then those of OLD.
    when: Option<Expr>,
}

/// The triggers that a statement has run, ready to run again.
pub(crate) struct Running<'a> {
    context: &'a DmlContext<'a>,
    all: Vec<(Arc<TriggerCall>, Box<dyn Fires + 'a>)>,
}

impl<'a> Running<'a> {
    pub(crate) fn new(context: &'a DmlContext<'a>) -> Running<'a> {
        Running { context, all: Vec::new() }
    }

    fn fire(&mut self, call: &Arc<TriggerCall>, firing: Firing) -> Result<Option<Vec<Value>>> {
        let at = match self.all.iter().position(|(known, _)| Arc::ptr_eq(known, call)) {
            Some(at) => at,
            None => {
                let eval = &self.context.exec.eval;
                self.all.push((call.clone(), eval.caller()?.trigger(call, eval)?));
                self.all.len() - 1
            }
        };
        self.all[at].1.fire(firing)
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

/// Whether a table has such a trigger.
pub(crate) fn has_trigger(table: &Table, event: TriggerEvent, before: bool, per_row: bool) -> bool {
    table.triggers.iter().any(|trigger| trigger.is_for(event, before, per_row))
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
                trigger: trigger.clone(),
                routine: function.ok_or_else(missing)?.clone(),
                table: table.clone(),
                schema: catalog.schema_name(table.schema).unwrap_or_default().to_owned(),
                shape: shape.clone(),
            };
            Ok(Compiled { call: Arc::new(call), when: when.transpose()? })
        };
        let all = table.triggers.iter().map(compiled).collect::<Result<_>>()?;
        Ok(TableTriggers { table: table.clone(), all })
    }

    fn chosen<'t>(
        &'t self,
        event: TriggerEvent,
        (before, per_row): (bool, bool),
        assigned: &'t [usize],
    ) -> impl Iterator<Item = &'t Compiled> {
        let is_assigned = move |trigger: &Trigger| {
            trigger.columns.is_empty()
                || event != TriggerEvent::Update
                || assigned.iter().any(|column| trigger.columns.contains(&self.table.columns[*column].number))
        };
        let all = self.all.iter();
        all.filter(move |Compiled { call, .. }| {
            call.trigger.is_for(event, before, per_row) && is_assigned(&call.trigger)
        })
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

    /// BEFORE ROW: what the row becomes; `None`: nothing happens to it.
    pub(super) fn before_row(
        &self,
        event: TriggerEvent,
        old: Option<Vec<Value>>,
        mut new: Option<Vec<Value>>,
        assigned: &[usize],
        running: &mut Running<'_>,
    ) -> Result<Option<Vec<Value>>> {
        for compiled in self.chosen(event, (true, true), assigned) {
            if !self.holds(compiled, (old.as_deref(), new.as_deref()), running.context)? {
                continue;
            }
            let firing = Firing { event, old: old.clone(), new: new.take() };
            match (running.fire(&compiled.call, firing)?, event) {
                (None, _) => return Ok(None),
                // What is deleted is what was there.
                (Some(_), TriggerEvent::Delete) => {}
                (given, _) => new = given,
            }
        }
        Ok(if event == TriggerEvent::Delete { old } else { new })
    }

    /// BEFORE or AFTER, for a statement.
    pub(crate) fn statement(
        &self,
        event: TriggerEvent,
        before: bool,
        assigned: &[usize],
        running: &mut Running<'_>,
    ) -> Result<()> {
        for compiled in self.chosen(event, (before, false), assigned) {
            if self.holds(compiled, (None, None), running.context)? {
                running.fire(&compiled.call, Firing { event, old: None, new: None })?;
            }
        }
        Ok(())
    }

    /// A row that AFTER ROW triggers are to see, if there are such.
    pub(super) fn after(
        self: &Arc<Self>,
        event: TriggerEvent,
        old: Option<Vec<Value>>,
        new: Option<Vec<Value>>,
        assigned: &Arc<[usize]>,
    ) -> Option<Changed> {
        self.chosen(event, (false, true), assigned).next()?;
        Some(Changed { triggers: self.clone(), event, old, new, assigned: assigned.clone() })
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
        let mut chosen = triggers.chosen(event, (false, true), &assigned).peekable();
        let (mut old, mut new) = (old, new);
        while let Some(compiled) = chosen.next() {
            if !triggers.holds(compiled, (old.as_deref(), new.as_deref()), running.context)? {
                continue;
            }
            let (old, new) = match chosen.peek() {
                Some(_) => (old.clone(), new.clone()),
                None => (old.take(), new.take()),
            };
            running.fire(&compiled.call, Firing { event, old, new })?;
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
    Error::new(SqlState("27000"), message)
        .with_hint("Consider using an AFTER trigger instead of a BEFORE trigger to propagate changes to other rows.")
}
