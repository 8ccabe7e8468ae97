//! Prepared queries whose operators stay from one execution to the next: every execution gives what a new statement
//! would.

use crate::common::connect;
use cairndb::{Connection, Result, Rows, ToValue, Value};

fn prepared_rows(rows: Rows) -> Result<Vec<String>> {
    rows.mapped(|row| Ok(format!("{:?}", row.values()))).collect()
}

/// Queries over `t (id, n, name)`, with an index on `n`, and parameters for two executions.
const QUERIES: &[(&str, [&[&dyn ToValue]; 3])] = &[
    ("SELECT * FROM t WHERE id >= $1 AND id < $2", [&[&1i64, &5i64], &[&90i64, &99i64], &[&None::<i64>, &5i64]]),
    ("SELECT id FROM t WHERE n = $1 ORDER BY id", [&[&3i64], &[&4i64], &[&None::<i64>]]),
    ("SELECT id FROM t WHERE n > $1 AND name LIKE $2", [&[&3i64, &"a%"], &[&1i64, &"%5"], &[&0i64, &None::<&str>]]),
    ("SELECT id FROM t WHERE n IN ($1, $2)", [&[&3i64, &1i64], &[&4i64, &None::<i64>], &[&0i64, &9i64]]),
    (
        "SELECT id, n + $1 FROM t LIMIT $2 OFFSET $3",
        [&[&1i64, &3i64, &2i64], &[&7i64, &1i64, &0i64], &[&0i64, &0i64, &0i64]],
    ),
    (
        "SELECT id FROM t WHERE CASE WHEN $1::bigint > 2 THEN n ELSE id END = $2",
        [&[&1i64, &3i64], &[&3i64, &3i64], &[&None::<i64>, &3i64]],
    ),
    ("SELECT count(*), sum(n) FROM t WHERE n < $1", [&[&3i64], &[&5i64], &[&0i64]]),
    (
        "SELECT count(*), sum(n), min(name) FILTER (WHERE id > $2) FROM t WHERE n = $1",
        [&[&3i64, &0i64], &[&None::<i64>, &0i64], &[&4i64, &90i64]],
    ),
    (
        "SELECT n + $1, count(*), avg(id), string_agg(name, $2) FROM t GROUP BY n + $1",
        [&[&3i64, &","], &[&5i64, &"-"], &[&0i64, &None::<&str>]],
    ),
    ("SELECT n, max(id + $1) FROM t WHERE n > $1 GROUP BY n ORDER BY n", [&[&3i64], &[&5i64], &[&9i64]]),
    (
        "SELECT count(DISTINCT n), string_agg(name, $2 ORDER BY id) FROM t WHERE id < $1",
        [&[&9i64, &","], &[&5i64, &"-"], &[&0i64, &"x"]],
    ),
    ("SELECT a.id FROM t a JOIN t b ON b.id = a.n WHERE a.id < $1", [&[&30i64], &[&9i64], &[&0i64]]),
    (
        "SELECT a.name, count(*), sum(b.id) FROM t a JOIN t b ON b.n = a.id WHERE a.id = $1 GROUP BY a.name",
        [&[&3i64], &[&5i64], &[&None::<i64>]],
    ),
    (
        "SELECT a.id, b.id FROM t a LEFT JOIN t b ON b.n = a.n AND b.id < $2 WHERE a.id < $1 ORDER BY 1, 2",
        [&[&30i64, &40i64], &[&9i64, &0i64], &[&90i64, &None::<i64>]],
    ),
    ("SELECT a.id, b.name FROM t a JOIN t b ON b.id = a.n + $1 ORDER BY a.id", [&[&3i64], &[&95i64], &[&-200i64]]),
    (
        "SELECT a.id FROM t a WHERE EXISTS (SELECT 1 FROM t b WHERE b.n = a.id AND b.id > $1) AND a.name > $2",
        [&[&3i64, &""], &[&95i64, &"b"], &[&200i64, &""]],
    ),
    (
        "SELECT a.id FROM t a WHERE a.id < $2 AND NOT EXISTS (SELECT 1 FROM t b WHERE b.n = a.id AND b.id > $1)",
        [&[&3i64, &50i64], &[&98i64, &5i64], &[&200i64, &9i64]],
    ),
    (
        "SELECT a.id, b.id FROM t a FULL JOIN t b ON a.id = b.n + $1 AND b.id < a.id + $2 ORDER BY 1, 2",
        [&[&3i64, &0i64], &[&0i64, &50i64], &[&300i64, &0i64]],
    ),
    (
        "SELECT a.id, b.id FROM (SELECT * FROM t WHERE id = $1) a, (SELECT * FROM t WHERE n < $2) b WHERE a.n <> b.n",
        [&[&3i64, &2i64], &[&5i64, &5i64], &[&300i64, &5i64]],
    ),
    (
        "SELECT a.id, l.x FROM t a, LATERAL (SELECT b.id + $1 AS x FROM t b WHERE b.n = a.n LIMIT 2) l WHERE a.id < $2",
        [&[&3i64, &20i64], &[&5i64, &5i64], &[&5i64, &0i64]],
    ),
    (
        "SELECT id, (SELECT count(*) FROM t b WHERE b.n = a.n AND b.id > $1) FROM t a WHERE a.id < $2",
        [&[&3i64, &20i64], &[&95i64, &5i64], &[&5i64, &0i64]],
    ),
    ("SELECT id FROM t WHERE id = (SELECT max(n) FROM t WHERE n < $1)", [&[&3i64], &[&5i64], &[&0i64]]),
    (
        "SELECT $1::text || name FROM t WHERE id < 3 AND n IS NOT NULL AND NOT n = $2",
        [&[&"x", &1i64], &[&"y", &2i64], &[&None::<&str>, &0i64]],
    ),
];

