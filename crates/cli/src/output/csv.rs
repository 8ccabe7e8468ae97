//! CSV as PostgreSQL's COPY writes it: NULL and the empty string are told apart by quotes, which the csv crate cannot do.

use std::io::{self, Write};

/// Writes one record; `None` is NULL.
pub fn write_record(out: &mut dyn Write, cells: &[Option<&str>]) -> io::Result<()> {
    let mut line = Vec::new();
    for (at, cell) in cells.iter().enumerate() {
        if at > 0 {
            line.push(b',');
        }
        match cell {
            None => {}
            Some(text) if needs_quotes(text) => push_quoted(&mut line, text),
            Some(text) => line.extend_from_slice(text.as_bytes()),
        }
    }
    line.push(b'\n');
    out.write_all(&line)
}

fn needs_quotes(text: &str) -> bool {
    let special = |byte: u8| matches!(byte, b',' | b'"' | b'\n' | b'\r');
    text.is_empty() || text == "\\." || text.bytes().any(special)
}

fn push_quoted(line: &mut Vec<u8>, text: &str) {
    line.push(b'"');
    for byte in text.bytes() {
        if byte == b'"' {
            line.push(b'"');
        }
        line.push(byte);
    }
    line.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(cells: &[Option<&str>]) -> String {
        let mut out = Vec::new();
        write_record(&mut out, cells).unwrap();
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
