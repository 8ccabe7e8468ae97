//! SELECT of [few rows](super::few): a customer's orders, by an index or by a part of the primary key.

use std::ops::ControlFlow;

use cairn_storage::Session;

use super::Miss;
use super::few::{self, PrefixRows};
use super::join::{JoinSource, Joined, accepts};
use super::row_ref::{RowRef, StoredRow};
use super::select::PointSelect;
use crate::Value;
use crate::catalog::Catalog;
use crate::dml::row::{Env, Stop};
use crate::plan::PhysicalPlan;
use crate::types::SessionUses;

/// A SELECT of few rows.
#[derive(Debug)]
pub(crate) struct PointRows {
    /// What becomes of each row.
    select: PointSelect,
    several: PrefixRows,
}

/// The buffers of a PointRows.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    few: few::Scratch,
    computed: Vec<Value>,
}

impl PointRows {
    pub(super) fn of(plan: &PhysicalPlan, catalog: &Catalog) -> Option<PointRows> {
        let source = JoinSource::of(plan, catalog)?;
        let several = PrefixRows::of(&source, &source.outputs)?;
        Some(PointRows { select: PointSelect::of_source(source)?, several })
    }

    /// Nothing is computed.
    pub(crate) fn is_plain(&self) -> bool {
        self.select.is_plain()
    }

    /// Reads the rows in the newest durable state and hands them to `read`, until it breaks. `stamp`: the catalog's, that
    /// the plan rests on. Where it fails some may have been handed over.
    pub(crate) fn run(
        &self,
        session: &mut Session,
        stamp: u64,
        env: Env<'_>,
        (scratch, uses): (&mut Scratch, &mut SessionUses),
        mut read: impl FnMut(RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<(), Miss> {
        let select = &self.select;
        scratch.few.begin();
        self.several.run(session, stamp, |state| {
            let Scratch { few, computed } = scratch;
            let mut left = select.wanted(env)?;
            if left == 0 {
                return Ok(());
            }
            self.several.each(&select.steps, (state, left), env, few, &mut |rows| {
                let joined = Joined { steps: &select.steps, rows };
                if !accepts(&select.filters, &joined, env)? {
                    return Ok(ControlFlow::Continue(()));
                }
                select.compute(&joined, env, computed).map_err(Stop::in_write)?;
                left -= 1;
                let more = read(RowRef::stored(StoredRow { plan: select, rows, computed, params: env.params }));
                Ok(if left == 0 { ControlFlow::Break(()) } else { more })
            })
        })?;
        self.several.note_uses(&select.steps, &scratch.few, uses);
        Ok(())
    }
}
