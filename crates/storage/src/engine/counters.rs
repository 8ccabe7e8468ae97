//! Entries that commits add to: counters, one behind the other, that no transaction has to have read for it.
//!
//! ```text
//! value: front | counter | counter | ...          a counter is 16 bytes, two's complement, little endian
//! ```
//! The first counter counts what the others are the sums of. Where it comes to 0 the entry goes, and where there is none it
//! begins with zeroes, behind the front that the operation brings along. So additions may come in any order, and those of
//! several transactions need not know of each other.
//!
//! A counter that left its range stays at [`OVERFLOWED`], which no sum of what fits comes to: it is told to whoever reads it, and to
//! nobody who adds. A value that is not of this form, or that would count less than nothing, is damage, and is told at once.

use crate::{Error, Result, TreeId};

/// Bytes of a counter.
pub const COUNTER_BYTES: usize = 16;
/// What a counter has that its sum did not fit into.
pub const OVERFLOWED: i128 = i128::MIN;
/// The most counters of an entry, and bytes before them.
pub const COUNTERS_MAX: usize = 24;
pub const FRONT_MAX: usize = 16;

/// The counters of a value behind `front` bytes; `None` for a value that is none of them.
pub fn counters(value: &[u8], front: usize) -> Option<impl ExactSizeIterator<Item = i128> + '_> {
    let (chunks, rest) = value.get(front..)?.as_chunks::<COUNTER_BYTES>();
    rest.is_empty().then(|| chunks.iter().map(|bytes| i128::from_le_bytes(*bytes)))
}

/// What is added to an entry's counters, one number for each.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Deltas<'a> {
    Given(&'a [i128]),
    /// As an operation has them.
    Encoded(&'a [u8]),
}

impl Deltas<'_> {
    /// Takes the next one.
    fn next(&mut self) -> Option<Result<i128, ()>> {
        match self {
            Deltas::Given(given) => {
                let (first, rest) = given.split_first()?;
                *given = rest;
                Some(Ok(*first))
            }
            Deltas::Encoded([]) => None,
            Deltas::Encoded(bytes) => Some(read_signed(bytes).ok_or(())),
        }
    }
}

/// An entry's value with something added. No heap is asked for it: commits add while others wait.
#[derive(Debug)]
pub(crate) struct Sum {
    bytes: [u8; FRONT_MAX + COUNTERS_MAX * COUNTER_BYTES],
    length: usize,
}

impl Sum {
    pub(crate) fn new() -> Sum {
        Sum { bytes: [0; FRONT_MAX + COUNTERS_MAX * COUNTER_BYTES], length: 0 }
    }

    /// The value; `None`: the entry goes.
    pub(crate) fn value(&self) -> Option<&[u8]> {
        (self.length > 0).then(|| &self.bytes[..self.length])
    }

    /// Becomes what `old` and the deltas come to.
    pub(crate) fn add(&mut self, tree: TreeId, old: Option<&[u8]>, front: &[u8], deltas: Deltas<'_>) -> Result<()> {
        let damaged = || {
            let number = tree.number();
            Error::corrupt(format!("an entry of counters in tree {number} does not fit what is added to it"))
        };
        self.try_add(old, front, deltas).ok_or_else(damaged)
    }

    fn try_add(&mut self, old: Option<&[u8]>, front: &[u8], mut deltas: Deltas<'_>) -> Option<()> {
        let end = match old {
            Some(old) => {
                self.bytes.get_mut(..old.len())?.copy_from_slice(old);
                Some(old.len())
            }
            None => {
                self.bytes.fill(0);
                self.bytes.get_mut(..front.len())?.copy_from_slice(front);
                None
            }
        };
        let mut at = front.len();
        let mut count = None;
        while let Some(delta) = deltas.next() {
            let counter: &mut [u8; COUNTER_BYTES] = self.bytes.get_mut(at..at + COUNTER_BYTES)?.try_into().ok()?;
            let sum = match i128::from_le_bytes(*counter) {
                OVERFLOWED => OVERFLOWED,
                before => before.checked_add(delta.ok()?).unwrap_or(OVERFLOWED),
            };
            *counter = sum.to_le_bytes();
            count.get_or_insert(sum);
            at += COUNTER_BYTES;
        }
        if end.is_some_and(|end| end != at) || count? < 0 {
            return None;
        }
        self.length = if count? == 0 { 0 } else { at };
        Some(())
    }
}

