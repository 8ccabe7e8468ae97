//! ALTER TABLE.

use std::ops::Bound;
use std::sync::Arc;

use cairn_parser::{self as ast, Id};

use super::context::Ddl;
use super::create_table::nextval;
use super::dependency::Object;
use super::names::{Chosen, constraint_exists, missing, missing_column, plural};
use super::rewrite::{rename_column, rename_table};
use crate::bind::{bind_default, bind_generated};
use crate::catalog::{
    Column, ColumnStatistics, Deferral, Index, ObjectId, ObjectName, Relation, RelationKind, Sequence, Table,
    TableStatistics, View, already_exists, number_at, put_statistics,
};
use crate::command::{
    AlterRelation, AlterTable, ColumnChange, ColumnDefinition, Constraint, Pass, RelationChange, TableAction,
};
use crate::dml::row::settle;
use crate::exec::eval_row;
use crate::plan::{Datum, Expr, is_volatile};
use crate::types::row::encode_value_raw;
use crate::{Error, Result, SqlState, Value};

impl Ddl<'_> {
    pub(super) fn alter_table(&mut self, alter: &AlterTable) -> Result<&'static str> {
        let is_materialized = alter.kind == RelationKind::MaterializedView;
        let tag = if is_materialized { "ALTER MATERIALIZED VIEW" } else { "ALTER TABLE" };
        if self.is_skipped(&alter.name, alter.if_exists)? {
            return Ok(tag);
        }
        if is_materialized && self.relation(&alter.name)?.map(Relation::kind) != Some(alter.kind) {
            return Err(missing(&self.catalog, &alter.name, alter.kind));
        }
        if let [TableAction::RenameTo(to)] = alter.actions.as_slice() {
            self.rename_relation(&alter.name, to.clone())?;
            return Ok(tag);
        }
        if alter.actions.iter().all(|action| matches!(action, TableAction::Owner)) {
            // Of whatever kind, as dumps say it of views and sequences.
            let found = self.relation(&alter.name)?.is_some();
            return if found { Ok(tag) } else { Err(self.catalog.no_relation(&alter.name)) };
        }
        if let Some(view) = self.relation(&alter.name)?.and_then(Relation::view).cloned() {
            self.alter_view_as_table(&view, &alter.actions)?;
            return Ok(tag);
        }
        let table = self.table_or_materialized(&alter.name)?;
        self.refuse_pending(&table, "ALTER TABLE")?;
        if table.is_materialized() {
            let refuse = |action| refuse_of_kind(RelationKind::MaterializedView, &table.name, action);
            alter.actions.iter().try_for_each(refuse)?;
        }
        let table = table.id;
        let mut actions: Vec<&TableAction> = alter.actions.iter().collect();
        actions.sort_by_key(|action| action.pass());
        // Constraints that were said with columns, once these are there.
        let mut constraints = Vec::new();
        // Types are altered together, where the first one's turn is.
        let is_type = |action: &&TableAction| action.pass() == Pass::AlterType;
        let mut types: Vec<&TableAction> = actions.iter().copied().filter(is_type).collect();
        for action in actions {
            self.add_constraints_before(action.pass(), table, &mut constraints)?;
            if is_type(&action) {
                let types = std::mem::take(&mut types);
                if !types.is_empty() {
                    self.alter_types(&self.table_of(table)?, &types)?;
                }
            } else if let TableAction::AddColumn { column, if_not_exists } = action {
                if self.alter_add_column(&self.table_of(table)?, column, *if_not_exists)? {
                    constraints.extend(&column.constraints);
                }
            } else {
                self.alter_one(&self.table_of(table)?, action)?;
            }
            self.reload()?;
        }
        self.add_constraints_before(Pass::Rest, table, &mut constraints)?;
        self.check_collection(table)?;
        Ok(tag)
    }

    /// Adds those of the constraints whose turn is before, or with, what is done in this pass.
    fn add_constraints_before(
        &mut self,
        pass: Pass,
        table: ObjectId,
        constraints: &mut Vec<&Constraint>,
    ) -> Result<()> {
        let (mut due, later) = constraints.drain(..).partition::<Vec<_>, _>(|constraint| constraint.pass() <= pass);
        *constraints = later;
        due.sort_by_key(|constraint| constraint.pass());
        for constraint in due {
            self.add_constraint(&self.table_of(table)?, constraint)?;
            self.reload()?;
        }
        Ok(())
    }

    /// Whether there is no relation of this name, and IF EXISTS was said.
    pub(super) fn is_skipped(&mut self, name: &ObjectName, if_exists: bool) -> Result<bool> {
        let skipped = if_exists && self.relation(name)?.is_none();
        if skipped {
            self.notice(SqlState::SUCCESSFUL_COMPLETION, format!("relation \"{name}\" does not exist, skipping"));
        }
        Ok(skipped)
    }

    /// ALTER INDEX, ALTER VIEW, ALTER SEQUENCE.
    pub(super) fn alter_relation(&mut self, alter: &AlterRelation) -> Result<&'static str> {
        let tag = match alter.kind {
            RelationKind::View => "ALTER VIEW",
            RelationKind::Sequence => "ALTER SEQUENCE",
            _ => "ALTER INDEX",
        };
        if self.is_skipped(&alter.name, alter.if_exists)? {
            return Ok(tag);
        }
        let found = self.relation(&alter.name)?.cloned();
        match (found, &alter.change) {
            (Some(found), RelationChange::RenameTo(to)) if found.kind() == alter.kind => {
                self.rename_relation(&alter.name, to.clone())?;
            }
            (Some(Relation::View(view)), change) if alter.kind == RelationKind::View => {
                self.alter_view(&view, change)?;
            }
            (Some(found), RelationChange::Owner) if found.kind() == alter.kind => {}
            _ => return Err(missing(&self.catalog, &alter.name, alter.kind)),
        }
        Ok(tag)
    }

    fn alter_view(&mut self, view: &Arc<View>, change: &RelationChange) -> Result<()> {
        match change {
            RelationChange::RenameColumn { from, to } => self.rename_view_column(view, from, to),
            RelationChange::Check(check) => {
                self.store.put_view(&View { check: *check, ..View::clone(view) })?;
                self.reload()?;
                self.verify_check_option(view.id)
            }
            RelationChange::Default { column, value } => self.set_view_default(view, column, *value),
            RelationChange::Owner | RelationChange::RenameTo(_) => Ok(()),
        }
    }

    /// Tools say ALTER TABLE of views, too.
    fn alter_view_as_table(&mut self, view: &Arc<View>, actions: &[TableAction]) -> Result<()> {
        for action in actions {
            match action {
                TableAction::RenameColumn { from, to } => self.rename_view_column(view, from, to)?,
                TableAction::Owner => {}
                TableAction::AlterColumn { name, change: ColumnChange::SetDefault(value) } => {
                    self.set_view_default(view, name, Some(*value))?;
                }
                TableAction::AlterColumn { name, change: ColumnChange::DropDefault } => {
                    self.set_view_default(view, name, None)?;
                }
                action => {
                    refuse_of_kind(RelationKind::View, &view.name, action)?;
                    let message = format!("\"{}\" is not a table", view.name);
                    return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
                }
            }
        }
        Ok(())
    }

    /// What a view's column holds where a row is inserted through the view without a value for it; `None`: what is behind it has.
    fn set_view_default(&mut self, view: &Arc<View>, name: &str, value: Option<Id<ast::Expr>>) -> Result<()> {
        // As this statement has left it so far.
        self.reload()?;
        let view = self.catalog.view_by_id(view.id).cloned().ok_or_else(|| Error::internal("a view is missing"))?;
        let fields = super::create_view::view_fields(&self.catalog, &view)?;
        let Some((at, field)) = fields.iter().enumerate().find(|(_, field)| field.name == name) else {
            return Err(Error::undefined_column_of(name, &view.name));
        };
        let mut new = View::clone(&view);
        let column = Column::new(number_at(at), &*field.name, field.data_type);
        match value.map(|value| self.default_text(value, &column)).transpose()?.flatten() {
            Some(default) => new.defaults.insert(at, default),
            None => new.defaults.remove(&at),
        };
        self.store.put_view(&new)
    }

    /// Whoever reads the view knows its columns by their places.
    fn rename_view_column(&mut self, view: &Arc<View>, from: &str, to: &str) -> Result<()> {
        let position = view.columns.iter().position(|column| column == from);
        let position = position.ok_or_else(|| Error::undefined_column(from))?;
        if view.columns.iter().any(|column| column == to) {
            return Err(Error::existing_column(to, &view.name));
        }
        let mut new = View::clone(view);
        to.clone_into(&mut new.columns[position]);
        self.store.put_view(&new)
    }

    fn alter_one(&mut self, table: &Arc<Table>, action: &TableAction) -> Result<()> {
        use TableAction as A;
        match action {
            A::AddConstraint(constraint) => self.add_constraint(table, constraint),
            A::DropColumn { name, if_exists, cascade } => self.drop_column(table, name, *if_exists, *cascade),
            A::DropConstraint { name, if_exists, cascade } => self.drop_constraint(table, name, *if_exists, *cascade),
            A::RenameColumn { from, to } => self.rename_column(table, from, to.clone()),
            A::RenameConstraint { from, to } => self.rename_constraint(table, from, to.clone()),
            A::AlterColumn { name, change } => self.alter_column(table, name, change),
            A::EnableTrigger { name, enabled } => self.enable_trigger(table, name.as_deref(), *enabled),
            A::ValidateConstraint(name) => self.validate_constraint(table, name),
            A::AlterConstraint { name, deferral } => self.alter_constraint(table, name, *deferral),
            A::Options(options) => self.alter_options(table, options),
            A::Owner => Ok(()),
            A::WithoutEffect(words) => {
                self.notice(SqlState::SUCCESSFUL_COMPLETION, format!("{words} does nothing"));
                Ok(())
            }
            A::RenameTo(_) | A::AddColumn { .. } => Err(Error::internal("an action in the wrong place")),
        }
    }

    fn add_constraint(&mut self, table: &Arc<Table>, constraint: &Constraint) -> Result<()> {
        let mut new = Table::clone(table);
        let mut chosen = Chosen::default();
        match constraint {
            Constraint::PrimaryKey { name, columns, included, deferral } => {
                self.set_primary_key(&mut new, name.clone(), (columns, included, *deferral), &mut chosen)?;
                let Some(index) = new.primary_key().filter(|key| key.is_deferrable()) else {
                    return self.rebuild_for_primary_key(table, new);
                };
                index.columns.iter().try_for_each(|part| self.verify_not_null(table, part.column))?;
                self.build_index(table, index)?;
                self.store.put_table(&new)
            }
            Constraint::UsingIndex { name, index, primary, deferral, .. } => {
                self.use_index(table, name.as_ref(), (index, *primary, *deferral))
            }
            Constraint::Unique { name, columns, included, nulls_equal, deferral } => {
                let how = (*nulls_equal, *deferral);
                self.add_unique(&mut new, name.clone(), (columns, included), how, &mut chosen)?;
                if let Some(index) = new.indexes.last() {
                    self.build_index(table, index)?;
                }
                self.store.put_table(&new)
            }
            Constraint::Check { name, condition, valid } => {
                self.add_check(&mut new, name.clone(), *condition, *valid)?;
                new.checks.last().filter(|_| *valid).map_or(Ok(()), |check| self.verify_check(&new, check))?;
                self.store.put_table(&new)
            }
            Constraint::ForeignKey { name, columns, references } => {
                self.add_foreign_key(&mut new, name.clone(), columns, references, references.valid)?;
                self.store.put_table(&new)?;
                self.reload()?;
                match new.foreign_keys.len().checked_sub(1) {
                    Some(last) if references.valid => self.verify_foreign_key(new.id, last),
                    _ => Ok(()),
                }
            }
        }
    }

    /// Rows are keyed by the primary key: all move.
    pub(super) fn rebuild_for_primary_key(&mut self, old: &Table, new: Table) -> Result<()> {
        new.row_key().iter().try_for_each(|part| self.verify_not_null(old, part.column))?;
        self.rewrite_table(old, new, Ok)
    }

    /// Adds a column without its constraints; whether it was not there.
    fn alter_add_column(
        &mut self,
        table: &Arc<Table>,
        definition: &ColumnDefinition,
        if_not_exists: bool,
    ) -> Result<bool> {
        let name = &definition.name;
        if table.column_position(name).is_some() {
            let error = Error::existing_column(name, &table.name);
            if !if_not_exists {
                return Err(error);
            }
            self.notice(error.sqlstate(), format!("{}, skipping", error.message()));
            return Ok(false);
        }
        let mut new = Table::clone(table);
        let mut chosen = Chosen::default();
        self.add_column(&mut new, definition, &mut chosen)?;
        self.set_generated(&mut new, definition)?;
        self.reload()?;
        let (id, position) = (new.id, new.columns.len() - 1);
        self.fill_column(table, new)?;
        self.verify_column(&*self.table_of(id)?, position)?;
        Ok(true)
    }

    /// Gives every row the new last column. Rows are written anew where its default is another for each; otherwise the
    /// catalog keeps what they have instead.
    fn fill_column(&mut self, old: &Table, mut new: Table) -> Result<()> {
        let Some(column) = new.columns.last().cloned() else { return Ok(()) };
        let exec = self.exec_with_new_sequences();
        if column.is_virtual {
            return self.add_virtual(old, new);
        }
        if let Some(generated) = &column.generated {
            let generated = bind_generated(generated, &column, &new, &self.catalog)?;
            return self.rewrite_table(old, new, |mut row| {
                let value = Datum::Own(eval_row(&generated, &row, &exec)?);
                push_value(&mut row, settle(value, column.data_type, &exec.eval)?, (old, &column))?;
                Ok(row)
            });
        }
        let default = self.bound_default(&column)?;
        let value = || match &default {
            Some(default) => settle(Datum::Own(eval_row(default, &[], &exec)?), column.data_type, &exec.eval),
            None => Ok(Value::Null),
        };
        if default.as_ref().is_some_and(is_volatile) || !self.begin_layout(&mut new) {
            return self.rewrite_table(old, new, |mut row| {
                push_value(&mut row, value()?, (old, &column))?;
                Ok(row)
            });
        }
        let value = value()?;
        if value.is_null() && column.not_null && !self.is_empty(old)? {
            return Err(contains_null(old, &column));
        }
        if let Some(last) = new.columns.last_mut() {
            last.since = new.layout_version;
            last.missing = raw(&value);
        }
        let statistics = old.statistics.as_deref().cloned();
        self.put_altered(&new, statistics.map(|statistics| with_constant(statistics, old.columns.len(), value)))?;
        self.reload()
    }

    /// The last column of `new` is computed where it is read: rows stay as they are.
    fn add_virtual(&mut self, old: &Table, mut new: Table) -> Result<()> {
        let (id, position) = (old.id, old.columns.len());
        if self.begin_layout(&mut new) {
            new.columns[position].since = new.layout_version;
            let statistics = old.statistics.as_deref().cloned();
            self.put_altered(&new, statistics.map(|of| with_constant(of, position, Value::Null)))?;
            self.reload()?;
        } else {
            self.rewrite_table(old, new, |mut row| {
                row.push(Value::Null);
                Ok(row)
            })?;
        }
        let table = self.table_of(id)?;
        if table.columns[position].not_null { self.verify_not_null(&table, position) } else { Ok(()) }
    }

    /// A table whose columns are others, its rows as they were.
    pub(super) fn put_altered(&self, new: &Table, statistics: Option<TableStatistics>) -> Result<()> {
        if let Some(statistics) = statistics {
            put_statistics(self.dml.tx, self.trees, new, &statistics)?;
        }
        self.store.put_table(new)
    }

    fn is_empty(&self, table: &Table) -> Result<bool> {
        let mut cursor = self.dml.tx.reader().cursor(table.tree, Bound::Unbounded, Bound::Unbounded)?;
        Ok(cursor.next()?.is_none())
    }

    fn bound_default(&self, column: &Column) -> Result<Option<Expr>> {
        Ok(match (self.catalog.default_of(column), column.identity) {
            (Some(default), _) => Some(bind_default(default, column.data_type, &self.catalog)?),
            (None, Some(identity)) => {
                let sequence = self.catalog.sequence_by_id(identity.sequence);
                let sequence = sequence.ok_or_else(|| Error::internal("a sequence is missing"))?;
                Some(bind_default(
                    &nextval(sequence.id, &self.catalog.shown(sequence.schema, &sequence.name)),
                    column.data_type,
                    &self.catalog,
                )?)
            }
            (None, None) => None,
        })
    }

    fn drop_column(&mut self, table: &Arc<Table>, name: &str, if_exists: bool, cascade: bool) -> Result<()> {
        let Some(position) = table.column_position(name) else {
            let error = missing_column(table, name);
            if !if_exists {
                return Err(error);
            }
            self.notice(SqlState::SUCCESSFUL_COMPLETION, format!("{}, skipping", error.message()));
            return Ok(());
        };
        self.drop_objects(&[Object::Column(table.id, table.columns[position].number)], cascade)
    }

    fn rename_relation(&mut self, name: &ObjectName, to: String) -> Result<()> {
        let Some(relation) = self.relation(name)?.cloned() else { return Err(self.catalog.no_relation(name)) };
        match relation {
            Relation::Table(table) => {
                self.refuse_taken(table.schema, &to)?;
                self.refuse_type_of_name(table.schema, &to)?;
                let mut renamed = Table { name: to, ..Table::clone(&table) };
                let to = renamed.name.clone();
                renamed.change_definitions(|definition| rename_table(definition, &table.name, &to));
                self.store.forget_name(table.schema, &table.name)?;
                self.store.put_table(&renamed)
            }
            Relation::View(view) => {
                self.refuse_taken(view.schema, &to)?;
                self.refuse_type_of_name(view.schema, &to)?;
                self.store.forget_name(view.schema, &view.name)?;
                self.store.put_view(&View { name: to, ..View::clone(&view) })
            }
            Relation::Sequence(sequence) => {
                self.catalog.refuse_counter(&sequence)?;
                self.refuse_taken(sequence.schema, &to)?;
                self.store.forget_name(sequence.schema, &sequence.name)?;
                self.store.put_sequence(&Sequence { name: to, ..Sequence::clone(&sequence) })
            }
            Relation::Index(table, _) => self.rename_index(&table, &name.name, to),
        }
    }

    fn refuse_taken(&self, schema: ObjectId, name: &str) -> Result<()> {
        match self.catalog.relation_in(schema, name) {
            Some(_) => Err(already_exists(name)),
            None => Ok(()),
        }
    }

    fn rename_index(&mut self, table: &Table, name: &str, to: String) -> Result<()> {
        self.refuse_taken(table.schema, &to)?;
        let mut table = table.clone();
        if let Some(index) = table.all_indexes_mut().find(|index| index.name == name) {
            *index = Arc::new(Index { name: to, ..Index::clone(index) });
        }
        self.store.put_table(&table)
    }

    fn rename_column(&mut self, table: &Arc<Table>, from: &str, to: String) -> Result<()> {
        let position = table.column_position(from).ok_or_else(|| Error::undefined_column(from))?;
        if table.column_position(&to).is_some() {
            return Err(Error::existing_column(to, &table.name));
        }
        let mut new = Table::clone(table);
        new.change_definitions(|definition| rename_column(definition, from, &to));
        new.columns[position].name = to;
        self.store.put_table(&new)
    }

    fn rename_constraint(&mut self, table: &Arc<Table>, from: &str, to: String) -> Result<()> {
        super::constraints::refuse_duplicate(table, &to)?;
        if table.all_indexes().any(|index| index.name == from) {
            return self.rename_index(table, from, to);
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

    /// From here on it is known to hold for all rows; SQLSTATE 23514, 23503 where it does not.
    fn validate_constraint(&mut self, table: &Arc<Table>, name: &str) -> Result<()> {
        let mut new = Table::clone(table);
        if let Some(at) = table.checks.iter().position(|check| check.name == name) {
            if table.checks[at].valid {
                return Ok(());
            }
            self.verify_check(table, &table.checks[at])?;
            new.checks[at].valid = true;
        } else if let Some(at) = table.foreign_keys.iter().position(|key| key.name == name) {
            if table.foreign_keys[at].valid {
                return Ok(());
            }
            self.verify_foreign_key(table.id, at)?;
            new.foreign_keys[at].valid = true;
        } else if constraint_exists(table, name) {
            let message = format!(
                "constraint \"{name}\" of relation \"{}\" is not a foreign key or check constraint",
                table.name
            );
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        } else {
            return Err(missing_constraint(table, name));
        }
        self.store.put_table(&new)
    }

    /// When a foreign key is looked at from here on.
    fn alter_constraint(&mut self, table: &Arc<Table>, name: &str, deferral: Deferral) -> Result<()> {
        let mut new = Table::clone(table);
        match new.foreign_keys.iter_mut().find(|key| key.name == name) {
            Some(key) => key.deferral = deferral,
            None if constraint_exists(table, name) => {
                let message =
                    format!("constraint \"{name}\" of relation \"{}\" is not a foreign key constraint", table.name);
                return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
            }
            None => return Err(missing_constraint(table, name)),
        }
        self.store.put_table(&new)
    }

    fn drop_constraint(&mut self, table: &Arc<Table>, name: &str, if_exists: bool, cascade: bool) -> Result<()> {
        if let Some(constraint) = constraint_named(table, name) {
            return self.drop_objects(&[constraint], cascade);
        }
        let error = missing_constraint(table, name);
        if !if_exists {
            return Err(error);
        }
        self.notice(SqlState::SUCCESSFUL_COMPLETION, format!("{}, skipping", error.message()));
        Ok(())
    }
}

/// What a row has in a column that is new to its table; SQLSTATE 23502.
fn push_value(row: &mut Vec<Value>, value: Value, (table, column): (&Table, &Column)) -> Result<()> {
    if value.is_null() && column.not_null {
        return Err(contains_null(table, column));
    }
    row.push(value);
    Ok(())
}

pub(super) fn contains_null(table: &Table, column: &Column) -> Error {
    let message = format!("column \"{}\" of relation \"{}\" contains null values", column.name, table.name);
    Error::new(SqlState::NOT_NULL_VIOLATION, message)
}

/// A value as rows have it; `None`: NULL.
fn raw(value: &Value) -> Option<Box<[u8]>> {
    let mut bytes = Vec::new();
    encode_value_raw(value.into(), &mut bytes);
    (!value.is_null()).then(|| bytes.into())
}

/// The statistics of a table whose column at this position has one value only.
fn with_constant(mut statistics: TableStatistics, position: usize, value: Value) -> TableStatistics {
    let average_width = raw(&value).map_or(0.0, |raw| raw.len() as f64);
    let column = match value {
        Value::Null => ColumnStatistics { null_fraction: 1.0, ..ColumnStatistics::default() },
        value => {
            let most_common = vec![(value, 1.0)];
            ColumnStatistics { distinct: 1.0, most_common, average_width, ..ColumnStatistics::default() }
        }
    };
    statistics.columns.resize_with(position, ColumnStatistics::default);
    statistics.columns.push(column);
    statistics
}

/// The table's constraint of this name.
fn constraint_named(table: &Table, name: &str) -> Option<Object> {
    let id = table.id;
    let unique = table.index_of_constraint(name);
    let check = || table.checks.iter().find(|check| check.name == name).map(|check| Object::Check(id, check.id));
    let key = || table.foreign_keys.iter().find(|key| key.name == name).map(|key| Object::ForeignKey(id, key.id));
    unique.map(|index| Object::Key(id, index.id)).or_else(check).or_else(key)
}

fn missing_constraint(table: &Table, name: &str) -> Error {
    let message = format!("constraint \"{name}\" of relation \"{}\" does not exist", table.name);
    Error::new(SqlState::UNDEFINED_OBJECT, message)
}

/// SQLSTATE 42809 for what is not done to the rows that a query gives.
fn refuse_of_kind(kind: RelationKind, name: &str, action: &TableAction) -> Result<()> {
    let Some(words) = action.of_tables_only() else { return Ok(()) };
    let message = format!("ALTER action {words} cannot be performed on relation \"{name}\"");
    let detail = format!("This operation is not supported for {}.", plural(kind));
    Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).with_detail(detail))
}
