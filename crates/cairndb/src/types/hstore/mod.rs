//! Texts by texts: values of the type of the extension `hstore`.
//!
//! - The pairs lie in the order of their keys, the shorter ones first, and no key is there twice.
//! - Keys and values lie in one text, each behind the other, as in PostgreSQL: so they are compared as there, by that text first.

mod arrays;
mod document;
mod text;

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::ExtensionType;
use crate::{Error, Result, SqlState};

pub(crate) use document::hstore_json;
pub(crate) use text::{read, write};

/// A value of `hstore`.
///
/// ```
/// # let conn = cairndb::Database::open_in_memory()?.connect()?;
/// conn.execute("CREATE EXTENSION hstore", ())?;
/// let value: cairndb::Value = conn.query_row("SELECT 'b=>NULL, a=>1'::hstore", (), |row| row.get(0))?;
/// let cairndb::Value::Hstore(of) = &value else { panic!("it is one") };
/// assert_eq!(of.pairs().collect::<Vec<_>>(), [("a", Some("1")), ("b", None)]);
/// assert_eq!((of.get("a"), of.get("b"), of.get("c")), (Some(Some("1")), Some(None), None));
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone)]
pub struct Hstore(Arc<Parts>);

struct Parts {
    of: ExtensionType,
    texts: Box<str>,
    entries: Box<[Entry]>,
}

/// Where a pair's texts end; its key begins where the pair before it ends.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Entry {
    key_end: u32,
    value_end: u32,
    is_null: bool,
}

/// Bytes of its keys and values together.
const BYTES_MAX: usize = 1 << 30;

/// How keys lie.
fn in_order(a: &str, b: &str) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.as_bytes().cmp(b.as_bytes()))
}

