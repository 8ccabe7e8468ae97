//! Tables, rows and index entries over the engine's trees, and what a client may do to them.
//!
//! The catalog tree has an entry per table, which names its trees: one of rows, perhaps one that indexes them by
//! (key, sequence), and perhaps one of what they come to (`sums`). In every state there is exactly one index entry per row, and
//! no tree that no entry names.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Bound;
use std::rc::Rc;

use cairn_storage::{Error, PointReader, PointWriter, Reader, Result, TreeId};

use crate::history::{History, Txn};
use crate::random::{Random, mix};
use crate::scheduler;
use crate::sums::FRONT;
use crate::value::{HEADER, Op, Register, Version, filler};

/// Tables there may be at once.
pub const TABLES: u32 = 3;

/// The history of a run, shared by its clients.
pub type Shared = Rc<RefCell<History>>;

/// A table's entry in the catalog.
#[derive(Clone, Debug)]
pub struct Table {
    /// The entry's place.
    pub register: Register,
    /// The entry.
    pub entry: Version,
    /// The tree of rows.
    pub rows: TreeId,
    /// The index.
    pub index: Option<TreeId>,
    /// What the rows come to.
    pub sums: Option<TreeId>,
}

impl Table {
    /// As the entry names them: 0 for none.
    pub fn trees(&self) -> [u32; 3] {
        [Some(self.rows), self.index, self.sums].map(|tree| tree.map_or(0, |tree| tree.0))
    }
}

/// Where a table's entry is.
pub fn catalog(table: u32) -> Register {
    Register { tree: TreeId::CATALOG.0, key: table }
}

/// The key's bytes: in the order of the numbers, of different lengths, with long common beginnings.
/// One in eight is as long as may be.
pub fn key_bytes(register: Register, most: usize) -> Vec<u8> {
    let mut bytes = b"the same beginning".to_vec();
    bytes.truncate(register.tree as usize % 19);
    bytes.extend_from_slice(&register.key.to_be_bytes());
    let spread = mix(register.key.into()) as usize;
    let rest = if spread.is_multiple_of(8) { most - bytes.len() } else { spread % 13 };
    bytes.extend_from_slice(&filler(register.key, rest));
    bytes
}

/// The number of a key.
pub fn key_number(tree: u32, bytes: &[u8]) -> u32 {
    let at = tree as usize % 19;
    bytes.get(at..at + 4).map_or(u32::MAX, |number| u32::from_be_bytes(number.try_into().expect("four bytes")))
}

fn index_key(key: u32, sequence: u32) -> Vec<u8> {
    [key.to_be_bytes(), sequence.to_be_bytes()].concat()
}

/// What reads single keys.
pub trait Get {
    /// The value under a key.
    fn get(&self, tree: TreeId, key: &[u8]) -> Result<Option<Vec<u8>>>;
}

/// What changes single keys.
pub trait Put: Get {
    /// Inserts or replaces.
    fn put(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<()>;
    /// Inserts where nothing is.
    fn insert(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<bool>;
    /// Changes some bytes.
    fn patch(&mut self, tree: TreeId, key: &[u8], bytes: &[u8]) -> Result<()>;
    /// Removes.
    fn delete(&mut self, tree: TreeId, key: &[u8]) -> Result<bool>;
    /// Appends an entry.
    fn append(&mut self, tree: TreeId, value: &[u8]) -> Result<()>;
    /// Adds to an entry of sums.
    fn add(&mut self, tree: TreeId, key: &[u8], deltas: &[i128]) -> Result<()>;
}

impl Get for Reader {
    fn get(&self, tree: TreeId, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Reader::get(self, tree, key)
    }
}

impl Get for PointReader<'_> {
    fn get(&self, tree: TreeId, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(PointReader::get(self, tree, key)?.map(<[u8]>::to_vec))
    }
}

/// A point writer, whose reads remember where they were.
pub struct Point<'a, 'b>(RefCell<&'a mut PointWriter<'b>>);

impl<'a, 'b> Point<'a, 'b> {
    /// Over the engine's.
    pub fn new(writer: &'a mut PointWriter<'b>) -> Point<'a, 'b> {
        Point(RefCell::new(writer))
    }
}

impl Get for Point<'_, '_> {
    fn get(&self, tree: TreeId, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.0.borrow_mut().get(tree, key)?.map(<[u8]>::to_vec))
    }
}

