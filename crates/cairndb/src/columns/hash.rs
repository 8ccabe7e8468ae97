//! Hashes of keys held in vectors, and the hash table over row numbers that grouping and joining share.
//!
//! Invariant: values that [`super::compare::values_equal`] calls equal hash alike, whatever their integer or float
//! width. Hashes never leave the process, so the function may change.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::LazyLock;

use super::batch::row_number;
use super::vector::{Data, NO_ROW, Vector};
use crate::Value;
use crate::types::{DataType, float_hash_bits};

const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
const MULTIPLIER: u64 = 0xd6e8_feb8_6659_fd93;
const NULL_HASH: u64 = 0x6a09_e667_f3bc_c908;

/// Multiplies to 128 bits and folds: every input bit reaches every output bit.
#[inline]
fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ (product >> 64) as u64
}

#[inline]
pub(super) fn hash_u64(value: u64) -> u64 {
    mix(value ^ SEED, MULTIPLIER)
}

#[inline]
fn hash_u128(value: u128) -> u64 {
    mix(hash_u64(value as u64) ^ (value >> 64) as u64, MULTIPLIER)
}

fn hash_bytes(bytes: &[u8]) -> u64 {
    hash_bytes_after(SEED, bytes)
}

fn hash_bytes_after(seed: u64, bytes: &[u8]) -> u64 {
    let mut hash = seed ^ bytes.len() as u64;
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        hash = mix(hash ^ u64::from_le_bytes(*word), MULTIPLIER);
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    mix(hash ^ u64::from_le_bytes(last), MULTIPLIER)
}

/// Drops the blanks that are insignificant in `char(n)`.
pub(crate) fn trim_blanks(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|&byte| byte != b' ').map_or(0, |last| last + 1);
    &bytes[..end]
}

/// The standard trait over [`mix`], for values without a representation of their own, and for maps by [`QuickHashes`].
pub(crate) struct MixHasher(u64);

/// Quicker than the standard's for short keys, with a seed that each process has of its own: nobody can choose keys that collide.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QuickHashes;

impl BuildHasher for QuickHashes {
    type Hasher = MixHasher;

    fn build_hasher(&self) -> MixHasher {
        static SEED_OF_PROCESS: LazyLock<u64> = LazyLock::new(|| std::hash::RandomState::new().hash_one(SEED));
        MixHasher(*SEED_OF_PROCESS)
    }
}

impl Hasher for MixHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        self.0 = hash_bytes_after(self.0, bytes);
    }
    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = mix(self.0 ^ value, MULTIPLIER);
    }
    fn write_i64(&mut self, value: i64) {
        self.write_u64(value as u64);
    }
}

fn hash_value(value: &Value) -> u64 {
    let mut hasher = MixHasher(SEED);
    value.hash(&mut hasher);
    hasher.finish()
}

/// Another hash of the same key, which tells nothing of those for other `salt`s.
pub(crate) fn remix(hash: u64, salt: u64) -> u64 {
    mix(hash ^ hash_u64(salt), MULTIPLIER)
}

/// One hash per row over all key columns.
pub(crate) fn hash_rows<V: AsRef<Vector>>(columns: &[V], len: usize) -> Vec<u64> {
    let mut hashes = vec![0; len];
    for (position, column) in columns.iter().enumerate() {
        let column = column.as_ref();
        if position == 0 {
            each_hash(column, |row, hash| hashes[row] = hash);
        } else {
            each_hash(column, |row, hash| hashes[row] = mix(hashes[row] ^ hash, MULTIPLIER));
        }
    }
    hashes
}

fn each_hash(column: &Vector, mut put: impl FnMut(usize, u64)) {
    let mut items = |row: usize, hash: u64| put(row, if column.is_null(row) { NULL_HASH } else { hash });
    match column.data() {
        Data::Bool(values) => each(values, |row, &value| items(row, hash_u64(value.into()))),
        Data::I16(values) => each(values, |row, &value| items(row, hash_u64(i64::from(value) as u64))),
        Data::I32(values) => each(values, |row, &value| items(row, hash_u64(i64::from(value) as u64))),
        Data::I64(values) => each(values, |row, &value| items(row, hash_u64(value as u64))),
        Data::F32(values) => each(values, |row, &value| items(row, hash_u64(float_hash_bits(value.into())))),
        Data::F64(values) => each(values, |row, &value| items(row, hash_u64(float_hash_bits(value)))),
        Data::Decimal(decimals) => decimals.each_hash(items),
        Data::Uuid(values) => each(values, |row, value| items(row, hash_u128(u128::from_le_bytes(*value)))),
        Data::Interval(values) => each(values, |row, value| items(row, hash_u128(value.span() as u128))),
        Data::Values(values) => each(values, |row, value| items(row, hash_value(value))),
        Data::Bytes(strings) => {
            let blank_padded = matches!(column.data_type(), DataType::Char(_));
            for row in 0..strings.len() {
                let bytes = strings.get(row);
                items(row, hash_bytes(if blank_padded { trim_blanks(bytes) } else { bytes }));
            }
        }
    }
}

fn each<T>(values: &[T], mut visit: impl FnMut(usize, &T)) {
    values.iter().enumerate().for_each(|(row, value)| visit(row, value));
}

