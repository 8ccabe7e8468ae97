//! Rows into bytes, as PostgreSQL's COPY TO writes them.

use super::Format;
use crate::types::{DataType, Form, ValueRef, is_plain_text};

/// Writes rows.
pub(crate) struct Writer<'f> {
    format: &'f Format,
    form: Form<'f>,
    columns: Vec<Column>,
}

/// How a column's values are to be looked at.
struct Column {
    /// In CSV they stand in quotes in any case.
    forced: bool,
    /// Nothing in them needs a look.
    is_plain: bool,
}

impl<'f> Writer<'f> {
    /// `columns`: each type, and whether CSV has its values in quotes in any case.
    pub(crate) fn new(
        format: &'f Format,
        form: Form<'f>,
        columns: impl Iterator<Item = (DataType, bool)>,
    ) -> Writer<'f> {
        let keeps = keeps_plain_text(format);
        let column = |(of, forced)| Column { forced, is_plain: keeps && !forced && is_plain_text(of) };
        Writer { format, form, columns: columns.map(column).collect() }
    }

    pub(crate) fn form(&self) -> &Form<'f> {
        &self.form
    }

    /// Appends a row, whose values are lent by column.
    pub(crate) fn row<'v>(&mut self, value: impl Fn(usize) -> ValueRef<'v>, out: &mut Vec<u8>) {
        let (format, is_only) = (self.format, self.columns.len() == 1);
        for (at, column) in self.columns.iter().enumerate() {
            if at > 0 {
                out.push(format.delimiter);
            }
            match value(at) {
                ValueRef::Null => out.extend_from_slice(format.null.as_bytes()),
                ValueRef::Text(text) => put(out, text.as_bytes(), (column.forced, is_only), format),
                value => {
                    let start = out.len();
                    self.form.text(value, out);
                    if !column.is_plain && !stands_as_it_is(&out[start..], (column.forced, is_only), format) {
                        let text = out.split_off(start);
                        put(out, &text, (column.forced, is_only), format);
                    }
                }
            }
        }
        out.push(b'\n');
    }

    /// Appends what stands before the rows.
    pub(crate) fn header<'n>(&self, names: impl Iterator<Item = &'n str>, out: &mut Vec<u8>) {
        for (at, name) in names.enumerate() {
            if at > 0 {
                out.push(self.format.delimiter);
            }
            put(out, name.as_bytes(), (false, self.columns.len() == 1), self.format);
        }
        out.push(b'\n');
    }
}

/// Whether texts of letters, digits, spaces and `+-.:/` stand as they are.
fn keeps_plain_text(format: &Format) -> bool {
    let is_of_them = |byte: u8| byte.is_ascii_alphanumeric() || b" +-.:/".contains(&byte);
    // In CSV what looks like a NULL stands in quotes.
    let is_null_other = !format.csv || !format.null.bytes().all(is_of_them) || format.null.is_empty();
    !is_of_them(format.delimiter) && (!format.csv || !is_of_them(format.quote)) && is_null_other
}

/// `forced`: it stands in quotes in any case; `is_only`: it is all of its line.
fn put(out: &mut Vec<u8>, text: &[u8], (forced, is_only): (bool, bool), format: &Format) {
    match () {
        () if stands_as_it_is(text, (forced, is_only), format) => out.extend_from_slice(text),
        () if format.csv => push_quoted(out, text, format),
        () => push_text(out, text, format.delimiter),
    }
}

#[inline]
fn stands_as_it_is(text: &[u8], (forced, is_only): (bool, bool), format: &Format) -> bool {
    if format.csv {
        return !forced && !needs_quotes(text, is_only, format);
    }
    // All of it is looked at, without a branch a byte: so many are compared at once.
    let is_special = |byte: u8| byte < b' ' || byte == b'\\' || byte == format.delimiter;
    !text.iter().fold(false, |any, byte| any | is_special(*byte))
}

fn push_text(out: &mut Vec<u8>, text: &[u8], delimiter: u8) {
    for &byte in text {
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

fn needs_quotes(text: &[u8], is_only: bool, format: &Format) -> bool {
    let is_special = |byte: u8| byte == format.delimiter || byte == format.quote || byte == b'\n' || byte == b'\r';
    text.iter().fold(false, |any, byte| any | is_special(*byte))
        || text == format.null.as_bytes()
        || is_only && text == b"\\."
}

fn push_quoted(out: &mut Vec<u8>, text: &[u8], format: &Format) {
    out.push(format.quote);
    for &byte in text {
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
    use crate::Value;
    use crate::types::EvalContext;

    fn written(values: &[Option<&str>], format: &Format) -> String {
        let values: Vec<Value> = values.iter().map(|text| text.map_or(Value::Null, Value::text)).collect();
        row_of(&values, DataType::Text, format)
    }

    fn row_of(values: &[Value], of: DataType, format: &Format) -> String {
        let mut out = Vec::new();
        let columns = values.iter().map(|_| (of, false));
        Writer::new(format, Form::new(&EvalContext::now), columns).row(|at| (&values[at]).into(), &mut out);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn numbers_are_looked_at_where_a_format_takes_their_characters() {
        let numbers = [Value::Integer(-15), Value::Null, Value::Numeric(crate::Numeric::small(-15, 1))];
        let written = |format: &Format| row_of(&numbers, DataType::Integer, format);
        let (text, csv) = (Format::new(false), Format::new(true));
        assert_eq!(written(&text), "-15\t\\N\t-1.5\n");
        assert_eq!(written(&Format { delimiter: b'-', ..text.clone() }), "\\-15-\\N-\\-1.5\n");
        assert_eq!(written(&csv), "-15,,-1.5\n");
        assert_eq!(written(&Format { null: "-15".into(), ..csv.clone() }), "\"-15\",-15,-1.5\n");
        assert_eq!(written(&Format { quote: b'-', escape: b'-', ..csv }), "---15-,,---1.5-\n");
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
