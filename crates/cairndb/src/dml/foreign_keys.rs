//! Foreign keys: checked and acted upon when a statement has written all its rows. UNIQUE and PRIMARY KEY that may wait are
//! checked then, too.
//!
//! Referenced rows that went away or changed are *events*, worked off in order; the actions they cause (CASCADE, SET
//! NULL, SET DEFAULT) write rows and so make more events, in one flat loop, however long the chain. Then the new
//! references are looked up, and last NO ACTION is enforced, so that rows of one statement may refer to each other and
//! a referenced key may be replaced. A reference to another table than the written one is looked up at once, and
//! again at the end only where it was missing.

use std::collections::VecDeque;
use std::sync::Arc;

use super::DmlContext;
use super::deferred::{Owed, What};
use super::referencing::{Found, Referring, find_rows, second_with};
use super::row::{
    ChangeBuffers, DeleteBuffers, Entries, Env, Lookup, ReferenceChecks, RowChange, RowDelete, Rules, Stop, Stored,
    Target, Trees, Violation, Wanted, converted, exists, is_padded, look_up, still_referenced,
};
use super::triggers::{Changed, ChangedRows, Running, TableTriggers, TransitionRows, has_trigger};
use crate::bind::{Callees, bind_default};
use crate::catalog::{Deferral, ForeignKey, ObjectId, ReferentialAction, Table, Timing, TriggerEvent};
use crate::columns::Batch;
use crate::plan::Expr;
use crate::types::{DataType, cast};
use crate::{Error, Result, SqlState, Value};

/// What one statement owes to foreign keys.
pub(super) struct ForeignKeys<'a> {
    context: &'a DmlContext<'a>,
    events: VecDeque<Event>,
    pending: Vec<Pending>,
    orphans: Vec<Orphans>,
    several: Vec<Several>,
    targets: Few<ObjectId, Arc<Target>>,
    /// What actions do to rows of a table that refer by its foreign key at a position, to so many columns of it.
    actions: Few<(ObjectId, usize, (ReferentialAction, usize)), Arc<RowChange>>,
    /// The last key found per foreign key: bulk inserts refer to the same row again and again.
    found: Few<(ObjectId, usize), Vec<u8>>,
    /// What AFTER triggers are to be told, in this order.
    after: Vec<After>,
    /// The tables and events whose BEFORE triggers for statements ran.
    begun: Vec<(ObjectId, TriggerEvent)>,
    running: Running<'a>,
    held: usize,
    /// Why a row could not be put down.
    refused: Option<Error>,
}

/// Values by keys, of which there are few: a statement that has none makes nothing.
struct Few<K, V>(Vec<(K, V)>);

impl<K: PartialEq, V> Few<K, V> {
    fn new() -> Few<K, V> {
        Few(Vec::new())
    }

    fn get(&self, key: &K) -> Option<&V> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, value)| value)
    }

    fn insert(&mut self, key: K, value: V) {
        self.0.push((key, value));
    }

    fn get_or_default(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        let at = self.0.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
            self.0.push((key, V::default()));
            self.0.len() - 1
        });
        &mut self.0[at].1
    }

    fn clear(&mut self) {
        self.0.clear();
    }
}

/// What AFTER triggers are told: of a row, or of a statement that is over.
enum After {
    Row(Changed),
    Rows(ChangedRows),
    Statement { triggers: Arc<TableTriggers>, table: ObjectId, event: TriggerEvent, assigned: Arc<[usize]> },
}

/// A row of `table` changed (`new`) or went.
struct Event {
    table: Arc<Table>,
    old: Vec<Value>,
    new: Option<Vec<Value>>,
}

/// The row under `key` refers by the table's foreign key at `position`, to what was not there.
struct Pending {
    target: Arc<Target>,
    position: usize,
    key: Vec<u8>,
    lookup: Lookup,
}

/// Rows that may refer to `values` that are gone, under NO ACTION.
struct Orphans {
    parent: Arc<Table>,
    child: Arc<Table>,
    position: usize,
    values: Vec<Value>,
}

