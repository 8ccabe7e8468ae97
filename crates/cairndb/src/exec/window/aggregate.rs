//! Aggregates over frames that slide.
//!
//! A frame that only grows is added up once. One that slides takes back what leaves it, where the aggregate can
//! ([`Accumulator::retract`]: what PostgreSQL has inverse transitions for); `min` and `max` (and `bool_and` and `bool_or`,
//! which are that of booleans) keep the rows that may still become the answer; all others are computed anew for each frame,
//! as PostgreSQL does.

use std::collections::VecDeque;
use std::sync::Arc;

use super::buffer::{Buffer, Cursor};
use super::frame::Rows;
use super::place::Place;
use crate::exec::context::{Charge, Cx};
use crate::functions::{Accumulator, Aggregate, AggregateKind};
use crate::types::DataType;
use crate::{Result, Value};

/// Rows between two looks at whether the statement goes on.
const CHECKED_AFTER: u64 = 4096;

/// An aggregate at work.
pub(super) struct Aggregated {
    aggregate: Arc<Aggregate>,
    /// The columns of its arguments, and of whether a row counts.
    columns: std::ops::Range<usize>,
    filter: Option<usize>,
    method: Method,
    /// The frame that was answered last, and the answer.
    last: Option<(Rows, Value)>,
    args: Vec<Value>,
    worked: u64,
    charge: Charge,
}

enum Method {
    /// What is in it is `last`'s rows, but for the current one. `None`: nothing was added yet.
    Slide(Option<Box<Slide>>),
    Extremes(Box<[Extremes; 2]>),
    Anew(Cursor),
}

struct Slide {
    state: Box<dyn Accumulator>,
    held: [(u64, u64); 2],
    /// Where rows are added and taken back, on both sides of what is left out.
    cursors: [[Cursor; 2]; 2],
    current: Cursor,
}

/// The rows of a part of the frame that no later row of it beats.
struct Extremes {
    greatest: bool,
    data_type: DataType,
    held: (u64, u64),
    best: VecDeque<(u64, Value)>,
    cursor: Cursor,
}

impl Aggregated {
    /// `only_grows`: its frames do.
    pub(super) fn new(
        aggregate: Arc<Aggregate>,
        columns: std::ops::Range<usize>,
        filter: Option<usize>,
        only_grows: bool,
    ) -> Aggregated {
        let start = aggregate.start();
        let method = match aggregate.kind {
            _ if only_grows && start.goes_on() || start.can_retract() => Method::Slide(None),
            AggregateKind::Min | AggregateKind::Max | AggregateKind::BoolAnd | AggregateKind::BoolOr
                if !aggregate.is_users() =>
            {
                Method::Extremes(Box::new([Extremes::new(&aggregate), Extremes::new(&aggregate)]))
            }
            _ => Method::Anew(Cursor::default()),
        };
        let (args, charge) = (vec![], Charge::default());
        Aggregated { aggregate, columns, filter, method, last: None, args, worked: 0, charge }
    }

    pub(super) fn forget(&mut self) {
        self.last = None;
        match &mut self.method {
            Method::Slide(slide) => *slide = None,
            Method::Extremes(sides) => sides.iter_mut().for_each(Extremes::forget),
            Method::Anew(_) => {}
        }
    }

    /// The first row that it may still look at.
    pub(super) fn looks_from(&self, place: &Place) -> u64 {
        match &self.method {
            Method::Slide(Some(slide)) if !slide.state.can_retract() => slide.held[0].1.min(place.row),
            Method::Slide(Some(slide)) => slide.held[0].0.min(place.row),
            Method::Extremes(sides) => sides[0].held.1.min(place.row),
            _ => self.last.as_ref().map_or(place.start, |(rows, _)| rows.left.0.min(place.row)),
        }
    }

