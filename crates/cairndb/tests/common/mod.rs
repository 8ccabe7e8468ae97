//! Helpers of the behaviour tests.
#![allow(dead_code)]

use cairndb::{Connection, Database, Error, Value};

/// A connection to a database in memory that a script has prepared.
pub fn connect(script: &str) -> Connection {
    let conn = Database::open_in_memory().unwrap().connect().unwrap();
    conn.execute_script(script).unwrap();
    conn
}

/// The rows of a query, each as its values' text joined by `|`; NULL is `NULL`.
pub fn rows(conn: &Connection, sql: &str) -> Vec<String> {
    let context = cairndb::EvalContext::now();
    let text = |value: &Value| match value {
        Value::Null => "NULL".to_string(),
        value => cairndb::to_text(value, &context),
    };
    let row = |row: cairndb::Row<'_>| Ok(row.values().iter().map(text).collect::<Vec<_>>().join("|"));
    let rows = conn.query_map(sql, (), row).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    rows.collect::<cairndb::Result<_>>().unwrap_or_else(|error| panic!("{sql}: {error:?}"))
}

/// The rows of a query, as values.
pub fn typed_rows(conn: &Connection, sql: &str) -> Vec<Vec<Value>> {
    let rows = conn.query_map(sql, (), |row| Ok(row.values().to_vec())).unwrap();
    rows.collect::<cairndb::Result<_>>().unwrap()
}

/// The error of a statement that must fail with this SQLSTATE.
pub fn fails(conn: &Connection, sql: &str, sqlstate: &str) -> Error {
    match conn.execute(sql, ()) {
        Ok(affected) => panic!("{sql}: must fail with {sqlstate}, but affected {affected}"),
        Err(error) => {
            assert_eq!(error.sqlstate().0, sqlstate, "{sql}: {error:?}");
            error
        }
    }
}
