//! A table's rows, by COPY, in one transaction.

use std::io::{self, Read, Write};

use cairndb::{Connection, DataType};
use indicatif::ProgressBar;
use rusqlite::types::ValueRef;
use rusqlite::{Rows, Transaction};

use super::kinds::Kind;
use super::names::Names;
use super::schema::Table;
use super::translate::selected;
use crate::report::Failure;

/// Bytes that are made before they are handed on.
const CHUNK: usize = 1 << 16;

/// Copies the rows, without the columns that are not given; how many there were.
pub fn table(
    sqlite: &Transaction<'_>,
    connection: &Connection,
    table: &Table,
    (kinds, is_given): (&[Kind], &[bool]),
    names: &Names,
    bar: &ProgressBar,
) -> Result<u64, Failure> {
    if table.columns.is_empty() {
        return Ok(0);
    }
    let wrong = |error: rusqlite::Error| Failure::Message(format!("table {}: {error}", table.name));
    let mut statement = sqlite.prepare(&selected(table)).map_err(wrong)?;
    let rows = statement.query(()).map_err(wrong)?;
    let given = table.columns.iter().zip(is_given).filter(|(_, is_given)| **is_given);
    let columns: Vec<String> = given.map(|(column, _)| names.shown(&column.name)).collect();
    let copy = format!("COPY {} ({}) FROM STDIN", names.shown(&table.name), columns.join(", "));
    let mut lines = Lines { rows, kinds, is_given, bar, buffer: Vec::with_capacity(2 * CHUNK), at: 0, failed: None };
    let copied = connection.copy_in(&copy, &mut lines);
    match lines.failed {
        Some(error) => Err(wrong(error)),
        None => copied.map_err(|error| Failure::sql(error, "")),
    }
}

/// The rows as COPY's text.
struct Lines<'a> {
    rows: Rows<'a>,
    kinds: &'a [Kind],
    is_given: &'a [bool],
    bar: &'a ProgressBar,
    buffer: Vec<u8>,
    at: usize,
    /// Why SQLite could not go on.
    failed: Option<rusqlite::Error>,
}

impl Lines<'_> {
    fn fill(&mut self) -> rusqlite::Result<()> {
        self.buffer.clear();
        self.at = 0;
        let mut count = 0;
        while self.buffer.len() < CHUNK
            && let Some(row) = self.rows.next()?
        {
            let given = self.kinds.iter().enumerate().filter(|(at, _)| self.is_given[*at]);
            for (nth, (at, kind)) in given.enumerate() {
                if nth > 0 {
                    self.buffer.push(b'\t');
                }
                push(&mut self.buffer, row.get_ref(at)?, &kind.data_type);
            }
            self.buffer.push(b'\n');
            count += 1;
        }
        self.bar.inc(count);
        Ok(())
    }
}

impl Read for Lines<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.at == self.buffer.len() {
            self.fill().map_err(|error| {
                self.failed = Some(error);
                io::Error::other("SQLite could not go on")
            })?;
        }
        let rest = &self.buffer[self.at..];
        let count = rest.len().min(to.len());
        to[..count].copy_from_slice(&rest[..count]);
        self.at += count;
        Ok(count)
    }
}

/// A value as the type's text.
fn push(line: &mut Vec<u8>, value: ValueRef<'_>, data_type: &DataType) {
    match (value, data_type) {
        (ValueRef::Null, _) => line.extend(b"\\N"),
        (ValueRef::Integer(number), DataType::Bytea) => push_bytes(line, number.to_string().as_bytes()),
        (ValueRef::Real(number), DataType::Bytea) => push_bytes(line, real(number).as_bytes()),
        (ValueRef::Blob(bytes) | ValueRef::Text(bytes), DataType::Bytea) => push_bytes(line, bytes),
        // Writing to memory cannot fail.
        (ValueRef::Integer(number), _) => drop(write!(line, "{number}")),
        (ValueRef::Real(number), DataType::Numeric(Some((_, scale)))) => {
            drop(write!(line, "{number:.*}", *scale as usize))
        }
        (ValueRef::Real(number), DataType::Text | DataType::Varchar(_)) => line.extend(real(number).as_bytes()),
        (ValueRef::Real(number), _) if number.is_infinite() => {
            line.extend(if number > 0.0 { b"Infinity".as_slice() } else { b"-Infinity" });
        }
        // All digits of what is a whole number, of which the shortest form has zeros in the place of some.
        (ValueRef::Real(number), DataType::Numeric(None)) if number.fract() == 0.0 && number.abs() < 1e38 => {
            drop(write!(line, "{}", number as i128));
        }
        (ValueRef::Real(number), _) => drop(write!(line, "{number}")),
        (ValueRef::Text(bytes), _) => push_text(line, bytes),
        (ValueRef::Blob(bytes), _) => push_bytes(line, bytes),
    }
}

/// A number as SQLite writes it: with a point, if only to say what it is.
fn real(number: f64) -> String {
    match number.is_infinite() {
        true => if number > 0.0 { "Inf" } else { "-Inf" }.to_string(),
        false => format!("{number:?}"),
    }
}

fn push_text(line: &mut Vec<u8>, bytes: &[u8]) {
    for byte in bytes {
        match byte {
            b'\\' => line.extend(b"\\\\"),
            b'\n' => line.extend(b"\\n"),
            b'\r' => line.extend(b"\\r"),
            b'\t' => line.extend(b"\\t"),
            byte => line.push(*byte),
        }
    }
}

fn push_bytes(line: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    line.extend(b"\\\\x");
    line.extend(bytes.iter().flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]));
}
