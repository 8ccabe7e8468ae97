//! Composite types: CREATE TYPE ... AS (...), ALTER TYPE of attributes.

use super::context::Ddl;
use super::create_table::check_collated;
use crate::catalog::{CompositeParts, ObjectId, TypeKind, UserType, type_id};
use crate::command::{AttributeChange, AttributeDefinition, CreateComposite};
use crate::types::{Attribute, DataType};
use crate::{Error, Result, SqlState};

impl Ddl<'_> {
    pub(super) fn create_composite(&mut self, create: &CreateComposite) -> Result<&'static str> {
        let name = &create.name;
        let schema = self.schema_of_type(name)?;
        let mut parts = CompositeParts::default();
        for attribute in &create.attributes {
            if parts.attributes.iter().any(|known| known.name == attribute.name) {
                return Err(Error::repeated_column(&attribute.name));
            }
            self.add_attribute(&mut parts, attribute)?;
        }
        let [id, array_id] = [self.store.allocate_id(schema)?, self.store.allocate_id(schema)?];
        let (name, kind, data_type) = (name.name.clone(), TypeKind::Composite(parts), DataType::Unknown);
        self.store.put_type(&UserType { id, schema, name, array_id, kind, change: 0, data_type })?;
        Ok("CREATE TYPE")
    }

    fn add_attribute(&self, parts: &mut CompositeParts, attribute: &AttributeDefinition) -> Result<()> {
        let data_type = self.attribute_type(attribute)?;
        super::create_table::check_column_count(parts.attributes.len())?;
        parts.made += 1;
        parts.attributes.push(Attribute { name: attribute.name.clone(), data_type, number: parts.made });
        Ok(())
    }

    fn attribute_type(&self, attribute: &AttributeDefinition) -> Result<DataType> {
        let data_type = self.data_type(attribute.data_type)?;
        if attribute.is_collated {
            check_collated(data_type)?;
        }
        Ok(data_type)
    }

    pub(super) fn alter_attributes(&mut self, old: &UserType, changes: &[AttributeChange]) -> Result<()> {
        let TypeKind::Composite(mut parts) = old.kind.clone() else {
            let message = format!("\"{}\" is not a composite type", old.name);
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        };
        let mut check = false;
        for change in changes {
            check |= !matches!(change, AttributeChange::Add(_));
            self.alter_attribute(old, &mut parts, change)?;
        }
        self.store.put_type(&UserType { kind: TypeKind::Composite(parts), ..old.clone() })?;
        self.touch_dependents(old.id)?;
        if check { self.check_dependents(old.id) } else { Ok(()) }
    }

    fn alter_attribute(&mut self, old: &UserType, parts: &mut CompositeParts, change: &AttributeChange) -> Result<()> {
        let place = |parts: &CompositeParts, name: &str| {
            let at = parts.attributes.iter().position(|attribute| attribute.name == *name);
            at.ok_or_else(|| missing(old, name))
        };
        let refuse_taken = |parts: &CompositeParts, name: &str| match place(parts, name) {
            Ok(_) => Err(Error::existing_column(name, &old.name)),
            Err(_) => Ok(()),
        };
        match change {
            AttributeChange::Add(attribute) => {
                refuse_taken(parts, &attribute.name)?;
                self.add_attribute(parts, attribute)?;
                self.refuse_member_of_itself(old, parts)
            }
            AttributeChange::Drop { name, if_exists } => {
                match place(parts, name) {
                    Ok(at) => drop(parts.attributes.remove(at)),
                    Err(_) if *if_exists => {
                        let message = format!("{}, skipping", missing(old, name).message());
                        self.notice(SqlState::SUCCESSFUL_COMPLETION, message);
                    }
                    Err(error) => return Err(error),
                }
                Ok(())
            }
            AttributeChange::Rename { from, to } => {
                let at = place(parts, from)?;
                refuse_taken(parts, to)?;
                parts.attributes[at].name.clone_from(to);
                Ok(())
            }
            AttributeChange::Retype(attribute) => {
                let (at, data_type) = (place(parts, &attribute.name)?, self.attribute_type(attribute)?);
                self.refuse_stored(old)?;
                parts.attributes[at].data_type = data_type;
                self.refuse_member_of_itself(old, parts)
            }
        }
    }

    fn refuse_member_of_itself(&self, old: &UserType, parts: &CompositeParts) -> Result<()> {
        let resting: Vec<ObjectId> = self.catalog.types_resting_on(old.id);
        let mut made_of = parts.attributes.iter().filter_map(|attribute| type_id(attribute.data_type));
        if made_of.any(|id| resting.contains(&id)) {
            let message = format!("composite type {} cannot be made a member of itself", old.name);
            return Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message));
        }
        Ok(())
    }

    /// SQLSTATE 0A000 where values of the type lie in a table.
    fn refuse_stored(&self, old: &UserType) -> Result<()> {
        let types = self.catalog.types_resting_on(old.id);
        for table in self.catalog.tables() {
            let is_of = |data_type| type_id(data_type).is_some_and(|id| types.contains(&id));
            if let Some(column) = table.columns.iter().find(|column| is_of(column.data_type)) {
                let message = format!(
                    "cannot alter type \"{}\" because column \"{}.{}\" uses it",
                    old.name, table.name, column.name
                );
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
        }
        Ok(())
    }
}

/// SQLSTATE 42703.
fn missing(of: &UserType, attribute: &str) -> Error {
    Error::undefined_column_of(attribute, &of.name)
}