impl Put for Point<'_, '_> {
    fn put(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<()> {
        self.0.get_mut().put(tree, key, value)
    }

    fn insert(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<bool> {
        self.0.get_mut().insert(tree, key, value)
    }

    fn patch(&mut self, tree: TreeId, key: &[u8], bytes: &[u8]) -> Result<()> {
        self.0.get_mut().patch(tree, key, 0, bytes)
    }

    fn delete(&mut self, tree: TreeId, key: &[u8]) -> Result<bool> {
        self.0.get_mut().delete(tree, key)
    }

    fn append(&mut self, tree: TreeId, value: &[u8]) -> Result<()> {
        self.0.get_mut().append(tree, value)
    }

    fn add(&mut self, tree: TreeId, key: &[u8], deltas: &[i128]) -> Result<()> {
        self.0.get_mut().add(tree, key, FRONT, deltas)
    }
}

impl Get for cairn_storage::Transaction {
    fn get(&self, tree: TreeId, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.reader().get(tree, key)
    }
}

impl Put for cairn_storage::Transaction {
    fn put(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<()> {
        cairn_storage::Transaction::put(self, tree, key, value)
    }

    fn insert(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<bool> {
        cairn_storage::Transaction::insert(self, tree, key, value)
    }

    fn patch(&mut self, tree: TreeId, key: &[u8], bytes: &[u8]) -> Result<()> {
        cairn_storage::Transaction::patch(self, tree, key, 0, bytes)
    }

    fn delete(&mut self, tree: TreeId, key: &[u8]) -> Result<bool> {
        cairn_storage::Transaction::delete(self, tree, key)
    }

    fn append(&mut self, tree: TreeId, value: &[u8]) -> Result<()> {
        cairn_storage::Transaction::append(self, tree, value)
    }

    fn add(&mut self, tree: TreeId, key: &[u8], deltas: &[i128]) -> Result<()> {
        cairn_storage::Transaction::add(self, tree, key, FRONT, deltas)
    }
}

/// A transaction as the history knows it: does things and notes them.
#[derive(Clone)]
pub struct Noted {
    /// Of all transactions.
    pub history: Shared,
    /// Its number.
    pub txn: Txn,
}

impl Noted {
    fn key_bytes(&self, register: Register) -> Vec<u8> {
        key_bytes(register, self.history.borrow().key_bytes)
    }

    /// A violation that shows at once ends the run.
    pub fn must<T>(&self, result: std::result::Result<T, String>) -> T {
        result.unwrap_or_else(|what| {
            let kind = self.history.borrow().txns[self.txn].kind;
            scheduler::current().fail(format!("{kind} {}: {what}", self.txn))
        })
    }

    fn saw(&self, register: Register, bytes: Option<&[u8]>) -> Option<Version> {
        let version = bytes.map(|bytes| self.must(Version::decode(bytes, register)));
        let seen = self.history.borrow_mut().saw(self.txn, register, version.as_ref());
        self.must(seen);
        version
    }

    /// Reads a row, or a catalog entry.
    pub fn read(&self, from: &impl Get, register: Register) -> Result<Option<Version>> {
        let bytes = from.get(TreeId(register.tree), &self.key_bytes(register))?;
        Ok(self.saw(register, bytes.as_deref()))
    }

    /// A table's entry, with its trees; (`None`, the old entry) where there is no such table now.
    pub fn table(&self, from: &impl Get, number: u32) -> Result<(Option<Table>, Option<Version>)> {
        let register = catalog(number);
        let entry = self.read(from, register)?;
        let table = entry.clone().and_then(|entry| {
            let [rows, index, sums] = trees_of(&entry.payload);
            let named = |tree: u32| (tree != 0).then_some(TreeId(tree));
            Some(Table { register, entry, rows: named(rows)?, index: named(index), sums: named(sums) })
        });
        Ok((table, entry))
    }

    /// Replaces a table's entry.
    pub fn set_table(&self, to: &mut impl Put, number: u32, old: Option<&Version>, trees: [u32; 3]) -> Result<()> {
        let register = catalog(number);
        let op = self.history.borrow_mut().wrote(self.txn, register, old, trees);
        let payload = trees.map(u32::to_le_bytes).concat();
        let entry = successor(op, old, op, payload);
        to.put(TreeId::CATALOG, &self.key_bytes(register), &entry.encode(register))
    }

    /// Changes a row, or makes it, with its index entry, and what the rows come to.
    pub fn change(&self, to: &mut impl Put, table: &Table, key: u32, length: usize, by: &mut Random) -> Result<()> {
        let register = Register { tree: table.rows.0, key };
        let bytes = self.key_bytes(register);
        let old = self.read(to, register)?;
        let op = self.history.borrow_mut().wrote(self.txn, register, old.as_ref(), [0; 3]);
        match &old {
            Some(old) if by.one_in(3) => {
                let new = successor(op, Some(old), old.payload_op, old.payload.clone());
                to.patch(table.rows, &bytes, &new.header(register)[..HEADER])?;
            }
            None if by.one_in(2) => {
                let new = successor(op, None, op, filler(op, length));
                if !to.insert(table.rows, &bytes, &new.encode(register))? {
                    self.must(Err("a row appeared under a transaction that had not seen it".to_owned()))
                }
            }
            old => {
                let new = successor(op, old.as_ref(), op, filler(op, length));
                to.put(table.rows, &bytes, &new.encode(register))?;
            }
        }
        self.change_index(to, table, key, old.as_ref(), op)?;
        self.change_sums(to, table, key, old.map(|old| old.op), op)
    }

    fn change_index(&self, to: &mut impl Put, table: &Table, key: u32, old: Option<&Version>, op: Op) -> Result<()> {
        let Some(index) = table.index else { return Ok(()) };
        if let Some(old) = old
            && !to.delete(index, &index_key(key, old.sequence))?
        {
            self.must(Err(format!("row {key} of tree {} is not in its index", table.rows.0)))
        }
        to.put(index, &index_key(key, old.map_or(0, |old| old.sequence + 1)), &op.to_le_bytes())
    }

    /// Reads all rows with keys from `first` up to, not including, `end`, forward or backward, `limit` at most.
    pub fn scan(
        &self,
        from: &Reader,
        tree: TreeId,
        (first, end): (u32, u32),
        backward: bool,
        limit: usize,
    ) -> Result<Vec<(u32, Version)>> {
        let most = self.history.borrow().key_bytes;
        let bound = |key: u32| key_bytes(Register { tree: tree.0, key }, most)[..tree.0 as usize % 19 + 4].to_vec();
        let (lower, upper) = (bound(first), bound(end));
        let mut cursor = from.cursor(tree, Bound::Included(&lower), Bound::Excluded(&upper))?;
        let mut found = Vec::new();
        let mut at = if backward { end } else { first };
        loop {
            let entry = if backward { cursor.prev()? } else { cursor.next()? };
            let Some((key, value)) = entry else { break };
            let number = key_number(tree.0, key);
            let register = Register { tree: tree.0, key: number };
            let is_next = if backward { number < at } else { number >= at };
            if !is_next || number < first || number >= end || key != key_bytes(register, most) {
                self.must(Err(format!("a scan from {first} to {end} of tree {} met {key:?} at {at}", tree.0)))
            }
            let value = value.to_vec();
            let skipped = if backward { number + 1..at } else { at..number };
            skipped.for_each(|key| drop(self.saw(Register { tree: tree.0, key }, None)));
            at = if backward { number } else { number + 1 };
            found.extend(self.saw(register, Some(&value)).map(|version| (number, version)));
            if found.len() >= limit {
                return Ok(found);
            }
        }
        let rest = if backward { first..at } else { at..end };
        rest.for_each(|key| drop(self.saw(Register { tree: tree.0, key }, None)));
        Ok(found)
    }

    /// Reads everything there is, and checks that rows, indexes and catalog fit together. Returns a digest.
    pub fn read_all(&self, from: &Reader, keys: u32, trees: Option<Vec<TreeId>>) -> Result<u64> {
        let mut digest = mix(self.read_tallies(from)? ^ self.read_feed(from)?);
        let mut named = BTreeSet::from([TreeId::CATALOG]);
        for number in 0..TABLES {
            let (table, entry) = self.table(from, number)?;
            // Made by the same commit as the first entries.
            named.extend(self.history.borrow().feed.filter(|_| entry.is_some()));
            digest = mix(digest ^ entry.map_or(0, |entry| u64::from(entry.op)));
            let Some(table) = table else { continue };
            named.insert(table.rows);
            named.extend(table.index);
            named.extend(table.sums);
            let rows = self.scan(from, table.rows, (0, keys), false, usize::MAX)?;
            rows.iter().for_each(|(key, row)| digest = mix(digest ^ u64::from(*key) << 32 ^ u64::from(row.op)));
            self.check_index(from, &table, &rows)?;
            self.check_sums(from, &table, &rows)?;
        }
        if let Some(trees) = trees.filter(|trees| !trees.iter().eq(named.iter())) {
            self.must(Err(format!("the catalog names {named:?}, and there are {trees:?}")))
        }
        Ok(digest)
    }

    fn check_index(&self, from: &Reader, table: &Table, rows: &[(u32, Version)]) -> Result<()> {
        let Some(index) = table.index else { return Ok(()) };
        let mut cursor = from.cursor(index, Bound::Unbounded, Bound::Unbounded)?;
        let mut rows = rows.iter();
        loop {
            let entry = cursor.next()?.map(|(key, value)| (key.to_vec(), value.to_vec()));
            let wanted = rows.next().map(|(key, row)| (index_key(*key, row.sequence), row.op.to_le_bytes().to_vec()));
            if entry != wanted {
                self.must(Err(format!("the index of tree {} has {entry:?}, the rows {wanted:?}", table.rows.0)))
            }
            if wanted.is_none() {
                return Ok(());
            }
        }
    }

    /// Fills a new index.
    pub fn fill_index(&self, to: &mut impl Put, index: TreeId, rows: &[(u32, Version)]) -> Result<()> {
        rows.iter().try_for_each(|(key, row)| to.put(index, &index_key(*key, row.sequence), &row.op.to_le_bytes()))
    }
}

fn trees_of(payload: &[u8]) -> [u32; 3] {
    let word = |at: usize| payload.get(at..at + 4).map_or(0, |b| u32::from_le_bytes(b.try_into().expect("four")));
    [word(0), word(4), word(8)]
}

fn successor(op: Op, old: Option<&Version>, payload_op: Op, payload: Vec<u8>) -> Version {
    let replaced = old.map_or(0, |old| old.op);
    Version { op, replaced, sequence: old.map_or(0, |old| old.sequence + 1), payload_op, payload }
}

/// Errors that a client may meet when nothing is wrong with the engine.
pub fn is_expected(error: &Error) -> bool {
    use Error::{CacheFull, CannotOpen, Closed, Conflict, DiskFull, Ended, Io, OutcomeUnknown, Poisoned, TooLarge};
    let is_of_the_log = matches!(error, Error::OutlivedLog | Error::LogTooSmall { .. });
    let is_refused = is_of_the_log || matches!(error, Conflict | TooLarge | CacheFull | Error::TooManySnapshots { .. });
    let is_disk = matches!(error, Io { .. } | DiskFull { .. } | CannotOpen { .. });
    is_refused
        || is_disk
        || matches!(error, Error::GivenUp)
        || matches!(error, OutcomeUnknown { .. } | Poisoned { .. } | Closed | Ended)
}
