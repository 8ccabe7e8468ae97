//! EXPLAIN: what is told of a physical plan, in PostgreSQL's shape. [`super::format`] writes it.
//!
//! Projections have no line of their own (every node computes its output there), a filter is shown with the node that
//! it filters, and the inner side of an index join is shown as the index scan that it runs for each outer row.

use super::format;
use super::nodes::{Explainer, RelationNames};
use crate::exec::NodeStatistics;
use crate::plan::physical::{Estimate, PhysicalPlan};

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
    pub(super) fn of(label: &'static str, text: String) -> Detail {
        Detail { label, parts: vec![text], kind: DetailKind::Text }
    }

    pub(super) fn list(label: &'static str, parts: Vec<String>) -> Detail {
        Detail { label, parts, kind: DetailKind::List }
    }

    /// How many rows a filter dropped, on average of the node's runs.
    pub(super) fn removed(actual: &NodeStatistics) -> Option<Detail> {
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
    format::lines(&explained(plan, options))
}
