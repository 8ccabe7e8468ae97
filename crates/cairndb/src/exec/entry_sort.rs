//! Entries of a tree in the order of their keys: a tree that is built of many entries at once takes them so, because
//! ascending keys are appended to its last leaf and leave full pages, while others find, copy and split leaves.
//!
//! Entries beyond `work_mem` are written as sorted runs and merged, as those of ORDER BY are. Entries of equal keys keep
//! the order in which they were added.

use std::sync::Arc;

use super::context::{Charge, Cx, ExecContext, Shared};
use super::row_order::{Direction, sorted_rows};
use super::spill::{Merge, MergeKey, Run, RunFile};
use crate::columns::{Batch, ByteStrings, Data, Vector};
use crate::{DataType, Error, Result};

/// Entries between two looks at the clock and at the memory that is held.
const STRIDE: usize = 1024;
/// The most entries sorted at once: row numbers are 32 bits wide.
const SORTED_MAX: usize = 1 << 30;
/// What sorting takes for each entry besides its bytes.
const ORDER_BYTES: usize = 20;

const TYPES: [DataType; 2] = [DataType::Bytea, DataType::Bytea];

/// Takes entries in any order and gives them back in the order of their keys.
pub(crate) struct EntrySorter {
    shared: Shared,
    keys: ByteStrings,
    values: ByteStrings,
    charge: Charge,
    /// Where entries went when they became too many.
    spilled: Option<(RunFile, Vec<Run>)>,
}

impl EntrySorter {
    /// Holds no more than the context's `work_mem`, and fails when its statement is cancelled.
    pub(crate) fn new(context: &ExecContext) -> EntrySorter {
        let strings = || ByteStrings::with_capacity(0);
        let shared = Shared::new(context.clone(), 0);
        EntrySorter { shared, keys: strings(), values: strings(), charge: Charge::default(), spilled: None }
    }

    pub(crate) fn add(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.keys.push(key);
        self.values.push(value);
        match self.keys.len().is_multiple_of(STRIDE) {
            true => self.look_after(),
            false => Ok(()),
        }
    }

    fn look_after(&mut self) -> Result<()> {
        self.shared.context.check()?;
        let bytes = self.keys.memory_bytes() + self.values.memory_bytes() + self.keys.len() * ORDER_BYTES;
        self.charge.note(bytes, &self.shared);
        if self.charge.is_over(&self.shared) || self.keys.len() >= SORTED_MAX {
            self.spill()?;
        }
        Ok(())
    }

    /// Writes what is held as a sorted run.
    fn spill(&mut self) -> Result<()> {
        let (columns, order) = self.take_sorted();
        let cx = Cx { shared: &self.shared, outer: None, writes: None };
        let (file, runs) = match &mut self.spilled {
            Some(spilled) => spilled,
            none => none.insert((RunFile::create(TYPES.as_slice().into(), cx)?, Vec::new())),
        };
        let mut run = file.run();
        for order in order.chunks(cx.context().batch_sizes.max.max(1)) {
            let columns = columns.iter().map(|column| Arc::new(column.gather(order))).collect();
            run.push(&Batch::new(columns, order.len()), cx)?;
        }
        runs.push(run);
        self.charge.clear(&self.shared);
        Ok(())
    }

    /// The keys and values that are held, and their numbers in the order of the keys.
    fn take_sorted(&mut self) -> ([Arc<Vector>; 2], Vec<u32>) {
        let len = self.keys.len();
        let take = |strings: &mut ByteStrings| std::mem::replace(strings, ByteStrings::with_capacity(0));
        let columns = [take(&mut self.keys), take(&mut self.values)]
            .map(|strings| Arc::new(Vector::from_parts(DataType::Bytea, Data::Bytes(strings), None)));
        let order = sorted_rows(&columns[..1], &[Direction::ASCENDING], len);
        (columns, order)
    }

    /// Calls `each` with every entry, keys ascending.
    pub(crate) fn for_each(self, mut each: impl FnMut(&[u8], &[u8]) -> Result<()>) -> Result<()> {
        let mut sorted = self.sorted()?;
        while let Some(entries) = sorted.next()? {
            let [keys, values] = entries.strings()?;
            (0..entries.len).try_for_each(|row| each(keys.get(row), values.get(row)))?;
        }
        Ok(())
    }

