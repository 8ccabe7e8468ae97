//! How a query's result follows the tables that it reads: from its plan, plans that compute what has to be added to the result
//! and taken from it, out of the rows of its tables that changed.
//!
//! The result is a multiset of rows, a change of it one of rows with weights (Z-sets: Budiu and others, "DBSP", VLDB 2023). With
//! `dA` the change of A, A as it was and `A'` as it is:
//!
//! ```text
//! scan           what was there with weight -1, what is there with weight 1
//! filter, columns  of the change
//! A join B       dA join B', and A join dB
//! A left join B  dA left join B'; the rows of A that some row of dB goes with: left join B' with 1, left join B with -1
//!                (and so semi and anti joins)
//! grouping       the groups that some row of the input's change belongs to: as they are with 1, as they were with -1
//!                (and so DISTINCT, set operations, partitions of window functions; see `keyed_change`)
//! ```
//! What must hold:
//! - Each plan reads changed rows (as `CteScan`s, [`CteId::Changed`]), the tables as they are, and the tables as
//!   they were (trees called [`Reader::tree_before`]); its last column is the weight.
//! - The sum of the plans' rows is the change of the result: for any change of the tables, also of several at once.
//! - A plan whose changed rows are none gives none: it need not run.

use std::sync::Arc;

use super::keyed_change::{again, may_be_null, nulls_needed};
use crate::Result;
use crate::catalog::{Index, Table};
use crate::functions::exact_overload;
use crate::plan::expressions::expr::{AggregateCall, Expr};
use crate::plan::expressions::nulls::nullable_columns;
use crate::plan::expressions::refs::{calls_routine, has_subquery, identity, mapped};
use crate::plan::expressions::walk::{Facts, inputs_mut, node_exprs};
use crate::plan::logical::{CteId, Field, JoinKind, LogicalPlan, SetOperator, SortKey};
use crate::plan::optimize::{optimize, rewritten};
use crate::plan::options::OptimizerOptions;
use crate::plan::physical::PhysicalPlan;
use crate::sql::with_deep_stack;
use crate::state::Reader;
use crate::types::{DataType, Value};

/// More plans than that are more work than the query.
const TERMS_MAX: usize = 32;
/// WITH queries are written out where they are used, up to so many nodes.
const NODES_MAX: usize = 400;

/// Changed rows that plans read: columns of a table, and the weight.
#[derive(Debug)]
pub(crate) struct ChangedRows {
    pub(crate) id: CteId,
    pub(crate) table: Arc<Table>,
    pub(crate) columns: Vec<usize>,
}

/// A plan of a part of the change.
#[derive(Debug)]
pub(crate) struct Term {
    pub(crate) plan: Arc<PhysicalPlan>,
    /// The numbers of the changed rows that it reads.
    pub(crate) reads: Vec<CteId>,
    /// It gives no rows unless one of these columns, of changed rows by their number, is NULL somewhere.
    pub(crate) nulls: Option<Vec<(CteId, usize)>>,
}

/// What is done to rows on the way from what is kept to the result.
#[derive(Debug)]
pub(crate) enum Stage {
    Filter(Expr),
    Project(Vec<Expr>),
    /// Groups whose aggregates rows can be taken back from.
    Groups {
        group_by: Vec<Expr>,
        aggregates: Vec<AggregateCall>,
    },
    /// The first rows in an order.
    Top {
        keys: Vec<SortKey>,
        limit: Expr,
        offset: Option<Expr>,
    },
}

/// A part of the query that is kept in memory, with more than the result shows.
#[derive(Debug)]
pub(crate) struct KeptStages {
    /// The rows that the stages begin with: of a state for which nothing is kept yet.
    pub(crate) input: Arc<PhysicalPlan>,
    /// In the order in which rows go through them.
    pub(crate) stages: Vec<Stage>,
    /// The input is the first so many rows behind those that are wanted, in their order: there may be more.
    pub(crate) margin: Option<usize>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Maintenance {
    pub(crate) changed: Vec<ChangedRows>,
    /// Of the result; where stages are kept, of their input.
    pub(crate) terms: Vec<Term>,
    pub(crate) kept: Option<KeptStages>,
}

/// How many rows behind the first ones are kept.
const MARGIN: usize = 64;

impl Maintenance {
    /// Of a query as it was bound; `None`: its result has to be computed again.
    pub(crate) fn of(plan: &LogicalPlan, options: &OptimizerOptions) -> Result<Option<Maintenance>> {
        with_deep_stack(Facts::of(plan).depth, || Maintenance::derived(plan, options))?
    }

