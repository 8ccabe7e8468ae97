//! EXPLAIN: what is told of a physical plan, in PostgreSQL's shape. `explain_format` writes it.
//!
//! Projections have no line of their own (every node computes its output there), a filter is shown with the node that
//! it filters, and the inner side of an index join is shown as the index scan that it runs for each outer row.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::expr::Expr;
use super::logical::{JoinKind, SetOperator, SortKey};
use super::lower::ROUNDS;
use super::number::node_exprs;
use super::physical::{Estimate, ItemCondition, Items, KeyRange, PhysicalNode as N, PhysicalPlan, Subplan};
use super::print::{Names, subplan_name};
use super::refs::called;
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
    /// How long each node took.
    pub timing: bool,
    /// The pages that each used.
    pub buffers: bool,
}

/// A node as it is shown.
#[derive(Debug, Default)]
pub struct ShownNode {
    /// What its parent calls it: `CTE x`, `SubPlan 1`.
    pub(super) heading: Option<String>,
    /// What it is to its parent, in PostgreSQL's word.
    pub(super) relationship: &'static str,
    /// As text names it.
    pub(super) title: String,
    /// As properties name it.
    pub(super) kind: Vec<(&'static str, String)>,
    pub(super) estimate: Option<Estimate>,
    pub(super) actual: Option<NodeStatistics>,
    /// Its time is told.
    pub(super) timing: bool,
    /// Its pages are told: found in memory, waited for.
    pub(super) pages: Option<(u64, u64)>,
    /// What it held and wrote to temporary files, in lines' and in properties' words.
    pub(super) memory: Option<(String, Vec<(&'static str, u64)>)>,
    pub(super) details: Vec<Detail>,
    pub(super) children: Vec<ShownNode>,
}

/// What is told of a node besides numbers.
#[derive(Debug)]
pub(super) struct Detail {
    pub(super) label: &'static str,
    pub(super) parts: Vec<String>,
    pub(super) kind: DetailKind,
}

/// What a property is in formats that tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DetailKind {
    Text,
    /// There may be several parts.
    List,
    Number,
}

impl Detail {
    fn of(label: &'static str, text: String) -> Detail {
        Detail { label, parts: vec![text], kind: DetailKind::Text }
    }

    fn list(label: &'static str, parts: Vec<String>) -> Detail {
        Detail { label, parts, kind: DetailKind::List }
    }

    /// How many rows a filter dropped, on average of the node's runs.
    fn removed(actual: &NodeStatistics) -> Option<Detail> {
        let rows = actual.removed_rows as f64 / actual.loops.max(1) as f64;
        let number = Detail { kind: DetailKind::Number, ..Detail::of("Rows Removed by Filter", format!("{rows:.0}")) };
        (actual.removed_rows > 0).then_some(number)
    }
}

/// The plan as a tree of what is told of it.
pub fn explained(plan: &PhysicalPlan, options: ExplainOptions<'_>) -> ShownNode {
    let mut names = RelationNames::default();
    names.add(plan);
    let qualified = options.verbose || names.of_nodes.len() > 1;
    let mut explainer = Explainer { options, outer: vec![], qualified, names: names.of_nodes, working: vec![] };
    explainer.node(plan, "")
}

/// The plan's lines.
pub fn explain(plan: &PhysicalPlan, options: ExplainOptions<'_>) -> Vec<String> {
    super::explain_format::lines(&explained(plan, options))
}

/// What each relation is called: as in the query, with a number where several are called the same.
#[derive(Default)]
struct RelationNames {
    of_nodes: HashMap<usize, String>,
    taken: BTreeSet<String>,
}

impl RelationNames {
    fn add(&mut self, plan: &PhysicalPlan) {
        plan.children().into_iter().for_each(|child| self.add(child));
        if let Some(relation) = relation_of(plan) {
            let called = plan.alias.as_deref().unwrap_or(relation);
            let numbered = (1..).map(|number| format!("{called}_{number}"));
            let name = std::iter::once(called.to_owned()).chain(numbered).find(|name| !self.taken.contains(name));
            let name = name.unwrap_or_default();
            self.taken.insert(name.clone());
            self.of_nodes.insert(plan.id, name);
        }
        let mut subplans = vec![];
        node_exprs(&plan.node).into_iter().for_each(|expr| add_subplans(expr, &mut subplans));
        subplans.iter().for_each(|subplan| self.add(&subplan.plan));
    }
}

/// The relation that a node reads by itself.
fn relation_of(plan: &PhysicalPlan) -> Option<&str> {
    match &plan.node {
        N::TableScan { table, .. }
        | N::IndexScan { table, .. }
        | N::ItemScan { table, .. }
        | N::PointGet { table, .. }
        | N::IndexJoin { table, .. } => Some(&table.name),
        N::CteScan { name, .. } => Some(name),
        _ => None,
    }
}

struct Explainer<'a> {
    options: ExplainOptions<'a>,
    /// Names of the outer rows' columns.
    outer: Vec<Vec<String>>,
    /// Column names carry their table's.
    qualified: bool,
    /// Of the relations, by node.
    names: HashMap<usize, String>,
    /// Recursive queries whose step is being shown.
    working: Vec<super::logical::CteId>,
}

/// What is shown with a node besides its own.
#[derive(Default)]
struct Details {
    of_filters: Vec<Detail>,
    /// With the names of the rows that they are evaluated on.
    subplans: Vec<(Subplan, Vec<String>)>,
}

impl Explainer<'_> {
    fn node(&mut self, plan: &PhysicalPlan, relationship: &'static str) -> ShownNode {
        let mut details = Details::default();
        let shown = self.shown(plan, plan, &mut details, &[]);
        ShownNode { relationship, ..shown }
    }

