//! What is told of a node besides its name and numbers: conditions, keys, columns.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::nodes::Explainer;
use super::shown::Detail;
use crate::catalog::{Index, Table};
use crate::plan::expressions::expr::Expr;
use crate::plan::expressions::print::Names;
use crate::plan::logical::SortKey;
use crate::plan::physical::{ItemCondition, Items, KeyRange, PhysicalNode as N, PhysicalPlan};

/// Longer computed columns are shown by name.
const TEXT_MAX: usize = 200;

impl Explainer<'_> {
    pub(super) fn print(&self, columns: &[String], expr: &Expr) -> String {
        Names { columns, outer: &self.outer }.print(expr)
    }

    /// What is told of the node itself.
    pub(super) fn details(&self, plan: &PhysicalPlan) -> Vec<Detail> {
        let columns = |plan: &Arc<PhysicalPlan>| self.columns(plan);
        match &plan.node {
            N::Values { rows } if rows.is_empty() => vec![Detail::of("One-Time Filter", "false".to_owned())],
            N::SystemScan { relation, only, .. } => {
                let of = |(column, value): &(usize, Expr)| {
                    let name = relation.column(*column);
                    Detail::of("Asked For", format!("({name} = {})", self.print(&[], value)))
                };
                only.iter().map(of).collect()
            }
            N::TableScan { table, ranges, filter, .. } => self.scan_details(plan, table, None, ranges, filter),
            N::IndexScan { table, index, ranges, filter, firsts, both, .. } => {
                let mut lines = self.scan_details(plan, table, Some(index), ranges, filter);
                if let Some((other, ranges)) = both {
                    let asked = self.scan_details(plan, table, Some(other), ranges, &None);
                    let asked: String = asked.into_iter().flat_map(|detail| detail.parts).collect();
                    lines
                        .insert(lines.len().min(1), Detail::of("And Index Cond", format!("{asked} by {}", other.name)));
                }
                let mut key = key_columns(table, Some(index));
                key.truncate(*firsts);
                lines.extend((*firsts > 0).then(|| Detail::of("Distinct Key", key.join(", "))));
                lines
            }
            N::ItemScan { table, index, items, filter, .. } => {
                let key = key_columns(table, Some(index));
                let text = |item: &ItemCondition| {
                    let column = key.get(item.column).map_or("?", String::as_str);
                    format!("({column} {} {})", item.operator.symbol(), self.print(&[], &item.value))
                };
                let columns = self.columns(plan);
                let mut lines = vec![Detail::of("Index Cond", items_text(items, &text))];
                lines.extend(filter.iter().map(|filter| Detail::of("Filter", self.print(&columns, filter))));
                lines
            }
            N::PointGet { table, index, key, filter, .. } => {
                let range = KeyRange { prefix: key.clone(), lower: None, upper: None };
                self.scan_details(plan, table, index.as_deref(), &[range], filter)
            }
            N::HashJoin { left, right, left_keys, right_keys, residual, .. } => {
                let (left, right) = (columns(left), columns(right));
                let keys = left_keys.iter().zip(right_keys);
                let keys = keys.map(|(a, b)| format!("({} = {})", self.print(&left, a), self.print(&right, b)));
                let mut lines = vec![Detail::of("Hash Cond", all_of(&keys.collect::<Vec<_>>()))];
                let both = [left, right].concat();
                lines.extend(residual.iter().map(|on| Detail::of("Join Filter", self.print(&both, on))));
                lines
            }
            N::MergeJoin { left, right, left_keys, right_keys, residual, .. } => {
                let (left, right) = (columns(left), columns(right));
                let keys = left_keys.iter().zip(right_keys);
                let keys = keys.map(|(a, b)| format!("({} = {})", self.print(&left, &a.expr), self.print(&right, b)));
                let mut lines = vec![Detail::of("Merge Cond", all_of(&keys.collect::<Vec<_>>()))];
                let both = [left, right].concat();
                lines.extend(residual.iter().map(|on| Detail::of("Join Filter", self.print(&both, on))));
                lines
            }
            N::NestedLoopJoin { left, right, on, .. } => {
                let both = [columns(left), columns(right)].concat();
                on.iter().map(|on| Detail::of("Join Filter", self.print(&both, on))).collect()
            }
            N::IndexJoin { left, table, columns: shown, residual, .. } => {
                let both = [columns(left), self.table_columns(plan, table, shown)].concat();
                residual.iter().map(|on| Detail::of("Join Filter", self.print(&both, on))).collect()
            }
            N::Aggregate { input, group_by, .. } => {
                let names = columns(input);
                let names = Names { columns: &names, outer: &self.outer };
                let keys = group_by.iter().map(|key| names.print(key)).collect();
                if group_by.is_empty() { vec![] } else { vec![Detail::list("Group Key", keys)] }
            }
            N::Window { input, partition_by, order_by, calls, .. } => {
                let names = columns(input);
                let names = Names { columns: &names, outer: &self.outer };
                let windows: BTreeSet<String> =
                    calls.iter().map(|call| names.window(partition_by, order_by, &call.frame)).collect();
                windows.into_iter().map(|window| Detail::of("Window", window)).collect()
            }
            N::Sort { input, keys, presorted } => self.sort_details(input, keys, *presorted),
            N::Distinct { input, sorted: false } => vec![Detail::list("Group Key", columns(input))],
            N::DistinctOn { input, on, .. } => {
                let names = columns(input);
                let names = Names { columns: &names, outer: &self.outer };
                vec![Detail::list("Distinct Key", on.iter().map(|key| names.print(key)).collect())]
            }
            _ => vec![],
        }
    }

    pub(super) fn sort_details(&self, input: &PhysicalPlan, keys: &[SortKey], presorted: usize) -> Vec<Detail> {
        let columns = self.columns(input);
        let names = Names { columns: &columns, outer: &self.outer };
        let print = |keys: &[SortKey]| keys.iter().map(|key| names.sort_key(key)).collect();
        let mut details = vec![Detail::list("Sort Key", print(keys))];
        if presorted > 0 {
            details.push(Detail::list(
                "Presorted Key",
                keys[..presorted].iter().map(|key| names.print(&key.expr)).collect(),
            ));
        }
        details
    }

    pub(super) fn scan_details(
        &self,
        plan: &PhysicalPlan,
        table: &Table,
        index: Option<&Index>,
        ranges: &[KeyRange],
        filter: &Option<Expr>,
    ) -> Vec<Detail> {
        let mut lines = vec![];
        if !is_full(ranges) {
            let key = key_columns(table, index);
            let is_array = |name: &str| table.columns.iter().any(|c| c.name == name && c.data_type.is_array());
            let texts: Vec<String> = ranges.iter().map(|range| self.range(range, &key, &is_array)).collect();
            lines.push(Detail::of("Index Cond", any_of(&texts)));
        }
        let columns = self.columns(plan);
        lines.extend(filter.iter().map(|filter| Detail::of("Filter", self.print(&columns, filter))));
        lines
    }

    pub(super) fn range(&self, range: &KeyRange, key: &[String], is_array: &dyn Fn(&str) -> bool) -> String {
        let mut parts = vec![];
        for (value, column) in range.prefix.iter().zip(key) {
            let text = self.print(&[], value);
            // An array in place of a value stands for its elements, or for what equals them.
            let asked = match value {
                Expr::Call { function, args } if function.is_spans() => args.first().unwrap_or(value),
                value => value,
            };
            parts.push(match asked.data_type().is_array() && !is_array(column) {
                true => format!("({column} = ANY ({text}))"),
                false => format!("({column} = {text})"),
            });
        }
        let next = key.get(range.prefix.len()).map_or("?", String::as_str);
        for (bound, op) in [(&range.lower, ">"), (&range.upper, "<")] {
            if let Some(bound) = bound {
                let equal = if bound.inclusive { "=" } else { "" };
                parts.push(format!("({next} {op}{equal} {})", self.print(&[], &bound.value)));
            }
        }
        all_of(&parts)
    }

    pub(super) fn table_columns(&self, plan: &PhysicalPlan, table: &Table, columns: &[usize]) -> Vec<String> {
        let prefix = if self.qualified { format!("{}.", self.relation(plan)) } else { String::new() };
        let name = |column: &usize| table.columns.get(*column).map_or("ctid", |column| &column.name);
        columns.iter().map(|column| format!("{prefix}{}", name(column))).collect()
    }

    /// Names of a node's output columns.
    pub(super) fn columns(&self, plan: &PhysicalPlan) -> Vec<String> {
        // Those of an input are asked for once: twice at each level would be 2^levels.
        let printed = |columns: &[String], exprs: &[Expr]| -> Vec<String> {
            let texts = exprs.iter().map(|expr| self.print(columns, expr));
            texts.enumerate().map(|(place, text)| short(text, plan, place)).collect()
        };
        match &plan.node {
            N::TableScan { table, columns, fields, .. } => {
                let mut names = self.table_columns(plan, table, columns);
                let all: Vec<usize> = (0..table.columns.len()).collect();
                let all = self.table_columns(plan, table, &all);
                names.extend(fields.iter().map(|field| self.print(&all, field)));
                names
            }
            N::IndexScan { table, columns, .. }
            | N::ItemScan { table, columns, .. }
            | N::PointGet { table, columns, .. } => self.table_columns(plan, table, columns),
            N::Project { input, exprs } => printed(&self.columns(input), exprs),
            N::Aggregate { input, group_by, aggregates, .. } => {
                let columns = self.columns(input);
                let mut names = printed(&columns, group_by);
                let outer = Names { columns: &columns, outer: &self.outer };
                names.extend(aggregates.iter().map(|call| match call.args.is_empty() {
                    true => format!("{}(*)", call.aggregate.name),
                    false => format!("{}({})", call.aggregate.name, outer.list(&call.args)),
                }));
                names
            }
            N::Window { input, calls, .. } => {
                let mut names = self.columns(input);
                let outer = Names { columns: &names, outer: &self.outer };
                let called = calls.iter().enumerate().map(|(at, call)| {
                    let args =
                        if call.args.is_empty() && call.is_star() { "*".to_owned() } else { outer.list(&call.args) };
                    short(format!("{}({args}) OVER (?)", call.function.name()), plan, names.len() + at)
                });
                let called: Vec<String> = called.collect();
                names.extend(called);
                names
            }
            N::IndexJoin { kind, left, table, columns, .. } => {
                let mut names = self.columns(left);
                if kind.shows_right() {
                    names.extend(self.table_columns(plan, table, columns));
                }
                names
            }
            N::HashJoin { kind, left, right, .. }
            | N::MergeJoin { kind, left, right, .. }
            | N::NestedLoopJoin { kind, left, right, .. } => {
                let mut names = if kind.shows_left() { self.columns(left) } else { vec![] };
                if kind.shows_right() {
                    names.extend(self.columns(right));
                }
                names
            }
            N::Filter { input, .. }
            | N::Sort { input, .. }
            | N::TopN { input, .. }
            | N::Limit { input, .. }
            | N::Distinct { input, .. }
            | N::DistinctOn { input, .. } => self.columns(input),
            N::Cte { body, .. } | N::RecursiveCte { body, .. } => self.columns(body),
            N::CteScan { .. } => {
                let name = self.relation(plan);
                plan.fields.iter().map(|field| format!("{name}.{}", field.name)).collect()
            }
            N::Values { .. }
            | N::Append { .. }
            | N::SetOperation { .. }
            | N::SystemScan { .. }
            | N::TableFunction { .. }
            | N::Modify { .. } => plan.fields.iter().map(|field| field.name.clone()).collect(),
        }
    }
}

