//! Records out of bytes, as PostgreSQL's COPY FROM reads them.
//!
//! - A record is a line: in text, a newline behind a backslash belongs to it; in CSV, one within quotes.
//! - How the first line ends says how all do: a newline, or a carriage return and a newline. The other is refused where it
//!   stands for itself, for it would end up in the last column.
//! - A line `\.` ends the data, as does their end.

use std::io::{BufRead, Read as _};
use std::ops::Range;

use super::Format;
use crate::types::utf8;
use crate::{Error, SqlState};

/// The longest record: a forgotten quote must not read a whole disk into memory.
const RECORD_BYTES_MAX: usize = 256 << 20;

/// What is wrong with a record, and whether its line is to be shown.
pub(crate) struct Bad {
    pub(crate) error: Error,
    pub(crate) shows_line: bool,
}

/// Records, one at a time, in buffers that are kept.
pub(crate) struct Records<R> {
    input: R,
    format: Format,
    /// How many lines were read; a newline behind a backslash begins none.
    line: u64,
    /// The record as it stands, without its end.
    raw: Vec<u8>,
    /// Its values, one behind the other; `None`: NULL.
    values: Vec<u8>,
    fields: Vec<Field>,
    ends: Option<Ends>,
    done: bool,
}

struct Field {
    value: Range<usize>,
    is_null: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    Newline,
    ReturnAndNewline,
}

fn bad(message: impl Into<String>) -> Bad {
    Bad { error: Error::new(SqlState::BAD_COPY_FILE_FORMAT, message), shows_line: false }
}

/// What a line may not have as it stands.
fn literal(message: &str, hint: &str) -> Bad {
    let Bad { error, shows_line } = bad(message);
    Bad { error: error.with_hint(hint), shows_line }
}

fn unterminated() -> Bad {
    Bad { shows_line: true, ..bad("unterminated CSV quoted field") }
}

impl<R: BufRead> Records<R> {
    pub(crate) fn new(input: R, format: Format) -> Records<R> {
        let (raw, values, fields) = (Vec::new(), Vec::new(), Vec::new());
        Records { input, format, line: 0, raw, values, fields, ends: None, done: false }
    }

    /// The number of the line that the record ends on.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// The record as it stands.
    pub(crate) fn raw(&self) -> String {
        String::from_utf8_lossy(&self.raw).into_owned()
    }

    /// How many fields the record has.
    pub(crate) fn len(&self) -> usize {
        self.fields.len()
    }

    /// The text of a field; `None`: NULL. SQLSTATE 22021.
    pub(crate) fn field(&self, at: usize) -> Result<Option<&str>, Error> {
        let Some(Field { value, is_null: false }) = self.fields.get(at) else { return Ok(None) };
        utf8(&self.values[value.clone()]).map(Some)
    }

    /// Comes to the next record; whether there is one.
    pub(crate) fn next(&mut self) -> Result<bool, Bad> {
        if self.done || !self.read_record()? {
            self.done = true;
            return Ok(false);
        }
        self.values.clear();
        self.fields.clear();
        if self.format.csv {
            self.split_csv()?
        } else {
            self.split_text()?
        }
        Ok(true)
    }

    /// Reads a record into `raw`.
    fn read_record(&mut self) -> Result<bool, Bad> {
        self.raw.clear();
        let mut quotes = Quotes::default();
        loop {
            let from = self.raw.len();
            if !self.read_line()? {
                return match (quotes.open, from) {
                    (true, _) => {
                        // The line on which the quote was looked for.
                        self.line += u64::from(self.raw.ends_with(b"\n"));
                        Err(unterminated())
                    }
                    (false, 0) => Ok(false),
                    // A backslash was the last of it.
                    (false, _) => Ok(true),
                };
            }
            let goes_on = match self.format.csv {
                true => quotes.pass(&self.raw[from..], &self.format),
                false => ends_escaped(&self.raw),
            };
            if !goes_on {
                break;
            }
        }
        self.cut_end()?;
        Ok(self.raw != b"\\.")
    }

