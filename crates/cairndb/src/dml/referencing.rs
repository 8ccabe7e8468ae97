//! Finds rows by the values of some columns, without a plan: what foreign keys ask.

use std::ops::Bound;

use super::row::Target;
use crate::catalog::{Index, IndexColumn, Table};
use crate::state::Reader;
use crate::types::{DataType, key};
use crate::{Error, Result, Value};

/// A row with its tree key.
pub(super) type Found = (Vec<u8>, Vec<Value>);

/// The rows whose `columns` equal `values` (of the columns' types, none NULL), at most `limit`.
pub(super) fn find_rows(target: &Target, wanted: &Referring<'_>, reader: &Reader, limit: usize) -> Result<Vec<Found>> {
    let table = &target.table;
    let covers = |index: &&std::sync::Arc<Index>| {
        index.predicate.is_none() && !index.is_inverted() && wanted.leads(index.positions())
    };
    match table.all_indexes().find(covers) {
        Some(index) if table.lies_by(index) => scan_table(target, &wanted.prefix(table, index)?, wanted, reader, limit),
        Some(index) => scan_index(target, index, wanted, reader, limit),
        None => scan_table(target, &[], wanted, reader, limit),
    }
}

/// Columns and the values they must have.
pub(super) struct Referring<'a> {
    pub(super) columns: &'a [usize],
    pub(super) values: &'a [Value],
    /// Which of them are strings whose blanks at the end do not count, though they are part of keys.
    pub(super) padded: Vec<bool>,
}

impl Referring<'_> {
    /// Whether these are the first columns of a key, in any order.
    fn leads(&self, key: impl Iterator<Item = usize>) -> bool {
        if self.padded.contains(&true) {
            return false;
        }
        let leading: Vec<usize> = key.take(self.columns.len()).collect();
        leading.len() == self.columns.len() && self.columns.iter().all(|column| leading.contains(column))
    }

    fn value(&self, column: usize) -> Option<&Value> {
        let at = self.columns.iter().position(|&c| c == column)?;
        self.values.get(at)
    }

    /// The encoded leading columns of a key that is led by these columns.
    fn prefix(&self, table: &Table, index: &Index) -> Result<Vec<u8>> {
        let mut prefix = Vec::new();
        for &IndexColumn { column, descending, nulls_first } in index.columns.iter().take(self.columns.len()) {
            let value = self.value(column).ok_or_else(|| Error::internal("a key column without a value"))?;
            key::encode_value(value, table.columns[column].data_type, descending, nulls_first, &mut prefix);
        }
        Ok(prefix)
    }

    fn matches(&self, row: &[Value]) -> bool {
        let pairs = self.columns.iter().zip(self.values).zip(&self.padded);
        pairs.into_iter().all(|((&column, value), padded)| match padded {
            true => !row[column].is_null() && row[column].compare_as(value, DataType::Char(0)).is_eq(),
            false => row[column] == *value,
        })
    }
}

fn scan_table(
    target: &Target,
    prefix: &[u8],
    wanted: &Referring<'_>,
    reader: &Reader,
    limit: usize,
) -> Result<Vec<Found>> {
    let mut found = Vec::new();
    let end = successor(prefix);
    let mut cursor = reader.cursor(target.table.tree, Bound::Included(prefix), upper(&end))?;
    while found.len() < limit
        && let Some((key, value)) = cursor.next()?
    {
        let row = target.layout.decode(key, value)?;
        if wanted.matches(&row) {
            found.push((key.to_vec(), row));
        }
    }
    Ok(found)
}

fn scan_index(
    target: &Target,
    index: &Index,
    wanted: &Referring<'_>,
    reader: &Reader,
    limit: usize,
) -> Result<Vec<Found>> {
    let table = &target.table;
    let prefix = wanted.prefix(table, index)?;
    let end = successor(&prefix);
    let mut found = Vec::new();
    let mut cursor = reader.cursor(index.tree, Bound::Included(&prefix), upper(&end))?;
    while found.len() < limit
        && let Some((key, value)) = cursor.next()?
    {
        let row_key = index.row_key(table, key, value)?.to_vec();
        let row = reader.get_with(table.tree, &row_key, |value| target.layout.decode(&row_key, value))?;
        let row = row.ok_or_else(|| Error::damaged("an index entry has no row"))??;
        found.push((row_key, row));
    }
    Ok(found)
}

/// The key of the second row whose entries in an index have these columns; `None`: no two rows have.
pub(super) fn second_with(table: &Table, index: &Index, columns: &[u8], reader: &Reader) -> Result<Option<Vec<u8>>> {
    let end = successor(columns);
    let mut cursor = reader.cursor(index.tree, Bound::Included(columns), upper(&end))?;
    let mut first = false;
    while let Some((key, value)) = cursor.next()? {
        let row_key = index.row_key(table, key, value)?;
        // What was put down may be of another type than the columns are now.
        if key.len() - row_key.len() == columns.len() && std::mem::replace(&mut first, true) {
            return Ok(Some(row_key.to_vec()));
        }
    }
    Ok(None)
}

/// The least key after all that begin with `prefix`; `None`: there is none.
fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte != 0xff)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end)
}

fn upper(end: &Option<Vec<u8>>) -> Bound<&[u8]> {
    end.as_deref().map_or(Bound::Unbounded, Bound::Excluded)
}

#[cfg(test)]
mod tests {
    use super::successor;

    #[test]
    fn the_successor_skips_trailing_ff() {
        assert_eq!(successor(&[1, 2]), Some(vec![1, 3]));
        assert_eq!(successor(&[1, 0xff, 0xff]), Some(vec![2]));
        assert_eq!(successor(&[0xff]), None);
        assert_eq!(successor(&[]), None);
    }
}
