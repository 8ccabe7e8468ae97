//! Foreign keys: checked and acted upon when a statement has written all its rows.
//!
//! Referenced rows that went away or changed are *events*, worked off in order; the actions they cause (CASCADE, SET
//! NULL, SET DEFAULT) write rows and so make more events, in one flat loop, however long the chain. Then the new
//! references are looked up, and last NO ACTION is enforced, so that rows of one statement may refer to each other and
//! a referenced key may be replaced. A reference to another table than the written one is looked up at once, and
//! again at the end only where it was missing.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::constraints::{check_row, fit_lengths, key_detail};
use super::referencing::{Found, exists, find_rows};
use super::{DmlContext, Target, Writer};
use crate::bind::bind_default;
use crate::catalog::{ForeignKey, ObjectId, ReferentialAction, Table};
use crate::exec::eval_row;
use crate::types::{DataType, cast};
use crate::{Error, Result, SqlState, Value};

/// What one statement owes to foreign keys.
pub(super) struct ForeignKeys<'a> {
    context: &'a DmlContext<'a>,
    events: VecDeque<Event>,
    references: Vec<Reference>,
    orphans: Vec<Orphans>,
    targets: HashMap<ObjectId, Arc<Target>>,
    /// The last value found per foreign key: bulk inserts refer to the same row again and again.
    found: HashMap<(ObjectId, usize), Vec<Value>>,
}

/// A row of `table` changed (`new`) or went.
struct Event {
    table: Arc<Table>,
    old: Vec<Value>,
    new: Option<Vec<Value>>,
}

/// A row that refers by the table's foreign key at `position`.
struct Reference {
    table: Arc<Table>,
    position: usize,
    key: Vec<u8>,
    values: Vec<Value>,
}

/// Rows that may refer to `values` that are gone, under NO ACTION.
struct Orphans {
    parent: Arc<Table>,
    child: Arc<Table>,
    position: usize,
    values: Vec<Value>,
}