    /// Appends the next line with its end; whether there was one.
    fn read_line(&mut self) -> Result<bool, Bad> {
        let from = self.raw.len();
        let room = RECORD_BYTES_MAX.saturating_sub(from);
        let most = u64::try_from(room).unwrap_or(u64::MAX);
        let read = self.input.by_ref().take(most).read_until(b'\n', &mut self.raw).map_err(|error| {
            let message = format!("could not read COPY data: {error}");
            Bad { error: Error::new(SqlState::IO_ERROR, message), shows_line: false }
        })?;
        self.line += u64::from(read > 0 && (self.format.csv || from == 0));
        if read == room && !self.raw.ends_with(b"\n") {
            let message = format!("a record is longer than {RECORD_BYTES_MAX} bytes");
            let error = Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message);
            self.raw.clear();
            return Err(Bad { error, shows_line: false });
        }
        Ok(read > 0)
    }

    /// Takes the line's end off.
    fn cut_end(&mut self) -> Result<(), Bad> {
        if self.raw.last() != Some(&b'\n') {
            // The last line. A carriage return before the data's end goes with those before the other newlines.
            if self.ends == Some(Ends::ReturnAndNewline) && self.raw.last() == Some(&b'\r') {
                self.raw.pop();
            }
            return Ok(());
        }
        self.raw.pop();
        let returns = self.raw.last() == Some(&b'\r');
        let ends = if returns { Ends::ReturnAndNewline } else { Ends::Newline };
        match *self.ends.get_or_insert(ends) {
            Ends::ReturnAndNewline if returns => {
                self.raw.pop();
                Ok(())
            }
            Ends::ReturnAndNewline if self.format.csv => {
                Err(literal("unquoted newline found in data", "Use quoted CSV field to represent newline."))
            }
            Ends::ReturnAndNewline => {
                Err(literal("literal newline found in data", "Use \"\\n\" to represent newline."))
            }
            Ends::Newline => Ok(()),
        }
    }

    fn push(&mut self, start: usize, is_null: bool) {
        self.fields.push(Field { value: start..self.values.len(), is_null });
    }

    fn split_text(&mut self) -> Result<(), Bad> {
        let (mut at, mut raw_start, mut start) = (0, 0, 0);
        loop {
            let byte = self.raw.get(at).copied();
            match byte {
                None => break,
                Some(byte) if byte == self.format.delimiter => {
                    let is_null = &self.raw[raw_start..at] == self.format.null.as_bytes();
                    self.push(start, is_null);
                    (raw_start, start) = (at + 1, self.values.len());
                }
                Some(b'\\') => at = self.unescape(at + 1)?,
                Some(b'\r') => {
                    let hint = "Use \"\\r\" to represent carriage return.";
                    return Err(literal("literal carriage return found in data", hint));
                }
                Some(byte) => self.values.push(byte),
            }
            at += 1;
        }
        let is_null = &self.raw[raw_start..] == self.format.null.as_bytes();
        self.push(start, is_null);
        Ok(())
    }

    /// What stands behind a backslash; where it ends.
    fn unescape(&mut self, at: usize) -> Result<usize, Bad> {
        let Some(&byte) = self.raw.get(at) else { return Ok(at) };
        let digit = |at: usize, radix: u32| {
            let digit = char::from(*self.raw.get(at)?).to_digit(radix)?;
            u8::try_from(digit).ok()
        };
        let (value, end) = match byte {
            b'0'..=b'7' => {
                let (mut value, mut end) = (byte - b'0', at);
                while end < at + 2
                    && let Some(digit) = digit(end + 1, 8)
                {
                    (value, end) = ((value << 3) | digit, end + 1);
                }
                (value, end)
            }
            b'x' if digit(at + 1, 16).is_some() => {
                let (mut value, mut end) = (0u8, at);
                while end < at + 2
                    && let Some(digit) = digit(end + 1, 16)
                {
                    (value, end) = ((value << 4) | digit, end + 1);
                }
                (value, end)
            }
            b'b' => (0x08, at),
            b'f' => (0x0c, at),
            b'n' => (b'\n', at),
            b'r' => (b'\r', at),
            b't' => (b'\t', at),
            b'v' => (0x0b, at),
            b'.' => return Err(bad("end-of-copy marker corrupt")),
            byte => (byte, at),
        };
        self.values.push(value);
        Ok(end)
    }

    fn split_csv(&mut self) -> Result<(), Bad> {
        let Format { delimiter, quote, escape, .. } = self.format;
        let (mut at, mut raw_start, mut start) = (0, 0, 0);
        let (mut in_quotes, mut was_quoted) = (false, false);
        while let Some(&byte) = self.raw.get(at) {
            let next = self.raw.get(at + 1).copied();
            match in_quotes {
                true if byte == escape && next.is_some_and(|next| next == quote || next == escape) => {
                    self.values.extend(next);
                    at += 1;
                }
                true if byte == quote => in_quotes = false,
                true => self.values.push(byte),
                false if byte == delimiter => {
                    let is_null = !was_quoted && &self.raw[raw_start..at] == self.format.null.as_bytes();
                    self.push(start, is_null);
                    (raw_start, start, was_quoted) = (at + 1, self.values.len(), false);
                }
                false if byte == quote => (in_quotes, was_quoted) = (true, true),
                false if byte == b'\r' => {
                    let hint = "Use quoted CSV field to represent carriage return.";
                    return Err(literal("unquoted carriage return found in data", hint));
                }
                false => self.values.push(byte),
            }
            at += 1;
        }
        if in_quotes {
            return Err(unterminated());
        }
        let is_null = !was_quoted && &self.raw[raw_start..] == self.format.null.as_bytes();
        self.push(start, is_null);
        Ok(())
    }

    /// Makes an ordinary value of a field that is NULL, and NULL of one that says what stands for NULL.
    pub(crate) fn force(&mut self, at: usize, (not_null, null): (bool, bool)) {
        let Some(field) = self.fields.get_mut(at) else { return };
        if field.is_null && not_null {
            let start = self.values.len();
            self.values.extend_from_slice(self.format.null.as_bytes());
            *field = Field { value: start..self.values.len(), is_null: false };
        } else if !field.is_null && null && self.values[field.value.clone()] == *self.format.null.as_bytes() {
            field.is_null = true;
        }
    }

    /// SQLSTATE 22P04 where the first line is not the names of these columns.
    pub(crate) fn check_header(&self, columns: &[String]) -> Result<(), Bad> {
        if self.len() != columns.len() {
            let (found, wanted) = (self.len(), columns.len());
            let what = format!("wrong number of fields in header line: field count is {found}, expected {wanted}");
            return Err(bad(what));
        }
        for (at, wanted) in columns.iter().enumerate() {
            let found = self.field(at).map_err(|error| Bad { error, shows_line: false })?;
            if found == Some(wanted) {
                continue;
            }
            let got = found
                .map_or_else(|| format!("got null value (\"{}\")", self.format.null), |got| format!("got \"{got}\""));
            return Err(bad(format!(
                "column name mismatch in header line field {}: {got}, expected \"{wanted}\"",
                at + 1
            )));
        }
        Ok(())
    }
}

