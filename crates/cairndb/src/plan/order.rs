//! The order in which rows come: one property of a plan's rows, which each node has from its inputs'.
//!
//! What is told must be so: a sort is left out, groups are taken one behind the other, and inputs are merged for it. What is not
//! told costs a sort.

use std::collections::BTreeSet;

use super::expressions::equal::same_expr;
use super::expressions::expr::Expr;
use super::expressions::nulls::rejects;
use super::expressions::refs::{conjuncts, is_volatile, mapped, used_columns};
use super::expressions::walk;
use super::logical::{Field, JoinKind, SortKey};
use super::physical::{KeyRange, PhysicalNode as N, PhysicalPlan};
use super::scans::scan::column_index;
use crate::catalog::{Index, IndexColumn, Table};
use crate::functions::Operator;
use crate::types::DataType;

/// What is known of the order of some rows, by expressions over them.
#[derive(Clone, Debug, Default)]
pub(super) struct Order {
    /// Rows come by the first; where it is equal, by the second, and so on.
    keys: Vec<SortKey>,
    /// No two rows agree in all of the keys, so that behind them any order is kept.
    differ: bool,
    /// What has the same value in all rows.
    fixed: Vec<Expr>,
    /// Columns that have the same value in each row.
    equal: Vec<BTreeSet<usize>>,
    /// Columns without NULLs: for them it does not matter where those would be.
    not_null: BTreeSet<usize>,
}

impl Order {
    /// Of at most one row.
    pub(super) fn of_one_row(fields: &[Field]) -> Order {
        let columns = fields.iter().enumerate();
        let column = |(index, field): (usize, &Field)| Expr::Column { index, data_type: field.data_type };
        Order { differ: true, fixed: columns.map(column).collect(), ..Order::default() }
    }

    /// Of what is read by a key (`None`: the table's own), whose entries end with the row's, unless they differ without it.
    /// `shown` says what in the row stands for a column of the key; the first `fixed` parts have one value.
    pub(super) fn of_key(
        (table, index): (&Table, Option<&Index>),
        key: &[IndexColumn],
        fixed: usize,
        reverse: bool,
        shown: &dyn Fn(usize) -> Option<Expr>,
    ) -> Order {
        let is_whole = match index {
            None => table.primary.is_some(),
            Some(index) => index.unique && index.columns.iter().all(|part| table.is_not_null(part.column)),
        };
        let rest = table.row_identity().into_iter().map(IndexColumn::ascending).filter(|_| !is_whole);
        let mut order = Order { differ: true, ..Order::default() };
        for (place, part) in key.iter().copied().chain(rest).enumerate() {
            match shown(part.column) {
                Some(expr) => {
                    if table.is_not_null(part.column) || part.column == Table::ROW_NUMBER {
                        order.not_null.extend(column_index(&expr));
                    }
                    if place < fixed {
                        order.fixed.push(expr.clone());
                    }
                    let (descending, nulls_first) = (part.descending != reverse, part.nulls_first != reverse);
                    order.keys.push(SortKey { expr, descending, nulls_first });
                }
                None if place < fixed => {}
                None => {
                    order.differ = false;
                    break;
                }
            }
        }
        order
    }

    /// What rows come by.
    pub(super) fn keys(&self) -> &[SortKey] {
        &self.keys
    }

    /// Takes in what is true of all rows.
    pub(super) fn learn(&mut self, condition: &Expr) {
        for column in used_columns(condition) {
            if rejects(condition, &|index| index == column) {
                self.not_null.insert(column);
            }
        }
        match condition {
            Expr::And(parts) => parts.iter().for_each(|part| self.learn(part)),
            Expr::IsNull(input) if is_plain(input) => self.fixed.push((**input).clone()),
            Expr::Call { function, args } if function.op == Some(Operator::Equal) => {
                let [first, second] = args.as_slice() else { return };
                self.learn_equality(first, second);
            }
            _ => {}
        }
    }

