//! Merge join: both sides come in the order of the keys, and are gone through side by side.
//!
//! Of the right side one batch is at hand, and of a group of equal keys, which each left row that has them is joined with, as
//! many as it takes. A row with a NULL among its keys matches nothing, wherever it comes.

use std::cmp::Ordering;
use std::sync::Arc;

use super::hash_join::evaluate_keys;
use super::pairs::{Chunk, Pairing, keeps_left, notes_right, right_alone};
use crate::columns::{Batch, Bitmap, Data, Vector, append_columns, row_number};
use crate::exec::context::{Charge, Cx};
use crate::exec::expr::{Evaluator, Frame, rebind_all, unify_keys};
use crate::exec::operator::{BoxOperator, Operator, Step};
use crate::exec::row_order::Direction;
use crate::plan::{Field, JoinKind};
use crate::{DataType, Result, Value};

/// What a merge join is made of.
pub(crate) struct MergeJoinParts {
    pub(crate) left: BoxOperator,
    pub(crate) right: BoxOperator,
    pub(crate) left_types: Vec<DataType>,
    pub(crate) right_fields: Vec<Field>,
    pub(crate) left_keys: Vec<Evaluator>,
    pub(crate) right_keys: Vec<Evaluator>,
    pub(crate) directions: Vec<Direction>,
    pub(crate) pairing: Pairing,
    /// No two right rows have the same keys.
    pub(crate) right_differs: bool,
}

/// Rows with their keys.
struct Keyed {
    rows: Batch,
    keys: Vec<Arc<Vector>>,
}

/// The right rows at hand.
struct Window {
    keyed: Keyed,
    /// The first row that is not before the left row.
    at: usize,
    /// Up to here rows have the keys of the one at `at`.
    end: usize,
    /// No row behind these has the keys of the last one.
    is_closed: bool,
    /// Where right rows are in the result for having no match: those that have one.
    seen: Option<Bitmap>,
}

/// See the module.
pub(crate) struct MergeJoin {
    parts: MergeJoinParts,
    left: Option<Keyed>,
    /// The left row whose pairs come next, and how many of those there were.
    row: usize,
    within: usize,
    window: Option<Window>,
    /// The right rows behind the window's.
    ahead: Option<Keyed>,
    left_is_read: bool,
    right_is_read: bool,
    /// Right rows that were passed, and the next one of those to put out if it has no match.
    passed: Option<(Window, usize)>,
    charge: Charge,
}

/// Why there are no further pairs for now.
enum Stop {
    Full,
    LeftIsPassed,
    /// All right rows at hand are before the left row.
    RightIsPassed,
    /// The rows with the left row's keys may go on behind those at hand.
    MayGoOn,
}

impl MergeJoin {
    pub(crate) fn new(mut parts: MergeJoinParts) -> MergeJoin {
        unify_keys(&mut parts.left_keys, &mut parts.right_keys);
        MergeJoin {
            parts,
            left: None,
            row: 0,
            within: 0,
            window: None,
            ahead: None,
            left_is_read: false,
            right_is_read: false,
            passed: None,
            charge: Charge::default(),
        }
    }

    fn kind(&self) -> JoinKind {
        self.parts.pairing.kind()
    }

    /// Has rows of both sides at hand, as far as there are any.
    fn load(&mut self, cx: Cx<'_>) -> Step<()> {
        if self.left.is_none() && !self.left_is_read {
            match self.parts.left.next(cx)? {
                Some(rows) => self.left = Some(Keyed::new(rows, &mut self.parts.left_keys, cx)?),
                None => self.left_is_read = true,
            }
            (self.row, self.within) = (0, 0);
        }
        if self.window.is_none() {
            self.look_ahead(cx)?;
            let notes = notes_right(self.kind());
            self.window = self.ahead.take().map(|keyed| Window {
                seen: notes.then(|| Bitmap::filled(keyed.rows.len(), false)),
                keyed,
                at: 0,
                end: 0,
                is_closed: false,
            });
        }
        Ok(())
    }