    fn derived(plan: &LogicalPlan, options: &OptimizerOptions) -> Result<Option<Maintenance>> {
        let mut plan = rewritten(plan.clone(), options);
        let mut nodes = 0;
        if !write_out(&mut plan, &mut nodes) {
            return Ok(None);
        }
        let (stages, input) = stages_of(&plan);
        let mut deriver = Deriver::default();
        let Some(terms) = deriver.change(input) else { return Ok(None) };
        let planned = |plan: LogicalPlan| {
            let mut reads = vec![];
            changed_in(&plan, &mut reads);
            let nulls = nulls_needed(&plan);
            Ok(Term { plan: Arc::new(optimize(plan, options)?), reads, nulls })
        };
        let terms = terms.into_iter().map(planned).collect::<Result<_>>()?;
        let kept = match stages.is_empty() {
            true => None,
            false => {
                let first = first_rows(&stages, input);
                let margin = first.as_ref().map(|_| MARGIN);
                let input = Arc::new(optimize(first.unwrap_or_else(|| input.clone()), options)?);
                Some(KeptStages { input, stages, margin })
            }
        };
        Ok(Some(Maintenance { changed: deriver.changed, terms, kept }))
    }

    /// All of its plans.
    pub(crate) fn plans(&self) -> impl Iterator<Item = &Arc<PhysicalPlan>> {
        self.terms.iter().map(|term| &term.plan).chain(self.kept.iter().map(|kept| &kept.input))
    }
}

/// What only has to read as many rows as are wanted, and a margin, where the order is that of the tables' rows.
fn first_rows(stages: &[Stage], input: &LogicalPlan) -> Option<LogicalPlan> {
    let Some(Stage::Top { keys, limit, offset }) = stages.first() else { return None };
    let add = exact_overload("+", &[DataType::BigInt, DataType::BigInt])?;
    let margin = Expr::Literal { value: Value::BigInt(MARGIN as i64), data_type: DataType::BigInt };
    let sum = |left: Expr, right: Expr| Expr::Call { function: add.clone(), args: vec![left, right] };
    let wanted = offset.iter().fold(sum(limit.clone(), margin), |all, offset| sum(all, offset.clone()));
    let sorted = LogicalPlan::Sort { input: Box::new(input.clone()), keys: keys.clone() };
    Some(LogicalPlan::Limit { input: Box::new(sorted), limit: Some(wanted), offset: None, ties: vec![] })
}

/// The plan without its order, which a multiset does not have.
fn unordered(plan: &LogicalPlan) -> &LogicalPlan {
    match plan {
        LogicalPlan::Sort { input, .. } => unordered(input),
        plan => plan,
    }
}

/// Puts the definitions of WITH queries where they are used, and writes UNION as the different rows of UNION ALL. False: that is
/// too much.
fn write_out(plan: &mut LogicalPlan, nodes: &mut usize) -> bool {
    *nodes += 1;
    if let LogicalPlan::SetOperation { op: SetOperator::Union, all: all @ false, .. } = plan {
        *all = true;
        let union = std::mem::replace(plan, LogicalPlan::Values { rows: vec![], fields: vec![] });
        *plan = LogicalPlan::Distinct { input: Box::new(union), on: vec![] };
    }
    if let LogicalPlan::With { id, definition, body, .. } = plan {
        let (id, definition) = (*id, definition.clone());
        let mut body = std::mem::replace(&mut **body, LogicalPlan::Values { rows: vec![], fields: vec![] });
        put_in_place(&mut body, id, &definition);
        *plan = body;
        return *nodes <= NODES_MAX && write_out(plan, nodes);
    }
    *nodes <= NODES_MAX && inputs_mut(plan).into_iter().all(|(input, _)| write_out(input, nodes))
}

fn put_in_place(plan: &mut LogicalPlan, id: CteId, definition: &LogicalPlan) {
    if let LogicalPlan::CteScan { id: found, fields, .. } = plan
        && *found == id
    {
        let exprs = identity(definition);
        *plan = LogicalPlan::Project { input: Box::new(definition.clone()), exprs, fields: fields.clone() };
        return;
    }
    inputs_mut(plan).into_iter().for_each(|(input, _)| put_in_place(input, id, definition));
}

/// The stages at the top that can be kept, as rows go through them, and what they begin with. None: there is nothing that is
/// worth keeping.
fn stages_of(plan: &LogicalPlan) -> (Vec<Stage>, &LogicalPlan) {
    let whole = unordered(plan);
    let (mut plan, mut stages, mut kept) = (plan, vec![], None);
    // (What is kept ends with a grouping, or with an order below which there is none.)
    while !has_queries(plan) {
        match plan {
            LogicalPlan::Sort { input, .. } => plan = input,
            LogicalPlan::Filter { input, predicate } => {
                stages.push(Stage::Filter(predicate.clone()));
                plan = input;
            }
            LogicalPlan::Project { input, exprs, .. } => {
                stages.push(Stage::Project(exprs.clone()));
                plan = input;
            }
            LogicalPlan::Limit { input, limit: Some(limit), offset, ties } if ties.is_empty() => {
                let Some((keys, below)) = order_below(input, &mut stages) else { break };
                let is_count = |expr: &Expr| expr.data_type() == DataType::BigInt;
                if kept.is_some() || !is_count(limit) || !offset.iter().all(is_count) {
                    break;
                }
                stages.push(Stage::Top { keys: keys.to_vec(), limit: limit.clone(), offset: offset.clone() });
                plan = below;
                kept = Some((stages.len(), plan));
            }
            LogicalPlan::Distinct { input, on } if on.is_empty() => {
                let group_by = identity(input);
                // (Groups without expressions are one row also of no rows.)
                if !group_by.is_empty() && group_by.iter().all(|expr| looks_as_it_is(expr.data_type())) {
                    stages.push(Stage::Groups { group_by, aggregates: vec![] });
                    kept = Some((stages.len(), &**input));
                }
                break;
            }
            LogicalPlan::Aggregate { input, group_by, aggregates, .. } => {
                let looks_alike = group_by.iter().all(|expr| looks_as_it_is(expr.data_type()));
                if looks_alike && aggregates.iter().all(can_retract) {
                    stages.push(Stage::Groups { group_by: group_by.clone(), aggregates: aggregates.clone() });
                    kept = Some((stages.len(), &**input));
                }
                break;
            }
            _ => break,
        }
    }
    match kept {
        Some((count, input)) => {
            stages.truncate(count);
            stages.reverse();
            (stages, input)
        }
        None => (vec![], whole),
    }
}

/// The order that a LIMIT is over; a projection between them comes behind both.
fn order_below<'p>(plan: &'p LogicalPlan, stages: &mut Vec<Stage>) -> Option<(&'p [SortKey], &'p LogicalPlan)> {
    match plan {
        LogicalPlan::Sort { input, keys } if keys.iter().all(|key| can_be_key(key.expr.data_type())) => {
            Some((keys, input))
        }
        LogicalPlan::Project { input, exprs, .. } if !has_queries(plan) => match &**input {
            LogicalPlan::Sort { .. } => {
                let found = order_below(input, stages)?;
                stages.push(Stage::Project(exprs.clone()));
                Some(found)
            }
            _ => None,
        },
        _ => None,
    }
}

