//! Rows in PostgreSQL's binary format of COPY.
//!
//! ```text
//! PGCOPY\n\xff\r\n\0 | flags i32 | length of what extends the header i32 | ...
//! each row: fields i16 | each field: length i32, -1 for NULL | bytes
//! -1 i16
//! ```
//! All numbers are big-endian. A file may end without its mark. Reading takes memory for bytes that came, not for those that a
//! length announces.

use std::io::{BufRead, ErrorKind, Read};

use super::records::{Field, Records};
use crate::types::{DataType, Form, ValueRef};
use crate::{Error, Result, SqlState};

const SIGNATURE: [u8; 11] = *b"PGCOPY\n\xff\r\n\0";
/// Rows have the number of their own before the first field: a form that is gone.
const WITH_OIDS: i32 = 1 << 16;
/// Bytes that are asked for at a time.
const CHUNK_BYTES: u64 = 1 << 16;

/// Appends what stands before the rows.
pub(crate) fn write_header(out: &mut Vec<u8>) {
    out.extend(SIGNATURE);
    out.extend([0; 8]);
}

/// Appends a row of columns of these types, whose values are lent by column.
pub(crate) fn write_tuple<'v>(
    value: impl Fn(usize) -> ValueRef<'v>,
    types: &[DataType],
    form: &Form<'_>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let count = i16::try_from(types.len()).map_err(|_| {
        Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "a row has too many columns for the binary format")
    })?;
    out.extend_from_slice(&count.to_be_bytes());
    types.iter().enumerate().try_for_each(|(at, data_type)| form.binary(value(at), *data_type, out))
}

/// Appends what stands behind the rows.
pub(crate) fn write_trailer(out: &mut Vec<u8>) {
    out.extend((-1_i16).to_be_bytes());
}

/// Rows out of bytes.
pub(crate) struct Tuples<R> {
    input: R,
    /// How many fields each of them must have.
    width: usize,
    /// How many rows were begun.
    line: u64,
    done: bool,
}

/// What is wrong with a row, and the column that it has to do with.
pub(crate) struct BadTuple {
    pub(crate) error: Error,
    pub(crate) column: Option<usize>,
}

fn bad(message: impl Into<String>) -> Error {
    Error::new(SqlState::BAD_COPY_FILE_FORMAT, message)
}

impl<R: BufRead> Tuples<R> {
    /// Reads the header. SQLSTATE 22P04.
    pub(crate) fn new(input: R, width: usize) -> Result<Tuples<R>> {
        let mut tuples = Tuples { input, width, line: 0, done: false };
        if tuples.array()? != Some(SIGNATURE) {
            return Err(bad("COPY file signature not recognized"));
        }
        let flags = tuples.array()?.map(i32::from_be_bytes);
        let flags = flags.ok_or_else(|| bad("invalid COPY file header (missing flags)"))?;
        if flags & WITH_OIDS != 0 {
            return Err(bad("invalid COPY file header (WITH OIDS)"));
        }
        if flags >> 16 != 0 {
            return Err(bad("unrecognized critical flags in COPY file header"));
        }
        let length = tuples.array()?.map(i32::from_be_bytes).and_then(|length| usize::try_from(length).ok());
        let length = length.ok_or_else(|| bad("invalid COPY file header (missing length)"))?;
        if !tuples.read_bytes(length, &mut Vec::new())? {
            return Err(bad("invalid COPY file header (wrong length)"));
        }
        Ok(tuples)
    }

    /// Whether all was read.
    pub(crate) fn is_done(&self) -> bool {
        self.done
    }

    /// Reads the next rows over those that are there. What is wrong with the one behind them is returned (SQLSTATE 22P04); that one is the
    /// last of them then, with the fields that came before.
    pub(crate) fn fill(&mut self, records: &mut Records) -> Option<BadTuple> {
        records.clear();
        while !self.done && records.has_room() {
            let start = records.raw.len();
            self.line += 1;
            let failed = match self.begin() {
                Ok(true) => self.read(records).err(),
                Ok(false) => {
                    self.done = true;
                    return None;
                }
                Err(error) => Some(BadTuple { error, column: None }),
            };
            records.end_record(start, self.line);
            self.done = failed.is_some();
            if failed.is_some() {
                return failed;
            }
        }
        None
    }

    /// Whether there is a row.
    fn begin(&mut self) -> Result<bool> {
        let Some(count) = self.array()?.map(i16::from_be_bytes) else { return Ok(false) };
        if count == -1 {
            return match self.array::<1>()? {
                None => Ok(false),
                Some(_) => Err(bad("received copy data after EOF marker")),
            };
        }
        match usize::try_from(count) {
            Ok(count) if count == self.width => Ok(true),
            _ => Err(bad(format!("row field count is {count}, expected {}", self.width))),
        }
    }

    /// Reads the fields of a row.
    fn read(&mut self, records: &mut Records) -> Result<(), BadTuple> {
        (0..self.width).try_for_each(|at| {
            let field = self.read_field(&mut records.raw).map_err(|error| BadTuple { error, column: Some(at) })?;
            records.fields.push(field);
            Ok(())
        })
    }

    fn read_field(&mut self, raw: &mut Vec<u8>) -> Result<Field> {
        let ended = || bad("unexpected EOF in COPY data");
        let (length, start) = (self.array()?.map(i32::from_be_bytes).ok_or_else(ended)?, raw.len());
        let is_null = length == -1;
        let length = if is_null { 0 } else { usize::try_from(length).map_err(|_| bad("invalid field size"))? };
        if !self.read_bytes(length, raw)? {
            return Err(ended());
        }
        Ok(Field { bytes: start..raw.len(), is_made: false, is_null })
    }

    /// `None`: there are not so many bytes.
    fn array<const N: usize>(&mut self) -> Result<Option<[u8; N]>> {
        let mut bytes = [0; N];
        match self.input.read_exact(&mut bytes) {
            Ok(()) => Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(unreadable(&error)),
        }
    }

    /// Appends so many bytes; whether there are as many.
    fn read_bytes(&mut self, length: usize, out: &mut Vec<u8>) -> Result<bool> {
        let mut missing = length as u64;
        while missing > 0 {
            let part = self.input.by_ref().take(missing.min(CHUNK_BYTES)).read_to_end(out);
            match part.map_err(|error| unreadable(&error))? {
                0 => return Ok(false),
                read => missing -= read as u64,
            }
        }
        Ok(true)
    }
}

fn unreadable(error: &std::io::Error) -> Error {
    Error::new(SqlState::IO_ERROR, format!("could not read COPY data: {error}"))
}