fn fill(connection: &Connection, ids: std::ops::Range<i64>) -> Result<()> {
    let mut insert = connection.prepare("INSERT INTO t VALUES ($1, $2, $3)")?;
    for id in ids {
        let n = (id % 11 != 0).then_some(id % 7);
        insert.execute((id, n, format!("{}{id}", if id % 2 == 0 { "a" } else { "b" })))?;
    }
    Ok(())
}

fn table() -> Result<Connection> {
    let connection = connect("CREATE TABLE t (id bigint PRIMARY KEY, n bigint, name text); CREATE INDEX i ON t (n)");
    fill(&connection, 0..100)?;
    Ok(connection)
}

#[test]
fn each_execution_has_its_own_parameters_and_sees_the_newest_rows() -> Result<()> {
    let connection = table()?;
    for (sql, parameters) in QUERIES {
        let mut statement = connection.prepare(sql)?;
        for round in 0..2 {
            for parameters in parameters {
                let again = prepared_rows(statement.query(*parameters)?)?;
                assert_eq!(again, prepared_rows(connection.query(sql, *parameters)?)?, "{sql}");
            }
            connection.execute("DELETE FROM t WHERE id = $1", (91 + round,))?;
        }
        connection.execute("DELETE FROM t", ())?;
        fill(&connection, 0..100)?;
    }
    Ok(())
}

#[test]
fn rows_of_an_execution_outlive_the_next_one() -> Result<()> {
    let connection = table()?;
    let mut statement = connection.prepare("SELECT id FROM t WHERE id >= $1")?;
    let mut first = statement.query((10i64,))?;
    assert_eq!(first.next()?.unwrap().get::<i64>(0)?, 10);
    let mut second = statement.query((50i64,))?;
    assert_eq!(second.next()?.unwrap().get::<i64>(0)?, 50);
    assert_eq!(first.next()?.unwrap().get::<i64>(0)?, 11);
    drop(first);
    assert_eq!(second.next()?.unwrap().get::<i64>(0)?, 51);
    drop(second);
    assert_eq!(prepared_rows(statement.query((99i64,))?)?, ["[BigInt(99)]"]);
    Ok(())
}

#[test]
fn joins_that_were_not_read_to_their_ends_begin_anew() -> Result<()> {
    let connection = connect("CREATE TABLE t (id bigint PRIMARY KEY, n bigint, name text); CREATE INDEX i ON t (n)");
    fill(&connection, 0..5_000)?;
    for sql in [
        "SELECT a.id, b.id FROM t a JOIN t b ON b.n = a.id WHERE a.id >= $1",
        "SELECT a.id, b.id FROM t a LEFT JOIN t b ON b.id = a.id + 1 WHERE a.n = $1",
        "SELECT a.id, b.id FROM t a, t b WHERE a.id >= $1 AND b.id > 4990 AND b.n > a.n",
        "SELECT b.id FROM t b WHERE b.n = $1 AND NOT EXISTS (SELECT 1 FROM t a WHERE a.n = b.id)",
    ] {
        let mut statement = connection.prepare(sql)?;
        for rows_read in [1, 20, 1_500, 0] {
            let mut rows = statement.query((3i64,))?;
            for _ in 0..rows_read {
                rows.next()?;
            }
            drop(rows);
            let again = prepared_rows(statement.query((2i64,))?)?;
            assert_eq!(again, prepared_rows(connection.query(sql, (2i64,))?)?, "{sql}: {rows_read}");
        }
    }
    Ok(())
}

#[test]
fn groups_of_an_execution_that_was_not_read_to_its_end_are_gone() -> Result<()> {
    let connection = table()?;
    let mut statement = connection.prepare("SELECT id, count(*) FROM t WHERE id < $1 GROUP BY id")?;
    let mut rows = statement.query((50i64,))?;
    rows.next()?;
    drop(rows);
    assert_eq!(prepared_rows(statement.query((1i64,))?)?, ["[BigInt(0), BigInt(1)]"]);
    let mut failing = connection.prepare("SELECT count(*), sum(10 / (id - $1)) FROM t WHERE id < 10")?;
    assert!(prepared_rows(failing.query((9i64,))?).is_err());
    assert_eq!(
        prepared_rows(failing.query((10i64,))?)?,
        prepared_rows(connection.query("SELECT 10, sum(10 / (id - 10)) FROM t WHERE id < 10", ())?)?
            .iter()
            .map(|row| row.replace("Integer(10)", "BigInt(10)"))
            .collect::<Vec<_>>()
    );
    Ok(())
}

