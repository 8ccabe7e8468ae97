//! What a table's rows come to, in entries that commits add to.
//!
//! A table may have a tree of counters. Each write weighs three numbers, the first of them 1. There is an entry for all rows
//! together, to which everybody adds; one for each group of writes, which come and go as rows change from one to another; and
//! one for each row, which tells its write as the row does. What must hold in every state: each is exactly what the rows come
//! to. Who changes a row adds the difference and reads none of them, so nobody is in his way.
//!
//! The catalog has *tallies* besides: each addition to one is a bit of its own, and a write to a place of its own, so whoever reads
//! a tally tells exactly which additions he saw, and the judge orders him among those who added.

use std::collections::BTreeMap;
use std::ops::Bound;

use cairn_storage::{Reader, Result, TreeId, counters};

use crate::random::mix;
use crate::rows::{Get, Noted, Put, TABLES, Table};
use crate::value::{Op, Register, Version, filler};

/// Before the counters.
pub const FRONT: &[u8] = b"sums";

/// Groups of writes.
const GROUPS: u32 = 12;

/// Additions that a tally has a bit for.
const BITS: u32 = 120;

type Weight = [i128; 3];

/// Which rows an entry sums up.
#[derive(Clone, Copy, Debug)]
enum Of {
    All,
    Group(u32),
    Row(u32),
}

impl Of {
    fn key(self) -> Vec<u8> {
        let (kind, number) = match self {
            Of::All => (0, 0),
            Of::Group(number) => (1, number),
            Of::Row(number) => (2, number),
        };
        let rest = filler(number, number as usize * 7 % 40);
        [&[kind], number.to_be_bytes().as_slice(), &rest].concat()
    }
}

fn weight(op: Op) -> Weight {
    [1, op.into(), i128::from(mix(op.into())) << (op % 50)]
}

fn difference(of: Weight, from: Weight) -> Weight {
    std::array::from_fn(|at| of[at] - from[at])
}

fn read(value: &[u8]) -> Option<Weight> {
    counters(value.strip_prefix(FRONT)?, 0)?.collect::<Vec<_>>().try_into().ok()
}

/// What must stand in the tree where these are the rows.
fn expected(rows: &[(u32, Version)]) -> BTreeMap<Vec<u8>, Weight> {
    let mut sums: BTreeMap<Vec<u8>, Weight> = BTreeMap::new();
    for (key, row) in rows {
        for of in [Of::All, Of::Group(row.op % GROUPS), Of::Row(*key)] {
            let sum = sums.entry(of.key()).or_default();
            sum.iter_mut().zip(weight(row.op)).for_each(|(sum, weight)| *sum += weight);
        }
    }
    sums
}

impl Noted {
    /// Adds what a row's new write makes of the sums.
    pub(crate) fn change_sums(
        &self,
        to: &mut impl Put,
        table: &Table,
        key: u32,
        old: Option<Op>,
        new: Op,
    ) -> Result<()> {
        let Some(sums) = table.sums else { return Ok(()) };
        let change = difference(weight(new), old.map_or([0; 3], weight));
        to.add(sums, &Of::All.key(), &change)?;
        if let Some(old) = old {
            to.add(sums, &Of::Group(old % GROUPS).key(), &difference([0; 3], weight(old)))?;
        }
        to.add(sums, &Of::Group(new % GROUPS).key(), &weight(new))?;
        to.add(sums, &Of::Row(key).key(), &change)
    }

    /// Reads which write a row is of without looking at the row.
    pub(crate) fn read_sum(&self, from: &impl Get, table: &Table, key: u32) -> Result<()> {
        let Some(sums) = table.sums else { return Ok(()) };
        let found = from.get(sums, &Of::Row(key).key())?;
        let op = found.map_or(0, |value| {
            let sum = read(&value).unwrap_or_default();
            match Op::try_from(sum[1]) {
                Ok(op) if weight(op) == sum => op,
                _ => self.must(Err(format!("row {key} of tree {} weighs {sum:?}, as no write does", table.rows.0))),
            }
        });
        let seen = self.history.borrow_mut().saw_write(self.txn, Register { tree: table.rows.0, key }, op);
        self.must(seen);
        Ok(())
    }