    /// Reads the right rows behind those at hand.
    fn look_ahead(&mut self, cx: Cx<'_>) -> Step<()> {
        while self.ahead.is_none() && !self.right_is_read {
            match self.parts.right.next(cx)? {
                Some(rows) if rows.is_empty() => {}
                Some(rows) => self.ahead = Some(Keyed::new(rows, &mut self.parts.right_keys, cx)?),
                None => self.right_is_read = true,
            }
        }
        Ok(())
    }

    /// Takes the rows behind into the window, if they go on with its last keys.
    fn go_on(&mut self, cx: Cx<'_>) -> Result<()> {
        let Some(window) = &mut self.window else { return Ok(()) };
        let Some(ahead) = self.ahead.take_if(|ahead| window.goes_on(&self.parts.directions, ahead)) else {
            window.is_closed = true;
            return Ok(());
        };
        if window.at > 0 {
            let group = window.cut();
            let before = std::mem::replace(window, group);
            // (Those passed earlier are put out before anything is read.)
            self.passed = before.seen.is_some().then_some((before, 0));
            self.charge.clear(cx.shared);
        }
        self.charge.add(ahead.memory_bytes(), cx.shared)?;
        window.append(&ahead)
    }

    /// The window is done with.
    fn pass(&mut self, cx: Cx<'_>) {
        self.charge.clear(cx.shared);
        self.passed = self.window.take().filter(|window| window.seen.is_some()).map(|window| (window, 0));
    }

    /// Right rows without a match among those that were passed.
    fn next_alone(&mut self, count: usize) -> Option<Batch> {
        let (Window { keyed, seen: Some(seen), .. }, next) = self.passed.as_mut()? else { return None };
        let (batch, after) = right_alone(&self.parts.left_types, keyed.rows.columns(), (seen, false), *next, count);
        *next = after;
        if batch.is_none() {
            self.passed = None;
        }
        batch
    }

    /// The next pairs, `count` at most, of rows that are at hand.
    fn chunk(&mut self, count: usize) -> (Chunk, Stop) {
        let MergeJoin { parts, left: Some(left), window, row, within, ahead, right_is_read, .. } = self else {
            return (Chunk::default(), Stop::LeftIsPassed);
        };
        let first_is_enough = parts.pairing.first_is_enough();
        let one_is_enough = parts.right_differs || first_is_enough;
        let is_last = *right_is_read && ahead.is_none();
        let mut walk = Walk { row, within, left, is_last, one_is_enough, count };
        let Some(window) = window else { return walk.without_right() };
        let directions = &parts.directions;
        let (a, b) = (left.keys.as_slice(), window.keyed.keys.clone());
        let ascending = matches!(directions.as_slice(), [direction] if !direction.descending);
        // One ascending integer key is by far the most common: compare without going through the representations each time.
        match (a, b.as_slice()) {
            ([a], [b]) if ascending && a.validity().is_none() && b.validity().is_none() => match (a.data(), b.data()) {
                (Data::I32(a), Data::I32(b)) => walk.pairs(window, |i, j| a[i].cmp(&b[j]), |i, j| b[i] == b[j]),
                (Data::I64(a), Data::I64(b)) => walk.pairs(window, |i, j| a[i].cmp(&b[j]), |i, j| b[i] == b[j]),
                _ => walk.compared(window, directions),
            },
            _ => walk.compared(window, directions),
        }
    }
}

impl Keyed {
    fn new(rows: Batch, keys: &mut [Evaluator], cx: Cx<'_>) -> Result<Keyed> {
        let keys = evaluate_keys(keys, Frame::from(&rows), cx)?;
        Ok(Keyed { rows, keys })
    }

    fn memory_bytes(&self) -> usize {
        self.rows.memory_bytes() + self.keys.iter().map(|key| key.memory_bytes()).sum::<usize>()
    }
}

impl Window {
    /// Whether the rows behind begin with the keys of the last one.
    fn goes_on(&self, directions: &[Direction], ahead: &Keyed) -> bool {
        compare(directions, &self.keyed.keys, self.keyed.rows.len() - 1, &ahead.keys, 0).is_eq()
    }

