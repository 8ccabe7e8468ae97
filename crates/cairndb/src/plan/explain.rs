//! EXPLAIN: a physical plan as text, in PostgreSQL's shape.
//!
//! Projections have no line of their own (every node computes its output there), a filter is shown with the node that
//! it filters, and the inner side of an index join is shown as the index scan that it runs for each outer row.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::expr::Expr;
use super::logical::{JoinKind, SetOperator};
use super::number::node_exprs;
use super::physical::{KeyRange, PhysicalNode as N, PhysicalPlan, Subplan};
use super::print::{Names, subplan_name};
use super::walk;
use crate::catalog::{Index, Table};
use crate::exec::NodeStatistics;

/// Longer computed columns are shown by name.
const TEXT_MAX: usize = 200;

/// What EXPLAIN shows.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExplainOptions<'a> {
    /// Estimated cost, rows and width.
    pub costs: bool,
    /// Every node's output columns.
    pub verbose: bool,
    /// What happened (by node id), after the query was run.
    pub actual: Option<&'a [NodeStatistics]>,
}

/// The plan's lines.
pub fn explain(plan: &PhysicalPlan, options: ExplainOptions<'_>) -> Vec<String> {
    let mut explainer = Explainer {
        options,
        lines: vec![],
        outer: vec![],
        qualified: options.verbose || relation_count(plan) > 1,
        working: vec![],
    };
    explainer.node(plan, 0, "");
    explainer.lines
}

struct Explainer<'a> {
    options: ExplainOptions<'a>,
    lines: Vec<String>,
    /// Names of the outer rows' columns.
    outer: Vec<Vec<String>>,
    /// Column names carry their table's.
    qualified: bool,
    /// Recursive queries whose step is being shown.
    working: Vec<usize>,
}

/// What is shown below a node's own line.
#[derive(Default)]
struct Details {
    lines: Vec<String>,
    /// With the names of the rows that they are evaluated on.
    subplans: Vec<(Subplan, Vec<String>)>,
}