impl<'a> ForeignKeys<'a> {
    pub(super) fn new(context: &'a DmlContext<'a>) -> ForeignKeys<'a> {
        ForeignKeys {
            context,
            events: VecDeque::new(),
            references: Vec::new(),
            orphans: Vec::new(),
            targets: HashMap::new(),
            found: HashMap::new(),
        }
    }

    pub(super) fn inserted(&mut self, table: &Arc<Table>, key: &[u8], row: &[Value]) -> Result<()> {
        for position in 0..table.foreign_keys.len() {
            self.refers(table, position, key, row)?;
        }
        Ok(())
    }

    pub(super) fn updated(&mut self, table: &Arc<Table>, key: &[u8], old: &[Value], new: &[Value]) -> Result<()> {
        for (position, foreign_key) in table.foreign_keys.iter().enumerate() {
            if differ(&foreign_key.columns, old, new) {
                self.refers(table, position, key, new)?;
            }
        }
        if !table.referenced_by.is_empty() {
            self.events.push_back(Event { table: table.clone(), old: old.to_vec(), new: Some(new.to_vec()) });
        }
        Ok(())
    }

    pub(super) fn deleted(&mut self, table: &Arc<Table>, old: &[Value]) -> Result<()> {
        if !table.referenced_by.is_empty() {
            self.events.push_back(Event { table: table.clone(), old: old.to_vec(), new: None });
        }
        Ok(())
    }

    /// Acts on every event, then checks what is left.
    pub(super) fn finish(mut self) -> Result<()> {
        self.found.clear();
        while let Some(event) = self.events.pop_front() {
            self.context.exec.check()?;
            self.act(&event)?;
        }
        for reference in std::mem::take(&mut self.references) {
            self.check_reference(&reference)?;
        }
        for orphans in std::mem::take(&mut self.orphans) {
            self.check_orphans(&orphans)?;
        }
        Ok(())
    }

    fn refers(&mut self, table: &Arc<Table>, position: usize, key: &[u8], row: &[Value]) -> Result<()> {
        let foreign_key = &table.foreign_keys[position];
        let values: Vec<Value> = foreign_key.columns.iter().map(|&column| row[column].clone()).collect();
        if values.iter().any(Value::is_null) || self.found.get(&(table.id, position)) == Some(&values) {
            return Ok(());
        }
        if foreign_key.referenced_table == table.id || !self.events.is_empty() {
            self.references.push(Reference { table: table.clone(), position, key: key.to_vec(), values });
            return Ok(());
        }
        if !self.parent_exists(table, foreign_key, &values)? {
            // Said at the end of the statement: a duplicate key that comes later in it is said first.
            self.references.push(Reference { table: table.clone(), position, key: key.to_vec(), values });
            return Ok(());
        }
        self.found.insert((table.id, position), values);
        Ok(())
    }

    fn table(&self, id: ObjectId) -> Result<&'a Arc<Table>> {
        self.context.catalog.table_by_id(id).ok_or_else(|| Error::internal("a foreign key's table is missing"))
    }

    fn target(&mut self, table: &Arc<Table>) -> Result<Arc<Target>> {
        if let Some(target) = self.targets.get(&table.id) {
            return Ok(target.clone());
        }
        let target = Arc::new(Target::new(table, self.context.catalog)?);
        self.targets.insert(table.id, target.clone());
        Ok(target)
    }

    fn parent_exists(&mut self, child: &Table, foreign_key: &ForeignKey, values: &[Value]) -> Result<bool> {
        let parent = self.table(foreign_key.referenced_table)?;
        let from = child.types_of(&foreign_key.columns);
        let to = parent.types_of(&foreign_key.referenced_columns);
        let Some(values) = self.convert(values, &from, &to) else { return Ok(false) };
        let target = self.target(parent)?;
        let reader = self.context.tx.reader();
        exists(&target, &foreign_key.referenced_columns, &values, reader)
    }

    /// Values of one side's types as the other side's; `None`: the other side cannot have such a value.
    fn convert(&self, values: &[Value], from: &[DataType], to: &[DataType]) -> Option<Vec<Value>> {
        let eval = &self.context.exec.eval;
        let pairs = values.iter().zip(from.iter().zip(to));
        pairs
            .map(|(value, (&from, &to))| {
                if from == to {
                    return Some(value.clone());
                }
                let converted = cast(value, from, to, eval).ok()?;
                // A value that the conversion rounded or cut is not there on the other side.
                (cast(&converted, to, from, eval).ok()? == *value).then_some(converted)
            })
            .collect()
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
        find_rows(&target, &foreign_key.columns, &values, self.context.tx.reader(), limit)
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
                let children = self.children(&event.table, child, position, &old, usize::MAX)?;
                if action == ReferentialAction::SetDefault {
                    // The default may be the very key that is gone.
                    let (parent, child) = (event.table.clone(), child.clone());
                    self.orphans.push(Orphans { parent, child, position, values: old });
                }
                children.into_iter().try_for_each(|found| self.cascade(action, event, child, position, found))
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
        let target = self.target(child)?;
        let mut writer = Writer::new(&target, self.context);
        let Some(new) = self.cascaded_row(action, event, &target, position, &old)? else {
            writer.delete(&key, &old)?;
            return self.deleted(child, &old);
        };
        let mut new_key = key.clone();
        if !target.layout.has_row_numbers() {
            new_key.clear();
            target.layout.encode_key(&new, &mut new_key);
        }
        writer.begin_update(&key, &old, &new_key, &new)?;
        writer.finish_update(&key, &old, &new_key, &new)?;
        self.updated(child, &new_key, &old, &new)
    }

    /// What a referencing row becomes; `None`: it is deleted.
    fn cascaded_row(
        &self,
        action: ReferentialAction,
        event: &Event,
        target: &Target,
        position: usize,
        old: &[Value],
    ) -> Result<Option<Vec<Value>>> {
        let table = &target.table;
        let foreign_key = &table.foreign_keys[position];
        let mut new = old.to_vec();
        for (&column, &referenced) in foreign_key.columns.iter().zip(&foreign_key.referenced_columns) {
            new[column] = match (action, &event.new) {
                (ReferentialAction::Cascade, None) => return Ok(None),
                (ReferentialAction::Cascade, Some(parent)) => {
                    let (from, to) = (event.table.columns[referenced].data_type, table.columns[column].data_type);
                    cast(&parent[referenced], from, to, &self.context.exec.eval)?
                }
                (ReferentialAction::SetDefault, _) => self.default_value(table, column)?,
                _ => Value::Null,
            };
        }
        fit_lengths(table, &mut new, self.context.exec)?;
        check_row(target, &new, self.context.exec)?;
        Ok(Some(new))
    }

    fn default_value(&self, table: &Table, column: usize) -> Result<Value> {
        let column = &table.columns[column];
        let Some(default) = &column.default else { return Ok(Value::Null) };
        let default = bind_default(default, column.data_type, self.context.catalog)?;
        eval_row(&default, &[], self.context.exec)
    }

    fn check_reference(&mut self, reference: &Reference) -> Result<()> {
        let foreign_key = &reference.table.foreign_keys[reference.position];
        if self.parent_exists(&reference.table, foreign_key, &reference.values)? {
            return Ok(());
        }
        // A later action may have changed or deleted the referring row.
        let target = self.target(&reference.table)?;
        let decode = |value: &[u8]| target.layout.decode(&reference.key, value);
        let current = self.context.tx.reader().get_with(reference.table.tree, &reference.key, decode)?.transpose()?;
        let still_refers = |row: &Vec<Value>| {
            foreign_key.columns.iter().zip(&reference.values).all(|(&column, value)| row[column] == *value)
        };
        match current.as_ref().is_some_and(still_refers) {
            true => Err(self.missing_parent(&reference.table, foreign_key, &reference.values)),
            false => Ok(()),
        }
    }

    fn check_orphans(&mut self, orphans: &Orphans) -> Result<()> {
        let foreign_key = &orphans.child.foreign_keys[orphans.position];
        let parent = self.target(&orphans.parent)?;
        let reader = self.context.tx.reader();
        if exists(&parent, &foreign_key.referenced_columns, &orphans.values, reader)?
            || self.children(&orphans.parent, &orphans.child, orphans.position, &orphans.values, 1)?.is_empty()
        {
            return Ok(());
        }
        Err(self.still_referenced(&orphans.parent, &orphans.child, orphans.position, &orphans.values))
    }

    fn missing_parent(&self, table: &Table, foreign_key: &ForeignKey, values: &[Value]) -> Error {
        let parent = self.table(foreign_key.referenced_table).map_or("?", |table| table.name.as_str());
        let message = format!(
            "insert or update on table \"{}\" violates foreign key constraint \"{}\"",
            table.name, foreign_key.name
        );
        let key = key_detail(table, &foreign_key.columns, values.iter(), self.context.exec);
        Error::new(SqlState::FOREIGN_KEY_VIOLATION, message)
            .with_detail(format!("{key} is not present in table \"{parent}\"."))
            .with_constraint(&foreign_key.name)
    }

    fn still_referenced(&self, parent: &Table, child: &Table, position: usize, values: &[Value]) -> Error {
        let foreign_key = &child.foreign_keys[position];
        let message = format!(
            "update or delete on table \"{}\" violates foreign key constraint \"{}\" on table \"{}\"",
            parent.name, foreign_key.name, child.name
        );
        let key = key_detail(parent, &foreign_key.referenced_columns, values.iter(), self.context.exec);
        Error::new(SqlState::FOREIGN_KEY_VIOLATION, message)
            .with_detail(format!("{key} is still referenced from table \"{}\".", child.name))
            .with_constraint(&foreign_key.name)
    }
}

/// Looks up every row's reference by the table's foreign key at `position`; `rows` calls back with each row.
pub(crate) fn verify_foreign_key(
    context: &DmlContext<'_>,
    target: &Target,
    position: usize,
    rows: impl FnOnce(&mut dyn FnMut(&[u8], Vec<Value>) -> Result<()>) -> Result<()>,
) -> Result<()> {
    let mut keys = ForeignKeys::new(context);
    rows(&mut |key, row| keys.refers(&target.table, position, key, &row))?;
    keys.finish()
}

fn differ(columns: &[usize], old: &[Value], new: &[Value]) -> bool {
    columns.iter().any(|&column| old[column] != new[column])
}
