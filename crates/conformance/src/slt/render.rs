//! Answers as the lines that scripts expect.

use std::fmt::Write;

use super::{Dialect, Sort};
use crate::engine::Answer;

/// The lines of an answer, in the order in which they are compared.
pub(super) fn lines(answer: &Answer, letters: &str, sort: Sort, dialect: Dialect) -> Vec<String> {
    let letters: Vec<char> = letters.chars().collect();
    let cell = |(index, value): (usize, &Option<String>)| match dialect {
        Dialect::Classic => classic(value.as_deref(), letters.get(index).copied().unwrap_or('T')),
        Dialect::Scenario => scenario(value.as_deref()),
    };
    let mut rows: Vec<Vec<String>> = answer.rows.iter().map(|row| row.iter().enumerate().map(cell).collect()).collect();
    if sort == Sort::Rows {
        rows.sort();
    }
    let mut lines: Vec<String> = match dialect {
        Dialect::Classic => rows.into_iter().flatten().collect(),
        Dialect::Scenario => rows.into_iter().map(|row| row.join("|")).collect(),
    };
    if sort == Sort::Values {
        lines.sort();
    }
    lines
}

/// The MD5 of lines as SQLite's suite takes it.
pub(super) fn hash(lines: &[String]) -> String {
    let mut context = md5::Context::new();
    for line in lines {
        context.consume(line.as_bytes());
        context.consume(b"\n");
    }
    format!("{:x}", context.finalize())
}

fn scenario(value: Option<&str>) -> String {
    match value {
        None => "NULL".into(),
        Some("") => "(empty)".into(),
        Some(text) => text.replace('\n', "\\n"),
    }
}

fn classic(value: Option<&str>, letter: char) -> String {
    match (value, letter) {
        (None, _) => "NULL".into(),
        (Some(text), 'I') => integer(text),
        (Some(text), 'R') => real(text),
        (Some(""), _) => "(empty)".into(),
        (Some(text), _) => text.chars().map(|c| if (' '..='~').contains(&c) { c } else { '@' }).collect(),
    }
}

/// Booleans as 1 and 0, fractions cut off, text that is no number as 0.
fn integer(text: &str) -> String {
    match text {
        "t" => "1".into(),
        "f" | "-0" => "0".into(),
        _ if !text.starts_with(|c: char| c.is_ascii_digit() || c == '-') => "0".into(),
        _ if text.contains(['.', 'e']) => {
            text.parse::<f64>().map_or(text.into(), |number| format!("{:.0}", number.trunc() + 0.0))
        }
        _ => text.into(),
    }
}

fn real(text: &str) -> String {
    let mut out = String::new();
    match text.parse::<f64>() {
        Ok(number) => write!(out, "{number:.3}").map_or(text.into(), |()| out),
        Err(_) => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classic_values_follow_the_column_letter() {
        assert_eq!(classic(None, 'I'), "NULL");
        assert_eq!(classic(Some("t"), 'I'), "1");
        assert_eq!(classic(Some("2.9000"), 'I'), "2");
        assert_eq!(classic(Some("-0.03125"), 'I'), "0");
        assert_eq!(classic(Some("text"), 'I'), "0");
        assert_eq!(classic(Some("2.5"), 'R'), "2.500");
        assert_eq!(classic(Some(""), 'T'), "(empty)");
        assert_eq!(classic(Some("a\nb"), 'T'), "a@b");
    }

    #[test]
    fn rows_sort_as_texts_and_values_sort_alone() {
        let cell = |text: &str| Some(text.to_owned());
        let rows = vec![vec![cell("9"), cell("a")], vec![cell("10"), cell("b")]];
        let answer = Answer { columns: Vec::new(), rows, affected: None };
        assert_eq!(lines(&answer, "IT", Sort::Rows, Dialect::Classic), ["10", "b", "9", "a"]);
        assert_eq!(lines(&answer, "IT", Sort::Values, Dialect::Classic), ["10", "9", "a", "b"]);
        assert_eq!(lines(&answer, "IT", Sort::None, Dialect::Scenario), ["9|a", "10|b"]);
    }
}
