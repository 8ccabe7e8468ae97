//! FOREIGN KEY constraints.

use std::collections::HashSet;

use super::constraints::{key_positions, refuse_duplicate};
use super::context::Ddl;
use super::names::{constraint_name, missing};
use crate::catalog::{ForeignKey, ObjectId, ObjectName, ReferentialAction, Relation, RelationKind, Table};
use crate::command::References;
use crate::dml::{Target, verify_foreign_key};
use crate::types::{CastContext, DataType, can_cast};
use crate::{Error, Result, SqlState};

impl Ddl<'_> {
    /// Adds a foreign key to the table's description; its rows are the caller's to verify.
    pub(super) fn add_foreign_key(
        &self,
        table: &mut Table,
        name: Option<String>,
        columns: &[String],
        references: &References,
        valid: bool,
    ) -> Result<()> {
        let columns = key_positions(table, columns, "foreign key")?;
        refuse_actions(table, &columns, references)?;
        let parent_name = &references.table;
        let catalog = &self.catalog;
        let own;
        let parent: &Table = if self.is_own(table, parent_name) {
            own = table.clone();
            &own
        } else {
            self.relation(parent_name)?
                .and_then(Relation::table)
                .ok_or_else(|| missing(catalog, parent_name, RelationKind::Table))?
        };
        if parent.is_materialized() {
            let message = format!("referenced relation \"{}\" is not a table", parent.name);
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        }
        refuse_mixed(table, parent)?;
        let set_on_delete = columns_to_set(table, &columns, &references.set_on_delete)?;
        let referenced_columns = referenced_positions(parent, &references.columns, columns.len())?;
        let name = match name {
            Some(name) => {
                refuse_duplicate(table, &name)?;
                name
            }
            None => constraint_name(table, &joined(table, &columns), "fkey"),
        };
        check_types(table, &columns, parent, &referenced_columns, &name)?;
        if parent.id != table.id {
            self.store.put_name(parent.schema, &parent.name, parent.id)?;
        }
        table.foreign_keys.push(ForeignKey {
            id: self.store.allocate_id(table.schema)?,
            name,
            columns,
            referenced_table: parent.id,
            referenced_columns,
            on_delete: references.on_delete,
            set_on_delete,
            on_update: references.on_update,
            full: references.full,
            deferral: references.deferral,
            valid,
        });
        Ok(())
    }

    /// Whether the name means the table that is being made, or altered.
    fn is_own(&self, table: &Table, name: &ObjectName) -> bool {
        let has =
            |schema: &&ObjectId| **schema == table.schema || self.catalog.relation_in(**schema, &name.name).is_some();
        let schema = match &name.schema {
            Some(schema) => self.catalog.schema(schema),
            None => self.catalog.searched().iter().find(has).copied(),
        };
        name.name == table.name && schema == Some(table.schema)
    }

    /// SQLSTATE 23503 where a row of the table violates its foreign key at a position. The catalog must know the key.
    pub(super) fn verify_foreign_key(&self, table: ObjectId, position: usize) -> Result<()> {
        let table = self.table_of(table)?;
        let target = Target::of(&table, &self.catalog)?;
        let rows = self.rows();
        verify_foreign_key(&rows, &target, position, |each| self.for_each_row(&table, each))
    }
}

/// SQLSTATE 42P16 where one of the two is temporary and the other is not.
fn refuse_mixed(table: &Table, parent: &Table) -> Result<()> {
    let message = match (table.is_temporary(), parent.is_temporary()) {
        (true, false) => "constraints on temporary tables may reference only temporary tables",
        (false, true) => "constraints on permanent tables may reference only permanent tables",
        _ => return Ok(()),
    };
    Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message))
}

/// SQLSTATE 42601 for an action that would give a generated column a value.
fn refuse_actions(table: &Table, columns: &[usize], references: &References) -> Result<()> {
    use ReferentialAction::{Cascade, NoAction, Restrict, SetDefault, SetNull};
    if columns.iter().all(|column| table.columns[*column].generated.is_none()) {
        return Ok(());
    }
    let event = match (references.on_update, references.on_delete) {
        (Cascade | SetNull | SetDefault, _) => "UPDATE",
        (_, SetNull | SetDefault) => "DELETE",
        (NoAction | Restrict, NoAction | Restrict | Cascade) => return Ok(()),
    };
    let message = format!("invalid ON {event} action for foreign key constraint containing generated column");
    Err(Error::new(SqlState::SYNTAX_ERROR, message))
}

