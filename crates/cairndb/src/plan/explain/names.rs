//! What a node is called: in lines, and by PostgreSQL's names of properties; and what it held.

use super::details::{is_full, key_name};
use super::nodes::Explainer;
use crate::catalog::Table;
use crate::plan::expressions::refs::called;
use crate::plan::logical::{JoinKind, SetOperator};
use crate::plan::physical::{PhysicalNode as N, PhysicalPlan};

impl Explainer<'_> {
    /// What the node is, by PostgreSQL's names of properties.
    pub(super) fn kind(&self, plan: &PhysicalPlan) -> Vec<(&'static str, String)> {
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
                ("Relation Name", change.table.name.clone()),
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

    pub(super) fn title(&self, plan: &PhysicalPlan) -> String {
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
            N::Modify { change, .. } => format!("{} on {}", change.verb(), change.table.name),
            N::Filter { .. } | N::Project { .. } | N::Cte { .. } | N::RecursiveCte { .. } => "Result".into(),
        }
    }

    /// What the node held and what it wrote to temporary files, where it did.
    pub(super) fn memory(&self, plan: &PhysicalPlan) -> Option<(String, Vec<(&'static str, u64)>)> {
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
}

fn index_title(kind: &str, reverse: bool, key: &str, relation: &str) -> String {
    format!("{kind}{} using {key} on {relation}", if reverse { " Backward" } else { "" })
}

pub(super) fn sort_name(presorted: usize) -> &'static str {
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
