//! Rows as they come: columns of the values that were read together, and what is wrong behind them.

use std::io::BufRead;

use super::load::{Load, NextRow, Target};
use crate::columns::{Vector, row_number};
use crate::copy::{Bad, BadTuple, Force, Lines, Records, Texts, Tuples};
use crate::session::Params;
use crate::types::{ValueRef, fit, read_binary};
use crate::{Error, Result, SqlState, Value};

/// The most of a line, or of a value, that an error shows.
const SHOWN_MAX: usize = 100;

/// As many rows of a program's are inserted together, or as many as have so many bytes.
pub(super) const ROWS: usize = 1024;
const BYTES: usize = 64 << 10;

/// Where rows come from.
pub(super) trait Incoming {
    /// The next ones.
    fn next(&mut self, load: &Load<'_>) -> Rows;

    /// Where one of the last ones stands.
    fn place(&self, load: &Load<'_>, row: usize) -> String;
}

/// Some rows.
pub(super) struct Rows {
    /// The values that came, in the targets' order.
    pub(super) columns: Vec<Vector>,
    pub(super) count: usize,
    /// What is behind them: more, nothing, or a row that is not one.
    pub(super) end: Option<Result<()>>,
}

impl Rows {
    /// So many rows, of which no column was read yet.
    pub(super) fn of(count: usize) -> Rows {
        Rows { columns: Vec::new(), count, end: None }
    }

    /// Reads the next column: `read` a value of each row. The rows end before the first that has one that is none, which is told, as
    /// rows and columns are read in their order.
    pub(super) fn read(&mut self, target: &Target, mut read: impl FnMut(&mut Vector, usize) -> Result<()>) {
        let mut column = Vector::with_capacity(target.data_type, self.count);
        if let Some((row, error)) =
            (0..self.count).find_map(|row| read(&mut column, row).err().map(|error| (row, error)))
        {
            self.fail(row, error);
        }
        self.columns.push(column);
    }

    /// The rows end before this one.
    fn fail(&mut self, row: usize, error: Error) {
        (self.count, self.end) = (row, Some(Err(error)));
    }

    fn bytes(&self) -> usize {
        self.columns.iter().map(Vector::memory_bytes).sum()
    }

    /// Columns that were read further than the rows go are cut.
    pub(super) fn cut(mut self) -> Rows {
        let rows = self.count;
        self.columns.iter_mut().filter(|column| column.len() > rows).for_each(|column| *column = first(column, rows));
        self
    }
}

/// Of text and CSV.
pub(super) struct TextRows<'i> {
    lines: Lines<&'i mut dyn BufRead>,
    records: Records,
}

impl<'i> TextRows<'i> {
    pub(super) fn new(lines: Lines<&'i mut dyn BufRead>) -> TextRows<'i> {
        TextRows { lines, records: Records::default() }
    }

    /// Reads the first line, which has the columns' names, or anything.
    pub(super) fn pass_header(&mut self, load: &Load<'_>, names: Option<&[String]>) -> Result<()> {
        let failed = self.lines.read_header(&mut self.records);
        let checked = match (failed, names) {
            (Some(bad), _) => Err(bad),
            (None, Some(names)) if self.records.len() > 0 => self.lines.check_header(&self.records, names),
            (None, _) => Ok(()),
        };
        checked.map_err(|bad| self.bad(bad, load))
    }

    /// What is wrong with the last record.
    fn bad(&self, Bad { error, shows_line }: Bad, load: &Load<'_>) -> Error {
        let last = self.records.len().saturating_sub(1);
        error.with_context(if shows_line { self.place(load, last) } else { self.line(load, last) })
    }

    fn line(&self, load: &Load<'_>, row: usize) -> String {
        format!("COPY {}, line {}", load.table.name, self.records.line(row))
    }

    #[cold]
    fn no_text(&self, error: Error, row: usize, load: &Load<'_>) -> Error {
        let hint = "Where the data is in another encoding, say in which: WITH (.., ENCODING 'WIN1252').";
        error.with_context(self.line(load, row)).with_hint(hint)
    }

    #[cold]
    fn unreadable(&self, error: Error, text: &str, (row, column): (usize, &str), load: &Load<'_>) -> Error {
        error.with_context(format!("{}, column {column}: \"{}\"", self.line(load, row), shortened(text)))
    }

    /// SQLSTATE 22P04 where a record has another number of fields. Where some are missing, what those are that came is told before that.
    fn check_width(&self, row: usize, load: &Load<'_>) -> Result<()> {
        let width = self.records.width(row);
        let message = match load.targets.get(width) {
            Some(missing) => {
                let texts = self.records.texts();
                for (at, target) in load.targets.iter().enumerate().take(width) {
                    let column = &mut Vector::new(target.data_type);
                    self.read((texts, self.force(target)), column, (row, at), (target, load))?;
                }
                format!("missing data for column \"{}\"", load.column(missing))
            }
            None if width == load.targets.len() => return Ok(()),
            None => "extra data after last expected column".to_owned(),
        };
        Err(Error::new(SqlState::BAD_COPY_FILE_FORMAT, message).with_context(self.place(load, row)))
    }

    /// What the statement says of empty fields and quoted ones.
    fn force(&self, target: &Target) -> Force<'_> {
        Force { not_null: target.force_not_null, null: target.force_null.then(|| self.lines.null()) }
    }

