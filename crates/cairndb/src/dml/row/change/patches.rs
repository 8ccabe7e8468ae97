//! Rows of a batch that are patched where they lie, in one pass of their leaves.

use std::sync::Arc;

use cairn_storage::Patches;

use super::RowChange;
use crate::columns::Vector;
use crate::dml::row::assign::Assignment;
use crate::dml::row::{NewColumn, Stop};
use crate::types::row::RowLayout;

/// See [`RowChange::patches`].
pub(crate) struct RowPatches<'c> {
    layout: &'c RowLayout,
    /// The places in the row, and their new values.
    columns: Vec<(usize, NewColumn<'c>)>,
}

impl RowPatches<'_> {
    /// The patches that make the old row the new one of this number; false: it takes more than patching, or may be wrong.
    #[inline]
    pub(crate) fn patch(&self, old: &[u8], row: usize, patches: &mut Patches) -> Result<bool, Stop> {
        for (place, column) in &self.columns {
            let patched = match column.integer(row) {
                Some(number) => self.layout.patch_integer(old, *place, number, patches.bytes())?,
                None => self.layout.patch(old, *place, column.value(row), patches.bytes())?,
            };
            match patched {
                Some(offset) => patches.place(offset),
                None => return Ok(false),
            }
        }
        Ok(true)
    }
}

impl RowChange {
    /// The row's columns that are patched, with the columns beside it that have their values, where that is all.
    pub(super) fn as_patches(&self) -> Option<Box<[(usize, usize)]>> {
        let table = &self.rules.target.table;
        // Triggers that see all rows are told of each by itself, and so are rows that others may refer to.
        let tells_all = table.triggers.iter().any(|trigger| trigger.sees_tables());
        // What they see of virtual columns is made of each row by itself, too.
        let is_each = tells_all || !table.referenced_by.is_empty() || table.has_virtual();
        let is_heard = self.audience.referrers || self.audience.hears() && is_each;
        let is_asked = !self.rules.references.is_empty() || self.audience.before || is_heard;
        let is_more = !self.keeps_entries() || is_asked || table.is_derived_from();
        let patch = |assignment: &Assignment| Some((assignment.place?, assignment.as_beside()?));
        let patches = self.assignments.iter().map(patch);
        if is_more || !self.is_fixed || !self.evaluates_nothing() { None } else { patches.collect() }
    }

    /// What rows are patched with whose new values are in these columns of the rows beside them; `None`: they are not only patched.
    pub(crate) fn patches<'c>(&'c self, beside: &'c [Arc<Vector>]) -> Option<RowPatches<'c>> {
        let (patched, layout) = (self.patched.as_deref()?, self.rules.target.layout.row());
        let column = |&(place, column): &(usize, usize)| {
            let vector = beside.get(column)?;
            Some((place, NewColumn::of(vector, layout.types()[place], vector.len())?))
        };
        Some(RowPatches { layout, columns: patched.iter().map(column).collect::<Option<_>>()? })
    }

    /// The columns of rows of a batch as they are once it is changed: `beside` has the columns of the rows as they were, then
    /// those of the new values.
    pub(crate) fn columns_after(&self, beside: &[Arc<Vector>]) -> Option<Vec<Arc<Vector>>> {
        let of = |(column, at): (usize, &Option<usize>)| match at {
            Some(at) => beside.get(self.assignments[*at].as_beside()?).cloned(),
            None => beside.get(column).cloned(),
        };
        self.by_column.iter().enumerate().map(of).collect()
    }
}
