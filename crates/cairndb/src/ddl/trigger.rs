//! CREATE TRIGGER, DROP TRIGGER, ALTER TRIGGER; ENABLE and DISABLE TRIGGER.

use std::sync::Arc;

use super::context::Ddl;
use super::dependency::Object;
use super::names::{missing, plural};
use crate::bind::{resolve_when, view_face};
use crate::catalog::{
    Enabled, KnownColumn, ObjectId, ObjectName, Relation, RelationKind, Returns, Routine, Table, Timing, Trigger,
    TriggerEvent, Triggered, View,
};
use crate::command::{CreateTrigger, DropTrigger, RenameTrigger, Transition};
use crate::plan::{Expr, expr_children};
use crate::{Error, Result, SqlState};

impl Ddl<'_> {
    pub(super) fn create_trigger(&mut self, create: &CreateTrigger) -> Result<&'static str> {
        let table = match self.relation(&create.table)? {
            Some(Relation::Table(table)) if !table.is_materialized() => table.clone(),
            Some(Relation::View(view)) => view_face(view, &self.catalog)?,
            Some(other) => {
                let message = format!("relation \"{}\" cannot have triggers", create.table.name);
                let detail = format!("This operation is not supported for {}.", plural(other.kind()));
                return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).with_detail(detail));
            }
            None => return Err(self.catalog.no_relation(&create.table)),
        };
        check_kind(create, &table)?;
        let columns = create.columns.iter().map(|name| number_of(&table, name)).collect::<Result<Vec<u32>>>()?;
        for (at, number) in columns.iter().enumerate() {
            if columns[..at].contains(number) {
                return Err(Error::repeated_column(&create.columns[at]));
            }
        }
        let (old_table, new_table) = transition_tables(create)?;
        let routine = self.trigger_function(create)?;
        let (when, known) = self.when(create, &table)?;
        let existing = table.triggers.iter().position(|trigger| trigger.name == create.name);
        if existing.is_some() && !create.or_replace {
            return Err(Error::existing_trigger(&create.name, &table.name));
        }
        if existing.is_some_and(|at| table.triggers[at].deferral.is_some()) {
            let message =
                format!("trigger \"{}\" for relation \"{}\" is a constraint trigger", create.name, table.name);
            return Err(Error::new(SqlState::DUPLICATE_OBJECT, message));
        }
        let mut triggers = table.triggers.clone();
        let id = match existing {
            Some(at) => triggers.remove(at).id,
            None => self.store.allocate_id(table.schema)?,
        };
        triggers.push(Arc::new(Trigger {
            id,
            name: create.name.clone(),
            routine: routine.id,
            timing: create.timing,
            per_row: create.per_row,
            events: create.events.clone(),
            columns,
            when,
            known,
            args: create.args.clone(),
            enabled: Enabled::Yes,
            old_table,
            new_table,
            deferral: create.deferral,
        }));
        self.put_triggers(table.id, triggers)?;
        self.reload()?;
        Ok("CREATE TRIGGER")
    }

    /// The triggers of a table or a view are these from now on.
    fn put_triggers(&mut self, on: ObjectId, mut triggers: Vec<Arc<Trigger>>) -> Result<()> {
        triggers.sort_by(|a, b| a.name.cmp(&b.name));
        match self.catalog.view_by_id(on).cloned() {
            Some(view) => self.store.put_view(&View { triggers, ..View::clone(&view) }),
            None => self.store.put_table(&Table { triggers, ..Table::clone(&*self.table_of(on)?) }),
        }
    }

    /// What triggers are dropped from, or are renamed of; `None`: nothing of the name has any.
    fn triggered(&self, name: &ObjectName) -> Result<Option<Triggered<'_>>> {
        let found = self.relation(name)?.and_then(Triggered::of);
        Ok(found)
    }

    fn trigger_function(&self, create: &CreateTrigger) -> Result<Arc<Routine>> {
        let name = &create.function;
        let schemas = match &name.schema {
            Some(schema) => self.catalog.schema(schema).into_iter().collect(),
            None => self.catalog.searched().to_vec(),
        };
        let mut all = schemas.into_iter().flat_map(|schema| self.routines_named(schema, &name.name));
        let found = all.find(|routine| routine.inputs().next().is_none());
        let Some(routine) = found else {
            return Err(Error::new(SqlState::UNDEFINED_FUNCTION, format!("function {name}() does not exist")));
        };
        match routine.returns {
            Returns::Trigger => Ok(routine),
            _ => {
                let message = format!("function {name} must return type trigger");
                Err(Error::new(SqlState::INVALID_OBJECT_DEFINITION, message))
            }
        }
    }

    /// The condition's text, and the columns that it knows.
    fn when(&self, create: &CreateTrigger, table: &Arc<Table>) -> Result<(Option<String>, Vec<KnownColumn>)> {
        let Some(when) = create.when else { return Ok((None, vec![])) };
        let text = self.text(when);
        let known = |column: &crate::catalog::Column| KnownColumn {
            number: column.number,
            name: column.name.clone(),
            used: false,
        };
        let mut columns: Vec<KnownColumn> = table.columns.iter().map(known).collect();
        let (text, bound) = resolve_when(text, &columns, table, (&self.catalog, self.maker()))?;
        let width = table.columns.len();
        let mut uses = Vec::new();
        collect(&bound, &mut uses);
        let refuse = |message: &str| Err(Error::new(SqlState::INVALID_OBJECT_DEFINITION, message));
        if !create.per_row && !uses.is_empty() {
            return refuse("statement trigger's WHEN condition cannot reference column values");
        }
        let of_old = uses.iter().any(|index| *index >= width);
        let of_new = uses.iter().any(|index| *index < width);
        if of_old && create.events.contains(&TriggerEvent::Insert) {
            return refuse("INSERT trigger's WHEN condition cannot reference OLD values");
        }
        if of_new && create.events.contains(&TriggerEvent::Delete) {
            return refuse("DELETE trigger's WHEN condition cannot reference NEW values");
        }
        let generated = uses.iter().filter_map(|index| table.columns.get(*index)).find(|of| of.generated.is_some());
        if let (Timing::Before, Some(column)) = (create.timing, generated) {
            let message = "BEFORE trigger's WHEN condition cannot reference NEW generated columns";
            let detail = format!("Column \"{}\" is a generated column.", column.name);
            return Err(Error::new(SqlState::INVALID_OBJECT_DEFINITION, message).with_detail(detail));
        }
        uses.iter().for_each(|index| columns[index % width].used = true);
        Ok((Some(text), columns))
    }

    pub(super) fn drop_trigger(&mut self, drop: &DropTrigger) -> Result<&'static str> {
        let Some(on) = self.triggered(&drop.table)? else {
            if drop.if_exists {
                let message = format!("relation \"{}\" does not exist, skipping", drop.table);
                self.notice(SqlState::SUCCESSFUL_COMPLETION, message);
                return Ok("DROP TRIGGER");
            }
            return Err(self.catalog.no_relation(&drop.table));
        };
        let found = on.triggers().iter().find(|trigger| trigger.name == drop.name);
        match found.map(|trigger| Object::Trigger(on.id(), trigger.id)) {
            Some(trigger) => self.drop_objects(&[trigger], drop.cascade)?,
            None if drop.if_exists => {
                let message =
                    format!("trigger \"{}\" for relation \"{}\" does not exist, skipping", drop.name, drop.table);
                self.notice(SqlState::SUCCESSFUL_COMPLETION, message);
            }
            None => return Err(no_trigger(&drop.name, on.name())),
        }
        Ok("DROP TRIGGER")
    }

    /// The trigger of this name.
    pub(super) fn trigger_named(&self, on: &ObjectName, name: &str) -> Result<ObjectId> {
        let on = self.triggered(on)?.ok_or_else(|| self.catalog.no_relation(on))?;
        let found = on.triggers().iter().find(|trigger| trigger.name == name);
        found.map(|trigger| trigger.id).ok_or_else(|| no_trigger(name, on.name()))
    }

    pub(super) fn rename_trigger(&mut self, rename: &RenameTrigger) -> Result<&'static str> {
        let Some(on) = self.triggered(&rename.table)? else {
            return Err(missing(&self.catalog, &rename.table, RelationKind::Table));
        };
        let mut triggers = on.triggers().to_vec();
        if triggers.iter().any(|trigger| trigger.name == rename.to) {
            return Err(Error::existing_trigger(&rename.to, on.name()));
        }
        let trigger = triggers.iter_mut().find(|trigger| trigger.name == rename.name);
        let trigger = trigger.ok_or_else(|| no_trigger(&rename.name, on.name()))?;
        Arc::make_mut(trigger).name.clone_from(&rename.to);
        let id = on.id();
        self.put_triggers(id, triggers)?;
        self.reload()?;
        Ok("ALTER TRIGGER")
    }

    /// ENABLE and DISABLE TRIGGER; `None`: all.
    pub(super) fn enable_trigger(&mut self, table: &Arc<Table>, name: Option<&str>, enabled: Enabled) -> Result<()> {
        let mut new = Table::clone(table);
        let mut found = name.is_none();
        for trigger in new.triggers.iter_mut().filter(|trigger| name.is_none_or(|name| trigger.name == name)) {
            Arc::make_mut(trigger).enabled = enabled;
            found = true;
        }
        if let (false, Some(name)) = (found, name) {
            return Err(no_trigger(name, &table.name));
        }
        self.store.put_table(&new)?;
        self.reload()
    }
}

