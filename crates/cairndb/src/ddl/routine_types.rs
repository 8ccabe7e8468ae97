//! The types of what functions and procedures take and give.

use std::sync::Arc;

use cairn_parser::{Id, TypeName};

use super::context::Ddl;
use crate::catalog::{ObjectId, OfDomain, UserType};
use crate::error::Feature;
use crate::functions::Declared;
use crate::sql::{element_or_array, name_text, plain_name};
use crate::types::DataType;
use crate::{Error, Result};

/// What a parameter's type says.
pub(super) struct ParameterType {
    pub(super) declared: Declared,
    /// The table of whose rows it is.
    pub(super) row_of: Option<ObjectId>,
    pub(super) domain: Option<OfDomain>,
}

impl ParameterType {
    /// What it is called by where a function is named.
    pub(super) fn named(&self) -> (Declared, Option<ObjectId>) {
        (self.declared, self.domain.as_ref().map(|domain| domain.id))
    }

    pub(super) fn name(&self) -> &str {
        self.domain.as_ref().map_or_else(|| self.declared.type_name(), |domain| &domain.name)
    }
}

impl Ddl<'_> {
    /// The type of a parameter, which may be one that calls decide.
    pub(super) fn declared_type(&self, name: Id<TypeName>) -> Result<ParameterType> {
        let (row_of, domain) = (None, None);
        if let Some(declared) = self.pseudo_type(name) {
            return Ok(ParameterType { declared, row_of, domain });
        }
        let Some(id) = self.row_type(name)? else {
            let (data_type, domain) = self.parameter_type(name)?;
            return Ok(ParameterType { declared: Declared::Type(data_type), row_of, domain });
        };
        let table =
            self.catalog.table_by_id(id).filter(|table| !table.is_temporary() && table.materialized().is_none());
        let table = table.ok_or_else(|| {
            let error = Error::unsupported("an argument of the type of a temporary table's rows, or of a view's");
            self.at_type(error, name)
        })?;
        let schema = self.catalog.schema_name(table.schema).unwrap_or_default();
        let declared = Declared::Type(DataType::Composite(table.row_type(schema)?));
        Ok(ParameterType { declared, row_of: Some(id), domain })
    }

    pub(super) fn pseudo_type(&self, name: Id<TypeName>) -> Option<Declared> {
        let tree = &self.parsed.tree;
        let node = tree.get(name);
        let plain = plain_name(tree, node.names).map(|(plain, _)| plain)?;
        Declared::named(plain).filter(|_| node.bounds.is_empty() && !node.of_column)
    }

    fn parameter_type(&self, name: Id<TypeName>) -> Result<(DataType, Option<OfDomain>)> {
        if self.parsed.tree.get(name).set_of {
            return Err(super::routine::invalid("functions cannot accept set arguments"));
        }
        self.result_type(name)
    }

    /// The type of what a function gives, or takes, and the domain that it is of.
    pub(super) fn result_type(&self, name: Id<TypeName>) -> Result<(DataType, Option<OfDomain>)> {
        let (data_type, domain) = match self.column_type(name)? {
            Some(found) => found,
            None => self.typed_by(name, element_or_array)?,
        };
        if domain.is_some() && matches!(data_type, DataType::Composite(_)) {
            let error = Error::lacking(Feature::DomainsOfRows, "a function of a domain over a composite type");
            return Err(self.at_type(error, name));
        }
        Ok((data_type.base(), domain.map(|of| OfDomain { id: of.id, name: of.name.clone() })))
    }

    /// The type of `table.column%TYPE`.
    fn column_type(&self, name: Id<TypeName>) -> Result<Option<(DataType, Option<Arc<UserType>>)>> {
        let tree = &self.parsed.tree;
        if !tree.get(name).of_column {
            return Ok(None);
        }
        let mut parts: Vec<String> =
            tree.list(tree.get(name).names).map(|part| name_text(tree, part).to_owned()).collect();
        let column = parts.pop().unwrap_or_default();
        let relation = crate::sql::object_name(parts)?;
        let table = self.table_or_materialized(&relation)?;
        let found = table
            .columns
            .iter()
            .find(|known| known.name == column)
            .ok_or_else(|| Error::undefined_column_of(column, &table.name))?;
        let domain = found.domain.and_then(|domain| self.catalog.type_by_id(domain)).cloned();
        Ok(Some((found.data_type, domain)))
    }

    pub(super) fn at_type(&self, error: Error, name: Id<TypeName>) -> Error {
        error.at(self.parsed.position_of(self.parsed.tree.span(name).start as usize))
    }

    /// The table whose row a type's name means.
    pub(super) fn row_type(&self, name: Id<TypeName>) -> Result<Option<ObjectId>> {
        let tree = &self.parsed.tree;
        let node = tree.get(name);
        if node.names.is_empty() || !node.bounds.is_empty() || node.of_column {
            return Ok(None);
        }
        let is_type = element_or_array(tree, name, &self.catalog.users_types()).is_ok();
        let parts: Vec<String> = tree.list(node.names).map(|part| name_text(tree, part).to_owned()).collect();
        let found = crate::sql::object_name(parts).ok().and_then(|name| self.catalog.relation(&name).cloned());
        Ok(found.filter(|_| !is_type).and_then(|relation| relation.table().map(|table| table.id)))
    }
}
