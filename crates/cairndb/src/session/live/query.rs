//! One live query: its plan, its result as it was last, and how that is brought to a newer state: by what changed in its tables
//! ([`crate::plan::Maintenance`]), or by running it again.
//!
//! What must hold:
//! - Its result is that of its query in one durable state, of the position that it names.
//! - What it says it is interested in covers all that its result rests on: the rows and ranges that its operators read, what the
//!   plans of its changes read since, and what its plan rests on in the catalog.
//!
//! Changes outside of what it is interested in are not told, and so not seen by the plans of its changes, which read both states.
//! That is right as long as what these plans read is the same in both states wherever the query was not interested: then
//! the untold changes might as well have happened before. It is looked at each time; where it is not so, the query is run again. (Entries of an
//! index change with their rows: whoever hears of all rows of the table has heard of these.)

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use cairn_storage::{self as storage, Changed, KeyRanges, ReadNotes, Snapshot, TreeId};

use super::changes::Changes;
use super::definition::{Definition, Limits};
use super::plans::{Compiled, Plans};
use super::result::{ResultRows, RowBytes, RowForm, Weights};
use crate::catalog::{Catalog, Table, TableLayout};
use crate::clock;
use crate::exec::{Changed as ChangedTables, Direct, KeptState, MaintenanceEnv, RowChanges, Terms, execute_kept};
use crate::plan::{CteId, Fault, Field, KeptStages, Maintenance, PhysicalPlan, columns_read, has_fault};
use crate::session::shared::Shared;
use crate::state::Reader;
use crate::{Error, Result, SqlState, Value};

/// See the module.
pub(super) struct Query {
    definition: Definition,
    /// Of what it does next.
    pub(super) limits: Limits,
    /// How long the next change is expected to take, where it is not like the last one.
    pub(super) expected: Option<Duration>,
    /// How long it took to run it the last time.
    ran: Duration,
    pub(super) compiled: Arc<Compiled>,
    /// The catalog that was seen last, and as the query's session sees it.
    seen: (Arc<Catalog>, Arc<Catalog>),
    pub(super) rows: ResultRows,
    /// What is kept besides the rows, of the same state; made when it is first asked for.
    kept: Option<KeptState>,
    /// That can not be kept.
    keeps_nothing: bool,
    /// Its result, and what it is interested in, are of the plan before: there was no time to run it.
    is_of_older_plan: bool,
    /// Shorter ways than the plans of a change, of those that have one, with the parameters in them: made when they are first
    /// asked for.
    direct: OnceCell<Vec<Option<Direct>>>,
    buffers: Buffers,
    /// Room for what differs in the tables.
    changed: Vec<(CteId, Arc<RowChanges>)>,
    /// The log position of the state that the result is of.
    pub(super) position: u64,
    /// What it read to get there.
    pub(super) ranges: Arc<KeyRanges>,
    /// How many ranges it had when it was run last; far more of them are worth running it again.
    ranges_then: usize,
    /// Of all changes of all trees that plans of changes read it hears by the ranges.
    reads_all: bool,
    pub(super) done: Done,
}

/// How a live query was kept current so far.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// conn.execute_script("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)")?;
/// let mut live = conn.live("SELECT id FROM t", ())?;
/// live.next_change()?;
/// let statistics = live.statistics();
/// println!("ran {} times, followed {} changes, has {} rows", statistics.runs, statistics.followed, statistics.rows);
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LiveStatistics {
    /// Times that the whole query was run, the first one included.
    pub runs: u64,
    /// Times that its result was brought to a newer state by what changed in its tables.
    pub followed: u64,
    /// Rows that were computed: all of those that runs gave, and those that came by what changed.
    pub rows: u64,
}

pub(super) type Done = LiveStatistics;

/// Which changes are none to a query.
#[derive(Debug, Default)]
pub(super) struct Relevant(BTreeMap<TreeId, (Arc<TableLayout>, Vec<usize>)>);