/// Whether values of the type have an order as bytes that says all of it.
fn can_be_key(data_type: DataType) -> bool {
    use DataType as T;
    looks_as_it_is(data_type)
        || matches!(
            data_type,
            T::Numeric(_)
                | T::Real
                | T::Double
                | T::Timestamp(_)
                | T::TimestampTz(_)
                | T::Time(_)
                | T::TimeTz(_)
                | T::Interval(_)
        )
}

fn can_retract(call: &AggregateCall) -> bool {
    !call.distinct
        && call.order_by.is_empty()
        && call.aggregate.direct.is_none()
        && call.aggregate.start().can_retract()
}

/// Whether values of the type that are the same look the same: then it is no matter whose a group's are.
fn looks_as_it_is(data_type: DataType) -> bool {
    use DataType as T;
    data_type.is_address() && !data_type.is_array()
        || matches!(
            data_type,
            T::Boolean | T::SmallInt | T::Integer | T::BigInt | T::Text | T::Varchar(_) | T::Date | T::Uuid | T::Bytea
        )
}

/// Whether the node asks queries in its expressions, or rows around it.
fn has_queries(plan: &LogicalPlan) -> bool {
    node_exprs(plan).into_iter().any(|expr| {
        let mut found = has_subquery(expr);
        crate::plan::expressions::walk::walk(expr, 0, &mut |expr, _| found |= matches!(expr, Expr::Outer { .. }));
        found
    })
}

