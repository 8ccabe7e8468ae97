//! Types that users make: CREATE TYPE, ALTER TYPE, DROP TYPE.

use std::sync::Arc;

use cairn_parser::token::IDENTIFIER_BYTES_MAX;

use super::context::Ddl;
use super::dependency::{Object, definitions_of};
use super::names::noun;
use crate::bind::{DomainRules, bind_check, bind_default, bind_generated, bind_index, definition_fields};
use crate::catalog::{Catalog, Definition, ObjectId, ObjectName, Table, TypeKind, UserType, oid_of, type_id};
use crate::command::{AlterType, CreateEnum, DropTypes, EnumNeighbour, TypeChange};
use crate::system;
use crate::types::{DataType, EnumLabel, first_keys, key_between};
use crate::{Error, Result, SqlState};

impl Ddl<'_> {
    pub(super) fn create_enum(&mut self, create: &CreateEnum) -> Result<&'static str> {
        let name = &create.name;
        let schema = self.schema_of_type(name)?;
        let mut labels: Vec<EnumLabel> = Vec::with_capacity(create.labels.len());
        for (label, key) in create.labels.iter().zip(first_keys()) {
            if labels.iter().any(|known| known.name == *label) {
                let message = "duplicate key value violates unique constraint \"pg_enum_typid_label_index\"";
                let detail = format!("The label \"{label}\" is given twice.");
                return Err(Error::new(SqlState::UNIQUE_VIOLATION, message).with_detail(detail));
            }
            labels.push(self.new_label(label, key)?);
        }
        let [id, array_id] = [self.store.allocate_id(schema)?, self.store.allocate_id(schema)?];
        let kind = TypeKind::Enum(labels);
        let (name, data_type) = (name.name.clone(), DataType::Unknown);
        self.store.put_type(&UserType { id, schema, name, array_id, kind, change: 0, data_type })?;
        Ok("CREATE TYPE")
    }

    fn new_label(&self, name: &str, key: i64) -> Result<EnumLabel> {
        check_label(name)?;
        let oid = oid_of(self.store.allocate_id(ObjectId::PUBLIC)?);
        Ok(EnumLabel { key, oid, name: name.to_owned() })
    }

    /// The error that `taken` makes where a type, or a table or a view, which is one too, has this name.
    pub(super) fn refuse_taken_type(&self, schema: ObjectId, name: &str, taken: impl Fn() -> Error) -> Result<()> {
        use crate::catalog::RelationKind::{MaterializedView, Table, View};
        let relation = self.catalog.relation_in(schema, name).map(crate::catalog::Relation::kind);
        match self.catalog.type_in(schema, name).is_some() || matches!(relation, Some(MaterializedView | Table | View))
        {
            true => Err(taken()),
            false => Ok(()),
        }
    }

    /// SQLSTATE 42710 for a relation that has a row type, whose name a type has.
    pub(super) fn refuse_type_of_name(&self, schema: ObjectId, name: &str) -> Result<()> {
        match self.catalog.type_in(schema, name) {
            Some(_) => Err(already_exists(name).with_hint(
                "A relation has an associated type of the same name, \
                 so you must use a name that doesn't conflict with any existing type.",
            )),
            None => Ok(()),
        }
    }

    pub(super) fn alter_type(&mut self, alter: &AlterType) -> Result<&'static str> {
        let mut new = UserType::clone(&*self.user_type(&alter.name)?);
        if let Some(extension) = new.extension().filter(|_| !matches!(alter.change, TypeChange::Owner)) {
            let message = format!("cannot alter type {} because extension {extension} requires it", alter.name);
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
                .with_hint(format!("You can use ALTER EXTENSION {extension} SET SCHEMA.")));
        }
        let old = new.clone();
        match &alter.change {
            TypeChange::Owner => return Ok("ALTER TYPE"),
            TypeChange::Attributes(changes) => return self.alter_attributes(&old, changes).map(|()| "ALTER TYPE"),
            TypeChange::RenameTo(name) => return self.rename_type(&old, name).map(|()| "ALTER TYPE"),
            TypeChange::SetSchema(schema) => return self.move_type(&old, schema).map(|()| "ALTER TYPE"),
            TypeChange::AddValue { label, if_not_exists, beside } => {
                let TypeKind::Enum(labels) = &mut new.kind else { return Err(no_enum(&alter.name)) };
                if labels.iter().any(|known| known.name == *label) {
                    if !if_not_exists {
                        return Err(label_exists(label));
                    }
                    let message = format!("{}, skipping", label_exists(label).message());
                    self.notice(SqlState::DUPLICATE_OBJECT, message);
                    return Ok("ALTER TYPE");
                }
                let (at, key) = place_of_new(labels, beside.as_ref())?;
                let added = self.new_label(label, key)?;
                labels.insert(at, added);
            }
            TypeChange::RenameValue { from, to } => {
                let TypeKind::Enum(labels) = &mut new.kind else { return Err(no_enum(&alter.name)) };
                let at = labels.iter().position(|known| known.name == *from).ok_or_else(|| no_label(from))?;
                check_label(to)?;
                if labels.iter().any(|known| known.name == *to) {
                    return Err(label_exists(to));
                }
                labels[at].name.clone_from(to);
            }
        }
        self.store.put_type(&new)?;
        self.touch_dependents(new.id)?;
        if matches!(alter.change, TypeChange::RenameValue { .. }) {
            self.check_dependents(new.id)?;
        }
        Ok("ALTER TYPE")
    }

    pub(super) fn rename_type(&mut self, old: &UserType, name: &str) -> Result<()> {
        self.refuse_taken_type(old.schema, name, || already_exists(name))?;
        self.store.delete_type(old)?;
        self.store.put_type(&UserType { name: name.to_owned(), ..old.clone() })?;
        self.touch_dependents(old.id)
    }

    pub(super) fn move_type(&mut self, old: &UserType, schema: &str) -> Result<()> {
        let to = self.schema(schema)?;
        if to == old.schema {
            return Ok(());
        }
        self.refuse_taken_type(to, &old.name, || {
            let message = format!("type \"{}\" already exists in schema \"{schema}\"", old.name);
            Error::new(SqlState::DUPLICATE_OBJECT, message)
        })?;
        self.store.delete_type(old)?;
        self.store.put_type(&UserType { schema: to, ..old.clone() })?;
        self.touch_dependents(old.id)
    }

    /// What has something of the type is another thing from now on: plans that rest on it are made anew.
    pub(super) fn touch_dependents(&mut self, id: ObjectId) -> Result<()> {
        self.reload()?;
        let types = self.catalog.types_resting_on(id);
        for of in self.catalog.types() {
            let rests = types.contains(&of.id) || of.definitions().any(|definition| refers_to(definition, &types));
            if rests && of.id != id {
                self.store.put_type(of)?;
            }
        }
        for table in self.catalog.tables().filter(|table| uses_in_table(table, &types)) {
            self.store.put_table(table)?;
        }
        for routine in self.catalog.routines().filter_map(|function| function.routine()) {
            let mut defaults = routine.parameters.iter().filter_map(|parameter| parameter.default.as_ref());
            if routine.user_types().any(|of| types.contains(&of)) || defaults.any(|default| refers_to(default, &types))
            {
                self.store.put_routine(routine)?;
            }
        }
        for view in self.catalog.views().filter(|view| refers_to(&view.query, &types)) {
            self.store.put_view(view)?;
        }
        self.reload()
    }

    /// SQLSTATE 0A000 where a definition speaks of a label in a way that is not followed when the label gets another name.
    pub(super) fn check_dependents(&self, id: ObjectId) -> Result<()> {
        let refused = |what: String| {
            let message = format!("{what} names it in a text that can not be changed along");
            Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
                .with_hint("Drop that, alter the type, and make it again.")
        };
        let types = &*self.catalog.types_resting_on(id);
        for of in self.catalog.types().filter(|of| types.contains(&of.id)) {
            let TypeKind::Domain(domain) = &of.kind else { continue };
            let default =
                domain.default.as_ref().map_or(Ok(()), |of| bind_default(of, domain.base, &self.catalog).map(drop));
            let is_bound = default.and_then(|()| DomainRules::of(of, 0, &self.catalog).map(drop)).is_ok();
            if !is_bound {
                return Err(refused(format!("domain {}", self.catalog.shown_type(of))));
            }
        }
        for table in self.catalog.tables().filter(|table| uses_in_table(table, types)) {
            let name = self.catalog.table_name(table);
            check_table(table, &self.catalog).map_err(|_| refused(format!("a definition of table {name}")))?;
        }
        for (relation, query) in self.catalog.queries() {
            // A view of a table with a column of the type says nothing of the type.
            let is_bound = definition_fields(query, &self.catalog).is_ok();
            if !is_bound {
                let place = self.catalog.place_of(relation);
                let name = place.map(|(schema, name)| self.catalog.shown(schema, name)).unwrap_or_default();
                return Err(refused(format!("{} {name}", noun(relation.kind()))));
            }
        }
        Ok(())
    }

    pub(super) fn drop_types(&mut self, drop: &DropTypes) -> Result<&'static str> {
        let (mut targets, is_domain) = (Vec::new(), drop.is_domain);
        for name in &drop.names {
            if let Some(of) = systems(name) {
                let of = of.type_name();
                let message = format!("cannot drop type {of} because it is required by the database system");
                return Err(Error::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message));
            }
            match self.user_type(name) {
                Ok(found) if is_domain && found.domain().is_none() => {
                    return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a domain")));
                }
                Ok(found) if found.extension().is_some() => {
                    let extension = found.extension().unwrap_or_default();
                    let shown = self.catalog.shown_type(&found);
                    let message = format!("cannot drop type {shown} because extension {extension} requires it");
                    return Err(Error::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message)
                        .with_hint(format!("You can drop extension {extension} instead.")));
                }
                Ok(found) if !targets.contains(&Object::Type(found.id)) => targets.push(Object::Type(found.id)),
                Ok(_) => {}
                Err(error)
                    if drop.if_exists
                        && [SqlState::UNDEFINED_OBJECT, SqlState::INVALID_SCHEMA_NAME].contains(&error.sqlstate()) =>
                {
                    self.notice(SqlState::SUCCESSFUL_COMPLETION, format!("{}, skipping", error.message()));
                }
                Err(error) => return Err(error),
            }
        }
        self.drop_objects(&targets, drop.cascade)?;
        Ok(if is_domain { "DROP DOMAIN" } else { "DROP TYPE" })
    }

    pub(super) fn remove_type(&mut self, id: ObjectId) -> Result<()> {
        match self.catalog.type_by_id(id).cloned() {
            Some(of) => self.store.delete_type(&of),
            None => Ok(()),
        }
    }

    /// The type that a name means; SQLSTATE 42704, 3F000, and 42809 for one of the system's.
    pub(super) fn user_type(&self, name: &ObjectName) -> Result<Arc<UserType>> {
        if let Some(of) = systems(name) {
            let message = format!("{} is not a type that a user made", of.type_name());
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        }
        let found = self.catalog.user_type(name.schema.as_deref(), &name.name, |_, _| {})?;
        let missing = || Error::undefined_type(name);
        found.cloned().ok_or_else(missing)
    }
}

