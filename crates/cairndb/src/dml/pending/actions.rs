//! What foreign keys do when rows go away, or change, that others refer to.

use std::collections::VecDeque;
use std::sync::Arc;

use super::PendingChecks;
use super::checks::Few;
use super::references::Orphans;
use crate::bind::{Callees, bind_default};
use crate::catalog::{ForeignKey, ObjectId, ReferentialAction, Table, TriggerEvent};
use crate::dml::referencing::Found;
use crate::dml::row::{ChangeBuffers, DeleteBuffers, Env, RowChange, RowDelete, Target};
use crate::exec::{NoAnswer, Step, Turn};
use crate::plan::Expr;
use crate::types::cast;
use crate::{Error, Result, Value};

/// What is to be acted upon, in this order, and how.
#[derive(Default)]
pub(super) struct Actions {
    events: VecDeque<Event>,
    /// What is in the middle of it.
    acting: Option<Acting>,
    /// What actions do to rows of a table that refer by its foreign key at a position, to so many columns of it.
    programs: Few<(ObjectId, usize, (ReferentialAction, usize)), Arc<RowChange>>,
}

/// A row of `table` changed (`new`) or went.
struct Event {
    table: Arc<Table>,
    old: Vec<Value>,
    new: Option<Vec<Value>>,
}

/// An event that is acted upon.
struct Acting {
    event: Event,
    /// The reference that comes next, of those to the table.
    next: usize,
    cascade: Option<Cascade>,
}

/// What is done to rows that refer to what an event changed.
struct Cascade {
    action: ReferentialAction,
    child: Arc<Table>,
    position: usize,
    /// As what triggers see it, and of which columns.
    changes: TriggerEvent,
    assigned: Arc<[usize]>,
    /// Those to which it has yet to be done.
    rows: VecDeque<Found>,
}

impl Actions {
    /// A row that others may refer to was replaced, or deleted (`None`).
    pub(super) fn cause(&mut self, table: &Arc<Table>, old: Vec<Value>, new: Option<Vec<Value>>) {
        self.events.push_back(Event { table: table.clone(), old, new });
    }

    pub(super) fn are_due(&self) -> bool {
        !self.events.is_empty()
    }
}