    /// The answer over a frame.
    pub(super) fn answer(&mut self, rows: &Rows, buffer: &Buffer, cx: Cx<'_>) -> Result<Value> {
        if let Some((last, answer)) = &self.last
            && last == rows
        {
            return Ok(answer.clone());
        }
        let answer = match &mut self.method {
            Method::Slide(_) => self.slide(rows, buffer, cx)?,
            Method::Extremes(_) => self.extreme(rows, buffer, cx)?,
            Method::Anew(_) => self.anew(rows, buffer, cx)?,
        };
        self.last = Some((*rows, answer.clone()));
        Ok(answer)
    }

    /// Reads a row's arguments into `self.args`; false: the row does not count.
    fn read(&mut self, row: u64, cursor: &mut Cursor, buffer: &Buffer, cx: Cx<'_>) -> Result<bool> {
        self.worked += 1;
        if self.worked.is_multiple_of(CHECKED_AFTER) {
            cx.check()?;
        }
        if let Some(filter) = self.filter
            && !cursor.is_true(filter, row, buffer, cx)?
        {
            return Ok(false);
        }
        let (columns, at) = cursor.at(row, buffer, cx)?;
        self.args.clear();
        self.args.extend(columns[self.columns.clone()].iter().map(|column| column.value(at)));
        Ok(true)
    }

    fn slide(&mut self, rows: &Rows, buffer: &Buffer, cx: Cx<'_>) -> Result<Value> {
        let Method::Slide(slide) = &mut self.method else { return Ok(Value::Null) };
        let mut slide = match slide.take() {
            Some(slide) if slide.overlaps(rows) => slide,
            _ => Slide::new(&self.aggregate, rows, cx),
        };
        if !self.take_back(&mut slide, rows, buffer, cx)? {
            slide = Slide::new(&self.aggregate, rows, cx);
        }
        for (side, target) in [rows.left, rows.right].into_iter().enumerate() {
            for row in slide.held[side].1..target.1 {
                if self.read(row, &mut slide.cursors[side][0], buffer, cx)? {
                    slide.state.update(&self.args)?;
                }
            }
            slide.held[side] = target;
        }
        let answer = match rows.current {
            None => slide.state.answer()?,
            Some(row) => {
                let counts = self.read(row, &mut slide.current, buffer, cx)?;
                if counts {
                    slide.state.update(&self.args)?;
                }
                let answer = slide.state.answer()?;
                if counts && !slide.state.retract(&self.args)? {
                    // What cannot be taken back is not kept.
                    self.method = Method::Slide(None);
                    return Ok(answer);
                }
                answer
            }
        };
        self.method = Method::Slide(Some(slide));
        Ok(answer)
    }

    /// Takes back the rows that left the frame; false: that is not possible.
    fn take_back(&mut self, slide: &mut Slide, rows: &Rows, buffer: &Buffer, cx: Cx<'_>) -> Result<bool> {
        for (side, target) in [rows.left, rows.right].into_iter().enumerate() {
            let held = slide.held[side];
            for row in held.0..target.0.min(held.1) {
                if self.read(row, &mut slide.cursors[side][1], buffer, cx)? && !slide.state.retract(&self.args)? {
                    return Ok(false);
                }
            }
            slide.held[side] = (target.0, held.1.max(target.0));
        }
        Ok(true)
    }

    fn extreme(&mut self, rows: &Rows, buffer: &Buffer, cx: Cx<'_>) -> Result<Value> {
        let Method::Extremes(mut sides) = std::mem::replace(&mut self.method, Method::Slide(None)) else {
            return Ok(Value::Null);
        };
        let [left, right] = &mut *sides;
        self.follow(left, rows.left, buffer, cx)?;
        self.follow(right, rows.right, buffer, cx)?;
        let mut best = left.best.front().map(|(_, value)| value.clone());
        if let Some(row) = rows.current
            && self.read(row, &mut left.cursor, buffer, cx)?
        {
            let value = self.args.pop().unwrap_or(Value::Null);
            best = left.better(best, value);
        }
        if let Some((_, value)) = right.best.front() {
            best = left.better(best, value.clone());
        }
        let held = left.best.len() + right.best.len();
        self.method = Method::Extremes(sides);
        self.charge_for(held, cx)?;
        Ok(best.unwrap_or(Value::Null))
    }

