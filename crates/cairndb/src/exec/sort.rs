//! ORDER BY: all rows in order, or the first few.
//!
//! Row numbers are sorted, not rows. Each carries the first key as an order-preserving number; only where these are
//! equal (and do not tell all) are the keys themselves compared. Equal rows keep their order.

use std::cmp::Ordering;
use std::sync::Arc;

use super::batch::{Batch, row_number};
use super::compare::compare_values;
use super::context::{Charge, Cx};
use super::expr::Evaluator;
use super::hash::trim_blanks;
use super::limit::LimitValues;
use super::operator::{BoxOperator, Operator};
use super::rows::{Rows, RowsBuilder, collect};
use super::vector::{Data, Vector};
use crate::plan::{Field, SortKey};
use crate::{DataType, Result};

/// Which way one key is sorted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Direction {
    pub(crate) descending: bool,
    pub(crate) nulls_first: bool,
}

impl Direction {
    pub(crate) const ASCENDING: Direction = Direction { descending: false, nulls_first: false };

    pub(crate) fn of(key: &SortKey) -> Direction {
        Direction { descending: key.descending, nulls_first: key.nulls_first }
    }

    fn apply(self, order: Ordering) -> Ordering {
        if self.descending { order.reverse() } else { order }
    }

    /// The order of two rows by one key.
    fn compare(self, key: &Vector, a: usize, b: usize) -> Ordering {
        match (key.is_null(a), key.is_null(b)) {
            (false, false) => self.apply(compare_values(key, a, key, b)),
            (true, true) => Ordering::Equal,
            (a_is_null, _) if a_is_null == self.nulls_first => Ordering::Less,
            _ => Ordering::Greater,
        }
    }

    /// A number that sorts as the key does, as far as it goes.
    fn prefix(self, key: &Vector, row: usize) -> (u8, u64) {
        if key.is_null(row) {
            return (if self.nulls_first { 0 } else { 2 }, 0);
        }
        let prefix = value_prefix(key, row);
        (1, if self.descending { !prefix } else { prefix })
    }
}

fn value_prefix(key: &Vector, row: usize) -> u64 {
    const SIGN: u64 = 1 << 63;
    match key.data() {
        Data::Bool(values) => values[row].into(),
        Data::I16(values) => i64::from(values[row]).cast_unsigned() ^ SIGN,
        Data::I32(values) => i64::from(values[row]).cast_unsigned() ^ SIGN,
        Data::I64(values) => values[row].cast_unsigned() ^ SIGN,
        Data::F32(values) => float_prefix(values[row].into()),
        Data::F64(values) => float_prefix(values[row]),
        Data::Values(_) => 0,
        Data::Bytes(strings) => {
            let bytes = strings.get(row);
            let bytes = if matches!(key.data_type(), DataType::Char(_)) { trim_blanks(bytes) } else { bytes };
            let mut first = [0; 8];
            let len = bytes.len().min(8);
            first[..len].copy_from_slice(&bytes[..len]);
            u64::from_be_bytes(first)
        }
    }
}

fn float_prefix(value: f64) -> u64 {
    let bits = crate::types::float_hash_bits(value);
    if value.is_nan() {
        u64::MAX
    } else if bits >> 63 == 1 {
        !bits
    } else {
        bits | 1 << 63
    }
}

/// Row numbers in the order of the keys; stable.
pub(crate) fn sorted_rows<V: AsRef<Vector>>(keys: &[V], directions: &[Direction], len: usize) -> Vec<u32> {
    let Some((first, direction)) = keys.first().zip(directions.first()) else {
        return (0..row_number(len)).collect();
    };
    let first = first.as_ref();
    let mut entries: Vec<(u8, u64, u32)> = (0..len)
        .map(|row| {
            let (class, prefix) = direction.prefix(first, row);
            (class, prefix, row_number(row))
        })
        .collect();
    // The prefix of a fixed-width key is all of it.
    let skipped = usize::from(!matches!(first.data(), Data::Bytes(_) | Data::Values(_)));
    let rest: Vec<(&Vector, Direction)> =
        keys.iter().map(AsRef::as_ref).zip(directions.iter().copied()).skip(skipped).collect();
    entries.sort_unstable_by(|a, b| {
        (a.0, a.1)
            .cmp(&(b.0, b.1))
            .then_with(|| compare_rows(&rest, a.2 as usize, b.2 as usize))
            .then_with(|| a.2.cmp(&b.2))
    });
    entries.into_iter().map(|entry| entry.2).collect()
}

