//! A cursor, and how it goes over its rows.

use std::sync::Arc;

use super::portals::CursorRows;
use crate::bind::RowKey;
use crate::command::Direction;
use crate::exec::only_forward;
use crate::plan::Field;
use crate::types::datetime::clock_micros;
use crate::{Error, Result, Value};

/// See `cursors`.
pub(super) struct Cursor {
    /// `None`: they are being read, by a function of which this is found.
    pub(super) rows: Option<CursorRows>,
    pub(super) scroll: Option<bool>,
    pub(super) hold: bool,
    /// Behind how many savepoints of the open transaction it was declared; `None`: its transaction is over.
    pub(super) depth: Option<usize>,
    /// The number of the row that it is on, from 1; 0: before the first.
    pub(super) position: u64,
    /// Behind the last row, which `position` is.
    pub(super) at_end: bool,
    pub(super) failed: bool,
    /// A loop goes over it, in a procedure that may end its transaction: it ends with the statement then.
    pub(super) pinned: bool,
    /// What its rows have behind their columns.
    pub(super) key: Option<RowKey>,
    /// That of the row that it is on.
    pub(super) current: Vec<Value>,
    /// The text that declared it.
    pub(super) text: Arc<str>,
    /// Which no other of the session has.
    pub(super) serial: u64,
    /// The client's protocol has opened it, not SQL.
    pub(super) is_portal: bool,
    /// Rows of it are being read, or were.
    pub(super) is_begun: bool,
    /// Microseconds since 2000-01-01 UTC.
    pub(super) made: i64,
}

impl std::fmt::Debug for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Cursor at {}", self.position)
    }
}

impl Cursor {
    /// Before its first row.
    pub(super) fn new(rows: CursorRows, key: Option<RowKey>, scroll: Option<bool>, text: &Arc<str>) -> Cursor {
        let (depth, current) = (None, Vec::new());
        Cursor {
            is_begun: rows.is_begun(),
            rows: Some(rows),
            scroll,
            hold: false,
            depth,
            position: 0,
            at_end: false,
            failed: false,
            pinned: false,
            key,
            current,
            text: text.clone(),
            serial: 0,
            is_portal: false,
            made: clock_micros(),
        }
    }

    /// What stays where it was while its rows are read.
    pub(super) fn without_rows(&self) -> Cursor {
        let (text, current) = (self.text.clone(), self.current.clone());
        Cursor { rows: None, text, current, ..*self }
    }

    /// Whether it is being read.
    pub(super) fn is_read(&self) -> bool {
        self.rows.as_ref().is_none_or(CursorRows::is_taken)
    }

    pub(super) fn rows_mut(&mut self) -> Result<&mut CursorRows> {
        self.rows.as_mut().ok_or_else(|| Error::internal("a cursor that is read twice at once"))
    }

    pub(super) fn fields(&self) -> &[Field] {
        let all = self.rows.as_ref().map_or(&[][..], CursorRows::fields);
        &all[..all.len().saturating_sub(self.key.map_or(0, |key| key.columns))]
    }

    /// How many rows were come to, each of which `each` gets.
    pub(super) fn fetch(
        &mut self,
        direction: Direction,
        each: &mut dyn FnMut(Vec<Value>) -> Result<()>,
    ) -> Result<u64> {
        let (width, mut last) = (self.fields().len(), None);
        let count = self.come_to(direction, &mut |mut row| {
            last = Some(row.split_off(width));
            each(row)
        })?;
        if let Some(last) = last {
            self.current = last;
        }
        Ok(count)
    }

    fn come_to(&mut self, direction: Direction, each: &mut dyn FnMut(Vec<Value>) -> Result<()>) -> Result<u64> {
        match direction {
            direction if direction.stays() => self.same(each),
            Direction::Forward(count) => self.forward(count, each),
            Direction::Backward(count) => self.backward(count, each),
            Direction::Relative(by @ 1..) => {
                self.forward(Some(by.unsigned_abs() - 1), &mut |_| Ok(()))?;
                self.forward(Some(1), each)
            }
            Direction::Relative(by) => {
                self.backward(Some(by.unsigned_abs() - 1), &mut |_| Ok(()))?;
                self.backward(Some(1), each)
            }
            Direction::Absolute(0) => {
                self.go_to(0)?;
                Ok(0)
            }
            Direction::Absolute(row @ 1..) => {
                self.go_to(row.unsigned_abs() - 1)?;
                self.forward(Some(1), each)
            }
            Direction::Absolute(row) => {
                self.forward(None, &mut |_| Ok(()))?;
                self.backward(Some(row.unsigned_abs() - 1), &mut |_| Ok(()))?;
                self.backward(Some(1), each)
            }
        }
    }

    /// The number that the next row forward would have, were it not behind the end.
    fn next(&self) -> u64 {
        self.position + u64::from(self.at_end) + 1
    }

    /// SQLSTATE 55000 where it can not go back to the row of this number, from 0.
    fn check_back(&self, number: u64) -> Result<()> {
        match self.scroll == Some(false) || !self.rows.as_ref().is_some_and(|rows| rows.has(number)) {
            true => Err(only_forward()),
            false => Ok(()),
        }
    }

    pub(super) fn is_on_row(&self) -> bool {
        self.position > 0 && !self.at_end
    }

    fn same(&mut self, each: &mut dyn FnMut(Vec<Value>) -> Result<()>) -> Result<u64> {
        if !self.is_on_row() {
            return Ok(0);
        }
        self.check_back(self.position - 1)?;
        let at = self.position - 1;
        let row = self.rows_mut()?.row(at)?;
        match row {
            Some(row) => each(row).map(|()| 1),
            None => Ok(0),
        }
    }

    fn forward(&mut self, count: Option<u64>, each: &mut dyn FnMut(Vec<Value>) -> Result<()>) -> Result<u64> {
        let mut come_to = 0;
        while !self.at_end && count.is_none_or(|count| come_to < count) {
            let at = self.position;
            match self.rows_mut()?.row(at)? {
                Some(row) => {
                    each(row)?;
                    (self.position, come_to) = (self.position + 1, come_to + 1);
                }
                None => self.at_end = true,
            }
        }
        Ok(come_to)
    }

    fn backward(&mut self, count: Option<u64>, each: &mut dyn FnMut(Vec<Value>) -> Result<()>) -> Result<u64> {
        if count == Some(0) {
            return Ok(0);
        }
        let (last, mut come_to) = (self.next() - 1, 0);
        self.check_back(count.map_or(0, |count| last.saturating_sub(count + 1)))?;
        while count.is_none_or(|count| come_to < count) && come_to + 1 < last {
            let row = self
                .rows_mut()?
                .row(last - come_to - 2)?
                .ok_or_else(|| Error::internal("a row of a cursor is missing"))?;
            each(row)?;
            come_to += 1;
        }
        let is_through = count.is_none_or(|count| come_to < count);
        (self.position, self.at_end) = (if is_through { 0 } else { last - come_to }, false);
        Ok(come_to)
    }

    /// Goes to a row, or as far as there are any.
    fn go_to(&mut self, row: u64) -> Result<()> {
        let at = self.next() - 1;
        if row < at {
            self.check_back(row)?;
            (self.position, self.at_end) = (row, false);
            return Ok(());
        }
        self.forward(Some(row - at), &mut |_| Ok(())).map(drop)
    }
}
