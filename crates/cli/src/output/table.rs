//! Aligned tables, to the character as psql writes them.

use std::io::{self, Write};

use super::cell::{self, Line};
use super::result::{Grid, Style};

#[derive(Clone, Copy)]
enum Align {
    Left,
    Right,
    Center,
}

/// A row's cells, each cut into its lines.
type Lines = Vec<Vec<Line>>;

/// Columns of the terminal that the table takes.
pub fn width(grid: &Grid, style: &Style) -> usize {
    let (header, rows) = layout(grid, style);
    widths(&header, &rows).iter().map(|width| width + 3).sum::<usize>().saturating_sub(1)
}

/// Writes the table, without the blank line that follows it.
pub fn write(out: &mut dyn Write, grid: &Grid, style: &Style) -> io::Result<()> {
    let (header, rows) = layout(grid, style);
    let widths = widths(&header, &rows);
    if style.header {
        write_title(out, grid, &widths)?;
        write_row(out, &header, &widths, &vec![Align::Center; widths.len()])?;
        let rules: Vec<String> = widths.iter().map(|width| "-".repeat(width + 2)).collect();
        writeln!(out, "{}", if rules.is_empty() { "--".to_string() } else { rules.join("+") })?;
    }
    let aligns: Vec<Align> =
        grid.columns.iter().map(|column| if column.is_number() { Align::Right } else { Align::Left }).collect();
    for row in &rows {
        write_row(out, row, &widths, &aligns)?;
    }
    write_footer(out, grid, style)
}

fn layout(grid: &Grid, style: &Style) -> (Lines, Vec<Lines>) {
    let header = grid.columns.iter().map(|column| cell::lines(&column.name)).collect();
    let cells = |row: &Vec<Option<String>>| -> Lines {
        row.iter().map(|value| cell::lines(value.as_deref().unwrap_or(&style.null))).collect()
    };
    (header, grid.rows.iter().map(cells).collect())
}

fn widths(header: &Lines, rows: &[Lines]) -> Vec<usize> {
    let mut widths = vec![0; header.len()];
    for row in std::iter::once(header).chain(rows) {
        for (width, lines) in widths.iter_mut().zip(row) {
            *width = lines.iter().map(|line| line.width).fold(*width, usize::max);
        }
    }
    widths
}

fn write_title(out: &mut dyn Write, grid: &Grid, widths: &[usize]) -> io::Result<()> {
    let Some(title) = &grid.title else { return Ok(()) };
    let total = widths.iter().map(|width| width + 3).sum::<usize>().saturating_sub(1);
    let title = cell::lines(title).swap_remove(0);
    writeln!(out, "{}{}", " ".repeat(total.saturating_sub(title.width) / 2), title.text)
}

fn write_row(out: &mut dyn Write, row: &Lines, widths: &[usize], aligns: &[Align]) -> io::Result<()> {
    let height = row.iter().map(Vec::len).max().unwrap_or(0);
    for at in 0..height {
        let mut text = String::new();
        for (column, ((lines, width), align)) in row.iter().zip(widths).zip(aligns).enumerate() {
            let last = column + 1 == row.len();
            push_cell(&mut text, lines, at, *width, *align, last);
            text.push_str(if last { "" } else { "|" });
        }
        writeln!(out, "{text}")?;
    }
    Ok(())
}

/// One line of one cell: a blank, the value padded, and a blank or the mark that the value goes on. The last column is
/// not padded on its right.
fn push_cell(text: &mut String, lines: &[Line], at: usize, width: usize, align: Align, last: bool) {
    let empty = Line::default();
    let line = lines.get(at).unwrap_or(&empty);
    let goes_on = at + 1 < lines.len();
    let room = width.saturating_sub(line.width);
    let (before, after) = match align {
        Align::Left => (0, room),
        Align::Right => (room, 0),
        Align::Center => (room / 2, room - room / 2),
    };
    let padded_right = !last || goes_on || matches!(align, Align::Center);
    text.push(' ');
    text.extend(std::iter::repeat_n(' ', before));
    text.push_str(&line.text);
    if padded_right {
        text.extend(std::iter::repeat_n(' ', after));
        text.push(if goes_on { '+' } else { ' ' });
    }
}

fn write_footer(out: &mut dyn Write, grid: &Grid, style: &Style) -> io::Result<()> {
    match &grid.footer {
        Some(lines) => lines.iter().try_for_each(|line| writeln!(out, "{line}")),
        None if style.header => match grid.rows.len() {
            1 => writeln!(out, "(1 row)"),
            count => writeln!(out, "({count} rows)"),
        },
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::{Column, Expanded, Format};

    fn shown(columns: Vec<Column>, rows: &[&[Option<&str>]]) -> String {
        let rows = rows.iter().map(|row| row.iter().map(|cell| cell.map(str::to_string)).collect()).collect();
        let grid = Grid { columns, rows, ..Grid::default() };
        let style = Style {
            format: Format::Table,
            header: true,
            null: "∅".to_string(),
            expanded: Expanded::Off,
            terminal_columns: None,
        };
        let mut out = Vec::new();
        write(&mut out, &grid, &style).unwrap();
        String::from_utf8(out).unwrap()
    }

    // The expected texts are psql 15's.

    #[test]
    fn numbers_stand_right_and_text_left() {
        let columns = vec![Column::text("name"), Column::number("n")];
        let expected = "  name  |  n  \n--------+-----\n Eugene |   3\n ∅      | 120\n(2 rows)\n";
        assert_eq!(shown(columns, &[&[Some("Eugene"), Some("3")], &[None, Some("120")]]), expected);
    }

    #[test]
    fn values_of_several_lines_are_marked_where_they_go_on() {
        let columns = vec![Column::number("x"), Column::text("m"), Column::text("t")];
        let expected = " x |  m  | t \n---+-----+---\n 2 | a  +| t\n   | bcd | \n(1 row)\n";
        assert_eq!(shown(columns, &[&[Some("2"), Some("a\nbcd"), Some("t")]]), expected);
    }

    #[test]
    fn a_result_without_rows_has_its_header() {
        assert_eq!(shown(vec![Column::number("?column?")], &[]), " ?column? \n----------\n(0 rows)\n");
    }

    #[test]
    fn wide_characters_keep_the_columns_aligned() {
        let columns = vec![Column::text("k"), Column::text("v")];
        let expected = "  k   | v \n------+---\n 漢字 | a\n b    | c\n(2 rows)\n";
        assert_eq!(shown(columns, &[&[Some("漢字"), Some("a")], &[Some("b"), Some("c")]]), expected);
    }
}
