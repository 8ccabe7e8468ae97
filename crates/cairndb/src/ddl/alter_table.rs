//! ALTER TABLE.

use std::sync::Arc;

use super::context::Ddl;
use super::create_table::{nextval, sequence_constant};
use super::drop::Dependent;
use super::names::{Chosen, already_exists, constraint_exists, missing, missing_column};
use super::rewrite::{columns_of, rename_column, rename_table};
use crate::bind::bind_default;
use crate::catalog::{Catalog, EntryKind, Index, RelationKind, Sequence, Table, View};
use crate::command::{AlterTable, ColumnDefinition, Constraint, RenameRelation, TableAction};
use crate::exec::eval_row;
use crate::{Error, Result, SqlState, Value};

impl Ddl<'_> {
    pub(super) fn alter_table(&mut self, alter: &AlterTable) -> Result<&'static str> {
        if self.is_skipped(&alter.name, alter.if_exists) {
            return Ok("ALTER TABLE");
        }
        if let [TableAction::RenameTo(to)] = alter.actions.as_slice() {
            self.rename_relation(&alter.name, to.clone())?;
            return Ok("ALTER TABLE");
        }
        for action in &alter.actions {
            let table = self.table(&alter.name)?;
            self.alter_one(&table, action)?;
            self.reload()?;
        }
        Ok("ALTER TABLE")
    }

    /// Whether there is no relation of this name, and IF EXISTS was said.
    fn is_skipped(&mut self, name: &str, if_exists: bool) -> bool {
        let skipped = if_exists && self.catalog.relation_kind(name).is_none();
        if skipped {
            self.notice(SqlState("00000"), format!("relation \"{name}\" does not exist, skipping"));
        }
        skipped
    }

    /// ALTER INDEX, ALTER VIEW, ALTER SEQUENCE .. RENAME TO.
    pub(super) fn rename(&mut self, rename: &RenameRelation) -> Result<&'static str> {
        let tag = match rename.kind {
            RelationKind::View => "ALTER VIEW",
            RelationKind::Sequence => "ALTER SEQUENCE",
            _ => "ALTER INDEX",
        };
        if self.is_skipped(&rename.name, rename.if_exists) {
            return Ok(tag);
        }
        if self.catalog.relation_kind(&rename.name) != Some(rename.kind) {
            return Err(missing(&self.catalog, &rename.name, rename.kind));
        }
        self.rename_relation(&rename.name, rename.to.clone())?;
        Ok(tag)
    }

    fn alter_one(&mut self, table: &Arc<Table>, action: &TableAction) -> Result<()> {
        use TableAction as A;
        match action {
            A::AddConstraint(constraint) => self.add_constraint(table, constraint),
            A::AddColumn { column, if_not_exists } => self.alter_add_column(table, column, *if_not_exists),
            A::DropColumn { name, if_exists, cascade } => self.drop_column(table, name, *if_exists, *cascade),
            A::DropConstraint { name, if_exists, cascade } => self.drop_constraint(table, name, *if_exists, *cascade),
            A::RenameColumn { from, to } => self.rename_column(table, from, to.clone()),
            A::RenameConstraint { from, to } => self.rename_constraint(table, from, to.clone()),
            A::AlterColumn { name, change } => self.alter_column(table, name, change),
            A::ValidateConstraint(name) if !constraint_exists(table, name) => Err(missing_constraint(table, name)),
            A::ValidateConstraint(_) | A::Owner => Ok(()),
            A::RenameTo(_) => Err(Error::internal("RENAME TO beside something else")),
        }
    }

    fn add_constraint(&mut self, table: &Arc<Table>, constraint: &Constraint) -> Result<()> {
        let mut new = Table::clone(table);
        let mut chosen = Chosen::default();
        match constraint {
            Constraint::PrimaryKey { name, columns } => {
                self.set_primary_key(&mut new, name.clone(), columns, &mut chosen)?;
                self.rebuild_for_primary_key(table, new)
            }
            Constraint::Unique { name, columns } => {
                self.add_unique(&mut new, name.clone(), columns, &mut chosen)?;
                if let Some(index) = new.indexes.last() {
                    self.build_index(table, index)?;
                }
                self.store.put_table(&new)
            }
            Constraint::Check { name, condition } => {
                self.add_check(&mut new, name.clone(), *condition)?;
                self.verify_last_check(&new)?;
                self.store.put_table(&new)
            }
            Constraint::ForeignKey { name, columns, references } => {
                self.add_foreign_key(&mut new, name.clone(), columns, references)?;
                self.store.put_table(&new)?;
                self.reload()?;
                self.verify_last_foreign_key(&new.name)
            }
        }
    }

    /// Rows are keyed by the primary key: all move.
    fn rebuild_for_primary_key(&mut self, old: &Table, new: Table) -> Result<()> {
        for &column in &new.primary_key {
            self.verify_not_null(old, column)?;
        }
        self.rewrite_table(old, new, Ok)
    }

    fn alter_add_column(
        &mut self,
        table: &Arc<Table>,
        definition: &ColumnDefinition,
        if_not_exists: bool,
    ) -> Result<()> {
        let name = &definition.name;
        if table.column_position(name).is_some() {
            let message = format!("column \"{name}\" of relation \"{}\" already exists", table.name);
            if !if_not_exists {
                return Err(Error::new(SqlState::DUPLICATE_COLUMN, message));
            }
            self.notice(SqlState::DUPLICATE_COLUMN, format!("{message}, skipping"));
            return Ok(());
        }
        let mut new = Table::clone(table);
        let mut chosen = Chosen::default();
        self.add_column(&mut new, definition, &mut chosen)?;
        self.reload()?;
        self.fill_column(table, new)?;
        for constraint in &definition.constraints {
            let table = self.table(&table.name)?;
            self.add_constraint(&table, constraint)?;
            self.reload()?;
        }
        Ok(())
    }

    /// Gives every row the new last column, with its default (evaluated per row where it is a sequence's value).
    fn fill_column(&mut self, old: &Table, new: Table) -> Result<()> {
        let Some(column) = new.columns.last().cloned() else { return Ok(()) };
        let default = match (&column.default, column.identity) {
            (Some(default), _) => Some(bind_default(default, column.data_type, &self.catalog)?),
            (None, Some(identity)) => {
                let sequence = self.catalog.sequence_by_id(identity.sequence);
                let sequence = sequence.ok_or_else(|| Error::internal("a sequence is missing"))?;
                Some(bind_default(&nextval(&sequence.name), column.data_type, &self.catalog)?)
            }
            (None, None) => None,
        };
        let exec = self.exec_with_new_sequences();
        let table_name = new.name.clone();
        self.rewrite_table(old, new, |mut row| {
            let value = default.as_ref().map_or(Ok(Value::Null), |default| eval_row(default, &[], &exec))?;
            if value.is_null() && column.not_null {
                let message = format!("column \"{}\" of relation \"{table_name}\" contains null values", column.name);
                return Err(Error::new(SqlState::NOT_NULL_VIOLATION, message));
            }
            row.push(value);
            Ok(row)
        })
    }

    fn drop_column(&mut self, table: &Arc<Table>, name: &str, if_exists: bool, cascade: bool) -> Result<()> {
        let Some(position) = table.column_position(name) else {
            let error = missing_column(table, name);
            if !if_exists {
                return Err(error);
            }
            self.notice(SqlState("00000"), format!("{}, skipping", error.message()));
            return Ok(());
        };
        let mut new = without_column(table, position);
        new.checks.retain(|check| !columns_of(&check.condition).contains(&name.to_string()));
        let part = format!("{name} of table {}", table.name);
        let mut dependents = Vec::new();
        for &(child, at) in &table.referenced_by {
            let child = self.catalog.table_by_id(child).ok_or_else(|| Error::internal("a table is missing"))?;
            let key = &child.foreign_keys[at];
            if key.referenced_columns.contains(&position) && child.id != table.id {
                dependents.push(Dependent::constraint(&key.name, child, "column", &part));
            }
        }
        let mut without = Catalog::clone(&self.catalog);
        without.tables.insert(new.name.clone(), Arc::new(new.clone()));
        let views = self.broken_views(&without, std::slice::from_ref(&new.name));
        dependents.extend(views.iter().map(|view| Dependent::view(view, "column", &part)));
        self.settle_part(&dependents, cascade, "column", &part)?;
        self.remove_views(&views)?;
        self.move_references(table, position)?;
        for sequence in self.owned_sequences(table.id, None) {
            self.move_sequence(&sequence, position)?;
        }
        self.rewrite_table(table, new, |mut row| {
            row.remove(position);
            Ok(row)
        })
    }

    /// Other tables' foreign keys lose those that point at the column, and count the others' columns anew.
    fn move_references(&mut self, table: &Table, position: usize) -> Result<()> {
        for child in self.catalog.tables.values().filter(|child| child.id != table.id) {
            if child.foreign_keys.iter().all(|key| key.referenced_table != table.id) {
                continue;
            }
            let mut child = Table::clone(child);
            child
                .foreign_keys
                .retain(|key| key.referenced_table != table.id || !key.referenced_columns.contains(&position));
            for key in child.foreign_keys.iter_mut().filter(|key| key.referenced_table == table.id) {
                key.referenced_columns.iter_mut().for_each(|column| *column -= usize::from(*column > position));
            }
            self.store.put_table(&child)?;
        }
        Ok(())
    }

    fn move_sequence(&mut self, sequence: &Sequence, position: usize) -> Result<()> {
        match sequence.owner {
            Some((_, at)) if at == position => self.store.delete(EntryKind::Sequence, sequence.id),
            Some((table, at)) if at > position => {
                self.store.put_sequence(&Sequence { owner: Some((table, at - 1)), ..sequence.clone() })
            }
            _ => Ok(()),
        }
    }

    fn rename_relation(&mut self, name: &str, to: String) -> Result<()> {
        if self.catalog.relation_kind(&to).is_some() {
            return Err(already_exists(&to));
        }
        match self.catalog.relation_kind(name) {
            Some(RelationKind::Table) => {
                let table = self.table(name)?;
                let mut renamed = Table { name: to, ..Table::clone(&table) };
                for check in &mut renamed.checks {
                    check.condition = rename_table(&check.condition, name, &renamed.name);
                }
                self.store.put_table(&renamed)?;
            }
            Some(RelationKind::View) => {
                if let Some(view) = self.catalog.view(name) {
                    self.store.put_view(&View { name: to, ..View::clone(view) })?;
                }
            }
            Some(RelationKind::Sequence) => {
                if let Some(sequence) = self.catalog.sequence(name) {
                    let sequence = Sequence { name: to, ..Sequence::clone(sequence) };
                    self.rename_in_default(&sequence, name)?;
                    self.store.put_sequence(&sequence)?;
                }
            }
            Some(RelationKind::Index) => self.rename_index(name, to)?,
            None => return Err(missing(&self.catalog, name, RelationKind::Table)),
        }
        self.refuse_broken_views("renaming a relation")
    }

    /// The default of the column that owns a sequence names it in a string.
    fn rename_in_default(&mut self, sequence: &Sequence, old: &str) -> Result<()> {
        let Some((table, column)) = sequence.owner else { return Ok(()) };
        let Some(table) = self.catalog.table_by_id(table) else { return Ok(()) };
        let mut table = Table::clone(table);
        if let Some(default) = table.columns.get_mut(column).and_then(|column| column.default.as_mut()) {
            *default = default.replace(&sequence_constant(old), &sequence_constant(&sequence.name));
        }
        self.store.put_table(&table)
    }

    pub(super) fn rename_index(&mut self, name: &str, to: String) -> Result<()> {
        if self.catalog.relation_kind(&to).is_some() {
            return Err(already_exists(&to));
        }
        let owns = |table: &&Arc<Table>| {
            table.primary_key_name.as_deref() == Some(name) || table.indexes.iter().any(|index| index.name == name)
        };
        let Some(table) = self.catalog.tables.values().find(owns) else {
            return Err(missing(&self.catalog, name, RelationKind::Index));
        };
        let mut table = Table::clone(table);
        if table.primary_key_name.as_deref() == Some(name) {
            table.primary_key_name = Some(to);
        } else if let Some(index) = table.indexes.iter_mut().find(|index| index.name == name) {
            *index = Arc::new(Index { name: to, ..Index::clone(index) });
        }
        self.store.put_table(&table)
    }

    fn rename_column(&mut self, table: &Arc<Table>, from: &str, to: String) -> Result<()> {
        let position = table
            .column_position(from)
            .ok_or_else(|| Error::new(SqlState::UNDEFINED_COLUMN, format!("column \"{from}\" does not exist")))?;
        if table.column_position(&to).is_some() {
            let message = format!("column \"{to}\" of relation \"{}\" already exists", table.name);
            return Err(Error::new(SqlState::DUPLICATE_COLUMN, message));
        }
        let mut new = Table::clone(table);
        for check in &mut new.checks {
            check.condition = rename_column(&check.condition, from, &to);
        }
        new.columns[position].name = to;
        self.store.put_table(&new)?;
        self.refuse_broken_views("renaming a column")?;
        super::constraints::verify_expressions(&Arc::new(new), &self.catalog)
    }

    fn rename_constraint(&mut self, table: &Arc<Table>, from: &str, to: String) -> Result<()> {
        super::constraints::refuse_duplicate(table, &to)?;
        if table.primary_key_name.as_deref() == Some(from) || table.indexes.iter().any(|index| index.name == from) {
            return self.rename_index(from, to);
        }
        let mut new = Table::clone(table);
        let checks = new.checks.iter_mut().map(|check| &mut check.name);
        let keys = new.foreign_keys.iter_mut().map(|key| &mut key.name);
        match checks.chain(keys).find(|name| *name == from) {
            Some(name) => *name = to,
            None => return Err(missing_constraint(table, from)),
        }
        self.store.put_table(&new)
    }

    fn drop_constraint(&mut self, table: &Arc<Table>, name: &str, if_exists: bool, cascade: bool) -> Result<()> {
        let mut new = Table::clone(table);
        new.checks.retain(|check| check.name != name);
        new.foreign_keys.retain(|key| key.name != name);
        if new.checks.len() < table.checks.len() || new.foreign_keys.len() < table.foreign_keys.len() {
            return self.store.put_table(&new);
        }
        if table.primary_key_name.as_deref() == Some(name) {
            self.release_key(table, &table.primary_key, name, cascade)?;
            let mut new = Table::clone(&*self.table(&table.name)?);
            new.primary_key.clear();
            new.primary_key_name = None;
            return self.rewrite_table(table, new, Ok);
        }
        if let Some(index) = table.indexes.iter().find(|index| index.constraint && index.name == name) {
            let columns: Vec<usize> = index.columns.iter().map(|part| part.column).collect();
            self.release_key(table, &columns, name, cascade)?;
            let mut new = Table::clone(&*self.table(&table.name)?);
            new.indexes.retain(|index| index.name != name);
            self.dml.tx.drop_tree(index.tree)?;
            return self.store.put_table(&new);
        }
        let error = missing_constraint(table, name);
        if !if_exists {
            return Err(error);
        }
        self.notice(SqlState("00000"), format!("{}, skipping", error.message()));
        Ok(())
    }

    /// Foreign keys that rest on a key that is to go: refused, or dropped along.
    fn release_key(&mut self, table: &Table, columns: &[usize], name: &str, cascade: bool) -> Result<()> {
        let rests = |key: &crate::catalog::ForeignKey| {
            key.referenced_table == table.id
                && key.referenced_columns.len() == columns.len()
                && key.referenced_columns.iter().all(|column| columns.contains(column))
        };
        let mut dependents = Vec::new();
        let mut changed = Vec::new();
        for child in self.catalog.tables.values() {
            let keys = child.foreign_keys.iter().filter(|key| rests(key));
            dependents.extend(keys.map(|key| Dependent::constraint(&key.name, child, "index", name)));
            let mut kept = Table::clone(child);
            kept.foreign_keys.retain(|key| !rests(key));
            if kept.foreign_keys.len() < child.foreign_keys.len() {
                changed.push(kept);
            }
        }
        let part = format!("{name} on table {}", table.name);
        self.settle_part(&dependents, cascade, "constraint", &part)?;
        changed.iter().try_for_each(|child| self.store.put_table(child))?;
        self.reload()
    }
}