    fn learn_equality(&mut self, first: &Expr, second: &Expr) {
        if !is_plain(first) || !is_plain(second) || !compare_alike(first.data_type(), second.data_type()) {
            return;
        }
        match (column_index(first), column_index(second)) {
            (Some(first), Some(second)) => self.add_equal(first, second),
            _ if used_columns(second).is_empty() => self.fixed.push(first.clone()),
            _ if used_columns(first).is_empty() => self.fixed.push(second.clone()),
            _ => {}
        }
    }

    fn add_equal(&mut self, first: usize, second: usize) {
        let has = |class: &BTreeSet<usize>| class.contains(&first) || class.contains(&second);
        let (touched, mut rest): (Vec<_>, Vec<_>) = std::mem::take(&mut self.equal).into_iter().partition(has);
        rest.push(touched.into_iter().flatten().chain([first, second]).collect());
        self.equal = rest;
    }

    /// Whether both have the same value in each row.
    pub(super) fn is_same(&self, a: &Expr, b: &Expr) -> bool {
        match (column_index(a), column_index(b)) {
            (Some(a), Some(b)) => a == b || self.equal.iter().any(|class| class.contains(&a) && class.contains(&b)),
            _ => same_expr(a, b),
        }
    }

    fn is_fixed(&self, expr: &Expr) -> bool {
        self.fixed.iter().any(|fixed| self.is_same(fixed, expr))
    }

    fn is_not_null(&self, expr: &Expr) -> bool {
        let is_known = |column: usize| {
            let classes = self.equal.iter().filter(|class| class.contains(&column)).flatten();
            self.not_null.contains(&column) || classes.into_iter().any(|other| self.not_null.contains(other))
        };
        column_index(expr).is_some_and(is_known)
    }

    /// Read from the end.
    pub(super) fn reversed(&self) -> Order {
        let flipped =
            |key: &SortKey| SortKey { descending: !key.descending, nulls_first: !key.nulls_first, ..key.clone() };
        Order { keys: self.keys.iter().map(flipped).collect(), ..self.clone() }
    }

    /// How many of the keys, from the first on, the rows are in the order of; and by how many of its own.
    fn follow(&self, wanted: &[SortKey]) -> usize {
        let mut passed: Vec<&Expr> = vec![];
        let is_told = |expr: &Expr, passed: &[&Expr]| {
            self.is_fixed(expr) || passed.iter().any(|passed| self.is_same(passed, expr))
        };
        let mut own = self.keys.iter().peekable();
        for (place, key) in wanted.iter().enumerate() {
            if is_told(&key.expr, &passed) {
                continue;
            }
            while own.next_if(|own| is_told(&own.expr, &passed)).is_some() {}
            let Some(next) = own.next() else { return if self.differ { wanted.len() } else { place } };
            let nulls_fit = next.nulls_first == key.nulls_first || self.is_not_null(&key.expr);
            if !self.is_same(&next.expr, &key.expr) || next.descending != key.descending || !nulls_fit {
                return place;
            }
            passed.push(&next.expr);
        }
        wanted.len()
    }

    /// The order among rows that agree in all of these, where those come together.
    fn among(&self, alike: &[Expr]) -> Option<Order> {
        let mut open: Vec<&Expr> = vec![];
        for expr in alike.iter().filter(|expr| !self.is_fixed(expr)) {
            if !open.iter().any(|other| self.is_same(other, expr)) {
                open.push(expr);
            }
        }
        let mut rest = self.keys.as_slice();
        while !open.is_empty() {
            let Some((next, behind)) = rest.split_first() else { break };
            match open.iter().position(|expr| self.is_same(expr, &next.expr)) {
                Some(found) => drop(open.swap_remove(found)),
                None if self.is_fixed(&next.expr) || alike.iter().any(|expr| self.is_same(expr, &next.expr)) => {}
                None => return None,
            }
            rest = behind;
        }
        let is_together = open.is_empty() || self.differ;
        let fixed = self.fixed.iter().chain(alike).cloned().collect();
        is_together.then(|| Order { keys: rest.to_vec(), fixed, ..self.clone() })
    }