fn changed_in(plan: &LogicalPlan, found: &mut Vec<CteId>) {
    if let LogicalPlan::CteScan { id, .. } = plan
        && !found.contains(id)
    {
        found.push(*id);
    }
    crate::plan::expressions::walk::inputs(plan).into_iter().for_each(|(input, _)| changed_in(input, found));
}

/// Ways to get it wrong, so that the tests can show that they would notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Rows that come to both sides of a join in one step do not meet.
    BothSidesForgotten,
    /// Rows of an outer join's left side do not hear of new partners.
    PartnersForgotten,
    /// What a group was is not taken away.
    OldPartKept,
    /// What is kept of a query stays of a state to which its result was not brought.
    KeptAhead,
    /// Whoever is behind is told of a step that he is not at the beginning of.
    PassedBy,
}

#[cfg(test)]
thread_local! {
    static FAULT: std::cell::Cell<Option<Fault>> = const { std::cell::Cell::new(None) };
}

/// Runs `f`, in which plans of changes are derived with a fault.
#[cfg(test)]
pub(crate) fn with_fault<R>(fault: Option<Fault>, f: impl FnOnce() -> R) -> R {
    let before = FAULT.replace(fault);
    let result = f();
    FAULT.set(before);
    result
}

#[cfg(test)]
pub(crate) fn has(fault: Fault) -> bool {
    FAULT.get() == Some(fault)
}

#[cfg(not(test))]
pub(crate) const fn has(_: Fault) -> bool {
    false
}

#[derive(Default)]
struct Deriver {
    changed: Vec<ChangedRows>,
}

/// Plans whose last column is the weight; none: the rows never change. `None`: it is not known how to compute it.
type Terms = Option<Vec<LogicalPlan>>;

impl Deriver {
    fn change(&mut self, plan: &LogicalPlan) -> Terms {
        if has_queries(plan) {
            return None;
        }
        let terms = match plan {
            LogicalPlan::Values { .. } | LogicalPlan::SystemScan { .. } => vec![],
            LogicalPlan::TableFunction { call, .. } if !calls_routine(call) => vec![],
            LogicalPlan::Scan { table, columns, .. } => vec![self.rows_of(table, columns, plan)],
            LogicalPlan::Filter { input, predicate } => self
                .change(input)?
                .into_iter()
                .map(|change| LogicalPlan::Filter { input: Box::new(change), predicate: predicate.clone() })
                .collect(),
            LogicalPlan::Project { input, exprs, fields } => {
                let weight = input.fields().len();
                self.change(input)?
                    .into_iter()
                    .map(|change| project(change, exprs, fields, weight_at(weight)))
                    .collect()
            }
            LogicalPlan::Sort { input, .. } => self.change(input)?,
            LogicalPlan::Join { lateral: true, .. } => return None,
            LogicalPlan::Join { kind, left, right, on, .. } => self.join(*kind, left, right, on.as_ref())?,
            LogicalPlan::SetOperation { op: SetOperator::Union, all: true, left, right } => {
                let mut terms = self.change(left)?;
                terms.extend(self.change(right)?);
                terms
            }
            LogicalPlan::SetOperation { op, all, left, right } => {
                let mut changed = self.change(left)?;
                changed.extend(self.change(right)?);
                let either = |(left, right): (bool, bool)| left || right;
                let nullable = nullable_columns(left).into_iter().zip(nullable_columns(right)).map(either).collect();
                again(keys_of(changed, &identity(plan)), nullable, |keys, state| {
                    let [left, right] = [left, right].map(|side| Box::new(keys.rows(state(side), &identity(side))));
                    LogicalPlan::SetOperation { op: *op, all: *all, left, right }
                })
            }
            LogicalPlan::Distinct { input, on } if on.is_empty() => {
                let columns = identity(input);
                let changed = self.change(input)?;
                again(keys_of(changed, &columns), nullable_columns(input), |keys, state| LogicalPlan::Distinct {
                    input: Box::new(keys.rows(state(input), &columns)),
                    on: vec![],
                })
            }
            LogicalPlan::Aggregate { input, group_by, aggregates, fields } if !group_by.is_empty() => {
                let changed = self.change(input)?;
                again(keys_of(changed, group_by), may_be_null(group_by, input), |keys, state| LogicalPlan::Aggregate {
                    input: Box::new(keys.rows(state(input), group_by)),
                    group_by: group_by.clone(),
                    aggregates: aggregates.clone(),
                    fields: fields.clone(),
                })
            }
            LogicalPlan::Window { input, partition_by, order_by, calls, fields } if !partition_by.is_empty() => {
                let changed = self.change(input)?;
                again(keys_of(changed, partition_by), may_be_null(partition_by, input), |keys, state| {
                    LogicalPlan::Window {
                        input: Box::new(keys.rows(state(input), partition_by)),
                        partition_by: partition_by.clone(),
                        order_by: order_by.clone(),
                        calls: calls.clone(),
                        fields: fields.clone(),
                    }
                })
            }
            _ => return None,
        };
        (terms.len() <= TERMS_MAX).then_some(terms)
    }