impl Relevant {
    pub(super) fn of(plan: &PhysicalPlan, catalog: &Catalog) -> Relevant {
        let relevant = |(tree, (table, columns)): (TreeId, (Arc<Table>, BTreeSet<usize>))| {
            let layout = catalog.layout(&table);
            let stored = layout.stored_columns().iter().enumerate();
            let read = stored.filter(|(_, column)| columns.contains(column)).map(|(at, _)| at).collect();
            (tree, (layout, read))
        };
        Relevant(columns_read(plan).into_iter().map(relevant).collect())
    }

    /// Whether the query may tell the difference between what stood there and what stands there now.
    pub(super) fn is_told(&self, changed: Changed<'_>) -> bool {
        let Changed::Entry(tree, _, Some(older), Some(newer)) = changed else { return true };
        let Some((layout, columns)) = self.0.get(&tree) else { return true };
        let differs = |column: usize| match (layout.raw_column(older, column), layout.raw_column(newer, column)) {
            (Ok(older), Ok(newer)) => older != newer,
            _ => true,
        };
        columns.iter().any(|&column| differs(column))
    }
}

impl Query {
    /// A query that has not run yet. SQLSTATE 0A000 for one that can not be watched.
    pub(super) fn new(definition: Definition, shared: &Shared, plans: &Plans, snapshot: &Snapshot) -> Result<Query> {
        let (stamp, now) = shared.catalog(snapshot.reader())?;
        let seen = Arc::new(now.under(&definition.path));
        let compiled = plans.compiled(&definition, (stamp, &seen), snapshot)?;
        let mut definition = definition;
        definition.fit_parameters(&compiled)?;
        Ok(Query {
            definition,
            limits: Limits::default(),
            expected: None,
            ran: Duration::ZERO,
            compiled,
            seen: (now, seen),
            rows: ResultRows::default(),
            kept: None,
            keeps_nothing: false,
            is_of_older_plan: false,
            direct: OnceCell::new(),
            buffers: Buffers::default(),
            changed: vec![],
            position: 0,
            ranges: Arc::default(),
            ranges_then: 0,
            reads_all: false,
            done: Done::default(),
        })
    }

    /// All that it could come to read, and more.
    pub(super) fn wide_ranges(&self) -> KeyRanges {
        let trees = self.compiled.trees.iter().copied().chain([TreeId::CATALOG]).collect::<BTreeSet<_>>();
        KeyRanges::of_trees(trees.into_iter())
    }

    pub(super) fn relevant(&self) -> Arc<Relevant> {
        self.compiled.relevant.clone()
    }

    /// Brings the result to this state, which is durable and not older than the last, by running it; what changed.
    pub(super) fn advance(&mut self, shared: &Shared, plans: &Plans, snapshot: &Snapshot) -> Result<Weights> {
        self.look_at_catalog(shared, plans, snapshot)?;
        let (reader, notes) = snapshot.noting();
        self.compiled.prepared.note(&reader, true)?;
        let began = clock::now();
        let rows = self.run(Reader::from(&reader))?;
        self.ran = clock::since(began);
        let change = self.rows.change_to(&rows);
        let ranges = notes.ranges();
        self.reads_all = self.compiled.trees.iter().all(|tree| self.compiled.hears_all_of(*tree, &ranges));
        (self.rows, self.position, self.kept) = (rows, snapshot.position(), None);
        self.is_of_older_plan = false;
        (self.ranges_then, self.ranges) = (ranges.len(), Arc::new(ranges));
        self.done.runs += 1;
        self.expected = Some(self.expects());
        Ok(change)
    }

    /// What the next change is expected to take: where it can be followed little, but for what has to be kept first.
    fn expects(&self) -> Duration {
        match &self.compiled.maintenance {
            Some(Maintenance { kept: None, .. }) => Duration::ZERO,
            Some(Maintenance { kept: Some(kept), .. }) if !self.keeps_nothing && self.is_worth_keeping(kept) => {
                beginning(kept)
            }
            _ => self.ran,
        }
    }

    /// Whether what has to be kept costs few enough runs of the query: many are answered without looking at their rows.
    fn is_worth_keeping(&self, kept: &KeptStages) -> bool {
        let costs = beginning(kept);
        costs <= LITTLE || costs <= self.ran.saturating_mul(RUNS_WORTH) || !self.definition.options.live_runs
    }

