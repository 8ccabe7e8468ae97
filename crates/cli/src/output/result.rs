//! A result on its way out: which format, and with what options.
//!
//! Everything is written row by row, in constant memory; a table's columns are as wide as the widest value of its first
//! rows.

use std::io::{self, Write};
use std::time::Duration;

use cairndb::{EvalContext, Field, Row, Rows, Timeslice, TypeCategory, Value, to_text};
use clap::ValueEnum;

use super::cells::Cells;
use super::expanded::Records;
use super::table::Table;
use super::{csv, json, markdown, unaligned};
use crate::report::Failure;

/// Of so many bytes of rows a table takes its widths.
const FIRST_BYTES: usize = 4 << 20;

/// Rows that come within so long of each other are shown together.
const PAUSE: Duration = Duration::from_millis(50);

/// How results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Aligned columns, as psql shows them
    Table,
    /// Values with bars between them
    Unaligned,
    /// Comma-separated values
    Csv,
    /// An array of objects
    Json,
    /// A Markdown table
    Markdown,
}

/// Whether tables are turned on their side: one line per column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expanded {
    Off,
    On,
    /// When a table would be wider than the terminal.
    Auto,
}

/// The options of all formats.
#[derive(Clone, Debug)]
pub struct Style {
    pub format: Format,
    pub header: bool,
    pub null: String,
    pub expanded: Expanded,
    /// Columns of the terminal, where the output is one.
    pub terminal_columns: Option<usize>,
}

/// A column of a result.
#[derive(Clone, Debug)]
pub struct Column {
    pub name: String,
    pub category: TypeCategory,
}

impl Column {
    /// A column of text.
    pub fn text(name: &str) -> Column {
        Column { name: name.to_string(), category: TypeCategory::String }
    }

    /// A column of numbers: right-aligned in tables, bare in JSON.
    pub fn number(name: &str) -> Column {
        Column { name: name.to_string(), category: TypeCategory::Numeric }
    }

    pub(super) fn is_number(&self) -> bool {
        self.category == TypeCategory::Numeric
    }
}

impl From<&Field> for Column {
    fn from(field: &Field) -> Column {
        Column { name: field.name.clone(), category: field.data_type.category() }
    }
}

/// A complete result of the shell's own; `None` is NULL.
#[derive(Clone, Debug, Default)]
pub struct Grid {
    pub title: Option<String>,
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<Option<String>>>,
    /// Lines below the table; `None`: the row count.
    pub footer: Option<Vec<String>>,
}

/// Writes the rows of a query as they come. Of one that has no last row, what is there is seen at once.
pub fn write_rows(out: &mut dyn Write, rows: &mut Rows, style: &Style, context: &EvalContext) -> Result<(), Failure> {
    let mut sink = Sink::new(out, rows.columns().iter().map(Column::from).collect(), style)?;
    if !rows.is_endless() {
        while let Some(row) = rows.next()? {
            sink.row(&row, context)?;
        }
        return sink.finish();
    }
    loop {
        match rows.next_within(PAUSE) {
            Ok(Timeslice::Row(row)) => sink.row(&row, context)?,
            Ok(Timeslice::NotYet) => sink.part()?,
            Ok(Timeslice::End) => return sink.finish(),
            Err(error) => {
                sink.part()?;
                return Err(error.into());
            }
        }
    }
}

/// Writes a complete result.
pub fn write_grid(out: &mut dyn Write, grid: &Grid, style: &Style) -> Result<(), Failure> {
    if style.format != Format::Table {
        let mut sink = Sink::new(out, grid.columns.clone(), style)?;
        for row in &grid.rows {
            match style.format {
                Format::Json => sink.object(&json::text_object(&grid.columns, row))?,
                _ => sink.record(&cells(row).collect::<Vec<_>>())?,
            }
        }
        return sink.finish();
    }
    let mut shape = Shape::of(&grid.columns, grid.rows.iter().map(|row| cells(row)), style);
    shape.write_head(out, grid.title.as_deref())?;
    grid.rows.iter().try_for_each(|row| shape.write_row(out, cells(row)))?;
    Ok(shape.write_foot(out, grid.footer.as_deref())?)
}

fn cells(row: &[Option<String>]) -> impl Iterator<Item = Option<&str>> + Clone {
    row.iter().map(Option::as_deref)
}

/// A row's values as text.
pub fn cells_of(row: &Row<'_>, context: &EvalContext) -> Vec<Option<String>> {
    row.values().iter().map(|value| text_of(value, context)).collect()
}

fn text_of(value: &Value, context: &EvalContext) -> Option<String> {
    (!value.is_null()).then(|| to_text(value, context))
}

