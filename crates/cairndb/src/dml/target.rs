//! A table as DML writes it.

use std::sync::Arc;

use crate::Result;
use crate::bind::bind_check;
use crate::catalog::{Catalog, Table, TableLayout};
use crate::plan::Expr;

/// A table with its layout and its bound CHECK conditions.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) table: Arc<Table>,
    pub(crate) layout: Arc<TableLayout>,
    /// One per `table.checks`.
    pub(crate) checks: Vec<Expr>,
}

impl Target {
    pub(crate) fn new(table: &Arc<Table>, catalog: &Catalog) -> Result<Target> {
        let checks = table.checks.iter().map(|check| bind_check(&check.condition, table, catalog));
        let checks = checks.collect::<Result<_>>()?;
        Ok(Target { table: table.clone(), layout: catalog.layout(table), checks })
    }
}