    /// How many of the keys, from the first on, need no sorting. The first `gathered` of them may come in any order that
    /// has equal rows together.
    pub(super) fn covers(&self, wanted: &[SortKey], gathered: usize) -> usize {
        let strictly = self.follow(wanted);
        let (first, then) = wanted.split_at(gathered.min(wanted.len()));
        let first: Vec<Expr> = first.iter().map(|key| key.expr.clone()).collect();
        let fits = || self.among(&first).is_some_and(|rest| rest.follow(then) == then.len());
        if gathered > 0 && strictly < wanted.len() && fits() { wanted.len() } else { strictly }
    }

    /// Whether rows that agree in all of these come together.
    pub(super) fn gathers(&self, alike: &[Expr]) -> bool {
        self.among(alike).is_some()
    }

    /// The order of rows that are made of these expressions.
    fn through(&self, exprs: &[Expr]) -> Order {
        let types: Vec<DataType> = exprs.iter().map(Expr::data_type).collect();
        let column = |index: usize| Expr::Column { index, data_type: types[index] };
        let place = |wanted: &Expr| exprs.iter().position(|expr| is_plain(expr) && self.is_same(expr, wanted));
        let mut order = Order { differ: self.differ, ..Order::default() };
        for key in &self.keys {
            match place(&key.expr) {
                Some(index) => order.keys.push(SortKey { expr: column(index), ..key.clone() }),
                None if self.is_fixed(&key.expr) => {}
                None => {
                    order.differ = false;
                    break;
                }
            }
        }
        for (index, expr) in exprs.iter().enumerate().filter(|(_, expr)| is_plain(expr)) {
            if self.is_fixed(expr) || used_columns(expr).is_empty() {
                order.fixed.push(column(index));
            }
            if self.is_not_null(expr) {
                order.not_null.insert(index);
            }
            if let Some(first) = place(expr).filter(|first| *first < index) {
                order.add_equal(first, index);
            }
        }
        order
    }

    /// The same of columns that lie behind others.
    pub(super) fn shifted(self, by: usize) -> Order {
        let expr = |expr: Expr| mapped(expr, &|column| column + by);
        Order {
            keys: self.keys.into_iter().map(|key| SortKey { expr: expr(key.expr), ..key }).collect(),
            fixed: self.fixed.into_iter().map(expr).collect(),
            equal: self.equal.into_iter().map(|class| class.into_iter().map(|column| column + by).collect()).collect(),
            not_null: self.not_null.into_iter().map(|column| column + by).collect(),
            ..self
        }
    }

    /// Of a join that goes through its left rows one by one. The right rows of each come in `right`'s order, if it is told;
    /// `once`: it has one at most.
    pub(super) fn joined(mut self, kind: JoinKind, right: Option<Order>, once: bool, on: &[(Expr, Expr)]) -> Order {
        if matches!(kind, JoinKind::Semi | JoinKind::Anti) {
            return self;
        }
        let right = right.unwrap_or_default();
        if self.differ && !once {
            // What equals something of the left row is the same in all of the row's matches.
            let is_new = |key: &SortKey| !on.iter().any(|(_, same)| right.is_same(same, &key.expr));
            self.keys.extend(right.keys.iter().filter(|key| is_new(key)).cloned());
            self.differ = right.differ;
        }
        self.differ &= once || right.differ;
        if kind == JoinKind::Inner {
            self.fixed.extend(right.fixed);
            self.not_null.extend(right.not_null);
            self.equal.extend(right.equal);
            on.iter().for_each(|(left, right)| self.learn_equality(left, right));
        }
        self
    }
}

/// Whether it is the same wherever it is evaluated on the same row.
pub(super) fn is_plain(expr: &Expr) -> bool {
    let mut asks = false;
    walk::walk(expr, 0, &mut |expr, _| asks |= matches!(expr, Expr::Subquery(_) | Expr::Subplan(_)));
    !asks && !is_volatile(expr)
}

/// Whether equal values of both types are in one order with others.
fn compare_alike(first: DataType, second: DataType) -> bool {
    first.base() == second.base()
        || (first.is_integer() && second.is_integer())
        || (first.is_string() && second.is_string() && !is_padded(first) && !is_padded(second))
}

fn is_padded(data_type: DataType) -> bool {
    matches!(data_type, DataType::Char(_))
}

