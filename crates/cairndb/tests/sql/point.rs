//! Point statements say the same as the general path.

use crate::common::{connect, connect_general, dump, opened};
use cairndb::{Connection, NonBlocking, PlanCache, Pooled, Result, SqlState, ToValue, Value};

const SCHEMA: &str = "\
    CREATE TABLE t (id bigint PRIMARY KEY, a int NOT NULL DEFAULT 0, s text, d double precision, b smallint);\
    CREATE TABLE k (x int, y text, z varchar(5), u int UNIQUE, PRIMARY KEY (y, x));\
    CREATE INDEX k_z ON k (z);\
    CREATE TABLE h (n int, s text);";

/// Runs the statement by its prepared (point) form on one database, by the general path on another.
fn both(point: &Connection, general: &Connection, sql: &str, params: &[&dyn ToValue]) {
    let by_point = point.prepare(sql).unwrap().execute(params);
    let by_general = general.transaction(|tx| tx.execute(sql, params));
    match (&by_point, &by_general) {
        (Ok(a), Ok(b)) => assert_eq!(a, b, "{sql}"),
        (Err(a), Err(b)) => assert_eq!(format!("{a:?}"), format!("{b:?}"), "{sql}"),
        _ => panic!("{sql}: {by_point:?} but {by_general:?}"),
    }
    for table in ["t", "k", "h"] {
        assert_eq!(dump(point, table), dump(general, table), "{sql}");
    }
}

#[test]
fn writes_agree_with_the_general_path() {
    let (point, general) = (connect(SCHEMA), connect_general(SCHEMA));
    let insert = "INSERT INTO t VALUES ($1, $2, $3, $4, $5)";
    let cases: [(&str, &[&dyn ToValue]); 27] = [
        (insert, &[&1i64, &10, &"one", &1.5, &1i16]),
        (insert, &[&2i32, &20i64, &None::<&str>, &1.5f32, &None::<i16>]),
        (insert, &[&1i64, &10, &"again", &1.5, &1i16]),
        (insert, &[&"3", &"30", &"text for numbers", &"2.5", &"7"]),
        (insert, &[&4i64, &None::<i32>, &"", &0.0, &0i16]),
        (insert, &[&5i64, &i64::MAX, &"", &0.0, &0i16]),
        (insert, &[&1i64]),
        ("INSERT INTO t (s, id) VALUES ('default', $1)", &[&6i64]),
        ("UPDATE t SET a = a + $2 WHERE id = $1", &[&1i64, &5]),
        ("UPDATE t SET a = a + $2 WHERE id = $1", &[&1i64, &i32::MAX]),
        ("UPDATE t SET a = a - 1, b = 3 WHERE id = $1", &[&2i64]),
        ("UPDATE t SET b = b + 1 WHERE id = $1", &[&6i64]),
        ("UPDATE t SET a = $1 WHERE id = $2", &[&None::<i32>, &1i64]),
        ("UPDATE t SET s = $1, a = 7 WHERE id = $2", &[&"longer than before", &1i64]),
        ("UPDATE t SET s = NULL WHERE id = $1", &[&1i64]),
        ("UPDATE t SET d = 9 WHERE id = $1", &[&99i64]),
        ("DELETE FROM t WHERE id = $1", &[&2i64]),
        ("DELETE FROM t WHERE id = $1", &[&2i64]),
        ("INSERT INTO k VALUES ($1, $2, $3, $4)", &[&1, &"a", &"12345", &7]),
        ("INSERT INTO k VALUES ($1, $2, $3, $4)", &[&2, &"a", &"123456", &8]),
        ("INSERT INTO k VALUES ($1, $2, $3, $4)", &[&2, &"a", &"z", &7]),
        ("INSERT INTO k VALUES ($1, $2, $3, $4)", &[&2, &"a", &None::<&str>, &None::<i32>]),
        ("INSERT INTO k VALUES ($1, $2, $3, $4)", &[&3, &"a\u{0}b", &"\u{1}", &None::<i32>]),
        ("DELETE FROM k WHERE x = $1 AND y = $2", &[&2, &"a"]),
        ("INSERT INTO h VALUES ($1, $2)", &[&1, &"no key"]),
        ("INSERT INTO h VALUES ($1, $2)", &[&1, &"no key"]),
        ("UPDATE t SET id = 100 WHERE id = $1", &[&1i64]),
    ];
    for (sql, params) in cases {
        both(&point, &general, sql, params);
    }
}

