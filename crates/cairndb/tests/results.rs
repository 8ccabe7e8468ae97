//! Results that are read while other things happen on their connection: their transaction ends, or changes what they read.

mod common;

use cairndb::{Connection, Result, Rows};
use common::connect;

const COUNT: i32 = 5000;

/// t and u have `COUNT` rows, in which n is 0.
fn filled() -> Connection {
    connect(&format!(
        "CREATE TABLE t (id int PRIMARY KEY, n int); CREATE TABLE u (id int PRIMARY KEY, n int);
         INSERT INTO t SELECT i, 0 FROM generate_series(1, {COUNT}) AS s(i); INSERT INTO u SELECT * FROM t;
         CREATE FUNCTION f(i int) RETURNS int STABLE LANGUAGE plpgsql AS 'BEGIN RETURN i; END'"
    ))
}

/// What is left of them: how many, and the error's code at their end.
fn left(rows: &mut Rows) -> (usize, Option<&'static str>) {
    let mut count = 0;
    loop {
        match rows.next() {
            Ok(Some(_)) => count += 1,
            Ok(None) => return (count, None),
            Err(error) => return (count, Some(error.sqlstate().as_str())),
        }
    }
}

/// Queries of every kind of result: computed as they are asked for, there at once, of one row by key, changed.
const QUERIES: [&str; 8] = [
    "SELECT id, n FROM t ORDER BY id",
    "SELECT id, f(n) FROM t",
    "SELECT t.id, u.n FROM t JOIN u USING (id)",
    "SELECT n FROM t ORDER BY n, id",
    "SELECT n FROM t WHERE id IN (1, 2)",
    "UPDATE t SET n = n RETURNING id",
    "SELECT g FROM generate_series(1, 5000) AS s(g)",
    "VALUES (1, 1), (1, 2)",
];

#[test]
fn a_result_ends_with_its_transaction() -> Result<()> {
    let conn = filled();
    for query in QUERIES {
        for end in ["COMMIT", "ROLLBACK", "COMMIT AND CHAIN"] {
            conn.execute("BEGIN", ())?;
            let (mut begun, mut whole) = (conn.query(query, ())?, conn.query(query, ())?);
            assert!(begun.next()?.is_some());
            while whole.next()?.is_some() {}
            conn.execute(end, ())?;
            assert_eq!(left(&mut begun), (0, Some("34000")), "{query}; {end}");
            assert_eq!(left(&mut whole), (0, None), "{query}; {end}: it was read to its end before");
            // It was no error of the transaction that is open now.
            conn.execute("SELECT 1", ())?;
            if conn.in_transaction() {
                conn.execute("ROLLBACK", ())?;
            }
        }
    }
    Ok(())
}

#[test]
fn a_result_of_a_prepared_point_statement_ends_with_its_transaction_too() -> Result<()> {
    let conn = filled();
    let (mut read, mut write) =
        (conn.prepare("SELECT n FROM t WHERE id = $1")?, conn.prepare("UPDATE t SET n = 1 WHERE id = $1 RETURNING n")?);
    conn.execute("BEGIN", ())?;
    let (mut read, mut written) = (read.query((1,))?, write.query((1,))?);
    conn.execute("COMMIT", ())?;
    assert_eq!((left(&mut read), left(&mut written)), ((0, Some("34000")), (0, Some("34000"))));
    Ok(())
}

#[test]
fn a_result_ends_with_the_part_of_a_transaction_that_is_taken_back() -> Result<()> {
    let conn = filled();
    for query in QUERIES {
        conn.execute_script("BEGIN; SAVEPOINT a")?;
        let (mut before, mut released) = (conn.query(query, ())?, {
            conn.execute("SAVEPOINT b", ())?;
            conn.query(query, ())?
        });
        conn.execute_script("RELEASE b; SAVEPOINT c")?;
        let mut behind = conn.query(query, ())?;
        assert!(before.next()?.is_some() && released.next()?.is_some() && behind.next()?.is_some());
        let fails = conn.execute("SELECT 1 / 0", ());
        assert!(fails.is_err());
        assert_eq!(before.next().err().map(|error| error.sqlstate().0), Some("25P02"), "{query}: while it is failed");
        conn.execute("ROLLBACK TO c", ())?;
        assert_eq!(left(&mut behind), (0, Some("34000")), "{query}");
        let mut again = conn.query(query, ())?;
        assert!(before.next()?.is_some() && released.next()?.is_some() && again.next()?.is_some(), "{query}");
        conn.execute("ROLLBACK TO a", ())?;
        for mut rows in [before, released, again] {
            assert_eq!(left(&mut rows), (0, Some("34000")), "{query}");
        }
        conn.execute("ROLLBACK", ())?;
    }
    Ok(())
}

#[test]
fn a_result_ends_with_its_connection_and_with_what_was_worked_out_ahead() -> Result<()> {
    let conn = filled();
    conn.execute("BEGIN", ())?;
    let mut rows = conn.query("SELECT id FROM t", ())?;
    let mut ahead = rows.ahead(100, std::time::Duration::MAX)?.rows;
    assert!(rows.next()?.is_some() && ahead.next()?.is_some());
    drop(conn);
    assert_eq!((left(&mut rows), left(&mut ahead)), ((0, Some("34000")), (0, Some("34000"))));
    Ok(())
}

#[test]
fn a_result_of_a_statement_on_its_own_is_nobodys() -> Result<()> {
    let conn = filled();
    for query in QUERIES {
        let mut rows = conn.query(query, ())?;
        assert!(rows.next()?.is_some());
        conn.execute_script(
            "BEGIN; UPDATE t SET n = 5 WHERE id % 7 = 0; DROP TABLE u; SAVEPOINT s; ROLLBACK TO s; ROLLBACK",
        )?;
        assert!(conn.execute("SELECT 1 / 0", ()).is_err());
        let expected = if query.contains("(1") && query.contains(", 2)") { 2 } else { COUNT };
        assert_eq!(left(&mut rows), (expected as usize - 1, None), "{query}");
    }
    Ok(())
}

#[test]
fn the_first_temporary_table_is_made_beside_results_that_call_functions() -> Result<()> {
    let conn = filled();
    conn.execute("BEGIN", ())?;
    let mut rows = conn.query("SELECT f(n) FROM t", ())?;
    assert!(rows.next()?.is_some());
    conn.execute_script("SAVEPOINT s; CREATE TEMP TABLE gone (a int); ROLLBACK TO s")?;
    conn.execute_script("CREATE TEMP TABLE x (a int); INSERT INTO x VALUES (1), (2)")?;
    assert!(conn.query("SELECT * FROM gone", ()).is_err());
    conn.execute("ROLLBACK TO s", ())?;
    conn.execute_script("CREATE TEMP TABLE x (a int); INSERT INTO x VALUES (1), (2)")?;
    assert_eq!(conn.query_row("SELECT sum(a) FROM x", (), |row| row.get::<i64>(0))?, 3);
    assert_eq!(left(&mut rows), (COUNT as usize - 1, None));
    conn.execute("COMMIT", ())?;
    assert_eq!(conn.query_row("SELECT sum(a) FROM x", (), |row| row.get::<i64>(0))?, 3);
    Ok(())
}