    /// The rows from `at` on, which are copied; those before them are left.
    fn cut(&mut self) -> Window {
        let at = self.at;
        let rows: Vec<u32> = (at..self.keyed.rows.len()).map(row_number).collect();
        let keys = self.keyed.keys.iter().map(|key| Arc::new(key.gather(&rows))).collect();
        Window {
            keyed: Keyed { rows: self.keyed.rows.gather(&rows), keys },
            at: 0,
            end: self.end - at,
            is_closed: self.is_closed,
            seen: self.seen.as_mut().map(|seen| seen.split_off(at)),
        }
    }

    /// Adds rows in place: a group of many batches takes time in proportion to its rows.
    fn append(&mut self, behind: &Keyed) -> Result<()> {
        if let Some(seen) = &mut self.seen {
            seen.extend_with(behind.rows.len(), false);
        }
        append_columns(&mut self.keyed.keys, &behind.keys);
        self.keyed.rows.append_alike(&behind.rows)
    }
}

/// The order of two rows' keys, none of them NULL.
fn compare(directions: &[Direction], a: &[Arc<Vector>], i: usize, b: &[Arc<Vector>], j: usize) -> Ordering {
    let parts = directions.iter().zip(a.iter().zip(b));
    let orders = parts.map(|(direction, (a, b))| direction.compare_between(a, i, b, j));
    orders.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

fn has_null(keys: &[Arc<Vector>], row: usize) -> bool {
    keys.iter().any(|key| key.is_null(row))
}

/// Goes through left rows with the window beside them.
struct Walk<'a> {
    row: &'a mut usize,
    within: &'a mut usize,
    left: &'a Keyed,
    /// There are no right rows behind the window.
    is_last: bool,
    /// Of the rows with a left row's keys the first will do.
    one_is_enough: bool,
    count: usize,
}

impl Walk<'_> {
    fn begin(&self) -> Chunk {
        Chunk { rows: *self.row..*self.row, complete: true, ..Chunk::default() }
    }

    /// No left row has a match.
    fn without_right(&mut self) -> (Chunk, Stop) {
        let mut chunk = self.begin();
        chunk.rows.end = self.left.rows.len();
        *self.row = chunk.rows.end;
        (chunk, Stop::LeftIsPassed)
    }

    fn compared(&mut self, window: &mut Window, directions: &[Direction]) -> (Chunk, Stop) {
        let (a, b) = (&self.left.keys, window.keyed.keys.clone());
        let order = |i: usize, j: usize| match (has_null(a, i), has_null(&b, j)) {
            // It matches nothing, and nothing is looked for.
            (true, _) => Ordering::Less,
            (_, true) => Ordering::Greater,
            _ => compare(directions, a, i, &b, j),
        };
        let same = |i: usize, j: usize| !has_null(&b, j) && compare(directions, &b, i, &b, j).is_eq();
        self.pairs(window, order, same)
    }

    /// `order`: of a left row and a right one; `same`: whether two right rows have the same keys.
    fn pairs(
        &mut self,
        window: &mut Window,
        order: impl Fn(usize, usize) -> Ordering,
        same: impl Fn(usize, usize) -> bool,
    ) -> (Chunk, Stop) {
        let (left_len, right_len) = (self.left.rows.len(), window.keyed.rows.len());
        let mut chunk = self.begin();
        while *self.row < left_len {
            if chunk.left.len() >= self.count {
                return (chunk, Stop::Full);
            }
            let mut found = Ordering::Less;
            while window.at < right_len {
                found = order(*self.row, window.at);
                if found.is_le() {
                    break;
                }
                window.at += 1;
            }
            if window.at >= right_len && !self.is_last {
                return (chunk, Stop::RightIsPassed);
            }
            if found.is_eq() && window.at < right_len {
                window.end = window.end.max(window.at + 1);
                while !self.one_is_enough && window.end < right_len && same(window.at, window.end) {
                    window.end += 1;
                }
                let is_whole = window.end < right_len || self.one_is_enough || self.is_last || window.is_closed;
                if !self.take(&mut chunk, window, is_whole) {
                    let has_room = chunk.left.len() < self.count;
                    return (chunk, if has_room { Stop::MayGoOn } else { Stop::Full });
                }
            }
            *self.row += 1;
            chunk.rows.end = *self.row;
        }
        (chunk, Stop::LeftIsPassed)
    }

    /// Pairs the left row with the rows that have its keys; false: there are more of them, or may be if those at hand are
    /// not the whole group.
    #[inline]
    fn take(&mut self, chunk: &mut Chunk, window: &Window, is_whole: bool) -> bool {
        let group = if self.one_is_enough { window.at..window.at + 1 } else { window.at..window.end };
        let rest = group.start + std::mem::take(self.within)..group.end;
        let room = self.count - chunk.left.len();
        let taken = rest.start..rest.end.min(rest.start + room);
        chunk.left.extend(std::iter::repeat_n(row_number(*self.row), taken.len()));
        chunk.right.extend(taken.clone().map(row_number));
        if !is_whole || taken.end < rest.end {
            *self.within = taken.end - group.start;
            chunk.rows.end = *self.row + 1;
            chunk.complete = false;
        }
        chunk.complete
    }
}

