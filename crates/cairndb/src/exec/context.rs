//! What one execution may use and must respect: the state to read, parameters, the interrupt, the deadline, the
//! memory budget.
//!
//! Invariant: every operator asks [`Cx::check`] at least once per batch it makes or takes, so a statement ends
//! soon after it is interrupted or its time is up; whatever grows with the data is charged to [`Shared::charge`].

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cairn_storage::Reader;

use super::stream::NodeStatistics;
use super::with::WithResult;
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
    /// Never more than this many rows; 0: the default.
    pub fn up_to(rows: usize) -> BatchSizes {
        let sizes = BatchSizes::default();
        if rows == 0 { sizes } else { BatchSizes { first: sizes.first.min(rows), max: rows } }
    }

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
    /// Count rows and measure the time of each plan node (`EXPLAIN ANALYZE`).
    pub analyze: bool,
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
            analyze: false,
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

/// An execution's context and the state its operators share. One thread runs an execution.
pub(crate) struct Shared {
    pub(crate) context: ExecContext,
    pub(crate) counters: Vec<NodeCounters>,
    held: Cell<usize>,
    with_results: RefCell<HashMap<usize, Rc<WithResult>>>,
    /// Counts the times that some WITH result began anew: what was computed from one may be out of date since.
    with_version: Cell<u64>,
}

impl Shared {
    /// `nodes`: how many node ids the plan uses.
    pub(crate) fn new(context: ExecContext, nodes: usize) -> Shared {
        let counters = (0..nodes).map(|_| NodeCounters::default()).collect();
        Shared { context, counters, held: Cell::new(0), with_results: RefCell::default(), with_version: Cell::new(0) }
    }

    /// Charges `bytes` to the statement until they are released.
    ///
    /// This is the one place where sort, hash table and aggregation would learn that they must spill to disk.
    pub(crate) fn charge(&self, bytes: usize) -> Result<()> {
        let held = self.held.get().saturating_add(bytes);
        self.held.set(held);
        if held <= self.context.memory_budget {
            return Ok(());
        }
        Err(Error::new(SqlState::OUT_OF_MEMORY, "out of memory")
            .with_detail(format!("The statement needs more than its budget of {} bytes.", self.context.memory_budget))
            .with_hint("Make the query select fewer rows or columns, or raise the statement's memory budget."))
    }

    /// Gives back what [`Shared::charge`] took.
    pub(crate) fn release(&self, bytes: usize) {
        self.held.set(self.held.get().saturating_sub(bytes));
    }

    pub(crate) fn with_result(&self, id: usize) -> Result<Rc<WithResult>> {
        let results = self.with_results.borrow();
        results.get(&id).cloned().ok_or_else(|| Error::internal(format!("no WITH result {id}")))
    }

    pub(crate) fn with_version(&self) -> u64 {
        self.with_version.get()
    }

    /// To be called when a WITH result, or the working rows of a recursive one, begin anew.
    pub(crate) fn note_with_change(&self) {
        self.with_version.set(self.with_version.get() + 1);
    }

    pub(crate) fn set_with_result(&self, id: usize, rows: Rc<WithResult>) {
        self.with_results.borrow_mut().insert(id, rows);
    }
}

/// Bytes that an operator holds, given back when it lets go of what they were for.
#[derive(Default)]
pub(crate) struct Charge(usize);

impl Charge {
    /// Holds `bytes` in place of what was held.
    pub(crate) fn set(&mut self, bytes: usize, shared: &Shared) -> Result<()> {
        shared.release(self.0);
        self.0 = bytes;
        shared.charge(bytes)
    }

    /// Holds `bytes` more.
    pub(crate) fn add(&mut self, bytes: usize, shared: &Shared) -> Result<()> {
        self.0 = self.0.saturating_add(bytes);
        shared.charge(bytes)
    }

    /// Holds nothing more.
    pub(crate) fn clear(&mut self, shared: &Shared) {
        shared.release(std::mem::take(&mut self.0));
    }
}

/// What one plan node did, for `EXPLAIN ANALYZE`.
#[derive(Debug, Default)]
pub(crate) struct NodeCounters {
    rows: Cell<u64>,
    batches: Cell<u64>,
    loops: Cell<u64>,
    nanos: Cell<u64>,
}

impl NodeCounters {
    /// Notes one call of a node's `next`; `rows` `None`: it came to its end.
    pub(crate) fn add(&self, rows: Option<usize>, time: Duration) {
        let add = |counter: &Cell<u64>, more: u64| counter.set(counter.get().saturating_add(more));
        add(&self.nanos, u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        match rows {
            Some(rows) => {
                add(&self.rows, rows as u64);
                add(&self.batches, 1);
            }
            None => add(&self.loops, 1),
        }
    }

    pub(crate) fn statistics(&self) -> NodeStatistics {
        NodeStatistics {
            rows: self.rows.get(),
            batches: self.batches.get(),
            loops: self.loops.get(),
            nanos: self.nanos.get(),
        }
    }
}

/// Rows of the enclosing queries, innermost first: `Outer { level: 1 }` is `values` here.
pub(crate) struct OuterRow {
    pub(crate) values: Vec<Value>,
    pub(crate) parent: Option<Rc<OuterRow>>,
}

/// What every operator and expression is handed when it runs.
#[derive(Clone, Copy)]
pub(crate) struct Cx<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) outer: Option<&'a Rc<OuterRow>>,
}

impl<'a> Cx<'a> {
    pub(crate) fn context(&self) -> &'a ExecContext {
        &self.shared.context
    }

    /// Fails when the statement was cancelled or its time is up.
    pub(crate) fn check(&self) -> Result<()> {
        self.shared.context.check()
    }

    /// The row to run a subplan or a lateral side under.
    pub(crate) fn push(&self, values: Vec<Value>) -> Rc<OuterRow> {
        Rc::new(OuterRow { values, parent: self.outer.cloned() })
    }

    /// The same, under another row.
    pub(crate) fn under<'b>(&'b self, outer: &'b Rc<OuterRow>) -> Cx<'b> {
        Cx { shared: self.shared, outer: Some(outer) }
    }

    pub(crate) fn outer_value(&self, level: usize, index: usize) -> Result<&'a Value> {
        let mut row = self.outer;
        for _ in 1..level {
            row = row.and_then(|row| row.parent.as_ref());
        }
        row.and_then(|row| row.values.get(index))
            .ok_or_else(|| Error::internal(format!("no outer row at level {level}, column {index}")))
    }
}
