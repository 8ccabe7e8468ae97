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
    /// How many rows were begun.
    line: u64,
    field: Vec<u8>,
}

fn bad(message: impl Into<String>) -> Error {
    Error::new(SqlState::BAD_COPY_FILE_FORMAT, message)
}

impl<R: BufRead> Tuples<R> {
    /// Reads the header. SQLSTATE 22P04.
    pub(crate) fn new(input: R) -> Result<Tuples<R>> {
        let mut tuples = Tuples { input, line: 0, field: Vec::new() };
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
        if !tuples.read_field(length)? {
            return Err(bad("invalid COPY file header (wrong length)"));
        }
        Ok(tuples)
    }

    /// The number of the row.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// Comes to the next row, which must have so many fields; whether there is one. SQLSTATE 22P04.
    pub(crate) fn next(&mut self, expected: usize) -> Result<bool> {
        self.line += 1;
        let Some(count) = self.array()?.map(i16::from_be_bytes) else { return Ok(false) };
        if count == -1 {
            return match self.array::<1>()? {
                None => Ok(false),
                Some(_) => Err(bad("received copy data after EOF marker")),
            };
        }
        match usize::try_from(count) {
            Ok(count) if count == expected => Ok(true),
            _ => Err(bad(format!("row field count is {count}, expected {expected}"))),
        }
    }

    /// The bytes of the row's next field; `None`: NULL. SQLSTATE 22P04.
    pub(crate) fn field(&mut self) -> Result<Option<&[u8]>> {
        let ended = || bad("unexpected EOF in COPY data");
        let length = self.array()?.map(i32::from_be_bytes).ok_or_else(ended)?;
        if length == -1 {
            return Ok(None);
        }
        let length = usize::try_from(length).map_err(|_| bad("invalid field size"))?;
        if self.read_field(length)? { Ok(Some(&self.field)) } else { Err(ended()) }
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

    /// Whether there are so many bytes.
    fn read_field(&mut self, length: usize) -> Result<bool> {
        self.field.clear();
        let mut missing = length as u64;
        while missing > 0 {
            let part = self.input.by_ref().take(missing.min(CHUNK_BYTES)).read_to_end(&mut self.field);
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