/// The order that a plan's rows come in.
pub(super) fn order_of(plan: &PhysicalPlan) -> Order {
    match &plan.node {
        N::Values { rows } if rows.len() <= 1 => Order::of_one_row(&plan.fields),
        N::PointGet { .. } => Order::of_one_row(&plan.fields),
        N::TableScan { table, columns, ranges, filter, reverse, .. } => {
            let key = table.row_key().to_vec();
            of_scan((table, None), &key, columns, (ranges, *reverse), filter)
        }
        N::IndexScan { table, index, columns, ranges, filter, reverse, .. } => {
            of_scan((table, Some(index)), &index.columns, columns, (ranges, *reverse), filter)
        }
        N::ItemScan { table, columns, filter, .. } => {
            let key = table.row_key().to_vec();
            of_scan((table, None), &key, columns, (&[KeyRange::default()], false), filter)
        }
        N::Filter { input, predicate } => {
            let mut order = order_of(input);
            conjuncts(predicate.clone()).iter().for_each(|part| order.learn(part));
            order
        }
        N::Project { input, exprs } => order_of(input).through(exprs),
        // Groups are in the order of their first rows.
        N::Aggregate { group_by, .. } if group_by.is_empty() => Order::of_one_row(&plan.fields),
        N::Aggregate { input, group_by, .. } => differing(order_of(input).through(group_by), plan, group_by.len()),
        N::Distinct { input, .. } => differing(order_of(input), plan, plan.fields.len()),
        N::DistinctOn { input, .. } | N::Window { input, .. } | N::Limit { input, .. } => order_of(input),
        N::Sort { input, keys, .. } | N::TopN { input, keys, .. } => sorted(order_of(input), keys),
        N::Cte { body, .. } | N::RecursiveCte { body, .. } => order_of(body),
        N::HashJoin { .. } | N::MergeJoin { .. } | N::NestedLoopJoin { .. } | N::IndexJoin { .. } => of_join(plan),
        _ => Order::default(),
    }
}

fn of_scan(
    (table, index): (&Table, Option<&Index>),
    key: &[IndexColumn],
    columns: &[usize],
    (ranges, reverse): (&[KeyRange], bool),
    filter: &Option<Expr>,
) -> Order {
    // Several ranges are read in the order of the key, too.
    let fixed = match ranges {
        [range] => range.prefix.iter().zip(key).take_while(|(value, part)| !is_many(table, value, part)).count(),
        _ => 0,
    };
    let shown = |column: usize| {
        let index = columns.iter().position(|&own| own == column)?;
        let data_type = table.columns.get(column).map_or(DataType::BigInt, |column| column.data_type);
        Some(Expr::Column { index, data_type })
    };
    let mut order = Order::of_key((table, index), key, fixed, reverse, &shown);
    let next_column = |range: &KeyRange| shown(key.get(range.prefix.len())?.column);
    if let [range] = ranges
        && (range.lower.is_some() || range.upper.is_some())
    {
        order.not_null.extend(next_column(range).as_ref().and_then(column_index));
    }
    let all_columns = columns.iter().enumerate();
    order.not_null.extend(all_columns.filter(|(_, column)| table.is_not_null(**column)).map(|(index, _)| index));
    filter.iter().for_each(|filter| conjuncts(filter.clone()).iter().for_each(|part| order.learn(part)));
    order
}

/// Whether it is an array in place of a value, which stands for its elements.
fn is_many(table: &Table, value: &Expr, part: &IndexColumn) -> bool {
    value.data_type().is_array() && !table.key_type(part.column).is_some_and(|own| own.is_array())
}

/// Of rows that differ in their first columns.
fn differing(mut order: Order, plan: &PhysicalPlan, columns: usize) -> Order {
    let is_told = |(index, field): (usize, &Field)| {
        let column = Expr::Column { index, data_type: field.data_type };
        order.is_fixed(&column) || order.keys.iter().any(|key| order.is_same(&key.expr, &column))
    };
    order.differ |= plan.fields.iter().enumerate().take(columns).all(is_told);
    order
}

/// Sorting keeps rows that it does not tell apart as they were.
fn sorted(mut order: Order, keys: &[SortKey]) -> Order {
    let known = keys.iter().take_while(|key| is_plain(&key.expr)).cloned();
    let before = std::mem::take(&mut order.keys);
    order.keys = known.collect();
    match order.keys.len() == keys.len() {
        true => order.keys.extend(before),
        false => order.differ = false,
    }
    order
}

