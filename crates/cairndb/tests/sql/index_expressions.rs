//! Indexes of expressions, and of some rows only.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::rows;
use cairndb::{Connection, Database, Result};

fn database() -> (Database, Connection) {
    let database = Database::open_in_memory().unwrap();
    let connection = database.connect().unwrap();
    connection
        .execute_script(
            "CREATE TABLE person (id int PRIMARY KEY, name varchar(40), age int, left_at date);
             INSERT INTO person SELECT i, 'Name' || i, i % 90, CASE WHEN i % 4 = 0 THEN date '2024-01-01' + i END
                 FROM generate_series(1, 2000) i;
             CREATE INDEX lower_name ON person (lower(name));
             CREATE INDEX next_age ON person ((age + 1), id);
             CREATE UNIQUE INDEX present ON person (name) WHERE left_at IS NULL;
             CREATE INDEX old ON person (id) WHERE age >= 80 AND name IS NOT NULL;
             ANALYZE person",
        )
        .unwrap();
    (database, connection)
}

/// The plan of a query; its rows must be those that it has without indexes.
fn plan(connection: &Connection, query: &str) -> String {
    let mut by_index = rows(connection, query);
    connection.execute("SET enable_indexscan = off", ()).unwrap();
    let mut by_scan = rows(connection, query);
    connection.execute("SET enable_indexscan = on", ()).unwrap();
    by_index.sort();
    by_scan.sort();
    assert_eq!(by_index, by_scan, "{query}");
    rows(connection, &format!("EXPLAIN {query}")).join("\n")
}

#[test]
fn queries_find_them() {
    let (_database, connection) = database();
    for (query, index) in [
        ("SELECT id FROM person WHERE lower(name) = 'name7'", "lower_name"),
        ("SELECT id FROM person WHERE 'name7' = lower(name) AND age > 3", "lower_name"),
        ("SELECT id FROM person WHERE lower(name) IN ('name7', 'name8')", "lower_name"),
        ("SELECT id FROM person WHERE lower(name) >= 'name77' AND lower(name) < 'name78'", "lower_name"),
        ("SELECT id FROM person ORDER BY lower(name) LIMIT 3", "lower_name"),
        ("SELECT id FROM person WHERE age + 1 = 30 ORDER BY id LIMIT 2", "next_age"),
        ("SELECT id FROM person WHERE name = 'Name7' AND left_at IS NULL", "present"),
        ("SELECT id FROM person WHERE age >= 80 AND name = 'Name80' ORDER BY id LIMIT 5", "old"),
        ("SELECT id FROM person WHERE age > 85 AND name LIKE 'N%' AND name IS NOT NULL ORDER BY id LIMIT 5", "old"),
        ("SELECT id FROM person WHERE age = 84 AND name >= 'N' ORDER BY id LIMIT 5", "old"),
        ("SELECT p.id FROM person p JOIN person q ON p.name = q.name AND p.left_at IS NULL WHERE q.id = 6", "present"),
    ] {
        let plan = plan(&connection, query);
        assert!(plan.contains(&format!("using {index} on person")), "{query}: {plan}");
    }
}

/// The inner side of a nested loop is looked up by the expression, alone or with columns behind it.
#[test]
fn joins_look_rows_up_by_them() {
    let (_database, connection) = database();
    connection
        .execute_script(
            "CREATE TABLE guest (called text, years int, big bigint);
             INSERT INTO guest SELECT CASE WHEN i % 5 > 0 THEN 'name' || i * 100 END, i, i FROM generate_series(1, 12) i;
             ANALYZE guest",
        )
        .unwrap();
    for (query, condition) in [
        ("SELECT g.called, p.id FROM guest g JOIN person p ON lower(p.name) = g.called", "lower(name) = g.called"),
        (
            "SELECT g.called, p.id FROM guest g LEFT JOIN person p ON g.called = lower(p.name) AND p.age > 20",
            "lower(name) = g.called",
        ),
        ("SELECT g.years, p.id FROM guest g JOIN person p ON p.age + 1 = g.years", "(age + 1) = g.years"),
        ("SELECT g.years FROM guest g WHERE EXISTS (SELECT 1 FROM person p WHERE lower(p.name) = upper(g.called))", ""),
        (
            "SELECT g.called FROM guest g WHERE NOT EXISTS (SELECT 1 FROM person p WHERE lower(p.name) = g.called)",
            "lower(name) = g.called",
        ),
        ("SELECT g.big, p.id FROM guest g JOIN person p ON p.age + 1 = g.big", ""),
    ] {
        let plan = plan(&connection, query);
        assert!(plan.contains(condition), "{query}: {plan}");
        assert!(condition.is_empty() || plan.contains("Nested Loop"), "{query}: {plan}");
    }
}

#[test]
fn one_does_not_hide_another() {
    let (_database, connection) = database();
    connection
        .execute_script(
            "CREATE INDEX lower_age ON person (lower(name), age); CREATE INDEX of_age ON person (age);
             CREATE INDEX is_old ON person ((age > 88)); CREATE INDEX one ON person ((1))",
        )
        .unwrap();
    for (query, index) in [
        ("SELECT id FROM person WHERE lower(name) = 'name7' AND age = 7", "lower_age"),
        ("SELECT age FROM person WHERE lower(name) > 'name7' ORDER BY lower(name), age LIMIT 4", "lower_age"),
        ("SELECT id FROM person WHERE age > 88", "of_age"),
        ("SELECT id FROM person WHERE age = 1", "of_age"),
    ] {
        let plan = plan(&connection, query);
        assert!(plan.contains(&format!("using {index} on person")), "{query}: {plan}");
    }
}

