//! Which plans the optimizer makes: `golden.txt` holds queries over a small shop and their EXPLAIN texts.
//!
//! `UPDATE_PLANS=1 cargo test -p cairndb golden` writes what the plans are now: read the difference before keeping it.

use super::testing::{explained, plan_with, shop};
use super::{Expr, OptimizerOptions, PhysicalNode, PhysicalPlan};

const GOLDEN: &str = include_str!("golden.txt");
const GOLDEN_PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/plan/golden.txt");

/// A blank line ends each block: comments and the query, `----`, the plan.
fn blocks() -> impl Iterator<Item = (&'static str, &'static str)> {
    GOLDEN
        .split("\n\n")
        .filter_map(|block| block.trim().split_once("\n----"))
        .map(|(sql, plan)| (sql, plan.trim_start()))
}

#[test]
fn plans_are_as_in_the_golden_file() {
    let catalog = shop();
    let mut now = String::new();
    let mut different = vec![];
    for (sql, expected) in blocks() {
        let plan = explained(&catalog, sql);
        if plan != expected {
            different.push(format!("{sql}\nexpected:\n{expected}\nfound:\n{plan}\n"));
        }
        now.push_str(&format!("{sql}\n----\n{plan}\n\n"));
    }
    if std::env::var_os("UPDATE_PLANS").is_some() {
        std::fs::write(GOLDEN_PATH, now).expect("the golden file can be written");
        return;
    }
    assert!(!now.is_empty() && different.is_empty(), "{} plans differ:\n{}", different.len(), different.join("\n"));
}

/// Every node of a plan, subplans included.
fn nodes<'p>(plan: &'p PhysicalPlan, found: &mut Vec<&'p PhysicalPlan>) {
    found.push(plan);
    fn subplans<'e>(expr: &'e Expr, found: &mut Vec<&'e PhysicalPlan>) {
        if let Expr::Subplan(subplan) = expr {
            nodes(&subplan.plan, found);
        }
        super::expressions::walk::children(expr).for_each(|child| subplans(child, found));
    }
    super::number::node_exprs(&plan.node).into_iter().for_each(|expr| subplans(expr, found));
    plan.children().into_iter().for_each(|child| nodes(child, found));
}

#[test]
fn node_ids_count_every_node_once() {
    let catalog = shop();
    for (sql, _) in blocks() {
        let plan = plan_with(&catalog, sql, &OptimizerOptions::default());
        let mut all = vec![];
        nodes(&plan, &mut all);
        let mut ids: Vec<usize> = all.iter().map(|node| node.id).collect();
        ids.sort_unstable();
        assert_eq!(ids, (0..plan.node_count()).collect::<Vec<_>>(), "{sql}");
    }
}

#[test]
fn the_naive_plan_scans_and_loops_only() {
    let catalog = shop();
    for (sql, _) in blocks() {
        let plan = plan_with(&catalog, sql, &OptimizerOptions::naive());
        let mut all = vec![];
        nodes(&plan, &mut all);
        let clever = all.iter().any(|node| {
            matches!(
                node.node,
                PhysicalNode::IndexScan { .. }
                    | PhysicalNode::IndexJoin { .. }
                    | PhysicalNode::PointGet { .. }
                    | PhysicalNode::HashJoin { .. }
                    | PhysicalNode::MergeJoin { .. }
            )
        });
        assert!(!clever, "{sql}");
    }
}

#[test]
fn output_columns_keep_their_names_and_types() {
    let catalog = shop();
    for (sql, _) in blocks() {
        let expected = super::testing::bind(&catalog, sql).fields();
        assert_eq!(plan_with(&catalog, sql, &OptimizerOptions::default()).fields, expected, "{sql}");
    }
}

#[test]
fn a_volatile_call_is_neither_moved_nor_copied() {
    let catalog = shop();
    let text =
        explained(&catalog, "SELECT * FROM (SELECT id, random() AS r FROM customer) x WHERE r > 0.5 AND r < 0.9");
    assert_eq!(text.matches("random()").count(), 2, "two comparisons of one column:\n{text}");
    let plan = plan_with(
        &catalog,
        "SELECT * FROM (SELECT id, random() AS r FROM customer) x WHERE r > 0.5",
        &OptimizerOptions::default(),
    );
    assert!(matches!(plan.node, PhysicalNode::Filter { .. }), "the filter stays above the projection:\n{text}");
}

#[test]
fn joins_of_many_tables_are_planned_greedily_without_cross_products() {
    let catalog = shop();
    let tables: Vec<String> = (0..30).map(|n| format!("product p{n}")).collect();
    let conditions: Vec<String> = (1..30).map(|n| format!("p{n}.id = p{}.id", n - 1)).collect();
    let sql = format!("SELECT count(*) FROM {} WHERE {}", tables.join(", "), conditions.join(" AND "));
    let plan = plan_with(&catalog, &sql, &OptimizerOptions::default());
    let mut all = vec![];
    nodes(&plan, &mut all);
    assert!(!all.iter().any(|node| matches!(node.node, PhysicalNode::NestedLoopJoin { .. })));
}

/// Planned, and explained, in time and space that do not double with each level.
#[test]
fn nested_queries_do_not_double_with_each_level() {
    let catalog = shop();
    let mut doubling = "SELECT id AS x FROM orders".to_owned();
    let mut largest = "SELECT 1".to_owned();
    let mut joined = "SELECT 1".to_owned();
    for level in 0..30 {
        doubling = format!("SELECT x + x AS x FROM ({doubling}) q{level}");
        largest = format!("SELECT max(id) FROM orders WHERE customer_id > ({largest})");
        joined = format!(
            "SELECT a.id FROM orders a, orders b WHERE a.id = b.id AND (a.total > b.total OR a.id = ({joined}))"
        );
    }
    explained(&catalog, &format!("SELECT x FROM ({doubling}) q WHERE x > 5 ORDER BY x LIMIT 3"));
    explained(&catalog, &largest);
    explained(&catalog, &joined);
}
