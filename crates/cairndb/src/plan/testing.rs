//! For tests: a small catalog, and SQL text to EXPLAIN lines.

use std::sync::Arc;

use cairn_storage::TreeId;

use super::{ExplainOptions, LogicalPlan, OptimizerOptions, PhysicalPlan, explain, optimize};
use crate::bind::{BoundStatement, ParameterTypes, bind_statement};
use crate::catalog::{Catalog, Column, Index, ObjectId, Table, TableStatistics};
use crate::types::DataType;

/// A table of `rows` rows; columns are nullable integers unless written `name!` (NOT NULL) or `name:text`.
pub(super) fn table(catalog: &mut Catalog, name: &str, columns: &[&str], primary_key: &[usize], rows: f64) {
    let id = catalog.tables().count() as u32 + 1;
    let column = |text: &&str| {
        let (text, data_type) = match text.split_once(':') {
            Some((text, "text")) => (text, DataType::Text),
            Some((text, "numeric")) => (text, DataType::Numeric(Some((10, 2)))),
            Some((text, "date")) => (text, DataType::Date),
            Some((text, _)) => (text, DataType::BigInt),
            None => (*text, DataType::Integer),
        };
        let name = text.trim_end_matches('!').to_owned();
        Column { not_null: text.ends_with('!'), ..Column::new(0, name, data_type) }
    };
    let key = Index { name: format!("{name}_pkey"), ..Index::primary(TreeId(id + 10), primary_key.iter().copied()) };
    let table = Table {
        columns: columns.iter().map(column).collect(),
        primary: (!primary_key.is_empty()).then(|| Arc::new(key)),
        statistics: Some(Arc::new(TableStatistics { rows, ..TableStatistics::default() })),
        ..Table::new(ObjectId(id), name, TreeId(id + 10))
    };
    catalog.objects_mut().add_table(Arc::new(table));
}

/// An index on a table made by [`table`].
pub(super) fn index(catalog: &mut Catalog, table: &str, name: &str, columns: &[usize], unique: bool) {
    let mut entry = Table::clone(catalog.table(table).expect("the table"));
    let id = 100 + entry.indexes.len() as u32;
    let plain = Index::new(TreeId(id), columns.iter().copied());
    let index = Index { id: ObjectId(id), name: name.into(), unique, ..plain };
    entry.indexes.push(Arc::new(index));
    catalog.objects_mut().add_table(Arc::new(entry));
}

/// Customers, orders and their items, in the proportions of a shop.
pub(super) fn shop() -> Catalog {
    let mut catalog = Catalog::default();
    table(&mut catalog, "customer", &["id!", "name!:text", "city:text", "balance:numeric"], &[0], 10_000.0);
    table(
        &mut catalog,
        "orders",
        &["id!", "customer_id", "placed!:date", "status:text", "total:numeric"],
        &[0],
        100_000.0,
    );
    table(
        &mut catalog,
        "item",
        &["order_id!", "line!", "product_id!", "quantity", "price:numeric"],
        &[0, 1],
        500_000.0,
    );
    table(&mut catalog, "product", &["id!", "name!:text", "kind:text"], &[0], 1_000.0);
    table(&mut catalog, "log", &["at", "message:text"], &[], 50_000.0);
    index(&mut catalog, "orders", "orders_customer", &[1], false);
    index(&mut catalog, "item", "item_product", &[2], false);
    index(&mut catalog, "customer", "customer_name", &[1], true);
    catalog
}

/// The logical plan of a query.
pub(super) fn bind(catalog: &Catalog, sql: &str) -> LogicalPlan {
    let parsed = crate::sql::parse_one(sql).expect("SQL");
    match bind_statement(&parsed, catalog, &mut ParameterTypes::default()).expect("a bound statement") {
        BoundStatement::Query(plan) => plan,
        other => panic!("not a query: {other:?}"),
    }
}

/// The physical plan of a query.
pub(super) fn plan_with(catalog: &Catalog, sql: &str, options: &OptimizerOptions) -> PhysicalPlan {
    optimize(bind(catalog, sql), options).expect("a plan")
}

/// EXPLAIN without costs, lines joined.
pub(super) fn explained(catalog: &Catalog, sql: &str) -> String {
    let plan = plan_with(catalog, sql, &OptimizerOptions::default());
    explain(&plan, ExplainOptions::default()).join("\n")
}
