//! Enums through the library: parameters and values, statements prepared before a type changed, several connections, a file
//! that is opened again, and types that come and go in a transaction.

use crate::common::{fails, opened, rows};
use cairndb::{Array, DataType, Database, Options, Result, SqlState, Value};

const MOOD: &str = "CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
    CREATE TABLE person (id int PRIMARY KEY, m mood, l mood[]);";

#[test]
fn a_label_is_a_parameter_and_what_a_value_is_read_as() -> Result<()> {
    let (_database, conn) = opened(MOOD);
    let mut insert = conn.prepare("INSERT INTO person VALUES ($1, $2, $3)")?;
    assert!(matches!(insert.parameter_types(), [DataType::Integer, DataType::Enum(_), DataType::Array(_)]));
    insert.execute((1, "happy", vec!["ok", "sad"]))?;
    insert.execute((2, String::from("sad"), None::<Array>))?;
    insert.execute((3, None::<&str>, "{happy,NULL}"))?;
    let error = insert.execute((4, "angry", None::<Array>)).unwrap_err();
    assert_eq!(error.sqlstate(), SqlState::INVALID_TEXT_REPRESENTATION);
    assert_eq!(error.message(), "invalid input value for enum mood: \"angry\"");
    let read = |row: cairndb::Row<'_>| Ok((row.get::<Option<String>>(0)?, row.get::<Option<Vec<Option<String>>>>(1)?));
    let found = conn.query_row("SELECT m, l FROM person WHERE id = $1", (1,), read)?;
    assert_eq!(found, (Some("happy".into()), Some(vec![Some("ok".into()), Some("sad".into())])));
    let found = conn.query_row("SELECT m, l FROM person WHERE id = 3", (), read)?;
    assert_eq!(found, (None, Some(vec![Some("happy".into()), None])));
    // A value that was read is a parameter too.
    let value: Value = conn.query_row("SELECT m FROM person WHERE id = 1", (), |row| row.get(0))?;
    assert_eq!((value.to_string(), format!("{value:?}")), ("happy".into(), "Enum(\"happy\")".into()));
    let ids = |sql: &str, value: &Value| conn.query_row(sql, (value,), |row| row.get::<i32>(0));
    assert_eq!(ids("SELECT id FROM person WHERE m = $1", &value)?, 1);
    assert_eq!(ids("SELECT id FROM person WHERE m < $1", &value)?, 2);
    let text: &str = "SELECT $1::mood::text";
    assert_eq!(conn.query_row(text, ("ok",), |row| row.get::<String>(0))?, "ok");
    Ok(())
}

#[test]
fn statements_that_were_prepared_before_know_what_a_type_became() -> Result<()> {
    let (database, conn) = opened(MOOD);
    let mut insert = conn.prepare("INSERT INTO person VALUES ($1, $2)")?;
    let mut select = conn.prepare("SELECT id FROM person WHERE m > $1 ORDER BY m")?;
    let mut literal = conn.prepare("SELECT count(*) FROM person WHERE m = 'sad'")?;
    let mut range = conn.prepare("SELECT enum_range(NULL::mood)::text")?;
    let mut point = conn.prepare("SELECT m FROM person WHERE id = $1")?;
    assert!(insert.is_point() && point.is_point());
    insert.execute((1, "ok"))?;
    let value: Value = conn.query_row("SELECT m FROM person", (), |row| row.get(0))?;
    assert_eq!(range.query_row((), |row| row.get::<String>(0))?, "{sad,ok,happy}");
    let other = database.connect()?;
    other.execute_script(
        "ALTER TYPE mood ADD VALUE 'fine' BEFORE 'happy'; ALTER TYPE mood RENAME VALUE 'sad' TO 'blue'",
    )?;
    assert_eq!(range.query_row((), |row| row.get::<String>(0))?, "{blue,ok,fine,happy}");
    insert.execute((2, "fine"))?;
    insert.execute((3, "happy"))?;
    insert.execute((4, "blue"))?;
    assert_eq!(insert.execute((5, "sad")).unwrap_err().sqlstate(), SqlState::INVALID_TEXT_REPRESENTATION);
    assert_eq!(
        literal.query_row((), |row| row.get::<i64>(0)).unwrap_err().sqlstate(),
        SqlState::INVALID_TEXT_REPRESENTATION
    );
    assert_eq!(point.query_row((2,), |row| row.get::<String>(0))?, "fine");
    assert_eq!(point.query_row((4,), |row| row.get::<String>(0))?, "blue");
    // A value of before is the same label.
    let ids: Vec<i32> = select.query((&value,))?.mapped(|row| row.get(0)).collect::<Result<_>>()?;
    assert_eq!(ids, [2, 3]);
    insert.execute((6, &value))?;
    other.execute_script("ALTER TYPE mood RENAME TO feeling")?;
    assert_eq!(range.query_row((), |row| row.get::<String>(0)).unwrap_err().sqlstate(), SqlState::UNDEFINED_OBJECT);
    insert.execute((7, "fine"))?;
    other.execute_script("CREATE TYPE mood AS ENUM ('new')")?;
    assert_eq!(range.query_row((), |row| row.get::<String>(0))?, "{new}");
    assert_eq!(
        rows(&conn, "SELECT id, m FROM person ORDER BY m, id"),
        ["4|blue", "1|ok", "6|ok", "2|fine", "7|fine", "3|happy"]
    );
    Ok(())
}