/// Rows that have the same columns in the index at `index`, at present.
struct Several {
    table: Arc<Table>,
    index: usize,
    key: Vec<u8>,
}

impl ReferenceChecks for ForeignKeys<'_> {
    fn guarded(&mut self, table: &Arc<Table>, index: usize, key: &[u8]) -> Result<(), Stop> {
        let known = |several: &Several| several.table.id == table.id && several.index == index && several.key == key;
        if !self.several.last().is_some_and(known) && self.second_of(table, index, key)?.is_some() {
            self.several.push(Several { table: table.clone(), index, key: key.to_vec() });
            self.held += size_of::<Several>() + key.len();
            if self.held > self.context.exec.memory_budget {
                let error = Error::new(SqlState::OUT_OF_MEMORY, "out of memory");
                let hint =
                    "Keys that a statement gives to several rows are kept until its end: change fewer rows at once.";
                return Err(error.with_hint(hint).into());
            }
        }
        Ok(())
    }

    fn refers(&mut self, trees: &mut dyn Trees, rules: &Rules, key: &[u8], lookups: &[Lookup]) -> Result<(), Stop> {
        for (&position, lookup) in rules.references.iter().zip(lookups) {
            self.refers_by(trees, &rules.target, position, key, lookup)?;
        }
        Ok(())
    }

    fn replaced(&mut self, table: &Arc<Table>, old: Vec<Value>, new: Option<Vec<Value>>, assigned: &Arc<[usize]>) {
        if !table.triggers.is_empty() {
            let event = if new.is_some() { TriggerEvent::Update } else { TriggerEvent::Delete };
            if table.referenced_by.is_empty() {
                return self.tell(table, event, Some(old), new, assigned);
            }
            self.tell(table, event, Some(old.clone()), new.clone(), assigned);
        }
        if !table.referenced_by.is_empty() {
            self.events.push_back(Event { table: table.clone(), old, new });
        }
    }

    fn inserted(&mut self, table: &Arc<Table>, new: Vec<Value>) {
        self.tell(table, TriggerEvent::Insert, None, Some(new), &Arc::default());
    }

    fn before(
        &mut self,
        table: &Arc<Table>,
        event: TriggerEvent,
        old: Option<Vec<Value>>,
        new: Option<Vec<Value>>,
        assigned: &[usize],
    ) -> Result<Option<Vec<Value>>, Stop> {
        let triggers = TableTriggers::of(table, self.context.catalog)?;
        Ok(triggers.ask_row((event, Timing::Before), old, new, assigned, &mut self.running)?)
    }
}

