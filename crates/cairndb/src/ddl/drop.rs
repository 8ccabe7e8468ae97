//! DROP, and the parts of ALTER TABLE that drop something.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::context::Ddl;
use super::dependency::{Doomed, Object, doomed};
use super::names::{missing, noun};
use crate::catalog::{
    EXPRESSIONS, EntryKind, Index, ObjectId, ObjectName, Relation, RelationKind, Sequence, Table, TableStatistics,
    View, delete_statistics, no_schema, number_at,
};
use crate::change_feed::EntryKind as FeedEntry;
use crate::command::DropRelations;
use crate::notice::Notice;
use crate::system;
use crate::{Error, Result, SqlState};

/// As in PostgreSQL: more lines are counted.
const LINES_MAX: usize = 100;

impl Ddl<'_> {
    pub(super) fn drop(&mut self, drop: &DropRelations) -> Result<&'static str> {
        let kind = drop.kind;
        let mut targets = Vec::new();
        for name in &drop.names {
            let is_missing = |schema: &&String| !system::is_schema(schema) && self.catalog.schema(schema).is_none();
            let schema = name.schema.as_ref().filter(is_missing);
            match (self.relation(name)?.cloned(), schema) {
                (Some(relation), _) if relation.kind() == kind => {
                    let target = self.target(&name.name, &relation)?;
                    if !targets.contains(&target) {
                        targets.push(target);
                    }
                }
                (None, Some(schema)) if drop.if_exists => {
                    self.notice(
                        SqlState::SUCCESSFUL_COMPLETION,
                        format!("schema \"{schema}\" does not exist, skipping"),
                    );
                }
                (None, Some(schema)) => return Err(no_schema(schema)),
                (None, None) if drop.if_exists => {
                    let message = format!("{} \"{name}\" does not exist, skipping", noun(kind));
                    self.notice(SqlState::SUCCESSFUL_COMPLETION, message);
                }
                (None, None) => return Err(absent(kind, name)),
                (Some(_), _) => return Err(missing(&self.catalog, name, kind)),
            }
        }
        self.drop_objects(&targets, drop.cascade)?;
        Ok(match kind {
            RelationKind::Table => "DROP TABLE",
            RelationKind::View => "DROP VIEW",
            RelationKind::MaterializedView => "DROP MATERIALIZED VIEW",
            RelationKind::Index => "DROP INDEX",
            RelationKind::Sequence => "DROP SEQUENCE",
        })
    }

    /// What is to be dropped; SQLSTATE 2BP01 where it is a part of something else.
    fn target(&self, name: &str, relation: &Relation) -> Result<Object> {
        let required = |table: &Table| self.required_by_constraint(name, table);
        match relation {
            Relation::Table(table) => Ok(Object::Table(table.id)),
            Relation::View(view) => Ok(Object::View(view.id)),
            Relation::Sequence(sequence) => {
                self.refuse_identity_sequence(sequence)?;
                Ok(Object::Sequence(sequence.id))
            }
            Relation::Index(table, index) if index.constraint => Err(required(table)),
            Relation::Index(table, index) => Ok(Object::Index(table.id, index.id)),
        }
    }

    fn required_by_constraint(&self, index: &str, table: &Table) -> Error {
        let (shown, table_name) = (self.catalog.shown(table.schema, index), self.catalog.table_name(table));
        let message = format!("cannot drop index {shown} because constraint {index} on table {table_name} requires it");
        Error::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message)
            .with_hint(format!("You can drop constraint {index} on table {table_name} instead."))
    }

    fn refuse_identity_sequence(&self, sequence: &Sequence) -> Result<()> {
        let Some((table, position)) = sequence.owner else { return Ok(()) };
        let Some(table) = self.catalog.table_by_id(table) else { return Ok(()) };
        let Some(column) = table.columns.get(position).filter(|column| column.identity.is_some()) else {
            return Ok(());
        };
        let part = format!("column {} of table {}", column.name, self.catalog.table_name(table));
        let shown = self.catalog.shown(sequence.schema, &sequence.name);
        let message = format!("cannot drop sequence {shown} because {part} requires it");
        Err(Error::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message)
            .with_hint(format!("You can drop {part} instead.")))
    }

    /// Drops things and what depends on them. Refused (SQLSTATE 2BP01) where that is more, unless CASCADE was said.
    pub(super) fn drop_objects(&mut self, targets: &[Object], cascade: bool) -> Result<()> {
        let all = doomed(&self.catalog, targets);
        self.settle(targets, &all, cascade)?;
        let routines = all.iter().filter_map(|doomed| match doomed.object {
            Object::Routine(id) => self.catalog.routine_by_id(id)?.routine().map(|routine| routine.name.clone()),
            _ => None,
        });
        let routines: Vec<String> = routines.collect();
        self.remove(&all)?;
        self.reload()?;
        match routines.is_empty() {
            true => Ok(()),
            // Bodies may call others of the name from now on.
            false => self.remake_resting((&[], &[]), &routines.iter().map(String::as_str).collect::<Vec<_>>()),
        }
    }

    /// Refuses, or says what goes along.
    fn settle(&mut self, targets: &[Object], all: &[Doomed], cascade: bool) -> Result<()> {
        let told: Vec<&Doomed> = all.iter().filter(|doomed| doomed.is_told()).collect();
        if told.is_empty() {
            return Ok(());
        }
        if cascade {
            let describe = |doomed: &&Doomed| format!("drop cascades to {}", doomed.object.describe(&self.catalog));
            let lines = lines(told.iter().map(describe).collect());
            let (text, detail) = match told.len() {
                1 => (lines, None),
                more => (format!("drop cascades to {more} other objects"), Some(lines)),
            };
            let (severity, code) = ("NOTICE", SqlState::SUCCESSFUL_COMPLETION);
            self.done.notices.push(Notice { severity, code, message: text, detail });
            return Ok(());
        }
        let message = match targets {
            [one] => format!("cannot drop {} because other objects depend on it", self.described(*one)),
            _ => "cannot drop desired object(s) because other objects depend on them".to_string(),
        };
        Err(Error::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message)
            .with_detail(lines(told.iter().map(|doomed| doomed.line(&self.catalog)).collect()))
            .with_hint("Use DROP ... CASCADE to drop the dependent objects too."))
    }

    /// An extension's type is dropped with the extension alone, whose name it has.
    fn described(&self, target: Object) -> String {
        let of = if let Object::Type(id) = target { self.catalog.type_by_id(id) } else { None };
        match of.and_then(|of| of.extension()) {
            Some(extension) => format!("extension {extension}"),
            None => target.describe(&self.catalog),
        }
    }

    fn remove(&mut self, all: &[Doomed]) -> Result<()> {
        let mut parts: BTreeMap<ObjectId, Vec<Object>> = BTreeMap::new();
        let (mut tables, mut views, mut types, mut conditions) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for doomed in all {
            self.forget_comments(doomed.object)?;
            match doomed.object {
                Object::Table(id) => tables.push(id),
                Object::View(id) => views.push(id),
                Object::Sequence(id) => self.remove_sequence(id)?,
                Object::Routine(id) => self.remove_routine(id)?,
                Object::Schema(id) => self.remove_schema(id)?,
                Object::Type(id) => types.push(id),
                Object::DomainCheck(id, check) => conditions.push((id, check)),
                Object::Column(table, _)
                | Object::Default(table, _)
                | Object::Index(table, _)
                | Object::Key(table, _)
                | Object::Check(table, _)
                | Object::Trigger(table, _)
                | Object::ForeignKey(table, _) => parts.entry(table).or_default().push(doomed.object),
            }
        }
        let stays = |id: &ObjectId| !tables.contains(id) && !views.contains(id);
        let mut parts: Vec<_> = parts.into_iter().filter(|(id, _)| stays(id)).collect();
        // Nothing may point at a column any more when it goes.
        parts.sort_by_key(|(_, parts)| parts.iter().any(|part| matches!(part, Object::Column(..))));
        for (id, parts) in parts {
            self.remove_parts(id, &parts)?;
        }
        views.into_iter().try_for_each(|id| self.remove_view(id))?;
        self.forget_kept(&tables)?;
        tables.into_iter().try_for_each(|id| self.remove_table(id))?;
        conditions.retain(|(id, _)| !types.contains(id));
        conditions.into_iter().try_for_each(|(id, check)| self.remove_condition(id, check))?;
        // Last, for what has columns of them can be read until it is gone.
        types.into_iter().try_for_each(|id| self.remove_type(id))
    }

    fn remove_table(&mut self, id: ObjectId) -> Result<()> {
        let Some(table) = self.catalog.table_by_id(id) else { return Ok(()) };
        let what = if table.is_materialized() { "DROP MATERIALIZED VIEW" } else { "DROP TABLE" };
        self.refuse_pending(table, what)?;
        if let Some(feed) = table.feed {
            self.end_feed(feed, FeedEntry::Dropped)?;
        }
        if table.is_follower() {
            self.forget_follower(id)?;
        }
        self.drop_trees(table)?;
        delete_statistics(self.dml.tx, self.trees, id)?;
        self.store.forget_name(table.schema, &table.name)?;
        self.store.delete(EntryKind::Table, id)
    }

    fn remove_view(&mut self, id: ObjectId) -> Result<()> {
        if let Some(view) = self.catalog.view_by_id(id) {
            self.refuse_busy(id, &view.name, "DROP TABLE")?;
            self.store.forget_name(view.schema, &view.name)?;
        }
        self.store.delete(EntryKind::View, id)
    }

    fn remove_routine(&mut self, id: ObjectId) -> Result<()> {
        match self.catalog.routine_by_id(id).and_then(|function| function.routine()) {
            Some(routine) => self.store.delete_routine(routine),
            None => Ok(()),
        }
    }

    pub(super) fn remove_sequence(&mut self, id: ObjectId) -> Result<()> {
        if let Some(sequence) = self.catalog.sequence_by_id(id) {
            self.store.forget_name(sequence.schema, &sequence.name)?;
        }
        self.store.delete(EntryKind::Sequence, id)
    }

    /// Takes parts out of a table that stays, or triggers and defaults from a view.
    fn remove_parts(&mut self, id: ObjectId, parts: &[Object]) -> Result<()> {
        if let Some(view) = self.catalog.view_by_id(id) {
            let mut new = View::clone(view);
            new.triggers.retain(|trigger| !parts.contains(&Object::Trigger(id, trigger.id)));
            new.defaults.retain(|place, _| !parts.contains(&Object::Default(id, number_at(*place))));
            return self.store.put_view(&new);
        }
        let Some(old) = self.catalog.table_by_id(id).cloned() else { return Ok(()) };
        let mut new = Table::clone(&old);
        let is_gone = |object: Object| parts.contains(&object);
        for column in &mut new.columns {
            if is_gone(Object::Default(id, column.number)) {
                column.default = None;
            }
        }
        new.checks.retain(|check| !is_gone(Object::Check(id, check.id)));
        new.triggers.retain(|trigger| !is_gone(Object::Trigger(id, trigger.id)));
        new.foreign_keys.retain(|key| !is_gone(Object::ForeignKey(id, key.id)));
        new.indexes.retain(|index| !is_gone(Object::Index(id, index.id)) && !is_gone(Object::Key(id, index.id)));
        new.primary = new.primary.filter(|index| !is_gone(Object::Key(id, index.id)));
        let lies_as_before = new.primary.is_some() == old.primary.is_some();
        let gone = |column: &crate::catalog::Column| is_gone(Object::Column(id, column.number));
        let positions: Vec<usize> = (0..old.columns.len()).filter(|at| gone(&old.columns[*at])).collect();
        if positions.is_empty() && lies_as_before {
            self.drop_indexes(&old, &new)?;
            return self.store.put_table(&new);
        }
        let is_kept = lies_as_before && self.begin_layout(&mut new);
        for &position in positions.iter().rev() {
            if is_kept {
                new.drop_from_rows(position);
            }
            take_column(&mut new, position);
            self.move_references(&old, position)?;
        }
        if is_kept {
            self.drop_indexes(&old, &new)?;
            let statistics = old.statistics.as_deref().cloned();
            return self.put_altered(&new, statistics.map(|statistics| without_columns(statistics, &positions)));
        }
        self.rewrite_table(&old, new, |mut row| {
            positions.iter().rev().for_each(|position| drop(row.remove(*position)));
            Ok(row)
        })
    }

    /// The trees of indexes that the table does not have any more.
    fn drop_indexes(&self, old: &Table, new: &Table) -> Result<()> {
        for index in old.indexes.iter().filter(|index| new.indexes.iter().all(|kept| kept.id != index.id)) {
            self.dml.tx.drop_tree(index.tree)?;
        }
        Ok(())
    }

    /// Other tables' foreign keys, and sequences, count the columns behind a dropped one anew.
    fn move_references(&mut self, table: &Table, position: usize) -> Result<()> {
        self.reload()?;
        for child in self.catalog.tables().filter(|child| child.id != table.id) {
            let mut moved = Table::clone(child);
            let keys = moved.foreign_keys.iter_mut().filter(|key| key.referenced_table == table.id);
            let columns = keys.flat_map(|key| &mut key.referenced_columns).filter(|column| **column > position);
            if columns.map(|column| *column -= 1).count() > 0 {
                self.store.put_table(&moved)?;
            }
        }
        for sequence in self.owned_sequences(table.id) {
            if let Some((owner, at)) = sequence.owner.filter(|(_, at)| *at > position) {
                self.store.put_sequence(&Sequence { owner: Some((owner, at - 1)), ..Sequence::clone(&sequence) })?;
            }
        }
        Ok(())
    }

    /// The sequences that go with a table.
    pub(super) fn owned_sequences(&self, table: ObjectId) -> Vec<Arc<Sequence>> {
        let is_owned = |sequence: &&Arc<Sequence>| sequence.owner.is_some_and(|(owner, _)| owner == table);
        self.catalog.sequences().filter(is_owned).cloned().collect()
    }
}

