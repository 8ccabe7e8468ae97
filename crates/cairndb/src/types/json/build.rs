//! Makes `jsonb`: scalars and whole values one after the other, between the beginnings and ends of arrays and objects.
//!
//! All bytes stand in one buffer. The end of an array or object replaces its parts there by itself.

use std::ops::Range;

use super::bytes::{ARRAY, FALSE, NULL, NUMBER, Node, OBJECT, STRING, TRUE, key_order};
use super::{DEPTH_MAX, Jsonb};
use crate::types::Numeric;
use crate::types::row::encode_length;
use crate::{Error, Result, SqlState};

/// The largest document.
const BYTES_MAX: usize = 1 << 28;

#[derive(Clone, Default)]
pub(crate) struct Builder {
    buffer: Vec<u8>,
    /// Where the parts of all that is open lie in the buffer.
    parts: Vec<Range<usize>>,
    open: Vec<Open>,
}

#[derive(Clone)]
struct Open {
    is_object: bool,
    /// Where its first part begins.
    start: usize,
    /// How many parts those around it have.
    parts: usize,
}

impl Builder {
    pub(crate) fn null(&mut self) {
        self.push(&[NULL], &[]);
    }

    pub(crate) fn boolean(&mut self, value: bool) {
        self.push(&[if value { TRUE } else { FALSE }], &[]);
    }

    pub(crate) fn number(&mut self, value: &Numeric) {
        let start = self.buffer.len();
        self.buffer.push(NUMBER);
        value.write_bytes(&mut self.buffer);
        self.parts.push(start..self.buffer.len());
    }

    pub(crate) fn string(&mut self, value: &str) {
        self.push(&[STRING], value.as_bytes());
    }

    /// A value that there is already.
    pub(crate) fn node(&mut self, node: Node<'_>) -> Result<()> {
        if !node.is_within(DEPTH_MAX.saturating_sub(self.open.len()))? {
            return Err(too_deep());
        }
        self.push(&[], node.bytes());
        Ok(())
    }

    /// An object's key, before its value.
    pub(crate) fn key(&mut self, key: &str) {
        self.push(&[], key.as_bytes());
    }

    fn push(&mut self, head: &[u8], rest: &[u8]) {
        let start = self.buffer.len();
        self.buffer.extend_from_slice(head);
        self.buffer.extend_from_slice(rest);
        self.parts.push(start..self.buffer.len());
    }

    pub(crate) fn begin_array(&mut self) -> Result<()> {
        self.begin(false)
    }

    pub(crate) fn begin_object(&mut self) -> Result<()> {
        self.begin(true)
    }

    fn begin(&mut self, is_object: bool) -> Result<()> {
        if self.open.len() >= DEPTH_MAX {
            return Err(too_deep());
        }
        self.open.push(Open { is_object, start: self.buffer.len(), parts: self.parts.len() });
        Ok(())
    }

    /// Ends what was begun last. Of an object's equal keys the last one counts.
    pub(crate) fn end(&mut self) -> Result<()> {
        let Open { is_object, start, parts: before } =
            self.open.pop().ok_or_else(|| Error::internal("nothing to end"))?;
        let parts = self.parts.split_off(before);
        let mut out = vec![];
        match is_object {
            false => write(ARRAY, parts.len(), parts.iter().map(|part| &self.buffer[part.clone()]), &mut out),
            true => {
                let (pairs, _) = parts.as_chunks::<2>();
                let mut pairs: Vec<[&[u8]; 2]> =
                    pairs.iter().map(|pair| pair.clone().map(|part| &self.buffer[part])).collect();
                // The later of equal ones first, which alone stays.
                pairs.reverse();
                pairs.sort_by(|[a, _], [b, _]| key_order(a, b));
                pairs.dedup_by(|[later, _], [first, _]| later == first);
                let keys = pairs.iter().map(|[key, _]| *key);
                write(OBJECT, pairs.len(), keys.chain(pairs.iter().map(|[_, value]| *value)), &mut out);
            }
        }
        self.buffer.truncate(start);
        self.push(&[], &out);
        if self.buffer.len() > BYTES_MAX {
            let message = format!("total size of jsonb object elements exceeds the maximum of {BYTES_MAX} bytes");
            return Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
        }
        Ok(())
    }

    /// Nothing was begun or pushed.
    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty() && self.parts.is_empty()
    }

    /// The value, which must be one.
    pub(crate) fn finish(self) -> Result<Jsonb> {
        match (self.parts.len(), self.open.is_empty()) {
            (1, true) => Ok(Jsonb::of_part(Node::of(&self.buffer))),
            _ => Err(Error::internal("a document of no value or of several")),
        }
    }
}

fn write<'b>(kind: u8, len: usize, parts: impl Iterator<Item = &'b [u8]> + Clone, out: &mut Vec<u8>) {
    let total: usize = parts.clone().map(<[u8]>::len).sum();
    let (width, bits) = match total {
        0..=0xff => (1, 0x00),
        0x100..=0xffff => (2, 0x10),
        _ => (4, 0x20),
    };
    out.reserve(total + 6 + width * 2 * len);
    out.push(kind | bits);
    encode_length(len, out);
    let mut end = 0;
    for part in parts.clone() {
        end += part.len();
        out.extend_from_slice(&end.to_le_bytes()[..width]);
    }
    parts.for_each(|part| out.extend_from_slice(part));
}

pub(super) fn too_deep() -> Error {
    let error = Error::new(SqlState::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded");
    error.with_detail(format!("JSON may have {DEPTH_MAX} arrays and objects within each other."))
}
