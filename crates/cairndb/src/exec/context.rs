//! What one execution may use and must respect: the state to read, parameters, the interrupt, the deadline, the
//! memory budget.
//!
//! Invariant: every operator asks [`Cx::check`] at least once per batch it makes or takes, so a statement ends
//! soon after it is interrupted or its time is up; whatever grows with the data is held under a [`Charge`]. An operator
//! that can spill does so when its charge [is over](Charge::is_over) `work_mem`, or the statement over its budget, or over what it
//! gets of the memory that it shares with others; what cannot spill fails beyond the budget, and where it gets no more for a while.

use std::cell::{Cell, RefCell, RefMut};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cairn_storage::Reserved;

use super::operator::{NoAnswer, Step, Writes};
use super::spill::SpillSpace;
use super::with::WithResult;
use crate::clock::{check_statement, has_passed};
use crate::functions::EvalContext;
use crate::interrupt::Interrupt;
use crate::plan::{CteId, NodeStatistics};
use crate::state::Reader;
use crate::sync;
use crate::types::{ExecutionUses, UseShard};
use crate::{Error, Result, SqlState, Value};

/// Where `nextval` and its kin get their numbers.
pub trait SequenceSource: Send + Sync {
    /// Advances the sequence and returns the new value.
    fn next_value(&self, name: &str) -> Result<i64>;
    /// Advances the sequence, `count` times at most and as often as takes no other waiting than once, and appends the new values.
    fn next_values(&self, name: &str, count: usize, drawn: &mut Vec<i64>) -> Result<()>;
    /// The last of these values that were drawn was not used, nor were those behind the one at `last`: they are put back, unless
    /// somebody drew since. That one is the session's current value.
    fn used_up_to(&self, name: &str, drawn: &[i64], last: usize) -> Result<()>;
    /// The value that this session got last.
    fn current_value(&self, name: &str) -> Result<i64>;
    /// The value that this session got last, of whichever sequence.
    fn value_of_session(&self) -> Result<i64>;
    /// What the sequence has in its columns, read as a relation.
    fn state(&self, name: &str) -> Result<SequenceState>;
    /// Makes `value` the current one, and returns it.
    /// `called`: the value counts as given out; otherwise it is the next.
    fn set_value(&self, name: &str, value: i64, called: bool) -> Result<i64>;
}

/// A sequence as the row that PostgreSQL has of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SequenceState {
    /// The value that was given out last, or that is given out first.
    pub last_value: i64,
    /// Values that can be given out before more have to be reserved.
    pub log_cnt: i64,
    /// `last_value` was given out.
    pub is_called: bool,
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

/// Bytes that one sort or hash table may hold before it spills, unless its context says otherwise.
pub const DEFAULT_WORK_MEM: usize = 256 << 20;

/// While the statement is over its budget, an operator that holds less than one in so many bytes of it does not spill:
/// it would gain little.
const WORTH_SPILLING: usize = 64;

/// So much a statement has without asking for it.
const FREE: usize = 1 << 20;

/// By so much at a time it has more, or by an eighth, and gives back.
const STEP: usize = 1 << 20;

/// While it gets no more, an operator that holds less does not spill.
const FEW: usize = FREE / 4;

