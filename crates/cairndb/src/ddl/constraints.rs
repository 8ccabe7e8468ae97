//! Constraints and indexes of a table that is being made or altered.

use std::ops::Bound;
use std::sync::Arc;

use cairn_parser::{Expr, Id};

use super::context::Ddl;
use super::names::{Chosen, constraint_exists, constraint_name};
use crate::bind::{Virtuals, bind_check, resolve_check};
use crate::catalog::{Check, Deferral, Index, Relation, Table, TableLayout};
use crate::exec::eval_row;
use crate::plan::is_volatile;
use crate::types::DataType;
use crate::types::row::decode_raw;
use crate::{Error, Result, SqlState, Value};

/// SQLSTATE 42704 where a type has no order.
pub(super) fn check_key(data_type: DataType) -> Result<()> {
    if matches!(data_type.element().unwrap_or(data_type), DataType::Composite(_)) {
        let error = Error::unsupported("a key of a composite type");
        return Err(error.with_hint("Use its attributes: an index of (column).attribute."));
    }
    if data_type.is_comparable() {
        return Ok(());
    }
    let message =
        format!("data type {} has no default operator class for access method \"btree\"", data_type.type_name());
    let hint = "Use jsonb, whose values have an order, or an expression that gives a part of the document.";
    Err(Error::new(SqlState::UNDEFINED_OBJECT, message).with_hint(hint))
}

/// Positions of key columns; SQLSTATE 42703, 42701.
pub(super) fn key_positions(table: &Table, columns: &[String], kind: &str) -> Result<Vec<usize>> {
    let mut positions = Vec::with_capacity(columns.len());
    for name in columns {
        let position = table.column_position(name).ok_or_else(|| {
            Error::new(SqlState::UNDEFINED_COLUMN, format!("column \"{name}\" named in key does not exist"))
        })?;
        if positions.contains(&position) {
            let message = format!("column \"{name}\" appears twice in {kind} constraint");
            return Err(Error::new(SqlState::DUPLICATE_COLUMN, message));
        }
        let what = match kind {
            "unique" => "unique constraints",
            "primary key" => "primary keys",
            _ => "foreign key constraints",
        };
        refuse_virtual(table, position, what)?;
        check_key(table.columns[position].data_type)?;
        positions.push(position);
    }
    Ok(positions)
}

/// SQLSTATE 0A000: rows have no value of a virtual column.
pub(super) fn refuse_virtual(table: &Table, position: usize, what: &str) -> Result<()> {
    if table.columns.get(position).is_none_or(|column| !column.is_virtual) {
        return Ok(());
    }
    let message = format!("{what} on virtual generated columns are not supported");
    let hint = "Make the column STORED, or make an index of the expression that it is computed by.";
    Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).with_hint(hint))
}

/// Positions of INCLUDEd columns; SQLSTATE 42703, 0A000.
fn included_positions(table: &Table, columns: &[String]) -> Result<Vec<usize>> {
    let position = |name: &String| {
        let position = table.column_position(name).ok_or_else(|| {
            Error::new(SqlState::UNDEFINED_COLUMN, format!("column \"{name}\" named in key does not exist"))
        })?;
        refuse_virtual(table, position, "indexes").map(|()| position)
    };
    columns.iter().map(position).collect()
}

/// SQLSTATE 42710 where the table has a constraint of this name.
pub(super) fn refuse_duplicate(table: &Table, name: &str) -> Result<()> {
    if !constraint_exists(table, name) {
        return Ok(());
    }
    let message = format!("constraint \"{name}\" for relation \"{}\" already exists", table.name);
    Err(Error::new(SqlState::DUPLICATE_OBJECT, message))
}

