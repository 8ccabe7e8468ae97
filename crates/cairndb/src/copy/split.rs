//! A record's fields.

use std::ops::Range;

use memchr::memchr2;

use super::Format;
use super::lines::{Bad, bad, stray, unterminated};
use super::marks::Marks;
use super::records::{Field, Records};

/// Goes over a record, and puts down where its fields are.
pub(super) struct Splitter<'r> {
    /// What was read, up to the record's end.
    raw: &'r [u8],
    made: &'r mut Vec<u8>,
    fields: &'r mut Vec<Field>,
    format: &'r Format,
    /// What ends lines elsewhere, and may not stand in one.
    stray: u8,
    /// Where the field begins that is being gone over.
    begin: usize,
    /// What there is of its value.
    field: Field,
}

impl<'r> Splitter<'r> {
    /// Of the record that is the last of these, from `start` on.
    pub(super) fn new(records: &'r mut Records, start: usize, format: &'r Format, stray: u8) -> Splitter<'r> {
        let Records { raw, made, fields, .. } = records;
        Splitter { raw, made, fields, format, stray, begin: start, field: Field::default() }
    }

    pub(super) fn split(mut self) -> Result<(), Bad> {
        if self.format.csv { self.split_csv() } else { self.split_text() }
    }

    fn split_text(&mut self) -> Result<(), Bad> {
        let delimiter = self.format.delimiter;
        let (mut from, mut marks) = (self.begin, Marks::new(self.raw, [delimiter, b'\\', self.stray], self.begin));
        while let Some(here) = marks.next() {
            self.add(from..here);
            from = match self.raw[here] {
                byte if byte == delimiter => {
                    self.end_field(here, false);
                    here + 1
                }
                b'\\' => {
                    let end = self.unescape(here + 1)?;
                    marks.pass_to(end);
                    end
                }
                byte => return Err(stray(byte, false)),
            };
        }
        self.add(from..self.raw.len());
        self.end_field(self.raw.len(), false);
        Ok(())
    }

    fn split_csv(&mut self) -> Result<(), Bad> {
        let Format { delimiter, quote, .. } = *self.format;
        let (mut from, mut was_quoted) = (self.begin, false);
        let mut marks = Marks::new(self.raw, [delimiter, quote, self.stray], self.begin);
        while let Some(here) = marks.next() {
            self.add(from..here);
            from = match self.raw[here] {
                byte if byte == delimiter => {
                    self.end_field(here, std::mem::take(&mut was_quoted));
                    here + 1
                }
                byte if byte == quote => {
                    was_quoted = true;
                    let end = self.pass_quoted(here + 1)?;
                    marks.pass_to(end);
                    end
                }
                byte => return Err(stray(byte, true)),
            };
        }
        self.add(from..self.raw.len());
        self.end_field(self.raw.len(), was_quoted);
        Ok(())
    }

    /// What stands in quotes; where it goes on behind them.
    fn pass_quoted(&mut self, begin: usize) -> Result<usize, Bad> {
        let Format { quote, escape, .. } = *self.format;
        let (mut at, mut from) = (begin, begin);
        while let Some(found) = memchr2(quote, escape, &self.raw[at..]) {
            let (here, next) = (at + found, self.raw.get(at + found + 1).copied());
            if self.raw[here] == escape && next.is_some_and(|next| next == quote || next == escape) {
                // What is escaped begins what follows.
                self.add(from..here);
                (from, at) = (here + 1, here + 2);
            } else if self.raw[here] == quote {
                self.add(from..here);
                return Ok(here + 1);
            } else {
                at = here + 1;
            }
        }
        Err(unterminated())
    }

    /// What stands behind a backslash; where it ends.
    fn unescape(&mut self, at: usize) -> Result<usize, Bad> {
        let Some(&byte) = self.raw.get(at) else { return Ok(at) };
        let number = |radix: u32, from: usize, most: usize| {
            let digits = self.raw[from..].iter().take(most).map_while(|digit| char::from(*digit).to_digit(radix));
            digits.fold((0, from), |(number, end), digit| (number * radix + digit, end + 1))
        };
        let (value, end) = match byte {
            b'0'..=b'7' => number(8, at, 3),
            // Without digits it is an x.
            b'x' => match number(16, at + 1, 2) {
                (_, end) if end == at + 1 => (u32::from(b'x'), end),
                number => number,
            },
            b'b' => (0x08, at + 1),
            b'f' => (0x0c, at + 1),
            b'n' => (b'\n'.into(), at + 1),
            b'r' => (b'\r'.into(), at + 1),
            b't' => (b'\t'.into(), at + 1),
            b'v' => (0x0b, at + 1),
            b'.' => return Err(bad("end-of-copy marker corrupt")),
            byte => (byte.into(), at + 1),
        };
        self.make();
        // (Of three octal digits the lower eight bits.)
        self.made.push(value as u8);
        self.field.bytes.end = self.made.len();
        Ok(end)
    }

    /// More of the field's value, as it stands there.
    #[inline]
    fn add(&mut self, part: Range<usize>) {
        if part.is_empty() {
            return;
        }
        if self.field.bytes.is_empty() && !self.field.is_made {
            self.field.bytes = part;
            return;
        }
        self.make();
        self.made.extend_from_slice(&self.raw[part]);
        self.field.bytes.end = self.made.len();
    }

    /// The value goes on otherwise than it stands there.
    fn make(&mut self) {
        if !self.field.is_made {
            let start = self.made.len();
            self.made.extend_from_slice(&self.raw[self.field.bytes.clone()]);
            self.field = Field { bytes: start..self.made.len(), is_made: true, is_null: false };
        }
    }

    /// The field ends, the next one begins behind.
    #[inline]
    fn end_field(&mut self, end: usize, was_quoted: bool) {
        let is_null = !was_quoted && self.raw[self.begin..end] == *self.format.null.as_bytes();
        self.fields.push(Field { is_null, ..std::mem::take(&mut self.field) });
        self.begin = end + 1;
    }
}