    /// Reads the value of a field.
    #[inline]
    fn read(
        &self,
        (texts, force): (Texts<'_>, Force<'_>),
        column: &mut Vector,
        (row, at): (usize, usize),
        (target, load): (&Target, &Load<'_>),
    ) -> Result<()> {
        let text = texts.field(row, at, force).map_err(|error| self.no_text(error, row, load))?;
        let Some(text) = text else {
            column.push_null();
            return Ok(());
        };
        let read = column.push_text(text, &load.context.exec.eval);
        read.map_err(|error| self.unreadable(error, text, (row, load.column(target)), load))
    }
}

impl Incoming for TextRows<'_> {
    fn next(&mut self, load: &Load<'_>) -> Rows {
        let failed = self.lines.fill(&mut self.records).map(|bad| self.bad(bad, load));
        let mut rows = Rows::of(self.records.len() - usize::from(failed.is_some()));
        rows.end = failed.map(Err).or_else(|| self.lines.is_done().then_some(Ok(())));
        if let Some((row, error)) =
            (0..rows.count).find_map(|row| self.check_width(row, load).err().map(|error| (row, error)))
        {
            rows.fail(row, error);
        }
        let texts = self.records.texts();
        for (at, target) in load.targets.iter().enumerate() {
            let with = (texts, self.force(target));
            rows.read(target, |column, row| self.read(with, column, (row, at), (target, load)));
        }
        rows.cut()
    }

    fn place(&self, load: &Load<'_>, row: usize) -> String {
        format!("{}: \"{}\"", self.line(load, row), shortened(&self.records.shown(row)))
    }
}

/// Of the binary format.
pub(super) struct BinaryRows<'i> {
    tuples: Tuples<&'i mut dyn BufRead>,
    records: Records,
}

impl<'i> BinaryRows<'i> {
    pub(super) fn new(tuples: Tuples<&'i mut dyn BufRead>) -> BinaryRows<'i> {
        BinaryRows { tuples, records: Records::default() }
    }
}

impl BinaryRows<'_> {
    fn read(&self, (row, at): (usize, usize), target: &Target, load: &Load<'_>) -> Result<Value> {
        let value = self.records.bytes(row, at).map(|bytes| read_binary(bytes, target.data_type));
        value.unwrap_or(Ok(Value::Null)).map_err(|error| error.with_context(self.column(load, row, target)))
    }

