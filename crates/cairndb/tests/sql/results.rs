//! Results that are read while other things happen on their connection: their transaction ends, or changes what they read.

use crate::common::connect;
use cairndb::{Connection, Result, Rows};

/// More than what is worked out for the first row.
const COUNT: i32 = 100;

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
    "SELECT g FROM generate_series(1, 100) AS s(g)",
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
    let mut ahead = rows.ahead(20, std::time::Duration::MAX)?.rows;
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

/// The values of column 1, each with how often it is there.
fn counted(rows: &mut Rows) -> Result<Vec<(i64, usize)>> {
    let mut counts = std::collections::BTreeMap::new();
    while let Some(row) = rows.next()? {
        *counts.entry(row.get::<i64>(1)?).or_default() += 1;
    }
    Ok(counts.into_iter().collect())
}

/// Ways to read n of t and u: by scans, by look-ups, by key, within functions, behind sorts, of what is temporary.
const READS: [&str; 10] = [
    "SELECT id, n::bigint FROM t ORDER BY id",
    "SELECT id, (SELECT n FROM u WHERE u.id = t.id + (random() * 0)::int)::bigint FROM t ORDER BY id",
    "SELECT t.id, u.n::bigint FROM t JOIN u ON u.id = t.id WHERE t.id > 0 ORDER BY t.id",
    "SELECT t.id, x.n::bigint FROM t, LATERAL (SELECT n FROM u WHERE u.id = t.id LIMIT 1) x",
    "SELECT id, looked(id)::bigint FROM t",
    "SELECT id, n::bigint FROM t WHERE id <= 50 UNION ALL SELECT id, n FROM u WHERE id > 50",
    "SELECT id, (SELECT max(n) FROM u)::bigint + n FROM t",
    "SELECT g, coalesce((SELECT n FROM u WHERE u.id = g), 0)::bigint FROM generate_series(1, 100) AS s(g)",
    "SELECT id, n::bigint FROM x ORDER BY id",
    "SELECT x.id, (SELECT n FROM x y WHERE y.id = x.id)::bigint + u.n FROM x JOIN u USING (id)",
];

#[test]
fn a_result_sees_what_was_there_when_it_was_asked_for() -> Result<()> {
    let conn = filled();
    conn.execute_script(
        "CREATE TEMP TABLE x (id int PRIMARY KEY, n int); INSERT INTO x SELECT * FROM t;
         CREATE FUNCTION looked(int) RETURNS int STABLE LANGUAGE sql AS 'SELECT n FROM u WHERE id = $1';
         CREATE FUNCTION nothing() RETURNS int VOLATILE LANGUAGE plpgsql AS 'BEGIN UPDATE u SET n = 9; UPDATE x SET n = 9; RETURN 1; END'",
    )?;
    let changes = [
        "UPDATE t SET n = 7; UPDATE u SET n = 7; UPDATE x SET n = 7",
        "DELETE FROM u; DELETE FROM t; DELETE FROM x",
        "TRUNCATE t, u, x; DROP TABLE u CASCADE",
        "ALTER TABLE u ALTER n TYPE text; ALTER TABLE t DROP COLUMN n; DROP TABLE x",
        "SELECT nothing()",
        "SAVEPOINT s; UPDATE u SET n = 7; UPDATE x SET n = 7; ROLLBACK TO s; UPDATE t SET n = 8; UPDATE u SET n = 8",
        "DO 'BEGIN BEGIN UPDATE u SET n = 3; UPDATE x SET n = 3; RAISE no_data_found; EXCEPTION WHEN OTHERS THEN UPDATE t SET n = 2; END; END'",
        "INSERT INTO t SELECT i, 4 FROM generate_series(-50, 0) AS s(i); INSERT INTO u SELECT i, 4 FROM generate_series(-50, 0) AS s(i)",
        "UPDATE u SET n = 1 WHERE id % 10 = 1",
    ];
    for change in changes {
        for before in ["SELECT 1", "UPDATE t SET n = 0 WHERE id % 10 = 0; UPDATE u SET n = 0 WHERE id = 99"] {
            conn.execute("BEGIN", ())?;
            conn.execute_script(before)?;
            let mut results = READS.map(|read| (read, conn.query(read, ())));
            for (read, rows) in &mut results {
                let rows = rows.as_mut().unwrap_or_else(|error| panic!("{read}: {error}"));
                assert_eq!(rows.next()?.map(|row| row.get::<i64>(1)).transpose()?, Some(0), "{read}");
            }
            conn.execute_script(change)?;
            for (read, rows) in results {
                assert_eq!(counted(&mut rows?)?, [(0, COUNT as usize - 1)], "{read}; {change}");
            }
            conn.execute("ROLLBACK", ())?;
        }
    }
    Ok(())
}

