//! Rows that another index names, too: an index's entry is worth looking its row up only if the other has one for the same row.
//!
//! - It is a hint: each row that is read is asked for all conditions that the scan's own index does not answer. So rows are
//!   remembered by a few bits each, of a hash of their keys, and where even that would take more than there is memory for, not at all.
//! - The scan's order stays. The other index is read once, and not before some rows were looked up without it: who wants a few
//!   has them sooner so.
//! - Both are read in the same state.

use super::index_scan::row_key;
use super::key_range::{KeyPart, KeyRanges};
use super::table_scan::note_uses;
use crate::Value;
use crate::exec::context::{Charge, Cx};
use crate::exec::operator::Step;
use crate::types::{Used, fnv};

/// Bits for each row that is remembered: of a hundred others about one is taken for one of them.
const BITS: usize = 16;
/// Rows that are looked up before the other index is asked.
const ALONE: usize = 256;
/// Entries that are read before somebody is asked whether to go on.
const AT_ONCE: usize = 4096;

/// See the module.
pub(crate) struct Both {
    ranges: KeyRanges,
    parts: Vec<KeyPart>,
    used: Used,
    rows: Rows,
    /// How many rows were looked up so far.
    looked_up: usize,
    charge: Charge,
}

/// Of which rows there were entries.
enum Rows {
    /// Hashes of their keys, so far.
    Reading(Vec<u64>),
    /// They were too many.
    Any,
    /// A power of two of bits.
    Some(Vec<u64>),
}

impl Both {
    /// The entries of an index, whose columns are `parts`, in some ranges. `used`: what is counted.
    pub(crate) fn new(ranges: KeyRanges, parts: Vec<KeyPart>, used: Used) -> Both {
        Both { ranges, parts, used, rows: Rows::Reading(vec![]), looked_up: 0, charge: Charge::default() }
    }

    /// Reads the index, unless it was read, or it is too soon for that.
    pub(super) fn read(&mut self, cx: Cx<'_>) -> Step<()> {
        if self.looked_up < ALONE {
            return Ok(());
        }
        while let Rows::Reading(hashes) = &mut self.rows {
            cx.check()?;
            cx.take_turn()?;
            let parts = &self.parts;
            let visited = self.ranges.visit_lent(AT_ONCE, cx, |key, value| {
                hashes.push(hash(row_key(parts, key, value)?));
                Ok(())
            })?;
            note_uses((self.used, &mut self.ranges), (visited, 0), cx);
            self.charge.note(size_of_val(hashes.as_slice()), cx.shared);
            if self.charge.is_over(cx.shared) {
                self.charge.clear(cx.shared);
                self.rows = Rows::Any;
            } else if visited < AT_ONCE {
                let bits = bits_of(hashes);
                self.charge.note(size_of_val(bits.as_slice()), cx.shared);
                self.rows = Rows::Some(bits);
            }
        }
        Ok(())
    }

    /// So many rows were looked up.
    pub(super) fn note(&mut self, looked_up: usize) {
        self.looked_up += looked_up;
    }

    /// Whether the index may have an entry for the row.
    pub(super) fn may_have(&self, row_key: &[u8]) -> bool {
        match &self.rows {
            Rows::Some(bits) => places(bits, hash(row_key)).into_iter().all(|(word, bit)| bits[word] & bit != 0),
            Rows::Any | Rows::Reading(_) => true,
        }
    }

    /// It is read again, where it is asked again: what it is asked may depend on the outer row. (What it holds stays charged until
    /// then.)
    pub(super) fn start_over(&mut self) {
        self.rows = Rows::Reading(vec![]);
        self.looked_up = 0;
        self.ranges.reset();
    }

    pub(super) fn rebind(&mut self, parameters: &[Value]) -> bool {
        self.ranges.rebind(parameters)
    }
}

fn hash(row_key: &[u8]) -> u64 {
    fnv::hash(fnv::START, row_key)
}

fn bits_of(hashes: &[u64]) -> Vec<u64> {
    let mut bits = vec![0; (hashes.len() * BITS).next_power_of_two().div_ceil(64).max(1)];
    for hash in hashes {
        places(&bits, *hash).into_iter().for_each(|(word, bit)| bits[word] |= bit);
    }
    bits
}

/// Two of the bits: which words, and which bits of them.
fn places(bits: &[u64], hash: u64) -> [(usize, u64); 2] {
    let mask = bits.len() as u64 * 64 - 1;
    [hash, hash.rotate_left(32).wrapping_mul(0x9e37_79b9_7f4a_7c15)].map(|hash| {
        let at = (hash ^ (hash >> 29)) & mask;
        ((at / 64) as usize, 1 << (at % 64))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_remembered_and_hardly_another() {
        let of = |range: std::ops::Range<u64>| range.map(|n| hash(&n.to_be_bytes())).collect::<Vec<_>>();
        let bits = bits_of(&of(0..5000));
        let found = |hashes: Vec<u64>| {
            let is_found = |hash: &u64| places(&bits, *hash).into_iter().all(|(word, bit)| bits[word] & bit != 0);
            hashes.iter().filter(|hash| is_found(hash)).count()
        };
        assert_eq!(found(of(0..5000)), 5000);
        let others = found(of(5000..105_000));
        assert!(others < 3000, "{others} of 100,000 others");
    }
}
