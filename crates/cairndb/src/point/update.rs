//! UPDATE of one row by its primary key or a unique index.

use std::sync::Arc;

use cairn_storage::Ticket;

use super::place::Place;
use super::shape::{Finder, PointSource};
use super::{Miss, WriteBuffers};
use crate::catalog::{Catalog, Sequence};
use crate::dml::row::{Env, ObservedAtOnce, RowChange, Target};
use crate::plan::{Expr, Held, Returning};
use crate::types::{DataType, FewUses, SessionUses};

/// An UPDATE that leaves the row's key, and what other tables refer to, alone.
#[derive(Debug)]
pub(crate) struct PointUpdate {
    finder: Finder,
    change: RowChange,
}

impl PointUpdate {
    /// `source`: the target's old row, then the new values of the `assigned` columns. With what it draws a value from, which is
    /// behind the statement's parameters then.
    pub(super) fn of_source(
        source: PointSource,
        target: &Arc<Target>,
        assigned: &[usize],
        returning: Option<&Returning>,
        (parameters, catalog): (usize, &Catalog),
    ) -> Option<(PointUpdate, Box<[Arc<Sequence>]>)> {
        // The old row, its row number where it has one, the new values; nothing of other tables.
        let values = target.table.columns.len() + usize::from(target.layout.has_row_numbers());
        let values = source.outputs.get(values..)?;
        if source.table.id != target.table.id || values.len() != assigned.len() {
            return None;
        }
        let mut assigned: Vec<(usize, Expr)> = assigned.iter().copied().zip(values.iter().cloned()).collect();
        let counter = target.unversioned(&assigned).map(|version| {
            assigned.push((version, Expr::parameter(parameters, DataType::BigInt)));
            catalog.counter_of(&target.table).cloned()
        });
        let returning = returning.map(|returning| returning.exprs.as_slice());
        let change = RowChange::new(target, catalog, assigned, source.filter.as_ref(), (returning, 0));
        let draws = counter.into_iter().collect::<Option<_>>()?;
        change.is_evaluable(Held::Commit).then(|| (PointUpdate { finder: source.finder(), change }, draws))
    }

    pub(crate) fn is_plain(&self) -> bool {
        self.change.evaluates_nothing()
    }

    /// Updates the row; how many there were, and the ticket.
    pub(crate) fn run(
        &self,
        place: Place<'_>,
        stamp: u64,
        env: Env<'_>,
        (buffers, uses): (&mut WriteBuffers, &mut SessionUses),
    ) -> Result<(u64, Option<Ticket>), Miss> {
        let WriteBuffers { key, row_key, change, returned, .. } = buffers;
        self.finder.key.encode(env.params, key).ok_or(Miss::General)?;
        let mut is_there = false;
        let written = place.write(stamp, &mut |trees| match self.finder.row_key(trees, key, row_key)? {
            Some(row_key) => {
                let changed = self.change.run(trees, (row_key, None), env, change, &mut ObservedAtOnce, returned)?;
                is_there = change.is_there();
                Ok(changed)
            }
            None => {
                is_there = false;
                Ok(false)
            }
        })?;
        uses.note(self.finder.used, if is_there { FewUses::ROW } else { FewUses::NOTHING });
        Ok(written)
    }
}
