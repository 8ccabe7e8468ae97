//! ORDER BY: all rows in order, or the first few.
//!
//! Row numbers are sorted, not rows ([`super::row_order`]). Equal rows keep their order. Rows beyond `work_mem` are
//! written as sorted runs and merged. Where the input comes in the order of the first keys, it is sorted run after run
//! ([`super::sort_runs`]).

use std::sync::Arc;

use super::context::{Charge, Cx};
use super::expr::{Evaluator, Frame};
use super::limit::LimitValues;
use super::operator::{Operator, Step};
use super::row_order::{Direction, sorted_rows};
use super::rows::{Rows, RowsBuilder};
use super::sort_runs::Runs;
use super::spill::{Merge, MergeKey, Run, RunFile, SpilledKeys};
use crate::columns::{Batch, Vector, row_number};
use crate::plan::{Field, SortKey};
use crate::{Error, Result};

/// The keys to sort by, compiled.
pub(crate) struct SortKeys {
    keys: Vec<Evaluator>,
    directions: Vec<Direction>,
}

impl SortKeys {
    pub(crate) fn new(keys: Vec<Evaluator>, plan: &[SortKey]) -> SortKeys {
        SortKeys { keys, directions: plan.iter().map(Direction::of).collect() }
    }

    /// The keys of one row.
    pub(super) fn row(&mut self, batch: &Batch, row: usize, cx: Cx<'_>) -> Result<Vec<Arc<Vector>>> {
        let keys = self.of(batch, cx)?;
        Ok(keys.iter().map(|key| Arc::new(key.gather(&[row_number(row)]))).collect())
    }

    /// How many of the first rows have the keys of a row.
    pub(super) fn equal_to(&mut self, last: &[Arc<Vector>], batch: &Batch, cx: Cx<'_>) -> Result<usize> {
        let keys = self.of(batch, cx)?;
        let is_equal = |row: usize| {
            let same = |(key, last): (&Arc<Vector>, &Arc<Vector>)| {
                Direction::ASCENDING.compare_between(key, row, last, 0).is_eq()
            };
            keys.iter().zip(last).all(same)
        };
        Ok((0..batch.len()).take_while(|row| is_equal(*row)).count())
    }

    pub(super) fn of(&mut self, batch: &Batch, cx: Cx<'_>) -> Result<Vec<Arc<Vector>>> {
        let frame = Frame { columns: batch.columns(), len: batch.len() };
        self.keys.iter_mut().map(|key| key.vector(frame, cx)).collect()
    }

    fn evaluate(&mut self, rows: &Rows, cx: Cx<'_>) -> Result<Vec<Arc<Vector>>> {
        self.keys.iter_mut().map(|key| key.vector(rows.frame(), cx)).collect()
    }

    fn sort(&mut self, rows: &Rows, cx: Cx<'_>) -> Result<Vec<u32>> {
        Ok(sorted_rows(&self.evaluate(rows, cx)?, &self.directions, rows.len))
    }
}

/// Puts out rows of a materialised result in some order.
struct Ordered {
    rows: Rows,
    order: Vec<u32>,
    next: usize,
}

impl Ordered {
    fn next(&mut self, cx: Cx<'_>) -> Option<Batch> {
        let end = self.order.len().min(self.next + cx.context().batch_sizes.max.max(1));
        let order = self.order.get(self.next..end).filter(|order| !order.is_empty())?;
        self.next = end;
        let columns = self.rows.columns.iter().map(|column| Arc::new(column.gather(order))).collect();
        Some(Batch::new(columns, order.len()))
    }
}

/// Sorted runs, and how their rows are made of the input's.
struct SortedRuns {
    file: RunFile,
    keys: SpilledKeys,
    runs: Vec<Run>,
}

/// Sorted rows on their way out.
enum Output {
    Kept(Ordered),
    /// With the columns of the keys, the rows still to skip, and those still to put out.
    Merged(Merge, usize, usize),
}