#[test]
fn reads_agree_with_the_general_path() -> Result<()> {
    let conn = connect(SCHEMA);
    conn.execute_script(
        "INSERT INTO t VALUES (1, 10, 'one', 1.5, 1), (2, 20, NULL, NULL, NULL);\
         INSERT INTO k VALUES (1, 'a', 'zz', 7), (2, 'b''c', NULL, NULL)",
    )?;
    let cases: [(&str, &[&dyn ToValue]); 8] = [
        ("SELECT * FROM t WHERE id = $1", &[&1i64]),
        ("SELECT s, id, a FROM t WHERE id = $1", &[&2i32]),
        ("SELECT b FROM t WHERE id = $1", &[&3i64]),
        ("SELECT b FROM t WHERE id = $1", &[&None::<i64>]),
        ("SELECT b FROM t WHERE id = $1", &[&"1"]),
        ("SELECT y, x, z FROM k WHERE x = $1 AND y = $2", &[&2, &"b'c"]),
        ("SELECT y, u, z FROM k WHERE u = $1", &[&7]),
        ("SELECT 1 AS one, a FROM t WHERE id = $1", &[&1i64]),
    ];
    for (sql, params) in cases {
        let mut statement = conn.prepare(sql)?;
        let width = statement.columns().len();
        let read = |row: cairndb::RowRef<'_>| (0..width).map(|at| row.value(at)).collect::<Result<Vec<_>>>();
        let by_point = statement.query_point(params, read)?.transpose()?;
        let as_text = || conn.query_optional(sql, params, |row| Ok(row.values().to_vec()));
        assert_eq!(by_point, as_text()?, "{sql}");
        conn.execute("SET enable_point_statements = off", ())?;
        assert!(!conn.prepare(sql)?.is_point());
        assert_eq!(by_point, as_text()?, "{sql}");
        conn.execute("SET enable_point_statements = on", ())?;
    }
    Ok(())
}

#[test]
fn the_usual_statements_by_key_are_point_statements() -> Result<()> {
    let conn = connect(SCHEMA);
    let point = [
        "SELECT a, s FROM t WHERE id = $1",
        "SELECT * FROM t WHERE id = 7",
        "SELECT z FROM k WHERE y = $1 AND x = $2",
        "SELECT z FROM k WHERE u = $1",
        "SELECT a + 1 FROM t WHERE id = $1 AND a > 3",
        "INSERT INTO t VALUES ($1, $2, $3, $4, $5)",
        "INSERT INTO t (id) VALUES ($1)",
        "INSERT INTO k VALUES ($1, $2, $3, $4)",
        "UPDATE t SET a = a + 1 WHERE id = $1",
        "UPDATE t SET s = $2, d = $3 WHERE id = $1",
        "DELETE FROM t WHERE id = $1",
        "UPDATE k SET z = 'x' WHERE x = $1 AND y = $2",
        "DELETE FROM k WHERE x = $1 AND y = $2",
        "INSERT INTO k VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
        "INSERT INTO t VALUES ($1, 1, $2, 1.5, 1) ON CONFLICT (id) DO UPDATE SET a = t.a + 1, s = excluded.s",
    ];
    for sql in point {
        assert!(conn.prepare(sql)?.is_point(), "{sql}");
    }
    let general = [
        "SELECT a FROM t WHERE id > $1",
        "SELECT z FROM k WHERE x = $1",
        "INSERT INTO t VALUES (1, 1, '', 1, 1), (2, 1, '', 1, 1)",
        "UPDATE t SET id = id + 1 WHERE id = $1",
        "INSERT INTO k VALUES (1, (SELECT 'x'), $1, $2)",
        "UPDATE t SET s = (SELECT max(s) FROM t) WHERE id = $1",
    ];
    for sql in general {
        assert!(!conn.prepare(sql)?.is_point(), "{sql}");
    }
    Ok(())
}