    /// `top` gives the counters: a filter's or projection's, of which `plan` is the input.
    fn shown(
        &mut self,
        plan: &PhysicalPlan,
        top: &PhysicalPlan,
        details: &mut Details,
        ctes: &[&PhysicalPlan],
    ) -> ShownNode {
        self.collect_subplans(plan, details);
        match &plan.node {
            N::Project { input, .. } => return self.shown(input, top, details, ctes),
            N::Filter { input, predicate } => {
                let columns = self.columns(input);
                details.of_filters.push(Detail::of("Filter", self.print(&columns, predicate)));
                details.of_filters.extend(self.actual(plan).as_ref().and_then(Detail::removed));
                return self.shown(input, top, details, ctes);
            }
            N::Cte { body, .. } | N::RecursiveCte { body, .. } => {
                let ctes = [ctes, &[plan]].concat();
                return self.shown(body, top, details, &ctes);
            }
            _ => {}
        }
        let mut own = match self.options.verbose && !top.fields.is_empty() {
            true => vec![Detail::list("Output", self.columns(top))],
            false => vec![],
        };
        own.extend(self.details(plan));
        own.extend(self.actual(plan).as_ref().and_then(Detail::removed));
        own.append(&mut details.of_filters);
        let mut children: Vec<ShownNode> = ctes.iter().filter_map(|cte| self.cte(cte)).collect();
        for (subplan, columns) in std::mem::take(&mut details.subplans) {
            self.outer.push(columns);
            let shown = self.node(&subplan.plan, "SubPlan");
            self.outer.pop();
            children.push(ShownNode { heading: Some(subplan_name(&subplan)), ..shown });
        }
        children.extend(self.children(plan));
        ShownNode {
            heading: None,
            relationship: "",
            title: self.title(plan),
            kind: self.kind(plan),
            estimate: self.options.costs.then_some(top.estimate),
            actual: self.actual(top),
            timing: self.options.timing,
            pages: self.actual(top).filter(|_| self.options.buffers).map(|own| (own.pages_hit, own.pages_read)),
            memory: self.memory(top).or_else(|| self.memory(plan)),
            details: own,
            children,
        }
    }

