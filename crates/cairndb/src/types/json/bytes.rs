//! `jsonb` as bytes: part of the file format.
//!
//! ```text
//! null 00 | false 01 | true 02
//! number  03 | the numeric as rows keep it
//! string  04 | UTF-8
//! array   05 + width | count | end of each element | elements
//! object  06 + width | count | end of each key, then of each value | keys | values
//! ```
//!
//! - A value does not say how long it is: what holds it does.
//! - Ends are counted from the first element's beginning, little endian, of 1, 2 or 4 bytes: width is `00`, `10` or `20`.
//! - The count (of elements; of pairs) is LEB128.
//! - Keys are UTF-8 without a head, each once, the shorter before the longer, among equally long ones by their bytes:
//!   PostgreSQL's order, so that what is shown looks the same.

use std::cmp::Ordering;

use crate::types::Numeric;
use crate::types::row::decode_length;
use crate::{Error, Result};

pub(super) const NULL: u8 = 0;
pub(super) const FALSE: u8 = 1;
pub(super) const TRUE: u8 = 2;
pub(super) const NUMBER: u8 = 3;
pub(super) const STRING: u8 = 4;
pub(super) const ARRAY: u8 = 5;
pub(super) const OBJECT: u8 = 6;
const KIND: u8 = 0x0f;

/// A value's bytes, not looked at yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Node<'a>(&'a [u8]);

/// What a value is.
#[derive(Clone, Debug)]
pub(crate) enum Json<'a> {
    Null,
    Boolean(bool),
    Number(Numeric),
    String(&'a str),
    Array(Items<'a>),
    /// Keys first, then their values.
    Object(Items<'a>),
}

/// The parts of an array or object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Items<'a> {
    /// Elements or pairs.
    len: usize,
    width: usize,
    ends: &'a [u8],
    data: &'a [u8],
}

impl<'a> Node<'a> {
    pub(crate) fn of(bytes: &'a [u8]) -> Node<'a> {
        Node(bytes)
    }

    pub(crate) fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// Whether it can have parts.
    pub(super) fn is_container(self) -> bool {
        self.0.first().is_some_and(|head| matches!(head & KIND, ARRAY | OBJECT))
    }

    /// Digits and scale of a number that has no more digits than most; `None`: it is something else, or damaged.
    #[inline]
    pub(super) fn small_number(self) -> Option<(i64, u16)> {
        match self.0.split_first()? {
            (&NUMBER, rest) => Numeric::small_from_bytes(rest),
            _ => None,
        }
    }

    /// The value of an object's key; `None`: it has none, or is no object.
    #[inline]
    pub(super) fn field(self, key: &str) -> Result<Option<Node<'a>>> {
        match self.0.split_first() {
            Some((&head, rest)) if head & KIND == OBJECT => Items::parse(head, rest, 2)?.get(key),
            _ => self.read().map(|_| None),
        }
    }

    /// Looks at it, not at what is in it.
    pub(crate) fn read(self) -> Result<Json<'a>> {
        let (&head, rest) = self.0.split_first().ok_or_else(damaged)?;
        Ok(match head {
            NULL if rest.is_empty() => Json::Null,
            FALSE if rest.is_empty() => Json::Boolean(false),
            TRUE if rest.is_empty() => Json::Boolean(true),
            NUMBER => Json::Number(Numeric::from_bytes(rest).filter(Numeric::is_finite).ok_or_else(damaged)?),
            STRING => Json::String(std::str::from_utf8(rest).map_err(|_| damaged())?),
            _ => match head & KIND {
                ARRAY => Json::Array(Items::read(head, rest, 1)?),
                OBJECT => Json::Object(Items::read(head, rest, 2)?),
                _ => return Err(damaged()),
            },
        })
    }
}

impl Node<'_> {
    /// No more arrays and objects than this are within each other.
    pub(super) fn is_within(self, depth: usize) -> Result<bool> {
        let (items, values) = match self.read()? {
            Json::Array(items) => (items, 0),
            Json::Object(items) => (items, items.len),
            _ => return Ok(true),
        };
        let Some(depth) = depth.checked_sub(1) else { return Ok(false) };
        for part in items.parts().skip(values) {
            let part = part?;
            if Node(part).is_container() && !Node(part).is_within(depth)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Looks at it and all that is in it: keys in their order, nothing between the parts or behind them.
    pub(super) fn check(self, depth: usize) -> Result<()> {
        let (items, is_object) = match self.read()? {
            Json::Array(items) => (items, false),
            Json::Object(items) => (items, true),
            _ => return Ok(()),
        };
        let depth = depth.checked_sub(1).ok_or_else(damaged)?;
        let mut rest = items.parts();
        if is_object {
            let mut before: &[u8] = &[];
            for at in 0..items.len {
                let key = rest.next().ok_or_else(damaged)??;
                if std::str::from_utf8(key).is_err() || at > 0 && key_order(before, key).is_ge() {
                    return Err(damaged());
                }
                before = key;
            }
        }
        for part in rest.by_ref() {
            Node(part?).check(depth)?;
        }
        if rest.start == items.data.len() { Ok(()) } else { Err(damaged()) }
    }
}

/// All parts of an array or object, in the order in which they lie: each end is read once.
struct Parts<'a> {
    ends: std::slice::ChunksExact<'a, u8>,
    data: &'a [u8],
    start: usize,
}

