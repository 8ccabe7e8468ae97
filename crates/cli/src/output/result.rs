//! A result on its way out: which format, and with what options.
//!
//! Tables need every row before the first can be written (columns are as wide as their widest value); the other
//! formats write row by row, in constant memory.

use std::io::Write;
use std::time::Duration;

use cairndb::{EvalContext, TypeCategory, to_text};
use cairndb::{Field, Row, Rows, Timeslice, Value};
use clap::ValueEnum;

use super::{csv, expanded, json, markdown, table};
use crate::report::Failure;

/// Rows that come within so long of each other are shown together, up to so many.
const PAUSE: Duration = Duration::from_millis(50);
const PART_ROWS: usize = 1000;

/// How results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Aligned columns, as psql shows them
    Table,
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

/// A complete result; `None` is NULL.
#[derive(Clone, Debug, Default)]
pub struct Grid {
    pub title: Option<String>,
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<Option<String>>>,
    /// Lines below the table; `None`: the row count.
    pub footer: Option<Vec<String>>,
}

/// Writes the rows of a query as they come, where the format allows it.
pub fn write_rows(out: &mut dyn Write, rows: &mut Rows, style: &Style, context: &EvalContext) -> Result<(), Failure> {
    let columns: Vec<Column> = rows.columns().iter().map(Column::from).collect();
    let mut sink = Sink::new(out, columns, style)?;
    while let Some(row) = rows.next()? {
        sink.row(cells_of(&row, context))?;
    }
    sink.finish()
}

/// Writes the rows of a query that has no last one, as they come: a table in parts, each of what was there together.
pub fn write_endless(
    out: &mut dyn Write,
    rows: &mut Rows,
    style: &Style,
    context: &EvalContext,
) -> Result<(), Failure> {
    let columns: Vec<Column> = rows.columns().iter().map(Column::from).collect();
    let mut sink = Sink::new(out, columns, style)?;
    loop {
        let is_over = match rows.next_within(PAUSE) {
            Ok(Timeslice::Row(row)) => {
                sink.row(cells_of(&row, context))?;
                if !sink.written.is_multiple_of(PART_ROWS) {
                    continue;
                }
                Ok(false)
            }
            Ok(Timeslice::NotYet) => Ok(false),
            Ok(Timeslice::End) => Ok(true),
            Err(error) => Err(error),
        };
        sink.part()?;
        if is_over? {
            break;
        }
    }
    match style.format {
        Format::Table => Ok(()),
        _ => sink.finish(),
    }
}

/// Writes a complete result.
pub fn write_grid(out: &mut dyn Write, grid: Grid, style: &Style) -> Result<(), Failure> {
    if style.format == Format::Table {
        return write_table(out, &grid, style);
    }
    let mut sink = Sink::new(out, grid.columns, style)?;
    for row in grid.rows {
        sink.row(row)?;
    }
    sink.finish()
}

/// A row's values as text.
pub fn cells_of(row: &Row<'_>, context: &EvalContext) -> Vec<Option<String>> {
    row.values().iter().map(|value| text_of(value, context)).collect()
}

fn text_of(value: &Value, context: &EvalContext) -> Option<String> {
    (!value.is_null()).then(|| to_text(value, context))
}

/// Where rows go, one at a time.
struct Sink<'a> {
    out: &'a mut dyn Write,
    style: &'a Style,
    grid: Grid,
    written: usize,
    /// A part of it was seen.
    begun: bool,
}

impl<'a> Sink<'a> {
    fn new(out: &'a mut dyn Write, columns: Vec<Column>, style: &'a Style) -> Result<Sink<'a>, Failure> {
        match style.format {
            Format::Csv if style.header => {
                let names: Vec<Option<&str>> = columns.iter().map(|column| Some(column.name.as_str())).collect();
                csv::write_record(out, &names, &csv::Dialect::default())?;
            }
            Format::Markdown => markdown::write_header(out, &columns)?,
            Format::Json => out.write_all(b"[")?,
            Format::Csv | Format::Table => {}
        }
        let grid = Grid { columns, ..Grid::default() };
        Ok(Sink { out, style, grid, written: 0, begun: false })
    }

    fn row(&mut self, cells: Vec<Option<String>>) -> Result<(), Failure> {
        let first = self.written == 0;
        self.written += 1;
        match self.style.format {
            Format::Table => {
                self.grid.rows.push(cells);
                Ok(())
            }
            Format::Csv => {
                let cells: Vec<Option<&str>> = cells.iter().map(Option::as_deref).collect();
                Ok(csv::write_record(self.out, &cells, &csv::Dialect::default())?)
            }
            Format::Json => Ok(json::write_object(self.out, &self.grid.columns, &cells, first)?),
            Format::Markdown => Ok(markdown::write_row(self.out, &cells, &self.style.null)?),
        }
    }

    /// What has come so far is seen.
    fn part(&mut self) -> Result<(), Failure> {
        if self.style.format == Format::Table && (!self.begun || !self.grid.rows.is_empty()) {
            let style = Style { header: self.style.header && !self.begun, ..self.style.clone() };
            match style.expanded {
                Expanded::On => expanded::write(self.out, &self.grid, &style)?,
                Expanded::Off | Expanded::Auto => table::write(self.out, &self.grid, &style)?,
            }
            self.grid.rows.clear();
        }
        self.begun = true;
        Ok(self.out.flush()?)
    }

    fn finish(self) -> Result<(), Failure> {
        match self.style.format {
            Format::Table => write_table(self.out, &self.grid, self.style),
            Format::Json if self.written == 0 => Ok(self.out.write_all(b"]\n")?),
            Format::Json => Ok(self.out.write_all(b"\n]\n")?),
            Format::Csv | Format::Markdown => Ok(()),
        }
    }
}

fn write_table(out: &mut dyn Write, grid: &Grid, style: &Style) -> Result<(), Failure> {
    let sideways = match (style.expanded, style.terminal_columns) {
        (Expanded::On, _) => true,
        (Expanded::Auto, Some(columns)) => table::width(grid, style) > columns,
        _ => false,
    };
    if sideways {
        expanded::write(out, grid, style)?
    } else {
        table::write(out, grid, style)?
    }
    Ok(out.write_all(b"\n")?)
}