#[test]
fn a_type_belongs_to_the_transaction_that_makes_it_or_changes_it() -> Result<()> {
    let (database, conn) = opened("");
    let other = database.connect()?;
    conn.execute_script(
        "BEGIN; CREATE TYPE t AS ENUM ('a'); ALTER TYPE t ADD VALUE 'b'; CREATE TABLE x (t t PRIMARY KEY)",
    )?;
    // PostgreSQL refuses a value that was added in the same transaction (55P04); there is no reason here.
    conn.execute("INSERT INTO x VALUES ('b'), ('a')", ())?;
    assert_eq!(rows(&conn, "SELECT t FROM x ORDER BY t DESC"), ["b", "a"]);
    fails(&other, "SELECT 'a'::t", "42704");
    conn.execute_script("ROLLBACK")?;
    fails(&conn, "SELECT 'a'::t", "42704");
    conn.execute_script(
        "CREATE TYPE t AS ENUM ('a', 'b'); CREATE TABLE x (t t PRIMARY KEY); INSERT INTO x VALUES ('a')",
    )?;
    // Who reads goes on with the type of before, until it looks anew.
    let mut held = other.prepare("SELECT t FROM x WHERE t < 'b'")?;
    conn.execute_script("BEGIN; DROP TYPE t CASCADE")?;
    assert_eq!(held.query_row((), |row| row.get::<String>(0))?, "a");
    conn.execute_script("ROLLBACK")?;
    assert_eq!(rows(&conn, "SELECT t FROM x"), ["a"]);
    conn.execute_script("BEGIN; ALTER TYPE t ADD VALUE 'z'; INSERT INTO x VALUES ('z'); ROLLBACK")?;
    fails(&conn, "INSERT INTO x VALUES ('z')", "22P02");
    Ok(())
}

#[test]
fn two_transactions_do_not_change_one_type_apart() -> Result<()> {
    let (database, a) = opened(MOOD);
    let b = database.connect()?;
    a.execute_script("BEGIN; ALTER TYPE mood ADD VALUE 'x'")?;
    b.execute_script("BEGIN; ALTER TYPE mood ADD VALUE 'y'")?;
    a.execute_script("COMMIT")?;
    assert_eq!(b.execute_script("COMMIT").unwrap_err().sqlstate().0, "40001");
    // Who inserts under the type of before fails where that type is gone meanwhile.
    b.execute_script("BEGIN; INSERT INTO person VALUES (1, 'ok')")?;
    a.execute_script("ALTER TYPE mood RENAME VALUE 'ok' TO 'well'")?;
    assert_eq!(b.execute_script("COMMIT").unwrap_err().sqlstate().0, "40001");
    Ok(())
}

#[test]
fn a_file_with_enums_opens_again_as_it_was() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("e.cairn");
    {
        let database = Database::open(&path)?;
        let conn = database.connect()?;
        conn.execute_script(
            "CREATE SCHEMA s; CREATE TYPE s.\"Odd\" AS ENUM ('one', 'two', ''); CREATE TYPE e AS ENUM ('a', 'b');
             CREATE TABLE t (id int PRIMARY KEY, o s.\"Odd\" DEFAULT 'two', e e, l e[], CHECK (o <> '' OR id > 1));
             CREATE UNIQUE INDEX ON t (e, id); CREATE INDEX ON t (coalesce(e, 'a')) WHERE o = 'two';
             CREATE VIEW v AS SELECT o, e, 'b'::e AS b FROM t WHERE e >= 'b';
             INSERT INTO t VALUES (1, DEFAULT, 'a', '{a}'), (2, '', 'b', '{b,a}');
             ALTER TYPE e ADD VALUE 'ab' BEFORE 'b'; ALTER TYPE e RENAME VALUE 'b' TO 'bb';
             INSERT INTO t VALUES (3, 'one', 'ab', NULL); ANALYZE;
             ALTER TABLE t DROP COLUMN l; COMMENT ON TYPE e IS 'letters'",
        )?;
        drop(conn);
        database.close()?;
    }
    for options in [Options::default(), Options::default().read_only(true)] {
        let database = Database::open_with(&path, options)?;
        let conn = database.connect()?;
        assert_eq!(rows(&conn, "SELECT * FROM t ORDER BY e"), ["1|two|a", "3|one|ab", "2||bb"]);
        assert_eq!(rows(&conn, "SELECT * FROM v"), ["|bb|bb"]);
        assert_eq!(rows(&conn, "SELECT id FROM t WHERE o = 'two' AND coalesce(e, 'a') = 'a'"), ["1"]);
        assert_eq!(rows(&conn, "SELECT description FROM pg_description"), ["letters"]);
        database.verify()?;
        assert_eq!(database.verify_constraints()?.len(), 0);
    }
    let database = Database::open(&path)?;
    let conn = database.connect()?;
    fails(&conn, "INSERT INTO t VALUES (1, '', 'a')", "23514");
    fails(&conn, "DROP TYPE e", "2BP01");
    conn.execute_script("DROP TABLE t CASCADE; DROP TYPE e; DROP SCHEMA s CASCADE")?;
    assert_eq!(rows(&conn, "SELECT count(*) FROM pg_enum"), ["0"]);
    drop(conn);
    database.close()?;
    let saved = folder.path().join("saved.cairn");
    cairndb::salvage(&path, &saved)?;
    Ok(())
}