/// Whether a newline at the end stands behind a backslash that stands for itself.
fn ends_escaped(raw: &[u8]) -> bool {
    let Some(line) = raw.strip_suffix(b"\n") else { return false };
    line.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}

/// Whether CSV's quotes are open, over the lines of a record.
#[derive(Default)]
struct Quotes {
    open: bool,
    /// The byte before was an escape that no other took away.
    escaped: bool,
}

impl Quotes {
    /// Goes over a line; whether the record goes on behind it.
    fn pass(&mut self, line: &[u8], format: &Format) -> bool {
        // Where they are the same, two quotes close and open again.
        let escape = (format.escape != format.quote).then_some(format.escape);
        for &byte in line {
            let is_escape = Some(byte) == escape;
            if self.open && is_escape {
                self.escaped = !self.escaped;
            }
            if byte == format.quote && !self.escaped {
                self.open = !self.open;
            }
            if !is_escape {
                self.escaped = false;
            }
        }
        self.open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(text: &[u8], csv: bool) -> Vec<Vec<Option<String>>> {
        let mut records = Records::new(text, Format::new(csv));
        let mut found = Vec::new();
        while records.next().unwrap_or_else(|bad| panic!("{:?}", bad.error)) {
            found.push((0..records.len()).map(|at| records.field(at).unwrap().map(str::to_owned)).collect());
        }
        found
    }

    fn failure(text: &[u8], csv: bool) -> (String, u64) {
        let mut records = Records::new(text, Format::new(csv));
        loop {
            match records.next() {
                Ok(true) => {}
                Ok(false) => panic!("no failure"),
                Err(bad) => return (bad.error.message().to_owned(), records.line()),
            }
        }
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn text_has_escapes_and_its_null() {
        let expected = [vec![some("a\tb"), None, some("")], vec![some("\\N\u{8}\n"), some("A!"), some("xg")]];
        assert_eq!(records(b"a\\tb\t\\N\t\n\\\\N\\b\\\n\t\\101\\x21\t\\xg", false), expected);
        assert_eq!(records(b"a\r\nb\r\n", false), [[some("a")], [some("b")]]);
        assert_eq!(records(b"a\n\\.\nb\n", false), [[some("a")]]);
        assert_eq!(records(b"", false), Vec::<Vec<Option<String>>>::new());
        assert_eq!(records(b"\n", false), [[some("")]]);
    }

    #[test]
    fn csv_has_quotes_over_lines() {
        let expected = [vec![some("a"), None, some("")], vec![some("x,\"y\"\n z"), some("b c"), None]];
        assert_eq!(records(b"a,,\"\"\n\"x,\"\"y\"\"\n z\",b\" \"c,", true), expected);
        assert_eq!(records(b"\"a\r\nb\"\r\nc\r\n", true), [[some("a\r\nb")], [some("c")]]);
        assert_eq!(records(b"a\n\\.\nb\n", true), [[some("a")]]);
    }

    #[test]
    fn what_is_broken_is_told_with_its_line() {
        assert_eq!(failure(b"a\nb\rc\n", false), ("literal carriage return found in data".to_owned(), 2));
        assert_eq!(failure(b"a\r\nb\n", false), ("literal newline found in data".to_owned(), 2));
        assert_eq!(failure(b"a\\.b\n", false), ("end-of-copy marker corrupt".to_owned(), 1));
        assert_eq!(failure(b"ok\n\"open\nmore\n", true), ("unterminated CSV quoted field".to_owned(), 4));
        assert_eq!(failure(b"a\nb\rc\n", true), ("unquoted carriage return found in data".to_owned(), 2));
        let mut records = Records::new(&b"a\xc3(\n"[..], Format::new(false));
        assert!(matches!(records.next(), Ok(true)));
        assert!(records.field(0).unwrap_err().message().ends_with(": 0xc3 0x28"));
    }
}
