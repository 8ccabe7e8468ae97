//! CREATE SCHEMA, ALTER SCHEMA, DROP SCHEMA, and SET SCHEMA of what is in one.

use std::sync::Arc;

use super::context::Ddl;
use super::dependency::Object;
use super::names::{already_exists_in, is_a, missing};
use crate::catalog::{ObjectId, Relation, RelationKind, SearchPath, Sequence, TEMPORARY, Table, View, no_schema};
use crate::command::{AlterSchema, CreateSchema, DropSchemas, SchemaCommand, SetSchema};
use crate::system;
use crate::{Error, Result, SqlState};

/// The schema that an element of a schema says it is in.
fn schema_named(command: &SchemaCommand) -> Option<&String> {
    let name = match command {
        SchemaCommand::CreateTable(create) => &create.name,
        SchemaCommand::CreateView(create) => &create.name,
        SchemaCommand::CreateSequence(create) => &create.name,
        SchemaCommand::CreateIndex(create) => &create.table,
        SchemaCommand::CreateTrigger(create) => &create.table,
        _ => return None,
    };
    name.schema.as_ref()
}

impl Ddl<'_> {
    pub(super) fn create_schema(&mut self, create: &CreateSchema) -> Result<&'static str> {
        let name = &create.name;
        refuse_reserved(name)?;
        if self.catalog.schema(name).is_some() {
            let error = Error::existing_schema(name);
            if !create.if_not_exists {
                return Err(error);
            }
            self.notice(error.sqlstate(), format!("{}, skipping", error.message()));
            return Ok("CREATE SCHEMA");
        }
        self.store.put_schema(self.store.allocate_schema_id()?, name)?;
        self.make_elements(create)?;
        Ok("CREATE SCHEMA")
    }

    /// Runs the commands that make what is in a new schema: names are looked up there first. SQLSTATE 42P15 where one names another, 42P16 where it
    /// is temporary, 25001 for what runs in no transaction but its own.
    fn make_elements(&mut self, create: &CreateSchema) -> Result<()> {
        for element in &create.elements {
            self.reload()?;
            if let Some(other) = schema_named(&element.command).filter(|schema| **schema != create.name) {
                let new = &create.name;
                let message =
                    format!("CREATE specifies a schema ({other}) different from the one being created ({new})");
                return Err(Error::new(SqlState::INVALID_SCHEMA_DEFINITION, message));
            }
            if element.command.makes_temporary() {
                let message = "cannot create temporary relation in non-temporary schema";
                return Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message));
            }
            let mut path = SearchPath::clone(self.catalog.path());
            path.schemas.insert(0, create.name.clone());
            let done = self.run_within(element, &Arc::new(path))?;
            self.done.notices.extend(done.notices);
        }
        self.reload()
    }

    pub(super) fn alter_schema(&mut self, alter: &AlterSchema) -> Result<&'static str> {
        let id = self.schema(&alter.name)?;
        let Some(to) = &alter.to else { return Ok("ALTER SCHEMA") };
        if self.catalog.schema(to).is_some() {
            return Err(Error::existing_schema(to));
        }
        refuse_reserved(to)?;
        self.store.put_schema(id, to)?;
        Ok("ALTER SCHEMA")
    }

    pub(super) fn drop_schemas(&mut self, drop: &DropSchemas) -> Result<&'static str> {
        let mut targets = Vec::new();
        for name in &drop.names {
            match self.schema(name) {
                Ok(id) if !targets.contains(&Object::Schema(id)) => targets.push(Object::Schema(id)),
                Ok(_) => {}
                Err(error) if drop.if_exists && error.sqlstate() == SqlState::INVALID_SCHEMA_NAME => {
                    self.notice(SqlState::SUCCESSFUL_COMPLETION, format!("{}, skipping", error.message()));
                }
                Err(error) => return Err(error),
            }
        }
        let schemas: Vec<ObjectId> = targets
            .iter()
            .filter_map(|target| if let Object::Schema(id) = target { Some(*id) } else { None })
            .collect();
        self.drop_extensions_in(&schemas, drop.cascade)?;
        self.drop_objects(&targets, drop.cascade)?;
        Ok("DROP SCHEMA")
    }

    /// The schema of this name; SQLSTATE 3F000, and 42501 for one of the system's.
    pub(super) fn schema(&self, name: &str) -> Result<ObjectId> {
        if system::is_schema(name) {
            let message = format!("permission denied for schema {name}");
            return Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
        }
        self.catalog.schema(name).filter(|schema| !schema.is_temporary()).ok_or_else(|| no_schema(name))
    }

    pub(super) fn remove_schema(&mut self, id: ObjectId) -> Result<()> {
        self.store.delete_schema(id)
    }

    /// A table's indexes and the sequences of its columns go with it.
    pub(super) fn set_schema(&mut self, change: &SetSchema) -> Result<&'static str> {
        let tag = match change.kind {
            RelationKind::View => "ALTER VIEW",
            RelationKind::MaterializedView => "ALTER MATERIALIZED VIEW",
            RelationKind::Sequence => "ALTER SEQUENCE",
            _ => "ALTER TABLE",
        };
        let name = &change.name;
        if self.is_skipped(name, change.if_exists)? {
            return Ok(tag);
        }
        let Some(relation) = self.relation(name)?.cloned() else { return Err(self.catalog.no_relation(name)) };
        if change.kind != RelationKind::Table && relation.kind() != change.kind {
            return Err(missing(&self.catalog, name, change.kind));
        }
        let to = match change.schema.as_str() {
            TEMPORARY => ObjectId::TEMPORARY,
            schema => self.schema(schema)?,
        };
        match relation {
            Relation::Table(table) => self.move_table(&table, to)?,
            Relation::View(view) if self.is_moved((view.schema, to), &view.name)? => {
                self.store.forget_name(view.schema, &view.name)?;
                self.store.put_view(&View { schema: to, ..View::clone(&view) })?;
            }
            Relation::Sequence(sequence) => self.move_sequence(&sequence, to)?,
            Relation::View(_) => {}
            Relation::Index(..) => return Err(is_a(&name.name, RelationKind::Index)),
        }
        Ok(tag)
    }

    /// Whether something moves; SQLSTATE 42P07 where its name is taken.
    fn is_moved(&self, (from, to): (ObjectId, ObjectId), name: &str) -> Result<bool> {
        if from == to {
            return Ok(false);
        }
        if from.is_temporary() || to.is_temporary() {
            let message = "cannot move objects into or out of temporary schemas";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        match self.catalog.relation_in(to, name) {
            Some(_) => Err(already_exists_in(name, self.catalog.schema_name(to).unwrap_or_default())),
            None => Ok(true),
        }
    }

    fn move_table(&mut self, table: &Arc<Table>, to: ObjectId) -> Result<()> {
        if !self.is_moved((table.schema, to), &table.name)? {
            return Ok(());
        }
        for index in table.all_indexes() {
            self.is_moved((table.schema, to), &index.name)?;
        }
        for sequence in self.owned_sequences(table.id) {
            self.is_moved((sequence.schema, to), &sequence.name)?;
            self.store.forget_name(sequence.schema, &sequence.name)?;
            self.store.put_sequence(&Sequence { schema: to, ..Sequence::clone(&sequence) })?;
        }
        self.store.forget_name(table.schema, &table.name)?;
        self.store.put_table(&Table { schema: to, ..Table::clone(table) })
    }

    fn move_sequence(&mut self, sequence: &Sequence, to: ObjectId) -> Result<()> {
        if let Some(table) = sequence.owner.and_then(|(table, _)| self.catalog.table_by_id(table)) {
            let message = "cannot move an owned sequence into another schema";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
                .with_detail(format!("Sequence \"{}\" is linked to table \"{}\".", sequence.name, table.name)));
        }
        match self.is_moved((sequence.schema, to), &sequence.name)? {
            true => {
                self.store.forget_name(sequence.schema, &sequence.name)?;
                self.store.put_sequence(&Sequence { schema: to, ..sequence.clone() })
            }
            false => Ok(()),
        }
    }
}

fn refuse_reserved(name: &str) -> Result<()> {
    if name == "information_schema" {
        return Err(Error::existing_schema(name));
    }
    if !name.starts_with("pg_") {
        return Ok(());
    }
    Err(Error::new(SqlState::RESERVED_NAME, format!("unacceptable schema name \"{name}\""))
        .with_detail("The prefix \"pg_\" is reserved for system schemas."))
}
