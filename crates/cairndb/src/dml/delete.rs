//! DELETE.

use std::sync::Arc;

use super::foreign_keys::ForeignKeys;
use super::source::Source;
use super::update::source_key;
use super::{DmlContext, DmlResult, Target, Writer};
use crate::Result;
use crate::bind::{BoundDelete, Returning};
use crate::catalog::Catalog;
use crate::plan::{OptimizerOptions, PhysicalPlan, optimize};

/// A DELETE, planned.
#[derive(Debug)]
pub(crate) struct DeletePlan {
    pub(crate) target: Arc<Target>,
    pub(crate) source: Arc<PhysicalPlan>,
    pub(crate) returning: Option<Returning>,
}

impl DeletePlan {
    pub(crate) fn new(bound: BoundDelete, catalog: &Catalog, options: &OptimizerOptions) -> Result<DeletePlan> {
        Ok(DeletePlan {
            target: Arc::new(Target::new(&bound.table, catalog)?),
            source: Arc::new(optimize(bound.source, catalog, options)?),
            returning: bound.returning,
        })
    }

    pub(crate) fn run(&self, context: &DmlContext<'_>) -> Result<DmlResult> {
        let source = Source::read(&self.source, context)?;
        let mut writer = Writer::new(&self.target, context);
        let mut keys = ForeignKeys::new(context);
        let mut result = DmlResult::default();
        let width = self.target.table.columns.len();
        source.for_each(context.exec, |mut row| {
            let key = source_key(&self.target, &row)?;
            if self.target.layout.has_row_numbers() {
                row.remove(width);
            }
            // A target row may come more than once; only its first time counts.
            if !writer.delete(&key, &row)? {
                return Ok(());
            }
            keys.deleted(&self.target.table, &row)?;
            result.add(&row, self.returning.as_ref(), context.exec)
        })?;
        keys.finish()?;
        Ok(result)
    }
}
