//! The plans of live queries: queries that differ in their parameters share one.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use cairn_storage::{KeyRanges, Snapshot, TreeId};

use super::definition::Definition;
use super::query::{Relevant, not_a_query};
use super::result::RowForm;
use crate::bind::{BoundStatement, ParameterTypes, bind_statement};
use crate::catalog::{Catalog, CatalogStamp};
use crate::exec::{ChangedReader, Direct, Kept};
use crate::plan::{
    ChangedRows, Field, LogicalPlan, Maintenance, PhysicalPlan, refuse_unwatchable, result_key, trees_read,
};
use crate::prepared::Prepared;
use crate::state::Reader;
use crate::sync::Mutex;
use crate::{Error, Result};

/// What is the same of a query whatever its parameters are. Immutable, but for operators that wait to be used again.
pub(super) struct Compiled {
    pub(super) prepared: Arc<Prepared>,
    pub(super) plan: Arc<PhysicalPlan>,
    pub(super) fields: Arc<[Field]>,
    /// By which columns rows are told apart.
    pub(super) key: Option<Arc<[usize]>>,
    pub(super) form: Arc<RowForm>,
    pub(super) relevant: Arc<Relevant>,
    /// `None`: the result can only be computed anew.
    pub(super) maintenance: Option<Maintenance>,
    /// Its rows come in an order that was asked for.
    pub(super) is_ordered: bool,
    /// All trees that its plans read.
    pub(super) trees: BTreeSet<TreeId>,
    /// By tree of an index, that of its table.
    tables: BTreeMap<TreeId, TreeId>,
    /// The log position of the state in which it was looked at last whether the plans are still right.
    checked: AtomicU64,
    pub(super) kept: Kept,
    /// One for each of the maintenance's plans.
    pub(super) kept_terms: Vec<Kept>,
    /// Shorter ways than these plans, of those that have one.
    pub(super) direct: Vec<Option<Direct>>,
    /// One for each table whose changed rows these read.
    pub(super) readers: Vec<ChangedReader>,
}

impl Compiled {
    /// Whether who is interested in these hears of all that changes in the tree.
    pub(super) fn hears_all_of(&self, tree: TreeId, ranges: &KeyRanges) -> bool {
        ranges.have_all_of(tree) || self.tables.get(&tree).is_some_and(|table| ranges.have_all_of(*table))
    }

    /// Whether its plans were found right in this state, for whichever of its queries.
    pub(super) fn is_checked(&self, state: &Snapshot) -> bool {
        self.checked.load(Ordering::Relaxed) == state.position()
    }

    pub(super) fn note_checked(&self, state: &Snapshot) {
        self.checked.store(state.position(), Ordering::Relaxed);
    }
}

/// A text, and what else its plan depends on.
type Identity = (Box<str>, Arc<str>);

/// Those that some query uses.
#[derive(Default)]
pub(super) struct Plans(Mutex<HashMap<Identity, Weak<Compiled>>>);

impl Plans {
    /// The plan of a query in a state; `seen`: the catalog as its session sees it.
    pub(super) fn compiled(
        &self,
        definition: &Definition,
        (stamp, seen): (CatalogStamp, &Arc<Catalog>),
        snapshot: &Snapshot,
    ) -> Result<Arc<Compiled>> {
        let Some(settings) = &definition.settings else { return compile(definition, (stamp, seen), snapshot) };
        let identity = (definition.parsed.text().into(), settings.clone());
        let known = self.0.lock().get(&identity).and_then(Weak::upgrade);
        if let Some(known) = known
            && known.prepared.is_current(stamp, seen, &definition.options)
            && known.prepared.fits(&Reader::from(snapshot.reader()))?
        {
            return Ok(known);
        }
        let compiled = compile(definition, (stamp, seen), snapshot)?;
        let mut plans = self.0.lock();
        if plans.len() >= 2 * plans.values().filter(|plan| plan.strong_count() > 0).count() + 16 {
            plans.retain(|_, plan| plan.strong_count() > 0);
        }
        plans.insert(identity, Arc::downgrade(&compiled));
        Ok(compiled)
    }
}

fn compile(
    definition: &Definition,
    (stamp, catalog): (CatalogStamp, &Arc<Catalog>),
    snapshot: &Snapshot,
) -> Result<Arc<Compiled>> {
    let mut parameters = ParameterTypes::default();
    let bound = bind_statement(&definition.parsed, catalog, &mut parameters)?;
    let BoundStatement::Query(bound) = &bound else { return Err(not_a_query()) };
    if parameters.uses_temporary() {
        let error = Error::unsupported("a live query of temporary tables");
        return Err(error.with_hint("They are the session's own: nobody else changes them."));
    }
    refuse_unwatchable(bound)?;
    let reader = Reader::from(snapshot.reader());
    let prepared = Prepared::new(&definition.parsed, stamp, catalog, &definition.options, &reader)?;
    let plan = prepared.plan()?.ok_or_else(|| Error::internal("a live query without a plan"))?.clone();
    let maintenance = match definition.options.live_changes {
        true => Maintenance::of(bound, &definition.options)?,
        false => None,
    };
    let mut trees = trees_read(&plan);
    for plan in maintenance.iter().flat_map(Maintenance::plans) {
        trees.extend(trees_read(plan).into_iter().map(Reader::tree_whenever));
    }
    let tables = prepared.tables();
    let types: Vec<_> = plan.fields.iter().map(|field| field.data_type).collect();
    Ok(Arc::new(Compiled {
        fields: plan.fields.clone().into(),
        key: result_key(&plan).map(Arc::from),
        form: Arc::new(RowForm::new(&types)),
        tables: tables.iter().flat_map(|table| table.indexes.iter().map(|index| (index.tree, table.tree))).collect(),
        relevant: Arc::new(Relevant::of(&plan, catalog)),
        kept_terms: maintenance.iter().flat_map(|of| &of.terms).map(|_| Kept::default()).collect(),
        direct: maintenance.iter().flat_map(|of| &of.terms).map(Direct::of).collect(),
        readers: maintenance.iter().flat_map(|of| &of.changed).map(reader_of).collect(),
        checked: AtomicU64::new(0),
        kept: Kept::default(),
        is_ordered: is_ordered(bound),
        maintenance,
        trees,
        plan,
        prepared,
    }))
}

fn reader_of(changed: &ChangedRows) -> ChangedReader {
    ChangedReader::new(&changed.table, &changed.columns)
}

fn is_ordered(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Sort { .. } => true,
        LogicalPlan::Project { input, .. } | LogicalPlan::Limit { input, .. } => is_ordered(input),
        _ => false,
    }
}
