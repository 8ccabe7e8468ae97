//! Byte strings in one arena.

use crate::{Error, Result, SqlState};

/// The most bytes for which room is made before there is anything to fill it.
const AT_ONCE: usize = 128 << 10;

/// Strings one behind the other.
///
/// ```
/// use cairndb::ByteStrings;
///
/// let mut strings = ByteStrings::from_parts(vec![3, 3, 5], b"one42".to_vec())?;
/// assert_eq!((strings.len(), strings.is_empty(), strings.get(0), strings.text(1)), (3, false, &b"one"[..], Some("")));
/// strings.push(b"!");
/// assert_eq!((strings.ends(), strings.bytes()), (&[3, 3, 5, 6][..], &b"one42!"[..]));
/// assert_eq!(strings.into_parts().0.len(), 4);
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ByteStrings {
    /// Where each string ends; it begins where the one before ends.
    ends: Vec<usize>,
    arena: Arena,
}

#[derive(Clone, Debug)]
enum Arena {
    Bytes(Vec<u8>),
    /// Known to be UTF-8 as a whole. (A single string of it may still begin or end inside a character.)
    Text(String),
}

impl Arena {
    #[inline]
    fn bytes(&self) -> &[u8] {
        match self {
            Arena::Bytes(bytes) => bytes,
            Arena::Text(text) => text.as_bytes(),
        }
    }

    /// To be written to.
    #[inline]
    fn bytes_mut(&mut self) -> &mut Vec<u8> {
        if let Arena::Text(text) = self {
            *self = Arena::Bytes(std::mem::take(text).into_bytes());
        }
        match self {
            Arena::Bytes(bytes) => bytes,
            Arena::Text(_) => unreachable!("made bytes above"),
        }
    }
}

impl ByteStrings {
    /// No strings, with room for the ends of `capacity`.
    pub(crate) fn with_capacity(capacity: usize) -> ByteStrings {
        ByteStrings { ends: Vec::with_capacity(capacity), arena: Arena::Bytes(Vec::new()) }
    }