    /// What is wrong with the last record: with a value that came of it, or behind those.
    fn fault(&self, BadTuple { error, column }: BadTuple, load: &Load<'_>) -> Error {
        let last = self.records.len().saturating_sub(1);
        let came = load.targets.iter().take(self.records.width(last)).enumerate();
        match came.map(|(at, target)| self.read((last, at), target, load)).find_map(Result::err) {
            Some(first) => first,
            None => error.with_context(match column.and_then(|at| load.targets.get(at)) {
                Some(target) => self.column(load, last, target),
                None => self.place(load, last),
            }),
        }
    }

    fn column(&self, load: &Load<'_>, row: usize, target: &Target) -> String {
        format!("{}, column {}", self.place(load, row), load.column(target))
    }
}

impl Incoming for BinaryRows<'_> {
    fn next(&mut self, load: &Load<'_>) -> Rows {
        let failed = self.tuples.fill(&mut self.records);
        let mut rows = Rows::of(self.records.len() - usize::from(failed.is_some()));
        rows.end = match failed {
            Some(bad) => Some(Err(self.fault(bad, load))),
            None => self.tuples.is_done().then_some(Ok(())),
        };
        for (at, target) in load.targets.iter().enumerate() {
            rows.read(target, |column, row| column.push(&self.read((row, at), target, load)?));
        }
        rows.cut()
    }

    fn place(&self, load: &Load<'_>, row: usize) -> String {
        format!("COPY {}, line {}", load.table.name, self.records.line(row))
    }
}

/// Of a program.
pub(super) struct GivenRows<'n, 'd> {
    next: &'n mut NextRow<'d>,
    /// How many came before the last ones.
    before: u64,
    count: u64,
}

impl<'n, 'd> GivenRows<'n, 'd> {
    pub(super) fn new(next: &'n mut NextRow<'d>) -> GivenRows<'n, 'd> {
        GivenRows { next, before: 0, count: 0 }
    }
}

impl Incoming for GivenRows<'_, '_> {
    fn next(&mut self, load: &Load<'_>) -> Rows {
        let mut rows = Rows::of(0);
        rows.columns = load.targets.iter().map(|target| Vector::new(target.data_type)).collect();
        self.before += std::mem::take(&mut self.count);
        while rows.end.is_none() && rows.count < ROWS && rows.bytes() < BYTES {
            let place = || format!("appending to {}, row {}", load.table.name, self.before + rows.count as u64 + 1);
            let columns = &mut rows.columns;
            match (self.next)(&mut |values| take(values, columns, load, &place)) {
                Ok(true) => rows.count += 1,
                Ok(false) => rows.end = Some(Ok(())),
                Err(error) => rows.end = Some(Err(error)),
            }
        }
        self.count = rows.count as u64;
        rows.cut()
    }

    fn place(&self, load: &Load<'_>, row: usize) -> String {
        format!("appending to {}, row {}", load.table.name, self.before + row as u64 + 1)
    }
}

/// Appends the values of a row.
fn take(values: &dyn Params, columns: &mut [Vector], load: &Load<'_>, place: &dyn Fn() -> String) -> Result<()> {
    if values.count() != columns.len() {
        let message = format!("the row has {} values for {} columns", values.count(), columns.len());
        return Err(Error::new(SqlState::BAD_COPY_FILE_FORMAT, message).with_context(place()));
    }
    let eval = &load.context.exec.eval;
    for (at, (column, target)) in columns.iter_mut().zip(&load.targets).enumerate() {
        let taken = match values.value(at) {
            // Which looks at a string's length, too.
            value @ ValueRef::Text(text) if value.is_sound() => column.push_text(text, eval),
            value => fit(value, target.data_type, eval).and_then(|value| column.push(&value)),
        };
        taken.map_err(|error| error.with_context(format!("{}, column {}", place(), load.column(target))))?;
    }
    Ok(())
}

/// The first values of a vector.
pub(super) fn first(column: &Vector, count: usize) -> Vector {
    column.gather(&(0..count).map(row_number).collect::<Vec<u32>>())
}

/// A value for a message: not more than PostgreSQL shows.
fn shortened(text: &str) -> String {
    match text.char_indices().find(|(at, ch)| at + ch.len_utf8() > SHOWN_MAX) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