#[test]
fn borrowed_columns_can_be_read_in_place() -> Result<()> {
    let conn = connect(SCHEMA);
    conn.execute("INSERT INTO t VALUES (1, 10, 'one', 1.5, 1)", ())?;
    conn.execute("INSERT INTO k VALUES (1, 'key', 'zz', 7)", ())?;
    let read = |row: cairndb::RowRef<'_>| {
        (row.get_i64(0), row.get_str(1).map(str::len), row.get_f64(2), row.get_i64(3), row.is_null(1))
    };
    let mut statement = conn.prepare("SELECT id, s, d, b FROM t WHERE id = $1")?;
    assert_eq!(statement.query_point((1i64,), read)?, Some((Some(1), Some(3), Some(1.5), Some(1), false)));
    let mut by_key = conn.prepare("SELECT y FROM k WHERE y = $1 AND x = $2")?;
    assert_eq!(by_key.query_point(("key", 1), |row| row.get_str(0).map(String::from))?, Some(Some("key".into())));
    Ok(())
}

#[test]
fn a_schema_change_is_noticed() -> Result<()> {
    let conn = connect(SCHEMA);
    let other = conn.database().connect()?;
    let mut insert = conn.prepare("INSERT INTO t VALUES ($1, 1, NULL, NULL, NULL)")?;
    let mut select = conn.prepare("SELECT * FROM t WHERE id = $1")?;
    insert.execute((1i64,))?;
    other.execute("CREATE UNIQUE INDEX t_a ON t (a)", ())?;
    assert_eq!(insert.execute((2i64,)).unwrap_err().constraint(), Some("t_a"));
    other.execute("ALTER TABLE t DROP COLUMN s", ())?;
    assert_eq!(select.query((1i64,)).err().map(|error| error.sqlstate().0), Some("0A000"));
    assert_eq!(insert.execute((3i64,)).unwrap_err().sqlstate().0, "42601");
    other.execute("DROP TABLE t", ())?;
    assert_eq!(select.query_point((1i64,), |_| ()).unwrap_err().sqlstate().0, "42P01");
    Ok(())
}

#[test]
fn pipelined_writes_are_there_after_their_tickets() -> Result<()> {
    let conn = connect(SCHEMA);
    let mut insert = conn.prepare("INSERT INTO t VALUES ($1, 1, NULL, NULL, NULL)")?;
    let tickets = (0..100i64).map(|id| insert.execute_async((id,))).collect::<Result<Vec<_>>>()?;
    for ticket in tickets {
        assert_eq!(ticket.wait()?, 1);
    }
    assert_eq!(conn.query_row("SELECT count(*) FROM t", (), |row| row.get::<i64>(0))?, 100);
    Ok(())
}

#[test]
fn point_writes_in_a_transaction_are_part_of_it() -> Result<()> {
    let conn = connect(SCHEMA);
    let (point, general) = (connect(SCHEMA), connect_general(SCHEMA));
    let mut insert = conn.prepare("INSERT INTO t VALUES ($1, 1, NULL, NULL, NULL)")?;
    let mut update = conn.prepare("UPDATE t SET a = a + 1, s = $2 WHERE id = $1")?;
    let mut delete = conn.prepare("DELETE FROM t WHERE id = $1")?;
    let tx = conn.begin()?;
    insert.execute((1i64,))?;
    insert.execute((2i64,))?;
    tx.execute("SAVEPOINT s", ())?;
    assert_eq!((update.execute((1i64, "x"))?, delete.execute((2i64,))?, delete.execute((2i64,))?), (1, 1, 0));
    assert_eq!(insert.execute((1i64,)).unwrap_err().sqlstate().0, "23505");
    assert_eq!(insert.execute((7i64,)).unwrap_err().sqlstate().0, "25P02");
    tx.execute("ROLLBACK TO s", ())?;
    assert_eq!(update.execute((1i64, "y"))?, 1);
    tx.commit()?;
    let rows = dump(&conn, "t");
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0][2], Value::text("y"));
    for conn in [&point, &general] {
        let tx = conn.begin()?;
        let mut insert = conn.prepare("INSERT INTO k VALUES ($1, $2, $3, $4)")?;
        insert.execute((1, "a", "b", 5))?;
        tx.rollback()?;
        assert!(dump(conn, "k").is_empty());
    }
    Ok(())
}

