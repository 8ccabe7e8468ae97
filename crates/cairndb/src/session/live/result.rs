//! Results and their changes, as multisets of rows: a row is its bytes, so that rows are the same that look the same.

use std::collections::HashMap;
use std::sync::Arc;

use crate::columns::QuickHashes;
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

    /// How many columns rows have.
    pub(super) fn width(&self) -> usize {
        self.layout.types().len()
    }

    pub(super) fn decode(&self, row: &[u8]) -> Result<Vec<Value>> {
        let mut values = Vec::with_capacity(self.width());
        self.decode_into(row, &mut values)?;
        Ok(values)
    }

    /// Puts the row's values behind these.
    pub(super) fn decode_into(&self, row: &[u8], values: &mut Vec<Value>) -> Result<()> {
        self.layout.decode(row, values)
    }
}

/// The rows of a result, each with how often it is there.
#[derive(Debug, Default)]
pub(super) struct ResultRows {
    rows: HashMap<RowBytes, u64, QuickHashes>,
    /// In the order in which the query gave them; `None`: the rows are others since, and their order is not known.
    order: Option<Vec<RowBytes>>,
}

impl ResultRows {
    /// A result of no rows so far, which are pushed in order.
    pub(super) fn begin() -> ResultRows {
        ResultRows { rows: HashMap::default(), order: Some(Vec::new()) }
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
        let added = change.rows.iter().take_while(|known| self.add_row(&known.row, known.weight)).count();
        if added < change.rows.len() {
            change.rows[..added].iter().for_each(|known| {
                self.add_row(&known.row, -known.weight);
            });
            return false;
        }
        self.order = None;
        true
    }

    fn add_row(&mut self, row: &RowBytes, weight: i64) -> bool {
        let Some(count) = self.rows.get(row).copied().unwrap_or(0).checked_add_signed(weight) else { return false };
        match count {
            0 => drop(self.rows.remove(row)),
            count => drop(self.rows.insert(row.clone(), count)),
        }
        true
    }

    /// The bytes of a row: those that are kept, where there are some.
    pub(super) fn shared(&self, row: &[u8]) -> RowBytes {
        self.rows.get_key_value(row).map_or_else(|| row.into(), |(known, _)| known.clone())
    }

    /// What has to be added to `self` to get `newer`.
    pub(super) fn change_to(&self, newer: &ResultRows) -> Weights {
        let mut change = Weights::default();
        let weight = |count: Option<&u64>| count.copied().unwrap_or(0).cast_signed();
        // In the order of the newer result, each row once.
        for row in newer.order.iter().flatten() {
            if !change.has(row) {
                change.add(row.clone(), weight(newer.rows.get(row)) - weight(self.rows.get(row)));
            }
        }
        let known: Vec<&RowBytes> = match &self.order {
            Some(order) => order.iter().collect(),
            None => self.rows.keys().collect(),
        };
        for row in known {
            if !newer.rows.contains_key(row) && !change.has(row) {
                change.add(row.clone(), -weight(self.rows.get(row)));
            }
        }
        change
    }
}

/// Rows with weights: how many more of each there are, or fewer.
#[derive(Clone, Debug, Default)]
pub(super) struct Weights {
    /// Each row once, with no weight of zero.
    rows: Vec<Weighted>,
    /// Where each row is, once there are more than [`FEW`].
    places: HashMap<RowBytes, usize, QuickHashes>,
    additions: u64,
}

#[derive(Clone, Debug)]
struct Weighted {
    row: RowBytes,
    weight: i64,
    /// The number of the last addition of the row, by which they are told.
    addition: u64,
}

/// So many rows are looked through one by one: most changes are of one row or two.
pub(super) const FEW: usize = 8;

impl Weights {
    fn place(&self, row: &RowBytes) -> Option<usize> {
        match self.rows.len() <= FEW {
            true => self.rows.iter().position(|known| known.row == *row),
            false => self.places.get(row).copied(),
        }
    }