    /// Strings in `bytes`, of which each ends at one of `ends` and begins where the one before ends, the first at 0.
    ///
    /// # Errors
    ///
    /// 22023 where one ends before it begins, or the last not where `bytes` does.
    pub fn from_parts(ends: Vec<usize>, bytes: Vec<u8>) -> Result<ByteStrings> {
        if !ends.is_sorted() || ends.last().copied().unwrap_or(0) != bytes.len() {
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, "strings that do not end where their bytes do"));
        }
        Ok(ByteStrings { ends, arena: Arena::Bytes(bytes) })
    }

    /// Where each string ends, and the bytes of all.
    pub fn into_parts(self) -> (Vec<usize>, Vec<u8>) {
        let bytes = match self.arena {
            Arena::Bytes(bytes) => bytes,
            Arena::Text(text) => text.into_bytes(),
        };
        (self.ends, bytes)
    }

    /// Where each string ends; it begins where the one before ends.
    pub fn ends(&self) -> &[usize] {
        &self.ends
    }

    /// The bytes of all strings.
    pub fn bytes(&self) -> &[u8] {
        self.arena.bytes()
    }

    #[inline]
    fn range(&self, index: usize) -> std::ops::Range<usize> {
        let end = |index: usize| self.ends.get(index).copied().unwrap_or(self.arena.bytes().len());
        let start = if index == 0 { 0 } else { end(index - 1) };
        start..end(index)
    }

    /// The string at `index`; empty past the end.
    #[inline]
    pub fn get(&self, index: usize) -> &[u8] {
        self.arena.bytes().get(self.range(index)).unwrap_or(&[])
    }

    /// The string at `index` as text; `None`: it is not UTF-8.
    #[inline]
    pub fn text(&self, index: usize) -> Option<&str> {
        match &self.arena {
            Arena::Text(text) => text.get(self.range(index)),
            Arena::Bytes(_) => std::str::from_utf8(self.get(index)).ok(),
        }
    }

    /// The string at `index`, if all were checked ([`check_text`](ByteStrings::check_text)) and it is text.
    #[inline]
    pub(crate) fn checked_text(&self, index: usize) -> Option<&str> {
        match &self.arena {
            Arena::Text(text) => {
                let start = index.checked_sub(1).map_or(Some(&0), |before| self.ends.get(before))?;
                text.get(*start..*self.ends.get(index)?)
            }
            Arena::Bytes(_) => None,
        }
    }

    /// Checks all strings at once, which is many times quicker than one by one; [`text`](ByteStrings::text) only looks
    /// at their ends from then on.
    pub(crate) fn check_text(&mut self) {
        if let Arena::Bytes(bytes) = &mut self.arena {
            self.arena = match String::from_utf8(std::mem::take(bytes)) {
                Ok(text) => Arena::Text(text),
                Err(error) => Arena::Bytes(error.into_bytes()),
            };
        }
    }

    /// Whether all were checked, and each is text.
    pub(crate) fn are_text(&self) -> bool {
        match &self.arena {
            Arena::Text(text) => self.ends.iter().all(|&end| text.is_char_boundary(end)),
            Arena::Bytes(_) => false,
        }
    }

    /// Makes each text, with what stands for what is none.
    #[cold]
    pub(crate) fn mend_text(&mut self) {
        let mut mended = ByteStrings::with_capacity(self.len());
        (0..self.len()).for_each(|at| mended.push(String::from_utf8_lossy(self.get(at)).as_bytes()));
        mended.check_text();
        *self = mended;
    }

    /// Appends strings that have together at most `bytes`.
    #[inline]
    pub(crate) fn extend<'s>(&mut self, strings: impl ExactSizeIterator<Item = &'s [u8]>, bytes: usize) {
        let arena = self.arena.bytes_mut();
        let more = match arena.is_empty() {
            // Those to come are about as long: what grows piece by piece is copied over and over.
            true => bytes.max((bytes / strings.len().max(1) * self.ends.capacity()).min(AT_ONCE)),
            false => bytes,
        };
        arena.reserve(more);
        self.ends.reserve(strings.len());
        for string in strings {
            arena.extend_from_slice(string);
            self.ends.push(arena.len());
        }
    }

    /// Appends a string.
    #[inline]
    pub fn push(&mut self, string: &[u8]) {
        let bytes = self.arena.bytes_mut();
        bytes.extend_from_slice(string);
        self.ends.push(bytes.len());
    }

    /// Number of strings.
    #[inline]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub(crate) fn append(&mut self, other: &ByteStrings) {
        // What was checked stays so.
        if let Arena::Text(text) = &other.arena {
            if self.is_empty() {
                self.check_text();
            }
            if let Arena::Text(own) = &mut self.arena {
                let base = own.len();
                own.push_str(text);
                self.ends.extend(other.ends.iter().map(|end| base + end));
                return;
            }
        }
        let bytes = self.arena.bytes_mut();
        let base = bytes.len();
        bytes.extend_from_slice(other.arena.bytes());
        self.ends.extend(other.ends.iter().map(|end| base + end));
    }

    /// About how many bytes the strings take.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.arena.bytes().len() + self.ends.len() * size_of::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(all: &[&[u8]]) -> ByteStrings {
        let mut strings = ByteStrings::with_capacity(all.len());
        all.iter().for_each(|string| strings.push(string));
        strings
    }

    #[test]
    fn checked_text_is_what_it_was_and_can_be_added_to() {
        let mut strings = strings(&["één".as_bytes(), b"", b"two"]);
        strings.check_text();
        assert_eq!((0..3).map(|at| strings.text(at)).collect::<Vec<_>>(), [Some("één"), Some(""), Some("two")]);
        assert!(strings.are_text());
        strings.push(&[0xff]);
        assert_eq!((strings.text(2), strings.text(3)), (Some("two"), None));
        strings.check_text();
        assert_eq!((strings.text(2), strings.text(3), strings.get(3)), (Some("two"), None, &[0xff][..]));
    }

    #[test]
    fn a_character_cut_in_two_is_no_text_on_either_side() {
        let mut strings = strings(&[b"a\xc3", b"\xa9b", b"c"]);
        strings.check_text();
        assert_eq!((0..3).map(|at| strings.text(at)).collect::<Vec<_>>(), [None, None, Some("c")]);
        assert!(!strings.are_text());
        assert_eq!(strings.get(1), b"\xa9b");
    }
}
