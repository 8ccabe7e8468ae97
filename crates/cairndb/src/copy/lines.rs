//! Records out of bytes, as PostgreSQL's COPY FROM reads them.
//!
//! - A record is a line: in text, a newline behind a backslash belongs to it; in CSV, one within quotes.
//! - How the first line ends says how all do: a newline, a carriage return and a newline, or a carriage return alone. What else would end
//!   one is refused where it stands for itself, for it would end up in a column.
//! - A line `\.` ends the data, as does their end. Nothing behind it is read.

use std::io::{BufRead, ErrorKind};

use super::Format;
use super::records::{Force, Records};
use super::split::Splitter;
use crate::{Error, SqlState};

/// The longest record: a forgotten quote must not read a whole disk into memory.
const RECORD_BYTES_MAX: usize = 256 << 20;

/// What is wrong with a record, and whether its line is to be shown.
#[derive(Debug)]
pub(crate) struct Bad {
    pub(crate) error: Error,
    pub(crate) shows_line: bool,
}

/// Reads records of text and CSV.
pub(crate) struct Lines<R> {
    input: R,
    format: Format,
    /// How many lines were read; a newline behind a backslash begins none.
    line: u64,
    ends: Option<Ends>,
    done: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    Newline,
    ReturnAndNewline,
    Return,
}

pub(super) fn bad(message: impl Into<String>) -> Bad {
    Bad { error: Error::new(SqlState::BAD_COPY_FILE_FORMAT, message), shows_line: false }
}

/// A newline or a carriage return that a line may not have as it stands.
pub(super) fn stray(byte: u8, csv: bool) -> Bad {
    let (what, escape) = if byte == b'\n' { ("newline", "\\n") } else { ("carriage return", "\\r") };
    let (kind, hint) = match csv {
        true => ("unquoted", format!("Use quoted CSV field to represent {what}.")),
        false => ("literal", format!("Use \"{escape}\" to represent {what}.")),
    };
    let Bad { error, shows_line } = bad(format!("{kind} {what} found in data"));
    Bad { error: error.with_hint(hint), shows_line }
}

/// Why there is nothing to read. (What decodes the data tells by its own error that it is not what it should be.)
#[cold]
fn unread(error: std::io::Error) -> Bad {
    let own = error.downcast::<Error>();
    let error =
        own.unwrap_or_else(|error| Error::new(SqlState::IO_ERROR, format!("could not read COPY data: {error}")));
    Bad { error, shows_line: false }
}

