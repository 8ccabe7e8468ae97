//! Numbers the groups that rows belong to.

use std::sync::Arc;

use crate::columns::{Data, HashTable, NO_ROW, Vector, hash_rows, rows_equal};
use crate::types::DataType;

/// The different keys seen so far, numbered in the order of their first rows. NULLs are one group.
pub(crate) struct GroupKeys {
    keys: Vec<Vector>,
    table: HashTable,
}

impl GroupKeys {
    pub(crate) fn new(types: &[DataType]) -> GroupKeys {
        GroupKeys { keys: types.iter().map(|&t| Vector::new(t)).collect(), table: HashTable::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    pub(crate) fn keys(&self) -> &[Vector] {
        &self.keys
    }

    /// The group of each row; new keys become new groups.
    pub(crate) fn assign(&mut self, columns: &[Arc<Vector>], len: usize) -> Vec<u32> {
        let hashes = hash_rows(columns, len);
        match columns {
            [column] if column.validity().is_none() && self.keys.iter().all(|key| key.validity().is_none()) => {
                match column.data() {
                    Data::I32(values) => self.assign_by(columns, &hashes, |keys, row, entry| match keys[0].data() {
                        Data::I32(keys) => keys[entry] == values[row],
                        _ => false,
                    }),
                    Data::I64(values) => self.assign_by(columns, &hashes, |keys, row, entry| match keys[0].data() {
                        Data::I64(keys) => keys[entry] == values[row],
                        _ => false,
                    }),
                    // (In `char(n)` blanks at the end do not count.)
                    Data::Bytes(values) if !matches!(column.data_type(), DataType::Char(_)) => {
                        self.assign_by(columns, &hashes, |keys, row, entry| match keys[0].data() {
                            Data::Bytes(keys) => keys.get(entry) == values.get(row),
                            _ => false,
                        })
                    }
                    _ => self.assign_by(columns, &hashes, |keys, row, entry| rows_equal(columns, row, keys, entry)),
                }
            }
            _ => self.assign_by(columns, &hashes, |keys, row, entry| rows_equal(columns, row, keys, entry)),
        }
    }

    fn assign_by(
        &mut self,
        columns: &[Arc<Vector>],
        hashes: &[u64],
        equal: impl Fn(&[Vector], usize, usize) -> bool,
    ) -> Vec<u32> {
        let mut groups = Vec::with_capacity(hashes.len());
        for (row, &hash) in hashes.iter().enumerate() {
            let mut entry = self.table.find(hash, |entry| equal(&self.keys, row, entry as usize));
            if entry == NO_ROW {
                entry = self.table.insert(hash);
                let row = crate::columns::row_number(row);
                self.keys.iter_mut().zip(columns).for_each(|(key, column)| key.append_rows(column, &[row]));
            }
            groups.push(entry);
        }
        groups
    }

    /// The group of one row, where its key was seen before.
    pub(crate) fn find(&self, columns: &[Arc<Vector>], row: usize, hash: u64) -> Option<u32> {
        let equal = |entry: u32| rows_equal(columns, row, &self.keys, entry as usize);
        Some(self.table.find(hash, equal)).filter(|&entry| entry != NO_ROW)
    }

    pub(crate) fn clear(&mut self) {
        self.table.clear();
        self.keys.iter_mut().for_each(|key| *key = Vector::new(key.data_type()));
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.table.memory_bytes() + self.keys.iter().map(Vector::memory_bytes).sum::<usize>()
    }
}
