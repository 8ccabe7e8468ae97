//! Results and their changes, as multisets of rows: a row is its bytes, so that rows are the same that look the same.

use std::collections::HashMap;
use std::sync::Arc;

use crate::types::DataType;
use crate::types::row::RowLayout;
use crate::{Result, Value};

/// A row of a result, in the layout of its types.
pub(super) type RowBytes = Arc<[u8]>;

/// How rows of a result lie in bytes.
#[derive(Debug)]
pub(super) struct RowForm {
    layout: RowLayout,
}

impl RowForm {
    pub(super) fn new(types: &[DataType]) -> RowForm {
        RowForm { layout: RowLayout::new(types) }
    }

    pub(super) fn encode(&self, row: &[Value], buffer: &mut Vec<u8>) {
        buffer.clear();
        self.layout.encode(row, buffer);
    }

    pub(super) fn decode(&self, row: &[u8]) -> Result<Vec<Value>> {
        let mut values = Vec::with_capacity(self.layout.types().len());
        self.layout.decode(row, &mut values)?;
        Ok(values)
    }
}

/// The rows of a result, each with how often it is there.
#[derive(Debug, Default)]
pub(super) struct ResultRows {
    rows: HashMap<RowBytes, u64>,
    /// In the order in which the query gave them; `None`: the rows are others since, and their order is not known.
    order: Option<Vec<RowBytes>>,
}

impl ResultRows {
    /// A result of no rows so far, which are pushed in order.
    pub(super) fn begin() -> ResultRows {
        ResultRows { rows: HashMap::new(), order: Some(Vec::new()) }
    }

    pub(super) fn push(&mut self, row: &[u8]) {
        let row = match self.rows.get_key_value(row) {
            Some((known, _)) => known.clone(),
            None => RowBytes::from(row),
        };
        *self.rows.entry(row.clone()).or_insert(0) += 1;
        self.order.get_or_insert_default().push(row);
    }

    /// The rows as the query gave them, if that is known.
    pub(super) fn in_order(&self) -> Option<&[RowBytes]> {
        self.order.as_deref()
    }

    /// The rows in any order.
    pub(super) fn in_any_order(&self) -> Vec<RowBytes> {
        match &self.order {
            Some(order) => order.clone(),
            None => {
                let rows = self.rows.iter();
                rows.flat_map(|(row, &count)| (0..count).map(move |_| row.clone())).collect()
            }
        }
    }

    /// Adds a change. False, and nothing was added: it takes away what is not there.
    pub(super) fn add(&mut self, change: &Weights) -> bool {
        if change.is_empty() {
            return true;
        }
        let left = |row: &RowBytes, weight: i64| self.rows.get(row).copied().unwrap_or(0).checked_add_signed(weight);
        if change.rows.iter().any(|(row, (weight, _))| left(row, *weight).is_none()) {
            return false;
        }
        self.order = None;
        for (row, (weight, _)) in &change.rows {
            let count = self.rows.entry(row.clone()).or_insert(0);
            *count = count.saturating_add_signed(*weight);
            if *count == 0 {
                self.rows.remove(row);
            }
        }
        true
    }

    /// What has to be added to `self` to get `newer`.
    pub(super) fn change_to(&self, newer: &ResultRows) -> Weights {
        let mut change = Weights::default();
        let weight = |count: Option<&u64>| count.copied().unwrap_or(0).cast_signed();
        // In the order of the newer result, each row once.
        for row in newer.order.iter().flatten() {
            if !change.has(row) {
                change.add(row, weight(newer.rows.get(row)) - weight(self.rows.get(row)));
            }
        }
        let known: Vec<&RowBytes> = match &self.order {
            Some(order) => order.iter().collect(),
            None => self.rows.keys().collect(),
        };
        for row in known {
            if !newer.rows.contains_key(row) && !change.has(row) {
                change.add(row, -weight(self.rows.get(row)));
            }
        }
        change
    }
}

/// Rows with weights: how many more of each there are, or fewer.
#[derive(Debug, Default)]
pub(super) struct Weights {
    /// With the number of the addition that brought the row, by which they are told.
    rows: HashMap<RowBytes, (i64, u64)>,
    additions: u64,
}

impl Weights {
    fn has(&self, row: &RowBytes) -> bool {
        self.rows.contains_key(row)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn add(&mut self, row: &RowBytes, weight: i64) {
        if weight == 0 {
            return;
        }
        self.additions += 1;
        let entry = self.rows.entry(row.clone()).or_insert((0, self.additions));
        *entry = (entry.0 + weight, self.additions);
        if entry.0 == 0 {
            self.rows.remove(row);
        }
    }

    /// Adds what comes after.
    pub(super) fn append(&mut self, later: &Weights) {
        for (row, weight) in later.in_order() {
            self.add(row, weight);
        }
    }

    /// Each row with its weight, in the order of their additions.
    pub(super) fn in_order(&self) -> impl Iterator<Item = (&RowBytes, i64)> {
        let mut rows: Vec<_> = self.rows.iter().collect();
        rows.sort_unstable_by_key(|(_, (_, addition))| *addition);
        rows.into_iter().map(|(row, (weight, _))| (row, *weight))
    }
}