/// The table's description without one column, and without the keys and indexes that use it.
fn without_column(table: &Table, position: usize) -> Table {
    let mut new = table.clone();
    let moved = |column: usize| column - usize::from(column > position);
    new.columns.remove(position);
    if new.primary_key.contains(&position) {
        new.primary_key.clear();
        new.primary_key_name = None;
    }
    new.primary_key.iter_mut().for_each(|column| *column = moved(*column));
    new.indexes.retain(|index| index.columns.iter().all(|part| part.column != position));
    for index in &mut new.indexes {
        let mut columns = index.columns.clone();
        columns.iter_mut().for_each(|part| part.column = moved(part.column));
        *index = Arc::new(Index { columns, ..Index::clone(index) });
    }
    let own = table.id;
    new.foreign_keys.retain(|key| {
        !key.columns.contains(&position) && (key.referenced_table != own || !key.referenced_columns.contains(&position))
    });
    for key in &mut new.foreign_keys {
        key.columns.iter_mut().for_each(|column| *column = moved(*column));
        if key.referenced_table == own {
            key.referenced_columns.iter_mut().for_each(|column| *column = moved(*column));
        }
    }
    new
}

fn missing_constraint(table: &Table, name: &str) -> Error {
    let message = format!("constraint \"{name}\" of relation \"{}\" does not exist", table.name);
    Error::new(SqlState::UNDEFINED_OBJECT, message)
}
