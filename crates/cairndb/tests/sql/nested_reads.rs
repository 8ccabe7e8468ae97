//! Statements that are called by who reads a row which the same connection lends him.

use cairndb::{Connection, DataType, Database, Durability, FunctionOptions, Result, SqlState};

fn connection() -> Connection {
    let conn = Database::open_in_memory().expect("opens").connect().expect("connects");
    conn.execute_script(
        "CREATE TABLE t (id int PRIMARY KEY, n int, v text); INSERT INTO t VALUES (1, 2, 'x'), (2, 3, 'y')",
    )
    .expect("a table");
    conn
}

fn is_refused<T>(what: &str, called: Result<T>) {
    let error = called.err().unwrap_or_else(|| panic!("{what} should be refused"));
    assert_eq!(error.sqlstate(), SqlState::OBJECT_IN_USE, "{what}: {error}");
}

/// By every way there is.
fn nest(conn: &Connection, other: &Connection) {
    let mut outer = conn.prepare("SELECT n, v FROM t WHERE id = $1").expect("prepares");
    let mut select = conn.prepare("SELECT n FROM t WHERE id = $1").expect("prepares");
    let mut update = conn.prepare("UPDATE t SET n = n + 1 WHERE id = $1").expect("prepares");
    let mut many = conn.prepare("SELECT count(*) FROM t WHERE n > $1").expect("prepares");
    let seen = outer.query_point((1,), |row| {
        is_refused("a point read", select.query_point((2,), |_| ()));
        is_refused("a point write", update.execute((1,)));
        is_refused("a query", many.query((1,)));
        is_refused("a text", conn.query("SELECT 1", ()));
        is_refused("a write as text", conn.execute("UPDATE t SET n = 0 WHERE id = 1", ()));
        is_refused("a script", conn.execute_script("SELECT 1; SELECT 2"));
        is_refused("COMMIT", conn.execute("COMMIT", ()));
        is_refused("BEGIN", conn.execute("BEGIN", ()));
        is_refused("SET", conn.execute("SET search_path = public", ()));
        let options = FunctionOptions::immutable();
        let function = conn.create_function("f", &[], DataType::Integer, options, |_| Ok(1));
        is_refused("a function", function);
        is_refused("a transaction", conn.transaction(|_| Ok(())));
        is_refused("a limit of time", conn.set_statement_timeout(None));
        is_refused("what COMMIT promises", conn.set_durability(Durability::Full));
        let elsewhere = other.query_row("SELECT n FROM t WHERE id = 2", (), |row| row.get::<i64>(0));
        assert_eq!(elsewhere.expect("another connection is free"), 3);
        row.get_str(1).map(str::to_owned)
    });
    assert_eq!(seen.expect("reads").flatten().as_deref(), Some("x"));
    assert!(!conn.transaction_failed(), "nothing has happened to the transaction");
    assert_eq!(select.query_point((2,), |row| row.get_i64(0)).expect("reads"), Some(Some(3)), "it is free again");
    assert_eq!(update.execute((2,)).expect("changes"), 1);
    assert_eq!(conn.execute("UPDATE t SET n = 3 WHERE id = 2", ()).expect("changes"), 1);
}

#[test]
fn what_is_called_within_a_lent_row_is_refused() {
    let conn = connection();
    let other = conn.database().connect().expect("connects");
    nest(&conn, &other);
    // What RETURNING gives is the caller's own.
    let mut change = conn.prepare("UPDATE t SET n = n WHERE id = $1 RETURNING n").expect("prepares");
    let count = || conn.query_row("SELECT count(*) FROM t", (), |row| row.get::<i64>(0)).expect("counts");
    assert_eq!(change.query_point((1,), |row| (row.get_i64(0), count())).expect("changes"), Some((Some(2), 2)));
}

#[test]
fn and_in_a_transaction() {
    let conn = connection();
    let other = conn.database().connect().expect("connects");
    conn.execute("BEGIN", ()).expect("begins");
    nest(&conn, &other);
    conn.execute("INSERT INTO t SELECT g, 1, 'z' FROM generate_series(10, 9000) AS s(g)", ()).expect("a large one");
    nest(&conn, &other);
    conn.execute("ROLLBACK", ()).expect("rolls back");
}
