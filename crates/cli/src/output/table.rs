//! Aligned tables, to the character as psql writes them.

use std::io::{self, Write};

use super::cell::{self, Line};
use super::result::{Column, Style};

#[derive(Clone, Copy)]
enum Align {
    Left,
    Right,
    Center,
}

/// A row's cells, each cut into its lines.
type Lines = Vec<Vec<Line>>;

/// A table on its way out. Its columns are as wide as what was seen of them; one that is met with something wider stays
/// so from there on.
pub struct Table<'s> {
    style: &'s Style,
    header: Lines,
    widths: Vec<usize>,
    aligns: Vec<Align>,
    rows: usize,
    /// The line that is put together.
    line: String,
}

impl<'s> Table<'s> {
    pub fn new(columns: &[Column], style: &'s Style) -> Table<'s> {
        Table {
            style,
            header: columns.iter().map(|column| cell::lines(&column.name)).collect(),
            widths: columns.iter().map(|column| cell::width(&column.name)).collect(),
            aligns: columns.iter().map(|it| if it.is_number() { Align::Right } else { Align::Left }).collect(),
            rows: 0,
            line: String::new(),
        }
    }

    /// The columns are at least as wide as this row's cells.
    pub fn see<'c>(&mut self, row: impl Iterator<Item = Option<&'c str>>) {
        for (width, value) in self.widths.iter_mut().zip(row) {
            *width = cell::width(value.unwrap_or(&self.style.null)).max(*width);
        }
    }

    /// Columns of the terminal that it takes.
    pub fn width(&self) -> usize {
        self.widths.iter().map(|width| width + 3).sum::<usize>().saturating_sub(1)
    }

    /// Writes what stands above the rows.
    pub fn write_head(&mut self, out: &mut dyn Write, title: Option<&str>) -> io::Result<()> {
        if !self.style.header {
            return Ok(());
        }
        if let Some(title) = title {
            let title = cell::lines(title).swap_remove(0);
            writeln!(out, "{}{}", " ".repeat(self.width().saturating_sub(title.width) / 2), title.text)?;
        }
        self.line.clear();
        push_row(&mut self.line, &self.header, &self.widths, &vec![Align::Center; self.widths.len()]);
        let rules: Vec<String> = self.widths.iter().map(|width| "-".repeat(width + 2)).collect();
        self.line.push_str(if rules.is_empty() { "--" } else { "" });
        writeln!(out, "{}{}", self.line, rules.join("+"))
    }

    pub fn write_row<'c>(
        &mut self,
        out: &mut dyn Write,
        row: impl Iterator<Item = Option<&'c str>> + Clone,
    ) -> io::Result<()> {
        self.rows += 1;
        self.line.clear();
        let cells = row.clone().map(|value| value.unwrap_or(&self.style.null));
        if cells.clone().all(cell::is_plain) {
            for (column, value) in cells.enumerate() {
                let (width, is_last) = (&mut self.widths[column], column + 1 == self.aligns.len());
                *width = value.len().max(*width);
                push_padded(&mut self.line, value, *width - value.len(), self.aligns[column], !is_last);
                self.line.push_str(if is_last { "" } else { " |" });
            }
            self.line.push_str(if self.aligns.is_empty() { "" } else { "\n" });
        } else {
            let cells: Lines = cells.map(cell::lines).collect();
            self.see(row);
            push_row(&mut self.line, &cells, &self.widths, &self.aligns);
        }
        out.write_all(self.line.as_bytes())
    }

    /// Writes what stands below the rows; `None`: how many there were.
    pub fn write_foot(&self, out: &mut dyn Write, footer: Option<&[String]>) -> io::Result<()> {
        match footer {
            Some(lines) => lines.iter().try_for_each(|line| writeln!(out, "{line}")),
            None if self.style.header => match self.rows {
                1 => writeln!(out, "(1 row)"),
                count => writeln!(out, "({count} rows)"),
            },
            None => Ok(()),
        }
    }
}

/// A row takes as many lines as its highest cell.
fn push_row(text: &mut String, row: &Lines, widths: &[usize], aligns: &[Align]) {
    let height = row.iter().map(Vec::len).max().unwrap_or(0);
    for at in 0..height {
        for (column, ((lines, width), align)) in row.iter().zip(widths).zip(aligns).enumerate() {
            let last = column + 1 == row.len();
            push_cell(text, lines, at, *width, *align, last);
            text.push_str(if last { "" } else { "|" });
        }
        text.push('\n');
    }
}

/// One line of one cell: a blank, the value padded, and a blank or the mark that the value goes on. The last column is
/// not padded on its right.
fn push_cell(text: &mut String, lines: &[Line], at: usize, width: usize, align: Align, last: bool) {
    let empty = Line::default();
    let line = lines.get(at).unwrap_or(&empty);
    let goes_on = at + 1 < lines.len();
    let padded_right = !last || goes_on || matches!(align, Align::Center);
    push_padded(text, &line.text, width.saturating_sub(line.width), align, padded_right);
    if padded_right {
        text.push(if goes_on { '+' } else { ' ' });
    }
}

/// A blank, and the text among so many more.
fn push_padded(text: &mut String, value: &str, room: usize, align: Align, padded_right: bool) {
    let (before, after) = match align {
        Align::Left => (0, room),
        Align::Right => (room, 0),
        Align::Center => (room / 2, room - room / 2),
    };
    text.extend(std::iter::repeat_n(' ', before + 1));
    text.push_str(value);
    text.extend(std::iter::repeat_n(' ', if padded_right { after } else { 0 }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::{Column, Expanded, Format};

    fn shown(columns: Vec<Column>, rows: &[&[Option<&str>]]) -> String {
        let style = Style {
            format: Format::Table,
            header: true,
            null: "∅".to_string(),
            expanded: Expanded::Off,
            terminal_columns: None,
        };
        let mut out = Vec::new();
        let mut table = Table::new(&columns, &style);
        rows.iter().for_each(|row| table.see(row.iter().copied()));
        table.write_head(&mut out, None).unwrap();
        rows.iter().for_each(|row| table.write_row(&mut out, row.iter().copied()).unwrap());
        table.write_foot(&mut out, None).unwrap();
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

    #[test]
    fn a_column_that_was_seen_too_narrow_is_wider_from_there_on() {
        let columns = [Column::number("n"), Column::text("t")];
        let style = Style {
            format: Format::Table,
            header: true,
            null: String::new(),
            expanded: Expanded::Off,
            terminal_columns: None,
        };
        let (mut out, mut table) = (Vec::new(), Table::new(&columns, &style));
        table.write_head(&mut out, None).unwrap();
        for row in [[Some("1"), Some("a")], [Some("1000"), Some("é")], [None, Some("b")]] {
            table.write_row(&mut out, row.into_iter()).unwrap();
        }
        let expected = " n | t \n---+---\n 1 | a\n 1000 | é\n      | b\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
