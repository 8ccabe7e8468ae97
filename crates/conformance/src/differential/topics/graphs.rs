//! Recursion over edges: SEARCH, CYCLE, and rows told apart or not.

use super::super::case::Step;
use super::super::expression::Expressions;
use super::{Block, change, rows};

pub(super) fn block(b: &mut Block<'_>) -> Option<Vec<Step>> {
    let name = format!("g{}", b.number);
    let edges: Vec<String> = (0..3 + b.random.below(6))
        .map(|_| format!("({}, {})", b.random.between(1, 5), b.random.between(1, 6)))
        .collect();
    let mut steps = vec![
        change(format!("CREATE TABLE {name} (a integer, z integer)")),
        change(format!("INSERT INTO {name} VALUES {}", edges.join(", "))),
    ];
    for _ in 0..3 {
        steps.push(walk(b, &name));
    }
    steps.push(change(format!("DROP TABLE {name}")));
    Some(steps)
}

fn walk(b: &mut Block<'_>, name: &str) -> Step {
    let start = b.random.between(1, 4);
    let union = *b.random.pick(&["UNION", "UNION ALL"]);
    let depth = b.random.between(2, 4);
    let search = match b.random.below(4) {
        0 => "",
        1 => " SEARCH DEPTH FIRST BY z SET o",
        2 => " SEARCH BREADTH FIRST BY z SET o",
        _ => " SEARCH DEPTH FIRST BY a, z SET o",
    };
    let cycle = match b.random.below(5) {
        0 | 1 => "",
        2 => " CYCLE z SET is_cycle USING path",
        3 => " CYCLE a, z SET is_cycle TO 'y'::text DEFAULT 'n'::text USING path",
        _ => " CYCLE z SET is_cycle TO 1 DEFAULT 0 USING path",
    };
    let list = match (search.is_empty(), b.random.below(3)) {
        (_, 0) => "*",
        (false, 1) => "a, z, o",
        _ => "a, z, d",
    };
    let order = if search.is_empty() || b.random.percent(40) { "" } else { " ORDER BY o, a, z, d" };
    rows(format!(
        "WITH RECURSIVE w (a, z, d) AS (SELECT a, z, 1 FROM {name} WHERE a = {start} {union} \
         SELECT e.a, e.z, w.d + 1 FROM w JOIN {name} e ON e.a = w.z WHERE w.d < {depth}){search}{cycle} \
         SELECT {list} FROM w{order}"
    ))
}

/// A table's rows as a sample has them: all, or none.
pub(in super::super) fn sample(g: &mut Expressions<'_>) -> &'static str {
    if !g.random.percent(4) {
        return "";
    }
    g.random.pick::<&str>(&[
        " TABLESAMPLE BERNOULLI (100)",
        " TABLESAMPLE SYSTEM (100)",
        " TABLESAMPLE bernoulli (0)",
        " TABLESAMPLE system (0) REPEATABLE (7)",
        " TABLESAMPLE bernoulli (100) REPEATABLE (1.5)",
    ])
}