/// The columns that ON DELETE sets. SQLSTATE 42703, 42P10.
fn columns_to_set(table: &Table, key: &[usize], named: &[String]) -> Result<Vec<usize>> {
    let position = |name: &String| {
        let position = table.column_position(name).ok_or_else(|| {
            let message = format!("column \"{name}\" referenced in foreign key constraint does not exist");
            Error::new(SqlState::UNDEFINED_COLUMN, message)
        })?;
        if !key.contains(&position) {
            let message = format!("column \"{name}\" referenced in ON DELETE SET action must be part of foreign key");
            return Err(Error::new(SqlState::INVALID_COLUMN_REFERENCE, message));
        }
        Ok(position)
    };
    let mut columns = vec![];
    for name in named {
        let position = position(name)?;
        if !columns.contains(&position) {
            columns.push(position);
        }
    }
    Ok(columns)
}

fn joined(table: &Table, columns: &[usize]) -> String {
    let names: Vec<&str> = columns.iter().map(|&column| table.columns[column].name.as_str()).collect();
    names.join("_")
}

/// The referenced columns: those given, or the primary key. They must be unique.
fn referenced_positions(parent: &Table, given: &[String], count: usize) -> Result<Vec<usize>> {
    let invalid = |message: String| Err(Error::new(SqlState::INVALID_FOREIGN_KEY, message));
    let may_wait = |what: &str| {
        let message = format!("cannot use a deferrable {what} for referenced table \"{}\"", parent.name);
        Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
    };
    let positions = if given.is_empty() {
        match parent.primary_key() {
            Some(key) if key.is_deferrable() => return Err(may_wait("primary key")),
            Some(key) => key.positions().collect(),
            None => {
                let message = format!("there is no primary key for referenced table \"{}\"", parent.name);
                return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
            }
        }
    } else {
        let mut each = given.to_vec();
        let mut seen = HashSet::new();
        each.retain(|name| seen.insert(name.clone()));
        let positions = key_positions(parent, &each, "foreign key").map_err(|error| match error.sqlstate() {
            SqlState::UNDEFINED_COLUMN => {
                let message = error.message().replace("named in key", "referenced in foreign key constraint");
                Error::new(SqlState::UNDEFINED_COLUMN, message)
            }
            _ => error,
        })?;
        if each.len() < given.len() {
            return invalid("foreign key referenced-columns list must not contain duplicates".to_owned());
        }
        positions
    };
    if positions.len() != count {
        return invalid("number of referencing and referenced columns for foreign key disagree".to_string());
    }
    if parent.unique_index_of(&positions).is_none() {
        if parent.indexes.iter().any(|index| index.is_over(&positions) && index.is_deferrable()) {
            return Err(may_wait("unique constraint"));
        }
        return invalid(format!(
            "there is no unique constraint matching given keys for referenced table \"{}\"",
            parent.name
        ));
    }
    Ok(positions)
}

/// SQLSTATE 42804 where the two sides cannot be compared.
fn check_types(table: &Table, columns: &[usize], parent: &Table, referenced: &[usize], name: &str) -> Result<()> {
    for (&column, &referenced) in columns.iter().zip(referenced) {
        let (from, to) = (&table.columns[column], &parent.columns[referenced]);
        if comparable(from.data_type, to.data_type) {
            continue;
        }
        let detail = format!(
            "Key columns \"{}\" and \"{}\" are of incompatible types: {} and {}.",
            from.name, to.name, from.data_type, to.data_type
        );
        let message = format!("foreign key constraint \"{name}\" cannot be implemented");
        return Err(Error::new(SqlState::DATATYPE_MISMATCH, message).with_detail(detail));
    }
    Ok(())
}

fn comparable(a: DataType, b: DataType) -> bool {
    a == b || can_cast(a, b, CastContext::Implicit) || can_cast(b, a, CastContext::Implicit)
}