impl Explainer<'_> {
    /// Shows a node; `indent` in spaces.
    fn node(&mut self, plan: &PhysicalPlan, indent: usize, arrow: &str) {
        let mut details = Details::default();
        self.shown(plan, plan, indent, arrow, &mut details, &[]);
    }

    /// `top` gives the counters: a filter's or projection's, of which `plan` is the input.
    fn shown(
        &mut self,
        plan: &PhysicalPlan,
        top: &PhysicalPlan,
        indent: usize,
        arrow: &str,
        details: &mut Details,
        ctes: &[&PhysicalPlan],
    ) {
        self.collect_subplans(plan, details);
        match &plan.node {
            N::Project { input, .. } => return self.shown(input, top, indent, arrow, details, ctes),
            N::Filter { input, predicate } => {
                let columns = self.columns(input);
                details.lines.push(format!("Filter: {}", self.print(&columns, predicate)));
                return self.shown(input, top, indent, arrow, details, ctes);
            }
            N::Cte { body, .. } | N::RecursiveCte { body, .. } => {
                let ctes = [ctes, &[plan]].concat();
                return self.shown(body, top, indent, arrow, details, &ctes);
            }
            _ => {}
        }
        let mut own = match self.options.verbose && !top.fields.is_empty() {
            true => vec![format!("Output: {}", self.columns(top).join(", "))],
            false => vec![],
        };
        own.extend(self.details(plan));
        own.append(&mut details.lines);
        own.extend(self.memory(top).or_else(|| self.memory(plan)));
        let pad = " ".repeat(indent);
        self.lines.push(format!("{pad}{arrow}{}{}{}", self.title(plan), self.estimated(top), self.measured(top)));
        let inner = indent + if arrow.is_empty() { 2 } else { 6 };
        for line in own {
            self.lines.push(format!("{}{line}", " ".repeat(inner)));
        }
        ctes.iter().for_each(|cte| self.cte(cte, inner));
        for (subplan, columns) in std::mem::take(&mut details.subplans) {
            self.lines.push(format!("{}{}", " ".repeat(inner), subplan_name(&subplan)));
            self.outer.push(columns);
            self.node(&subplan.plan, inner + 2, "->  ");
            self.outer.pop();
        }
        self.children(plan, inner);
    }

    fn collect_subplans(&self, plan: &PhysicalPlan, details: &mut Details) {
        let mut found = vec![];
        node_exprs(&plan.node).into_iter().for_each(|expr| add_subplans(expr, &mut found));
        if !found.is_empty() {
            let columns = self.evaluated_on(plan);
            details.subplans.extend(found.into_iter().map(|subplan| (subplan, columns.clone())));
        }
    }

    /// The row that the node's expressions see.
    fn evaluated_on(&self, plan: &PhysicalPlan) -> Vec<String> {
        match &plan.node {
            N::IndexJoin { left, table, columns, .. } => {
                [self.columns(left), self.table_columns(table, columns)].concat()
            }
            _ if plan.children().is_empty() => self.columns(plan),
            _ => plan.children().into_iter().flat_map(|child| self.columns(child)).collect(),
        }
    }

    fn children(&mut self, plan: &PhysicalPlan, indent: usize) {
        match &plan.node {
            N::HashJoin { left, right, .. } => {
                self.node(left, indent, "->  ");
                let pad = " ".repeat(indent);
                self.lines.push(format!("{pad}->  Hash{}", self.estimated(right)));
                self.node(right, indent + 6, "->  ");
            }
            N::NestedLoopJoin { left, right, lateral, .. } => {
                self.node(left, indent, "->  ");
                if *lateral {
                    self.outer.push(self.columns(left));
                }
                self.node(right, indent, "->  ");
                if *lateral {
                    self.outer.pop();
                }
            }
            N::IndexJoin { left, table, index, keys, covering, .. } => {
                self.node(left, indent, "->  ");
                let columns = self.columns(left);
                let pad = " ".repeat(indent);
                let kind = if *covering { "Index Only Scan" } else { "Index Scan" };
                self.lines.push(format!(
                    "{pad}->  {kind} using {} on {}",
                    key_name(table, index.as_deref()),
                    table.name
                ));
                let conditions = keys.iter().zip(key_columns(table, index.as_deref()));
                let conditions = conditions.map(|(key, column)| format!("({column} = {})", self.print(&columns, key)));
                let conditions: Vec<String> = conditions.collect();
                self.lines.push(format!("{pad}      Index Cond: {}", all_of(&conditions)));
            }
            N::TopN { input, keys, .. } => {
                let columns = self.columns(input);
                let pad = " ".repeat(indent);
                self.lines.push(format!("{pad}->  Sort{}", self.estimated(input)));
                let names = Names { columns: &columns, outer: &self.outer };
                let keys: Vec<String> = keys.iter().map(|key| names.sort_key(key)).collect();
                self.lines.push(format!("{pad}      Sort Key: {}", keys.join(", ")));
                self.node(input, indent + 6, "->  ");
            }
            _ => {
                for child in plan.children() {
                    self.node(child, indent, "->  ");
                }
            }
        }
    }

    fn cte(&mut self, plan: &PhysicalPlan, indent: usize) {
        let pad = " ".repeat(indent);
        match &plan.node {
            N::Cte { name, definition, .. } => {
                self.lines.push(format!("{pad}CTE {name}"));
                self.node(definition, indent + 2, "->  ");
            }
            N::RecursiveCte { id, name, base, step, .. } => {
                self.lines.push(format!("{pad}CTE {name}"));
                self.lines.push(format!("{pad}  ->  Recursive Union"));
                self.node(base, indent + 8, "->  ");
                self.working.push(*id);
                self.node(step, indent + 8, "->  ");
                self.working.pop();
            }
            _ => {}
        }
    }

    fn title(&self, plan: &PhysicalPlan) -> String {
        match &plan.node {
            N::Values { rows } if rows.len() > 1 => "Values Scan on \"*VALUES*\"".into(),
            N::Values { .. } => "Result".into(),
            N::TableScan { table, ranges, reverse, .. } => match (is_full(ranges), reverse) {
                (true, false) => format!("Seq Scan on {}", table.name),
                (_, reverse) => index_title("Index Scan", *reverse, &key_name(table, None), table),
            },
            N::IndexScan { table, index, reverse, covering, .. } => {
                let kind = if *covering { "Index Only Scan" } else { "Index Scan" };
                index_title(kind, *reverse, &index.name, table)
            }
            N::PointGet { table, index, .. } => {
                index_title("Index Scan", false, &key_name(table, index.as_deref()), table)
            }
            N::HashJoin { kind, .. } => match kind_name(*kind) {
                "" => "Hash Join".into(),
                kind => format!("Hash {kind} Join"),
            },
            N::NestedLoopJoin { kind, .. } | N::IndexJoin { kind, .. } => match kind_name(*kind) {
                "" => "Nested Loop".into(),
                kind => format!("Nested Loop {kind} Join"),
            },
            N::HashAggregate { group_by, .. } if group_by.is_empty() => "Aggregate".into(),
            N::HashAggregate { .. } | N::Distinct { .. } => "HashAggregate".into(),
            N::Window { .. } => "WindowAgg".into(),
            N::Sort { .. } => "Sort".into(),
            N::TopN { .. } | N::Limit { .. } => "Limit".into(),
            N::DistinctOn { .. } => "Unique".into(),
            N::Append { .. } => "Append".into(),
            N::SetOperation { op, all, .. } => {
                let op = if *op == SetOperator::Except { "Except" } else { "Intersect" };
                format!("HashSetOp {op}{}", if *all { " All" } else { "" })
            }
            N::CteScan { id, name } if self.working.contains(id) => format!("WorkTable Scan on {name}"),
            N::CteScan { name, .. } => format!("CTE Scan on {name}"),
            N::TableFunction { name, .. } => format!("Function Scan on {name}"),
            N::Modify { change, .. } => format!("{} on {}", change.verb(), change.table().name),
            N::Filter { .. } | N::Project { .. } | N::Cte { .. } | N::RecursiveCte { .. } => "Result".into(),
        }
    }

    fn estimated(&self, plan: &PhysicalPlan) -> String {
        if !self.options.costs {
            return String::new();
        }
        let cost = plan.estimate;
        format!("  (cost={:.2}..{:.2} rows={:.0} width={:.0})", cost.startup, cost.total, cost.rows, cost.width)
    }

    fn measured(&self, plan: &PhysicalPlan) -> String {
        let Some(actual) = self.options.actual.and_then(|actual| actual.get(plan.id)) else { return String::new() };
        if actual.loops == 0 && actual.batches == 0 {
            return " (never executed)".into();
        }
        let loops = actual.loops.max(1) as f64;
        let (time, rows) = (actual.nanos as f64 / loops / 1e6, actual.rows as f64 / loops);
        format!(" (actual time={time:.3} rows={rows:.0} loops={loops:.0})")
    }

    /// What the node held and what it wrote to temporary files, where it did.
    fn memory(&self, plan: &PhysicalPlan) -> Option<String> {
        let actual = self.options.actual?.get(plan.id)?;
        let kb = |bytes: u64| bytes.div_ceil(1024);
        match (actual.memory_bytes_max, actual.spill_files) {
            (0, 0) => None,
            (memory, 0) => Some(format!("Memory: {}kB", kb(memory))),
            (memory, files) => {
                let disk = kb(actual.spilled_bytes);
                Some(format!("Memory: {}kB  Disk: {disk}kB  Temporary Files: {files}", kb(memory)))
            }
        }
    }

    fn print(&self, columns: &[String], expr: &Expr) -> String {
        Names { columns, outer: &self.outer }.print(expr)
    }

    /// The lines below the title.
    fn details(&self, plan: &PhysicalPlan) -> Vec<String> {
        let columns = |plan: &Arc<PhysicalPlan>| self.columns(plan);
        match &plan.node {
            N::Values { rows } if rows.is_empty() => vec!["One-Time Filter: false".into()],
            N::TableScan { table, ranges, filter, .. } => self.scan_details(plan, table, None, ranges, filter),
            N::IndexScan { table, index, ranges, filter, .. } => {
                self.scan_details(plan, table, Some(index), ranges, filter)
            }
            N::PointGet { table, index, key, filter, .. } => {
                let range = KeyRange { prefix: key.clone(), lower: None, upper: None };
                self.scan_details(plan, table, index.as_deref(), &[range], filter)
            }
            N::HashJoin { left, right, left_keys, right_keys, residual, .. } => {
                let (left, right) = (columns(left), columns(right));
                let keys = left_keys.iter().zip(right_keys);
                let keys = keys.map(|(a, b)| format!("({} = {})", self.print(&left, a), self.print(&right, b)));
                let mut lines = vec![format!("Hash Cond: {}", all_of(&keys.collect::<Vec<_>>()))];
                let both = [left, right].concat();
                lines.extend(residual.iter().map(|on| format!("Join Filter: {}", self.print(&both, on))));
                lines
            }
            N::NestedLoopJoin { left, right, on, .. } => {
                let both = [columns(left), columns(right)].concat();
                on.iter().map(|on| format!("Join Filter: {}", self.print(&both, on))).collect()
            }
            N::IndexJoin { left, table, columns: shown, residual, .. } => {
                let both = [columns(left), self.table_columns(table, shown)].concat();
                residual.iter().map(|on| format!("Join Filter: {}", self.print(&both, on))).collect()
            }
            N::HashAggregate { input, group_by, .. } => {
                let names = columns(input);
                let list = Names { columns: &names, outer: &self.outer }.list(group_by);
                if group_by.is_empty() { vec![] } else { vec![format!("Group Key: {list}")] }
            }
            N::Window { input, partition_by, order_by, calls, .. } => {
                let names = columns(input);
                let names = Names { columns: &names, outer: &self.outer };
                let windows: BTreeSet<String> =
                    calls.iter().map(|call| names.window(partition_by, order_by, &call.frame)).collect();
                windows.into_iter().map(|window| format!("Window: {window}")).collect()
            }
            N::Sort { input, keys } => {
                let names = columns(input);
                let names = Names { columns: &names, outer: &self.outer };
                let keys: Vec<String> = keys.iter().map(|key| names.sort_key(key)).collect();
                vec![format!("Sort Key: {}", keys.join(", "))]
            }
            N::Distinct { input } => vec![format!("Group Key: {}", columns(input).join(", "))],
            N::DistinctOn { input, on } => {
                let names = columns(input);
                vec![format!("Distinct Key: {}", Names { columns: &names, outer: &self.outer }.list(on))]
            }
            _ => vec![],
        }
    }

    fn scan_details(
        &self,
        plan: &PhysicalPlan,
        table: &Table,
        index: Option<&Index>,
        ranges: &[KeyRange],
        filter: &Option<Expr>,
    ) -> Vec<String> {
        let mut lines = vec![];
        if !is_full(ranges) {
            let key = key_columns(table, index);
            let is_array = |name: &str| table.columns.iter().any(|c| c.name == name && c.data_type.is_array());
            let texts: Vec<String> = ranges.iter().map(|range| self.range(range, &key, &is_array)).collect();
            lines.push(format!("Index Cond: {}", any_of(&texts)));
        }
        let columns = self.columns(plan);
        lines.extend(filter.iter().map(|filter| format!("Filter: {}", self.print(&columns, filter))));
        lines
    }

    fn range(&self, range: &KeyRange, key: &[String], is_array: &dyn Fn(&str) -> bool) -> String {
        let mut parts = vec![];
        for (value, column) in range.prefix.iter().zip(key) {
            let text = self.print(&[], value);
            // An array in place of a value stands for its elements.
            parts.push(match value.data_type().is_array() && !is_array(column) {
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

    fn table_columns(&self, table: &Table, columns: &[usize]) -> Vec<String> {
        let prefix = if self.qualified { format!("{}.", table.name) } else { String::new() };
        let name = |column: &usize| table.columns.get(*column).map_or("ctid", |column| &column.name);
        columns.iter().map(|column| format!("{prefix}{}", name(column))).collect()
    }

    /// Names of a node's output columns.
    fn columns(&self, plan: &PhysicalPlan) -> Vec<String> {
        let printed = |input: &PhysicalPlan, exprs: &[Expr]| -> Vec<String> {
            let columns = self.columns(input);
            let texts = exprs.iter().map(|expr| self.print(&columns, expr));
            texts.enumerate().map(|(place, text)| short(text, plan, place)).collect()
        };
        match &plan.node {
            N::TableScan { table, columns, .. }
            | N::IndexScan { table, columns, .. }
            | N::PointGet { table, columns, .. } => self.table_columns(table, columns),
            N::Project { input, exprs } => printed(input, exprs),
            N::HashAggregate { input, group_by, aggregates } => {
                let mut names = printed(input, group_by);
                let columns = self.columns(input);
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
                if !matches!(kind, JoinKind::Semi | JoinKind::Anti) {
                    names.extend(self.table_columns(table, columns));
                }
                names
            }
            N::HashJoin { kind, left, right, .. } | N::NestedLoopJoin { kind, left, right, .. } => {
                let mut names = self.columns(left);
                if !matches!(kind, JoinKind::Semi | JoinKind::Anti) {
                    names.extend(self.columns(right));
                }
                names
            }
            N::Filter { input, .. }
            | N::Sort { input, .. }
            | N::TopN { input, .. }
            | N::Limit { input, .. }
            | N::Distinct { input }
            | N::DistinctOn { input, .. } => self.columns(input),
            N::Cte { body, .. } | N::RecursiveCte { body, .. } => self.columns(body),
            N::CteScan { name, .. } => plan.fields.iter().map(|field| format!("{name}.{}", field.name)).collect(),
            N::Values { .. }
            | N::Append { .. }
            | N::SetOperation { .. }
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

fn add_subplans(expr: &Expr, found: &mut Vec<Subplan>) {
    if let Expr::Subplan(subplan) = expr {
        found.push((**subplan).clone());
    }
    walk::children(expr).for_each(|child| add_subplans(child, found));
}

fn relation_count(plan: &PhysicalPlan) -> usize {
    let own = match &plan.node {
        N::TableScan { .. } | N::IndexScan { .. } | N::PointGet { .. } | N::IndexJoin { .. } | N::CteScan { .. } => 1,
        _ => 0,
    };
    let mut subplans = vec![];
    node_exprs(&plan.node).into_iter().for_each(|expr| add_subplans(expr, &mut subplans));
    let below: usize = plan.children().into_iter().map(|child| relation_count(child)).sum();
    own + below + subplans.iter().map(|subplan| relation_count(&subplan.plan)).sum::<usize>()
}

fn is_full(ranges: &[KeyRange]) -> bool {
    ranges.iter().all(|range| range.prefix.is_empty() && range.lower.is_none() && range.upper.is_none())
}

fn key_name(table: &Table, index: Option<&Index>) -> String {
    match index {
        Some(index) => index.name.clone(),
        None => table.primary_key_name.clone().unwrap_or_else(|| format!("{}_pkey", table.name)),
    }
}

fn key_columns(table: &Table, index: Option<&Index>) -> Vec<String> {
    let columns: Vec<usize> = match index {
        Some(index) => index.columns.iter().map(|column| column.column).collect(),
        None => table.primary_key.clone(),
    };
    columns.iter().map(|&column| table.key_name(column)).collect()
}

fn index_title(kind: &str, reverse: bool, key: &str, table: &Table) -> String {
    format!("{kind}{} using {key} on {}", if reverse { " Backward" } else { "" }, table.name)
}

fn kind_name(kind: JoinKind) -> &'static str {
    match kind {
        JoinKind::Inner => "",
        JoinKind::Left => "Left",
        JoinKind::Right => "Right",
        JoinKind::Full => "Full",
        JoinKind::Semi => "Semi",
        JoinKind::Anti => "Anti",
    }
}

fn all_of(parts: &[String]) -> String {
    match parts {
        [only] => only.clone(),
        _ => format!("({})", parts.join(" AND ")),
    }
}

fn any_of(parts: &[String]) -> String {
    match parts {
        [only] => only.clone(),
        _ => format!("({})", parts.join(" OR ")),
    }
}