    fn has(&self, row: &RowBytes) -> bool {
        self.place(row).is_some()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn add(&mut self, row: RowBytes, weight: i64) {
        if weight == 0 {
            return;
        }
        self.additions += 1;
        match self.place(&row) {
            Some(at) => {
                let known = &mut self.rows[at];
                (known.weight, known.addition) = (known.weight + weight, self.additions);
                if known.weight == 0 {
                    self.remove(at);
                }
            }
            None => self.push(Weighted { row, weight, addition: self.additions }),
        }
    }

    fn push(&mut self, weighted: Weighted) {
        if self.rows.is_empty() {
            // As it was, and as it is.
            self.rows.reserve_exact(2);
        }
        self.rows.push(weighted);
        match self.rows.len() {
            ..=FEW => {}
            len if len == FEW + 1 => {
                self.places.clear();
                self.places.extend(self.rows.iter().enumerate().map(|(at, known)| (known.row.clone(), at)));
            }
            len => {
                self.places.insert(self.rows[len - 1].row.clone(), len - 1);
            }
        }
    }

    fn remove(&mut self, at: usize) {
        let removed = self.rows.swap_remove(at);
        if self.rows.len() >= FEW {
            self.places.remove(&removed.row);
            if let Some(moved) = self.rows.get(at) {
                self.places.insert(moved.row.clone(), at);
            }
        }
    }

    /// Adds what comes after.
    pub(super) fn append(&mut self, later: &Weights) {
        if self.is_empty() {
            self.clone_from(later);
            return;
        }
        for (row, weight) in later.in_order() {
            self.add(row.clone(), weight);
        }
    }

    /// One row that goes and one that comes, if that is all.
    pub(super) fn as_pair(&self) -> Option<(&RowBytes, &RowBytes)> {
        match self.rows.as_slice() {
            [a, b] if (a.weight, b.weight) == (-1, 1) => Some((&a.row, &b.row)),
            [a, b] if (a.weight, b.weight) == (1, -1) => Some((&b.row, &a.row)),
            _ => None,
        }
    }

    /// Each row with its weight, in the order of their additions.
    pub(super) fn in_order(&self) -> impl Iterator<Item = (&RowBytes, i64)> {
        let mut sorted: Vec<&Weighted> = vec![];
        if !self.rows.is_sorted_by_key(|known| known.addition) {
            sorted.extend(&self.rows);
            sorted.sort_unstable_by_key(|known| known.addition);
        }
        (0..self.rows.len()).map(move |at| {
            let known = sorted.get(at).copied().unwrap_or(&self.rows[at]);
            (&known.row, known.weight)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_that_takes_away_what_is_not_there_changes_nothing() {
        let row = |byte: u8| RowBytes::from(&[byte][..]);
        let mut rows = ResultRows::begin();
        [1, 1, 2].iter().for_each(|byte| rows.push(&[*byte]));
        let change = |weights: &[(u8, i64)]| {
            let mut change = Weights::default();
            weights.iter().for_each(|(byte, weight)| change.add(row(*byte), *weight));
            change
        };
        assert!(!rows.add(&change(&[(1, -2), (3, 1), (2, -2)])));
        assert_eq!(rows.in_order().map(<[_]>::len), Some(3));
        assert_eq!(rows.rows, HashMap::from_iter([(row(1), 2), (row(2), 1)]));
        assert!(rows.add(&change(&[(1, -2), (3, 1), (2, 1)])));
        assert_eq!(rows.rows, HashMap::from_iter([(row(3), 1), (row(2), 2)]));
        assert!(rows.in_order().is_none());
    }

    /// Beside a map, around the length at which places are kept.
    #[test]
    fn weights_are_those_of_a_map_however_many_there_are() {
        let mut state = 5u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for keys in [1, 3, 9, 12, 40] {
            let (mut weights, mut model) = (Weights::default(), HashMap::<u64, i64>::new());
            let mut last = Vec::new();
            for _ in 0..2000 {
                let (key, weight) = (random(keys), random(5).cast_signed() - 2);
                let row = RowBytes::from(&key.to_be_bytes()[..]);
                weights.add(row, weight);
                *model.entry(key).or_insert(0) += weight;
                model.retain(|_, weight| *weight != 0);
                last.retain(|known| *known != key || weight == 0);
                if weight != 0 {
                    last.push(key);
                }
                last.retain(|key| model.contains_key(key));
                let told: Vec<_> = weights.in_order().map(|(row, weight)| (row.clone(), weight)).collect();
                let expected: Vec<_> =
                    last.iter().map(|key| (RowBytes::from(&key.to_be_bytes()[..]), model[key])).collect();
                assert_eq!(told, expected);
                assert_eq!(weights.is_empty(), model.is_empty());
                assert!((0..keys).all(|key| weights.has(&key.to_be_bytes()[..].into()) == model.contains_key(&key)));
            }
        }
    }
}