#[test]
fn a_salvage_saves_types_and_what_is_of_them() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, saved) = (folder.path().join("e.cairn"), folder.path().join("saved.cairn"));
    let database = Database::open(&path)?;
    database.connect()?.execute_script(MOOD)?;
    database.connect()?.execute("INSERT INTO person VALUES (1, 'happy', '{sad}'), (2, NULL, NULL)", ())?;
    database.close()?;
    cairndb::salvage(&path, &saved)?;
    let database = Database::open(&saved)?;
    let conn = database.connect()?;
    assert_eq!(rows(&conn, "SELECT * FROM person ORDER BY m"), ["1|happy|{sad}", "2|NULL|NULL"]);
    conn.execute_script("ALTER TYPE mood ADD VALUE 'x'; INSERT INTO person VALUES (3, 'x')")?;
    database.verify()?;
    Ok(())
}

#[test]
fn temporary_tables_have_columns_of_types() -> Result<()> {
    let (database, conn) = opened(MOOD);
    let other = database.connect()?;
    conn.execute_script("CREATE TEMP TABLE mine (m mood, n int); INSERT INTO mine VALUES ('ok', 1), ('sad', 2)")?;
    assert_eq!(rows(&conn, "SELECT n FROM mine ORDER BY m"), ["2", "1"]);
    other.execute_script("ALTER TYPE mood ADD VALUE 'first' BEFORE 'sad'")?;
    conn.execute("INSERT INTO mine VALUES ('first', 3)", ())?;
    conn.execute("INSERT INTO person VALUES (1, 'ok')", ())?;
    assert_eq!(rows(&conn, "SELECT n FROM mine ORDER BY m"), ["3", "2", "1"]);
    assert_eq!(rows(&conn, "SELECT n FROM mine JOIN person USING (m)"), ["1"]);
    fails(&conn, "DROP TYPE mood", "2BP01");
    // What nobody else sees does not keep the type: the table's values stay what they were.
    other.execute_script("DROP TYPE mood CASCADE")?;
    assert_eq!(rows(&conn, "SELECT m, n FROM mine ORDER BY m"), ["first|3", "sad|2", "ok|1"]);
    conn.execute_script(
        "ALTER TABLE mine ADD COLUMN more int; UPDATE mine SET more = n; INSERT INTO mine VALUES ('ok', 4, 4)",
    )?;
    assert_eq!(rows(&conn, "SELECT m, more FROM mine WHERE m > 'sad' ORDER BY n"), ["ok|1", "ok|4"]);
    conn.execute_script("CREATE TABLE kept AS SELECT m::text, n FROM mine")?;
    Ok(())
}

#[test]
fn many_labels_between_two_are_refused_when_there_is_no_room() -> Result<()> {
    let (_database, conn) = opened("CREATE TYPE e AS ENUM ('a', 'z'); CREATE TABLE t (e e)");
    let mut added = 0;
    let error = loop {
        match conn.execute(&format!("ALTER TYPE e ADD VALUE 'l{added}' BEFORE 'z'"), ()) {
            Ok(_) => added += 1,
            Err(error) => break error,
        }
    };
    assert_eq!((error.sqlstate().0, added), ("54000", 16));
    conn.execute("INSERT INTO t SELECT unnest(enum_range(NULL::e))", ())?;
    let expected: Vec<String> =
        std::iter::once("a".to_owned()).chain((0..added).map(|n| format!("l{n}"))).chain(["z".to_owned()]).collect();
    assert_eq!(rows(&conn, "SELECT e FROM t ORDER BY e"), expected);
    conn.execute("ALTER TYPE e ADD VALUE 'front' BEFORE 'a'", ())?;
    conn.execute("ALTER TYPE e ADD VALUE 'back'", ())?;
    assert_eq!(rows(&conn, "SELECT enum_first(NULL::e), enum_last(NULL::e)"), ["front|back"]);
    Ok(())
}