#[test]
fn an_execution_that_failed_or_a_new_schema_leaves_nothing_behind() -> Result<()> {
    let connection = table()?;
    let mut statement = connection.prepare("SELECT 10 / (n - $1), name FROM t WHERE id < 3 AND n IS NOT NULL")?;
    assert_eq!(prepared_rows(statement.query((0i64,))?)?.len(), 2);
    assert!(prepared_rows(statement.query((1i64,))?).is_err());
    assert_eq!(prepared_rows(statement.query((5i64,))?)?.len(), 2);
    connection.execute("ALTER TABLE t DROP COLUMN name, ADD COLUMN name text DEFAULT 'new'", ())?;
    assert!(prepared_rows(statement.query((5i64,))?)?.iter().all(|row| row.ends_with("Text(\"new\")]")));
    Ok(())
}

#[test]
fn values_are_lent_as_they_are_copied() -> Result<()> {
    let connection =
        connect("CREATE TABLE v (id int PRIMARY KEY, a smallint, b real, c text, d bytea, e date, f numeric)");
    connection.execute_script(
        "INSERT INTO v VALUES (1, 2, 1.5, 'één', '\\x00ff', '2020-02-02', 1.50), (2, NULL, NULL, NULL, NULL, NULL, NULL)",
    )?;
    let mut rows = connection.query("SELECT *, a > 1, NULL::timestamp, c || 'x' FROM v", ())?;
    while let Some(row) = rows.next()? {
        for at in 0..=row.columns().len() {
            let owned: Value = row.value_ref(at).to_value();
            assert_eq!(format!("{owned:?}"), format!("{:?}", row.value(at)));
        }
    }
    Ok(())
}

#[test]
fn the_columns_of_a_prepared_statement_stay_what_they_were() -> Result<()> {
    let connection = connect("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 2)");
    let mut point = connection.prepare("SELECT * FROM t WHERE id = $1")?;
    let mut all = connection.prepare("SELECT * FROM t")?;
    let mut named = connection.prepare("SELECT n FROM t")?;
    let mut changed = connection.prepare("UPDATE t SET id = id + 1 RETURNING *")?;
    for statement in [&mut all, &mut named] {
        assert_eq!(prepared_rows(statement.query(())?)?.len(), 1);
    }
    assert_eq!(prepared_rows(point.query((1,))?)?.len(), 1);
    let refused = |rows: Result<Rows>| rows.err().map(|error| error.sqlstate().0);
    for change in ["ALTER TABLE t ALTER COLUMN id TYPE bigint", "ALTER TABLE t ADD COLUMN more text"] {
        connection.execute(change, ())?;
        assert_eq!(refused(point.query((1,))), Some("0A000"), "{change}");
        assert_eq!(refused(all.query(())), Some("0A000"), "{change}");
        assert_eq!(refused(changed.query(())), Some("0A000"), "{change}");
    }
    assert_eq!(prepared_rows(named.query(())?)?, ["[Integer(2)]"]);
    assert_eq!(
        crate::common::rows(&connection, "SELECT id, more FROM t"),
        ["1|NULL"],
        "what was refused changed nothing"
    );
    assert_eq!(connection.query("SELECT * FROM t", ())?.columns().len(), 3, "a text is what it says now");
    Ok(())
}

#[test]
fn what_is_prepared_anew_has_the_columns_of_now() -> Result<()> {
    let connection = table()?;
    let text = "SELECT * FROM t WHERE id = 1";
    let before = connection.prepare(text)?;
    connection.execute("ALTER TABLE t ADD COLUMN more int DEFAULT 7", ())?;
    let mut after = connection.prepare(text)?;
    assert_eq!(after.result()?.map(|columns| columns.len()), Some(4));
    assert_eq!(after.query(())?.columns().len(), 4);
    drop(before);
    // With the types of its parameters, as a client of a server declares them.
    let text = "SELECT * FROM t WHERE id = $1";
    let mut typed = connection.prepare_typed(text, &[cairndb::DataType::BigInt])?;
    assert_eq!(typed.query((1i64,))?.columns().len(), 4);
    connection.execute("ALTER TABLE t DROP COLUMN more", ())?;
    let error = typed.query((1i64,)).map(drop).unwrap_err();
    assert_eq!((error.sqlstate().as_str(), error.routine()), ("0A000", Some("RevalidateCachedQuery")));
    let mut typed = connection.prepare_typed(text, &[cairndb::DataType::BigInt])?;
    assert_eq!(typed.query((1i64,))?.columns().len(), 3);
    Ok(())
}