    /// Plans again where what the plan rests on is another now; whether it did.
    fn look_at_catalog(&mut self, shared: &Shared, plans: &Plans, snapshot: &Snapshot) -> Result<bool> {
        if self.compiled.is_checked(snapshot) {
            return Ok(false);
        }
        let (stamp, now) = shared.catalog(snapshot.reader())?;
        if !Arc::ptr_eq(&now, &self.seen.0) {
            let seen = Arc::new(now.under(&self.definition.path));
            self.seen = (now, seen);
        }
        let seen = &self.seen.1;
        let Definition { options, .. } = &self.definition;
        let prepared = &self.compiled.prepared;
        // Under another plan it would be run again, and what is kept be made again.
        if prepared.is_current(stamp, seen, options) && prepared.still_fits(&Reader::from(snapshot.reader()))? {
            self.compiled.note_checked(snapshot);
            return Ok(false);
        }
        let compiled = plans.compiled(&self.definition, (stamp, seen), snapshot)?;
        if !are_versions(&compiled.fields, &self.compiled.fields) {
            let message = "the live query's result has other columns now";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
                .with_hint("A table or a type of it was altered. Watch the query again."));
        }
        self.definition.fit_parameters(&compiled)?;
        self.definition.surroundings.follow(&compiled.prepared.catalog);
        (self.compiled, self.kept, self.keeps_nothing) = (compiled, None, false);
        self.is_of_older_plan = true;
        self.direct = OnceCell::new();
        Ok(true)
    }

    fn run(&mut self, reader: Reader) -> Result<ResultRows> {
        let context = self.definition.surroundings.over(reader, &self.limits);
        let Compiled { plan, form, kept, .. } = &*self.compiled;
        let mut stream = execute_kept(plan.clone(), context, Some(kept))?;
        let (mut rows, mut values, mut bytes) = (ResultRows::begin(), Vec::<Value>::new(), Vec::new());
        while let Some(mut batch) = stream.next_batch()? {
            batch.check_text();
            self.done.rows += batch.len() as u64;
            for at in 0..batch.len() {
                values.clear();
                batch.read_row(at, &mut values);
                form.encode(&values, &mut bytes);
                rows.push(&bytes);
            }
        }
        Ok(rows)
    }

    /// Brings the result to a newer state by what changed; how it changed. `None`: it has to be run again. The changes begin with
    /// a state in which its result is what it is.
    pub(super) fn follow(&mut self, shared: &Shared, plans: &Plans, changes: &Changes) -> Result<Option<Weights>> {
        let Some(older) = changes.older.as_ref().filter(|_| changes.is_complete()) else { return Ok(None) };
        let newer = &changes.newer;
        if self.look_at_catalog(shared, plans, newer)? || self.is_of_older_plan {
            return Ok(None);
        }
        let mut changed = std::mem::take(&mut self.changed);
        let change = self.change_of(changes, (older, newer), &mut changed);
        changed.clear();
        self.changed = changed;
        let added = change.map(|change| change.filter(|change| self.rows.add(change)));
        let Ok(Some(change)) = added else {
            // It may be of the newer state already, in which the result is not: nor will it be, if there is no time to run it.
            self.kept = self.kept.take().filter(|_| has_fault(Fault::KeptAhead));
            return added;
        };
        self.position = newer.position();
        self.done.followed += 1;
        Ok(Some(change))
    }

    /// How the result changes; `changed`: room for what differs in the tables.
    fn change_of(
        &mut self,
        changes: &Changes,
        (older, newer): (&Snapshot, &Snapshot),
        changed: &mut Vec<(CteId, Arc<RowChanges>)>,
    ) -> Result<Option<Weights>> {
        if !self.note_changed_rows(changes, changed)? {
            return Ok(None);
        }
        if changed.is_empty() {
            return Ok(Some(Weights::default()));
        }
        let needs_states = self.compiled.maintenance.as_ref().is_none_or(|maintenance| {
            let terms = terms(maintenance, &self.compiled, &self.definition, &self.direct);
            maintenance.kept.is_some() || !terms.need_no_state(changed)
        });
        match needs_states {
            false => self.changed_result(changed, None),
            true => self.change_by(changed, older, newer),
        }
    }

    /// Adds what differs in the tables. False: it is not known, or too much.
    fn note_changed_rows(&mut self, changes: &Changes, changed: &mut Vec<(CteId, Arc<RowChanges>)>) -> Result<bool> {
        let Some(maintenance) = &self.compiled.maintenance else { return Ok(false) };
        let mut read = KeyRanges::default();
        for (of, reader) in maintenance.changed.iter().zip(&self.compiled.readers) {
            let rows = match self.reads_all {
                true => changes.all_rows(of, reader)?,
                false => changes.rows_within(&self.ranges, &of.table, reader, &mut read)?,
            };
            match rows {
                None => return Ok(false),
                Some(None) => {}
                Some(Some(rows)) => changed.push((of.id, rows)),
            }
        }
        let read = read.beyond(&self.ranges);
        if !read.is_empty() {
            self.ranges = Arc::new(self.ranges.with(&read));
        }
        let rows_of = |id: &CteId| changed.iter().find(|(known, _)| known == id).map_or(0, |(_, rows)| rows.len());
        let cost = maintenance.terms.iter().filter(|term| term.is_concerned(changed)).map(|term| {
            let rows = term.reads.iter().map(rows_of).sum::<usize>();
            term.plan.estimate.total * rows as f64
        });
        let kept = maintenance.kept.as_ref();
        let whole = kept.map_or(&self.compiled.plan, |kept| &kept.input).estimate.total.max(1.0);
        let is_begun = || self.kept.is_some() || kept.is_none_or(|kept| self.is_worth_keeping(kept));
        let costs_less = || !self.definition.options.live_runs || cost.sum::<f64>() <= whole && is_begun();
        let has_few_ranges = self.ranges.len() <= 4 * self.ranges_then + RANGES_MORE;
        Ok(!self.keeps_nothing && has_few_ranges && costs_less())
    }

    fn change_by(&mut self, changed: &ChangedTables, older: &Snapshot, newer: &Snapshot) -> Result<Option<Weights>> {
        let noting = |state: &Snapshot| match self.reads_all {
            true => (state.reader().clone(), None),
            false => {
                let (reader, notes) = state.noting();
                (reader, Some(notes))
            }
        };
        let ((was, of_older), (is, of_newer)) = (noting(older), noting(newer));
        let Some(change) = self.changed_result(changed, Some((&was, &is)))? else { return Ok(None) };
        let notes: Vec<ReadNotes> = [of_older, of_newer].into_iter().flatten().collect();
        drop((was, is));
        for notes in notes {
            let mut more = notes.ranges().beyond(&self.ranges);
            more.retain_trees(|tree| !self.compiled.hears_all_of(tree, &self.ranges));
            if more.is_empty() {
                continue;
            }
            if !older.is_same_in(newer, &more)? {
                return Ok(None);
            }
            self.ranges = Arc::new(self.ranges.with(&more));
        }
        Ok(Some(change))
    }

    /// By the tables as they were and as they are, where that has to be known. `None`: it can not be told by what changed.
    fn changed_result(
        &mut self,
        changed: &ChangedTables,
        states: Option<(&storage::Reader, &storage::Reader)>,
    ) -> Result<Option<Weights>> {
        let Query { definition, compiled, direct, buffers, rows, limits, .. } = self;
        let Some(maintenance) = &compiled.maintenance else { return Ok(None) };
        let terms = terms(maintenance, compiled, definition, direct);
        let surroundings = &definition.surroundings;
        let context = states.map(|(was, is)| surroundings.over(Reader::with_before(is, was), limits));
        let (values, bytes) = buffers.ready();
        let mut told = Told::new(&compiled.form, rows, bytes);
        let mut add = |values: &mut Vec<Value>, weight: i64| told.add(values, weight);
        match (&maintenance.kept, &context, states) {
            (Some(kept), Some(context), Some((was, _))) => {
                // Put back only when all went well.
                let state = match self.kept.take() {
                    Some(state) => Some(state),
                    None => {
                        self.expected = Some(Duration::ZERO);
                        KeptState::build(kept, &surroundings.over(Reader::from(was), limits))?
                    }
                };
                let Some(mut state) = state else {
                    self.keeps_nothing = true;
                    return Ok(None);
                };
                if !state.follow(terms, (context, changed), values, &mut add)? {
                    return Ok(None);
                }
                self.kept = Some(state);
            }
            (_, context, _) => {
                let around = MaintenanceEnv { eval: &surroundings.eval, states: context.as_ref() };
                terms.run(around, changed, values, &mut add)?;
            }
        }
        self.done.rows += told.rows;
        Ok(Some(told.change))
    }
}

