//! DROP.

use std::sync::Arc;

use super::context::Ddl;
use super::names::{missing, noun};
use crate::catalog::{Catalog, EntryKind, ObjectId, RelationKind, Sequence, Table, delete_statistics};
use crate::command::DropRelations;
use crate::{Error, Result, SqlState};

impl Ddl<'_> {
    pub(super) fn drop(&mut self, drop: &DropRelations) -> Result<&'static str> {
        let (kind, cascade) = (drop.kind, drop.cascade);
        let mut present = Vec::new();
        for name in &drop.names {
            match self.catalog.relation_kind(name) {
                Some(found) if found == kind => present.push(name.clone()),
                None if drop.if_exists => {
                    let message = format!("{} \"{name}\" does not exist, skipping", noun(kind));
                    self.notice(SqlState("00000"), message);
                }
                None => return Err(absent(kind, name)),
                Some(_) => return Err(missing(&self.catalog, name, kind)),
            }
        }
        present.dedup();
        match kind {
            RelationKind::Table => self.drop_tables(&present, cascade)?,
            RelationKind::View => self.drop_views(&present, cascade)?,
            RelationKind::Index => present.iter().try_for_each(|name| self.drop_index(name))?,
            RelationKind::Sequence => present.iter().try_for_each(|name| self.drop_sequence(name, cascade))?,
        }
        Ok(match kind {
            RelationKind::Table => "DROP TABLE",
            RelationKind::View => "DROP VIEW",
            RelationKind::Index => "DROP INDEX",
            RelationKind::Sequence => "DROP SEQUENCE",
        })
    }

    fn drop_tables(&mut self, names: &[String], cascade: bool) -> Result<()> {
        let tables: Vec<Arc<Table>> = names.iter().map(|name| self.table(name)).collect::<Result<_>>()?;
        let dropped: Vec<ObjectId> = tables.iter().map(|table| table.id).collect();
        let mut dependents = Vec::new();
        for table in &tables {
            for &(child, position) in &table.referenced_by {
                let child = self.catalog.table_by_id(child).ok_or_else(|| Error::internal("a table is missing"))?;
                if !dropped.contains(&child.id) {
                    let key = &child.foreign_keys[position];
                    dependents.push(Dependent::constraint(&key.name, child, "table", &table.name));
                }
            }
        }
        let mut without = Catalog::clone(&self.catalog);
        names.iter().for_each(|name| drop(without.tables.remove(name)));
        let views = self.broken_views(&without, names);
        dependents.extend(views.iter().map(|view| Dependent::view(view, "table", &names.join(", "))));
        self.settle(&dependents, cascade, "table", names)?;
        self.remove_views(&views)?;
        self.remove_foreign_keys_to(&dropped)?;
        tables.iter().try_for_each(|table| self.remove_table(table))?;
        self.reload()
    }

    /// Refuses (SQLSTATE 2BP01), or says what goes along.
    fn settle(&mut self, dependents: &[Dependent], cascade: bool, kind: &str, names: &[String]) -> Result<()> {
        if dependents.is_empty() {
            return Ok(());
        }
        if !cascade {
            let lines: Vec<String> = dependents.iter().map(Dependent::line).collect();
            let message = match names {
                [name] => format!("cannot drop {kind} {name} because other objects depend on it"),
                _ => "cannot drop desired object(s) because other objects depend on them".to_string(),
            };
            return Err(Error::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message)
                .with_detail(lines.join("\n"))
                .with_hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        let text = match dependents {
            [one] => format!("drop cascades to {}", one.what),
            more => format!("drop cascades to {} other objects", more.len()),
        };
        self.notice(SqlState("00000"), text);
        Ok(())
    }

    pub(super) fn remove_views(&mut self, names: &[String]) -> Result<()> {
        for name in names {
            if let Some(view) = self.catalog.view(name) {
                self.store.delete(EntryKind::View, view.id)?;
            }
        }
        Ok(())
    }

    fn remove_foreign_keys_to(&mut self, dropped: &[ObjectId]) -> Result<()> {
        for table in self.catalog.tables.values().filter(|table| !dropped.contains(&table.id)) {
            let points_there = |key: &crate::catalog::ForeignKey| dropped.contains(&key.referenced_table);
            if table.foreign_keys.iter().any(points_there) {
                let mut table = Table::clone(table);
                table.foreign_keys.retain(|key| !points_there(key));
                self.store.put_table(&table)?;
            }
        }
        Ok(())
    }

    fn remove_table(&mut self, table: &Table) -> Result<()> {
        self.dml.tx.drop_tree(table.tree)?;
        for index in &table.indexes {
            self.dml.tx.drop_tree(index.tree)?;
        }
        for sequence in self.owned_sequences(table.id, None) {
            self.store.delete(EntryKind::Sequence, sequence.id)?;
        }
        delete_statistics(self.dml.tx, self.trees, table.id)?;
        self.store.delete(EntryKind::Table, table.id)
    }

    /// The sequences that go with a table, or with one column of it.
    pub(super) fn owned_sequences(&self, table: ObjectId, column: Option<usize>) -> Vec<Arc<Sequence>> {
        let owned = self.catalog.sequences.values().filter(|sequence| {
            sequence.owner.is_some_and(|(owner, at)| owner == table && column.is_none_or(|column| column == at))
        });
        owned.cloned().collect()
    }

    fn drop_views(&mut self, names: &[String], cascade: bool) -> Result<()> {
        let mut without = Catalog::clone(&self.catalog);
        names.iter().for_each(|name| drop(without.views.remove(name)));
        let broken = self.broken_views(&without, names);
        let dependents: Vec<Dependent> =
            broken.iter().map(|view| Dependent::view(view, "view", &names.join(", "))).collect();
        self.settle(&dependents, cascade, "view", names)?;
        self.remove_views(names)?;
        self.remove_views(&broken)?;
        self.reload()
    }

    fn drop_index(&mut self, name: &str) -> Result<()> {
        let owner = |table: &&Arc<Table>| table.primary_key_name.as_deref() == Some(name);
        if let Some(table) = self.catalog.tables.values().find(owner) {
            return Err(required_by_constraint(name, &table.name));
        }
        let (table, index) =
            self.catalog.index(name).ok_or_else(|| missing(&self.catalog, name, RelationKind::Index))?;
        if index.constraint {
            return Err(required_by_constraint(name, &table.name));
        }
        self.dml.tx.drop_tree(index.tree)?;
        let mut table = Table::clone(table);
        table.indexes.retain(|index| index.name != name);
        self.store.put_table(&table)?;
        self.reload()
    }

    fn drop_sequence(&mut self, name: &str, cascade: bool) -> Result<()> {
        let Some(sequence) = self.catalog.sequence(name).cloned() else {
            return Err(missing(&self.catalog, name, RelationKind::Sequence));
        };
        if let Some((table, column)) = sequence.owner
            && let Some(table) = self.catalog.table_by_id(table).cloned()
        {
            self.release_sequence(&table, column, &sequence, cascade)?;
        }
        self.store.delete(EntryKind::Sequence, sequence.id)?;
        self.reload()
    }

    /// The column that a sequence belongs to loses its default, if CASCADE was said.
    fn release_sequence(&mut self, table: &Table, column: usize, sequence: &Sequence, cascade: bool) -> Result<()> {
        let Some(owner) = table.columns.get(column) else { return Ok(()) };
        if owner.identity.is_some() {
            let message = format!(
                "cannot drop sequence {} because column {} of table {} requires it",
                sequence.name, owner.name, table.name
            );
            return Err(Error::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message)
                .with_hint(format!("You can drop column {} of table {} instead.", owner.name, table.name)));
        }
        if !owner.default.as_ref().is_some_and(|default| default.contains("nextval")) {
            return Ok(());
        }
        let what = format!("default value for column {} of table {}", owner.name, table.name);
        let on = format!("sequence {}", sequence.name);
        self.settle(&[Dependent { what, on }], cascade, "sequence", std::slice::from_ref(&sequence.name))?;
        let mut table = table.clone();
        table.columns[column].default = None;
        self.store.put_table(&table)
    }
}

