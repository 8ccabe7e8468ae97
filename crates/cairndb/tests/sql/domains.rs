//! Domains through the library: point statements, statements prepared before a domain changed, files that are opened again, and
//! every way by which a value comes into a column.

use crate::common::{fails, opened, rows};
use cairndb::{Database, Result, SqlState};

const POSITIVE: &str = "CREATE DOMAIN positive AS int CHECK (VALUE > 0);
    CREATE TABLE t (id int PRIMARY KEY, n positive DEFAULT 7, s text);";

#[test]
fn a_point_statement_looks_at_the_domain_of_a_column() -> Result<()> {
    let (_database, conn) = opened(POSITIVE);
    let mut insert = conn.prepare("INSERT INTO t VALUES ($1, $2)")?;
    let mut update = conn.prepare("UPDATE t SET n = $1 WHERE id = $2")?;
    let mut other = conn.prepare("UPDATE t SET s = $1 WHERE id = $2")?;
    assert!(insert.is_point() && update.is_point() && other.is_point());
    insert.execute((1, 5))?;
    update.execute((6, 1))?;
    other.execute(("x", 1))?;
    update.execute((None::<i32>, 1))?;
    for error in [insert.execute((2, 0)).unwrap_err(), update.execute((-1, 1)).unwrap_err()] {
        assert_eq!(error.sqlstate(), SqlState::CHECK_VIOLATION);
        assert_eq!(error.message(), "value for domain positive violates check constraint \"positive_check\"");
        assert_eq!(error.constraint(), Some("positive_check"));
    }
    conn.execute_script("UPDATE t SET n = 3; ALTER DOMAIN positive ADD CONSTRAINT small CHECK (VALUE < 10)")?;
    assert_eq!(insert.execute((3, 12)).unwrap_err().constraint(), Some("small"));
    conn.execute_script("ALTER DOMAIN positive DROP CONSTRAINT small; ALTER DOMAIN positive SET NOT NULL")?;
    insert.execute((3, 12))?;
    assert_eq!(update.execute((None::<i32>, 1)).unwrap_err().sqlstate(), SqlState::NOT_NULL_VIOLATION);
    Ok(())
}

#[test]
fn every_way_into_a_column_is_looked_at() -> Result<()> {
    let (_database, conn) = opened(POSITIVE);
    conn.execute_script(
        "INSERT INTO t SELECT g, g FROM generate_series(1, 3) g;
         CREATE TABLE child (id int PRIMARY KEY, n positive DEFAULT -1, t int DEFAULT 1 REFERENCES t ON DELETE SET DEFAULT);
         CREATE TABLE parent (n int PRIMARY KEY);
         CREATE TABLE follows (id int, n positive REFERENCES parent ON UPDATE CASCADE);
         INSERT INTO parent VALUES (4); INSERT INTO follows VALUES (1, 4);
         CREATE TABLE computed (a int, n positive GENERATED ALWAYS AS (a - 5) STORED)",
    )?;
    for sql in [
        "INSERT INTO t SELECT g, g - 5 FROM generate_series(4, 6) g",
        "INSERT INTO t VALUES (4, 1), (5, 0)",
        "UPDATE t SET n = n - 1",
        "INSERT INTO t VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET n = -excluded.n",
        "INSERT INTO child (id) VALUES (1)",
        "UPDATE parent SET n = -4",
        "INSERT INTO computed VALUES (5)",
        "WITH w AS (INSERT INTO t VALUES (9, -9) RETURNING id) SELECT * FROM w",
        "SELECT (n - 3)::positive FROM t ORDER BY id",
    ] {
        fails(&conn, sql, "23514");
    }
    conn.execute("UPDATE parent SET n = 8", ())?;
    conn.execute("INSERT INTO computed VALUES (6)", ())?;
    fails(&conn, "UPDATE computed SET a = 1", "23514");
    assert_eq!(rows(&conn, "SELECT n FROM follows UNION ALL SELECT n FROM computed"), ["8", "1"]);
    assert_eq!(rows(&conn, "SELECT id, n FROM t ORDER BY id"), ["1|1", "2|2", "3|3"]);
    Ok(())
}