/// What can not spill asks again, so often and after so long, before it fails.
const ASKED_AGAIN: u32 = 100;
const AFTER: Duration = Duration::from_millis(10);

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
    pub interrupt: Arc<Interrupt>,
    /// When the statement timeout strikes.
    pub deadline: Option<Instant>,
    /// When the transaction timeout does.
    pub transaction_deadline: Option<Instant>,
    /// `None`: sequences cannot be used here (SQLSTATE 0A000).
    pub sequences: Option<Arc<dyn SequenceSource>>,
    /// Bytes that sorts, hash tables and materialised results may hold together.
    pub memory_budget: usize,
    /// Bytes that each sort, hash table or materialised result may hold before it spills to disk.
    pub work_mem: usize,
    /// Where it spills to.
    pub spill: SpillSpace,
    /// Rows per batch.
    pub batch_sizes: BatchSizes,
    /// Functions that may change rows are called for a row once the one before it was used, which they may look for.
    pub(crate) one_by_one: bool,
    /// Who asks for the rows may stop before the end: what is volatile is worked out for rows that were asked for only.
    pub(crate) sparing: bool,
    /// Count rows and measure the time of each plan node (`EXPLAIN ANALYZE`).
    pub analyze: bool,
    /// And the pages that each looks at.
    pub buffers: bool,
    /// Where it is counted what is read by what; `None`: nowhere, for nobody has asked for it.
    pub(crate) uses: Option<Arc<UseShard>>,
}

impl ExecContext {
    /// The same, of a statement that reads this.
    pub(crate) fn reading(&self, reader: Reader) -> ExecContext {
        let eval = match self.eval.calls {
            Some(_) => Arc::new(self.eval.reading(&reader)),
            None => self.eval.clone(),
        };
        ExecContext { reader, eval, ..self.clone() }
    }

    /// A context with defaults: no parameters, no deadline, no sequences.
    pub fn new(reader: Reader, eval: Arc<EvalContext>) -> ExecContext {
        ExecContext {
            reader,
            parameters: Arc::from([]),
            eval,
            interrupt: Arc::default(),
            deadline: None,
            transaction_deadline: None,
            sequences: None,
            memory_budget: DEFAULT_MEMORY_BUDGET,
            work_mem: DEFAULT_WORK_MEM,
            spill: SpillSpace::default(),
            batch_sizes: BatchSizes::default(),
            one_by_one: false,
            sparing: false,
            analyze: false,
            buffers: false,
            uses: None,
        }
    }

    /// The statement is over: what is read of it later is read whatever becomes of its transaction, and its time.
    pub(crate) fn end_statement(&mut self) {
        (self.interrupt, self.deadline, self.transaction_deadline) = (Arc::default(), None, None);
        (self.sequences, self.parameters) = (None, Arc::default());
        if self.eval.calls.is_some() {
            self.eval = Arc::new(self.eval.with_calls(None));
        }
    }