fn of_join(plan: &PhysicalPlan) -> Order {
    match &plan.node {
        N::HashJoin { kind: JoinKind::RightSemi | JoinKind::RightAnti, right, .. } => order_of(right),
        // Unmatched right rows come last.
        N::HashJoin { kind: JoinKind::Right | JoinKind::Full, .. }
        | N::MergeJoin { kind: JoinKind::Right | JoinKind::Full, .. }
        | N::NestedLoopJoin { kind: JoinKind::Right | JoinKind::Full, .. } => Order::default(),
        N::HashJoin { kind, left, right, left_keys, right_keys, residual } => {
            let width = left.fields.len();
            // Right rows with the same key come in no order that is known, if there are several.
            let of_right = order_of(right);
            let once = of_right.has_one_of_each(right_keys);
            let of_right = Order { keys: vec![], differ: false, ..of_right.shifted(width) };
            let on: Vec<(Expr, Expr)> = equalities(left_keys, right_keys, width);
            learned(order_of(left).joined(*kind, Some(of_right), once, &on), *kind, residual)
        }
        N::MergeJoin { kind, left, right, left_keys, right_keys, right_differs, residual } => {
            let width = left.fields.len();
            let left_keys: Vec<Expr> = left_keys.iter().map(|key| key.expr.clone()).collect();
            let on = equalities(&left_keys, right_keys, width);
            let of_right = order_of(right).shifted(width);
            learned(order_of(left).joined(*kind, Some(of_right), *right_differs, &on), *kind, residual)
        }
        N::NestedLoopJoin { kind, left, right, on, lateral } => {
            let width = left.fields.len();
            let of_right = if *lateral { Order::default() } else { order_of(right).shifted(width) };
            learned(order_of(left).joined(*kind, Some(of_right), false, &[]), *kind, on)
        }
        N::IndexJoin { kind, left, table, index, columns, keys, to, unique, residual, .. } => {
            let width = left.fields.len();
            let key = match index {
                Some(index) => index.columns.clone(),
                None => table.row_key().to_vec(),
            };
            let keys = &keys[..keys.len() - usize::from(to.is_some())];
            let range = KeyRange { prefix: keys.to_vec(), ..KeyRange::default() };
            let of_right = of_scan((table, index.as_deref()), &key, columns, (&[range], false), &None);
            let on = keys.iter().zip(&key).filter_map(|(value, part)| {
                let index = width + columns.iter().position(|&own| own == part.column)?;
                Some((value.clone(), Expr::Column { index, data_type: table.key_type(part.column)? }))
            });
            let on: Vec<(Expr, Expr)> = on.collect();
            // What a lookup's rows have in common differs from one to the next.
            let mut of_right = of_right.shifted(width);
            let fixed = std::mem::take(&mut of_right.fixed);
            of_right.keys.retain(|key| !fixed.iter().any(|fixed| same_expr(fixed, &key.expr)));
            learned(order_of(left).joined(*kind, Some(of_right), *unique, &on), *kind, residual)
        }
        _ => Order::default(),
    }
}

impl Order {
    /// Whether no two rows agree in all of these, as far as the order tells.
    pub(super) fn has_one_of_each(&self, exprs: &[Expr]) -> bool {
        let is_told =
            |key: &SortKey| self.is_fixed(&key.expr) || exprs.iter().any(|expr| self.is_same(expr, &key.expr));
        self.differ && self.keys.iter().all(is_told)
    }
}

fn equalities(left: &[Expr], right: &[Expr], width: usize) -> Vec<(Expr, Expr)> {
    let right = right.iter().map(|expr| mapped(expr.clone(), &|column| column + width));
    left.iter().cloned().zip(right).collect()
}

/// With what an inner join's further condition says of all of its rows.
fn learned(mut order: Order, kind: JoinKind, condition: &Option<Expr>) -> Order {
    if kind == JoinKind::Inner {
        condition.iter().for_each(|on| conjuncts(on.clone()).iter().for_each(|part| order.learn(part)));
    }
    order
}