fn compare_rows(keys: &[(&Vector, Direction)], a: usize, b: usize) -> Ordering {
    keys.iter()
        .map(|(key, direction)| direction.compare(key, a, b))
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

/// The keys to sort by, compiled.
pub(crate) struct SortKeys {
    keys: Vec<Evaluator>,
    directions: Vec<Direction>,
}

impl SortKeys {
    pub(crate) fn new(keys: Vec<Evaluator>, plan: &[SortKey]) -> SortKeys {
        SortKeys { keys, directions: plan.iter().map(Direction::of).collect() }
    }

    fn sort(&mut self, rows: &Rows, cx: Cx<'_>) -> Result<Vec<u32>> {
        let keys = self.keys.iter_mut().map(|key| key.vector(rows.frame(), cx)).collect::<Result<Vec<Arc<_>>>>()?;
        Ok(sorted_rows(&keys, &self.directions, rows.len))
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

/// All rows in order.
pub(crate) struct Sort {
    input: BoxOperator,
    fields: Vec<Field>,
    keys: SortKeys,
    ordered: Option<Ordered>,
    charge: Charge,
}

impl Sort {
    pub(crate) fn new(input: BoxOperator, fields: Vec<Field>, keys: SortKeys) -> Sort {
        Sort { input, fields, keys, ordered: None, charge: Charge::default() }
    }
}

impl Operator for Sort {
    fn next(&mut self, cx: Cx<'_>) -> Result<Option<Batch>> {
        cx.check()?;
        let ordered = match &mut self.ordered {
            Some(ordered) => ordered,
            none => {
                let rows = collect(&mut self.input, &self.fields, &mut self.charge, cx)?;
                self.charge.add(rows.len.saturating_mul(16), cx.shared)?;
                let order = self.keys.sort(&rows, cx)?;
                none.insert(Ordered { rows, order, next: 0 })
            }
        };
        Ok(ordered.next(cx))
    }

    fn reset(&mut self, cx: Cx<'_>) {
        self.input.reset(cx);
        self.ordered = None;
        self.charge.clear(cx.shared);
    }
}

/// The first rows in order: keeps no more than a few times as many as are asked for.
pub(crate) struct TopN {
    input: BoxOperator,
    fields: Vec<Field>,
    keys: SortKeys,
    limit: LimitValues,
    ordered: Option<Ordered>,
    charge: Charge,
}

/// Rows collected before the surplus is dropped, at least.
const SURPLUS_MIN: usize = 1024;

impl TopN {
    pub(crate) fn new(input: BoxOperator, fields: Vec<Field>, keys: SortKeys, limit: LimitValues) -> TopN {
        TopN { input, fields, keys, limit, ordered: None, charge: Charge::default() }
    }

    fn run(&mut self, cx: Cx<'_>) -> Result<Ordered> {
        let (offset, limit) = self.limit.evaluate(cx)?;
        let wanted = limit.map_or(usize::MAX, |limit| limit.saturating_add(offset));
        let threshold = wanted.saturating_mul(2).max(SURPLUS_MIN);
        let mut kept = RowsBuilder::new(&self.fields);
        let mut len = 0;
        loop {
            cx.check()?;
            let next = if wanted == 0 { None } else { self.input.next(cx)? };
            let Some(batch) = next else { break };
            len += batch.len();
            kept.add(&batch, &mut self.charge, cx)?;
            if len > threshold {
                kept = self.truncate(kept, wanted, cx)?;
                len = wanted;
            }
        }
        let rows = kept.finish();
        let mut order = self.keys.sort(&rows, cx)?;
        order.truncate(wanted);
        Ok(Ordered { rows, order, next: offset })
    }

    /// Keeps the first rows, in order: later rows that are equal stay behind them.
    fn truncate(&mut self, kept: RowsBuilder, wanted: usize, cx: Cx<'_>) -> Result<RowsBuilder> {
        let rows = kept.finish();
        let mut order = self.keys.sort(&rows, cx)?;
        order.truncate(wanted);
        let columns = rows.columns.iter().map(|column| Arc::new(column.gather(&order))).collect();
        self.charge.clear(cx.shared);
        let mut kept = RowsBuilder::new(&self.fields);
        kept.add(&Batch::new(columns, order.len()), &mut self.charge, cx)?;
        Ok(kept)
    }
}

impl Operator for TopN {
    fn next(&mut self, cx: Cx<'_>) -> Result<Option<Batch>> {
        if self.ordered.is_none() {
            self.ordered = Some(self.run(cx)?);
        }
        Ok(self.ordered.as_mut().and_then(|ordered| ordered.next(cx)))
    }

    fn reset(&mut self, cx: Cx<'_>) {
        self.input.reset(cx);
        self.ordered = None;
        self.charge.clear(cx.shared);
    }
}