impl<'a> Iterator for Parts<'a> {
    type Item = Result<&'a [u8]>;

    fn next(&mut self) -> Option<Result<&'a [u8]>> {
        let end = number(self.ends.next()?);
        let part = self.data.get(self.start..end).ok_or_else(damaged);
        self.start = end;
        Some(part)
    }
}

/// A little-endian number of 1, 2 or 4 bytes.
#[inline]
fn number(bytes: &[u8]) -> usize {
    match *bytes {
        [a] => a.into(),
        [a, b] => u16::from_le_bytes([a, b]).into(),
        [a, b, c, d] => u32::from_le_bytes([a, b, c, d]) as usize,
        _ => usize::MAX,
    }
}

impl<'a> Items<'a> {
    fn read(head: u8, bytes: &'a [u8], parts: usize) -> Result<Items<'a>> {
        Items::parse(head, bytes, parts)
    }

    /// As `read`, where what comes of it is looked at at once: copying it costs as much as reading it.
    #[inline(always)]
    fn parse(head: u8, bytes: &'a [u8], parts: usize) -> Result<Items<'a>> {
        let width = match head & !KIND {
            0x00 => 1,
            0x10 => 2,
            0x20 => 4,
            _ => return Err(damaged()),
        };
        let (len, rest) = decode_length(bytes).map_err(|_| damaged())?;
        let ends = len.checked_mul(parts * width).ok_or_else(damaged)?;
        let (ends, data) = rest.split_at_checked(ends).ok_or_else(damaged)?;
        Ok(Items { len, width, ends, data })
    }

    /// How many elements or pairs there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    fn end(&self, part: usize) -> Result<usize> {
        self.ends.get(part * self.width..(part + 1) * self.width).map(number).ok_or_else(damaged)
    }

    fn part(&self, part: usize) -> Result<&'a [u8]> {
        let start = if part == 0 { 0 } else { self.end(part - 1)? };
        self.data.get(start..self.end(part)?).ok_or_else(damaged)
    }

    fn parts(&self) -> Parts<'a> {
        Parts { ends: self.ends.chunks_exact(self.width), data: self.data, start: 0 }
    }

    /// An array's element.
    pub(crate) fn element(&self, at: usize) -> Result<Node<'a>> {
        self.part(at).map(Node)
    }

    /// An array's elements.
    pub(crate) fn elements(self) -> impl Iterator<Item = Result<Node<'a>>> {
        (0..self.len).map(move |at| self.element(at))
    }

    /// An object's key.
    pub(crate) fn key(&self, at: usize) -> Result<&'a str> {
        std::str::from_utf8(self.part(at)?).map_err(|_| damaged())
    }

    /// An object's value.
    pub(crate) fn value(&self, at: usize) -> Result<Node<'a>> {
        self.part(self.len + at).map(Node)
    }

    /// An object's pairs.
    pub(crate) fn pairs(self) -> impl Iterator<Item = Result<(&'a str, Node<'a>)>> {
        (0..self.len).map(move |at| Ok((self.key(at)?, self.value(at)?)))
    }

    /// The value of an object's key.
    pub(crate) fn get(&self, key: &str) -> Result<Option<Node<'a>>> {
        // A search for each width: most of what it does is reading ends.
        let found = match self.width {
            1 => self.search(key.as_bytes(), |end: &[u8; 1]| end[0].into()),
            2 => self.search(key.as_bytes(), |end| u16::from_le_bytes(*end).into()),
            _ => self.search(key.as_bytes(), |end| u32::from_le_bytes(*end) as usize),
        };
        found?.map(|at| self.value(at)).transpose()
    }

    /// Which of an object's keys it is.
    #[inline]
    fn search<const WIDTH: usize>(&self, key: &[u8], number: impl Fn(&[u8; WIDTH]) -> usize) -> Result<Option<usize>> {
        let (ends, _) = self.ends.as_chunks::<WIDTH>();
        let keys = ends.get(..self.len).ok_or_else(damaged)?;
        let (mut low, mut high) = (0, keys.len());
        while low < high {
            let middle = low.midpoint(high);
            let start = if middle == 0 { 0 } else { number(&keys[middle - 1]) };
            let found = self.data.get(start..number(&keys[middle])).ok_or_else(damaged)?;
            match key_order(found, key) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return Ok(Some(middle)),
            }
        }
        Ok(None)
    }

    /// An array's element, counted from its end where negative.
    pub(crate) fn at(&self, index: i64) -> Result<Option<Node<'a>>> {
        let index = if index < 0 { index + self.len as i64 } else { index };
        match usize::try_from(index) {
            Ok(at) if at < self.len => self.element(at).map(Some),
            _ => Ok(None),
        }
    }
}

/// The order in which objects keep their keys.
pub(super) fn key_order(a: &[u8], b: &[u8]) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

pub(crate) fn damaged() -> Error {
    Error::damaged("the bytes of a jsonb value are damaged")
}