/// What was read, while the input has more.
struct Reading {
    /// Rows to skip, and rows that are wanted with those.
    offset: usize,
    wanted: usize,
    /// How many rows there were.
    read: usize,
    kept: RowsBuilder,
    runs: Option<SortedRuns>,
}

/// Rows in order: all of them, or the first few, of which it keeps no more than a few times as many as are asked for.
pub(crate) struct Sort {
    input: Runs,
    fields: Vec<Field>,
    keys: SortKeys,
    /// `TopN`.
    limit: Option<LimitValues>,
    /// Rows to skip, and rows that are wanted with those, from here on; `None`: not evaluated.
    rest: Option<(usize, usize)>,
    /// `None`: it has not begun, or is done.
    reading: Option<Reading>,
    output: Option<Output>,
    charge: Charge,
}

/// Rows collected before the surplus is dropped, at least.
const SURPLUS_MIN: usize = 1024;

/// What sorting takes for each row besides the row.
const ORDER_BYTES: usize = 24;

impl Sort {
    pub(crate) fn new(input: Runs, fields: Vec<Field>, keys: SortKeys) -> Sort {
        Sort { input, fields, keys, limit: None, rest: None, reading: None, output: None, charge: Charge::default() }
    }

    pub(crate) fn top(input: Runs, fields: Vec<Field>, keys: SortKeys, limit: LimitValues) -> Sort {
        Sort { limit: Some(limit), ..Sort::new(input, fields, keys) }
    }

    fn begin(&mut self, cx: Cx<'_>) -> Result<Reading> {
        let (offset, wanted) = match self.rest {
            Some(rest) => rest,
            None => {
                let (offset, limit) = self.limit.as_mut().map_or(Ok((0, None)), |limit| limit.evaluate(cx))?;
                (offset, limit.map_or(usize::MAX, |limit| limit.saturating_add(offset)))
            }
        };
        Ok(Reading { offset, wanted, read: 0, kept: RowsBuilder::new(&self.fields), runs: None })
    }

    /// Reads the input to its end, or to that of a run.
    fn read(&mut self, cx: Cx<'_>) -> Step<Output> {
        let mut reading = match self.reading.take() {
            Some(reading) => reading,
            None => self.begin(cx)?,
        };
        while reading.wanted > 0 {
            cx.check()?;
            match self.input.next(cx) {
                Ok(Some(batch)) => self.take(batch, &mut reading, cx)?,
                Ok(None) => break,
                Err(no_answer) => {
                    self.reading = Some(reading);
                    return Err(no_answer);
                }
            }
        }
        Ok(self.finish(reading, cx)?)
    }

    fn take(&mut self, batch: Batch, reading: &mut Reading, cx: Cx<'_>) -> Result<()> {
        let Reading { wanted, read, kept, runs, .. } = reading;
        kept.append(&batch)?;
        *read += batch.len();
        self.charge.note_more(batch.memory_bytes().saturating_add(batch.len() * ORDER_BYTES), cx.shared);
        if kept.len() > wanted.saturating_mul(2).max(SURPLUS_MIN) {
            *kept = self.truncate(kept.take(&self.fields), *wanted, cx)?;
        }
        match self.charge.is_over(cx.shared) {
            true => self.spill(kept.take(&self.fields), *wanted, runs, cx),
            false => Ok(()),
        }
    }

    fn finish(&mut self, Reading { offset, wanted, read, kept, mut runs }: Reading, cx: Cx<'_>) -> Result<Output> {
        let rest = if wanted == usize::MAX { wanted } else { wanted.saturating_sub(read) };
        self.rest = Some((offset.saturating_sub(read), rest));
        if runs.is_none() {
            let rows = kept.finish();
            let mut order = self.keys.sort(&rows, cx)?;
            order.truncate(wanted);
            return Ok(Output::Kept(Ordered { rows, order, next: offset }));
        }
        self.spill(kept, wanted, &mut runs, cx)?;
        let sorted = runs.ok_or_else(|| Error::internal("a sort lost its runs"))?;
        Ok(Output::Merged(self.merge(sorted, cx)?, offset, wanted.saturating_sub(offset)))
    }

