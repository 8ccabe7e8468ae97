//! CSV as PostgreSQL's COPY writes it: NULL and the empty string are told apart by quotes, which the csv crate cannot do.

use std::io::{self, Write};

/// How records are written and read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dialect {
    pub delimiter: u8,
    pub quote: u8,
    /// What stands, unquoted, for NULL.
    pub null: String,
}

impl Default for Dialect {
    fn default() -> Dialect {
        Dialect { delimiter: b',', quote: b'"', null: String::new() }
    }
}

/// Writes one record; `None` is NULL.
pub fn write_record(out: &mut dyn Write, cells: &[Option<&str>], dialect: &Dialect) -> io::Result<()> {
    let mut line = Vec::new();
    for (at, cell) in cells.iter().enumerate() {
        if at > 0 {
            line.push(dialect.delimiter);
        }
        match cell {
            None => line.extend_from_slice(dialect.null.as_bytes()),
            Some(text) if needs_quotes(text, dialect) => push_quoted(&mut line, text, dialect.quote),
            Some(text) => line.extend_from_slice(text.as_bytes()),
        }
    }
    line.push(b'\n');
    out.write_all(&line)
}

fn needs_quotes(text: &str, dialect: &Dialect) -> bool {
    let special = |byte: u8| byte == dialect.delimiter || byte == dialect.quote || byte == b'\n' || byte == b'\r';
    text == dialect.null || text == "\\." || text.bytes().any(special)
}

fn push_quoted(line: &mut Vec<u8>, text: &str, quote: u8) {
    line.push(quote);
    for byte in text.bytes() {
        if byte == quote {
            line.push(quote);
        }
        line.push(byte);
    }
    line.push(quote);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(cells: &[Option<&str>]) -> String {
        let mut out = Vec::new();
        write_record(&mut out, cells, &Dialect::default()).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn quotes_are_written_where_they_are_needed() {
        assert_eq!(written(&[Some("a"), Some("b,c"), Some("say \"hi\"")]), "a,\"b,c\",\"say \"\"hi\"\"\"\n");
        assert_eq!(written(&[Some("two\nlines"), Some("\\.")]), "\"two\nlines\",\"\\.\"\n");
    }

    #[test]
    fn null_and_the_empty_string_differ() {
        assert_eq!(written(&[None, Some("")]), ",\"\"\n");
    }
}
