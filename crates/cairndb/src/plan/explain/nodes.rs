//! The nodes of a plan as they are shown, each with what hangs below it: its inputs, the queries of its expressions, WITH queries.

use std::collections::{BTreeSet, HashMap};

use super::details::{all_of, key_columns, key_name};
use super::names::sort_name;
use super::shown::{Detail, ExplainOptions, ShownNode};
use crate::exec::NodeStatistics;
use crate::plan::expressions::expr::Expr;
use crate::plan::expressions::print::subplan_name;
use crate::plan::expressions::walk;
use crate::plan::lower::ROUNDS;
use crate::plan::number::node_exprs;
use crate::plan::physical::{Estimate, PhysicalNode as N, PhysicalPlan, Subplan};

/// What each relation is called: as in the query, with a number where several are called the same.
#[derive(Default)]
pub(super) struct RelationNames {
    pub(super) of_nodes: HashMap<usize, String>,
    pub(super) taken: BTreeSet<String>,
}

impl RelationNames {
    pub(super) fn add(&mut self, plan: &PhysicalPlan) {
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
pub(super) fn relation_of(plan: &PhysicalPlan) -> Option<&str> {
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

pub(super) struct Explainer<'a> {
    pub(super) options: ExplainOptions<'a>,
    /// Names of the outer rows' columns.
    pub(super) outer: Vec<Vec<String>>,
    /// Column names carry their table's.
    pub(super) qualified: bool,
    /// Of the relations, by node.
    pub(super) names: HashMap<usize, String>,
    /// Recursive queries whose step is being shown.
    pub(super) working: Vec<crate::plan::logical::CteId>,
}

/// What is shown with a node besides its own.
#[derive(Default)]
struct Details {
    of_filters: Vec<Detail>,
    /// With the names of the rows that they are evaluated on.
    subplans: Vec<(Subplan, Vec<String>)>,
}

impl Explainer<'_> {
    pub(super) fn node(&mut self, plan: &PhysicalPlan, relationship: &'static str) -> ShownNode {
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
    pub(super) fn step(
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

    pub(super) fn actual(&self, plan: &PhysicalPlan) -> Option<NodeStatistics> {
        self.options.actual.and_then(|actual| actual.get(plan.id)).cloned()
    }

    /// What the query calls the relation that a node reads.
    pub(super) fn relation<'s>(&'s self, plan: &'s PhysicalPlan) -> &'s str {
        self.names.get(&plan.id).map(String::as_str).or(relation_of(plan)).unwrap_or_default()
    }

    /// A relation, and what it is called where that is something else.
    pub(super) fn relation_title(&self, plan: &PhysicalPlan) -> String {
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
    pub(super) fn evaluated_on(&self, plan: &PhysicalPlan) -> Vec<String> {
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
}

fn add_subplans(expr: &Expr, found: &mut Vec<Subplan>) {
    if let Expr::Subplan(subplan) = expr {
        found.push((**subplan).clone());
    }
    walk::children(expr).for_each(|child| add_subplans(child, found));
}
