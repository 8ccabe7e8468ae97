//! What a row program asks of others, and how many rows it can be run for at once.

use crate::catalog::{Table, Timing, TriggerEvent};
use crate::dml::{has_trigger, is_told};

/// Who besides the program has to do with a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Audience {
    /// BEFORE ROW triggers: they say what becomes of the row.
    pub(crate) before: bool,
    /// AFTER triggers: they see the row as it was and as it is.
    pub(super) after: bool,
    /// Rows that may refer to it by what changes.
    pub(super) referrers: bool,
}

impl Audience {
    pub(super) fn of(table: &Table, event: TriggerEvent, referrers: bool) -> Audience {
        let before = has_trigger(table, event, Timing::Before, true);
        Audience { before, after: is_told(table, event), referrers }
    }

    /// Whether somebody is told of the row once it is written.
    #[inline]
    pub(crate) fn hears(self) -> bool {
        self.after || self.referrers
    }
}

/// How rows of a batch are written, where nobody else changes rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Each by itself: somebody is asked for it.
    Each,
    /// The transaction is held for several: nothing is looked at but rows and their entries.
    Held,
    /// Many in one pass over the leaves: nothing is written but the rows, and nobody looks at one before the next.
    Together,
}
