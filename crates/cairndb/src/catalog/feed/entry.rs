//! The bytes of a feed's entry.
//!
//! ```text
//! kind u8, number of the table's description
//! Rewritten: number of the old row's description
//! old key, old row        where there is an old row
//! new key, new row        where there is a new one
//! ```
//! Numbers are LEB128; keys and rows have their lengths before them.

use crate::{Error, Result};

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryKind {
    Insert = 1,
    Update = 2,
    Delete = 3,
    /// All rows went at once.
    Truncate = 4,
    /// The table has another description from here on.
    Altered = 5,
    /// The row lies elsewhere, or has other values, since the table was altered.
    Rewritten = 6,
    /// The feed begins.
    Begun = 7,
    /// The table's rows are not told of any more.
    Ended = 8,
    Dropped = 9,
    /// All rows follow, each as one that is written anew.
    Rewriting = 10,
}

impl EntryKind {
    fn of(tag: u8) -> Option<EntryKind> {
        use EntryKind as K;
        let all = [
            K::Insert,
            K::Update,
            K::Delete,
            K::Truncate,
            K::Altered,
            K::Rewritten,
            K::Begun,
            K::Ended,
            K::Dropped,
            K::Rewriting,
        ];
        all.into_iter().find(|kind| *kind as u8 == tag)
    }

    fn has_old(self) -> bool {
        matches!(self, EntryKind::Update | EntryKind::Delete | EntryKind::Rewritten)
    }

    fn has_new(self) -> bool {
        matches!(self, EntryKind::Insert | EntryKind::Update | EntryKind::Rewritten)
    }
}

/// A key and a row as the table's tree has, or had, them.
pub(crate) type RawRow<'a> = (&'a [u8], &'a [u8]);

/// An entry, read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry<'a> {
    pub(crate) kind: EntryKind,
    /// The numbers of the descriptions of the new row and the old one.
    pub(crate) schema: u32,
    pub(crate) old_schema: u32,
    pub(crate) old: Option<RawRow<'a>>,
    pub(crate) new: Option<RawRow<'a>>,
}

/// The bytes of an entry, over `out`.
pub(crate) fn write_entry(
    kind: EntryKind,
    schema: u32,
    old: Option<RawRow<'_>>,
    new: Option<RawRow<'_>>,
    out: &mut Vec<u8>,
) {
    out.clear();
    out.push(kind as u8);
    push_number(schema.into(), out);
    for (key, row) in old.into_iter().chain(new) {
        push_bytes(key, out);
        push_bytes(row, out);
    }
}

/// The bytes of the entry of a row that was written anew under another description.
pub(crate) fn write_rewritten(schemas: (u32, u32), old: RawRow<'_>, new: RawRow<'_>, out: &mut Vec<u8>) {
    out.clear();
    out.push(EntryKind::Rewritten as u8);
    push_number(schemas.1.into(), out);
    push_number(schemas.0.into(), out);
    for bytes in [old.0, old.1, new.0, new.1] {
        push_bytes(bytes, out);
    }
}

impl<'a> Entry<'a> {
    /// SQLSTATE XX001 for bytes that are none.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Entry<'a>> {
        Entry::take(bytes).ok_or_else(|| Error::damaged("an entry of a change feed is damaged"))
    }

    fn take(bytes: &'a [u8]) -> Option<Entry<'a>> {
        let (&tag, mut rest) = bytes.split_first()?;
        let kind = EntryKind::of(tag)?;
        let schema = u32::try_from(take_number(&mut rest)?).ok()?;
        let old_schema = match kind {
            EntryKind::Rewritten => u32::try_from(take_number(&mut rest)?).ok()?,
            _ => schema,
        };
        let mut row = |is_there: bool| match is_there {
            true => Some(Some((take_bytes(&mut rest)?, take_bytes(&mut rest)?))),
            false => Some(None),
        };
        let (old, new) = (row(kind.has_old())?, row(kind.has_new())?);
        rest.is_empty().then_some(Entry { kind, schema, old_schema, old, new })
    }
}

fn push_number(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn push_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    push_number(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

fn take_bytes<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(take_number(bytes)?).ok()?;
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_what_is_cut_or_longer_is_refused() {
        let (old, new) = (Some((&b"key"[..], &[7; 300][..])), Some((&b""[..], &b"row"[..])));
        for (kind, old, new) in [
            (EntryKind::Insert, None, new),
            (EntryKind::Update, old, new),
            (EntryKind::Delete, old, None),
            (EntryKind::Truncate, None, None),
        ] {
            let mut bytes = Vec::new();
            write_entry(kind, 300, old, new, &mut bytes);
            assert_eq!(Entry::read(&bytes).unwrap(), Entry { kind, schema: 300, old_schema: 300, old, new });
            (0..bytes.len()).for_each(|length| assert!(Entry::read(&bytes[..length]).is_err()));
            bytes.push(0);
            assert!(Entry::read(&bytes).is_err());
        }
        let mut bytes = Vec::new();
        write_rewritten((1, 2), old.unwrap(), new.unwrap(), &mut bytes);
        let entry = Entry { kind: EntryKind::Rewritten, schema: 2, old_schema: 1, old, new };
        assert_eq!(Entry::read(&bytes).unwrap(), entry);
        assert!(Entry::read(&[200, 0]).is_err());
    }
}
