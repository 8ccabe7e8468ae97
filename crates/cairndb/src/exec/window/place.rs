//! Where a computation stands: the current row, its partition and its peers.

use super::buffer::{Buffer, Cursor};
use crate::Result;
use crate::exec::context::Cx;

/// The current row among the others. Rows are numbered from the input's first.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    /// The partition's first row.
    pub(super) start: u64,
    /// Behind its last; as long as that is not known, behind the last row there is.
    pub(super) end: u64,
    pub(super) row: u64,
    /// The first of the row's peers, and behind the last of them (where somebody asks for that).
    pub(super) group_start: u64,
    pub(super) group_end: u64,
    /// The number of its group of peers in the partition, from 0.
    pub(super) group: u64,
}

/// Follows the groups of peers from row to row.
pub(super) struct Peers {
    /// The column that says where groups begin.
    pub(super) column: usize,
    /// Whether anybody asks where they end.
    pub(super) ends: bool,
    here: Cursor,
    ahead: Cursor,
}

impl Peers {
    pub(super) fn new(column: usize, ends: bool) -> Peers {
        Peers { column, ends, here: Cursor::default(), ahead: Cursor::default() }
    }

    pub(super) fn forget(&mut self) {
        (self.here, self.ahead) = (Cursor::default(), Cursor::default());
    }

    /// Goes on to `place.row`: the next row, or the partition's first.
    pub(super) fn advance(&mut self, place: &mut Place, buffer: &Buffer, cx: Cx<'_>) -> Result<()> {
        if place.row == place.start {
            (place.group, place.group_start) = (0, place.row);
        } else if self.here.is_true(self.column, place.row, buffer, cx)? {
            (place.group, place.group_start) = (place.group + 1, place.row);
        } else {
            return Ok(());
        }
        if self.ends {
            place.group_end = next_group(place.row, place.end, self.column, &mut self.ahead, buffer, cx)?;
        }
        Ok(())
    }
}

/// The first row behind `row` that begins a group, or `end`.
pub(super) fn next_group(
    row: u64,
    end: u64,
    column: usize,
    cursor: &mut Cursor,
    buffer: &Buffer,
    cx: Cx<'_>,
) -> Result<u64> {
    let mut next = row + 1;
    while next < end && !cursor.is_true(column, next, buffer, cx)? {
        next += 1;
    }
    Ok(next.min(end))
}
