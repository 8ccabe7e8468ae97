//! Frames: which rows around the current one a function looks at.
//!
//! As the current row goes on, both ends of a frame only ever go on, whatever they are told by. So ends that are told by
//! values or groups are looked for from where they were.

use super::buffer::{Buffer, Cursor};
use super::place::{Place, next_group};
use crate::exec::context::Cx;
use crate::exec::expr::Evaluator;
use crate::exec::row_order::Direction;
use crate::functions::{Distance, invalid_size};
use crate::plan::{FrameBound, FrameExclusion, FrameUnit};
use crate::{DataType, Error, Result, SqlState, Value};

/// The rows of a frame, in order: those from `left.0` before `left.1`, perhaps the current one, then those of `right`. Every
/// end only goes on as the current row does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rows {
    pub(super) left: (u64, u64),
    /// The current row, which its peers around it are left out of (EXCLUDE TIES).
    pub(super) current: Option<u64>,
    pub(super) right: (u64, u64),
}

impl Rows {
    /// How many there are.
    pub(super) fn len(&self) -> u64 {
        self.left.1 - self.left.0 + u64::from(self.current.is_some()) + self.right.1 - self.right.0
    }

    /// The nth of them, from 0.
    pub(super) fn nth(&self, n: u64) -> Option<u64> {
        let left = self.left.1 - self.left.0;
        if n < left {
            return Some(self.left.0 + n);
        }
        let rest = n - left;
        match (self.current, rest) {
            (Some(row), 0) => Some(row),
            (current, rest) => {
                let row = self.right.0 + rest - u64::from(current.is_some());
                (row < self.right.1).then_some(row)
            }
        }
    }
}

/// How a frame's end is told, its offset known.
enum Bound {
    Unbounded,
    CurrentRow,
    /// So many rows or groups before (or behind) the current one.
    Count {
        preceding: bool,
        offset: u64,
    },
    Distance {
        preceding: bool,
        distance: Distance,
    },
}

/// A frame that was compiled: its offsets are evaluated when an execution begins.
pub(crate) struct FrameParts {
    pub(crate) unit: FrameUnit,
    pub(crate) exclusion: FrameExclusion,
    /// What is said of the start and the end, and their offsets.
    pub(crate) bounds: [(BoundKind, Option<Evaluator>); 2],
    /// RANGE with an offset: the type and the direction of what is ordered by.
    pub(crate) key: Option<(DataType, Direction)>,
}

/// A bound without its offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BoundKind {
    Unbounded,
    CurrentRow,
    Preceding,
    Following,
}

impl BoundKind {
    pub(crate) fn of(bound: &FrameBound) -> BoundKind {
        match bound {
            FrameBound::UnboundedPreceding | FrameBound::UnboundedFollowing => BoundKind::Unbounded,
            FrameBound::CurrentRow => BoundKind::CurrentRow,
            FrameBound::Preceding(_) => BoundKind::Preceding,
            FrameBound::Following(_) => BoundKind::Following,
        }
    }
}

/// A frame at work.
pub(super) struct Frame {
    parts: FrameParts,
    bounds: [Bound; 2],
    /// The column of what is ordered by, for distances; and of where groups begin.
    columns: (usize, usize),
    ends: [End; 2],
}

/// Where an end was found last.
#[derive(Default)]
struct End {
    row: u64,
    group: u64,
    there: Cursor,
    here: Cursor,
}

impl Frame {
    /// `columns`: of what is ordered by, and of where groups begin.
    pub(super) fn new(parts: FrameParts, columns: (usize, usize)) -> Frame {
        let bounds = [Bound::Unbounded, Bound::Unbounded];
        Frame { parts, bounds, columns, ends: Default::default() }
    }

    /// Whether it measures distances of values.
    pub(super) fn measures(&self) -> bool {
        self.parts.key.is_some()
    }

