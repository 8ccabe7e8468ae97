//! Bytes that have come, cut into messages.
//!
//! - A length is believed as its bytes arrive: memory is taken for what is there, never for what is announced.
//! - What is cut off is whole: one type, one length, all of its body. Reading beyond a body's end is an error, no panic.

use std::ops::Range;

use cairndb::{Error, Result, SqlState};

use crate::error::{fatal_violation, violation};

/// Consumed bytes are moved away when they are at least so many.
const MOVED_MIN: usize = 16 << 10;

/// What has come and was not handled yet.
#[derive(Default)]
pub(crate) struct Input {
    bytes: Vec<u8>,
    at: usize,
}

/// A message: its type, and where its body lies.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) body: Range<usize>,
}

impl Input {
    pub(crate) fn receive(&mut self, bytes: &[u8]) {
        if self.at == self.bytes.len() {
            self.bytes.clear();
            self.at = 0;
        } else if self.at >= MOVED_MIN && self.at >= self.bytes.len() / 2 {
            self.bytes.drain(..self.at);
            self.at = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Gives room back that was needed for more than so many bytes, where none wait.
    pub(crate) fn shrink_to(&mut self, bytes: usize) {
        if self.is_empty() && self.bytes.capacity() > bytes {
            *self = Input::default();
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// How many bytes wait.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The next message, which stays where it is; `None`: it is not whole yet. SQLSTATE 08P01 where it can not be one, or is
    /// longer than `most`.
    pub(crate) fn frame(&self, most: usize) -> Result<Option<Frame>> {
        self.cut(self.at, 1, most)
    }

    /// The same, of the first messages, which have no type.
    pub(crate) fn untyped_frame(&self, most: usize) -> Result<Option<Frame>> {
        self.cut(self.at, 0, most)
    }

    fn cut(&self, at: usize, prefix: usize, most: usize) -> Result<Option<Frame>> {
        let waiting = &self.bytes[at..];
        let kind = if prefix == 0 { 0 } else { waiting.first().copied().unwrap_or(0) };
        let Some(length) = waiting.get(prefix..).and_then(|rest| rest.first_chunk::<4>()) else { return Ok(None) };
        let length = i32::from_be_bytes(*length);
        let length = usize::try_from(length).ok().filter(|length| *length >= 4);
        let length = length.ok_or_else(|| fatal_violation("invalid message length"))?;
        if length > most {
            let message = format!("a message of {length} bytes is longer than the {most} that are allowed here");
            return Err(Error::new(SqlState::PROTOCOL_VIOLATION, message));
        }
        let end = at + prefix + length;
        Ok((end <= self.bytes.len()).then(|| Frame { kind, body: at + prefix + 4..end }))
    }

    /// The type of the message behind this one, if that much of it has come.
    pub(crate) fn kind_behind(&self, frame: &Frame) -> Option<u8> {
        self.bytes.get(frame.body.end).copied()
    }

    pub(crate) fn body(&self, frame: &Frame) -> &[u8] {
        &self.bytes[frame.body.clone()]
    }

    /// The message was handled.
    pub(crate) fn consume(&mut self, frame: &Frame) {
        self.at = frame.body.end;
    }

    /// The message, which has a type and was consumed last, comes again.
    pub(crate) fn put_back(&mut self, frame: &Frame) {
        self.at = frame.body.start - 5;
    }
}

/// A message's body, as it is read.
pub(crate) struct Body<'a>(pub(crate) &'a [u8]);

impl<'a> Body<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or_else(short)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or_else(short)?;
        self.0 = rest;
        Ok(*taken)
    }

    pub(crate) fn byte(&mut self) -> Result<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn int16(&mut self) -> Result<i16> {
        self.array().map(i16::from_be_bytes)
    }

    /// How many of something follow.
    pub(crate) fn count(&mut self) -> Result<usize> {
        self.array().map(|bytes| u16::from_be_bytes(bytes).into())
    }

    pub(crate) fn int32(&mut self) -> Result<i32> {
        self.array().map(i32::from_be_bytes)
    }

    /// Bytes with their number before them; `None`: NULL.
    pub(crate) fn value(&mut self) -> Result<Option<&'a [u8]>> {
        match self.int32()? {
            -1 => Ok(None),
            length => self.take(usize::try_from(length).map_err(|_| short())?).map(Some),
        }
    }

    /// A text that ends with a zero. SQLSTATE 22021 where it is not UTF-8.
    pub(crate) fn text(&mut self) -> Result<&'a str> {
        let end = self.0.iter().position(|byte| *byte == 0).ok_or_else(|| violation("invalid string in message"))?;
        let text = utf8(self.take(end)?)?;
        self.take(1)?;
        Ok(text)
    }

    pub(crate) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    /// SQLSTATE 08P01 where something is left.
    pub(crate) fn end(&self) -> Result<()> {
        if self.0.is_empty() { Ok(()) } else { Err(violation("invalid message format")) }
    }
}

fn short() -> Error {
    violation("insufficient data left in message")
}

/// SQLSTATE 22021.
pub(crate) fn utf8(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|error| {
        let wrong = &bytes[error.valid_up_to()..];
        let length = error.error_len().unwrap_or(wrong.len()).clamp(1, 4);
        // PostgreSQL shows as many bytes as the first one promises.
        let promised = match wrong.first() {
            Some(0xC2..=0xDF) => 2,
            Some(0xE0..=0xEF) => 3,
            Some(0xF0..=0xF4) => 4,
            _ => length,
        };
        let shown: Vec<String> = wrong.iter().take(promised).map(|byte| format!("0x{byte:02x}")).collect();
        let message = format!("invalid byte sequence for encoding \"UTF8\": {}", shown.join(" "));
        Error::new(SqlState::INVALID_BYTE_SEQUENCE, message)
    })
}
