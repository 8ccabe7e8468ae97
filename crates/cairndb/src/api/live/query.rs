//! One live query: its plan, its result as it was last, and how that is brought to a newer state.
//!
//! What must hold:
//! - Its result is that of its query in one durable state, of the position that it names.
//! - What it says it is interested in covers all that its result rests on: the rows and ranges that its operators read, and
//!   what its plan rests on in the catalog.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cairn_storage::{Changed, KeyRanges, Snapshot, TreeId};

use super::result::{ResultRows, RowForm, Weights};
use crate::api::Prepared;
use crate::api::database::Shared;
use crate::bind::{BoundStatement, ParameterTypes, bind_statement};
use crate::catalog::{Catalog, CatalogStamp, SearchPath, Table, TableLayout};
use crate::exec::{ExecContext, execute_kept};
use crate::plan::{Field, OptimizerOptions, PhysicalPlan, columns_read, refuse_unwatchable, result_key, trees_read};
use crate::sql::ParsedStatement;
use crate::state::Reader;
use crate::types::EvalContext;
use crate::types::datetime::clock_micros;
use crate::{Error, Result, SqlState, Value};

/// What a query is, whoever watches it.
#[derive(Clone)]
pub(super) struct Definition {
    pub(super) parsed: Arc<ParsedStatement>,
    pub(super) path: Arc<SearchPath>,
    pub(super) options: OptimizerOptions,
    /// All but the reader.
    pub(super) context: ExecContext,
}

/// See the module.
pub(super) struct Query {
    definition: Definition,
    prepared: Arc<Prepared>,
    /// The catalog that was seen last, and as the query's session sees it.
    seen: (Arc<Catalog>, Arc<Catalog>),
    pub(super) fields: Arc<[Field]>,
    /// By which columns rows are told apart.
    pub(super) key: Option<Arc<[usize]>>,
    pub(super) form: Arc<RowForm>,
    pub(super) rows: ResultRows,
    /// The log position of the state that the result is of.
    pub(super) position: u64,
    /// What it read to get there.
    pub(super) ranges: KeyRanges,
    relevant: Arc<Relevant>,
}

/// Which changes are none to a query.
#[derive(Debug, Default)]
pub(super) struct Relevant(BTreeMap<TreeId, (Arc<TableLayout>, Vec<usize>)>);