/// An object that rests on one that is to be dropped.
pub(super) struct Dependent {
    what: String,
    on: String,
}

impl Dependent {
    pub(super) fn constraint(name: &str, child: &Table, kind: &str, on: &str) -> Dependent {
        Dependent { what: format!("constraint {name} on table {}", child.name), on: format!("{kind} {on}") }
    }

    pub(super) fn view(name: &str, kind: &str, on: &str) -> Dependent {
        Dependent { what: format!("view {name}"), on: format!("{kind} {on}") }
    }

    fn line(&self) -> String {
        format!("{} depends on {}", self.what, self.on)
    }
}

impl Ddl<'_> {
    /// For ALTER TABLE: as a DROP of a part of a table.
    pub(super) fn settle_part(
        &mut self,
        dependents: &[Dependent],
        cascade: bool,
        kind: &str,
        name: &str,
    ) -> Result<()> {
        self.settle(dependents, cascade, kind, &[name.to_string()])
    }
}

fn absent(kind: RelationKind, name: &str) -> Error {
    let code = if kind == RelationKind::Index { SqlState::UNDEFINED_OBJECT } else { SqlState::UNDEFINED_TABLE };
    Error::new(code, format!("{} \"{name}\" does not exist", noun(kind)))
}

fn required_by_constraint(index: &str, table: &str) -> Error {
    let message = format!("cannot drop index {index} because constraint {index} on table {table} requires it");
    Error::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message)
        .with_hint(format!("You can drop constraint {index} on table {table} instead."))
}
