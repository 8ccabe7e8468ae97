//! Records that were read together: what was read of each, and where its fields are in it.
//!
//! A field lies in what was read where it stands there as it is; else what is meant by it was put down beside. Buffers are kept from one
//! lot of records to the next.

use std::ops::Range;

use crate::Result;
use crate::types::{has_zero_byte, utf8};

/// As many records are read together as vectors have values.
const RECORDS: usize = 1024;
/// Or as many as have so many bytes together: they stay in the processor's cache until they are rows.
const BYTES: usize = 64 << 10;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Records {
    /// What was read, without the lines' ends.
    pub(super) raw: Vec<u8>,
    /// Fields that do not stand there as they are.
    pub(super) made: Vec<u8>,
    pub(super) fields: Vec<Field>,
    records: Vec<Record>,
}

/// Where a field is.
#[derive(Clone, Debug, Default)]
pub(super) struct Field {
    pub(super) bytes: Range<usize>,
    /// Among those that were made.
    pub(super) is_made: bool,
    pub(super) is_null: bool,
}

#[derive(Debug)]
struct Record {
    /// Where what was read of it begins and ends.
    raw: Range<usize>,
    /// Where its fields end.
    fields: usize,
    line: u64,
}

/// What options make of a field: an ordinary value of what stands for NULL, and NULL of a value that says what does.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Force<'n> {
    pub(crate) not_null: bool,
    pub(crate) null: Option<&'n str>,
}

impl Records {
    pub(super) fn clear(&mut self) {
        self.raw.clear();
        self.made.clear();
        self.fields.clear();
        self.records.clear();
    }

    /// Whether one more is to be read with these.
    pub(super) fn has_room(&self) -> bool {
        self.records.len() < RECORDS && self.raw.len() + self.made.len() < BYTES
    }

    /// What was read from `start` on is a record, as are the fields behind the last one's.
    pub(super) fn end_record(&mut self, start: usize, line: u64) {
        self.records.push(Record { raw: start..self.raw.len(), fields: self.fields.len(), line });
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// How many fields a record has.
    pub(crate) fn width(&self, record: usize) -> usize {
        self.records.get(record).map_or(0, |of| of.fields - self.first_field(record))
    }

    fn first_field(&self, record: usize) -> usize {
        record.checked_sub(1).and_then(|before| self.records.get(before)).map_or(0, |before| before.fields)
    }

    /// The number of the line that a record ends on, or of the row that it is.
    pub(crate) fn line(&self, record: usize) -> u64 {
        self.records.get(record).map_or(0, |record| record.line)
    }

    /// A record as it stands.
    pub(crate) fn shown(&self, record: usize) -> String {
        let raw = self.records.get(record).and_then(|record| self.raw.get(record.raw.clone()));
        String::from_utf8_lossy(raw.unwrap_or_default()).into_owned()
    }

    /// The bytes of a field; `None`: NULL.
    pub(crate) fn bytes(&self, record: usize, at: usize) -> Option<&[u8]> {
        let field = self.fields.get(self.first_field(record) + at).filter(|field| !field.is_null)?;
        let all = if field.is_made { &self.made } else { &self.raw };
        all.get(field.bytes.clone())
    }

    /// Their fields as text: of all together it is found out whether they are.
    pub(crate) fn texts(&self) -> Texts<'_> {
        let text = |bytes| std::str::from_utf8(bytes).ok().filter(|_| !has_zero_byte(bytes));
        Texts { records: self, raw: text(&self.raw), made: text(&self.made) }
    }
}

/// The fields of records as text.
#[derive(Clone, Copy)]
pub(crate) struct Texts<'r> {
    records: &'r Records,
    /// Where they are text as a whole.
    raw: Option<&'r str>,
    made: Option<&'r str>,
}

impl<'r> Texts<'r> {
    /// The text of a field; `None`: NULL. SQLSTATE 22021.
    #[inline]
    pub(crate) fn field(self, record: usize, at: usize, force: Force<'_>) -> Result<Option<&'r str>> {
        let Some(field) = self.records.fields.get(self.records.first_field(record) + at) else { return Ok(None) };
        if field.is_null && !force.not_null {
            return Ok(None);
        }
        let whole = if field.is_made { self.made } else { self.raw };
        let text = match whole.and_then(|whole| whole.get(field.bytes.clone())) {
            Some(text) => text,
            None => self.part(field)?,
        };
        Ok((field.is_null || force.null != Some(text)).then_some(text))
    }

    /// Of records that are not text, or not from here to there.
    #[cold]
    fn part(self, field: &Field) -> Result<&'r str> {
        let all = if field.is_made { &self.records.made } else { &self.records.raw };
        utf8(all.get(field.bytes.clone()).unwrap_or_default())
    }
}
