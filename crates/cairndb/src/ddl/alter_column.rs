//! ALTER TABLE .. ALTER COLUMN.

use std::sync::Arc;

use cairn_parser::{Expr, Id};

use super::alter_table::contains_null;
use super::constraints::check_key;
use super::context::Ddl;
use super::create_index::item_class;
use super::create_table::{check_collated, virtual_domain};
use super::dependency::views_using;
use super::names::{Chosen, missing_column};
use crate::bind::{bind_check, bind_default, bind_generated, bind_index, bind_using};
use crate::catalog::{Check, Column, ObjectId, Table};
use crate::command::{ColumnChange, TableAction};
use crate::dml::row::settle;
use crate::exec::eval_row;
use crate::inverted::ItemClass;
use crate::plan;
use crate::plan::Datum;
use crate::types::datetime::DIGITS_MAX;
use crate::types::{CastContext, DataType, can_cast, cast_assign};
use crate::{Error, Result, SqlState, Value};

impl Ddl<'_> {
    pub(super) fn alter_column(&mut self, table: &Arc<Table>, name: &str, change: &ColumnChange) -> Result<()> {
        use ColumnChange as C;
        let position = table.column_position(name).ok_or_else(|| missing_column(table, name))?;
        let mut new = Table::clone(table);
        let column = &mut new.columns[position];
        match change {
            C::SetNotNull => {
                self.verify_not_null(table, position)?;
                column.not_null = true;
            }
            C::DropNotNull => {
                if table.primary_key().is_some_and(|key| key.positions().any(|column| column == position)) {
                    let message = format!("column \"{name}\" is in a primary key");
                    return Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message));
                }
                if column.identity.is_some() {
                    let message = format!("column \"{name}\" of relation \"{}\" is an identity column", table.name);
                    return Err(Error::new(SqlState::SYNTAX_ERROR, message));
                }
                column.not_null = false;
            }
            C::SetDefault(value) => {
                refuse_computed(table, position)?;
                column.default = self.default_text(*value, column)?;
            }
            C::DropDefault => {
                refuse_computed(table, position).map_err(|error| match column.generated {
                    Some(_) => error.with_hint("Use ALTER TABLE ... ALTER COLUMN ... DROP EXPRESSION instead."),
                    None => error,
                })?;
                column.default = None;
            }
            C::SetExpression(expr) => return self.alter_expression(table, position, *expr),
            C::DropExpression { if_exists } => {
                if column.is_virtual {
                    let message = "ALTER TABLE / DROP EXPRESSION is not supported for virtual generated columns";
                    let detail =
                        format!("Column \"{name}\" of relation \"{}\" is a virtual generated column.", table.name);
                    let error = Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).with_detail(detail);
                    return Err(error.with_hint("Add an ordinary column, UPDATE it, and drop this one."));
                }
                if column.generated.take().is_none() {
                    let message =
                        format!("column \"{name}\" of relation \"{}\" is not a stored generated column", table.name);
                    if !if_exists {
                        return Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
                    }
                    self.notice(SqlState::SUCCESSFUL_COMPLETION, format!("{message}, skipping"));
                    return Ok(());
                }
            }
            C::AddIdentity(identity) => {
                let refused = |is: &str| {
                    let message = format!("column \"{name}\" of relation \"{}\" {is}", table.name);
                    Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message))
                };
                match () {
                    () if !column.not_null => return refused("must be declared NOT NULL before identity can be added"),
                    () if column.identity.is_some() => return refused("is already an identity column"),
                    () if column.default.is_some() => return refused("already has a default value"),
                    () => self.make_identity(table, column, identity, position, &mut Chosen::default())?,
                }
            }
            C::SetIdentity { always, options } => match &mut column.identity {
                Some(identity) => {
                    identity.always = always.unwrap_or(identity.always);
                    let sequence = identity.sequence;
                    self.alter_identity_sequence(sequence, options)?;
                }
                None => return Err(no_identity(table, name)),
            },
            C::DropIdentity { if_exists } => match column.identity.take() {
                Some(identity) => self.remove_sequence(identity.sequence)?,
                None if *if_exists => {
                    let message = format!("{}, skipping", no_identity(table, name).message());
                    self.notice(SqlState::SUCCESSFUL_COMPLETION, message);
                    return Ok(());
                }
                None => return Err(no_identity(table, name)),
            },
            C::SetType { .. } => return Err(Error::internal("a column's type is altered with those of the others")),
        }
        self.store.put_table(&new)
    }

    /// SET EXPRESSION: rows have what the column is computed by now, if they have it.
    fn alter_expression(&mut self, table: &Arc<Table>, position: usize, expr: Id<Expr>) -> Result<()> {
        let column = &table.columns[position];
        if column.generated.is_none() {
            let message =
                format!("column \"{}\" of relation \"{}\" is not a generated column", column.name, table.name);
            return Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
        }
        let mut new = Table::clone(table);
        self.set_expression(&mut new, position, expr)?;
        let (id, column) = (table.id, new.columns[position].clone());
        match column.stored_expression() {
            None => {
                self.store.put_table(&new)?;
                self.reload()?;
            }
            Some(expression) => {
                let value = bind_generated(expression, &column, &new, &self.catalog)?;
                let exec = self.exec_with_new_sequences();
                self.rewrite_table(table, new, |mut row| {
                    let computed = eval_row(&value, &row, &exec)?;
                    row[position] = settle(Datum::Own(computed), column.data_type, &exec.eval)?;
                    Ok(row)
                })?;
            }
        }
        let table = self.table_of(id)?;
        if column.not_null {
            self.verify_not_null(&table, position)?;
        }
        self.verify_column(&table, position)?;
        let uses = |check: &&Check| check.valid && check.columns.contains(&column.number);
        table.checks.iter().filter(uses).try_for_each(|check| self.verify_check(&table, check))?;
        // What commits keep of it rests on the values that were.
        self.keep_anew(id)
    }

    /// All that one ALTER TABLE says of types, in one pass over the rows: each USING sees a row as it was.
    pub(super) fn alter_types(&mut self, table: &Arc<Table>, actions: &[&TableAction]) -> Result<()> {
        let mut changes: Vec<TypeChange> = Vec::with_capacity(actions.len());
        for action in actions {
            let TableAction::AlterColumn { name, change: ColumnChange::SetType { to, is_collated, using } } = action
            else {
                return Err(Error::internal("not a column's type"));
            };
            let position = table.column_position(name).ok_or_else(|| missing_column(table, name))?;
            if changes.iter().any(|known| known.position == position) {
                let message = format!("cannot alter type of column \"{name}\" twice");
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
            let (to, domain) = self.typed(*to)?;
            if *is_collated {
                check_collated(to)?;
            }
            changes.push(self.type_change(table, position, (to, domain.map(|domain| domain.id)), *using)?);
        }
        self.change_types(table, &changes)?;
        self.reload()?;
        let table = self.table_of(table.id)?;
        changes.iter().try_for_each(|change| self.verify_column(&table, change.position))?;
        // The values are others, and what was known of them is not known of these.
        let is_changed = |number: &u32| changes.iter().any(|change| table.columns[change.position].number == *number);
        let uses = |check: &&Check| check.valid && check.columns.iter().any(is_changed);
        table.checks.iter().filter(uses).try_for_each(|check| self.verify_check(&table, check))?;
        self.verify_references(&table, |column| changes.iter().any(|change| change.position == column))
    }

    /// The foreign keys of columns that have other values now, from the table and to it.
    pub(super) fn verify_references(&self, table: &Arc<Table>, is_changed: impl Fn(usize) -> bool) -> Result<()> {
        for child in self.catalog.tables() {
            for (at, key) in child.foreign_keys.iter().enumerate().filter(|(_, key)| key.valid) {
                let refers = child.id == table.id && key.columns.iter().any(|column| is_changed(*column));
                let is_referred =
                    key.referenced_table == table.id && key.referenced_columns.iter().any(|column| is_changed(*column));
                if refers || is_referred {
                    self.verify_foreign_key(child.id, at)?;
                }
            }
        }
        Ok(())
    }

    fn type_change(
        &self,
        table: &Arc<Table>,
        position: usize,
        (to, domain): (DataType, Option<ObjectId>),
        using: Option<Id<Expr>>,
    ) -> Result<TypeChange> {
        let column = &table.columns[position];
        let from = column.data_type;
        if using.is_some() && column.generated.is_some() {
            let message = "cannot specify USING when altering type of generated column";
            let detail = format!("Column \"{}\" is a generated column.", column.name);
            return Err(Error::new(SqlState::INVALID_COLUMN_DEFINITION, message).with_detail(detail));
        }
        if column.is_virtual && domain.is_some() {
            return Err(virtual_domain(&column.name));
        }
        let using = using.map(|using| bind_using(self.text(using), (column, to), table, &self.catalog)).transpose()?;
        if using.is_none() && from != to && !can_cast(from, to, CastContext::Assignment) {
            let message = format!("column \"{}\" cannot be cast automatically to type {to}", column.name);
            let hint = format!("You might need to specify \"USING {}::{to}\".", column.name);
            return Err(Error::new(SqlState::DATATYPE_MISMATCH, message).with_hint(hint));
        }
        let uses = |other: &&Column| other.generated.as_ref().is_some_and(|of| of.columns.contains(&column.number));
        if let Some(generated) = table.columns.iter().find(uses) {
            let message = "cannot alter type of a column used by a generated column";
            let detail = format!("Column \"{}\" is used by generated column \"{}\".", column.name, generated.name);
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).with_detail(detail));
        }
        if let [view, ..] = views_using(&self.catalog, table.id, column.number).as_slice() {
            let message = "cannot alter type of a column used by a view or rule";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
                .with_detail(format!("rule _RETURN on view {view} depends on column \"{}\"", column.name)));
        }
        Ok(TypeChange { position, from, to, domain, using })
    }

    fn change_types(&mut self, table: &Arc<Table>, changes: &[TypeChange]) -> Result<()> {
        let mut new = Table::clone(table);
        for change in changes {
            let column = &mut new.columns[change.position];
            (column.data_type, column.domain) = (change.to, change.domain);
        }
        for change in changes {
            let column = &new.columns[change.position];
            let not_castable = |what: &str| {
                let (name, to) = (&column.name, change.to);
                let message = format!("{what} for column \"{name}\" cannot be cast automatically to type {to}");
                Error::new(SqlState::DATATYPE_MISMATCH, message)
            };
            if let Some(default) = &column.default {
                bind_default(default, change.to, &self.catalog).map_err(|_| not_castable("default"))?;
            }
            if let Some(generated) = &column.generated {
                bind_generated(generated, column, &new, &self.catalog)
                    .map_err(|_| not_castable("generation expression"))?;
            }
            let ordered = new.all_indexes().filter(|index| !index.is_inverted());
            if ordered.flat_map(|index| index.positions()).any(|key| key == change.position) {
                check_key(change.to)?;
            }
            check_items(&new, change.position, change.to)?;
        }
        for check in &new.checks {
            bind_check(&check.condition, &new, &self.catalog)?;
        }
        let is_other_key = self.retype_keys(&mut new)?;
        let is_free = |change: &TypeChange| change.using.is_none() && only_allows_more(change.from, change.to);
        if changes.iter().all(is_free) && !is_other_key {
            return self.store.put_table(&new);
        }
        let eval = self.dml.exec.eval.clone();
        let exec = self.exec_with_new_sequences();
        self.rewrite_table(table, new, |mut row| {
            let value = |change: &TypeChange| match &change.using {
                Some(using) => settle(Datum::Own(eval_row(using, &row, &exec)?), change.to, &eval),
                None => cast_assign(&row[change.position], change.from, change.to, &eval),
            };
            let values = changes.iter().map(value).collect::<Result<Vec<Value>>>()?;
            for (change, value) in changes.iter().zip(values) {
                let column = &table.columns[change.position];
                if column.not_null && value.is_null() && !column.is_virtual {
                    return Err(contains_null(table, column));
                }
                row[change.position] = value;
            }
            Ok(row)
        })
    }
}

