//! Which plans the optimizer makes: EXPLAIN texts of queries over a small shop.

use super::testing::{explained, shop};

#[test]
fn show_plans() {
    let catalog = shop();
    for sql in std::fs::read_to_string("/tmp/plan_queries.sql").unwrap_or_default().split(';') {
        if !sql.trim().is_empty() {
            println!("=== {}\n{}\n", sql.trim(), explained(&catalog, sql));
        }
    }
}
