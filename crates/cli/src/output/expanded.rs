//! Tables turned on their side, one line per column: `\x`.

use std::io::{self, Write};

use super::cell::{self, Line};
use super::result::{Grid, Style};

/// Writes the records, without the blank line that follows them.
pub fn write(out: &mut dyn Write, grid: &Grid, style: &Style) -> io::Result<()> {
    if let (Some(title), true) = (&grid.title, style.header) {
        writeln!(out, "{title}")?;
    }
    if grid.rows.is_empty() && style.header {
        writeln!(out, "(0 rows)")?;
    }
    let names: Vec<Line> = grid.columns.iter().map(|column| cell::lines(&column.name).swap_remove(0)).collect();
    let name_width = names.iter().map(|name| name.width).max().unwrap_or(0);
    let records: Vec<Vec<Vec<Line>>> = grid
        .rows
        .iter()
        .map(|row| row.iter().map(|value| cell::lines(value.as_deref().unwrap_or(&style.null))).collect())
        .collect();
    let value_width = records.iter().flatten().flatten().map(|line| line.width).max().unwrap_or(0);
    for (at, record) in records.iter().enumerate() {
        writeln!(out, "{}", rule(at + 1, name_width, value_width))?;
        for (name, lines) in names.iter().zip(record) {
            write_value(out, name, lines, name_width, value_width)?;
        }
    }
    grid.footer.iter().flatten().try_for_each(|line| writeln!(out, "{line}"))
}

/// `-[ RECORD 1 ]--+----`
fn rule(number: usize, name_width: usize, value_width: usize) -> String {
    let label = format!("-[ RECORD {number} ]");
    let rule = format!("{}+{}", "-".repeat(name_width + 1), "-".repeat(value_width + 1));
    let mut rest: String = rule.chars().skip(label.len()).collect();
    if label.len() > name_width + 1 {
        rest = rest.replace('+', "-");
    }
    label + &rest
}

fn write_value(
    out: &mut dyn Write,
    name: &Line,
    lines: &[Line],
    name_width: usize,
    value_width: usize,
) -> io::Result<()> {
    let empty = Line::default();
    for (at, line) in lines.iter().enumerate() {
        let name = if at == 0 { name } else { &empty };
        let blanks = " ".repeat(name_width.saturating_sub(name.width));
        write!(out, "{}{blanks} | {}", name.text, line.text)?;
        if at + 1 < lines.len() {
            write!(out, "{}+", " ".repeat(value_width.saturating_sub(line.width)))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    // The expected lines are psql 15's.
    #[test]
    fn the_record_line_is_as_long_as_the_widest_line() {
        assert_eq!(rule(1, 8, 5), "-[ RECORD 1 ]---");
        assert_eq!(rule(1, 27, 1), "-[ RECORD 1 ]---------------+--");
        assert_eq!(rule(1, 1, 1), "-[ RECORD 1 ]");
    }

    #[test]
    fn values_of_several_lines_are_marked_where_they_go_on() {
        let mut out = Vec::new();
        let name = cell::lines("m").swap_remove(0);
        write_value(&mut out, &name, &cell::lines("a\nbc"), 4, 3).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "m    | a  +\n     | bc\n");
    }
}