/// What it is expected to take to make what is kept of a query: its input, and each row of it once. (Roughly as measured: a row takes
/// 0.2 to 0.3 us.)
fn beginning(kept: &KeptStages) -> Duration {
    let estimate = &kept.input.estimate;
    Duration::try_from_secs_f64(estimate.total * 2e-6 + estimate.rows * 250e-9).unwrap_or(Duration::MAX)
}

/// So long a beginning may take whatever it is worth.
const LITTLE: Duration = Duration::from_micros(250);

/// So many runs of a query may what is kept of it cost.
const RUNS_WORTH: u32 = 8;

/// Whether a result's columns are what they were, but for what types have more now.
fn are_versions(newer: &[Field], older: &[Field]) -> bool {
    let is_version =
        |(newer, older): (&Field, &Field)| newer.name == older.name && newer.data_type.is_version_of(older.data_type);
    newer.len() == older.len() && newer.iter().zip(older).all(is_version)
}

fn terms<'q>(
    maintenance: &'q Maintenance,
    compiled: &'q Compiled,
    definition: &Definition,
    direct: &'q OnceCell<Vec<Option<Direct>>>,
) -> Terms<'q> {
    let ways = || {
        let parameters = &definition.surroundings.parameters;
        compiled.direct.iter().map(|direct| direct.as_ref().map(|direct| direct.with(parameters))).collect()
    };
    Terms { plans: &maintenance.terms, direct: direct.get_or_init(ways), kept: &compiled.kept_terms }
}