impl PendingChecks<'_> {
    pub(super) fn act_on_events(&mut self, turn: &Turn) -> Step<()> {
        while let Some(mut acting) = self.next_event(turn)? {
            let acted = self.act(&mut acting, turn);
            if let Err(NoAnswer::NotYet) = acted {
                self.owed().actions.acting = Some(acting);
            }
            acted?;
        }
        Ok(())
    }

    fn next_event(&mut self, turn: &Turn) -> Step<Option<Acting>> {
        let context = self.context;
        let Actions { events, acting, .. } = &mut self.owed().actions;
        if let Some(acting) = acting.take() {
            return Ok(Some(acting));
        }
        if events.is_empty() {
            return Ok(None);
        }
        turn.take()?;
        context.exec.check()?;
        Ok(events.pop_front().map(|event| Acting { event, next: 0, cascade: None }))
    }

    fn act(&mut self, Acting { event, next, cascade }: &mut Acting, turn: &Turn) -> Step<()> {
        loop {
            if let Some(of) = cascade {
                while !of.rows.is_empty() {
                    turn.take()?;
                    let Some(found) = of.rows.pop_front() else { break };
                    self.cascade(of.action, event, &of.child, of.position, found)?;
                }
                self.after_statement(&of.child, of.changes, &of.assigned)?;
            }
            *cascade = None;
            let Some(&(child, position)) = event.table.referenced_by.get(*next) else { return Ok(()) };
            *next += 1;
            let child = self.table(child)?;
            let foreign_key =
                child.foreign_keys.get(position).ok_or_else(|| Error::internal("a foreign key is missing"))?;
            let old: Vec<Value> = foreign_key.referenced_columns.iter().map(|&c| event.old[c].clone()).collect();
            let unchanged = |new: &Vec<Value>| !differ(&foreign_key.referenced_columns, &event.old, new);
            if old.iter().any(Value::is_null) || event.new.as_ref().is_some_and(unchanged) {
                continue;
            }
            let action = if event.new.is_some() { foreign_key.on_update } else { foreign_key.on_delete };
            *cascade = self.begin(action, event, child, position, old)?;
        }
    }

    /// What is to be done to rows that refer, if it is more than to look whether there are such.
    fn begin(
        &mut self,
        action: ReferentialAction,
        event: &Event,
        child: &Arc<Table>,
        position: usize,
        old: Vec<Value>,
    ) -> Result<Option<Cascade>> {
        match action {
            ReferentialAction::NoAction => {
                let (parent, child) = (event.table.clone(), child.clone());
                self.owed().references.orphans.push_back(Orphans { parent, child, position, values: old });
                Ok(None)
            }
            ReferentialAction::Restrict => {
                if self.children(&event.table, child, position, &old, 1)?.is_empty() {
                    return Ok(None);
                }
                Err(self.still_referenced(&event.table, child, position, &old))
            }
            _ => {
                let (changes, assigned) = match action == ReferentialAction::Cascade && event.new.is_none() {
                    true => (TriggerEvent::Delete, Arc::default()),
                    false => {
                        (TriggerEvent::Update, Arc::from(columns_set(&child.foreign_keys[position], action, event)))
                    }
                };
                self.before_statement(child, changes, &assigned)?;
                let rows = VecDeque::from(self.children(&event.table, child, position, &old, usize::MAX)?);
                if action == ReferentialAction::SetDefault {
                    // The default may be the very key that is gone.
                    let (parent, child) = (event.table.clone(), child.clone());
                    self.owed().references.orphans.push_back(Orphans { parent, child, position, values: old });
                }
                Ok(Some(Cascade { action, child: child.clone(), position, changes, assigned, rows }))
            }
        }
    }

    fn cascade(
        &mut self,
        action: ReferentialAction,
        event: &Event,
        child: &Arc<Table>,
        position: usize,
        (key, old): Found,
    ) -> Result<()> {
        let (target, mut trees) = (self.target(child)?, self.context.tx);
        // An action is a statement of its own, which sees what the one before it has done.
        let own = match target.bound.calls {
            Callees::BuiltIn => None,
            _ => Some(self.context.exec.reading(self.context.tx.reader_of_now()?)),
        };
        let env = Env::of(own.as_ref().unwrap_or(self.context.exec));
        let mut nothing = Vec::new();
        if action == ReferentialAction::Cascade && event.new.is_none() {
            let (program, mut buffers) = (RowDelete::new(&target, None, None), DeleteBuffers::default());
            program.run(&mut trees, (&key, &old.as_slice()), env, &mut buffers, self, &mut nothing)?;
            return Ok(());
        }
        let beside = self.values_of_parent(event, child, position)?;
        let program = self.action((action, event), &target, position)?;
        let mut buffers = ChangeBuffers::default();
        program.run(&mut trees, (&key, Some(&beside.as_slice())), env, &mut buffers, self, &mut nothing)?;
        Ok(())
    }

    /// The values that the foreign key's columns get where they follow the parent's.
    fn values_of_parent(&self, event: &Event, child: &Table, position: usize) -> Result<Vec<Value>> {
        let foreign_key = &child.foreign_keys[position];
        let Some(parent) = &event.new else { return Ok(vec![]) };
        let pairs = foreign_key.columns.iter().zip(&foreign_key.referenced_columns);
        let value = |(&column, &referenced): (&usize, &usize)| {
            let (from, to) = (event.table.columns[referenced].data_type, child.columns[column].data_type);
            cast(&parent[referenced], from, to, &self.context.exec.eval)
        };
        pairs.map(value).collect()
    }

    /// What an action does to a referring row: its key's columns follow the values beside it, become NULL or their defaults.
    fn action(
        &mut self,
        (action, event): (ReferentialAction, &Event),
        target: &Arc<Target>,
        position: usize,
    ) -> Result<Arc<RowChange>> {
        let (table, catalog) = (&target.table, self.context.catalog);
        let key = &table.foreign_keys[position];
        let set = columns_set(key, action, event);
        let place = (table.id, position, (action, set.len()));
        if let Some(program) = self.owed().actions.programs.get(&place) {
            return Ok(program.clone());
        }
        let value = |(at, &column): (usize, &usize)| {
            let described = &table.columns[column];
            let data_type = described.data_type;
            let null = Expr::Literal { value: Value::Null, data_type };
            Ok::<_, Error>((
                column,
                match (action, catalog.default_of(described)) {
                    (ReferentialAction::Cascade, _) => Expr::Column { index: table.columns.len() + at, data_type },
                    (ReferentialAction::SetDefault, Some(default)) => bind_default(default, data_type, catalog)?,
                    _ => null,
                },
            ))
        };
        let columns = key.columns.iter().enumerate().filter(|(_, column)| set.contains(column));
        let assigned = columns.map(value).collect::<Result<Vec<_>>>()?;
        let program = Arc::new(RowChange::new(target, catalog, assigned, None, (None, 0)));
        self.owed().actions.programs.insert(place, program.clone());
        Ok(program)
    }
}

fn differ(columns: &[usize], old: &[Value], new: &[Value]) -> bool {
    columns.iter().any(|&column| old[column] != new[column])
}

/// The columns that an action changes in a row that refers.
fn columns_set<'k>(key: &'k ForeignKey, action: ReferentialAction, event: &Event) -> &'k [usize] {
    let some = action != ReferentialAction::Cascade && event.new.is_none() && !key.set_on_delete.is_empty();
    if some { &key.set_on_delete } else { &key.columns }
}