    /// The entries, keys ascending.
    pub(crate) fn sorted(mut self) -> Result<SortedEntries> {
        if self.spilled.is_some() && !self.keys.is_empty() {
            self.spill()?;
        }
        let sorted = match self.spilled.take() {
            Some((file, runs)) => {
                let key = MergeKey { column: 0, direction: Direction::ASCENDING };
                let cx = Cx { shared: &self.shared, outer: None, writes: None };
                Sorted::Runs(Merge::new(runs, vec![key], file.types(), cx)?)
            }
            None => {
                let (columns, order) = self.take_sorted();
                Sorted::Held { columns, order, next: 0 }
            }
        };
        Ok(SortedEntries { shared: self.shared, sorted })
    }
}

/// Entries in the order of their keys, to be taken some at a time.
pub(crate) struct SortedEntries {
    shared: Shared,
    sorted: Sorted,
}

enum Sorted {
    Held { columns: [Arc<Vector>; 2], order: Vec<u32>, next: usize },
    Runs(Merge),
}

/// Some of them.
pub(crate) struct SomeEntries {
    columns: [Arc<Vector>; 2],
    pub(crate) len: usize,
}

impl SortedEntries {
    /// The next ones, a stride or a batch; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<SomeEntries>> {
        let cx = Cx { shared: &self.shared, outer: None, writes: None };
        match &mut self.sorted {
            Sorted::Held { columns, order, next } => {
                self.shared.context.check()?;
                let stride = &order[*next..order.len().min(*next + STRIDE)];
                *next += stride.len();
                // Together, so that their ways to memory, which lie anywhere, overlap.
                let columns = columns.each_ref().map(|column| Arc::new(column.gather(stride)));
                Ok((!stride.is_empty()).then_some(SomeEntries { columns, len: stride.len() }))
            }
            Sorted::Runs(merge) => {
                let Some(batch) = merge.next(cx)? else { return Ok(None) };
                let [keys, values] = batch.columns() else {
                    return Err(Error::internal("entries to be sorted have other columns"));
                };
                Ok(Some(SomeEntries { columns: [keys.clone(), values.clone()], len: batch.len() }))
            }
        }
    }
}

impl SomeEntries {
    /// Their keys and values.
    pub(crate) fn strings(&self) -> Result<[&ByteStrings; 2]> {
        match [self.columns[0].data(), self.columns[1].data()] {
            [Data::Bytes(keys), Data::Bytes(values)] => Ok([keys, values]),
            _ => Err(Error::internal("entries to be sorted are no byte strings")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Fixture;
    use super::*;

    type Entry = (Vec<u8>, Vec<u8>);

    /// The entries in order, and whether some went to a file.
    fn sorted(work_mem: usize, entries: &[Entry]) -> (Vec<Entry>, bool) {
        let fixture = Fixture::new();
        let mut sorter = EntrySorter::new(&ExecContext { work_mem, ..fixture.context() });
        entries.iter().for_each(|(key, value)| sorter.add(key, value).unwrap());
        let spilled = sorter.spilled.is_some();
        let mut out = Vec::new();
        let each = |key: &[u8], value: &[u8]| {
            out.push((key.to_vec(), value.to_vec()));
            Ok(())
        };
        sorter.for_each(each).unwrap();
        (out, spilled)
    }

    #[test]
    fn entries_come_back_in_key_order_whether_they_spilled_or_not() {
        let entry = |i: u32| (i.wrapping_mul(2_654_435_761).to_be_bytes()[..3].to_vec(), i.to_be_bytes().to_vec());
        let entries: Vec<_> = (0..50_000).map(entry).collect();
        let mut expected = entries.clone();
        expected.sort_by(|a, b| a.0.cmp(&b.0));
        assert_eq!(sorted(usize::MAX, &entries), (expected.clone(), false));
        assert_eq!(sorted(300 << 10, &entries), (expected, true));
    }
}