    /// Checks that the sums are what the rows come to.
    pub(crate) fn check_sums(&self, from: &Reader, table: &Table, rows: &[(u32, Version)]) -> Result<()> {
        let Some(sums) = table.sums else { return Ok(()) };
        if sums.is_derived() && self.history.borrow().is_salvaged {
            return Ok(());
        }
        let mut cursor = from.cursor(sums, Bound::Unbounded, Bound::Unbounded)?;
        let mut found = BTreeMap::new();
        while let Some((key, value)) = cursor.next()? {
            found.insert(key.to_vec(), read(value).unwrap_or_default());
        }
        let expected = expected(rows);
        if found != expected {
            let is_other = |(key, sum): &(&Vec<u8>, &Weight)| expected.get(*key) != Some(*sum);
            let other = found.iter().find(is_other);
            let lacking = expected.keys().find(|key| !found.contains_key(*key));
            self.must(Err(format!(
                "the sums of tree {} are not those of its rows: {other:?} is not, {lacking:?} is lacking",
                table.rows.0
            )))
        }
        Ok(())
    }

    /// Fills a new tree of sums.
    pub(crate) fn fill_sums(&self, to: &mut impl Put, table: &Table, rows: &[(u32, Version)]) -> Result<()> {
        rows.iter().try_for_each(|(key, row)| self.change_sums(to, table, *key, None, row.op))
    }
}

/// Where the addition with this bit counts as written.
fn place(bit: u32) -> Register {
    Register { tree: TreeId::CATALOG.0, key: TABLES + bit }
}

fn tally_key(tally: u32) -> Vec<u8> {
    [b"tally".as_slice(), &tally.to_be_bytes()].concat()
}

/// How many additions a tally counts, and which.
fn read_tally(value: &[u8]) -> Option<[i128; 2]> {
    counters(value.strip_prefix(FRONT)?, 0)?.collect::<Vec<_>>().try_into().ok()
}

impl Noted {
    /// Adds to the newest tally, without looking at it.
    pub(crate) fn tally(&self, to: &mut impl Put) -> Result<()> {
        let bit = self.history.borrow_mut().added(self.txn, place);
        to.add(TreeId::CATALOG, &tally_key(bit / BITS), &[1, 1 << (bit % BITS)])
    }

    /// Reads all tallies; returns a digest.
    pub(crate) fn read_tallies(&self, from: &impl Get) -> Result<u64> {
        let (mut digest, additions) = (0, self.history.borrow().additions().to_vec());
        for (tally, of_tally) in (0..).zip(additions.chunks(BITS as usize)) {
            let value = from.get(TreeId::CATALOG, &tally_key(tally))?;
            let [count, bits] = value.as_ref().map_or([0; 2], |value| read_tally(value).unwrap_or([-1; 2]));
            if count != i128::from(bits.count_ones()) || bits >> of_tally.len() != 0 {
                self.must::<()>(Err(format!("tally {tally} counts {count} of {bits:b}")));
            }
            for (bit, &op) in of_tally.iter().enumerate() {
                let seen = if bits >> bit & 1 == 1 { op } else { 0 };
                let saw = self.history.borrow_mut().saw_write(self.txn, place(tally * BITS + bit as u32), seen);
                self.must(saw);
            }
            if value.is_some() {
                digest = mix(digest ^ bits as u64 ^ (bits >> 64) as u64);
            }
        }
        Ok(digest)
    }
}

/// A new tree of sums, of either kind: what is derived is not salvaged.
pub(crate) fn create(transaction: &cairn_storage::Transaction, is_derived: bool) -> Result<TreeId> {
    if is_derived { transaction.create_derived_tree() } else { transaction.create_tree() }
}
