//! Lists of rows and notes on rows as bytes (see the module above), and both read as one.
//!
//! A list is one row after the other: how many bytes its key has in common with the one before, how many follow, and those.
//! Numbers are LEB128.

use std::ops::Bound;

use cairn_storage::{Cursor, TreeId};

use super::{ITEM_BYTES, Item};
use crate::state::Reader;
use crate::{Error, Result};

/// Rows of a list, and bytes, at which it ends: short enough to be written anew for a few notes.
pub(super) const ROWS_MAX: usize = 128;
pub(super) const BYTES_MAX: usize = 512;

pub(super) const LIST: u8 = 0;
pub(super) const NOTE: u8 = 1;
/// A note says that the row has the item.
pub(super) const HAS: [u8; 1] = [1];
pub(super) const HAS_NOT: [u8; 1] = [0];

/// Writes the key of a note over `out`; of a list, where the row is its last.
pub(super) fn entry_key(kind: u8, item: &[u8], row: &[u8], out: &mut Vec<u8>) {
    out.clear();
    out.push(kind);
    out.extend_from_slice(item);
    out.extend_from_slice(row);
}

/// Writes the key of a note over `out`; what it says of the row.
pub(crate) fn note_key(item: &[u8], row: &[u8], has: bool, out: &mut Vec<u8>) -> &'static [u8] {
    entry_key(NOTE, item, row, out);
    if has { &HAS } else { &HAS_NOT }
}