    /// Evaluates the offsets.
    pub(super) fn begin(&mut self, cx: Cx<'_>) -> Result<()> {
        let (unit, key) = (self.parts.unit, self.parts.key);
        for (at, (kind, offset)) in self.parts.bounds.iter_mut().enumerate() {
            let preceding = *kind == BoundKind::Preceding;
            self.bounds[at] = match (kind, offset) {
                (BoundKind::Unbounded, _) => Bound::Unbounded,
                (BoundKind::CurrentRow, _) => Bound::CurrentRow,
                (_, Some(offset)) => {
                    let end = if at == 0 { "starting" } else { "ending" };
                    bound(offset.scalar(cx)?, unit, key.map(|(data_type, _)| data_type), preceding, end)?
                }
                (_, None) => return Err(Error::internal("a frame's offset is missing")),
            };
        }
        self.ends = Default::default();
        Ok(())
    }

    /// Another partition begins.
    pub(super) fn enter(&mut self, start: u64) {
        self.ends.iter_mut().for_each(|end| (end.row, end.group) = (start, 0));
    }

    /// Whether it has to know where the current row's peers end.
    pub(super) fn asks_for_peers(&self) -> bool {
        self.parts.unit != FrameUnit::Rows
            || matches!(self.parts.exclusion, FrameExclusion::Group | FrameExclusion::Ties)
    }

    /// It begins where the partition does, and leaves nothing out: it only grows.
    pub(super) fn only_grows(&self) -> bool {
        self.parts.bounds[0].0 == BoundKind::Unbounded && self.parts.exclusion == FrameExclusion::NoOthers
    }

    /// Whether the rows there are tell the frame of `row`, whatever may still come. `group`: the last row that is known to
    /// begin a group of peers.
    pub(super) fn is_told(&self, row: u64, known: u64, group: u64) -> bool {
        if self.asks_for_peers() && row >= group {
            return false;
        }
        match (self.parts.unit, &self.bounds) {
            (_, [_, Bound::Unbounded]) => false,
            (FrameUnit::Rows, [_, Bound::Count { preceding: false, offset }]) => row.saturating_add(*offset) < known,
            (FrameUnit::Rows, _) => true,
            (_, bounds) => !bounds.iter().any(Bound::is_following),
        }
    }

    /// The first row that it may still look at.
    pub(super) fn looks_from(&self, place: &Place) -> u64 {
        let [start, end] = &self.ends;
        let told_by_search = |bound: &Bound| !matches!(bound, Bound::Unbounded | Bound::CurrentRow);
        let ends = [(start, &self.bounds[0]), (end, &self.bounds[1])];
        let searched =
            ends.into_iter().filter(|(_, bound)| self.parts.unit != FrameUnit::Rows && told_by_search(bound));
        searched.map(|(end, _)| end.row).fold(place.row, u64::min)
    }

    /// The frame of the current row.
    pub(super) fn rows(&mut self, place: &Place, buffer: &Buffer, cx: Cx<'_>) -> Result<Rows> {
        let start = self.end(0, place, buffer, cx)?;
        let end = self.end(1, place, buffer, cx)?.max(start);
        let out = match self.parts.exclusion {
            FrameExclusion::NoOthers => return Ok(Rows { left: (start, end), current: None, right: (end, end) }),
            FrameExclusion::CurrentRow => (place.row, place.row + 1),
            FrameExclusion::Group | FrameExclusion::Ties => (place.group_start, place.group_end),
        };
        let ties = self.parts.exclusion == FrameExclusion::Ties;
        let current = (ties && (start..end).contains(&place.row)).then_some(place.row);
        Ok(Rows { left: (start, out.0.clamp(start, end)), current, right: (out.1.clamp(start, end), end) })
    }