    /// Fails when the statement was cancelled or its time is up.
    pub fn check(&self) -> Result<()> {
        check_statement(&self.interrupt, self.deadline)?;
        if has_passed(self.transaction_deadline) {
            let message = "rolling back the transaction due to transaction timeout";
            return Err(Error::new(SqlState::TRANSACTION_TIMEOUT, message));
        }
        Ok(())
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

/// The time that a step has.
#[derive(Default)]
pub(crate) struct Turn {
    /// When the step is to end, if it can.
    end: Cell<Option<Instant>>,
    /// It got something done.
    worked: Cell<bool>,
}

impl Turn {
    /// Of a step that is to end then; `None`: when there is an answer.
    pub(crate) fn until(end: Option<Instant>) -> Turn {
        Turn { end: Cell::new(end), worked: Cell::new(false) }
    }

    /// When it is to end.
    pub(crate) fn end(&self) -> Option<Instant> {
        self.end.get()
    }

    /// Begins another step; when the one before was to end.
    fn begin(&self, end: Option<Instant>) -> Option<Instant> {
        self.worked.set(false);
        self.end.replace(end)
    }

    /// To be called by who is about to get something done without asking others: "not yet", if the step should end
    /// before. The first in each step may always go on, so that every step takes the execution further.
    pub(crate) fn take(&self) -> Step<()> {
        if self.is_over() { Err(NoAnswer::NotYet) } else { Ok(()) }
    }

    /// The same, for who leaves by another way.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.end.get().is_some_and(|end| self.worked.replace(true) && sync::now() >= end)
    }
}

/// An execution's context and the state its operators share. One thread runs an execution.
pub(crate) struct Shared {
    pub(crate) context: ExecContext,
    pub(crate) counters: Vec<NodeCounters>,
    /// What is read by what.
    pub(crate) uses: ExecutionUses,
    held: Cell<usize>,
    /// What it may hold before it asks for more.
    granted: Cell<usize>,
    /// With less it gives some back.
    enough: Cell<usize>,
    /// Beyond what it has without asking; `None`: it did not ask, or there is nobody to be asked.
    reserved: RefCell<Option<Reserved>>,
    /// `EXPLAIN ANALYZE`: the innermost node that is running.
    pub(crate) running: Cell<usize>,
    /// For reading and writing spilled blocks.
    spill_buffer: RefCell<Vec<u8>>,
    with_results: RefCell<HashMap<CteId, Arc<WithResult>>>,
    /// Counts the times that some WITH result began anew: what was computed from one may be out of date since.
    with_version: Cell<u64>,
    turn: Turn,
    #[cfg(test)]
    pub(crate) hesitation: super::hesitant::Hesitation,
}

impl Shared {
    /// `nodes`: how many node ids the plan uses.
    pub(crate) fn new(context: ExecContext, nodes: usize) -> Shared {
        let counters = (0..nodes).map(|_| NodeCounters::default()).collect();
        Shared {
            uses: ExecutionUses::of(context.uses.clone()),
            context,
            counters,
            held: Cell::new(0),
            granted: Cell::new(FREE),
            enough: Cell::new(0),
            reserved: RefCell::default(),
            running: Cell::new(usize::MAX),
            spill_buffer: RefCell::default(),
            with_results: RefCell::default(),
            with_version: Cell::new(0),
            turn: Turn::default(),
            #[cfg(test)]
            hesitation: super::hesitant::Hesitation::of_thread(),
        }
    }

    /// Notes `bytes` as held, whether or not the budget allows it.
    fn hold(&self, bytes: usize) {
        let held = self.held.get().saturating_add(bytes);
        self.held.set(held);
        if held > self.granted.get() {
            self.ask_for(held);
        }
    }

    /// Asks for so much in all. Whether it may hold it then.
    #[cold]
    fn ask_for(&self, held: usize) -> bool {
        let mut reserved = self.reserved.borrow_mut();
        if reserved.is_none() {
            *reserved = self.context.reader.memory().map(|memory| memory.reserve());
        }
        let Some(reserved) = &mut *reserved else {
            self.granted.set(usize::MAX);
            return true;
        };
        let lacking = held - FREE;
        let in_steps = |bytes: usize| bytes.checked_next_multiple_of(STEP).unwrap_or(usize::MAX);
        let is_grown =
            reserved.grow_to(in_steps(lacking.saturating_add(lacking / 8))) || reserved.grow_to(in_steps(lacking));
        self.note_granted(reserved);
        is_grown
    }

    /// Gives back what was not needed for long.
    #[cold]
    fn give_back(&self, held: usize) {
        if let Some(reserved) = &mut *self.reserved.borrow_mut() {
            reserved.shrink_to(held.saturating_sub(FREE).next_multiple_of(STEP));
            self.note_granted(reserved);
        }
    }

    fn note_granted(&self, reserved: &Reserved) {
        self.granted.set(FREE + reserved.bytes());
        // (A little more or less comes and goes with each batch.)
        self.enough.set((reserved.bytes() / 2).saturating_sub(4 * STEP));
    }

    /// Whether it is not to hold so much, which it asks for.
    fn is_refused(&self, held: usize) -> bool {
        held > self.granted.get() && !self.ask_for(held)
    }

    /// Whether it may hold so much more for a while, which is not counted.
    pub(crate) fn has_room_for(&self, more: usize) -> bool {
        let all = self.held.get().saturating_add(more);
        all <= self.context.memory_budget && !self.is_refused(all)
    }

