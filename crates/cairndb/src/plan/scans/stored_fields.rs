//! Scans read of long values only what somebody uses, where they lie, instead of the values: parts of documents, and whether
//! there is a value at all.
//!
//! Done for scans of a table below a projection or an aggregation (filters, sorts and limits between them), in a finished
//! plan: a `jsonb` column of which all there ask for parts only, by constants, goes, and so does one of another long type of
//! which all there ask whether it is NULL (which `count` does, too); what they ask for comes behind the columns.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::catalog::Table;
use crate::functions::{AggregateKind, aggregate_overloads, json};
use crate::plan::expressions::equal::same_expr;
use crate::plan::expressions::expr::{AggregateCall, Expr};
use crate::plan::expressions::refs::{add_used_columns, map_columns};
use crate::plan::expressions::walk;
use crate::plan::logical::Field;
use crate::plan::number::{children_mut, node_exprs, node_exprs_mut};
use crate::plan::physical::{PhysicalNode as N, PhysicalPlan};
use crate::plan::rewrites::narrow::{has_subplan, position};
use crate::types::DataType;

/// For the scans of a whole plan; those inside subplans stay.
pub(in crate::plan) fn read_fields(plan: &mut PhysicalPlan) {
    if matches!(plan.node, N::Project { .. } | N::Aggregate { .. }) {
        read_below(plan);
    }
    for child in children_mut(&mut plan.node) {
        read_fields(Arc::make_mut(child));
    }
}

/// What is read of a value where it lies.
#[derive(Clone, Debug)]
pub(crate) enum StoredPart {
    /// Whether it is NULL.
    IsNull,
    Field(json::Field),
}

impl StoredPart {
    pub(crate) fn data_type(&self) -> DataType {
        match self {
            StoredPart::IsNull => DataType::Boolean,
            StoredPart::Field(field) => field.data_type(),
        }
    }
}

/// The column of a long type and what is asked of it.
pub(crate) fn stored_part(expr: &Expr) -> Option<(usize, StoredPart)> {
    match expr {
        Expr::IsNull(value) => match **value {
            Expr::Column { index, data_type } if is_long(data_type) => Some((index, StoredPart::IsNull)),
            _ => None,
        },
        _ => stored_field(expr).map(|(column, field)| (column, StoredPart::Field(field))),
    }
}

/// Whether values of the type may be much longer than the word that says whether they are there.
fn is_long(data_type: DataType) -> bool {
    use DataType as T;
    data_type.is_string()
        || matches!(data_type, T::Bytea | T::Json | T::Jsonb | T::Array(_) | T::Composite(_) | T::Numeric(_))
}

/// The column of `jsonb` and what is taken out of it.
fn stored_field(expr: &Expr) -> Option<(usize, json::Field)> {
    let Expr::Call { function, args } = expr else { return None };
    let [document, Expr::Literal { value, .. }] = args.as_slice() else { return None };
    let field = json::Field::of(function, value)?;
    match document {
        Expr::Column { index, data_type: DataType::Jsonb } => Some((*index, field)),
        _ => {
            let (column, outer) = stored_field(document)?;
            Some((column, outer.then(field)?))
        }
    }
}

/// What is asked of the columns of a scan.
#[derive(Default)]
struct Asked<'e> {
    whole: BTreeSet<usize>,
    /// Each once.
    fields: Vec<&'e Expr>,
}

impl<'e> Asked<'e> {
    fn add(&mut self, expr: &'e Expr) {
        match expr {
            Expr::Column { index, .. } => {
                self.whole.insert(*index);
            }
            _ if stored_part(expr).is_some() => {
                if !self.fields.iter().any(|field| same_expr(field, expr)) {
                    self.fields.push(expr);
                }
            }
            _ => walk::children(expr).for_each(|child| self.add(child)),
        }
    }
}

