//! One call: what it answers for the current row.

use super::aggregate::Aggregated;
use super::buffer::{Buffer, Cursor};
use super::frame::{Frame, Rows};
use super::place::Place;
use crate::exec::context::Cx;
use crate::exec::expr::{Evaluator, Frame as ExprFrame};
use crate::functions::{WindowFunction, WindowKind};
use crate::{Error, Result, SqlState, Value};

/// A call at work. Its arguments are columns of the buffer's rows.
pub(crate) struct Call {
    kind: Kind,
    /// Which of the operator's frames it looks at.
    pub(super) frame: usize,
    /// The first column of its arguments.
    column: usize,
    cursor: Cursor,
}

enum Kind {
    /// Told by the row's place alone.
    Placed(WindowKind),
    Ntile(Tiles),
    Neighbour(Neighbour),
    /// The value at a row of the frame.
    OfFrame(WindowKind),
    Aggregate(Box<Aggregated>),
}

/// `ntile`, as far as it has come in a partition.
#[derive(Default)]
struct Tiles {
    tile: i32,
    /// Rows that the present tile has, and is to have.
    rows: u64,
    size: u64,
    /// The first tiles have one more: up to this one.
    larger: u64,
}

/// `lag` and `lead`.
struct Neighbour {
    behind: bool,
    offset: Option<Value>,
    has_offset: bool,
    /// Evaluated only where there is no such row.
    default: Option<Evaluator>,
}

impl Call {
    /// `args`: the evaluators of the arguments that are columns from `column` on; the default of `lag` and `lead` is not
    /// among them.
    pub(crate) fn of_function(
        function: &WindowFunction,
        args: &[Evaluator],
        default: Option<Evaluator>,
        (frame, column): (usize, usize),
    ) -> Call {
        use WindowKind::{CumeDist, DenseRank, Lag, Lead, Ntile, PercentRank, Rank, RowNumber};
        let kind = match function.kind {
            kind @ (RowNumber | Rank | DenseRank | PercentRank | CumeDist) => Kind::Placed(kind),
            Ntile => Kind::Ntile(Tiles::default()),
            kind @ (Lag | Lead) => Kind::Neighbour(Neighbour {
                behind: kind == Lead,
                offset: args.get(1).and_then(Evaluator::as_constant).cloned(),
                has_offset: args.len() > 1,
                default,
            }),
            kind => Kind::OfFrame(kind),
        };
        Call { kind, frame, column, cursor: Cursor::default() }
    }

    pub(super) fn of_aggregate(aggregate: Aggregated, (frame, column): (usize, usize)) -> Call {
        Call { kind: Kind::Aggregate(Box::new(aggregate)), frame, column, cursor: Cursor::default() }
    }

    /// Whether it asks for the frame's rows.
    pub(super) fn looks_at_frame(&self) -> bool {
        matches!(self.kind, Kind::OfFrame(_) | Kind::Aggregate(_))
    }

    /// Whether it asks where the row's peers end.
    pub(super) fn asks_for_peers(&self) -> bool {
        matches!(self.kind, Kind::Placed(WindowKind::CumeDist))
    }

    /// Another partition begins.
    pub(super) fn enter(&mut self) {
        match &mut self.kind {
            Kind::Ntile(tiles) => *tiles = Tiles::default(),
            Kind::Aggregate(aggregate) => aggregate.forget(),
            _ => {}
        }
    }

    pub(super) fn forget(&mut self) {
        self.enter();
        self.cursor = Cursor::default();
    }

    /// Whether the rows there are (`known`) tell its answer for `row`, whatever may still come; its frame is told.
    pub(super) fn is_told(&self, row: u64, known: u64) -> bool {
        use WindowKind::{DenseRank, Rank, RowNumber};
        match &self.kind {
            Kind::Placed(RowNumber | Rank | DenseRank) | Kind::OfFrame(_) | Kind::Aggregate(_) => true,
            Kind::Placed(_) | Kind::Ntile(_) => false,
            Kind::Neighbour(Neighbour { behind, offset, has_offset, .. }) => {
                let offset = match (has_offset, offset) {
                    (false, _) => Some(1),
                    (true, Some(offset)) => offset.as_i64().or(offset.is_null().then_some(0)),
                    (true, None) => None,
                };
                offset.is_some_and(|offset| {
                    let ahead = if *behind { offset } else { -offset };
                    row.saturating_add_signed(ahead) < known
                })
            }
        }
    }

    /// The first row that it may still look at, once the current row is answered.
    pub(super) fn looks_from(&self, place: &Place) -> u64 {
        match &self.kind {
            Kind::Placed(_) | Kind::Ntile(_) => place.row,
            Kind::Neighbour(Neighbour { behind: false, offset: Some(offset), .. }) => match offset.as_i64() {
                Some(offset) => place.row.saturating_add_signed(-offset.max(0)),
                None => place.row,
            },
            Kind::Neighbour(Neighbour { behind: false, has_offset: false, .. }) => place.row.saturating_sub(1),
            Kind::Neighbour(Neighbour { behind: true, has_offset: false, .. }) => place.row,
            Kind::Neighbour(_) | Kind::OfFrame(_) => place.start,
            Kind::Aggregate(aggregate) => aggregate.looks_from(place),
        }
    }

