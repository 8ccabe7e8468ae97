//! DELETE of one row by its primary key or a unique index.

use std::sync::Arc;

use cairn_storage::Ticket;

use super::place::Place;
use super::shape::{Finder, PointSource};
use super::{Miss, WriteBuffers};
use crate::dml::row::{Env, NoColumns, ObservedAtOnce, RowDelete, Target, look_up};
use crate::exec::Stored;
use crate::plan::{Held, Returning};
use crate::types::{FewUses, SessionUses};

/// A DELETE from a table that nothing refers to.
#[derive(Debug)]
pub(crate) struct PointDelete {
    finder: Finder,
    program: RowDelete,
}

impl PointDelete {
    /// `source`: the target's row.
    pub(super) fn of_source(
        source: PointSource,
        target: &Arc<Target>,
        returning: Option<&Returning>,
    ) -> Option<PointDelete> {
        let columns = target.table.columns.len() + usize::from(target.layout.has_row_numbers());
        if source.table.id != target.table.id || source.outputs.len() != columns {
            return None;
        }
        let returning = returning.map(|returning| returning.exprs.as_slice());
        let program = RowDelete::new(target, source.filter.as_ref(), returning);
        program.is_evaluable(Held::Commit).then(|| PointDelete { finder: source.finder(), program })
    }

    pub(crate) fn is_plain(&self) -> bool {
        self.program.evaluates_nothing()
    }

    /// Deletes the row; how many there were, and the ticket.
    pub(crate) fn run(
        &self,
        place: Place<'_>,
        stamp: u64,
        env: Env<'_>,
        (buffers, uses): (&mut WriteBuffers, &mut SessionUses),
    ) -> Result<(u64, Option<Ticket>), Miss> {
        let WriteBuffers { key, row_key, row, delete, returned, .. } = buffers;
        let (program, target) = (&self.program, &self.program.target);
        self.finder.key.encode(env.params, key).ok_or(Miss::General)?;
        let mut is_there = false;
        let written = place.write(stamp, &mut |trees| {
            is_there = false;
            let Some(key) = self.finder.row_key(trees, key, row_key)? else { return Ok(false) };
            if !program.reads_row() {
                is_there = program.run(trees, (key, &NoColumns), env, delete, &mut ObservedAtOnce, returned)?;
                return Ok(is_there);
            }
            is_there = look_up(trees, target.table.tree, key, row)?;
            if !is_there {
                return Ok(false);
            }
            let stored = Stored { layout: &target.layout, key, value: row };
            program.run(trees, (key, &stored), env, delete, &mut ObservedAtOnce, returned)
        })?;
        uses.note(self.finder.used, if is_there { FewUses::ROW } else { FewUses::NOTHING });
        Ok(written)
    }
}
