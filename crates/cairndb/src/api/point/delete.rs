//! DELETE of one row by its primary key.

use std::sync::Arc;

use cairn_storage::Ticket;

use super::Miss;
use super::key::KeyTemplate;
use super::place::Place;
use super::shape::PointSource;
use crate::api::Params;
use crate::catalog::Table;
use crate::dml::DeletePlan;

/// A DELETE from a table that has no other trees and that nothing refers to.
#[derive(Debug)]
pub(in crate::api) struct PointDelete {
    table: Arc<Table>,
    key: KeyTemplate,
}

impl PointDelete {
    pub(super) fn of(plan: &DeletePlan) -> Option<PointDelete> {
        let source = PointSource::of(&plan.source)?;
        let table = &plan.target.table;
        let plain = plan.returning.is_none()
            && source.index.is_none()
            && source.table.id == table.id
            && table.indexes.is_empty()
            && table.referenced_by.is_empty();
        plain.then(|| PointDelete { table: table.clone(), key: source.key })
    }

    /// Deletes the row; how many there were, and the ticket.
    pub(in crate::api) fn run(
        &self,
        place: Place<'_>,
        stamp: u64,
        params: &dyn Params,
        key: &mut Vec<u8>,
    ) -> Result<(u64, Option<Ticket>), Miss> {
        self.key.encode(params, key).ok_or(Miss::General)?;
        place.write(stamp, &mut |trees| Ok(u64::from(trees.delete(self.table.tree, key)?)))
    }
}
