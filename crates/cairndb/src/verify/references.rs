//! Foreign keys: rows that refer to rows which are missing stay, and are named.

use std::fmt;

use crate::catalog::{Catalog, ForeignKey, Table};
use crate::session::Session;
use crate::types::to_text;
use crate::{Result, Value};

/// How many of the values that are missing are told.
const EXAMPLES: u64 = 5;

/// Rows whose foreign key refers to nothing.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// # let (path, saved) = (folder.path().join("damaged.cairn"), folder.path().join("saved.cairn"));
/// # let made = cairndb::Database::open(&path)?;
/// # made.connect()?.execute_script("CREATE TABLE t (a int PRIMARY KEY); INSERT INTO t SELECT generate_series(1, 5000)")?;
/// # made.close()?;
/// for dangling in cairndb::salvage(&path, &saved)?.dangling {
///     println!("{} rows of {} by {}", dangling.rows, dangling.table, dangling.constraint);
/// }
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DanglingReferences {
    /// The referring table.
    pub table: String,
    /// The foreign key.
    pub constraint: String,
    /// The table where the rows are missing.
    pub referenced: String,
    /// How many rows refer to missing ones.
    pub rows: u64,
    /// Some of the values that are missing there.
    pub examples: Vec<String>,
}

impl fmt::Display for DanglingReferences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DanglingReferences { table, constraint, referenced, rows, examples } = self;
        write!(f, "{table}: {rows} rows refer by {constraint} to rows of {referenced} that are missing: ")?;
        f.write_str(&examples.join(", "))?;
        if examples.len() as u64 >= EXAMPLES { f.write_str(", ...") } else { Ok(()) }
    }
}

/// Every foreign key by which rows refer to missing ones.
pub(crate) fn dangling_references(session: &Session, catalog: &Catalog) -> Result<Vec<DanglingReferences>> {
    let mut found = Vec::new();
    for table in catalog.tables() {
        for key in table.foreign_keys.iter().filter(|key| key.valid) {
            if let Some(referenced) = catalog.table_by_id(key.referenced_table) {
                found.extend(dangling(session, table, key, referenced)?);
            }
        }
    }
    Ok(found)
}

fn dangling(
    session: &Session,
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
    let catalog = session.catalog()?;
    let missing = format!(
        "FROM {} c WHERE {given} AND NOT EXISTS (SELECT 1 FROM {} p WHERE {equal})",
        catalog.table_name(table),
        catalog.table_name(referenced)
    );
    let mut counted = session.query(&format!("SELECT count(*) {missing}"), &())?;
    let rows: u64 = counted.next()?.map_or(Ok(0), |row| row.get(0))?;
    if rows == 0 {
        return Ok(None);
    }
    let query = format!("SELECT DISTINCT {} {missing} ORDER BY 1 LIMIT {EXAMPLES}", columns.join(", "));
    let mut found = session.query(&query, &())?;
    let mut examples = Vec::new();
    let context = crate::types::EvalContext::now();
    while let Some(row) = found.next()? {
        let values = (0..columns.len()).map(|at| row.get::<Value>(at).map(|value| to_text(&value, &context)));
        examples.push(format!("({})", values.collect::<Result<Vec<_>>>()?.join(", ")));
    }
    let (table, referenced) = (table.name.clone(), referenced.name.clone());
    Ok(Some(DanglingReferences { table, constraint: key.name.clone(), referenced, rows, examples }))
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
