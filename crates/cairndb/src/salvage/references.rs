//! Foreign keys: rows that refer to rows which are missing stay, and are named.

use super::report::DanglingReferences;
use super::words::quoted;
use crate::api::Database;
use crate::catalog::{Catalog, ForeignKey, Table};
use crate::types::to_text;
use crate::{Result, Value};

/// How many of the values that are missing are told.
pub(super) const EXAMPLES: u64 = 5;

/// Every foreign key by which rows refer to missing ones.
pub(crate) fn dangling_references(database: &Database, catalog: &Catalog) -> Result<Vec<DanglingReferences>> {
    let mut found = Vec::new();
    for table in catalog.tables() {
        for key in table.foreign_keys.iter().filter(|key| key.valid) {
            if let Some(referenced) = catalog.table_by_id(key.referenced_table) {
                found.extend(dangling(database, table, key, referenced)?);
            }
        }
    }
    Ok(found)
}

fn dangling(
    database: &Database,
    table: &Table,
    key: &ForeignKey,
    referenced: &Table,
) -> Result<Option<DanglingReferences>> {
    let column = |table: &Table, at: usize| quoted(&table.columns[at].name);
    let columns: Vec<String> = key.columns.iter().map(|&at| format!("c.{}", column(table, at))).collect();
    let equal =
        columns.iter().zip(&key.referenced_columns).map(|(own, &at)| format!("p.{} = {own}", column(referenced, at)));
    let equal = equal.collect::<Vec<_>>().join(" AND ");
    let given = columns.iter().map(|own| format!("{own} IS NOT NULL")).collect::<Vec<_>>().join(" AND ");
    let connection = database.connect()?;
    let catalog = connection.catalog()?;
    let missing = format!(
        "FROM {} c WHERE {given} AND NOT EXISTS (SELECT 1 FROM {} p WHERE {equal})",
        catalog.table_name(table),
        catalog.table_name(referenced)
    );
    let rows: u64 = connection.query_row(&format!("SELECT count(*) {missing}"), (), |row| row.get(0))?;
    if rows == 0 {
        return Ok(None);
    }
    let query = format!("SELECT DISTINCT {} {missing} ORDER BY 1 LIMIT {EXAMPLES}", columns.join(", "));
    let mut found = connection.query(&query, ())?;
    let mut examples = Vec::new();
    let context = crate::types::EvalContext::now();
    while let Some(row) = found.next()? {
        let values = (0..columns.len()).map(|at| row.get::<Value>(at).map(|value| to_text(&value, &context)));
        examples.push(format!("({})", values.collect::<Result<Vec<_>>>()?.join(", ")));
    }
    let (table, referenced) = (table.name.clone(), referenced.name.clone());
    Ok(Some(DanglingReferences { table, constraint: key.name.clone(), referenced, rows, examples }))
}