#[test]
fn queries_that_want_other_rows_do_not() {
    let (_database, connection) = database();
    for (query, index) in [
        ("SELECT id FROM person WHERE name = 'Name8'", "present"),
        ("SELECT id FROM person WHERE name = 'Name8' AND left_at IS NOT NULL", "present"),
        ("SELECT id FROM person WHERE age >= 79 AND name = 'Name80' ORDER BY id LIMIT 5", "old"),
        ("SELECT id FROM person WHERE age >= 80 ORDER BY id LIMIT 5", "old"),
        ("SELECT id FROM person WHERE (age >= 79 OR id = 4) AND name = 'Name4' ORDER BY id", "old"),
        ("SELECT id FROM person WHERE upper(name) = 'NAME7'", "lower_name"),
        ("SELECT p.id FROM person p JOIN person q ON p.name = q.name WHERE q.id = 8", "present"),
        ("SELECT p.id, q.id FROM person q LEFT JOIN person p ON p.name = q.name WHERE q.id = 8", "present"),
    ] {
        let plan = plan(&connection, query);
        assert!(!plan.contains(&format!("using {index} on person")), "{query}: {plan}");
    }
}

#[test]
fn a_prepared_statement_finds_its_row_by_an_expression() -> Result<()> {
    let (_database, connection) = database();
    connection.execute("CREATE UNIQUE INDEX by_name ON person (lower(name))", ())?;
    let mut find = connection.prepare("SELECT id FROM person WHERE lower(name) = $1")?;
    for id in [7, 1999, 4] {
        assert_eq!(find.query_row((format!("name{id}"),), |row| row.get::<i32>(0))?, id);
    }
    let mut leave = connection.prepare("UPDATE person SET left_at = '2024-02-02' WHERE lower(name) = $1")?;
    assert_eq!(leave.execute(("name7",))?, 1);
    connection.execute("INSERT INTO person VALUES (3000, 'Name7!', 1, NULL)", ())?;
    assert_eq!(connection.execute("DELETE FROM person WHERE lower(name) = 'name7!'", ())?, 1);
    Ok(())
}

#[test]
fn they_come_back_with_the_file_and_are_verified() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.cairn");
    let script = "CREATE TABLE t (id int PRIMARY KEY, a text, gone boolean);
        CREATE UNIQUE INDEX a ON t (lower(a)) WHERE NOT gone;
        INSERT INTO t VALUES (1, 'A', false), (2, 'a', true), (3, 'b', false);
        ALTER TABLE t ADD COLUMN c int DEFAULT 5;
        CREATE INDEX c ON t ((c * 2)) WHERE c > 4";
    let database = Database::open(&path)?;
    database.connect()?.execute_script(script)?;
    database.close()?;
    let database = Database::open(&path)?;
    let connection = database.connect()?;
    let error = connection.execute("UPDATE t SET gone = false WHERE id = 2", ()).unwrap_err();
    assert_eq!(error.sqlstate().0, "23505");
    assert_eq!(error.detail(), Some("Key (lower(a))=(a) already exists."));
    connection.execute_script(
        "UPDATE t SET gone = true WHERE id = 1; UPDATE t SET gone = false WHERE id = 2;
         UPDATE t SET c = id WHERE id < 3; INSERT INTO t VALUES (4, 'B', true, 7)",
    )?;
    assert_eq!(rows(&connection, "SELECT id FROM t WHERE c * 2 = 10 AND c > 4"), ["3"]);
    let verified = database.verify()?;
    assert_eq!((verified.indexes, verified.index_entries), (2, 2 + 2));
    database.verify_constraints()?;
    drop(connection);
    database.close()?;
    let copy = folder.path().join("y.cairn");
    cairndb::salvage(&path, &copy)?;
    let database = Database::open(&copy)?;
    assert_eq!(database.verify()?.index_entries, 2 + 2);
    Ok(())
}

/// One of some rows, and unique, built while others move rows in and out of it.
#[test]
fn they_are_built_beside_writers() -> Result<()> {
    let database = Database::open_in_memory()?;
    let connection = database.connect()?;
    connection.execute_script(
        "CREATE TABLE t (id int PRIMARY KEY, a int, live boolean);
         INSERT INTO t SELECT i, i % 1000, i <= 1000 FROM generate_series(1, 20000) i",
    )?;
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| -> Result<()> {
        let writer = scope.spawn(|| -> Result<u32> {
            let connection = database.connect()?;
            let mut done = 0;
            while !stop.load(Ordering::Relaxed) || done < 100 {
                // The row that is live of each value changes; there is never more than one.
                let (from, to) = (done % 1000 + 1, done % 1000 + 1001);
                let both = format!("UPDATE t SET live = NOT live WHERE id IN ({from}, {to})");
                assert_eq!(connection.execute(&both, ())?, 2);
                done += 1;
            }
            Ok(done)
        });
        for round in 0..5 {
            connection.execute(&format!("CREATE UNIQUE INDEX u{round} ON t ((a + 1)) WHERE live"), ())?;
        }
        stop.store(true, Ordering::Relaxed);
        assert!(writer.join().unwrap()? >= 100);
        Ok(())
    })?;
    let verified = database.verify()?;
    assert_eq!((verified.indexes, verified.index_entries), (5, 5000));
    let error = connection.execute("UPDATE t SET live = true WHERE id = 19999", ()).unwrap_err();
    assert_eq!(error.sqlstate().0, "23505");
    Ok(())
}
