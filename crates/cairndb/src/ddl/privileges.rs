//! GRANT and REVOKE do nothing, but what they are about must be there, as in PostgreSQL.

use super::context::Ddl;
use super::names::missing;
use crate::Result;
use crate::catalog::{ObjectName, RelationKind, no_schema};
use crate::command::Target;
use crate::system;

impl Ddl<'_> {
    pub(super) fn find_target(&self, target: &Target) -> Result<()> {
        match target {
            Target::Relations(names, kind) => names.iter().try_for_each(|name| self.find_relation(name, *kind)),
            Target::Routines(signatures, kind) => {
                signatures.iter().try_for_each(|signature| self.routine_of(signature, *kind).map(drop))
            }
            Target::Schemas(names) => names.iter().try_for_each(|name| match self.catalog.schema(name) {
                None if !system::is_schema(name) => Err(no_schema(name)),
                _ => Ok(()),
            }),
            Target::Other => Ok(()),
        }
    }

    fn find_relation(&self, name: &ObjectName, kind: Option<RelationKind>) -> Result<()> {
        if system::named(name, &self.catalog).is_some() {
            return Ok(());
        }
        match self.catalog.relation_kind(name) {
            Some(found) if kind.is_none_or(|kind| kind == found) => Ok(()),
            _ => Err(missing(&self.catalog, name, kind.unwrap_or(RelationKind::Table))),
        }
    }
}
