//! Markdown tables (GitHub's form).

use std::io::{self, Write};

use super::Column;

/// Writes the line of names and the line that says how columns are aligned.
pub fn write_header(out: &mut dyn Write, columns: &[Column]) -> io::Result<()> {
    let names: Vec<String> = columns.iter().map(|column| escape(&column.name)).collect();
    let rules: Vec<&str> = columns.iter().map(|column| if column.is_number() { "---:" } else { "---" }).collect();
    writeln!(out, "| {} |\n| {} |", names.join(" | "), rules.join(" | "))
}

/// Writes one row.
pub fn write_row(out: &mut dyn Write, cells: &[Option<&str>], null: &str) -> io::Result<()> {
    let cells: Vec<String> = cells.iter().map(|cell| escape(cell.unwrap_or(null))).collect();
    writeln!(out, "| {} |", cells.join(" | "))
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('|', "\\|").replace("\r\n", "<br>").replace(['\n', '\r'], "<br>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_and_line_ends_cannot_break_the_table() {
        let mut out = Vec::new();
        write_header(&mut out, &[Column::text("a|b"), Column::number("n")]).unwrap();
        write_row(&mut out, &[Some("x\ny"), None], "-").unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "| a\\|b | n |\n| --- | ---: |\n| x<br>y | - |\n");
    }
}
