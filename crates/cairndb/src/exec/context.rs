//! What one execution may use and must respect: the state to read, parameters, the interrupt, the deadline, the
//! memory budget.
//!
//! Invariant: every operator asks [`Cx::check`] at least once per batch it makes or takes, so a statement ends
//! soon after it is interrupted or its time is up; whatever grows with the data is charged to [`Shared::charge`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use cairn_storage::Reader;

use crate::functions::EvalContext;
use crate::{Error, Result, SqlState, Value};

/// Where `nextval` and its kin get their numbers.
pub trait SequenceSource: Send + Sync {
    /// Advances the sequence and returns the new value.
    fn next_value(&self, name: &str) -> Result<i64>;
    /// The value that this session got last.
    fn current_value(&self, name: &str) -> Result<i64>;
    /// Makes `value` the current one, and returns it.
    fn set_value(&self, name: &str, value: i64) -> Result<i64>;
}

/// Rows per batch: an execution's first batches are small, so that a query for one row does not pay for a thousand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchSizes {
    /// Rows in a source's first batch; at least 1.
    pub first: usize,
    /// Rows that later batches grow to; at least `first`.
    pub max: usize,
}

impl Default for BatchSizes {
    fn default() -> BatchSizes {
        BatchSizes { first: 16, max: 1024 }
    }
}

impl BatchSizes {
    /// The size that follows `size`: four times as many rows, up to `max`.
    pub fn grow(self, size: usize) -> usize {
        size.saturating_mul(4).clamp(1, self.max.max(1))
    }
}

/// Bytes that a statement may hold unless its context says otherwise.
pub const DEFAULT_MEMORY_BUDGET: usize = 1 << 30;

/// Everything an execution depends on besides its plan.
#[derive(Clone)]
pub struct ExecContext {
    /// The state to read: a snapshot's or a transaction's.
    pub reader: Reader,
    /// `$1` is index 0.
    pub parameters: Arc<[Value]>,
    /// Time and time zone.
    pub eval: Arc<EvalContext>,
    /// Set from another thread to cancel the statement (SQLSTATE 57014).
    pub interrupt: Arc<AtomicBool>,
    /// When the statement timeout strikes.
    pub deadline: Option<Instant>,
    /// `None`: sequences cannot be used here (SQLSTATE 0A000).
    pub sequences: Option<Arc<dyn SequenceSource>>,
    /// Bytes that sorts, hash tables and materialised results may hold together.
    pub memory_budget: usize,
    /// Rows per batch.
    pub batch_sizes: BatchSizes,
    /// Measure the time of each plan node (`EXPLAIN ANALYZE`).
    pub timing: bool,
}

impl ExecContext {
    /// A context with defaults: no parameters, no deadline, no sequences.
    pub fn new(reader: Reader, eval: Arc<EvalContext>) -> ExecContext {
        ExecContext {
            reader,
            parameters: Arc::from([]),
            eval,
            interrupt: Arc::default(),
            deadline: None,
            sequences: None,
            memory_budget: DEFAULT_MEMORY_BUDGET,
            batch_sizes: BatchSizes::default(),
            timing: false,
        }
    }

    /// Fails when the statement was cancelled or its time is up.
    pub fn check(&self) -> Result<()> {
        if self.interrupt.load(Ordering::Relaxed) {
            return Err(Error::new(SqlState::QUERY_CANCELED, "canceling statement due to user request"));
        }
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => {
                Err(Error::new(SqlState::QUERY_CANCELED, "canceling statement due to statement timeout"))
            }
            _ => Ok(()),
        }
    }

    /// The parameter's value; SQLSTATE 42P02 where none was given.
    pub fn parameter(&self, index: usize) -> Result<&Value> {
        self.parameters.get(index).ok_or_else(|| {
            Error::new(SqlState::UNDEFINED_PARAMETER, format!("there is no parameter ${}", index.saturating_add(1)))
        })
    }

    /// The source of sequence values, or an error where this statement has none.
    pub fn sequence_source(&self) -> Result<&dyn SequenceSource> {
        self.sequences.as_deref().ok_or_else(|| Error::unsupported("a sequence function in this place"))
    }
}
