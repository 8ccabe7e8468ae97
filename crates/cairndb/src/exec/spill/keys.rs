//! Where the keys of spilled rows lie.

use std::sync::Arc;

use crate::DataType;
use crate::columns::{Batch, Vector};
use crate::exec::expr::Evaluator;

/// Where the values of some expressions lie in spilled rows: those of plain columns there, others behind the row, so
/// that none is evaluated twice.
#[derive(Clone, Debug)]
pub(crate) struct SpilledKeys {
    places: Vec<usize>,
    width: usize,
}

impl SpilledKeys {
    /// `width`: columns of a row.
    pub(crate) fn new(width: usize, keys: &[Evaluator]) -> SpilledKeys {
        let mut next = width;
        let place = |key: &Evaluator| {
            key.as_column().unwrap_or_else(|| {
                next += 1;
                next - 1
            })
        };
        SpilledKeys { places: keys.iter().map(place).collect(), width }
    }

    /// The types of a row with its keys.
    pub(crate) fn types(&self, row: impl IntoIterator<Item = DataType>, keys: &[Evaluator]) -> Vec<DataType> {
        let computed = self.places.iter().zip(keys).filter(|(place, _)| **place >= self.width);
        row.into_iter().chain(computed.map(|(_, key)| key.data_type())).collect()
    }

    /// The row's columns with those of its keys.
    pub(crate) fn with_keys(&self, row: &[Arc<Vector>], keys: &[Arc<Vector>]) -> Vec<Arc<Vector>> {
        let computed = self.places.iter().zip(keys).filter(|(place, _)| **place >= self.width);
        row.iter().chain(computed.map(|(_, key)| key)).cloned().collect()
    }

    /// The keys' columns of spilled rows.
    pub(crate) fn of(&self, batch: &Batch) -> Vec<Arc<Vector>> {
        self.places.iter().map(|&place| batch.columns()[place].clone()).collect()
    }

    /// The keys' places.
    pub(crate) fn places(&self) -> &[usize] {
        &self.places
    }
}