/// A scan of a table of one row looks as cheap as a look at its key; by key it stays a point statement.
#[test]
fn statements_by_key_of_small_tables_stay_point_statements_after_analyze() -> Result<()> {
    for rows in 0..6 {
        let conn = connect(SCHEMA);
        for id in 0..rows {
            conn.execute("INSERT INTO t VALUES ($1, 1, 'x', 1, 1)", (id,))?;
            conn.execute("INSERT INTO k VALUES ($1, 'y', 'z', $1)", (id,))?;
        }
        conn.execute("ANALYZE", ())?;
        let statements = [
            "SELECT a, s FROM t WHERE id = $1",
            "SELECT z FROM k WHERE u = $1",
            "UPDATE t SET a = a + 1 WHERE id = $1",
            "DELETE FROM k WHERE x = $1 AND y = $2",
        ];
        for sql in statements {
            assert!(conn.prepare(sql)?.is_point(), "{rows} rows: {sql}");
        }
    }
    Ok(())
}

/// `char(5)` and `char(3)` compare without their blanks wherever they are compared.
#[test]
fn blanks_of_char_do_not_matter_to_distinctness() -> Result<()> {
    let conn = connect(SCHEMA);
    conn.execute_script(
        "CREATE TABLE c (id int PRIMARY KEY, c char(5), d char(3), CHECK (c IS NOT DISTINCT FROM d));
         INSERT INTO c VALUES (1, 'ab', 'ab'); INSERT INTO c VALUES (2, 'x', 'x'), (3, NULL, NULL);",
    )?;
    let sql = "SELECT id FROM c WHERE id = $1 AND c IS NOT DISTINCT FROM d";
    let mut select = conn.prepare(sql)?;
    assert!(select.is_point());
    for id in 1..=3 {
        assert_eq!(select.query_row((id,), |row| row.get::<i32>(0))?, id);
        assert_eq!(select.query_point((id,), |row| row.get_i64(0))?, Some(Some(i64::from(id))));
    }
    let mut insert = conn.prepare("INSERT INTO c VALUES ($1, $2, $3)")?;
    assert_eq!(insert.execute((4, "yz", "yz"))?, 1);
    assert_eq!(insert.execute((5, "yz", "y")).unwrap_err().sqlstate().0, "23514");
    Ok(())
}

#[test]
fn a_session_that_only_reads_writes_by_no_way_to_a_point_statement() -> Result<()> {
    let (database, conn) = opened("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 5)");
    let write = "UPDATE t SET n = n + 1 WHERE id = $1";
    let plans = PlanCache::new();
    Pooled::new(database.connect()?, &plans).connection().execute(write, (1,))?;
    assert!(NonBlocking::new(database.connect()?, &plans)?.execute(write, (1,)).is_some(), "its plan is known");
    let reader = database.connect()?;
    reader.execute("SET default_transaction_read_only = on", ())?;
    for refused in [reader.execute(write, (1,)), reader.prepare(write)?.execute((1,))] {
        assert_eq!(refused.unwrap_err().sqlstate(), SqlState("25006"));
    }
    // Whoever can wait is told.
    assert!(NonBlocking::new(reader, &plans)?.execute(write, (1,)).is_none());
    assert_eq!(conn.query_row_as::<i32>("SELECT n FROM t", ())?, 7);
    Ok(())
}