#[test]
fn a_file_with_domains_opens_again_as_it_was() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, saved) = (folder.path().join("d.cairn"), folder.path().join("saved.cairn"));
    {
        let database = Database::open(&path)?;
        let conn = database.connect()?;
        conn.execute_script(
            "CREATE TYPE e AS ENUM ('a', 'b'); CREATE DOMAIN d AS e DEFAULT 'b' CHECK (VALUE <> 'a');
             CREATE DOMAIN dd AS d NOT NULL; CREATE DOMAIN few AS text[] CHECK (cardinality(VALUE) < 3);
             CREATE TABLE t (id int PRIMARY KEY, d dd, f few); CREATE INDEX ON t (d);
             INSERT INTO t (id) VALUES (1); ALTER TYPE e RENAME VALUE 'a' TO 'not a'; INSERT INTO t VALUES (2, 'b', '{x,y}');
             CREATE VIEW v AS SELECT 'b'::dd AS x FROM t WHERE d = 'b'::d",
        )?;
        drop(conn);
        database.close()?;
    }
    cairndb::salvage(&path, &saved)?;
    for path in [&path, &saved] {
        let database = Database::open(path)?;
        let conn = database.connect()?;
        assert_eq!(rows(&conn, "SELECT * FROM t ORDER BY id"), ["1|b|NULL", "2|b|{x,y}"]);
        assert_eq!(rows(&conn, "SELECT * FROM v"), ["b", "b"]);
        fails(&conn, "INSERT INTO t VALUES (3, 'not a')", "23514");
        fails(&conn, "INSERT INTO t VALUES (3, NULL)", "23502");
        fails(&conn, "INSERT INTO t VALUES (3, 'b', '{1,2,3}')", "23514");
        fails(&conn, "DROP TYPE e", "2BP01");
        database.verify()?;
        conn.execute_script("DROP DOMAIN d CASCADE")?;
        assert_eq!(rows(&conn, "SELECT * FROM t ORDER BY id"), ["1|NULL", "2|{x,y}"]);
    }
    Ok(())
}

#[test]
fn a_domain_belongs_to_its_transaction_and_stands_where_it_may() -> Result<()> {
    let (database, conn) = opened(POSITIVE);
    let other = database.connect()?;
    conn.execute_script("BEGIN; CREATE DOMAIN mine AS positive CHECK (VALUE < 5); CREATE TEMP TABLE x (m mine)")?;
    fails(&other, "SELECT 1::mine", "42704");
    fails(&conn, "INSERT INTO x VALUES (7)", "23514");
    conn.execute_script("ROLLBACK")?;
    fails(&conn, "SELECT 1::mine", "42704");
    conn.execute_script("CREATE TEMP TABLE x (m positive); INSERT INTO x VALUES (7)")?;
    fails(&conn, "INSERT INTO x VALUES (-7)", "23514");
    other.execute_script("ALTER DOMAIN positive ADD CONSTRAINT odd CHECK (VALUE % 2 = 1) NOT VALID")?;
    fails(&conn, "INSERT INTO x VALUES (8)", "23514");
    // What nobody else sees does not keep the domain.
    other.execute_script("DROP DOMAIN positive CASCADE")?;
    conn.execute("INSERT INTO x VALUES (-8)", ())?;
    assert_eq!(rows(&conn, "SELECT m FROM x ORDER BY m"), ["-8", "7"]);
    conn.execute_script("CREATE DOMAIN d AS int")?;
    fails(&conn, "SELECT '{1}'::d[]", "0A000");
    fails(&conn, "CREATE TABLE y (a d[])", "0A000");
    fails(&conn, "CREATE DOMAIN dd AS d[]", "0A000");
    Ok(())
}
