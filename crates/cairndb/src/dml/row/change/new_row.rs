//! The row as a change makes it.

use super::{ChangeBuffers, RowChange};
use crate::Value;
use crate::dml::row::assign::Both;
use crate::dml::row::{Env, Stop, Stored};
use crate::plan::{Columns, Datum};

/// The row as it will be, then what RETURNING sees beside it.
pub(super) struct NewRow<'a> {
    pub(super) change: &'a RowChange,
    pub(super) both: &'a Both<'a>,
    /// Once computed.
    pub(super) values: &'a [Value],
    pub(super) env: Env<'a>,
}

impl NewRow<'_> {
    /// The new value of an assignment, lent.
    pub(super) fn value(&self, at: usize) -> Result<Datum<'_>, Stop> {
        self.change.assignments[at].value(&self.values[at], self.both, self.env)
    }
}

impl Columns<Stop> for NewRow<'_> {
    fn column(&self, index: usize) -> Result<Datum<'_>, Stop> {
        match self.change.by_column.get(index) {
            Some(Some(at)) => self.value(*at),
            Some(None) => self.both.old.column(index),
            None => self.both.beside(self.change.extra_at + index - self.change.by_column.len()),
        }
    }
}

impl RowChange {
    /// What the new row violates, in words.
    pub(crate) fn worded(
        &self,
        stop: Stop,
        key: &[u8],
        beside: Option<&dyn Columns<Stop>>,
        env: Env<'_>,
        buffers: &ChangeBuffers,
    ) -> Stop {
        self.with_new(key, beside, env, buffers, |new| env.worded(stop, &self.rules.target, new))
    }

    pub(super) fn with_new<R>(
        &self,
        key: &[u8],
        beside: Option<&dyn Columns<Stop>>,
        env: Env<'_>,
        buffers: &ChangeBuffers,
        read: impl FnOnce(&NewRow<'_>) -> R,
    ) -> R {
        let target = &*self.rules.target;
        let old = Stored { layout: &target.layout, key, value: &buffers.old };
        let both = Both { old: &old, beside, width: target.table.columns.len() };
        read(&NewRow { change: self, both: &both, values: &buffers.values, env })
    }
}