fn without_columns(mut statistics: TableStatistics, positions: &[usize]) -> TableStatistics {
    for &position in positions.iter().rev() {
        if position < statistics.columns.len() {
            statistics.columns.remove(position);
        }
    }
    statistics
}

/// Takes a column out of a table's description. What used it is gone already.
fn take_column(table: &mut Table, position: usize) {
    let moved = |column: &mut usize| *column -= usize::from(*column > position && *column < EXPRESSIONS);
    table.columns.remove(position);
    for index in table.all_indexes_mut() {
        let mut columns = index.columns.clone();
        columns.iter_mut().for_each(|part| moved(&mut part.column));
        let mut included = index.included.clone();
        included.iter_mut().for_each(moved);
        *index = Arc::new(Index { columns, included, ..Index::clone(index) });
    }
    let own = table.id;
    for key in &mut table.foreign_keys {
        key.columns.iter_mut().chain(&mut key.set_on_delete).for_each(moved);
        if key.referenced_table == own {
            key.referenced_columns.iter_mut().for_each(moved);
        }
    }
}

fn lines(mut lines: Vec<String>) -> String {
    let more = lines.len().saturating_sub(LINES_MAX);
    lines.truncate(LINES_MAX);
    if more > 0 {
        lines.push(format!("and {more} other objects (see server log for list)"));
    }
    lines.join("\n")
}

fn absent(kind: RelationKind, name: &ObjectName) -> Error {
    let code = if kind == RelationKind::Index { SqlState::UNDEFINED_OBJECT } else { SqlState::UNDEFINED_TABLE };
    Error::new(code, format!("{} \"{name}\" does not exist", noun(kind)))
}
