//! Tables, rows and queries, end to end.

use cairndb::{Connection, Database, Result};

fn connect() -> Connection {
    Database::open_in_memory().unwrap().connect().unwrap()
}

#[test]
fn what_is_inserted_can_be_selected() -> Result<()> {
    let conn = connect();
    conn.execute("CREATE TABLE t (id int PRIMARY KEY, name text NOT NULL, n numeric(10,2))", ())?;
    let affected = conn.execute("INSERT INTO t VALUES (1, 'one', 1.5), (2, 'two', NULL)", ())?;
    assert_eq!(affected, 2);
    let names = conn.query_map("SELECT name FROM t ORDER BY id DESC", (), |row| row.get::<String>(0))?;
    assert_eq!(names.collect::<Result<Vec<_>>>()?, ["two", "one"]);
    Ok(())
}