/// Whether a table, or a view, may have a trigger of this kind. SQLSTATE 42809, 0A000.
fn check_kind(create: &CreateTrigger, on: &Table) -> Result<()> {
    let of_wrong_kind = |detail: &str| {
        let message = format!("\"{}\" is a {}", on.name, if on.is_face() { "view" } else { "table" });
        Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).with_detail(detail))
    };
    let unsupported = |message: &str| Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    let is_instead = create.timing == Timing::InsteadOf;
    match () {
        () if is_instead && !on.is_face() => of_wrong_kind("Tables cannot have INSTEAD OF triggers."),
        () if on.is_face() && create.per_row && !is_instead => {
            of_wrong_kind("Views cannot have row-level BEFORE or AFTER triggers.")
        }
        () if on.is_face() && create.events.contains(&TriggerEvent::Truncate) => {
            of_wrong_kind("Views cannot have TRUNCATE triggers.")
        }
        () if create.per_row && create.events.contains(&TriggerEvent::Truncate) => {
            unsupported("TRUNCATE FOR EACH ROW triggers are not supported")
        }
        () if is_instead && !create.per_row => unsupported("INSTEAD OF triggers must be FOR EACH ROW"),
        () if is_instead && create.when.is_some() => unsupported("INSTEAD OF triggers cannot have WHEN conditions"),
        () if is_instead && !create.columns.is_empty() => unsupported("INSTEAD OF triggers cannot have column lists"),
        () if on.is_face() && create.transitions.iter().any(|of| of.is_table) => {
            of_wrong_kind("Triggers on views cannot have transition tables.")
        }
        () => Ok(()),
    }
}