    /// A step that has no node of its own.
    fn step(
        &self,
        title: &str,
        relationship: &'static str,
        estimate: Estimate,
        actual: Option<NodeStatistics>,
    ) -> ShownNode {
        let estimate = self.options.costs.then_some(estimate);
        let kind = vec![("Node Type", title.to_owned())];
        let timing = self.options.timing;
        ShownNode { title: title.to_owned(), kind, relationship, estimate, actual, timing, ..ShownNode::default() }
    }

    fn actual(&self, plan: &PhysicalPlan) -> Option<NodeStatistics> {
        self.options.actual.and_then(|actual| actual.get(plan.id)).cloned()
    }

    /// What the query calls the relation that a node reads.
    fn relation<'s>(&'s self, plan: &'s PhysicalPlan) -> &'s str {
        self.names.get(&plan.id).map(String::as_str).or(relation_of(plan)).unwrap_or_default()
    }

    /// A relation, and what it is called where that is something else.
    fn relation_title(&self, plan: &PhysicalPlan) -> String {
        match (relation_of(plan).unwrap_or_default(), self.relation(plan)) {
            (relation, called) if relation == called => relation.to_owned(),
            (relation, called) => format!("{relation} {called}"),
        }
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
                [self.columns(left), self.table_columns(plan, table, columns)].concat()
            }
            _ if plan.children().is_empty() => self.columns(plan),
            _ => plan.children().into_iter().flat_map(|child| self.columns(child)).collect(),
        }
    }

    fn children(&mut self, plan: &PhysicalPlan) -> Vec<ShownNode> {
        match &plan.node {
            N::HashJoin { left, right, .. } => {
                // All of its rows come before the first is looked for.
                let estimate = Estimate { startup: right.estimate.total, ..right.estimate };
                let actual = self.actual(right).map(|read| NodeStatistics { first_nanos: read.nanos, ..read });
                let mut hash = self.step("Hash", "Inner", estimate, actual);
                let left = self.node(left, "Outer");
                hash.children = vec![self.node(right, "Outer")];
                vec![left, hash]
            }
            N::NestedLoopJoin { left, right, lateral, .. } => {
                let shown = self.node(left, "Outer");
                if *lateral {
                    self.outer.push(self.columns(left));
                }
                let inner = self.node(right, "Inner");
                if *lateral {
                    self.outer.pop();
                }
                vec![shown, inner]
            }
            N::IndexJoin { left, table, index, keys, covering, inner, .. } => {
                let lookups = self.actual(left).zip(self.actual(plan)).map(|(left, own)| NodeStatistics {
                    rows: own.inner_rows,
                    loops: left.rows,
                    nanos: own.inner_nanos,
                    ..NodeStatistics::default()
                });
                let shown = self.node(left, "Outer");
                let columns = self.columns(left);
                let kind = if *covering { "Index Only Scan" } else { "Index Scan" };
                let name = key_name(table, index.as_deref());
                let mut inner = self.step(kind, "Inner", *inner, lookups);
                inner.title = format!("{kind} using {name} on {}", self.relation_title(plan));
                let names = [table.name.clone(), self.relation(plan).to_owned()];
                let [relation, alias] = names;
                inner.kind.push(("Scan Direction", "Forward".to_owned()));
                inner.kind.extend([("Index Name", name), ("Relation Name", relation), ("Alias", alias)]);
                // (Where keys equal in a span, its ends are printed as what they are made of.)
                let conditions = keys.iter().zip(key_columns(table, index.as_deref()));
                let conditions = conditions.map(|(key, column)| format!("({column} = {})", self.print(&columns, key)));
                let conditions: Vec<String> = conditions.collect();
                inner.details.push(Detail::of("Index Cond", all_of(&conditions)));
                vec![shown, inner]
            }
            N::TopN { input, keys, presorted, .. } => {
                let startup = plan.estimate.startup;
                let estimate = Estimate { startup, total: startup, ..input.estimate };
                let mut sort = self.step(sort_name(*presorted), "Outer", estimate, self.actual(plan));
                sort.details = self.sort_details(input, keys, *presorted);
                sort.children = vec![self.node(input, "Outer")];
                vec![sort]
            }
            N::Append { .. } => plan.children().into_iter().map(|child| self.node(child, "Member")).collect(),
            _ => {
                let children = plan.children().into_iter().enumerate();
                children.map(|(at, child)| self.node(child, if at == 0 { "Outer" } else { "Inner" })).collect()
            }
        }
    }

    fn cte(&mut self, plan: &PhysicalPlan) -> Option<ShownNode> {
        match &plan.node {
            N::Cte { name, definition, .. } => {
                let shown = self.node(definition, "InitPlan");
                Some(ShownNode { heading: Some(format!("CTE {name}")), ..shown })
            }
            N::RecursiveCte { id, name, base, step, .. } => {
                let (first, each) = (base.estimate, step.estimate);
                let (rows, total) = (first.rows + each.rows * ROUNDS, first.total + each.total * ROUNDS);
                let estimate = Estimate { rows, total, ..first };
                let actual = self.actual(base).zip(self.actual(step)).map(|(first, rounds)| NodeStatistics {
                    rows: first.rows + rounds.rows,
                    nanos: first.nanos + rounds.nanos,
                    ..first
                });
                let mut union = self.step("Recursive Union", "InitPlan", estimate, actual);
                union.heading = Some(format!("CTE {name}"));
                let base = self.node(base, "Outer");
                self.working.push(*id);
                let step = self.node(step, "Inner");
                self.working.pop();
                union.children = vec![base, step];
                Some(union)
            }
            _ => None,
        }
    }

    /// What the node is, by PostgreSQL's names of properties.
    fn kind(&self, plan: &PhysicalPlan) -> Vec<(&'static str, String)> {
        let alias = self.relation(plan).to_owned();
        let scan = |kind: &str, table: &Table, key: Option<(String, bool)>| {
            let mut all = vec![("Node Type", kind.to_owned())];
            if let Some((key, reverse)) = key {
                all.push(("Scan Direction", if reverse { "Backward" } else { "Forward" }.to_owned()));
                all.push(("Index Name", key));
            }
            all.extend([("Relation Name", table.name.clone()), ("Alias", alias.clone())]);
            all
        };
        let named = |kind: &str| vec![("Node Type", kind.to_owned())];
        let join = |node: &str, kind: JoinKind| {
            let kind = if kind == JoinKind::Inner { "Inner" } else { kind_name(kind) };
            vec![("Node Type", node.to_owned()), ("Join Type", kind.to_owned())]
        };
        match &plan.node {
            N::Values { rows } if rows.len() > 1 => {
                vec![("Node Type", "Values Scan".to_owned()), ("Alias", "*VALUES*".to_owned())]
            }
            N::TableScan { table, ranges, reverse, .. } => match (is_full(ranges), reverse) {
                (true, false) => scan("Seq Scan", table, None),
                (_, reverse) => scan("Index Scan", table, Some((key_name(table, None), *reverse))),
            },
            N::IndexScan { table, index, reverse, covering, .. } => {
                let kind = if *covering { "Index Only Scan" } else { "Index Scan" };
                scan(kind, table, Some((index.name.clone(), *reverse)))
            }
            N::ItemScan { table, index, .. } => scan("Index Scan", table, Some((index.name.clone(), false))),
            N::PointGet { table, index, .. } => {
                scan("Index Scan", table, Some((key_name(table, index.as_deref()), false)))
            }
            N::HashJoin { kind, .. } => join("Hash Join", *kind),
            N::MergeJoin { kind, .. } => join("Merge Join", *kind),
            N::NestedLoopJoin { kind, .. } | N::IndexJoin { kind, .. } => join("Nested Loop", *kind),
            N::Aggregate { group_by, sorted, .. } => {
                let strategy = match (group_by.is_empty(), sorted) {
                    (true, _) => "Plain",
                    (false, true) => "Sorted",
                    (false, false) => "Hashed",
                };
                vec![("Node Type", "Aggregate".to_owned()), ("Strategy", strategy.to_owned())]
            }
            N::Distinct { sorted: false, .. } => {
                vec![("Node Type", "Aggregate".to_owned()), ("Strategy", "Hashed".to_owned())]
            }
            N::SetOperation { op, all, .. } => {
                let op = if *op == SetOperator::Except { "Except" } else { "Intersect" };
                let command = format!("{op}{}", if *all { " All" } else { "" });
                vec![("Node Type", "SetOp".to_owned()), ("Strategy", "Hashed".to_owned()), ("Command", command)]
            }
            N::CteScan { id, name } => {
                let kind = if self.working.contains(id) { "WorkTable Scan" } else { "CTE Scan" };
                vec![("Node Type", kind.to_owned()), ("CTE Name", name.clone()), ("Alias", alias.clone())]
            }
            N::SystemScan { relation, .. } => {
                let kind = ("Node Type", "System Scan".to_owned());
                vec![kind, ("Relation Name", relation.name().to_owned()), ("Alias", alias.clone())]
            }
            N::TableFunction { call } => {
                let kind = ("Node Type", "Function Scan".to_owned());
                let name = called(call);
                vec![kind, ("Function Name", name.to_owned()), ("Alias", name.to_owned())]
            }
            N::Modify { change, .. } => vec![
                ("Node Type", "ModifyTable".to_owned()),
                ("Operation", change.verb().to_owned()),
                ("Relation Name", change.table().name.clone()),
            ],
            N::Sort { .. }
            | N::TopN { .. }
            | N::Limit { .. }
            | N::Window { .. }
            | N::Distinct { sorted: true, .. }
            | N::DistinctOn { .. }
            | N::Append { .. } => named(&self.title(plan)),
            _ => named("Result"),
        }
    }

    fn title(&self, plan: &PhysicalPlan) -> String {
        let relation = self.relation_title(plan);
        match &plan.node {
            N::Values { rows } if rows.len() > 1 => "Values Scan on \"*VALUES*\"".into(),
            N::Values { .. } => "Result".into(),
            N::TableScan { table, ranges, reverse, .. } => match (is_full(ranges), reverse) {
                (true, false) => format!("Seq Scan on {relation}"),
                (_, reverse) => index_title("Index Scan", *reverse, &key_name(table, None), &relation),
            },
            N::IndexScan { index, reverse, covering, .. } => {
                let kind = if *covering { "Index Only Scan" } else { "Index Scan" };
                index_title(kind, *reverse, &index.name, &relation)
            }
            N::ItemScan { index, .. } => index_title("Index Scan", false, &index.name, &relation),
            N::PointGet { table, index, .. } => {
                index_title("Index Scan", false, &key_name(table, index.as_deref()), &relation)
            }
            N::HashJoin { kind, .. } => match kind_name(*kind) {
                "" => "Hash Join".into(),
                kind => format!("Hash {kind} Join"),
            },
            N::MergeJoin { kind, .. } => match kind_name(*kind) {
                "" => "Merge Join".into(),
                kind => format!("Merge {kind} Join"),
            },
            N::NestedLoopJoin { kind, .. } | N::IndexJoin { kind, .. } => match kind_name(*kind) {
                "" => "Nested Loop".into(),
                kind => format!("Nested Loop {kind} Join"),
            },
            N::Aggregate { group_by, .. } if group_by.is_empty() => "Aggregate".into(),
            N::Aggregate { sorted: true, .. } => "GroupAggregate".into(),
            N::Aggregate { .. } | N::Distinct { sorted: false, .. } => "HashAggregate".into(),
            N::Window { .. } => "WindowAgg".into(),
            N::Sort { presorted, .. } => sort_name(*presorted).into(),
            N::TopN { .. } | N::Limit { .. } => "Limit".into(),
            N::Distinct { sorted: true, .. } | N::DistinctOn { .. } => "Unique".into(),
            N::Append { .. } => "Append".into(),
            N::SetOperation { op, all, .. } => {
                let op = if *op == SetOperator::Except { "Except" } else { "Intersect" };
                format!("HashSetOp {op}{}", if *all { " All" } else { "" })
            }
            N::CteScan { id, .. } if self.working.contains(id) => format!("WorkTable Scan on {relation}"),
            N::CteScan { .. } => format!("CTE Scan on {relation}"),
            N::SystemScan { relation, .. } => format!("System Scan on {}", relation.name()),
            N::TableFunction { call } => format!("Function Scan on {}", called(call)),
            N::Modify { change, .. } => format!("{} on {}", change.verb(), change.table().name),
            N::Filter { .. } | N::Project { .. } | N::Cte { .. } | N::RecursiveCte { .. } => "Result".into(),
        }
    }

    /// What the node held and what it wrote to temporary files, where it did.
    fn memory(&self, plan: &PhysicalPlan) -> Option<(String, Vec<(&'static str, u64)>)> {
        let actual = self.options.actual?.get(plan.id)?;
        let kb = |bytes: u64| bytes.div_ceil(1024);
        let memory = kb(actual.memory_bytes_max);
        match (actual.memory_bytes_max, actual.spill_files) {
            (0, 0) => None,
            (_, 0) => Some((format!("Memory: {memory}kB"), vec![("Peak Memory Usage", memory)])),
            (_, files) => {
                let disk = kb(actual.spilled_bytes);
                let line = format!("Memory: {memory}kB  Disk: {disk}kB  Temporary Files: {files}");
                Some((line, vec![("Peak Memory Usage", memory), ("Disk Usage", disk), ("Temporary Files", files)]))
            }
        }
    }

    fn print(&self, columns: &[String], expr: &Expr) -> String {
        Names { columns, outer: &self.outer }.print(expr)
    }

    /// What is told of the node itself.
    fn details(&self, plan: &PhysicalPlan) -> Vec<Detail> {
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

    fn sort_details(&self, input: &PhysicalPlan, keys: &[SortKey], presorted: usize) -> Vec<Detail> {
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

    fn scan_details(
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

    fn range(&self, range: &KeyRange, key: &[String], is_array: &dyn Fn(&str) -> bool) -> String {
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

    fn table_columns(&self, plan: &PhysicalPlan, table: &Table, columns: &[usize]) -> Vec<String> {
        let prefix = if self.qualified { format!("{}.", self.relation(plan)) } else { String::new() };
        let name = |column: &usize| table.columns.get(*column).map_or("ctid", |column| &column.name);
        columns.iter().map(|column| format!("{prefix}{}", name(column))).collect()
    }

    /// Names of a node's output columns.
    fn columns(&self, plan: &PhysicalPlan) -> Vec<String> {
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

fn add_subplans(expr: &Expr, found: &mut Vec<Subplan>) {
    if let Expr::Subplan(subplan) = expr {
        found.push((**subplan).clone());
    }
    walk::children(expr).for_each(|child| add_subplans(child, found));
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

fn index_title(kind: &str, reverse: bool, key: &str, relation: &str) -> String {
    format!("{kind}{} using {key} on {relation}", if reverse { " Backward" } else { "" })
}

fn sort_name(presorted: usize) -> &'static str {
    if presorted > 0 { "Incremental Sort" } else { "Sort" }
}

fn kind_name(kind: JoinKind) -> &'static str {
    match kind {
        JoinKind::Inner => "",
        JoinKind::Left => "Left",
        JoinKind::Right => "Right",
        JoinKind::Full => "Full",
        JoinKind::Semi => "Semi",
        JoinKind::Anti => "Anti",
        JoinKind::RightSemi => "Right Semi",
        JoinKind::RightAnti => "Right Anti",
    }
}

fn all_of(parts: &[String]) -> String {
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