/// A computed column's text, or its name where that is long: projections upon projections would double it each time.
fn short(text: String, plan: &PhysicalPlan, place: usize) -> String {
    match plan.fields.get(place) {
        Some(field) if text.len() > TEXT_MAX => field.name.clone(),
        _ => text,
    }
}

pub(super) fn is_full(ranges: &[KeyRange]) -> bool {
    ranges.iter().all(|range| range.prefix.is_empty() && range.lower.is_none() && range.upper.is_none())
}

pub(super) fn key_name(table: &Table, index: Option<&Index>) -> String {
    let named = index.or(table.primary.as_deref()).filter(|index| !index.name.is_empty());
    named.map_or_else(|| format!("{}_pkey", table.name), |index| index.name.clone())
}

pub(super) fn key_columns(table: &Table, index: Option<&Index>) -> Vec<String> {
    let key = index.or(table.primary.as_deref());
    key.into_iter().flat_map(Index::positions).map(|column| table.key_name(column)).collect()
}

pub(super) fn all_of(parts: &[String]) -> String {
    match parts {
        [only] => only.clone(),
        _ => format!("({})", parts.join(" AND ")),
    }
}

fn items_text(items: &Items<ItemCondition>, text: &dyn Fn(&ItemCondition) -> String) -> String {
    let texts = |parts: &[Items<ItemCondition>]| parts.iter().map(|part| items_text(part, text)).collect::<Vec<_>>();
    match items {
        Items::One(item) => text(item),
        Items::And(parts) => all_of(&texts(parts)),
        Items::Or(parts) => any_of(&texts(parts)),
    }
}

fn any_of(parts: &[String]) -> String {
    match parts {
        [only] => only.clone(),
        _ => format!("({})", parts.join(" OR ")),
    }
}
