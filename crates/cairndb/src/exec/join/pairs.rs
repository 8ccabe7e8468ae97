//! From candidate pairs of rows to a join's output: the rest of the condition, unmatched rows, semi and anti joins.
//!
//! Candidates come in chunks, each covering some consecutive rows of the left batch. Invariants: within a chunk pairs
//! are ordered by left row, so output keeps the left's order; only a chunk's last row may be incomplete, and then the
//! next chunk begins with that row. What is known of it (`matched`) is carried over.

use std::ops::Range;
use std::sync::Arc;

use crate::columns::{Batch, Bitmap, NO_ROW, Vector, row_number};
use crate::exec::context::Cx;
use crate::exec::expr::{Evaluator, Frame, rebind_all};
use crate::plan::JoinKind;
use crate::{Result, Value};

/// Candidate pairs of rows.
#[derive(Default)]
pub(super) struct Chunk {
    pub(super) left: Vec<u32>,
    pub(super) right: Vec<u32>,
    /// The left rows whose candidates these are.
    pub(super) rows: Range<usize>,
    /// There are no further candidates for the last of `rows`.
    pub(super) complete: bool,
}

/// How a join treats its pairs.
pub(crate) struct Pairing {
    kind: JoinKind,
    residual: Option<Evaluator>,
    /// Columns of the left input.
    left_width: usize,
    /// The rest of the condition is worked out for a pair at a time: for no pair that nobody asks for.
    sparing: bool,
    /// The incomplete left row has had a match.
    matched: bool,
}

impl Pairing {
    /// `residual`: the rest of the condition, over the left row's columns, then the right's.
    pub(crate) fn new(kind: JoinKind, residual: Option<Evaluator>, left_width: usize) -> Pairing {
        Pairing { kind, residual, left_width, sparing: false, matched: false }
    }

    /// The same, for a condition that is not to be worked out for pairs that nobody asks for.
    pub(crate) fn sparing(self, sparing: bool) -> Pairing {
        Pairing { sparing, ..self }
    }

    /// As many pairs as are asked together.
    pub(super) fn pairs_max(&self, cx: Cx<'_>) -> usize {
        if self.sparing { 1 } else { cx.context().batch_sizes.max.max(1) }
    }

    /// Pairs are asked for nothing but which right rows are in one.
    pub(super) fn only_notes(&self) -> bool {
        self.residual.is_none() && !self.kind.shows_left()
    }

    /// One candidate that passes settles a left row: the others need not be looked for.
    pub(super) fn first_is_enough(&self) -> bool {
        self.residual.is_none() && matches!(self.kind, JoinKind::Semi | JoinKind::Anti)
    }

    pub(super) fn kind(&self) -> JoinKind {
        self.kind
    }

    pub(super) fn reset(&mut self) {
        self.matched = false;
    }

    /// As [`Operator::rebind`](crate::exec::operator::Operator::rebind).
    pub(super) fn rebind(&mut self, parameters: &[Value]) -> bool {
        rebind_all(&mut self.residual, parameters)
    }

    /// The output for a chunk; `None`: no rows. `seen`: to note which right rows found a match.
    pub(super) fn join(
        &mut self,
        left: &Batch,
        right: &[Arc<Vector>],
        mut chunk: Chunk,
        seen: Option<&mut Bitmap>,
        cx: Cx<'_>,
    ) -> Result<Option<Batch>> {
        if !chunk.left.is_empty() {
            self.apply_residual(left, right, &mut chunk, cx)?;
        }
        if let Some(seen) = seen {
            chunk.right.iter().for_each(|&row| seen.set(row as usize));
        }
        let pairs = match self.kind {
            JoinKind::Inner | JoinKind::Right => (chunk.left, chunk.right),
            // They come last.
            JoinKind::RightSemi | JoinKind::RightAnti => return Ok(None),
            _ => self.settle(&chunk),
        };
        Ok(self.output(left, right, &pairs.0, &pairs.1))
    }