/// Each sees what was there for it, however many there are, and nobody else lacks room to read.
#[test]
fn thousands_of_results_of_a_transaction_are_there_at_once() -> Result<()> {
    let conn = filled();
    let mut joined =
        conn.prepare("SELECT t.id, u.n::bigint FROM t JOIN u ON u.id = t.id WHERE t.id > 0 AND u.id > 0")?;
    conn.execute("BEGIN", ())?;
    let mut results = Vec::new();
    for number in 0..4200_i64 {
        let mut rows = joined.query(())?;
        assert_eq!(rows.next()?.map(|row| row.get::<i64>(1)).transpose()?, Some(number / 2100));
        results.push(rows);
        if number == 2099 {
            conn.execute("UPDATE u SET n = n + 1", ())?;
        }
    }
    let other = conn.database().connect()?;
    other.execute_script("BEGIN; UPDATE t SET n = 1 WHERE id = 40; COMMIT")?;
    assert_eq!(other.query("SELECT id FROM t WHERE n = 0", ())?.into_iter().count(), COUNT as usize - 1);
    for (number, mut rows) in results.into_iter().enumerate().step_by(699) {
        assert_eq!(counted(&mut rows)?, [(number as i64 / 2100, COUNT as usize - 1)]);
    }
    Ok(())
}

/// What gives many rows of 200 bytes at once, each with its number: t's ids from 1 to 4000, ascending.
const WHOLE: [&str; 7] = [
    "FETCH ALL FROM c",
    "UPDATE t SET s = s || '' RETURNING id, s",
    "DELETE FROM t RETURNING id, s",
    "INSERT INTO t SELECT id + 4000, s FROM t ORDER BY id RETURNING id - 4000, s",
    "WITH x AS (UPDATE t SET s = s || '' RETURNING id, s) SELECT id, s FROM x",
    "MERGE INTO t USING generate_series(1, 4000) AS g ON g = id WHEN MATCHED THEN UPDATE SET s = s || '' RETURNING id, s",
    "UPDATE t SET s = s || '' RETURNING id, (SELECT t.s)",
];

#[test]
fn what_fetch_and_returning_give_is_on_disk_beyond_work_mem() -> Result<()> {
    let conn = connect(
        "CREATE TABLE t (id int PRIMARY KEY, s text);
         INSERT INTO t SELECT i, repeat(chr(65 + i % 26), 200) FROM generate_series(1, 4000) AS s(i); SET work_mem = '64kB'",
    );
    for query in WHOLE {
        conn.execute_script(
            "BEGIN; SET LOCAL temp_file_limit = '300kB'; DECLARE c CURSOR FOR SELECT * FROM t ORDER BY id",
        )?;
        let refused = conn.query(query, ()).err().map(|error| error.sqlstate().0);
        assert_eq!(refused, Some("53400"), "{query}: it fits nowhere else");
        conn.execute_script("ROLLBACK; BEGIN; DECLARE c CURSOR FOR SELECT * FROM t ORDER BY id")?;
        let mut rows = conn.query(query, ())?;
        // It is whole, whatever comes after.
        conn.execute_script("SET LOCAL temp_file_limit = 0; SET LOCAL work_mem = '8MB'; CLOSE c; TRUNCATE t")?;
        let mut number = 0;
        while let Some(row) = rows.next()? {
            number += 1;
            let letter = char::from(b'A' + u8::try_from(number % 26).expect("a letter"));
            let expected = (number, String::from(letter).repeat(200));
            assert_eq!(row.read::<(i32, String)>()?, expected, "{query}");
        }
        assert_eq!((number, rows.count_so_far()), (4000, 4000), "{query}");
        conn.execute("ROLLBACK", ())?;
    }
    Ok(())
}

#[test]
fn few_rows_of_much_are_on_disk_too_and_are_given_ahead() -> Result<()> {
    let conn = connect("CREATE TABLE t (id int PRIMARY KEY, s text, a text[], j jsonb); SET work_mem = '64kB'");
    let mut insert = conn.prepare(
        "INSERT INTO t SELECT i, repeat('x', 300000), ARRAY[repeat('y', 300000)], to_jsonb(repeat('z', 300000))
         FROM generate_series(1, $1) AS s(i) RETURNING *",
    )?;
    conn.execute("SET temp_file_limit = '1MB'", ())?;
    assert_eq!(insert.query((9,)).err().map(|error| error.sqlstate().0), Some("53400"));
    conn.execute("RESET temp_file_limit", ())?;
    let mut rows = insert.query((9,))?;
    assert_eq!(rows.next()?.map(|row| row.get::<i32>(0)).transpose()?, Some(1));
    let ahead = rows.ahead(2, std::time::Duration::MAX)?;
    assert!(ahead.is_end && ahead.count == 8);
    let lengths = ahead.rows.mapped(|row| Ok(row.get::<String>(1)?.len() + row.get::<Vec<String>>(2)?[0].len()));
    assert_eq!(lengths.collect::<Result<Vec<_>>>()?, [600_000; 8]);
    Ok(())
}