    fn rows_of(&mut self, table: &Arc<Table>, columns: &[usize], scan: &LogicalPlan) -> LogicalPlan {
        let same = |known: &&ChangedRows| known.table.tree == table.tree && known.columns == columns;
        let id = match self.changed.iter().find(same) {
            Some(known) => known.id,
            None => {
                let id = CteId::Changed(self.changed.len());
                self.changed.push(ChangedRows { id, table: table.clone(), columns: columns.to_vec() });
                id
            }
        };
        LogicalPlan::CteScan { id, alias: None, fields: weighted(&scan.fields()) }
    }

    fn join(&mut self, kind: JoinKind, left: &LogicalPlan, right: &LogicalPlan, on: Option<&Expr>) -> Terms {
        let (left_width, right_width) = (left.fields().len(), right.fields().len());
        match kind {
            JoinKind::Inner => {
                let other = if has(Fault::BothSidesForgotten) { &before(right) } else { right };
                let left_changes = self.change(left)?.into_iter();
                let mut terms: Vec<_> = left_changes.map(|change| with_right(kind, change, left, other, on)).collect();
                // The weight comes last already.
                terms.extend(
                    self.change(right)?.into_iter().map(|change| join(kind, before(left), change, on.cloned())),
                );
                Some(terms)
            }
            JoinKind::Left | JoinKind::Semi | JoinKind::Anti => {
                let left_changes = self.change(left)?.into_iter();
                let mut terms: Vec<_> = left_changes.map(|change| with_right(kind, change, left, right, on)).collect();
                let changed = union(self.change(right)?).filter(|_| !has(Fault::PartnersForgotten));
                if let Some(changed) = changed {
                    // (The weight behind the changed rows' columns is not asked.)
                    let partners = join(JoinKind::Semi, before(left), changed, on.cloned());
                    for (state, weight) in [(before(right), -1), (right.clone(), 1)] {
                        let joined = join(kind, partners.clone(), state, on.cloned());
                        terms.push(with_weight(joined, weight));
                    }
                }
                Some(terms)
            }
            JoinKind::Right | JoinKind::RightSemi | JoinKind::RightAnti => {
                let on = on.map(|on| exchanged(on, left_width, right_width));
                let mirrored = match kind {
                    JoinKind::Right => JoinKind::Left,
                    JoinKind::RightSemi => JoinKind::Semi,
                    _ => JoinKind::Anti,
                };
                let terms = self.join(mirrored, right, left, on.as_ref())?;
                if kind != JoinKind::Right {
                    return Some(terms);
                }
                let order: Vec<usize> = (right_width..right_width + left_width)
                    .chain(0..right_width)
                    .chain([left_width + right_width])
                    .collect();
                Some(terms.into_iter().map(|term| columns(term, &order)).collect())
            }
            JoinKind::Full => {
                // What a left join gives, and the right rows without partner.
                let mut terms = self.join(JoinKind::Left, left, right, on)?;
                let swapped = on.map(|on| exchanged(on, left_width, right_width));
                let nulls = left.fields();
                for term in self.join(JoinKind::Anti, right, left, swapped.as_ref())? {
                    let fields = [left.fields(), right.fields()].concat();
                    let missing =
                        nulls.iter().map(|field| Expr::Literal { value: Value::Null, data_type: field.data_type });
                    let there = identity(right);
                    let exprs: Vec<Expr> = missing.chain(there).collect();
                    terms.push(project(term, &exprs, &fields, weight_at(right_width)));
                }
                Some(terms)
            }
        }
    }
}

