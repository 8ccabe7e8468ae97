//! Tables turned on their side, one line per column: `\x`.

use std::io::{self, Write};

use super::cell::{self, Line};
use super::result::{Column, Style};

/// Records on their way out; their lines are as long as what was seen of them.
pub struct Records<'s> {
    style: &'s Style,
    names: Vec<Line>,
    name_width: usize,
    value_width: usize,
    records: usize,
}

impl<'s> Records<'s> {
    pub fn new(columns: &[Column], style: &'s Style) -> Records<'s> {
        let names: Vec<Line> = columns.iter().map(|column| cell::lines(&column.name).swap_remove(0)).collect();
        let name_width = names.iter().map(|name| name.width).max().unwrap_or(0);
        Records { style, names, name_width, value_width: 0, records: 0 }
    }

    /// The lines are at least as long as this row's values.
    pub fn see<'c>(&mut self, row: impl Iterator<Item = Option<&'c str>>) {
        for value in row {
            self.value_width = cell::width(value.unwrap_or(&self.style.null)).max(self.value_width);
        }
    }

    /// Writes what stands above the records.
    pub fn write_head(&self, out: &mut dyn Write, title: Option<&str>) -> io::Result<()> {
        match title {
            Some(title) if self.style.header => writeln!(out, "{title}"),
            _ => Ok(()),
        }
    }

    pub fn write_row<'c>(
        &mut self,
        out: &mut dyn Write,
        row: impl Iterator<Item = Option<&'c str>> + Clone,
    ) -> io::Result<()> {
        self.records += 1;
        self.see(row.clone());
        writeln!(out, "{}", rule(self.records, self.name_width, self.value_width))?;
        for (name, value) in self.names.iter().zip(row) {
            let lines = cell::lines(value.unwrap_or(&self.style.null));
            write_value(out, name, &lines, self.name_width, self.value_width)?;
        }
        Ok(())
    }

    /// Writes what stands below the records.
    pub fn write_foot(&self, out: &mut dyn Write, footer: Option<&[String]>) -> io::Result<()> {
        if self.records == 0 && self.style.header {
            writeln!(out, "(0 rows)")?;
        }
        footer.iter().copied().flatten().try_for_each(|line| writeln!(out, "{line}"))
    }
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
