//! Rows into bytes, as PostgreSQL's COPY TO writes them.

use super::Format;

/// Appends a row. `forced`: whether a column of CSV stands in quotes in any case.
pub(crate) fn write_row<'v>(
    out: &mut Vec<u8>,
    values: impl ExactSizeIterator<Item = Option<&'v str>>,
    forced: impl Fn(usize) -> bool,
    format: &Format,
) {
    let is_only = values.len() == 1;
    for (at, value) in values.enumerate() {
        if at > 0 {
            out.push(format.delimiter);
        }
        match value {
            None => out.extend_from_slice(format.null.as_bytes()),
            Some(text) if !format.csv => push_text(out, text, format.delimiter),
            Some(text) if forced(at) || needs_quotes(text, is_only, format) => push_quoted(out, text, format),
            Some(text) => out.extend_from_slice(text.as_bytes()),
        }
    }
    out.push(b'\n');
}

fn push_text(out: &mut Vec<u8>, text: &str, delimiter: u8) {
    for byte in text.bytes() {
        let escaped = match byte {
            0x08 => b'b',
            0x0b => b'v',
            0x0c => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            b'\\' => b'\\',
            byte if byte == delimiter => byte,
            byte => {
                out.push(byte);
                continue;
            }
        };
        out.extend_from_slice(&[b'\\', escaped]);
    }
}

fn needs_quotes(text: &str, is_only: bool, format: &Format) -> bool {
    let is_special = |byte: u8| byte == format.delimiter || byte == format.quote || byte == b'\n' || byte == b'\r';
    text == format.null || is_only && text == "\\." || text.bytes().any(is_special)
}

fn push_quoted(out: &mut Vec<u8>, text: &str, format: &Format) {
    out.push(format.quote);
    for byte in text.bytes() {
        if byte == format.quote || byte == format.escape {
            out.push(format.escape);
        }
        out.push(byte);
    }
    out.push(format.quote);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(values: &[Option<&str>], format: &Format) -> String {
        let mut out = Vec::new();
        write_row(&mut out, values.iter().copied(), |_| false, format);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn text_escapes_what_would_be_read_as_something_else() {
        let format = Format::new(false);
        assert_eq!(written(&[Some("a\tb\\"), None, Some("\r\n\u{b}")], &format), "a\\tb\\\\\t\\N\t\\r\\n\\v\n");
        let format = Format { delimiter: b'|', ..format };
        assert_eq!(written(&[Some("a|b"), Some("c\td")], &format), "a\\|b|c\\td\n");
    }

    #[test]
    fn csv_quotes_where_it_must() {
        let format = Format::new(true);
        assert_eq!(written(&[Some("a"), Some(""), None, Some("b,\"c\"")], &format), "a,\"\",,\"b,\"\"c\"\"\"\n");
        assert_eq!(written(&[Some("\\."), Some("x\ny")], &format), "\\.,\"x\ny\"\n");
        assert_eq!(written(&[Some("\\.")], &format), "\"\\.\"\n");
        let format = Format { escape: b'\\', ..format };
        assert_eq!(written(&[Some("a\"\\")], &format), "\"a\\\"\\\\\"\n");
    }
}