    /// The answer for the current row.
    pub(super) fn answer(&mut self, place: &Place, rows: &Rows, buffer: &Buffer, cx: Cx<'_>) -> Result<Value> {
        match &mut self.kind {
            Kind::Placed(kind) => Ok(placed(*kind, place)),
            Kind::Ntile(tiles) => {
                let count = self.cursor.value(self.column, place.row, buffer, cx)?;
                tiles.next(&count, place)
            }
            Kind::Neighbour(neighbour) => neighbour.answer(self.column, &mut self.cursor, place, buffer, cx),
            Kind::OfFrame(kind) => {
                let nth = match kind {
                    WindowKind::FirstValue => Some(0),
                    WindowKind::LastValue => rows.len().checked_sub(1),
                    _ => nth_wanted(&self.cursor.value(self.column + 1, place.row, buffer, cx)?)?,
                };
                match nth.and_then(|nth| rows.nth(nth)) {
                    Some(row) => self.cursor.value(self.column, row, buffer, cx),
                    None => Ok(Value::Null),
                }
            }
            Kind::Aggregate(aggregate) => aggregate.answer(rows, buffer, cx),
        }
    }
}

fn number(count: u64) -> Value {
    Value::BigInt(i64::try_from(count).unwrap_or(i64::MAX))
}

fn placed(kind: WindowKind, place: &Place) -> Value {
    let rank = place.group_start - place.start + 1;
    let rows = place.end - place.start;
    match kind {
        WindowKind::Rank => number(rank),
        WindowKind::DenseRank => number(place.group + 1),
        WindowKind::PercentRank if rows <= 1 => Value::Double(0.0),
        WindowKind::PercentRank => Value::Double((rank - 1) as f64 / (rows - 1) as f64),
        WindowKind::CumeDist => Value::Double((place.group_end - place.start) as f64 / rows as f64),
        _ => number(place.row - place.start + 1),
    }
}

fn nth_wanted(nth: &Value) -> Result<Option<u64>> {
    match nth.as_i64() {
        None => Ok(None),
        Some(nth @ 1..) => Ok(u64::try_from(nth - 1).ok()),
        Some(_) => {
            let message = "argument of nth_value must be greater than zero";
            Err(Error::new(SqlState::INVALID_ARGUMENT_FOR_NTH_VALUE, message))
        }
    }
}

impl Tiles {
    /// The next row's tile. The partition's first row that says so says how many there are.
    fn next(&mut self, count: &Value, place: &Place) -> Result<Value> {
        if self.tile == 0 {
            let Some(count) = count.as_i64() else { return Ok(Value::Null) };
            let count = u64::try_from(count).ok().filter(|count| *count > 0).ok_or_else(|| {
                let message = "argument of ntile must be greater than zero";
                Error::new(SqlState::INVALID_ARGUMENT_FOR_NTILE, message)
            })?;
            let rows = place.end - place.start;
            self.tile = 1;
            (self.size, self.larger) = match rows / count {
                0 => (1, 0),
                size => (size + u64::from(!rows.is_multiple_of(count)), rows % count),
            };
        }
        self.rows += 1;
        if self.rows > self.size {
            if self.larger > 0 && self.larger == u64::from(self.tile.unsigned_abs()) {
                (self.larger, self.size) = (0, self.size - 1);
            }
            (self.tile, self.rows) = (self.tile + 1, 1);
        }
        Ok(Value::Integer(self.tile))
    }
}

impl Neighbour {
    fn answer(
        &mut self,
        column: usize,
        cursor: &mut Cursor,
        place: &Place,
        buffer: &Buffer,
        cx: Cx<'_>,
    ) -> Result<Value> {
        let offset = match (&self.offset, self.has_offset) {
            (_, false) => Some(1),
            (Some(offset), true) => offset.as_i64(),
            (None, true) => cursor.value(column + 1, place.row, buffer, cx)?.as_i64(),
        };
        let Some(offset) = offset else { return Ok(Value::Null) };
        let row = place.row.checked_add_signed(if self.behind { offset } else { -offset });
        match (row.filter(|row| (place.start..place.end).contains(row)), &mut self.default) {
            (Some(row), _) => cursor.value(column, row, buffer, cx),
            (None, None) => Ok(Value::Null),
            (None, Some(default)) => {
                if let Some(value) = default.as_constant() {
                    return Ok(value.clone());
                }
                let (columns, at) = cursor.at(place.row, buffer, cx)?;
                let rows = [crate::columns::row_number(at)];
                let columns = ExprFrame { columns, len: columns.len() }.narrowed(default, &rows);
                Ok(default.vector(ExprFrame { columns: &columns, len: 1 }, cx)?.value(0))
            }
        }
    }
}

/// What tells a frame's rows apart: calls of the same frame share it.
pub(super) fn told(frames: &[Frame], at: usize, row: u64, known: u64, group: u64) -> bool {
    frames.get(at).is_none_or(|frame| frame.is_told(row, known, group))
}