fn weight_field() -> Field {
    Field { name: "weight".into(), data_type: DataType::BigInt }
}

fn weighted(fields: &[Field]) -> Vec<Field> {
    fields.iter().cloned().chain([weight_field()]).collect()
}

fn weight_at(index: usize) -> Expr {
    Expr::Column { index, data_type: DataType::BigInt }
}

/// The expressions over the input, and the weight.
fn project(input: LogicalPlan, exprs: &[Expr], fields: &[Field], weight: Expr) -> LogicalPlan {
    let exprs = exprs.iter().cloned().chain([weight]).collect();
    LogicalPlan::Project { input: Box::new(input), exprs, fields: weighted(fields) }
}

pub(super) fn with_weight(plan: LogicalPlan, weight: i64) -> LogicalPlan {
    let (exprs, fields) = (identity(&plan), plan.fields());
    project(plan, &exprs, &fields, Expr::Literal { value: Value::BigInt(weight), data_type: DataType::BigInt })
}

/// Some of the input's columns, in this order.
pub(in crate::plan) fn columns(input: LogicalPlan, order: &[usize]) -> LogicalPlan {
    let all = input.fields();
    let exprs = order.iter().map(|&index| Expr::Column { index, data_type: all[index].data_type }).collect();
    let fields = order.iter().map(|&index| all[index].clone()).collect();
    LogicalPlan::Project { input: Box::new(input), exprs, fields }
}

pub(in crate::plan) fn join(kind: JoinKind, left: LogicalPlan, right: LogicalPlan, on: Option<Expr>) -> LogicalPlan {
    LogicalPlan::Join { kind, left: Box::new(left), right: Box::new(right), on, lateral: false }
}

/// A change of the left side joined with the right side as it is.
fn with_right(
    kind: JoinKind,
    change: LogicalPlan,
    left: &LogicalPlan,
    right: &LogicalPlan,
    on: Option<&Expr>,
) -> LogicalPlan {
    let (left_width, right_width) = (left.fields().len(), right.fields().len());
    // The weight stands between the two.
    let on = on.map(|on| mapped(on.clone(), &|index| if index < left_width { index } else { index + 1 }));
    let joined = join(kind, change, right.clone(), on);
    if !kind.shows_right() {
        return joined;
    }
    let order: Vec<usize> =
        (0..left_width).chain(left_width + 1..=left_width + right_width).chain([left_width]).collect();
    columns(joined, &order)
}

/// A condition over left and right row as one over right and left row.
fn exchanged(on: &Expr, left_width: usize, right_width: usize) -> Expr {
    let place = |index: usize| if index < left_width { index + right_width } else { index - left_width };
    mapped(on.clone(), &place)
}

pub(in crate::plan) fn union(terms: Vec<LogicalPlan>) -> Option<LogicalPlan> {
    terms.into_iter().reduce(|left, right| LogicalPlan::SetOperation {
        op: SetOperator::Union,
        all: true,
        left: Box::new(left),
        right: Box::new(right),
    })
}

/// The values of the expressions in the changed rows.
fn keys_of(changed: Vec<LogicalPlan>, exprs: &[Expr]) -> Vec<LogicalPlan> {
    let fields: Vec<Field> =
        exprs.iter().map(|expr| Field { name: String::new(), data_type: expr.data_type() }).collect();
    let key = |change| LogicalPlan::Project { input: Box::new(change), exprs: exprs.to_vec(), fields: fields.clone() };
    changed.into_iter().map(key).collect()
}

/// The plan of the tables as they were.
pub(in crate::plan) fn before(plan: &LogicalPlan) -> LogicalPlan {
    let mut plan = plan.clone();
    read_before(&mut plan);
    plan
}

fn read_before(plan: &mut LogicalPlan) {
    if let LogicalPlan::Scan { table, .. } = plan {
        *table = Arc::new(table_before(table));
    }
    inputs_mut(plan).into_iter().for_each(|(input, _)| read_before(input));
}

fn table_before(table: &Table) -> Table {
    let index = |index: &Arc<Index>| Arc::new(Index { tree: Reader::tree_before(index.tree), ..Index::clone(index) });
    let indexes = table.indexes.iter().map(index).collect();
    Table { tree: Reader::tree_before(table.tree), indexes, ..table.clone() }
}