impl Hstore {
    /// Of pairs in any order; of those with the same key the first counts. SQLSTATE 54000 where they are too long.
    pub(crate) fn new(of: ExtensionType, mut pairs: Vec<(&str, Option<&str>)>) -> Result<Hstore> {
        pairs.sort_by(|(a, _), (b, _)| in_order(a, b));
        pairs.dedup_by(|later, first| later.0 == first.0);
        let length = |(key, value): &(&str, Option<&str>)| key.len() + value.map_or(0, str::len);
        let bytes: usize = pairs.iter().map(length).sum();
        if bytes > BYTES_MAX {
            return Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "the texts of an hstore are too long"));
        }
        let (mut texts, mut entries) = (String::with_capacity(bytes), Vec::with_capacity(pairs.len()));
        for (key, value) in pairs {
            texts.push_str(key);
            let key_end = texts.len() as u32;
            texts.push_str(value.unwrap_or_default());
            entries.push(Entry { key_end, value_end: texts.len() as u32, is_null: value.is_none() });
        }
        Ok(Hstore(Arc::new(Parts { of, texts: texts.into(), entries: entries.into() })))
    }

    /// How many pairs there are.
    pub fn len(&self) -> usize {
        self.0.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The pairs, in the order of their keys.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        (0..self.len()).map(|at| self.pair(at))
    }

    fn pair(&self, at: usize) -> (&str, Option<&str>) {
        let Parts { texts, entries, .. } = &*self.0;
        let Entry { key_end, value_end, is_null } = entries[at];
        let start = at.checked_sub(1).map_or(0, |before| entries[before].value_end);
        let [start, middle, end] = [start, key_end, value_end].map(|at| at as usize);
        (&texts[start..middle], (!is_null).then(|| &texts[middle..end]))
    }

    /// What a key stands for: NULL is `Some(None)`, no such key is `None`.
    pub fn get(&self, key: &str) -> Option<Option<&str>> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = (low + high) / 2;
            let (known, value) = self.pair(middle);
            match in_order(known, key) {
                Ordering::Equal => return Some(value),
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
            }
        }
        None
    }

    pub(crate) fn of(&self) -> ExtensionType {
        self.0.of
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        size_of::<Parts>() + self.0.texts.len() + size_of_val(&*self.0.entries)
    }

    /// Its parts one after another, as they are compared: all the texts; where each ends, and whether it is NULL.
    pub(crate) fn compared(&self) -> (&str, impl Iterator<Item = (u32, bool)>) {
        let ends = |entry: &Entry| [(entry.key_end, false), (entry.value_end, entry.is_null)];
        (&self.0.texts, self.0.entries.iter().flat_map(ends))
    }

    /// Of what [`compared`](Hstore::compared) gives; `None`: it gives no such thing.
    pub(crate) fn of_compared(of: ExtensionType, texts: &str, ends: &[(u32, bool)]) -> Option<Hstore> {
        let (mut pairs, mut start) = (Vec::with_capacity(ends.len() / 2), 0);
        for [(key_end, _), (value_end, is_null)] in ends.as_chunks::<2>().0 {
            let (key_end, value_end) = (*key_end as usize, *value_end as usize);
            let value = texts.get(key_end..value_end)?;
            pairs.push((texts.get(start..key_end)?, (!is_null).then_some(value)));
            start = value_end;
        }
        (start == texts.len() && ends.len().is_multiple_of(2)).then(|| Hstore::new(of, pairs).ok())?
    }

    /// Its bytes in rows: of each pair the lengths and the texts, as they go to clients.
    pub(crate) fn write_bytes(&self, out: &mut Vec<u8>) {
        let length = |bytes: usize, out: &mut Vec<u8>| out.extend_from_slice(&(bytes as u32).to_be_bytes());
        length(self.len(), out);
        for (key, value) in self.pairs() {
            length(key.len(), out);
            out.extend_from_slice(key.as_bytes());
            match value {
                Some(value) => {
                    length(value.len(), out);
                    out.extend_from_slice(value.as_bytes());
                }
                None => out.extend_from_slice(&u32::MAX.to_be_bytes()),
            }
        }
    }

    /// How many bytes [`write_bytes`](Hstore::write_bytes) writes.
    pub(crate) fn byte_len(&self) -> usize {
        size_of::<u32>() * (1 + 2 * self.len()) + self.0.texts.len()
    }

    /// Of what [`write_bytes`](Hstore::write_bytes) wrote; `None`: it did not write that.
    pub(crate) fn from_bytes(of: ExtensionType, bytes: &[u8]) -> Option<Hstore> {
        let mut rest = bytes;
        let count = take_length(&mut rest)??;
        let mut pairs = Vec::with_capacity(count.min(rest.len() / (2 * size_of::<u32>())));
        for _ in 0..count {
            let key = take_length(&mut rest)?.and_then(|length| take_text(&mut rest, length))?;
            let value = match take_length(&mut rest)? {
                Some(length) => Some(take_text(&mut rest, length)?),
                None => None,
            };
            pairs.push((key, value));
        }
        rest.is_empty().then(|| Hstore::new(of, pairs).ok())?
    }
}

/// `Some(None)`: that of a NULL.
fn take_length(rest: &mut &[u8]) -> Option<Option<usize>> {
    let (length, others) = rest.split_first_chunk()?;
    *rest = others;
    let length = u32::from_be_bytes(*length);
    Some((length != u32::MAX).then_some(length as usize))
}

fn take_text<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a str> {
    let (text, others) = rest.split_at_checked(length)?;
    *rest = others;
    std::str::from_utf8(text).ok().filter(|text| !text.contains('\0'))
}

impl PartialEq for Hstore {
    fn eq(&self, other: &Hstore) -> bool {
        (&self.0.texts, &self.0.entries) == (&other.0.texts, &other.0.entries)
    }
}

impl Eq for Hstore {}

impl PartialOrd for Hstore {
    fn partial_cmp(&self, other: &Hstore) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// As PostgreSQL orders them: by all their texts, by how many pairs there are, and by where these are and what is NULL.
impl Ord for Hstore {
    fn cmp(&self, other: &Hstore) -> Ordering {
        let ((ours, our_ends), (theirs, their_ends)) = (self.compared(), other.compared());
        let by_text = ours.as_bytes().cmp(theirs.as_bytes());
        by_text.then_with(|| self.len().cmp(&other.len())).then_with(|| our_ends.cmp(their_ends))
    }
}

impl Hash for Hstore {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.texts.hash(state);
        self.0.entries.hash(state);
    }
}

impl std::fmt::Debug for Hstore {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_map().entries(self.pairs()).finish()
    }
}