/// What REFERENCING calls the rows as they were and as they are. SQLSTATE 0A000, 42P17.
fn transition_tables(create: &CreateTrigger) -> Result<(Option<String>, Option<String>)> {
    let (mut old, mut new) = (None, None);
    let unsupported = |message: &str| Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    let wrong = |message: &str| Err(Error::new(SqlState::INVALID_OBJECT_DEFINITION, message));
    for Transition { is_table, is_new, name } in &create.transitions {
        let is_for = |events: [TriggerEvent; 2]| create.events.iter().any(|event| events.contains(event));
        match () {
            () if !is_table => {
                let message = "ROW variable naming in the REFERENCING clause is not supported";
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
                    .with_hint("Use OLD TABLE or NEW TABLE for naming transition tables."));
            }
            () if create.timing != Timing::After => {
                return wrong("transition table name can only be specified for an AFTER trigger");
            }
            () if create.events.contains(&TriggerEvent::Truncate) => {
                return unsupported("TRUNCATE triggers with transition tables are not supported");
            }
            () if create.events.len() > 1 => {
                return unsupported("transition tables cannot be specified for triggers with more than one event");
            }
            () if !create.columns.is_empty() => {
                return unsupported("transition tables cannot be specified for triggers with column lists");
            }
            () if *is_new && !is_for([TriggerEvent::Insert, TriggerEvent::Update]) => {
                return wrong("NEW TABLE can only be specified for an INSERT or UPDATE trigger");
            }
            () if *is_new && new.is_some() => return wrong("NEW TABLE cannot be specified multiple times"),
            () if *is_new => new = Some(name.clone()),
            () if !is_for([TriggerEvent::Delete, TriggerEvent::Update]) => {
                return wrong("OLD TABLE can only be specified for a DELETE or UPDATE trigger");
            }
            () if old.is_some() => return wrong("OLD TABLE cannot be specified multiple times"),
            () => old = Some(name.clone()),
        }
    }
    if old.is_some() && old == new {
        return wrong("OLD TABLE name and NEW TABLE name cannot be the same");
    }
    Ok((old, new))
}

fn number_of(table: &Table, name: &str) -> Result<u32> {
    let column = table.columns.iter().find(|column| column.name == *name);
    column.map(|column| column.number).ok_or_else(|| Error::undefined_column_of(name, &table.name))
}

fn no_trigger(name: &str, on: &str) -> Error {
    let message = format!("trigger \"{name}\" for table \"{on}\" does not exist");
    Error::new(SqlState::UNDEFINED_OBJECT, message)
}

/// The columns in an expression.
fn collect(expr: &Expr, out: &mut Vec<usize>) {
    if let Expr::Column { index, .. } = expr {
        out.push(*index);
    }
    expr_children(expr).for_each(|child| collect(child, out));
}
