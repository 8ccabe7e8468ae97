//! Reads CSV as PostgreSQL's COPY does. It keeps what the csv crate drops: whether a field stood in quotes (an empty one
//! is NULL only without them), and the line of bytes that are no UTF-8.

use std::io::{self, BufRead, Read as _};

use cairndb::{Error, SqlState};

use crate::output::Dialect;

/// The longest record: a forgotten closing quote must not read a whole disk into memory.
const MAX_RECORD_BYTES: usize = 256 << 20;

/// One field's bytes, without its quotes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Field {
    pub bytes: Vec<u8>,
    pub quoted: bool,
}

/// One record, and the line (from 1) on which it ends: the one PostgreSQL names in errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub fields: Vec<Field>,
    pub line: u64,
}

/// Why no record could be read.
#[derive(Debug)]
pub enum Trouble {
    Io(io::Error),
    /// What is wrong, and on which line.
    Format(Error, u64),
}

/// Reads records one at a time.
pub struct Reader<R> {
    input: R,
    dialect: Dialect,
    line: u64,
    bytes: u64,
}

impl<R: BufRead> Reader<R> {
    pub fn new(input: R, dialect: Dialect) -> Reader<R> {
        Reader { input, dialect, line: 0, bytes: 0 }
    }

    /// Bytes read so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The next record; `None` at the end of the data.
    pub fn next_record(&mut self) -> Result<Option<Record>, Trouble> {
        let Some(line) = self.next_line(MAX_RECORD_BYTES)? else { return Ok(None) };
        if line == b"\\.\n" || line == b"\\." {
            return Ok(None);
        }
        let mut parser = Parser::new(self.dialect.quote, self.dialect.delimiter);
        let mut length = line.len();
        parser.feed(&line);
        while parser.in_quotes {
            let line = self.next_line(MAX_RECORD_BYTES.saturating_sub(length))?;
            let Some(line) = line else {
                let error = Error::new(SqlState("22P04"), "unterminated CSV quoted field");
                return Err(Trouble::Format(error, self.line));
            };
            length += line.len();
            parser.feed(&line);
        }
        Ok(Some(Record { fields: parser.fields, line: self.line }))
    }

    /// The next line with its line end, at most `limit` bytes of it.
    fn next_line(&mut self, limit: usize) -> Result<Option<Vec<u8>>, Trouble> {
        let mut line = Vec::new();
        let most = u64::try_from(limit).unwrap_or(u64::MAX);
        let read = self.input.by_ref().take(most).read_until(b'\n', &mut line).map_err(Trouble::Io)?;
        self.bytes += read as u64;
        if read == limit && !line.ends_with(b"\n") {
            let error = Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "CSV record is too long");
            return Err(Trouble::Format(error, self.line + 1));
        }
        self.line += u64::from(read > 0);
        Ok((read > 0).then_some(line))
    }
}

/// Takes a record's lines one after another. A quote that ends a line has no partner on the next, so no state but
/// `in_quotes` goes from line to line.
struct Parser {
    quote: u8,
    delimiter: u8,
    fields: Vec<Field>,
    in_quotes: bool,
}

impl Parser {
    fn new(quote: u8, delimiter: u8) -> Parser {
        Parser { quote, delimiter, fields: vec![Field::default()], in_quotes: false }
    }

    fn feed(&mut self, line: &[u8]) {
        let mut bytes = line.iter().copied().peekable();
        while let Some(byte) = bytes.next() {
            let quote = byte == self.quote;
            match self.in_quotes {
                true if quote && bytes.peek() == Some(&byte) => {
                    bytes.next();
                    self.push(byte);
                }
                _ if quote => self.toggle(),
                false if byte == self.delimiter => self.fields.push(Field::default()),
                false if byte == b'\n' => return,
                false if byte == b'\r' && matches!(bytes.peek(), None | Some(b'\n')) => return,
                _ => self.push(byte),
            }
        }
    }

    fn push(&mut self, byte: u8) {
        if let Some(field) = self.fields.last_mut() {
            field.bytes.push(byte);
        }
    }

    fn toggle(&mut self) {
        self.in_quotes = !self.in_quotes;
        if let Some(field) = self.fields.last_mut() {
            field.quoted = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(text: &[u8]) -> Vec<(u64, Vec<(String, bool)>)> {
        let mut reader = Reader::new(text, Dialect::default());
        let mut records = Vec::new();
        while let Some(record) = reader.next_record().unwrap() {
            let fields = record.fields.into_iter();
            let fields = fields.map(|field| (String::from_utf8(field.bytes).unwrap(), field.quoted)).collect();
            records.push((record.line, fields));
        }
        records
    }

    fn plain(text: &str) -> (String, bool) {
        (text.to_string(), false)
    }

    fn quoted(text: &str) -> (String, bool) {
        (text.to_string(), true)
    }

    #[test]
    fn quotes_are_remembered_so_that_null_and_empty_differ() {
        let expected =
            [(1, vec![plain("a"), plain(""), quoted("")]), (2, vec![quoted("x,\"y\""), plain("z"), plain("")])];
        assert_eq!(records(b"a,,\"\"\n\"x,\"\"y\"\"\",z,\n"), expected);
    }

    #[test]
    fn quoted_fields_go_over_lines_and_lines_are_counted() {
        let expected = [(2, vec![quoted("a\nb"), plain("1")]), (3, vec![plain("c"), plain("2")])];
        assert_eq!(records(b"\"a\nb\",1\r\nc,2"), expected);
    }

    #[test]
    fn a_line_of_backslash_and_dot_ends_the_data() {
        assert_eq!(records(b"a\n\\.\nb\n"), [(1, vec![plain("a")])]);
    }

    #[test]
    fn an_open_quote_is_an_error_with_its_line() {
        let mut reader = Reader::new(&b"ok\n\"never closed\nmore\n"[..], Dialect::default());
        reader.next_record().unwrap();
        let Err(Trouble::Format(error, line)) = reader.next_record() else { panic!("no error") };
        assert_eq!((error.sqlstate().0, line), ("22P04", 3));
    }
}