impl Relevant {
    fn of(plan: &PhysicalPlan, catalog: &Catalog, tables: &[Arc<Table>]) -> Relevant {
        let read: BTreeMap<TreeId, BTreeSet<usize>> = columns_read(plan);
        let mut relevant = BTreeMap::new();
        for table in tables {
            let Some(columns) = read.get(&table.tree) else { continue };
            let layout = catalog.layout(table);
            let stored = layout.stored_columns().iter().enumerate();
            let read = stored.filter(|(_, column)| columns.contains(column)).map(|(at, _)| at).collect();
            relevant.insert(table.tree, (layout, read));
        }
        Relevant(relevant)
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
    pub(super) fn new(definition: Definition, shared: &Shared, snapshot: &Snapshot) -> Result<Query> {
        let (stamp, now) = shared.catalog(snapshot.reader())?;
        let seen = Arc::new(now.under(&definition.path));
        let prepared = prepare(&definition, (stamp, &seen), snapshot)?;
        let plan = plan_of(&prepared)?.clone();
        let types: Vec<_> = plan.fields.iter().map(|field| field.data_type).collect();
        let relevant = Arc::new(Relevant::of(&plan, &seen, &prepared.tables()));
        Ok(Query {
            definition,
            prepared,
            seen: (now, seen),
            fields: plan.fields.clone().into(),
            key: result_key(&plan).map(Arc::from),
            form: Arc::new(RowForm::new(&types)),
            rows: ResultRows::default(),
            position: 0,
            ranges: KeyRanges::default(),
            relevant,
        })
    }

    /// All that it could come to read, and more.
    pub(super) fn wide_ranges(&self) -> Result<KeyRanges> {
        let mut trees = trees_read(plan_of(&self.prepared)?);
        trees.insert(TreeId::CATALOG);
        Ok(KeyRanges::of_trees(trees.into_iter()))
    }

    pub(super) fn relevant(&self) -> Arc<Relevant> {
        self.relevant.clone()
    }

    /// Brings the result to this state, which is durable and not older than the last; what changed.
    pub(super) fn advance(&mut self, shared: &Shared, snapshot: &Snapshot) -> Result<Weights> {
        self.look_at_catalog(shared, snapshot)?;
        let (reader, notes) = snapshot.noting();
        self.prepared.note(&reader, true)?;
        let rows = self.run(Reader::from(&reader))?;
        let change = self.rows.change_to(&rows);
        (self.rows, self.position, self.ranges) = (rows, snapshot.position(), notes.ranges());
        Ok(change)
    }

    /// Plans again where what the plan rests on is another now.
    fn look_at_catalog(&mut self, shared: &Shared, snapshot: &Snapshot) -> Result<()> {
        let (stamp, now) = shared.catalog(snapshot.reader())?;
        if !Arc::ptr_eq(&now, &self.seen.0) {
            let seen = Arc::new(now.under(&self.definition.path));
            self.seen = (now, seen);
        }
        let seen = &self.seen.1;
        let Definition { options, .. } = &self.definition;
        if self.prepared.is_current(stamp, seen, options) && self.prepared.fits(&Reader::from(snapshot.reader()))? {
            return Ok(());
        }
        let prepared = prepare(&self.definition, (stamp, seen), snapshot)?;
        let plan = plan_of(&prepared)?;
        if plan.fields[..] != self.fields[..] {
            let message = "cached plan must not change result type";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
                .with_hint("A table of the live query was altered. Watch the query again."));
        }
        self.relevant = Arc::new(Relevant::of(plan, seen, &prepared.tables()));
        self.prepared = prepared;
        Ok(())
    }

    fn run(&self, reader: Reader) -> Result<ResultRows> {
        let Definition { context, .. } = &self.definition;
        let now = clock_micros();
        let eval = EvalContext { transaction_timestamp: now, statement_timestamp: now, ..(*context.eval).clone() };
        let context = ExecContext { reader, eval: Arc::new(eval), ..context.clone() };
        let mut stream = execute_kept(plan_of(&self.prepared)?.clone(), context, None)?;
        let (mut rows, mut values, mut bytes) = (ResultRows::default(), Vec::<Value>::new(), Vec::new());
        while let Some(mut batch) = stream.next_batch()? {
            batch.check_text();
            for at in 0..batch.len() {
                values.clear();
                batch.read_row(at, &mut values);
                self.form.encode(&values, &mut bytes);
                rows.push(&bytes);
            }
        }
        Ok(rows)
    }
}

fn plan_of(prepared: &Prepared) -> Result<&Arc<PhysicalPlan>> {
    prepared.plan()?.ok_or_else(|| Error::internal("a live query without a plan"))
}

fn prepare(
    definition: &Definition,
    (stamp, catalog): (CatalogStamp, &Arc<Catalog>),
    snapshot: &Snapshot,
) -> Result<Arc<Prepared>> {
    let mut parameters = ParameterTypes::default();
    let bound = bind_statement(&definition.parsed, catalog, &mut parameters)?;
    let BoundStatement::Query(plan) = &bound else { return Err(not_a_query()) };
    if parameters.uses_temporary() {
        let error = Error::unsupported("a live query of temporary tables");
        return Err(error.with_hint("They are the session's own: nobody else changes them."));
    }
    refuse_unwatchable(plan)?;
    let reader = Reader::from(snapshot.reader());
    Prepared::new(&definition.parsed, stamp, catalog, &definition.options, &reader).map(Arc::new)
}

/// SQLSTATE 42601: only queries have results that can be watched.
pub(super) fn not_a_query() -> Error {
    let error = Error::new(SqlState::SYNTAX_ERROR, "a live query must be a SELECT or VALUES");
    error.with_hint("Statements that change rows are run with `execute`.")
}