impl<'a> ForeignKeys<'a> {
    pub(super) fn new(context: &'a DmlContext<'a>) -> ForeignKeys<'a> {
        ForeignKeys {
            context,
            events: VecDeque::new(),
            pending: Vec::new(),
            orphans: Vec::new(),
            several: Vec::new(),
            targets: Few::new(),
            actions: Few::new(),
            found: Few::new(),
            after: Vec::new(),
            begun: Vec::new(),
            running: Running::new(context),
            held: 0,
            refused: None,
        }
    }

    /// BEFORE triggers of a statement that is about to change rows of the table, unless another part of it did before.
    pub(super) fn before_statement(
        &mut self,
        table: &Arc<Table>,
        event: TriggerEvent,
        assigned: &[usize],
    ) -> Result<()> {
        if !has_trigger(table, event, Timing::Before, false) || self.begun.contains(&(table.id, event)) {
            return Ok(());
        }
        self.begun.push((table.id, event));
        let triggers = TableTriggers::of(table, self.context.catalog)?;
        triggers.statement(event, Timing::Before, assigned, &mut self.running)
    }

    /// AFTER triggers of a statement that has changed rows of the table run behind those of its rows, once for all parts of
    /// the statement.
    pub(super) fn after_statement(
        &mut self,
        table: &Arc<Table>,
        event: TriggerEvent,
        assigned: &Arc<[usize]>,
    ) -> Result<()> {
        if has_trigger(table, event, Timing::After, false) {
            let triggers = TableTriggers::of(table, self.context.catalog)?;
            self.after.retain(|after| match after {
                After::Statement { table: of, event: known, .. } => (*of, *known) != (table.id, event),
                After::Row(_) | After::Rows(_) => true,
            });
            let assigned = assigned.clone();
            self.after.push(After::Statement { triggers, table: table.id, event, assigned });
        }
        Ok(())
    }

    /// INSTEAD OF triggers: the row that they have made, or deleted; `None`: nothing was done.
    pub(super) fn instead(
        &mut self,
        triggers: &TableTriggers,
        event: TriggerEvent,
        old: Option<Vec<Value>>,
        new: Option<Vec<Value>>,
    ) -> Result<Option<Vec<Value>>> {
        triggers.ask_row((event, Timing::InsteadOf), old, new, &[], &mut self.running)
    }

    /// A row that AFTER triggers are to see.
    fn tell(
        &mut self,
        table: &Arc<Table>,
        event: TriggerEvent,
        old: Option<Vec<Value>>,
        new: Option<Vec<Value>>,
        assigned: &Arc<[usize]>,
    ) {
        match self.put_down(table, event, (old, new), assigned) {
            Ok(bytes) => self.hold(bytes),
            Err(error) => self.refused = Some(error),
        }
    }

    fn hold(&mut self, bytes: usize) {
        self.held += bytes;
        if self.held > self.context.exec.memory_budget {
            let error = Error::new(SqlState::OUT_OF_MEMORY, "out of memory");
            self.refused = Some(error.with_hint("A statement with AFTER ROW triggers keeps every row until its end."));
        }
    }

    /// Rows to which nothing refers were replaced: AFTER ROW triggers are to see them, one after the other, but none that
    /// sees all rows.
    pub(super) fn replaced_rows(
        &mut self,
        table: &Arc<Table>,
        old: Batch,
        new: Batch,
        assigned: &Arc<[usize]>,
    ) -> Result<()> {
        let triggers = TableTriggers::of(table, self.context.catalog)?;
        if let Some(changed) = triggers.after_rows(old, new, assigned) {
            self.hold(changed.memory_bytes());
            self.after.push(After::Rows(changed));
        }
        Ok(())
    }

    /// Looks at what an INSERT owes, unless that is nothing, as if it were over: another one follows.
    pub(super) fn settle_insert(&mut self) -> Result<()> {
        if self.pending.is_empty() && self.several.is_empty() {
            return Ok(());
        }
        self.settle_keys()
    }

    /// Keeps a row for the triggers that are to see it; the bytes that it takes.
    fn put_down(
        &mut self,
        table: &Arc<Table>,
        event: TriggerEvent,
        (mut old, mut new): (Option<Vec<Value>>, Option<Vec<Value>>),
        assigned: &Arc<[usize]>,
    ) -> Result<usize> {
        let triggers = TableTriggers::of(table, self.context.catalog)?;
        triggers.fill(old.iter_mut().chain(&mut new), self.context)?;
        let mut bytes = 0;
        if triggers.sees_tables(event) {
            let all = &mut self.running.rows;
            let at = all.iter().position(|rows| rows.are_of(table.id, event)).unwrap_or_else(|| {
                all.push(TransitionRows::new(table.id, event));
                all.len() - 1
            });
            bytes += all[at].add(triggers.shape(), old.as_deref(), new.as_deref())?;
        }
        if let Some(changed) = triggers.after(event, old, new, assigned) {
            bytes += changed.memory_bytes();
            self.after.push(After::Row(changed));
        }
        Ok(bytes)
    }

    /// Acts on every event, then checks what is left; then AFTER triggers run.
    pub(super) fn finish(mut self) -> Result<()> {
        // The rows of foreign keys' actions come behind the statement's own.
        self.settle_keys()?;
        if let Some(refused) = self.refused.take() {
            return Err(refused);
        }
        for after in std::mem::take(&mut self.after) {
            self.context.exec.check()?;
            match after {
                After::Row(changed) => changed.run(&mut self.running)?,
                After::Rows(changed) => changed.run(&mut self.running)?,
                After::Statement { triggers, event, assigned, .. } => {
                    triggers.statement(event, Timing::After, &assigned, &mut self.running)?;
                }
            }
        }
        Ok(())
    }

    fn settle_keys(&mut self) -> Result<()> {
        self.found.clear();
        while let Some(event) = self.events.pop_front() {
            self.context.exec.check()?;
            self.act(&event)?;
        }
        for Several { table, index: at, key } in std::mem::take(&mut self.several) {
            if let Some(error) = self.what_is_double(&table, at, &key)? {
                let index = &table.indexes[at];
                self.settle(error, table.id, (index.id, index.deferral), || What::Several(key))?;
            }
        }
        for pending in std::mem::take(&mut self.pending) {
            if let Some(error) = self.what_is_missing(&pending)? {
                let Pending { target, position, key, .. } = pending;
                let foreign_key = &target.table.foreign_keys[position];
                let constraint = (foreign_key.id, foreign_key.deferral);
                self.settle(error, target.table.id, constraint, || What::Reference(key))?;
            }
        }
        for orphans in std::mem::take(&mut self.orphans) {
            if let Some(error) = self.who_is_orphaned(&orphans)? {
                let Orphans { child, position, values, .. } = orphans;
                let foreign_key = &child.foreign_keys[position];
                let constraint = (foreign_key.id, foreign_key.deferral);
                self.settle(error, child.id, constraint, || What::Orphans(values))?;
            }
        }
        Ok(())
    }

    /// The error, unless the constraint of the table is looked at when the transaction commits.
    fn settle(
        &self,
        error: Error,
        table: ObjectId,
        (key, deferral): (ObjectId, Deferral),
        what: impl FnOnce() -> What,
    ) -> Result<()> {
        match self.context.deferred.filter(|deferred| deferred.waits(key, deferral)) {
            Some(deferred) => {
                deferred.owe(Owed { table, key, what: what() });
                Ok(())
            }
            None => Err(error),
        }
    }

    /// What a statement before has put off, to be looked at now. A constraint that is gone asks nothing any more.
    pub(super) fn take(&mut self, owed: Owed) -> Result<()> {
        let Some(child) = self.context.catalog.table_by_id(owed.table) else { return Ok(()) };
        if let What::Several(key) = owed.what {
            let index = child.indexes.iter().position(|index| index.id == owed.key);
            self.several.extend(index.map(|index| Several { table: child.clone(), index, key }));
            return Ok(());
        }
        let Some(position) = child.foreign_keys.iter().position(|key| key.id == owed.key) else { return Ok(()) };
        match owed.what {
            What::Several(_) => {}
            What::Reference(key) => {
                let (target, lookup) = (self.target(child)?, Lookup::default());
                self.pending.push(Pending { target, position, key, lookup });
            }
            What::Orphans(values) => {
                let parent = self.table(child.foreign_keys[position].referenced_table)?.clone();
                self.orphans.push(Orphans { parent, child: child.clone(), position, values });
            }
        }
        Ok(())
    }

    fn refers_by(
        &mut self,
        trees: &mut dyn Trees,
        target: &Arc<Target>,
        position: usize,
        key: &[u8],
        lookup: &Lookup,
    ) -> Result<(), Stop> {
        let place = (target.table.id, position);
        if lookup.wanted == Wanted::No || self.found.get(&place) == Some(&lookup.key) {
            return Ok(());
        }
        let foreign_key = &target.table.foreign_keys[position];
        let is_open = foreign_key.referenced_table == target.table.id || !self.events.is_empty();
        // What is missing is said at the end of the statement: a duplicate key that comes later in it is said first.
        if is_open || !target.references[position].is_kept(trees, lookup)? {
            let (target, key, lookup) = (target.clone(), key.to_vec(), lookup.clone());
            self.pending.push(Pending { target, position, key, lookup });
            return Ok(());
        }
        self.found.get_or_default(place).clone_from(&lookup.key);
        Ok(())
    }

    fn table(&self, id: ObjectId) -> Result<&'a Arc<Table>> {
        self.context.catalog.table_by_id(id).ok_or_else(|| Error::internal("a foreign key's table is missing"))
    }

    fn target(&mut self, table: &Arc<Table>) -> Result<Arc<Target>> {
        if let Some(target) = self.targets.get(&table.id) {
            return Ok(target.clone());
        }
        let target = Target::of(table, self.context.catalog)?;
        self.targets.insert(table.id, target.clone());
        Ok(target)
    }

    /// Values of one side's types as the other side's; `None`: the other side cannot have such a value.
    fn convert(&self, values: &[Value], from: &[DataType], to: &[DataType]) -> Option<Vec<Value>> {
        let pairs = values.iter().zip(from.iter().zip(to));
        pairs.map(|(value, (&from, &to))| converted(value, from, to, &self.context.exec.eval)).collect()
    }

    /// The rows of the child that refer to the parent's old values.
    fn children(
        &mut self,
        parent: &Table,
        child: &Arc<Table>,
        position: usize,
        old: &[Value],
        limit: usize,
    ) -> Result<Vec<Found>> {
        let foreign_key = &child.foreign_keys[position];
        let from = parent.types_of(&foreign_key.referenced_columns);
        let to = child.types_of(&foreign_key.columns);
        let Some(values) = self.convert(old, &from, &to) else { return Ok(Vec::new()) };
        let target = self.target(child)?;
        // Their keys have blanks that do not count.
        let padded = |(&from, &to): (&DataType, &DataType)| !matches!(to, DataType::Char(_)) && is_padded(to, from);
        let padded = from.iter().zip(&to).map(padded).collect();
        let wanted = Referring { columns: &foreign_key.columns, values: &values, padded };
        find_rows(&target, &wanted, self.context.tx.reader(), limit)
    }

    fn act(&mut self, event: &Event) -> Result<()> {
        for &(child, position) in &event.table.referenced_by {
            let child = self.table(child)?;
            let foreign_key =
                child.foreign_keys.get(position).ok_or_else(|| Error::internal("a foreign key is missing"))?;
            let old: Vec<Value> = foreign_key.referenced_columns.iter().map(|&c| event.old[c].clone()).collect();
            let unchanged = |new: &Vec<Value>| !differ(&foreign_key.referenced_columns, &event.old, new);
            if old.iter().any(Value::is_null) || event.new.as_ref().is_some_and(unchanged) {
                continue;
            }
            let action = if event.new.is_some() { foreign_key.on_update } else { foreign_key.on_delete };
            self.apply(action, event, child, position, old)?;
        }
        Ok(())
    }

    fn apply(
        &mut self,
        action: ReferentialAction,
        event: &Event,
        child: &Arc<Table>,
        position: usize,
        old: Vec<Value>,
    ) -> Result<()> {
        match action {
            ReferentialAction::NoAction => {
                let (parent, child) = (event.table.clone(), child.clone());
                self.orphans.push(Orphans { parent, child, position, values: old });
                Ok(())
            }
            ReferentialAction::Restrict => {
                if self.children(&event.table, child, position, &old, 1)?.is_empty() {
                    return Ok(());
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
                let children = self.children(&event.table, child, position, &old, usize::MAX)?;
                if action == ReferentialAction::SetDefault {
                    // The default may be the very key that is gone.
                    let (parent, child) = (event.table.clone(), child.clone());
                    self.orphans.push(Orphans { parent, child, position, values: old });
                }
                children.into_iter().try_for_each(|found| self.cascade(action, event, child, position, found))?;
                self.after_statement(child, changes, &assigned)
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
        let own = match target.calls {
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
        if let Some(program) = self.actions.get(&place) {
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
        self.actions.insert(place, program.clone());
        Ok(program)
    }

    /// The key of the second row that has these columns in the index.
    fn second_of(&self, table: &Table, index: usize, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let index = table.indexes.get(index).ok_or_else(|| Error::internal("an index is missing"))?;
        second_with(table, index, key, self.context.tx.reader())
    }

    /// The error, where several rows have these columns in the index. SQLSTATE 23505.
    fn what_is_double(&self, table: &Arc<Table>, index: usize, key: &[u8]) -> Result<Option<Error>> {
        let Some(row_key) = self.second_of(table, index, key)? else { return Ok(None) };
        let row = self.context.tx.reader().get(table.tree, &row_key)?.unwrap_or_default();
        let entries = Entries::of(table, &table.indexes[index], self.context.catalog)?;
        let name = &table.indexes[index].name;
        let message = format!("duplicate key value violates unique constraint \"{name}\"");
        let detail = entries.key_detail(&row_key, &row, self.context.exec)?;
        let error = Error::new(SqlState::UNIQUE_VIOLATION, message).with_detail(format!("{detail} already exists."));
        let schema = self.context.catalog.schema_name(table.schema).unwrap_or_default();
        Ok(Some(error.with_constraint(name).with_schema(schema).with_table(&*table.name)))
    }

    /// The error, where the row refers to what is not there.
    fn what_is_missing(&self, pending: &Pending) -> Result<Option<Error>> {
        let Pending { target, position, key, lookup } = pending;
        let (reference, mut trees) = (&target.references[*position], self.context.tx);
        if lookup.wanted != Wanted::No && reference.is_kept(&mut trees, lookup)? {
            return Ok(None);
        }
        // A later action may have changed or deleted the referring row.
        let (mut value, mut current) = (Vec::new(), Lookup::default());
        if !look_up(&mut trees, target.table.tree, key, &mut value)? {
            return Ok(None);
        }
        let row = Stored { layout: &target.layout, key, value: &value };
        reference.encode(&row, &self.context.exec.eval, &mut current)?;
        match reference.is_kept(&mut trees, &current)? {
            true => Ok(None),
            false => Ok(Some(Violation::Missing(*position).worded(target, &row, Env::of(self.context.exec)))),
        }
    }

    /// The error, where rows still refer to what is gone.
    fn who_is_orphaned(&mut self, orphans: &Orphans) -> Result<Option<Error>> {
        let Orphans { parent, child, position, values } = orphans;
        let target = self.target(child)?;
        let key = target.references[*position].referenced_key(&child.foreign_keys[*position], values);
        let mut trees = self.context.tx;
        if exists(&mut trees, target.references[*position].tree, &key)?
            || self.children(parent, child, *position, values, 1)?.is_empty()
        {
            return Ok(None);
        }
        Ok(Some(self.still_referenced(parent, child, *position, values)))
    }

    fn still_referenced(&self, parent: &Table, child: &Table, position: usize, values: &[Value]) -> Error {
        let schema = self.context.catalog.schema_name(child.schema).unwrap_or_default();
        let key = &child.foreign_keys[position];
        still_referenced(parent, child, key, values, &self.context.exec.eval).with_schema(schema)
    }
}

/// Looks up every row's reference by the table's foreign key at `position`; `rows` calls back with each row.
pub(crate) fn verify_foreign_key(
    context: &DmlContext<'_>,
    target: &Arc<Target>,
    position: usize,
    rows: impl FnOnce(&mut dyn FnMut(&[u8], Vec<Value>) -> Result<()>) -> Result<()>,
) -> Result<()> {
    let (mut keys, mut lookup, mut trees) = (ForeignKeys::new(context), Lookup::default(), context.tx);
    rows(&mut |key, row| {
        target.references[position].encode(&row.as_slice(), &context.exec.eval, &mut lookup)?;
        Ok(keys.refers_by(&mut trees, target, position, key, &lookup)?)
    })?;
    keys.finish()
}

fn differ(columns: &[usize], old: &[Value], new: &[Value]) -> bool {
    columns.iter().any(|&column| old[column] != new[column])
}

/// The columns that an action changes in a row that refers.
fn columns_set<'k>(key: &'k ForeignKey, action: ReferentialAction, event: &Event) -> &'k [usize] {
    let some = action != ReferentialAction::Cascade && event.new.is_none() && !key.set_on_delete.is_empty();
    if some { &key.set_on_delete } else { &key.columns }
}