/// Room for a row, and for its bytes, from one change to the next.
#[derive(Default)]
struct Buffers {
    values: Vec<Value>,
    bytes: Vec<u8>,
}

/// More room than this is not kept: there may be many queries.
const ROOM: usize = 4 << 10;

impl Buffers {
    fn ready(&mut self) -> (&mut Vec<Value>, &mut Vec<u8>) {
        self.values.clear();
        if self.bytes.capacity() > ROOM {
            self.bytes = Vec::new();
        }
        (&mut self.values, &mut self.bytes)
    }
}

/// A change of the result while its rows come.
struct Told<'a> {
    form: &'a RowForm,
    /// The result so far.
    result: &'a ResultRows,
    change: Weights,
    /// How many came that are there now.
    rows: u64,
    bytes: &'a mut Vec<u8>,
}

impl<'a> Told<'a> {
    fn new(form: &'a RowForm, result: &'a ResultRows, bytes: &'a mut Vec<u8>) -> Told<'a> {
        Told { form, result, change: Weights::default(), rows: 0, bytes }
    }

    fn add(&mut self, values: &[Value], weight: i64) {
        self.form.encode(values, self.bytes);
        self.rows += u64::try_from(weight).unwrap_or(0);
        // What goes was there.
        let row = if weight < 0 { self.result.shared(self.bytes) } else { RowBytes::from(&self.bytes[..]) };
        self.change.add(row, weight);
    }
}

/// So many ranges more are no matter.
const RANGES_MORE: usize = 256;

/// SQLSTATE 42601: only queries have results that can be watched.
pub(super) fn not_a_query() -> Error {
    let error = Error::new(SqlState::SYNTAX_ERROR, "a live query must be a SELECT or VALUES");
    error.with_hint("Statements that change rows are run with `execute`.")
}
