//! CREATE, ALTER and DROP EXTENSION. What extensions have is built in, and stays; what is made is where it is found besides.

use std::sync::Arc;

use super::context::Ddl;
use super::dependency::Object;
use super::types::already_exists;
use crate::catalog::{MadeExtension, ObjectId, ObjectName, TypeKind, UserType};
use crate::command::{AlterExtension, CreateExtension, DropExtensions};
use crate::functions::extensions::{PLPGSQL, extension};
use crate::types::{DataType, ExtensionTypeKind};
use crate::{Error, Result, SqlState};

impl Ddl<'_> {
    /// SQLSTATE 42710 for one that is there.
    pub(super) fn create_extension(&mut self, create: &CreateExtension) -> Result<&'static str> {
        let name = &create.name;
        if self.is_extension(name) {
            let message = format!("extension \"{name}\" already exists");
            if !create.if_not_exists {
                return Err(Error::new(SqlState::DUPLICATE_OBJECT, message));
            }
            self.notice(SqlState::DUPLICATE_OBJECT, format!("{message}, skipping"));
            return Ok("CREATE EXTENSION");
        }
        let schema = self.schema_of_extension(create.schema.as_deref(), name)?;
        let id = self.store.allocate_id(schema)?;
        self.store.put_extension(&MadeExtension { id, name: name.clone(), schema })?;
        if let Some(kind) = extension(name).and_then(|known| known.of_type) {
            self.make_type_of_extension(kind, schema)?;
        }
        Ok("CREATE EXTENSION")
    }

    /// SQLSTATE 42710 where a type has its name.
    fn make_type_of_extension(&mut self, kind: ExtensionTypeKind, schema: ObjectId) -> Result<()> {
        let name = kind.name();
        self.refuse_taken_type(schema, name, || already_exists(name))?;
        let [id, array_id] = [self.store.allocate_id(schema)?, self.store.allocate_id(schema)?];
        let (name, data_type) = (name.to_owned(), DataType::Unknown);
        let kind = TypeKind::Extension(kind);
        self.store.put_type(&UserType { id, schema, name, array_id, kind, change: 0, data_type })
    }

    /// The type that an extension brought.
    fn type_of_extension(&self, name: &str) -> Option<Arc<UserType>> {
        self.catalog.types().find(|of| of.extension() == Some(name)).cloned()
    }

    fn schema_of_extension(&self, schema: Option<&str>, name: &str) -> Result<ObjectId> {
        let schema = match schema {
            Some(schema) => self.schema(schema)?,
            None => self.schema_for(&ObjectName::new(None, name), false)?,
        };
        match schema.is_temporary() {
            true => Err(Error::unsupported("a temporary extension")),
            false => Ok(schema),
        }
    }

    /// Whether it was made, or is there always.
    pub(super) fn is_extension(&self, name: &str) -> bool {
        name == PLPGSQL || self.catalog.extension(name).is_some()
    }

    /// SQLSTATE 42704 for one that is not there, 22023 for a version that there is not.
    pub(super) fn alter_extension(&mut self, alter: &AlterExtension) -> Result<&'static str> {
        let name = &alter.name;
        let missing = || Error::new(SqlState::UNDEFINED_OBJECT, format!("extension \"{name}\" does not exist"));
        let known = extension(name).filter(|_| self.is_extension(name)).ok_or_else(missing)?;
        if let Some(schema) = &alter.schema {
            let Some(made) = self.catalog.extension(name).cloned() else {
                let message = format!("extension \"{name}\" does not support SET SCHEMA");
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
            };
            let schema = self.schema_of_extension(Some(schema), name)?;
            if let Some(of) = self.type_of_extension(name) {
                let schema = self.catalog.schema_name(schema).unwrap_or_default().to_owned();
                self.move_type(&of, &schema)?;
            }
            self.store.put_extension(&MadeExtension { schema, ..made })?;
            return Ok("ALTER EXTENSION");
        }
        match alter.version.as_deref().filter(|version| *version != known.version) {
            Some(other) => {
                let version = known.version;
                let message = format!(
                    "extension \"{name}\" has no update path from version \"{version}\" to version \"{other}\""
                );
                Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message))
            }
            None => {
                let version = known.version;
                let message = format!("version \"{version}\" of extension \"{name}\" is already installed");
                self.notice(SqlState::SUCCESSFUL_COMPLETION, message);
                Ok("ALTER EXTENSION")
            }
        }
    }

    /// What is built in stays, but for a type. SQLSTATE 42704; 2BP01 where something is of the type, without CASCADE.
    pub(super) fn drop_extensions(&mut self, drop: &DropExtensions) -> Result<&'static str> {
        for name in &drop.names {
            let missing = format!("extension \"{name}\" does not exist");
            let made = self.catalog.extension(name).map(|made| made.id);
            match made {
                Some(id) => {
                    self.store.delete_extension(id)?;
                    match self.type_of_extension(name) {
                        Some(of) => self.drop_objects(&[Object::Type(of.id)], drop.cascade)?,
                        None => self.notice(
                            SqlState::SUCCESSFUL_COMPLETION,
                            format!("what extension \"{name}\" has is built in, and stays"),
                        ),
                    }
                }
                None if name == PLPGSQL => {
                    self.notice(SqlState::SUCCESSFUL_COMPLETION, format!("extension \"{name}\" is built in, and stays"))
                }
                None if drop.if_exists => self.notice(SqlState::SUCCESSFUL_COMPLETION, format!("{missing}, skipping")),
                None => return Err(Error::new(SqlState::UNDEFINED_OBJECT, missing)),
            }
        }
        Ok("DROP EXTENSION")
    }

    /// The extensions in schemas that go. SQLSTATE 2BP01 without CASCADE.
    pub(super) fn drop_extensions_in(&mut self, schemas: &[ObjectId], cascade: bool) -> Result<()> {
        let made: Vec<MadeExtension> =
            self.catalog.extensions().filter(|made| schemas.contains(&made.schema)).cloned().collect();
        for made in made {
            if !cascade {
                let schema = self.catalog.schema_name(made.schema).unwrap_or_default();
                let message = format!("cannot drop schema {schema} because other objects depend on it");
                return Err(Error::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message)
                    .with_detail(format!("extension {} depends on schema {schema}", made.name))
                    .with_hint("Use DROP ... CASCADE to drop the dependent objects too."));
            }
            self.store.delete_extension(made.id)?;
        }
        Ok(())
    }
}
