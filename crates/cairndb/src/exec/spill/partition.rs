//! Splitting rows by hash, so that equal keys lie in the same partition and each partition is worked off on its own; and
//! putting the results back into the order of the rows that they come from.
//!
//! Rows carry their number, a `bigint` column behind the others: each partition gives its results in ascending order of
//! it, so merging them restores the order of the operator in memory. A partition that is still too large is split
//! again by other bits of the hash, [`LEVELS`] times at most, and not where splitting gained nothing: then it is kept in
//! memory, within the statement's budget (a single key with very many rows cannot be split).

use std::sync::Arc;

use super::merge::{Merge, MergeKey};
use super::run::{Run, RunFile, RunWriter};
use crate::columns::{Batch, Data, Vector, remix, row_number};
use crate::exec::context::Cx;
use crate::exec::row_order::Direction;
use crate::{DataType, Result};

/// Into how many partitions rows are split at a time.
const PARTITIONS: usize = 16;

/// How often rows may be split.
pub(crate) const LEVELS: u32 = 6;

/// Rows that were set aside, and how often they were split.
pub(crate) struct Partition {
    pub(crate) run: Run,
    pub(crate) level: u32,
}

/// Rows being split.
pub(crate) struct Partitions {
    writers: Vec<RunWriter>,
    level: u32,
    rows: [Vec<u32>; PARTITIONS],
}

impl Partitions {
    /// `level`: how often the rows will have been split after this.
    pub(crate) fn create(types: Arc<[DataType]>, level: u32, cx: Cx<'_>) -> Result<Partitions> {
        let file = RunFile::create(types, cx)?;
        Ok(Partitions { writers: (0..PARTITIONS).map(|_| file.writer()).collect(), level, rows: Default::default() })
    }

    /// Adds the rows whose numbers in the batch are given; `hashes` is by row of the batch.
    pub(crate) fn add(&mut self, batch: &Batch, rows: &[u32], hashes: &[u64], cx: Cx<'_>) -> Result<()> {
        cx.check()?;
        self.rows.iter_mut().for_each(Vec::clear);
        for &row in rows {
            let partition = remix(hashes[row as usize], self.level.into()) as usize % PARTITIONS;
            self.rows[partition].push(row);
        }
        for (writer, rows) in self.writers.iter_mut().zip(&self.rows).filter(|(_, rows)| !rows.is_empty()) {
            writer.add(batch, rows, cx)?;
        }
        Ok(())
    }

    /// Adds all rows of a batch.
    pub(crate) fn add_all(&mut self, batch: &Batch, hashes: &[u64], cx: Cx<'_>) -> Result<()> {
        let rows: Vec<u32> = (0..batch.len()).map(row_number).collect();
        self.add(batch, &rows, hashes, cx)
    }

    /// The partitions, empty ones included, always in the same order.
    pub(crate) fn finish(self, cx: Cx<'_>) -> Result<Vec<Partition>> {
        let runs = self.writers.into_iter().map(|writer| writer.finish(cx)).collect::<Result<Vec<Run>>>()?;
        let all: u64 = runs.iter().map(Run::rows).sum();
        // Where one partition got everything, another split would do no better.
        let level = |run: &Run| if run.rows() == all { LEVELS } else { self.level };
        Ok(runs.into_iter().map(|run| Partition { level: level(&run), run }).collect())
    }
}

/// Rows that an operator set aside for later passes over them.
pub(crate) struct SetAside {
    types: Arc<[DataType]>,
    filling: Option<Partitions>,
    pending: Vec<Partition>,
    /// How often the rows of the current pass were split; 0: they are the input's.
    level: u32,
    next_number: i64,
}

impl SetAside {
    /// For rows of these types, the number included.
    pub(crate) fn new(types: Arc<[DataType]>) -> SetAside {
        SetAside { types, filling: None, pending: vec![], level: 0, next_number: 0 }
    }

    /// Whether rows are being set aside in this pass.
    pub(crate) fn is_filling(&self) -> bool {
        self.filling.is_some()
    }

    /// Begins to set rows aside in this pass; false where splitting them again would not help.
    pub(crate) fn begin(&mut self, cx: Cx<'_>) -> Result<bool> {
        if self.filling.is_none() && self.level < LEVELS {
            self.filling = Some(Partitions::create(self.types.clone(), self.level + 1, cx)?);
        }
        Ok(self.filling.is_some())
    }

    /// Sets rows of a batch aside. Those of the input are numbered here: each of its batches must come by.
    pub(crate) fn add(&mut self, batch: Batch, rows: &[u32], hashes: &[u64], cx: Cx<'_>) -> Result<()> {
        let batch = match self.level {
            0 => add_column(&batch, number(&mut self.next_number, batch.len())),
            _ => batch,
        };
        self.filling.as_mut().map_or(Ok(()), |filling| filling.add(&batch, rows, hashes, cx))
    }

    /// The rows of the next pass; `None`: nothing is left.
    pub(crate) fn next_pass(&mut self, cx: Cx<'_>) -> Result<Option<Run>> {
        if let Some(filling) = self.filling.take() {
            self.pending.extend(filling.finish(cx)?);
        }
        while let Some(Partition { run, level }) = self.pending.pop() {
            if !run.is_empty() {
                self.level = level;
                return Ok(Some(run));
            }
        }
        Ok(None)
    }
}

/// Results of partitions, each in ascending order of the row numbers in their last column.
pub(crate) struct Outputs {
    file: RunFile,
    runs: Vec<Run>,
}

impl Outputs {
    /// For results of these types, the number included.
    pub(crate) fn create(types: Arc<[DataType]>, cx: Cx<'_>) -> Result<Outputs> {
        Ok(Outputs { file: RunFile::create(types, cx)?, runs: vec![] })
    }

    /// Begins the results of another partition.
    pub(crate) fn begin(&mut self) {
        self.runs.push(self.file.run());
    }

    /// Adds results of the partition begun last.
    pub(crate) fn push(&mut self, batch: &Batch, cx: Cx<'_>) -> Result<()> {
        self.runs.last_mut().map_or(Ok(()), |run| run.push(batch, cx))
    }

    /// All results in the order of their numbers.
    pub(crate) fn merge(self, cx: Cx<'_>) -> Result<NumberedOutput> {
        let types = self.file.types().clone();
        let key = MergeKey { column: types.len() - 1, direction: Direction::ASCENDING };
        let runs = self.runs.into_iter().filter(|run| !run.is_empty()).collect();
        Merge::new(runs, vec![key], &types, cx).map(NumberedOutput)
    }
}

/// Rows in the order of their numbers, which they no longer carry.
pub(crate) struct NumberedOutput(Merge);

impl NumberedOutput {
    pub(crate) fn next(&mut self, cx: Cx<'_>) -> Result<Option<Batch>> {
        let Some(batch) = self.0.next(cx)? else { return Ok(None) };
        let len = batch.len();
        let mut columns = batch.into_columns();
        columns.pop();
        Ok(Some(Batch::new(columns, len)))
    }
}

/// A column of the next `len` numbers.
pub(crate) fn number(next: &mut i64, len: usize) -> Arc<Vector> {
    let numbers: Vec<i64> = (*next..).take(len).collect();
    *next = next.saturating_add_unsigned(len as u64);
    Arc::new(Vector::from_parts(DataType::BigInt, Data::I64(numbers), None))
}

/// The batch with another column behind the others.
pub(crate) fn add_column(batch: &Batch, column: Arc<Vector>) -> Batch {
    let mut columns = batch.columns().to_vec();
    columns.push(column);
    Batch::new(columns, batch.len())
}