impl Operator for MergeJoin {
    fn next(&mut self, cx: Cx<'_>) -> Step<Option<Batch>> {
        let max = cx.context().batch_sizes.max.max(1);
        let kind = self.kind();
        loop {
            cx.check()?;
            if let Some(batch) = self.next_alone(max) {
                return Ok(Some(batch));
            }
            self.load(cx)?;
            match (&self.left, &self.window) {
                (None, None) => return Ok(None),
                (None, Some(_)) if !notes_right(kind) => return Ok(None),
                (None, Some(_)) => {
                    self.pass(cx);
                    continue;
                }
                (Some(_), None) if !keeps_left(kind) => return Ok(None),
                _ => {}
            }
            cx.take_turn()?;
            let (chunk, stop) = self.chunk(self.parts.pairing.pairs_max(cx));
            let MergeJoin { left: Some(left), window, parts, .. } = self else { return Ok(None) };
            let batch = match window {
                Some(Window { keyed, seen, .. }) => {
                    parts.pairing.join(&left.rows, keyed.rows.columns(), chunk, seen.as_mut(), cx)?
                }
                None => {
                    let none = parts.right_fields.iter().map(|field| Arc::new(Vector::new(field.data_type)));
                    parts.pairing.join(&left.rows, &none.collect::<Vec<_>>(), chunk, None, cx)?
                }
            };
            match stop {
                Stop::Full => {}
                Stop::LeftIsPassed => self.left = None,
                Stop::RightIsPassed => self.pass(cx),
                // (What is read stays, if there is no answer yet. What is at hand was put out before.)
                Stop::MayGoOn if batch.is_none() => {
                    self.look_ahead(cx)?;
                    self.go_on(cx)?;
                }
                Stop::MayGoOn => {}
            }
            if batch.is_some() {
                return Ok(batch);
            }
        }
    }

    fn reset(&mut self, cx: Cx<'_>) {
        self.parts.left.reset(cx);
        self.parts.right.reset(cx);
        self.forget();
        self.charge.clear(cx.shared);
    }

    fn park(&mut self) -> bool {
        self.forget();
        self.charge = Charge::default();
        self.parts.left.park() && self.parts.right.park()
    }

    fn rebind(&mut self, parameters: &[Value]) -> bool {
        let MergeJoinParts { left, right, left_keys, right_keys, pairing, .. } = &mut self.parts;
        rebind_all(left_keys.iter_mut().chain(right_keys), parameters)
            && pairing.rebind(parameters)
            && left.rebind(parameters)
            && right.rebind(parameters)
    }
}

impl MergeJoin {
    fn forget(&mut self) {
        (self.left, self.window, self.ahead, self.passed) = (None, None, None, None);
        (self.row, self.within) = (0, 0);
        (self.left_is_read, self.right_is_read) = (false, false);
        self.parts.pairing.reset();
    }
}