/// The system's type of this name.
fn systems(name: &ObjectName) -> Option<DataType> {
    let is_searched = name.schema.as_deref().is_none_or(system::is_schema);
    is_searched.then(|| DataType::from_name(&name.name)).flatten()
}

/// Where among the labels a new one goes, and its key; SQLSTATE 22023, 54000.
fn place_of_new(labels: &[EnumLabel], beside: Option<&EnumNeighbour>) -> Result<(usize, i64)> {
    let at = match beside {
        None => labels.len(),
        Some(EnumNeighbour { before, label }) => {
            let at = labels.iter().position(|known| known.name == *label).ok_or_else(|| no_label(label))?;
            if *before { at } else { at + 1 }
        }
    };
    let before = at.checked_sub(1).map(|at| labels[at].key);
    let key = key_between(before, labels.get(at).map(|label| label.key)).ok_or_else(|| {
        let message = "there is no room for another label between these two";
        Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message).with_hint(
            "Create a type with all labels in the order that is wanted, and ALTER TABLE ... ALTER COLUMN ... TYPE to it \
             USING the text of the old one.",
        )
    })?;
    Ok((at, key))
}

/// SQLSTATE 42602.
fn check_label(label: &str) -> Result<()> {
    match label.len() > IDENTIFIER_BYTES_MAX {
        true => Err(Error::new(SqlState::INVALID_NAME, format!("invalid enum label \"{label}\""))
            .with_detail(format!("Labels must be {IDENTIFIER_BYTES_MAX} bytes or less."))),
        false => Ok(()),
    }
}

