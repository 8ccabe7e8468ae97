//! How large a table is at present, as far as somebody who planned a statement has looked. It is shared by all versions of
//! the table's entry that have the same tree, it is no part of the schema, and a plan is right whatever it says.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use super::{ObjectId, TableStatistics};
use crate::sync::Mutex;

/// See the module.
#[derive(Debug)]
pub(crate) struct Live {
    /// The tree's stamp when it was looked at.
    stamp: AtomicU64,
    /// The bits of a number; below zero: nobody has looked.
    rows: AtomicU64,
    sample: Mutex<Option<Sample>>,
}

/// Statistics from a few rows.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    /// The tree's stamp then.
    pub(crate) stamp: u64,
    pub(crate) statistics: Arc<TableStatistics>,
    /// The indexes with expressions that were there.
    pub(crate) indexes: Arc<[ObjectId]>,
}

impl Default for Live {
    fn default() -> Live {
        Live { stamp: AtomicU64::new(0), rows: AtomicU64::new((-1.0_f64).to_bits()), sample: Mutex::default() }
    }
}

impl Live {
    /// The rows, if somebody has looked.
    pub(crate) fn rows(&self) -> Option<f64> {
        Some(f64::from_bits(self.rows.load(Relaxed))).filter(|rows| *rows >= 0.0)
    }

    /// The rows, if somebody has looked at the tree of this stamp.
    pub(crate) fn rows_at(&self, stamp: u64) -> Option<f64> {
        self.rows().filter(|_| self.stamp.load(Relaxed) == stamp)
    }

    pub(crate) fn set_rows(&self, stamp: u64, rows: f64) {
        self.rows.store(rows.to_bits(), Relaxed);
        self.stamp.store(stamp, Relaxed);
    }

    pub(crate) fn sample(&self) -> Option<Sample> {
        self.sample.lock().clone()
    }

    pub(crate) fn set_sample(&self, sample: Sample) {
        *self.sample.lock() = Some(sample);
    }
}
