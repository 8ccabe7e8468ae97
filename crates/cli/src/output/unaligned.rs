//! Rows without alignment: values with bars between them, as psql's unaligned format has them.

use std::io::{self, Write};

use super::Column;

/// Writes the names.
pub fn write_header(out: &mut dyn Write, columns: &[Column]) -> io::Result<()> {
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    writeln!(out, "{}", names.join("|"))
}

/// Writes one row.
pub fn write_row(out: &mut dyn Write, cells: &[Option<&str>], null: &str) -> io::Result<()> {
    let cells: Vec<&str> = cells.iter().map(|cell| cell.unwrap_or(null)).collect();
    writeln!(out, "{}", cells.join("|"))
}

/// Writes one row on its side: a line a column.
pub fn write_record(out: &mut dyn Write, columns: &[Column], cells: &[Option<&str>], null: &str) -> io::Result<()> {
    columns.iter().zip(cells).try_for_each(|(column, cell)| writeln!(out, "{}|{}", column.name, cell.unwrap_or(null)))
}

/// Writes how many rows there were.
pub fn write_footer(out: &mut dyn Write, rows: usize) -> io::Result<()> {
    writeln!(out, "({rows} row{})", if rows == 1 { "" } else { "s" })
}