    /// Keeps the first rows, in order: later rows that are equal stay behind them.
    fn truncate(&mut self, kept: RowsBuilder, wanted: usize, cx: Cx<'_>) -> Result<RowsBuilder> {
        let rows = kept.finish();
        let mut order = self.keys.sort(&rows, cx)?;
        order.truncate(wanted);
        let columns = rows.columns.iter().map(|column| Arc::new(column.gather(&order))).collect();
        let batch = Batch::new(columns, order.len());
        let mut kept = RowsBuilder::new(&self.fields);
        kept.append(&batch)?;
        self.charge.note(batch.memory_bytes().saturating_add(batch.len() * ORDER_BYTES), cx.shared);
        Ok(kept)
    }

    /// Writes the rows, as far as they are wanted, as a sorted run.
    fn spill(&mut self, kept: RowsBuilder, wanted: usize, to: &mut Option<SortedRuns>, cx: Cx<'_>) -> Result<()> {
        let rows = kept.finish();
        let keys = self.keys.evaluate(&rows, cx)?;
        let mut order = sorted_rows(&keys, &self.keys.directions, rows.len);
        order.truncate(wanted);
        let to = match to {
            Some(to) => to,
            none => none.insert(self.sorted_runs(cx)?),
        };
        let columns = to.keys.with_keys(&rows.columns, &keys);
        let mut run = to.file.run();
        for order in order.chunks(cx.context().batch_sizes.max.max(1)) {
            let columns = columns.iter().map(|column| Arc::new(column.gather(order))).collect();
            run.push(&Batch::new(columns, order.len()), cx)?;
        }
        to.runs.push(run);
        self.charge.clear(cx.shared);
        Ok(())
    }

    fn sorted_runs(&self, cx: Cx<'_>) -> Result<SortedRuns> {
        let keys = SpilledKeys::new(self.fields.len(), &self.keys.keys);
        let types = keys.types(self.fields.iter().map(|field| field.data_type), &self.keys.keys);
        Ok(SortedRuns { file: RunFile::create(types.into(), cx)?, keys, runs: vec![] })
    }

    fn merge(&self, sorted: SortedRuns, cx: Cx<'_>) -> Result<Merge> {
        let directions = self.keys.directions.iter();
        let places = sorted.keys.places().iter();
        let keys = places.zip(directions).map(|(&column, &direction)| MergeKey { column, direction }).collect();
        Merge::new(sorted.runs, keys, sorted.file.types(), cx)
    }
}

/// The merge's next rows, without the columns of the keys.
fn next_merged(
    merge: &mut Merge,
    skip: &mut usize,
    left: &mut usize,
    width: usize,
    cx: Cx<'_>,
) -> Result<Option<Batch>> {
    while *left > 0 {
        let Some(batch) = merge.next(cx)? else { return Ok(None) };
        if *skip >= batch.len() {
            *skip -= batch.len();
            continue;
        }
        let batch = batch.slice(std::mem::take(skip), *left);
        *left -= batch.len();
        let len = batch.len();
        let mut columns = batch.into_columns();
        columns.truncate(width);
        return Ok(Some(Batch::new(columns, len)));
    }
    Ok(None)
}

impl Operator for Sort {
    fn next(&mut self, cx: Cx<'_>) -> Step<Option<Batch>> {
        loop {
            cx.check()?;
            if self.output.is_none() {
                self.output = Some(self.read(cx)?);
            }
            let batch = match &mut self.output {
                Some(Output::Kept(ordered)) => ordered.next(cx),
                Some(Output::Merged(merge, skip, left)) => next_merged(merge, skip, left, self.fields.len(), cx)?,
                None => None,
            };
            if batch.is_some() || self.rest.is_some_and(|(_, wanted)| wanted == 0) || !self.input.begin() {
                return Ok(batch);
            }
            self.output = None;
            self.charge.clear(cx.shared);
        }
    }

    fn reset(&mut self, cx: Cx<'_>) {
        self.input.reset(cx);
        self.rest = None;
        self.reading = None;
        self.output = None;
        self.charge.clear(cx.shared);
    }
}