    fn apply_residual(&mut self, left: &Batch, right: &[Arc<Vector>], chunk: &mut Chunk, cx: Cx<'_>) -> Result<()> {
        let Some(residual) = &mut self.residual else { return Ok(()) };
        let columns: Vec<Arc<Vector>> = (0..self.left_width + right.len())
            .map(|index| match (residual.uses(index), index.checked_sub(self.left_width)) {
                (false, _) => Arc::new(Vector::new(crate::DataType::Boolean)),
                (true, None) => Arc::new(left.columns()[index].gather(&chunk.left)),
                (true, Some(index)) => Arc::new(right[index].gather(&chunk.right)),
            })
            .collect();
        let passed = residual.true_rows(Frame { columns: &columns, len: chunk.left.len() }, cx)?;
        if passed.len() < chunk.left.len() {
            chunk.left = passed.iter().map(|&pair| chunk.left[pair as usize]).collect();
            chunk.right = passed.iter().map(|&pair| chunk.right[pair as usize]).collect();
        }
        Ok(())
    }

    /// Left, full, semi and anti joins: goes through the left rows with their matches.
    fn settle(&mut self, chunk: &Chunk) -> (Vec<u32>, Vec<u32>) {
        let (mut left, mut right) = (vec![], vec![]);
        let mut position = 0;
        for row in chunk.rows.clone() {
            let number = row_number(row);
            let start = position;
            while chunk.left.get(position) == Some(&number) {
                position += 1;
            }
            let matched_before = std::mem::take(&mut self.matched);
            let matches = position - start;
            let complete = chunk.complete || row + 1 < chunk.rows.end;
            let unmatched = matches == 0 && !matched_before && complete;
            match self.kind {
                JoinKind::Semi if matches > 0 && !matched_before => left.push(number),
                JoinKind::Anti if unmatched => left.push(number),
                JoinKind::Left | JoinKind::Full if unmatched => {
                    left.push(number);
                    right.push(NO_ROW);
                }
                JoinKind::Left | JoinKind::Full => {
                    left.extend_from_slice(&chunk.left[start..position]);
                    right.extend_from_slice(&chunk.right[start..position]);
                }
                _ => {}
            }
            self.matched = !complete && (matched_before || matches > 0);
        }
        (left, right)
    }

    fn output(&self, left: &Batch, right: &[Arc<Vector>], l: &[u32], r: &[u32]) -> Option<Batch> {
        if l.is_empty() {
            return None;
        }
        let mut columns = gather_shared(left.columns(), left.len(), l);
        if self.kind.shows_right() {
            columns.append(&mut gather_shared(right, right.first().map_or(0, |column| column.len()), r));
        }
        Some(Batch::new(columns, l.len()))
    }
}

/// The rows of columns that have `len`; the columns themselves where these are all of them.
fn gather_shared(columns: &[Arc<Vector>], len: usize, rows: &[u32]) -> Vec<Arc<Vector>> {
    let same = rows.len() == len && rows.iter().enumerate().all(|(position, &row)| row_number(position) == row);
    if same { columns.to_vec() } else { columns.iter().map(|column| Arc::new(column.gather(rows))).collect() }
}

/// Whether left rows without a match are in the result.
pub(super) fn keeps_left(kind: JoinKind) -> bool {
    matches!(kind, JoinKind::Left | JoinKind::Full | JoinKind::Anti)
}

/// Whether right rows come last, for having a match or for having none.
pub(super) fn notes_right(kind: JoinKind) -> bool {
    matches!(kind, JoinKind::Right | JoinKind::Full | JoinKind::RightSemi | JoinKind::RightAnti)
}

/// Rows of the right side that have a match, or have none, from `start` on, at most `count`, with NULLs for the left
/// side's columns; and where to go on.
pub(super) fn right_alone(
    left_types: &[crate::DataType],
    right: &[Arc<Vector>],
    (seen, wanted): (&Bitmap, bool),
    start: usize,
    count: usize,
) -> (Option<Batch>, usize) {
    let mut rows = vec![];
    let mut position = start;
    while position < seen.len() && rows.len() < count {
        if seen.get(position) == wanted {
            rows.push(row_number(position));
        }
        position += 1;
    }
    if rows.is_empty() {
        return (None, position);
    }
    let nulls = vec![NO_ROW; rows.len()];
    let left = left_types.iter().map(|&data_type| Arc::new(Vector::new(data_type).gather(&nulls)));
    let columns = left.chain(right.iter().map(|column| Arc::new(column.gather(&rows)))).collect();
    (Some(Batch::new(columns, rows.len())), position)
}