/// The node at the top uses up its input's columns: none of them goes on to the node above it.
fn read_below(top: &mut PhysicalPlan) {
    let Some((table, columns)) = scanned(top) else { return };
    let mut has_counted = false;
    if let N::Aggregate { aggregates, .. } = &mut top.node {
        aggregates.iter_mut().for_each(|call| has_counted |= count_rows(call, &table, &columns));
    }
    let fields = {
        let mut exprs = vec![];
        add_exprs(top, &mut exprs);
        if exprs.iter().any(|expr| has_subplan(expr)) {
            return;
        }
        let mut asked = Asked::default();
        exprs.into_iter().for_each(|expr| asked.add(expr));
        let is_alone = |expr: &&Expr| {
            let column = stored_part(expr).map(|(column, _)| column);
            // A key is kept in another form.
            column.is_some_and(|column| !asked.whole.contains(&column) && is_in_row(&table, columns.get(column)))
        };
        asked.fields.into_iter().filter(is_alone).cloned().collect::<Vec<_>>()
    };
    if fields.is_empty() && !has_counted {
        return;
    }
    replace(top, &mut |expr| {
        walk::rewrite(expr, 0, &mut |expr, _| {
            let at = fields.iter().position(|field| same_expr(field, expr))?;
            Some(Expr::Column { index: columns.len() + at, data_type: expr.data_type() })
        });
    });
    let kept: Vec<usize> = {
        let (mut used, mut exprs) = (BTreeSet::new(), vec![]);
        add_exprs(top, &mut exprs);
        exprs.into_iter().for_each(|expr| add_used_columns(expr, &mut used));
        used.into_iter().collect()
    };
    replace(top, &mut |expr| map_columns(expr, &|column| position(&kept, column)));
    let named = |field: &Expr| Field { name: "?column?".to_owned(), data_type: field.data_type() };
    let of_table = |field: &Expr| {
        let mut field = field.clone();
        map_columns(&mut field, &|column| columns.get(column).copied().unwrap_or(column));
        field
    };
    below(top, &mut |plan| {
        let all = plan.fields.iter().cloned().chain(fields.iter().map(named)).collect::<Vec<_>>();
        plan.fields = kept.iter().filter_map(|&column| all.get(column).cloned()).collect();
        if let N::TableScan { columns: scanned, fields: read, .. } = &mut plan.node {
            *scanned = kept.iter().filter_map(|&column| columns.get(column).copied()).collect();
            *read = fields.iter().map(of_table).collect();
        }
    });
}

/// `count` of a column as that of the rows that have a value there; whether it is one.
fn count_rows(call: &mut AggregateCall, table: &Table, columns: &[usize]) -> bool {
    let [Expr::Column { index, data_type }] = *call.args.as_slice() else { return false };
    let counts = call.aggregate.kind == AggregateKind::Count && !call.distinct && call.order_by.is_empty();
    let Some(of_rows) = aggregate_overloads("count").iter().find(|count| count.args.is_empty()) else { return false };
    if !counts || !is_long(data_type) {
        return false;
    }
    let args = std::mem::take(&mut call.args);
    call.aggregate = of_rows.clone();
    if columns.get(index).is_some_and(|&column| table.is_not_null(column)) {
        return true;
    }
    let is_there = args.into_iter().map(|column| Expr::Not(Box::new(Expr::IsNull(Box::new(column)))));
    call.filter = call.filter.take().into_iter().chain(is_there).reduce(|one, other| Expr::And(vec![one, other]));
    true
}

fn is_in_row(table: &Table, column: Option<&usize>) -> bool {
    column.is_some_and(|column| !table.is_in_row_key(*column))
}

/// The input of a node that passes all its columns on.
fn passed_on(node: &N) -> Option<&Arc<PhysicalPlan>> {
    match node {
        N::Filter { input, .. } | N::Sort { input, .. } | N::TopN { input, .. } | N::Limit { input, .. } => Some(input),
        _ => None,
    }
}

/// The table that is scanned below a node, and the columns.
fn scanned(top: &PhysicalPlan) -> Option<(Arc<Table>, Vec<usize>)> {
    let mut plan = top.children().into_iter().next()?;
    loop {
        match &plan.node {
            N::TableScan { table, columns, fields, .. } if fields.is_empty() => {
                return Some((table.clone(), columns.clone()));
            }
            node => plan = passed_on(node)?,
        }
    }
}

/// The expressions of a node and of those below it, over the columns of the scan.
fn add_exprs<'p>(plan: &'p PhysicalPlan, exprs: &mut Vec<&'p Expr>) {
    exprs.extend(node_exprs(&plan.node));
    if let Some(input) = plan.children().into_iter().next() {
        add_exprs(input, exprs);
    }
}

/// Changes those expressions.
fn replace(plan: &mut PhysicalPlan, change: &mut dyn FnMut(&mut Expr)) {
    node_exprs_mut(&mut plan.node).into_iter().for_each(&mut *change);
    below(plan, &mut |plan| node_exprs_mut(&mut plan.node).into_iter().for_each(&mut *change));
}

/// The nodes below, down to the scan.
fn below(plan: &mut PhysicalPlan, change: &mut dyn FnMut(&mut PhysicalPlan)) {
    for input in children_mut(&mut plan.node) {
        let input = Arc::make_mut(input);
        change(input);
        below(input, change);
    }
}