/// ALTER COLUMN .. TYPE of one column.
struct TypeChange {
    position: usize,
    from: DataType,
    to: DataType,
    domain: Option<ObjectId>,
    /// What its values are computed by, of the row as it was.
    using: Option<plan::Expr>,
}

impl Ddl<'_> {
    /// The indexes' expressions mean what they mean by the table's new types; whether one has another type by that.
    fn retype_keys(&self, table: &mut Table) -> Result<bool> {
        let mut is_other = false;
        for at in 0..table.indexes.len() {
            let bound = bind_index(&table.indexes[at], table, &self.catalog)?;
            let index = Arc::make_mut(&mut table.indexes[at]);
            for (key, (_, expr)) in index.expressions.iter_mut().zip(&bound.expressions) {
                is_other |= key.data_type != expr.data_type();
                key.data_type = expr.data_type();
            }
        }
        Ok(is_other)
    }
}

/// Whether inverted indexes can be of the column with its new type.
fn check_items(table: &Table, column: usize, data_type: DataType) -> Result<()> {
    let inverted = table.indexes.iter().filter_map(|index| Some((index, index.inverted.as_ref()?)));
    for (part, class) in inverted.flat_map(|(index, inverted)| index.columns.iter().zip(&inverted.classes)) {
        if part.column == column {
            let default = data_type.base();
            let named = (ItemClass::default_of(default) != Some(*class)).then(|| class.name());
            item_class(named.filter(|_| ItemClass::default_of(default).is_some()), data_type)?;
        }
    }
    Ok(())
}

