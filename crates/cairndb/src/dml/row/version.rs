//! A row of a collection gets a new version whenever it is changed, whoever changes it.
//!
//! INSERT draws it with the defaults of other columns; what changes a row draws it here, unless it has one at hand that nobody has
//! seen: the point path draws before the commit lock, ON CONFLICT takes that of the row that was proposed.

use cairn_parser::token::quoted;

use super::Target;
use crate::catalog::{Catalog, Table};
use crate::plan::{Expr, SequenceOp};
use crate::types::DataType;
use crate::{Error, Result, Value};

/// The column of a collection's versions, and what gives the next.
#[derive(Debug)]
pub(crate) struct NextVersion {
    pub(crate) column: usize,
    value: Expr,
}

impl NextVersion {
    /// `None`: the table is no collection.
    pub(super) fn of(table: &Table, catalog: &Catalog) -> Result<Option<NextVersion>> {
        let Some(column) = table.version_column() else { return Ok(None) };
        let counter = catalog.counter_of(table).ok_or_else(|| Error::internal("a collection without its counter"))?;
        // For whatever path is searched.
        let schema = catalog.schema_name(counter.schema).unwrap_or_default();
        let name = Value::text(format!("{}.{}", quoted(schema), quoted(&counter.name)));
        let name = Box::new(Expr::Literal { value: name, data_type: DataType::Text });
        Ok(Some(NextVersion { column, value: Expr::Sequence { op: SequenceOp::Next, name, value: None } }))
    }
}

impl Target {
    /// The column that a change of a row has to give a new version besides those that it assigns.
    pub(crate) fn unversioned(&self, assigned: &[(usize, Expr)]) -> Option<usize> {
        let version = self.version.as_ref()?.column;
        assigned.iter().all(|(column, _)| *column != version).then_some(version)
    }

    /// Draws a version where none is assigned.
    pub(super) fn draw_version(&self, assigned: &mut Vec<(usize, Expr)>) {
        if let (Some(column), Some(next)) = (self.unversioned(assigned), &self.version) {
            assigned.push((column, next.value.clone()));
        }
    }
}