    /// Notes what is held of the values that may become the answer, from time to time.
    fn charge_for(&mut self, held: usize, cx: Cx<'_>) -> Result<()> {
        if held.is_multiple_of(1024) {
            self.charge.note(held * size_of::<(u64, Value)>(), cx.shared);
            self.charge.check(cx.shared)?;
        }
        Ok(())
    }

    fn follow(&mut self, side: &mut Extremes, target: (u64, u64), buffer: &Buffer, cx: Cx<'_>) -> Result<()> {
        while side.best.front().is_some_and(|(row, _)| *row < target.0) {
            side.best.pop_front();
        }
        for row in side.held.1.max(target.0)..target.1 {
            if self.read(row, &mut side.cursor, buffer, cx)? {
                side.push(row, self.args.pop().unwrap_or(Value::Null));
            }
        }
        side.held = target;
        Ok(())
    }

    fn anew(&mut self, rows: &Rows, buffer: &Buffer, cx: Cx<'_>) -> Result<Value> {
        let Method::Anew(cursor) = &mut self.method else { return Ok(Value::Null) };
        let mut cursor = std::mem::take(cursor);
        let mut state = self.aggregate.start_in(&cx.context().eval);
        let all = (rows.left.0..rows.left.1).chain(rows.current).chain(rows.right.0..rows.right.1);
        for row in all {
            if self.read(row, &mut cursor, buffer, cx)? {
                state.update(&self.args)?;
            }
        }
        self.method = Method::Anew(cursor);
        state.finish()
    }
}

impl Slide {
    /// With nothing in it; it is to hold `rows`.
    fn new(aggregate: &Aggregate, rows: &Rows, cx: Cx<'_>) -> Box<Slide> {
        Box::new(Slide {
            state: aggregate.start_in(&cx.context().eval),
            held: [(rows.left.0, rows.left.0), (rows.right.0, rows.right.0)],
            cursors: Default::default(),
            current: Cursor::default(),
        })
    }

    /// Whether some of what is held stays.
    fn overlaps(&self, rows: &Rows) -> bool {
        let [left, right] = self.held;
        rows.left.0 < left.1 || rows.right.0 < right.1 || left.0 == rows.left.0
    }
}

impl Extremes {
    fn new(aggregate: &Aggregate) -> Extremes {
        Extremes {
            greatest: matches!(aggregate.kind, AggregateKind::Max | AggregateKind::BoolOr),
            data_type: aggregate.returns,
            held: (0, 0),
            best: VecDeque::new(),
            cursor: Cursor::default(),
        }
    }

    fn forget(&mut self) {
        self.held = (0, 0);
        self.best.clear();
    }

    /// Whether a later value takes an earlier one's place: of equal ones the last stays, of `char(n)` the first.
    fn beats(&self, later: &Value, earlier: &Value) -> bool {
        let order = later.compare_as(earlier, self.data_type);
        let order = if self.greatest { order } else { order.reverse() };
        order.is_gt() || order.is_eq() && !matches!(self.data_type, DataType::Char(_))
    }

    fn better(&self, earlier: Option<Value>, later: Value) -> Option<Value> {
        match earlier {
            _ if later.is_null() => earlier,
            Some(earlier) if !self.beats(&later, &earlier) => Some(earlier),
            _ => Some(later),
        }
    }

    fn push(&mut self, row: u64, value: Value) {
        if value.is_null() {
            return;
        }
        while self.best.back().is_some_and(|(_, earlier)| self.beats(&value, earlier)) {
            self.best.pop_back();
        }
        self.best.push_back((row, value));
    }
}