    /// Fails where more is held than the statement's budget, or than it gets.
    fn check_budget(&self) -> Result<()> {
        if self.held.get() <= self.context.memory_budget {
            return if self.held.get() <= self.granted.get() { Ok(()) } else { self.wait_for_memory() };
        }
        Err(Error::new(SqlState::OUT_OF_MEMORY, "out of memory")
            .with_detail(format!("The statement needs more than its budget of {} bytes.", self.context.memory_budget))
            .with_hint("Raise statement_mem, lower work_mem, or make the query select fewer rows or columns."))
    }

    /// Asks again for a while: caches and other statements may give some back.
    #[cold]
    fn wait_for_memory(&self) -> Result<()> {
        for _ in 0..ASKED_AGAIN {
            if !self.is_refused(self.held.get()) {
                return Ok(());
            }
            self.context.check()?;
            sync::sleep(AFTER);
        }
        Err(Error::new(SqlState::OUT_OF_MEMORY, "out of memory")
            .with_detail("Other statements have the memory that the process's databases share.")
            .with_hint("Try again, share more memory (Memory::shared, memory.cache_bytes), or lower work_mem."))
    }

    fn release(&self, bytes: usize) {
        let held = self.held.get().saturating_sub(bytes);
        self.held.set(held);
        if held < self.enough.get() {
            self.give_back(held);
        }
    }

    /// Begins a step that is to end at some time, or when there is an answer; when the one before was to.
    pub(crate) fn begin_turn(&self, end: Option<Instant>) -> Option<Instant> {
        self.turn.begin(end)
    }

    fn counters_of(&self, node: usize) -> Option<&NodeCounters> {
        self.counters.get(node)
    }

    /// A buffer to be used and given back at once.
    pub(crate) fn spill_buffer(&self) -> RefMut<'_, Vec<u8>> {
        self.spill_buffer.borrow_mut()
    }

    /// Has the running node's lookups done by `f`, which says how many rows they found, and counts them if somebody asks.
    pub(crate) fn looked_up<T>(&self, f: impl FnOnce() -> Result<T>, rows: impl FnOnce(&T) -> usize) -> Result<T> {
        if self.counters.is_empty() {
            return f();
        }
        let started = sync::now();
        let found = f()?;
        if let Some(counters) = self.counters_of(self.running.get()) {
            let nanos = u64::try_from(sync::since(started).as_nanos()).unwrap_or(u64::MAX);
            counters.inner_nanos.set(counters.inner_nanos.get().saturating_add(nanos));
            counters.inner_rows.set(counters.inner_rows.get() + rows(&found) as u64);
        }
        Ok(found)
    }

    /// Counts rows that the running node read and its filter dropped.
    pub(crate) fn note_removed(&self, rows: usize) {
        if let Some(counters) = self.counters_of(self.running.get()) {
            counters.removed_rows.set(counters.removed_rows.get() + rows as u64);
        }
    }

    /// Counts bytes that the running node spilled.
    pub(crate) fn note_spilled(&self, bytes: usize) {
        if let Some(counters) = self.counters_of(self.running.get()) {
            counters.spilled_bytes.set(counters.spilled_bytes.get().saturating_add(bytes as u64));
        }
    }

    /// Counts a temporary file that the running node made.
    pub(crate) fn note_spill_file(&self) {
        if let Some(counters) = self.counters_of(self.running.get()) {
            counters.spill_files.set(counters.spill_files.get() + 1);
        }
    }

    pub(crate) fn with_result(&self, id: CteId) -> Result<Arc<WithResult>> {
        let results = self.with_results.borrow();
        results.get(&id).cloned().ok_or_else(|| Error::internal(format!("no WITH result {id:?}")))
    }

    pub(crate) fn with_version(&self) -> u64 {
        self.with_version.get()
    }

    /// To be called when a WITH result, or the working rows of a recursive one, begin anew.
    pub(crate) fn note_with_change(&self) {
        self.with_version.set(self.with_version.get() + 1);
    }

