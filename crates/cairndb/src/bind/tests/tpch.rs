//! The 22 queries of TPC-H, as written.

use super::fixture::catalog_of;
use crate::bind::{BoundStatement, ParameterTypes, bind_statement};
use crate::sql::split_script;

const SCHEMA: &str = include_str!("../../../../bench/tpch/schema.sql");
const QUERIES: &str = include_str!("../../../../bench/tpch/queries.sql");

#[test]
fn the_tpch_queries_bind() {
    let catalog = catalog_of(SCHEMA);
    let statements = split_script(QUERIES).map(|one| one.parse().expect("parses")).collect::<Vec<_>>();
    assert_eq!(statements.len(), 22);
    for (number, statement) in statements.iter().enumerate() {
        let bound = bind_statement(statement, &catalog, &mut ParameterTypes::default());
        let bound = bound.unwrap_or_else(|error| panic!("Q{}: {error:?}", number + 1));
        assert!(matches!(bound, BoundStatement::Query(_)), "Q{}", number + 1);
    }
}