    /// The frame's first row (`at` 0), or behind its last.
    fn end(&mut self, at: usize, place: &Place, buffer: &Buffer, cx: Cx<'_>) -> Result<u64> {
        let is_end = at == 1;
        let Place { start, end, row, .. } = *place;
        let rows = self.parts.unit == FrameUnit::Rows;
        match &self.bounds[at] {
            Bound::Unbounded => Ok(if is_end { end } else { start }),
            Bound::CurrentRow if rows => Ok(row + u64::from(is_end)),
            Bound::CurrentRow => Ok(if is_end { place.group_end } else { place.group_start }),
            Bound::Count { preceding, offset } if rows => {
                let first = row + u64::from(is_end);
                Ok(match preceding {
                    true => first.saturating_sub(*offset).max(start),
                    false => first.saturating_add(*offset).min(end),
                })
            }
            Bound::Count { preceding, offset } => {
                let first = place.group + u64::from(is_end);
                let group = if *preceding { first.saturating_sub(*offset) } else { first.saturating_add(*offset) };
                self.ends[at].seek_group(group, place, self.columns.1, buffer, cx)
            }
            Bound::Distance { preceding, distance } => {
                let direction = self.parts.key.map_or(Direction::ASCENDING, |(_, direction)| direction);
                let search = Search { is_end, preceding: *preceding, distance, direction, column: self.columns.0 };
                self.ends[at].seek_distance(&search, place, buffer, cx)
            }
        }
    }
}

impl Bound {
    fn is_following(&self) -> bool {
        matches!(self, Bound::Count { preceding: false, .. } | Bound::Distance { preceding: false, .. })
    }
}

fn bound(offset: Value, unit: FrameUnit, key: Option<DataType>, preceding: bool, end: &str) -> Result<Bound> {
    if offset.is_null() {
        let message = format!("frame {end} offset must not be null");
        return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
    }
    if let (FrameUnit::Range, Some(key)) = (unit, key) {
        return Ok(Bound::Distance { preceding, distance: Distance::new(key, offset) });
    }
    let count = offset.as_i64().ok_or_else(|| Error::internal("a frame's offset is no number"))?;
    let offset = u64::try_from(count).map_err(|_| invalid_size(&format!("frame {end} offset must not be negative")))?;
    Ok(Bound::Count { preceding, offset })
}

/// What an end that is told by a distance is looked for by.
struct Search<'a> {
    is_end: bool,
    preceding: bool,
    distance: &'a Distance,
    direction: Direction,
    column: usize,
}

impl End {
    /// The first row of a group, or the partition's end.
    fn seek_group(&mut self, group: u64, place: &Place, column: usize, buffer: &Buffer, cx: Cx<'_>) -> Result<u64> {
        while self.group < group && self.row < place.end {
            self.row = next_group(self.row, place.end, column, &mut self.there, buffer, cx)?;
            self.group += 1;
        }
        Ok(self.row)
    }

    fn seek_distance(&mut self, search: &Search<'_>, place: &Place, buffer: &Buffer, cx: Cx<'_>) -> Result<u64> {
        let current = self.here.value(search.column, place.row, buffer, cx)?;
        while self.row < place.end {
            let value = self.there.value(search.column, self.row, buffer, cx)?;
            if search.is_found(&value, &current, cx)? {
                break;
            }
            self.row += 1;
        }
        Ok(self.row)
    }
}

impl Search<'_> {
    /// Whether a row of this value is the frame's first, or the first behind its last.
    fn is_found(&self, value: &Value, current: &Value, cx: Cx<'_>) -> Result<bool> {
        let Direction { descending, nulls_first } = self.direction;
        // NULLs are as far from all else as can be, and not at all from each other.
        match (self.is_end, value.is_null(), current.is_null()) {
            (_, false, false) => {}
            (false, value, current) if nulls_first => return Ok(!value || current),
            (false, value, current) => return Ok(value || !current),
            (true, value, current) if nulls_first => return Ok(!value && current),
            (true, value, current) => return Ok(value && !current),
        }
        let (subtract, less) = (self.preceding != descending, self.is_end != descending);
        let reaches = self.distance.reaches(value, current, subtract, less, &cx.context().eval)?;
        // The first row of the frame is the first that reaches it; behind the last is the first that no longer does.
        Ok(reaches != self.is_end)
    }
}