/// Entries numbered from 0 in order of insertion, found by hash; the keys themselves are the caller's.
///
/// Open addressing: a slot holds a tag (the hash's upper half) beside its entry, so that a lookup mostly touches one
/// cache line before it compares keys. Entries that meet a slot of their tag are chained to it; nothing is ever
/// removed, so a lookup goes the same way as the insertion went. Whoever looks up compares keys: a tag is not proof.
#[derive(Default)]
pub(crate) struct HashTable {
    /// A power of two, at least twice the number of entries; or empty.
    slots: Vec<Slot>,
    /// The entry that follows in the chain, by entry.
    next: Vec<u32>,
    hashes: Vec<u64>,
    has_chains: bool,
}

#[derive(Clone, Copy)]
struct Slot {
    tag: u32,
    /// [`NO_ROW`]: the slot is free.
    entry: u32,
}

const FREE: Slot = Slot { tag: 0, entry: NO_ROW };

fn tag_of(hash: u64) -> u32 {
    (hash >> 32) as u32
}

impl HashTable {
    /// A table of all these entries but the `skipped` ones; chains list entries in order.
    pub(crate) fn build(hashes: Vec<u64>, skipped: impl Fn(usize) -> bool) -> HashTable {
        let next = vec![NO_ROW; hashes.len()];
        let mut table = HashTable { slots: vec![], next, hashes, has_chains: false };
        table.link_all(&skipped);
        table
    }

    /// Number of entries.
    pub(crate) fn len(&self) -> usize {
        self.hashes.len()
    }

    fn link_all(&mut self, skipped: &impl Fn(usize) -> bool) {
        let slots = self.hashes.len().saturating_mul(2).max(64).next_power_of_two();
        self.slots.clear();
        self.slots.resize(slots, FREE);
        self.has_chains = false;
        for entry in (0..self.hashes.len()).rev().filter(|&entry| !skipped(entry)) {
            self.link(row_number(entry), self.hashes[entry]);
        }
    }

    /// Puts an entry at the head of its chain.
    fn link(&mut self, entry: u32, hash: u64) {
        let slot = self.slot(hash);
        let before = std::mem::replace(&mut self.slots[slot], Slot { tag: tag_of(hash), entry }).entry;
        self.next[entry as usize] = before;
        self.has_chains |= before != NO_ROW;
    }

    /// The slot of the hash's tag, or the free one where it would go. At least half of the slots are free.
    #[inline]
    fn slot(&self, hash: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut position = hash as usize & mask;
        loop {
            let slot = self.slots[position];
            if slot.entry == NO_ROW || slot.tag == tag_of(hash) {
                return position;
            }
            position = (position + 1) & mask;
        }
    }

    /// Adds an entry and returns its number.
    pub(crate) fn insert(&mut self, hash: u64) -> u32 {
        let entry = row_number(self.hashes.len());
        self.hashes.push(hash);
        self.next.push(NO_ROW);
        if self.hashes.len() > self.slots.len() / 2 {
            self.link_all(&|_| false);
        } else {
            self.link(entry, hash);
        }
        entry
    }

    /// The first entry that may have this hash, or [`NO_ROW`].
    #[inline]
    pub(crate) fn first(&self, hash: u64) -> u32 {
        if self.slots.is_empty() { NO_ROW } else { self.slots[self.slot(hash)].entry }
    }

    /// The next entry that may have the same hash, or [`NO_ROW`].
    #[inline]
    pub(crate) fn after(&self, entry: u32) -> u32 {
        if self.has_chains { self.next[entry as usize] } else { NO_ROW }
    }

    /// The first entry of this hash that `equal` accepts, or [`NO_ROW`].
    #[inline]
    pub(crate) fn find(&self, hash: u64, equal: impl Fn(u32) -> bool) -> u32 {
        let mut entry = self.first(hash);
        while entry != NO_ROW && !equal(entry) {
            entry = self.after(entry);
        }
        entry
    }

    pub(crate) fn clear(&mut self) {
        *self = HashTable::default();
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.slots.len() * size_of::<Slot>() + self.next.len() * 4 + self.hashes.len() * 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_different_width_hash_alike() {
        let small = Vector::from_values(DataType::SmallInt, &[Value::SmallInt(-7)]).unwrap();
        let big = Vector::from_values(DataType::BigInt, &[Value::BigInt(-7)]).unwrap();
        assert_eq!(hash_rows(&[small], 1), hash_rows(&[big], 1));
    }

    #[test]
    fn blanks_do_not_count_in_char() {
        let padded = Vector::from_values(DataType::Char(4), &[Value::text("ab  "), Value::text("ab")]).unwrap();
        let hashes = hash_rows(&[padded], 2);
        assert_eq!(hashes[0], hashes[1]);
    }

    #[test]
    fn a_table_finds_every_entry_after_growing() {
        let mut table = HashTable::default();
        let keys: Vec<u64> = (0..1000).collect();
        for &key in &keys {
            table.insert(hash_u64(key));
        }
        for &key in &keys {
            let entry = table.find(hash_u64(key), |entry| keys[entry as usize] == key);
            assert_eq!(u64::from(entry), key);
        }
        assert_eq!(table.find(hash_u64(5000), |_| true), NO_ROW);
    }

    #[test]
    fn a_built_table_lists_equal_entries_in_order_and_skips_some() {
        let table = HashTable::build(vec![9; 5], |entry| entry == 2);
        let mut found = vec![table.first(9)];
        while *found.last().unwrap() != NO_ROW {
            found.push(table.after(*found.last().unwrap()));
        }
        assert_eq!(found, [0, 1, 3, 4, NO_ROW]);
    }
}