pub(super) fn unterminated() -> Bad {
    Bad { shows_line: true, ..bad("unterminated CSV quoted field") }
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(input: R, format: Format) -> Lines<R> {
        Lines { input, format, line: 0, ends: None, done: false }
    }

    /// What stands for NULL.
    pub(crate) fn null(&self) -> &str {
        &self.format.null
    }

    /// Whether all was read.
    pub(crate) fn is_done(&self) -> bool {
        self.done
    }

    /// Reads the next records over those that are there. What is wrong with the one behind them is returned; that one is the last of
    /// them then, and has no fields.
    pub(crate) fn fill(&mut self, records: &mut Records) -> Option<Bad> {
        records.clear();
        while !self.done && records.has_room() {
            if let Some(bad) = self.add(records) {
                return Some(bad);
            }
        }
        None
    }

    /// The same of the first line, which is none of the records.
    pub(crate) fn read_header(&mut self, records: &mut Records) -> Option<Bad> {
        records.clear();
        self.add(records)
    }

    /// Adds the next record, if there is one.
    fn add(&mut self, records: &mut Records) -> Option<Bad> {
        let (start, first) = (records.raw.len(), records.fields.len());
        let is_there = self.read_record(&mut records.raw).and_then(|is_there| {
            if is_there {
                let stray = if self.ends == Some(Ends::Return) { b'\n' } else { b'\r' };
                Splitter::new(records, start, &self.format, stray).split()?;
            }
            Ok(is_there)
        });
        let failed = match is_there {
            Ok(true) => None,
            Ok(false) => {
                records.raw.truncate(start);
                self.done = true;
                return None;
            }
            Err(bad) => {
                records.fields.truncate(first);
                self.done = true;
                Some(bad)
            }
        };
        records.end_record(start, self.line);
        failed
    }

    /// Appends a record to `raw`.
    fn read_record(&mut self, raw: &mut Vec<u8>) -> Result<bool, Bad> {
        let start = raw.len();
        let mut quotes = Quotes::default();
        loop {
            let from = raw.len();
            if !self.read_line(raw, start)? {
                return match (quotes.open, from == start) {
                    (true, _) => {
                        // The line on which the quote was looked for.
                        self.line += u64::from(raw.ends_with(b"\n") || raw.ends_with(b"\r"));
                        Err(unterminated())
                    }
                    (false, true) => Ok(false),
                    // A backslash was the last of it.
                    (false, false) => Ok(true),
                };
            }
            let goes_on = match self.format.csv {
                true => quotes.pass(&raw[from..], &self.format),
                false => ends_escaped(&raw[start..]),
            };
            if !goes_on {
                break;
            }
        }
        self.cut_end(raw, start)?;
        Ok(raw[start..] != *b"\\.")
    }

    /// Appends the next line with its end; whether there was one. `start`: where its record begins.
    fn read_line(&mut self, raw: &mut Vec<u8>, start: usize) -> Result<bool, Bad> {
        let from = raw.len();
        let most = RECORD_BYTES_MAX.saturating_sub(from - start);
        loop {
            let buffer = match self.input.fill_buf() {
                Ok(buffer) => buffer,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => {
                    // The line that is being read.
                    self.line += u64::from(self.format.csv || from == start);
                    return Err(unread(error));
                }
            };
            let room = &buffer[..buffer.len().min(most - (raw.len() - from))];
            let end = match self.ends {
                Some(Ends::Newline | Ends::ReturnAndNewline) => memchr::memchr(b'\n', room),
                Some(Ends::Return) => memchr::memchr(b'\r', room),
                None => memchr::memchr2(b'\n', b'\r', room),
            };
            let taken = end.map_or(room.len(), |at| at + 1);
            raw.extend_from_slice(&room[..taken]);
            let is_end = end.is_some() || taken == 0;
            self.input.consume(taken);
            if is_end {
                break;
            }
        }
        // Where nothing is known yet of how lines end, a newline belongs to the carriage return before it.
        if self.ends.is_none() && raw[from..].ends_with(b"\r") && self.comes_next(b'\n')? {
            raw.push(b'\n');
            self.input.consume(1);
        }
        let read = raw.len() - from;
        self.line += u64::from(read > 0 && (self.format.csv || from == start));
        if read >= most && !raw.ends_with(b"\n") && !raw.ends_with(b"\r") {
            raw.truncate(start);
            let message = format!("a record is longer than {RECORD_BYTES_MAX} bytes");
            return Err(Bad { error: Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message), shows_line: false });
        }
        Ok(read > 0)
    }

    /// Whether this byte comes next.
    fn comes_next(&mut self, byte: u8) -> Result<bool, Bad> {
        loop {
            match self.input.fill_buf() {
                Ok(buffer) => return Ok(buffer.first() == Some(&byte)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(unread(error)),
            }
        }
    }

    /// Takes the line's end off.
    fn cut_end(&mut self, raw: &mut Vec<u8>, start: usize) -> Result<(), Bad> {
        let ends_with = |raw: &[u8], byte: u8| raw[start..].last() == Some(&byte);
        if !ends_with(raw, b'\n') {
            // A carriage return before the data's end goes with those before the other newlines.
            if self.ends != Some(Ends::Newline) && ends_with(raw, b'\r') {
                raw.pop();
                self.ends.get_or_insert(Ends::Return);
            }
            return Ok(());
        }
        if self.ends == Some(Ends::Return) {
            // The last line; its newline is found in it.
            return Ok(());
        }
        raw.pop();
        let returns = ends_with(raw, b'\r');
        let ends = if returns { Ends::ReturnAndNewline } else { Ends::Newline };
        match *self.ends.get_or_insert(ends) {
            Ends::ReturnAndNewline if returns => {
                raw.pop();
                Ok(())
            }
            Ends::ReturnAndNewline => Err(stray(b'\n', self.format.csv)),
            Ends::Newline | Ends::Return => Ok(()),
        }
    }

    /// SQLSTATE 22P04 where the first of the records is not the names of these columns.
    pub(crate) fn check_header(&self, records: &Records, columns: &[String]) -> Result<(), Bad> {
        let (found, wanted) = (records.width(0), columns.len());
        if found != wanted {
            let what = format!("wrong number of fields in header line: field count is {found}, expected {wanted}");
            return Err(bad(what));
        }
        let texts = records.texts();
        for (at, wanted) in columns.iter().enumerate() {
            let found = texts.field(0, at, Force::default()).map_err(|error| Bad { error, shows_line: false })?;
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

/// Whether a line's end stands behind a backslash that stands for itself.
fn ends_escaped(raw: &[u8]) -> bool {
    let Some(line) = raw.strip_suffix(b"\n").or_else(|| raw.strip_suffix(b"\r")) else { return false };
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
        if format.escape == format.quote {
            // Two quotes close and open again.
            self.open ^= memchr::memchr_iter(format.quote, line).count() % 2 == 1;
        } else if self.open || memchr::memchr(format.quote, line).is_some() {
            self.pass_escapes(line, format);
        }
        self.open
    }

    fn pass_escapes(&mut self, line: &[u8], format: &Format) {
        for &byte in line {
            let is_escape = byte == format.escape;
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
    }
}
