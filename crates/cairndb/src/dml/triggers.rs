//! Triggers of the tables that a statement changes.
//!
//! - What there is to do is compiled once for a table and a version of the catalog ([`TableTriggers`]); a table without
//!   triggers has nothing.
//! - BEFORE ROW runs where the row program asks, and says what the row becomes. What AFTER ROW will see is put down as the
//!   row programs tell of it, those of foreign keys' actions too, and runs when the statement is done, in that order.

use std::sync::Arc;

use super::DmlContext;
use crate::bind::bind_when;
use crate::catalog::{Catalog, Routine, Table, Trigger, TriggerEvent};
use crate::exec::eval_row;
use crate::plan::Expr;
use crate::routine::{Firing, Shape};
use crate::{Error, Result, SqlState, Value};

/// The triggers of a table.
#[derive(Debug)]
pub(crate) struct TableTriggers {
    table: Arc<Table>,
    schema: String,
    /// The row of the table, as functions see it.
    shape: Arc<Shape>,
    all: Vec<Compiled>,
}

#[derive(Debug)]
struct Compiled {
    trigger: Arc<Trigger>,
    routine: Arc<Routine>,
    /// Over the columns of NEW, then those of OLD.
    when: Option<Expr>,
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
        let compiled = |trigger: &Arc<Trigger>| {
            let function = catalog.routine_by_id(trigger.routine).and_then(|function| function.routine());
            let missing = || Error::internal(format!("the function of trigger \"{}\" is missing", trigger.name));
            let when = trigger.when.as_ref().map(|when| bind_when(when, &trigger.known, table, catalog));
            Ok(Compiled {
                trigger: trigger.clone(),
                routine: function.ok_or_else(missing)?.clone(),
                when: when.transpose()?,
            })
        };
        let columns = table.columns.iter().map(|column| (column.name.clone(), column.data_type));
        Ok(TableTriggers {
            table: table.clone(),
            schema: catalog.schema_name(table.schema).unwrap_or_default().to_owned(),
            shape: Arc::new(Shape(columns.collect(), None)),
            all: table.triggers.iter().map(compiled).collect::<Result<_>>()?,
        })
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
        self.all
            .iter()
            .filter(move |compiled| compiled.trigger.is_for(event, before, per_row) && is_assigned(&compiled.trigger))
    }

    fn holds(
        &self,
        compiled: &Compiled,
        (old, new): (Option<&[Value]>, Option<&[Value]>),
        context: &DmlContext<'_>,
    ) -> Result<bool> {
        let Some(when) = &compiled.when else { return Ok(true) };
        let nothing = vec![Value::Null; self.table.columns.len()];
        let row = [new.unwrap_or(&nothing), old.unwrap_or(&nothing)].concat();
        Ok(eval_row(when, &row, context.exec)? == Value::Boolean(true))
    }

    fn fire(
        &self,
        compiled: &Compiled,
        event: TriggerEvent,
        (old, new): (Option<Vec<Value>>, Option<Vec<Value>>),
        context: &DmlContext<'_>,
    ) -> Result<Option<Vec<Value>>> {
        let eval = &context.exec.eval;
        let firing = Firing {
            routine: &compiled.routine,
            trigger: &compiled.trigger,
            table: &self.table,
            schema: &self.schema,
            shape: &self.shape,
            event,
            old,
            new,
        };
        eval.caller()?.fire(firing, eval)
    }

    /// BEFORE ROW: what the row becomes; `None`: nothing happens to it.
    pub(super) fn before_row(
        &self,
        event: TriggerEvent,
        old: Option<Vec<Value>>,
        mut new: Option<Vec<Value>>,
        assigned: &[usize],
        context: &DmlContext<'_>,
    ) -> Result<Option<Vec<Value>>> {
        for compiled in self.chosen(event, (true, true), assigned) {
            if !self.holds(compiled, (old.as_deref(), new.as_deref()), context)? {
                continue;
            }
            let row = (old.clone(), new.clone());
            match (self.fire(compiled, event, row, context)?, event) {
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
        context: &DmlContext<'_>,
    ) -> Result<()> {
        for compiled in self.chosen(event, (before, false), assigned) {
            if self.holds(compiled, (None, None), context)? {
                self.fire(compiled, event, (None, None), context)?;
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
    pub(super) fn run(self, context: &DmlContext<'_>) -> Result<()> {
        let Changed { triggers, event, old, new, assigned } = self;
        let mut chosen = triggers.chosen(event, (false, true), &assigned).peekable();
        let (mut old, mut new) = (old, new);
        while let Some(compiled) = chosen.next() {
            if !triggers.holds(compiled, (old.as_deref(), new.as_deref()), context)? {
                continue;
            }
            let row = match chosen.peek() {
                Some(_) => (old.clone(), new.clone()),
                None => (old.take(), new.take()),
            };
            triggers.fire(compiled, event, row, context)?;
        }
        Ok(())
    }
}

/// SQLSTATE 27000: a BEFORE trigger has changed the row that is to be changed.
pub(crate) fn changed_by_trigger(verb: &str) -> Error {
    let message = format!("tuple to be {verb} was already modified by an operation triggered by the current command");
    Error::new(SqlState("27000"), message)
        .with_hint("Consider using an AFTER trigger instead of a BEFORE trigger to propagate changes to other rows.")
}
