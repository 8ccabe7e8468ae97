//! JSON: an array of objects, one row a line. What a query found is as SQL's `to_json` writes it.

use std::fmt::Write as _;

use cairndb::{EvalContext, Row, write_json};

use super::Column;

/// A row as an object, in one line.
pub fn row_object(columns: &[Column], row: &Row<'_>, context: &EvalContext) -> String {
    object(columns, row.values(), |out, _, value| {
        let start = out.len();
        write_json(value, context, out);
        if out[start..].contains(['\n', '\r']) {
            // As the `json` was given, where they can only stand between its parts.
            let text = out.split_off(start);
            out.push_str(&text.replace(['\n', '\r'], " "));
        }
    })
}

/// A row of texts as an object.
pub fn text_object(columns: &[Column], cells: &[Option<String>]) -> String {
    object(columns, cells, |out, column, cell| match cell {
        None => out.push_str("null"),
        Some(text) if column.is_number() && is_number(text) => out.push_str(text),
        Some(text) => push_string(out, text),
    })
}

fn object<V>(
    columns: &[Column],
    values: impl IntoIterator<Item = V>,
    push: impl Fn(&mut String, &Column, V),
) -> String {
    let mut line = String::from("{");
    for (at, (column, value)) in columns.iter().zip(values).enumerate() {
        line.push_str(if at > 0 { "," } else { "" });
        push_string(&mut line, &column.name);
        line.push(':');
        push(&mut line, column, value);
    }
    line.push('}');
    line
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
        let connection = cairndb::Database::open_in_memory().unwrap().connect().unwrap();
        let query = r#"SELECT -1.50 AS n, 'NaN'::float8 AS x, true AS ok, E'a"\\\n\x01' AS "te""xt", NULL AS no, '{"a": 1}'::jsonb AS b,
            E'{"a":\n 1}'::json AS j, ARRAY['x', NULL] AS l, ROW(1, 'y') AS r, timestamp '2026-01-02 03:04:05' AS t"#;
        let mut rows = connection.query(query, ()).unwrap();
        let columns: Vec<Column> = rows.columns().iter().map(Column::from).collect();
        let found = row_object(&columns, &rows.next().unwrap().unwrap(), &EvalContext::now());
        let expected = r#"{"n":-1.50,"x":"NaN","ok":true,"te\"xt":"a\"\\\n\u0001","no":null,"b":{"a": 1},"#.to_string()
            + r#""j":{"a":  1},"l":["x",null],"r":{"f1":1,"f2":"y"},"t":"2026-01-02T03:04:05"}"#;
        assert_eq!(found, expected);
    }

    #[test]
    fn the_shells_own_numbers_are_bare() {
        let cells = [Some("7".to_string()), Some("7".to_string()), None];
        let columns = [Column::number("n"), Column::text("t"), Column::number("no")];
        assert_eq!(text_object(&columns, &cells), r#"{"n":7,"t":"7","no":null}"#);
    }
}