/// SQLSTATE 42710.
pub(super) fn already_exists(name: &str) -> Error {
    Error::new(SqlState::DUPLICATE_OBJECT, format!("type \"{name}\" already exists"))
}

fn label_exists(label: &str) -> Error {
    Error::new(SqlState::DUPLICATE_OBJECT, format!("enum label \"{label}\" already exists"))
}

fn no_label(label: &str) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("\"{label}\" is not an existing enum label"))
}

/// SQLSTATE 42809.
fn no_enum(name: &ObjectName) -> Error {
    Error::new(SqlState::WRONG_OBJECT_TYPE, format!("{name} is not an enum"))
}

fn refers_to(definition: &Definition, types: &[ObjectId]) -> bool {
    definition.references().iter().any(|reference| types.contains(&reference.object))
}

fn uses_in_table(table: &Table, types: &[ObjectId]) -> bool {
    let is_of = |data_type: DataType| type_id(data_type).is_some_and(|id| types.contains(&id));
    table.columns.iter().any(|column| is_of(column.data_type) || column.domain.is_some_and(|id| types.contains(&id)))
        || table.indexes.iter().flat_map(|index| &index.expressions).any(|key| is_of(key.data_type))
        || definitions_of(table).any(|definition| refers_to(definition, types))
        || table.materialized().is_some_and(|of| refers_to(&of.query, types))
}

/// Everything that a table's definitions say can be bound.
fn check_table(table: &Table, catalog: &Catalog) -> Result<()> {
    for column in &table.columns {
        if let Some(default) = &column.default {
            bind_default(default, column.data_type, catalog)?;
        }
        if let Some(generated) = &column.generated {
            bind_generated(generated, column, table, catalog)?;
        }
    }
    for check in &table.checks {
        bind_check(&check.condition, table, catalog)?;
    }
    table.indexes.iter().try_for_each(|index| bind_index(index, table, catalog).map(drop))
}