impl Ddl<'_> {
    /// Makes the columns the primary key of `table` (only its description: the caller sees to the rows).
    pub(super) fn set_primary_key(
        &self,
        table: &mut Table,
        name: Option<String>,
        (columns, included, deferral): (&[String], &[String], Deferral),
        chosen: &mut Chosen,
    ) -> Result<()> {
        if table.primary_key().is_some() {
            return Err(several_primary_keys(table));
        }
        let positions = key_positions(table, columns, "primary key")?;
        let included = included_positions(table, included)?;
        for &column in &positions {
            table.columns[column].not_null = true;
        }
        let id = self.store.allocate_id(table.schema)?;
        let name = match name {
            Some(name) => chosen.take_relation(&self.catalog, table.schema, name)?,
            None => chosen.relation(&self.catalog, table, "", "pkey"),
        };
        if deferral != Deferral::Never {
            let tree = self.dml.tx.create_derived_tree(table.schema)?;
            let index = Index { unique: false, deferral, ..Index::primary(tree, positions) };
            table.indexes.push(Arc::new(Index { id, name, included, ..index }));
        } else {
            table.primary = Some(Arc::new(Index { id, name, included, ..Index::primary(table.tree, positions) }));
        }
        Ok(())
    }

    /// Adds the index of a UNIQUE constraint, empty.
    pub(super) fn add_unique(
        &self,
        table: &mut Table,
        name: Option<String>,
        (columns, included): (&[String], &[String]),
        (nulls_equal, deferral): (bool, Deferral),
        chosen: &mut Chosen,
    ) -> Result<()> {
        let positions = key_positions(table, columns, "unique")?;
        let name = match name {
            Some(name) => chosen.take_relation(&self.catalog, table.schema, name)?,
            None => {
                let named_by: Vec<&str> = columns.iter().chain(included).map(String::as_str).collect();
                chosen.relation(&self.catalog, table, &named_by.join("_"), "key")
            }
        };
        let (id, included) = (self.store.allocate_id(table.schema)?, included_positions(table, included)?);
        let unique = deferral == Deferral::Never;
        let index = Index::new(self.dml.tx.create_derived_tree(table.schema)?, positions);
        let index = Index { unique, nulls_equal, constraint: true, deferral, ..index };
        table.indexes.push(Arc::new(Index { id, name, included, ..index }));
        Ok(())
    }

    /// Makes the index of this name, which is there, the one of a UNIQUE constraint, or the primary key. SQLSTATE 42704,
    /// 55000, 42809 where it can not be.
    pub(super) fn use_index(
        &mut self,
        table: &Arc<Table>,
        name: Option<&String>,
        (index, primary, deferral): (&str, bool, Deferral),
    ) -> Result<()> {
        let used = self.usable_index(table, index)?;
        let name = name.cloned().unwrap_or_else(|| index.to_owned());
        let mut new = Table::clone(table);
        if name != index {
            let message =
                format!("ALTER TABLE / ADD CONSTRAINT USING INDEX will rename index \"{index}\" to \"{name}\"");
            self.notice(SqlState::SUCCESSFUL_COMPLETION, message);
            Chosen::default().take_relation(&self.catalog, table.schema, name.clone())?;
        }
        if primary && table.primary_key().is_some() {
            return Err(several_primary_keys(table));
        }
        if deferral != Deferral::Never {
            return self
                .make_deferrable(new, Index { name, constraint: true, deferral, primary, ..Index::clone(&used) });
        }
        if !primary {
            let known = new.indexes.iter_mut().filter(|known| known.id == used.id);
            known.for_each(|known| {
                *known = Arc::new(Index { name: name.clone(), constraint: true, ..Index::clone(&used) })
            });
            return self.store.put_table(&new);
        }
        // Rows lie by their primary key: its index is the table.
        new.indexes.retain(|known| known.id != used.id);
        for column in used.positions() {
            new.columns[column].not_null = true;
        }
        let (id, included) = (self.store.allocate_id(table.schema)?, used.included.clone());
        new.primary = Some(Arc::new(Index { id, name, included, ..Index::primary(table.tree, used.positions()) }));
        self.rebuild_for_primary_key(table, new)
    }

    /// Makes a table's index that of a constraint that may wait: its entries are others.
    fn make_deferrable(&mut self, mut table: Table, index: Index) -> Result<()> {
        for part in index.columns.iter().filter(|_| index.primary) {
            self.verify_not_null(&table, part.column)?;
            table.columns[part.column].not_null = true;
        }
        let tree = self.dml.tx.create_derived_tree(table.schema)?;
        let index = Arc::new(Index { tree, unique: false, ..index });
        self.build_index(&table, &index)?;
        for known in table.indexes.iter_mut().filter(|known| known.id == index.id) {
            self.dml.tx.drop_tree(known.tree)?;
            *known = index.clone();
        }
        self.store.put_table(&table)
    }

    fn usable_index(&self, table: &Table, name: &str) -> Result<Arc<Index>> {
        let found = self.catalog.relation_in(table.schema, name);
        let refused = |code: SqlState, what: String| Err(Error::new(code, what));
        let (of, index) = match found {
            Some(Relation::Index(of, index)) if !index.constraint => (of, index.clone()),
            Some(Relation::Index(..)) => {
                let message = format!("index \"{name}\" is already associated with a constraint");
                return refused(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message);
            }
            Some(_) => return refused(SqlState::WRONG_OBJECT_TYPE, format!("\"{name}\" is not an index")),
            None => return refused(SqlState::UNDEFINED_OBJECT, format!("index \"{name}\" does not exist")),
        };
        if of.id != table.id {
            let message = format!("index \"{name}\" does not belong to table \"{}\"", table.name);
            return refused(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message);
        }
        let sorted = index.columns.iter().position(|part| part.descending || part.nulls_first);
        let what = match () {
            () if !index.unique => format!("\"{name}\" is not a unique index"),
            () if !index.expressions.is_empty() => format!("index \"{name}\" contains expressions"),
            () if index.predicate.is_some() => format!("\"{name}\" is a partial index"),
            () => match sorted {
                Some(at) => format!("index \"{name}\" column number {} does not have default sorting behavior", at + 1),
                None => return Ok(index),
            },
        };
        let detail = "Cannot create a primary key or unique constraint using such an index.";
        Err(Error::new(SqlState::WRONG_OBJECT_TYPE, what).with_detail(detail))
    }

    /// Adds a CHECK; its condition is bound, and so must make sense.
    pub(super) fn add_check(
        &self,
        table: &mut Table,
        name: Option<String>,
        condition: Id<Expr>,
        valid: bool,
    ) -> Result<()> {
        let (condition, columns) = resolve_check(self.text(condition), table, &self.catalog, self.maker())?;
        let name = match name {
            Some(name) => {
                refuse_duplicate(table, &name)?;
                name
            }
            None => constraint_name(table, &only_column(table, &columns), "check"),
        };
        table.checks.push(Check { id: self.store.allocate_id(table.schema)?, name, condition, columns, valid });
        Ok(())
    }

    /// SQLSTATE 23514 where a row of the table violates a CHECK of it.
    pub(super) fn verify_check(&self, table: &Table, check: &Check) -> Result<()> {
        let condition = bind_check(&check.condition, table, &self.catalog)?;
        let is_stored = |number: &u32| {
            table.position_of_number(*number).is_some_and(|position| !table.columns[position].is_virtual)
        };
        if !is_volatile(&condition)
            && check.columns.iter().all(is_stored)
            && let Some(row) = self.only_row(table, &check.columns)
            && eval_row(&condition, &row, self.dml.exec)? != Value::Boolean(false)
        {
            return Ok(());
        }
        self.for_each_row(table, |_, row| match eval_row(&condition, &row, self.dml.exec)? {
            Value::Boolean(false) => {
                let message = format!(
                    "check constraint \"{}\" of relation \"{}\" is violated by some row",
                    check.name, table.name
                );
                let error = Error::new(SqlState::CHECK_VIOLATION, message).with_constraint(&check.name);
                Err(error
                    .with_schema(self.catalog.schema_name(table.schema).unwrap_or_default())
                    .with_table(&*table.name))
            }
            _ => Ok(()),
        })
    }

    /// What every row has in the columns of these numbers, where no row has any of them: the others are NULL in it.
    fn only_row(&self, table: &Table, numbers: &[u32]) -> Option<Vec<Value>> {
        let mut row = vec![Value::Null; table.columns.len()];
        if numbers.is_empty() {
            return None;
        }
        for &number in numbers {
            let position = table.position_of_number(number)?;
            let column = table.columns.get(position).filter(|column| self.is_in_no_row(table, column))?;
            if let Some(raw) = &column.missing {
                row[position] = decode_raw(raw, column.data_type).ok()?;
            }
        }
        Some(row)
    }

    /// SQLSTATE 23502 where a row has NULL in the column.
    pub(super) fn verify_not_null(&self, table: &Table, column: usize) -> Result<()> {
        let virtuals = Virtuals::of(table, &self.catalog)?;
        self.for_each_row(table, |_, mut row| {
            virtuals.fill(&mut row, self.dml.exec)?;
            if !row[column].is_null() {
                return Ok(());
            }
            let name = &table.columns[column].name;
            let message = format!("column \"{name}\" of relation \"{}\" contains null values", table.name);
            Err(Error::new(SqlState::NOT_NULL_VIOLATION, message))
        })
    }

    /// Every row of the table, with its key.
    pub(super) fn for_each_row(
        &self,
        table: &Table,
        mut each: impl FnMut(&[u8], Vec<Value>) -> Result<()>,
    ) -> Result<()> {
        let layout = TableLayout::new(table);
        self.for_each_stored(table, |key, value| each(key, layout.decode(key, value)?))
    }

    /// Every row of the table as its tree has it.
    pub(super) fn for_each_stored(
        &self,
        table: &Table,
        mut each: impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut cursor = self.dml.tx.reader().cursor(table.tree, Bound::Unbounded, Bound::Unbounded)?;
        let mut count = 0u32;
        while let Some((key, value)) = cursor.next()? {
            count = count.wrapping_add(1);
            if count.is_multiple_of(1024) {
                self.dml.exec.check()?;
            }
            each(key, value)?;
        }
        Ok(())
    }
}

/// SQLSTATE 42P16.
fn several_primary_keys(table: &Table) -> Error {
    let message = format!("multiple primary keys for table \"{}\" are not allowed", table.name);
    Error::new(SqlState::INVALID_TABLE_DEFINITION, message)
}

/// The name of the one column that a condition uses; empty where it is none or several.
fn only_column(table: &Table, columns: &[u32]) -> String {
    let [number] = columns else { return String::new() };
    let column = table.columns.iter().find(|column| column.number == *number);
    column.map_or_else(String::new, |column| column.name.clone())
}