/// How a table stands.
enum Shape<'s> {
    Upright(Table<'s>),
    OnItsSide(Records<'s>),
}

impl<'s> Shape<'s> {
    /// With widths of these rows, of which it is decided, too.
    fn of<'c, R: Iterator<Item = Option<&'c str>> + Clone>(
        columns: &[Column],
        rows: impl Iterator<Item = R> + Clone,
        style: &'s Style,
    ) -> Shape<'s> {
        let mut table = Table::new(columns, style);
        rows.clone().for_each(|row| table.see(row));
        let on_its_side = match (style.expanded, style.terminal_columns) {
            (Expanded::On, _) => true,
            // One column is a text, as a plan is, and no record.
            (Expanded::Auto, Some(room)) => columns.len() > 1 && table.width() > room,
            _ => false,
        };
        if !on_its_side {
            return Shape::Upright(table);
        }
        let mut records = Records::new(columns, style);
        rows.for_each(|row| records.see(row));
        Shape::OnItsSide(records)
    }

    fn write_head(&mut self, out: &mut dyn Write, title: Option<&str>) -> io::Result<()> {
        match self {
            Shape::Upright(table) => table.write_head(out, title),
            Shape::OnItsSide(records) => records.write_head(out, title),
        }
    }

    fn write_row<'c>(
        &mut self,
        out: &mut dyn Write,
        row: impl Iterator<Item = Option<&'c str>> + Clone,
    ) -> io::Result<()> {
        match self {
            Shape::Upright(table) => table.write_row(out, row),
            Shape::OnItsSide(records) => records.write_row(out, row),
        }
    }

    /// With the blank line that follows the table.
    fn write_foot(&mut self, out: &mut dyn Write, footer: Option<&[String]>) -> io::Result<()> {
        match self {
            Shape::Upright(table) => table.write_foot(out, footer)?,
            Shape::OnItsSide(records) => records.write_foot(out, footer)?,
        }
        out.write_all(b"\n")
    }
}

/// Where rows go, one at a time.
struct Sink<'a> {
    out: &'a mut dyn Write,
    style: &'a Style,
    columns: Vec<Column>,
    /// A table whose first rows were seen.
    shape: Option<Shape<'a>>,
    /// A table's first rows until then; else the row at hand.
    cells: Cells,
    /// Rows that were written as they came.
    count: usize,
}

impl<'a> Sink<'a> {
    fn new(out: &'a mut dyn Write, columns: Vec<Column>, style: &'a Style) -> Result<Sink<'a>, Failure> {
        match style.format {
            Format::Csv if style.header => {
                let names: Vec<Option<&str>> = columns.iter().map(|column| Some(column.name.as_str())).collect();
                csv::write_record(out, &names)?;
            }
            Format::Markdown => markdown::write_header(out, &columns)?,
            Format::Json => out.write_all(b"[")?,
            Format::Unaligned if style.header && style.expanded != Expanded::On => {
                unaligned::write_header(out, &columns)?;
            }
            Format::Csv | Format::Table | Format::Unaligned => {}
        }
        let cells = Cells::new(columns.len());
        Ok(Sink { out, style, columns, shape: None, cells, count: 0 })
    }

    fn row(&mut self, row: &Row<'_>, context: &EvalContext) -> Result<(), Failure> {
        if self.style.format == Format::Json {
            return self.object(&json::row_object(&self.columns, row, context));
        }
        if self.style.format == Format::Table && self.shape.is_none() {
            self.cells.push(row, context);
            return if self.cells.bytes() < FIRST_BYTES { Ok(()) } else { self.begin() };
        }
        let mut one = std::mem::take(&mut self.cells);
        one.clear();
        one.push(row, context);
        let done = one.rows().try_for_each(|row| match &mut self.shape {
            Some(shape) => Ok(shape.write_row(self.out, row)?),
            None => self.record(&row.collect::<Vec<_>>()),
        });
        self.cells = one;
        done
    }

    /// A row of what is neither a table nor JSON.
    fn record(&mut self, cells: &[Option<&str>]) -> Result<(), Failure> {
        let (null, is_first) = (&self.style.null, self.count == 0);
        self.count += 1;
        let written = match self.style.format {
            Format::Markdown => markdown::write_row(self.out, cells, null),
            Format::Unaligned if self.style.expanded == Expanded::On => {
                if !is_first {
                    self.out.write_all(b"\n")?;
                }
                unaligned::write_record(self.out, &self.columns, cells, null)
            }
            Format::Unaligned => unaligned::write_row(self.out, cells, null),
            _ => csv::write_record(self.out, cells),
        };
        Ok(written?)
    }

    fn object(&mut self, object: &str) -> Result<(), Failure> {
        let start = if self.count == 0 { "\n" } else { ",\n" };
        self.count += 1;
        Ok(self.out.write_all((start.to_string() + object).as_bytes())?)
    }

    /// What has come so far is seen.
    fn part(&mut self) -> Result<(), Failure> {
        if self.style.format == Format::Table && self.shape.is_none() {
            self.begin()?;
        }
        Ok(self.out.flush()?)
    }

    /// Writes the rows of which a table's widths are.
    fn begin(&mut self) -> Result<(), Failure> {
        let shape = self.shape.insert(Shape::of(&self.columns, self.cells.rows(), self.style));
        shape.write_head(self.out, None)?;
        self.cells.rows().try_for_each(|row| shape.write_row(self.out, row))?;
        self.cells = Cells::new(self.columns.len());
        Ok(())
    }

    fn finish(mut self) -> Result<(), Failure> {
        match self.style.format {
            Format::Table => {
                if self.shape.is_none() {
                    self.begin()?;
                }
                Ok(self.shape.iter_mut().try_for_each(|shape| shape.write_foot(self.out, None))?)
            }
            Format::Json if self.count == 0 => Ok(self.out.write_all(b"]\n")?),
            Format::Json => Ok(self.out.write_all(b"\n]\n")?),
            Format::Unaligned if self.style.header && self.style.expanded != Expanded::On => {
                Ok(unaligned::write_footer(self.out, self.count)?)
            }
            Format::Csv | Format::Markdown | Format::Unaligned => Ok(()),
        }
    }
}