fn push_number(mut number: usize, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn take_number(bytes: &[u8], at: &mut usize) -> Result<usize> {
    let mut number = 0usize;
    for shift in (0..28).step_by(7) {
        let byte = *bytes.get(*at).ok_or_else(damaged)?;
        *at += 1;
        number |= usize::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err(damaged())
}

pub(super) fn damaged() -> Error {
    Error::damaged("a list of an inverted index is damaged")
}

/// A list that is being written.
#[derive(Default)]
pub(super) struct List {
    pub(super) bytes: Vec<u8>,
    pub(super) last: Vec<u8>,
    pub(super) rows: usize,
}

impl List {
    /// Rows come in order.
    pub(super) fn push(&mut self, row: &[u8]) {
        let shared = match self.rows {
            0 => 0,
            _ => self.last.iter().zip(row).take_while(|(a, b)| a == b).count(),
        };
        push_number(shared, &mut self.bytes);
        push_number(row.len() - shared, &mut self.bytes);
        self.bytes.extend_from_slice(&row[shared..]);
        self.last.truncate(shared);
        self.last.extend_from_slice(&row[shared..]);
        self.rows += 1;
    }

    pub(super) fn is_full(&self) -> bool {
        self.rows >= ROWS_MAX || self.bytes.len() >= BYTES_MAX
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.last.clear();
        self.rows = 0;
    }
}

/// Takes a list with its key.
type PutList<'a> = dyn FnMut(&[u8], &[u8]) -> Result<()> + 'a;

/// Makes lists of pairs of an item and a row, which come in order, each once.
#[derive(Default)]
pub(crate) struct ListBuilder {
    item: Vec<u8>,
    list: List,
    key: Vec<u8>,
}

impl ListBuilder {
    /// `put` gets each list that is full, and its key.
    pub(crate) fn add(&mut self, item: &[u8], row: &[u8], put: &mut PutList<'_>) -> Result<()> {
        if self.item != item || self.list.is_full() {
            self.finish(put)?;
            self.item.clear();
            self.item.extend_from_slice(item);
        }
        self.list.push(row);
        Ok(())
    }

    /// The last list.
    pub(crate) fn finish(&mut self, put: &mut PutList<'_>) -> Result<()> {
        if self.list.rows > 0 {
            entry_key(LIST, &self.item, &self.list.last, &mut self.key);
            put(&self.key, &self.list.bytes)?;
            self.list.clear();
        }
        Ok(())
    }
}

/// Calls `each` with the rows of a list.
pub(super) fn each_row(list: &[u8], mut each: impl FnMut(&[u8])) -> Result<()> {
    let (mut row, mut at) = (vec![], 0);
    while at < list.len() {
        next_row(list, &mut at, 0, &mut row)?;
        each(&row);
    }
    Ok(())
}

/// Goes on to the next row, which begins behind `before` bytes of `row`.
fn next_row(list: &[u8], at: &mut usize, before: usize, row: &mut Vec<u8>) -> Result<()> {
    let (shared, rest) = (take_number(list, at)?, take_number(list, at)?);
    let end = at.checked_add(rest).filter(|end| *end <= list.len()).ok_or_else(damaged)?;
    if before + shared > row.len() {
        return Err(damaged());
    }
    row.truncate(before + shared);
    row.extend_from_slice(&list[*at..end]);
    *at = end;
    Ok(())
}

/// The rows of an item, or all pairs of an item and a row, in order.
///
/// A *place* is an item with a row behind it; without a row it is before all rows of the item.
pub(crate) struct Postings {
    lists: Lists,
    notes: Notes,
    /// Behind which the next place is looked for.
    from: Vec<u8>,
    is_in_list: bool,
}

impl Postings {
    pub(crate) fn of_item(reader: &Reader, tree: TreeId, item: Item) -> Result<Postings> {
        Postings::under(reader, tree, &item.to_be_bytes())
    }

    pub(crate) fn all(reader: &Reader, tree: TreeId) -> Result<Postings> {
        Postings::under(reader, tree, &[])
    }

    fn under(reader: &Reader, tree: TreeId, prefix: &[u8]) -> Result<Postings> {
        let cursor = |kind: u8| {
            let lower = [&[kind][..], prefix].concat();
            let upper = crate::types::key::prefix_end(&lower);
            let upper = upper.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
            reader.cursor(tree, Bound::Included(&lower), upper)
        };
        Ok(Postings {
            lists: Lists { cursor: cursor(LIST)?, bytes: vec![], at: 0, last: vec![], place: vec![], key: vec![] },
            notes: Notes { cursor: cursor(NOTE)?, has: false, is_over: false, place: vec![], key: vec![] },
            from: vec![],
            is_in_list: false,
        })
    }

    /// Goes to the first place at or behind `from`, forward only; whether there is one.
    pub(crate) fn seek(&mut self, from: &[u8]) -> Result<bool> {
        self.from.clear();
        self.from.extend_from_slice(from);
        loop {
            let in_list = self.lists.seek(&self.from)?;
            if !self.notes.seek(&self.from)? {
                self.is_in_list = true;
                return Ok(in_list);
            }
            if in_list && self.lists.place < self.notes.place {
                self.is_in_list = true;
                return Ok(true);
            }
            if self.notes.has {
                self.is_in_list = false;
                return Ok(true);
            }
            self.from.clear();
            self.from.extend_from_slice(&self.notes.place);
            self.from.push(0);
        }
    }

    /// Goes to the next place, or the first.
    pub(crate) fn next(&mut self) -> Result<bool> {
        let mut from = self.place().to_vec();
        if !from.is_empty() {
            from.push(0);
        }
        self.seek(&from)
    }

    /// Where it is.
    pub(crate) fn place(&self) -> &[u8] {
        if self.is_in_list { &self.lists.place } else { &self.notes.place }
    }

    /// The row where it is.
    pub(crate) fn row(&self) -> &[u8] {
        self.place().get(ITEM_BYTES..).unwrap_or_default()
    }
}

struct Lists {
    cursor: Cursor,
    /// The list, and how far it is read.
    bytes: Vec<u8>,
    at: usize,
    /// Its last place.
    last: Vec<u8>,
    /// Empty before the first.
    place: Vec<u8>,
    key: Vec<u8>,
}

impl Lists {
    fn seek(&mut self, from: &[u8]) -> Result<bool> {
        if !self.place.is_empty() && *self.place >= *from {
            return Ok(true);
        }
        let mut is_near = true;
        loop {
            if *self.last >= *from {
                while self.at < self.bytes.len() {
                    next_row(&self.bytes, &mut self.at, ITEM_BYTES, &mut self.place)?;
                    if *self.place >= *from {
                        return Ok(true);
                    }
                }
            }
            if !self.load(from, is_near)? {
                return Ok(false);
            }
            is_near = false;
        }
    }

    /// Reads the next list, or the first that may have the place.
    fn load(&mut self, from: &[u8], is_next: bool) -> Result<bool> {
        if !is_next {
            self.key.clear();
            self.key.push(LIST);
            self.key.extend_from_slice(from);
            self.cursor.seek(&self.key)?;
        }
        let Some((key, list)) = self.cursor.next()? else {
            self.place.clear();
            self.bytes.clear();
            self.at = 0;
            return Ok(false);
        };
        let place = key.get(1..).filter(|place| place.len() >= ITEM_BYTES).ok_or_else(damaged)?;
        self.last.clear();
        self.last.extend_from_slice(place);
        self.place.clear();
        self.place.extend_from_slice(&place[..ITEM_BYTES]);
        self.bytes.clear();
        self.bytes.extend_from_slice(list);
        self.at = 0;
        Ok(true)
    }
}

struct Notes {
    cursor: Cursor,
    has: bool,
    is_over: bool,
    /// Empty before the first.
    place: Vec<u8>,
    key: Vec<u8>,
}

impl Notes {
    fn seek(&mut self, from: &[u8]) -> Result<bool> {
        let mut is_near = true;
        while !self.is_over && (self.place.is_empty() || *self.place < *from) {
            if !is_near {
                self.key.clear();
                self.key.push(NOTE);
                self.key.extend_from_slice(from);
                self.cursor.seek(&self.key)?;
            }
            is_near = false;
            let Some((key, value)) = self.cursor.next()? else {
                self.is_over = true;
                break;
            };
            self.place.clear();
            self.place.extend_from_slice(key.get(1..).ok_or_else(damaged)?);
            self.has = value == HAS;
        }
        Ok(!self.is_over)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_of_a_list_come_back_and_damage_is_told() {
        let rows: Vec<Vec<u8>> = (0..100u32).map(|row| [b"key ", &(row * row).to_be_bytes()[..]].concat()).collect();
        let mut list = List::default();
        rows.iter().for_each(|row| list.push(row));
        let mut read = vec![];
        each_row(&list.bytes, |row| read.push(row.to_vec())).unwrap();
        assert_eq!(read, rows);
        assert!(list.bytes.len() < rows.len() * 5, "{}", list.bytes.len());
        for cut in 1..list.bytes.len() {
            let _ = each_row(&list.bytes[..cut], |_| ());
        }
        assert!(each_row(&[1, 1, 0], |_| ()).is_err());
        assert!(each_row(&[0, 200], |_| ()).is_err());
    }
}