    pub(crate) fn set_with_result(&self, id: CteId, rows: Arc<WithResult>) {
        self.with_results.borrow_mut().insert(id, rows);
    }
}

/// The number of no node of a plan.
pub(crate) const NOBODY: usize = usize::MAX;

/// Bytes that an operator holds, given back when it lets go of what they were for.
#[derive(Default)]
pub(crate) struct Charge {
    bytes: usize,
    /// `EXPLAIN ANALYZE`: the node that holds them.
    node: Option<usize>,
}

impl Charge {
    /// Of what EXPLAIN ANALYZE tells as no node's.
    pub(crate) fn of_nobody() -> Charge {
        Charge { bytes: 0, node: Some(NOBODY) }
    }

    /// Holds `bytes` more.
    pub(crate) fn add(&mut self, bytes: usize, shared: &Shared) -> Result<()> {
        self.note(self.bytes.saturating_add(bytes), shared);
        shared.check_budget()
    }

    /// Fails where the statement holds more than its budget.
    pub(crate) fn check(&self, shared: &Shared) -> Result<()> {
        shared.check_budget()
    }

    /// Holds `bytes` in place of what was held, by an operator that spills when it is over.
    pub(crate) fn note(&mut self, bytes: usize, shared: &Shared) {
        match bytes.checked_sub(self.bytes) {
            Some(more) => shared.hold(more),
            None => shared.release(self.bytes - bytes),
        }
        self.count(bytes, shared);
        self.bytes = bytes;
    }

    /// As [`Charge::note`], in addition to what was held.
    pub(crate) fn note_more(&mut self, bytes: usize, shared: &Shared) {
        self.note(self.bytes.saturating_add(bytes), shared);
    }

    /// Gives back some of what was held.
    pub(crate) fn note_less(&mut self, bytes: usize, shared: &Shared) {
        self.note(self.bytes.saturating_sub(bytes), shared);
    }

    /// Whether the operator has to spill.
    pub(crate) fn is_over(&self, shared: &Shared) -> bool {
        self.would_exceed(0, shared)
    }

    /// Whether the operator would have to spill if it held `more` bytes.
    pub(crate) fn would_exceed(&self, more: usize, shared: &Shared) -> bool {
        let (own, all) = (self.bytes.saturating_add(more), shared.held.get().saturating_add(more));
        let budget = shared.context.memory_budget;
        own > shared.context.work_mem
            || (all > budget && own >= budget / WORTH_SPILLING)
            || (own >= FEW && shared.is_refused(all))
    }

    /// Holds nothing more.
    pub(crate) fn clear(&mut self, shared: &Shared) {
        self.note(0, shared);
    }

    fn count(&mut self, bytes: usize, shared: &Shared) {
        if shared.counters.is_empty() {
            return;
        }
        let node = *self.node.get_or_insert(shared.running.get());
        if let Some(counters) = shared.counters_of(node) {
            counters.hold(self.bytes, bytes);
        }
    }
}

/// What one plan node did, for `EXPLAIN ANALYZE`.
#[derive(Debug, Default)]
pub(crate) struct NodeCounters {
    rows: Cell<u64>,
    batches: Cell<u64>,
    loops: Cell<u64>,
    nanos: Cell<u64>,
    first_nanos: Cell<u64>,
    /// A run goes on that has given something.
    begun: Cell<bool>,
    inner_rows: Cell<u64>,
    inner_nanos: Cell<u64>,
    removed_rows: Cell<u64>,
    pages_hit: Cell<u64>,
    pages_read: Cell<u64>,
    held_bytes: Cell<usize>,
    memory_bytes_max: Cell<usize>,
    spilled_bytes: Cell<u64>,
    spill_files: Cell<u64>,
}

