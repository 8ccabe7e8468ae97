//! JSON: an array of objects, one row a line. Numbers and booleans are bare, everything else is a string.

use std::fmt::Write as _;
use std::io::{self, Write};

use cairndb::TypeCategory;

use super::Column;

/// Writes one row; `first`: it is the first of the array.
pub fn write_object(out: &mut dyn Write, columns: &[Column], cells: &[Option<String>], first: bool) -> io::Result<()> {
    let start = if first { "\n" } else { ",\n" };
    out.write_all((start.to_string() + &object(columns, cells)).as_bytes())
}

/// A row as an object.
pub fn object(columns: &[Column], cells: &[Option<String>]) -> String {
    let mut line = String::from("{");
    for (at, (column, cell)) in columns.iter().zip(cells).enumerate() {
        if at > 0 {
            line.push(',');
        }
        push_string(&mut line, &column.name);
        line.push(':');
        push_value(&mut line, column, cell.as_deref());
    }
    line.push('}');
    line
}

fn push_value(line: &mut String, column: &Column, cell: Option<&str>) {
    match (column.category, cell) {
        (_, None) => line.push_str("null"),
        (TypeCategory::Numeric, Some(text)) if is_number(text) => line.push_str(text),
        (TypeCategory::Boolean, Some("t")) => line.push_str("true"),
        (TypeCategory::Boolean, Some("f")) => line.push_str("false"),
        (_, Some(text)) => push_string(line, text),
    }
}

/// NaN and the infinities are not numbers in JSON.
fn is_number(text: &str) -> bool {
    text.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit())
}

fn push_string(line: &mut String, text: &str) {
    line.push('"');
    for c in text.chars() {
        match c {
            '"' => line.push_str("\\\""),
            '\\' => line.push_str("\\\\"),
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            '\t' => line.push_str("\\t"),
            c if c.is_control() => drop(write!(line, "\\u{:04x}", u32::from(c))),
            c => line.push(c),
        }
    }
    line.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_keep_their_json_form() {
        let boolean = Column { name: "ok".to_string(), category: TypeCategory::Boolean };
        let columns = [Column::number("n"), Column::number("x"), boolean, Column::text("te\"xt"), Column::text("no")];
        let cells = ["-1.50", "NaN", "t", "a\"\\\n\u{1}"].map(|text| Some(text.to_string()));
        let cells: Vec<_> = cells.into_iter().chain([None]).collect();
        let mut out = Vec::new();
        write_object(&mut out, &columns, &cells, true).unwrap();
        let expected = r#"{"n":-1.50,"x":"NaN","ok":true,"te\"xt":"a\"\\\n\u0001","no":null}"#;
        assert_eq!(String::from_utf8(out).unwrap().trim_start(), expected);
    }
}