/// SQLSTATE 55000.
fn no_identity(table: &Table, column: &str) -> Error {
    let message = format!("column \"{column}\" of relation \"{}\" is not an identity column", table.name);
    Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
}

/// Whether every value of the one type is a value of the other, by the same bytes in rows and keys.
fn only_allows_more(from: DataType, to: DataType) -> bool {
    use DataType::{Interval, Numeric, Text, Time, TimeTz, Timestamp, TimestampTz, Varchar};
    match (from, to) {
        (Text | Varchar(_), Text | Varchar(None)) | (Numeric(_), Numeric(None)) => true,
        (Varchar(Some(before)), Varchar(Some(after))) => before <= after,
        (Numeric(Some((before, scale))), Numeric(Some((after, same)))) => scale == same && before <= after,
        (Time(before), Time(after))
        | (TimeTz(before), TimeTz(after))
        | (Timestamp(before), Timestamp(after))
        | (TimestampTz(before), TimestampTz(after)) => {
            let digits = |of: Option<u8>| of.unwrap_or(DIGITS_MAX);
            digits(before) <= digits(after)
        }
        (Interval(_), Interval(None)) => true,
        _ => from == to,
    }
}

/// SQLSTATE 42601 for a column that has no default, but gets its values in another way.
fn refuse_computed(table: &Table, position: usize) -> Result<()> {
    let column = &table.columns[position];
    let is = match (&column.identity, &column.generated) {
        (Some(_), _) => "an identity column",
        (_, Some(_)) => "a generated column",
        (None, None) => return Ok(()),
    };
    let message = format!("column \"{}\" of relation \"{}\" is {is}", column.name, table.name);
    Err(Error::new(SqlState::SYNTAX_ERROR, message))
}