/// Of the pages that were used between two moments, those that were in memory, and those that were read for it.
pub(crate) fn pages_between(before: (u64, u64), after: (u64, u64)) -> (u64, u64) {
    let read = after.1.saturating_sub(before.1);
    (after.0.saturating_sub(before.0).saturating_sub(read), read)
}

impl NodeCounters {
    /// One of the node's charges changed from `before` to `after` bytes.
    fn hold(&self, before: usize, after: usize) {
        let held = self.held_bytes.get().saturating_sub(before).saturating_add(after);
        self.held_bytes.set(held);
        self.memory_bytes_max.set(self.memory_bytes_max.get().max(held));
    }

    /// Notes the time of a call of a node's `next`.
    pub(crate) fn add_time(&self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.nanos.set(self.nanos.get().saturating_add(nanos));
        if !self.begun.get() {
            self.first_nanos.set(self.first_nanos.get().saturating_add(nanos));
        }
    }

    /// Notes the pages that were used between two readings of the store's counters.
    pub(crate) fn add_pages(&self, before: (u64, u64), after: (u64, u64)) {
        let (hit, read) = pages_between(before, after);
        self.pages_hit.set(self.pages_hit.get() + hit);
        self.pages_read.set(self.pages_read.get() + read);
    }

    /// Notes what a node's `next` gave; `rows` `None`: it came to its end.
    pub(crate) fn add(&self, rows: Option<usize>) {
        let add = |counter: &Cell<u64>, more: u64| counter.set(counter.get().saturating_add(more));
        match rows {
            Some(rows) => {
                add(&self.rows, rows as u64);
                add(&self.batches, 1);
                self.begun.set(true);
            }
            None => {
                add(&self.loops, 1);
                self.begun.set(false);
            }
        }
    }

    pub(crate) fn statistics(&self) -> NodeStatistics {
        NodeStatistics {
            rows: self.rows.get(),
            batches: self.batches.get(),
            loops: self.loops.get(),
            nanos: self.nanos.get(),
            first_nanos: self.first_nanos.get(),
            inner_rows: self.inner_rows.get(),
            inner_nanos: self.inner_nanos.get(),
            removed_rows: self.removed_rows.get(),
            pages_hit: self.pages_hit.get(),
            pages_read: self.pages_read.get(),
            memory_bytes_max: self.memory_bytes_max.get() as u64,
            spilled_bytes: self.spilled_bytes.get(),
            spill_files: self.spill_files.get(),
        }
    }
}

/// Rows of the enclosing queries, innermost first: `Outer { level: 1 }` is `values` here.
pub(crate) struct OuterRow {
    pub(crate) values: Vec<Value>,
    pub(crate) parent: Option<Arc<OuterRow>>,
}

/// What every operator and expression is handed when it runs.
#[derive(Clone, Copy)]
pub(crate) struct Cx<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) outer: Option<&'a Arc<OuterRow>>,
    /// Who changes rows; nobody, where the statement only reads.
    pub(crate) writes: Option<&'a dyn Writes>,
}

impl<'a> Cx<'a> {
    pub(crate) fn context(&self) -> &'a ExecContext {
        &self.shared.context
    }

    /// Fails when the statement was cancelled or its time is up.
    pub(crate) fn check(&self) -> Result<()> {
        self.shared.context.check()
    }

    /// That of the present step.
    pub(crate) fn turn(&self) -> &'a Turn {
        &self.shared.turn
    }

    /// See [`Turn::take`].
    pub(crate) fn take_turn(&self) -> Step<()> {
        self.shared.turn.take()
    }

    /// The row to run a subplan or a lateral side under.
    pub(crate) fn push(&self, values: Vec<Value>) -> Arc<OuterRow> {
        Arc::new(OuterRow { values, parent: self.outer.cloned() })
    }

    /// The same, under another row.
    pub(crate) fn under<'b>(&'b self, outer: &'b Arc<OuterRow>) -> Cx<'b> {
        Cx { outer: Some(outer), ..*self }
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