/// Appends a number as LEB128, its sign in the lowest bit.
pub(crate) fn push_signed(number: i128, out: &mut Vec<u8>) {
    let mut rest = (number << 1 ^ number >> 127).cast_unsigned();
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

fn read_signed(bytes: &mut &[u8]) -> Option<i128> {
    let mut number = 0u128;
    for shift in (0..128).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let part = u128::from(byte & 0x7F);
        if part << shift >> shift != part {
            return None;
        }
        number |= part << shift;
        if byte < 0x80 {
            return Some((number >> 1).cast_signed() ^ -((number & 1).cast_signed()));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: TreeId = TreeId(4);

    fn sum(old: Option<&[u8]>, front: &[u8], deltas: &[i128]) -> Result<Option<Vec<u8>>> {
        let (mut given, mut encoded, mut bytes) = (Sum::new(), Sum::new(), Vec::new());
        deltas.iter().for_each(|delta| push_signed(*delta, &mut bytes));
        let result = given.add(T, old, front, Deltas::Given(deltas));
        assert_eq!(result.is_ok(), encoded.add(T, old, front, Deltas::Encoded(&bytes)).is_ok());
        result.map(|()| {
            assert_eq!(given.value(), encoded.value());
            given.value().map(<[u8]>::to_vec)
        })
    }

    #[test]
    fn numbers_are_read_as_they_were_written() {
        for number in [0, 1, -1, 63, 64, -64, -65, i128::MAX, i128::MIN, i128::MAX - 1, 1 << 100, -(1 << 77)] {
            let mut bytes = Vec::new();
            push_signed(number, &mut bytes);
            assert_eq!(read_signed(&mut &bytes[..]), Some(number));
            assert_eq!(read_signed(&mut &bytes[..bytes.len() - 1]), None);
        }
        assert_eq!(read_signed(&mut &[0xFF; 30][..]), None);
    }

    #[test]
    fn an_entry_comes_with_the_first_addition_and_goes_with_the_last() {
        let one = sum(None, b"x", &[1, 5, -3]).unwrap().unwrap();
        assert_eq!(counters(&one, 1).unwrap().collect::<Vec<_>>(), [1, 5, -3]);
        let two = sum(Some(&one), b"x", &[2, -5, 3]).unwrap().unwrap();
        assert_eq!(counters(&two, 1).unwrap().collect::<Vec<_>>(), [3, 0, 0]);
        assert_eq!(sum(Some(&two), b"x", &[-3, 0, 0]).unwrap(), None);
        assert_eq!(sum(None, b"x", &[0, 4]).unwrap(), None);
    }

    #[test]
    fn what_does_not_fit_stays_told_and_counts_on() {
        let large = sum(None, b"", &[1, i128::MAX]).unwrap().unwrap();
        let over = sum(Some(&large), b"", &[1, 1]).unwrap().unwrap();
        let back = sum(Some(&over), b"", &[1, -1]).unwrap().unwrap();
        assert_eq!(counters(&back, 0).unwrap().collect::<Vec<_>>(), [3, OVERFLOWED]);
    }

    #[test]
    fn what_is_no_entry_of_counters_is_refused() {
        let entry = sum(None, b"x", &[1, 5]).unwrap().unwrap();
        for (old, deltas) in [
            (&entry[..entry.len() - 1], &[1, 1][..]),
            (&entry[..17], &[1, 1]),
            (&entry[..], &[1]),
            (&entry[..], &[1, 1, 1]),
            (&entry[..], &[-2, 0]),
            (&[7; 2000][..], &[1, 1]),
            (b"", &[1]),
        ] {
            assert!(matches!(sum(Some(old), b"x", deltas), Err(Error::Corrupt { .. })));
        }
        assert!(sum(None, b"x", &[]).is_err());
        assert!(sum(None, b"x", &[1; COUNTERS_MAX + 5]).is_err());
        assert!(counters(&entry, 0).is_none() && counters(b"", 1).is_none());
    }
}
