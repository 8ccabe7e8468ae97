//! The system's relations stand before a user's of the same name, and nobody changes them.

use cairndb::{Connection, DataType, Database, Reg, Result, Value, to_text};

fn connection() -> Connection {
    Database::open_in_memory().expect("opens").connect().expect("connects")
}

fn code(conn: &Connection, sql: &str) -> &'static str {
    conn.execute(sql, ()).err().unwrap_or_else(|| panic!("{sql} should be refused")).sqlstate().0
}

#[test]
fn a_users_table_is_hidden_unless_the_path_says_otherwise() -> Result<()> {
    let conn = connection();
    conn.execute_script("CREATE TABLE public.pg_class (x int); INSERT INTO public.pg_class VALUES (3)")?;
    assert_eq!(code(&conn, "SELECT x FROM pg_class"), "42703");
    let mut seen = conn.prepare("SELECT count(*) FROM pg_class")?;
    assert!(seen.query_row((), |row| row.get::<i64>(0))? > 0);
    assert_eq!(code(&conn, "INSERT INTO pg_class VALUES (1)"), "42501");
    assert_eq!(code(&conn, "DROP TABLE pg_class"), "42501");
    conn.execute("SET search_path = public, pg_catalog", ())?;
    assert_eq!(conn.query_row("SELECT x FROM pg_class", (), |row| row.get::<i32>(0))?, 3);
    conn.execute_script("INSERT INTO pg_class VALUES (4); SET search_path = pg_catalog, public")?;
    assert_eq!(code(&conn, "SELECT x FROM pg_class"), "42703");
    conn.execute("SET search_path = public", ())?;
    // What is temporary comes before all.
    conn.execute("CREATE TEMPORARY TABLE pg_class (x int)", ())?;
    assert_eq!(conn.query_row("SELECT count(*) FROM pg_class WHERE x = 1", (), |row| row.get::<i64>(0))?, 0);
    conn.execute_script("DROP TABLE pg_class; DROP TABLE public.pg_class")
}

#[test]
fn what_the_system_makes_is_not_changed() -> Result<()> {
    let conn = connection();
    conn.execute_script("CREATE TABLE t (a int); CREATE VIEW v AS SELECT 1 AS a")?;
    for sql in [
        "UPDATE pg_class SET relname = 'x'",
        "DELETE FROM pg_catalog.pg_class",
        "DROP TABLE pg_catalog.pg_class",
        "DROP TABLE IF EXISTS pg_class",
        "ALTER TABLE pg_class ADD COLUMN x int",
        "ALTER TABLE pg_class RENAME TO x",
        "ALTER TABLE pg_class RENAME COLUMN relname TO x",
        "ALTER TABLE pg_class SET SCHEMA public",
        "ALTER VIEW pg_tables RENAME TO x",
        "TRUNCATE pg_class",
        "CREATE INDEX ON pg_class (relname)",
        "COMMENT ON TABLE pg_class IS 'x'",
        "COMMENT ON COLUMN pg_class.relname IS 'x'",
        "CREATE TABLE c (a int REFERENCES pg_class)",
        "CREATE TABLE pg_catalog.c (x int)",
        "CREATE VIEW information_schema.c AS SELECT 1",
        "CREATE SEQUENCE pg_catalog.c",
        "ALTER TABLE t SET SCHEMA pg_catalog",
        "ALTER SCHEMA pg_catalog RENAME TO x",
        "DROP SCHEMA IF EXISTS pg_catalog",
    ] {
        assert_eq!(code(&conn, sql), "42501", "{sql}");
    }
    for sql in [
        "INSERT INTO information_schema.tables VALUES (1)",
        "UPDATE information_schema.columns SET table_name = 'x'",
        "DELETE FROM pg_tables",
        "INSERT INTO v VALUES (1)",
    ] {
        assert_eq!(code(&conn, sql), "55000", "{sql}");
    }
    assert_eq!(code(&conn, "DROP TABLE pg_catalog.nope"), "42P01");
    conn.execute_script("ANALYZE pg_class; VACUUM pg_class")
}

#[test]
fn names_and_nothing_have_types_of_their_own_in_results() -> Result<()> {
    let conn = connection();
    conn.execute_script(
        "CREATE TABLE t (a int); CREATE FUNCTION nothing() RETURNS void LANGUAGE plpgsql AS 'BEGIN END'",
    )?;
    let column = |sql: &str| -> Result<(DataType, String)> {
        let mut rows = conn.query(sql, ())?;
        let data_type = rows.columns()[0].data_type;
        Ok((data_type, rows.next()?.expect("a row").get(0)?))
    };
    for (sql, data_type, shown) in [
        ("SELECT nothing()", DataType::Void, ""),
        ("SELECT * FROM nothing()", DataType::Void, ""),
        ("SELECT pg_advisory_unlock_all()", DataType::Void, ""),
        ("SELECT 't'::regclass", DataType::RegName(Reg::Class), "t"),
        (
            "WITH w AS (SELECT oid::regclass AS r FROM pg_class WHERE relname = 't') SELECT r FROM w",
            DataType::RegName(Reg::Class),
            "t",
        ),
        ("VALUES ('int4'::regtype)", DataType::RegName(Reg::Type), "integer"),
        ("SELECT pg_typeof(a) FROM (SELECT 1 AS a) s", DataType::RegName(Reg::Type), "integer"),
        ("SELECT 'nothing'::regproc", DataType::RegName(Reg::Proc), "nothing"),
        ("SELECT 'nothing()'::regprocedure", DataType::RegName(Reg::Procedure), "nothing()"),
        ("SELECT 't'::regclass::text", DataType::Text, "t"),
    ] {
        assert_eq!(column(sql)?, (data_type, shown.to_owned()), "{sql}");
    }
    // What goes on has its type.
    conn.execute(
        "DO $$ DECLARE r record; x text; BEGIN SELECT 't'::regclass AS c INTO r; x := lower(r.c::text) || r.c; END $$",
        (),
    )?;
    Ok(())
}

#[test]
fn a_program_reads_the_names_of_oids_and_gives_names_or_numbers() -> Result<()> {
    let conn = connection();
    conn.execute_script("CREATE TABLE t (a int); CREATE TABLE r (c regclass PRIMARY KEY, d regtype[])")?;
    let oid: i64 = conn.query_row_as("SELECT 't'::regclass::oid", ())?;
    // A point statement's parameters, too.
    let mut insert = conn.prepare("INSERT INTO r VALUES ($1, $2)")?;
    insert.execute(("t", "{int4,text}"))?;
    assert_eq!(insert.execute((oid, None::<&str>)).unwrap_err().sqlstate().as_str(), "23505");
    let mut of = conn.prepare("SELECT c, c::oid, d, r FROM r WHERE c = $1")?;
    let read = |row: &cairndb::Row| -> Result<(String, i64, Value, Value)> {
        Ok((row.get(0)?, row.get(1)?, row.value(2).clone(), row.value(3).clone()))
    };
    let (name, number, types, row) = of.query_row((oid,), |row| read(&row))?;
    assert_eq!((name.as_str(), number), ("t", oid));
    assert_eq!(of.columns()[0].data_type, DataType::RegName(Reg::Class));
    // Arrays and rows have values, whose names the connection knows.
    let context = conn.text_context();
    assert_eq!(to_text(&types, &context) + &to_text(&row, &context), "{integer,text}(t,\"{integer,text}\")");
    assert_eq!(types.to_string(), "{23,25}");
    let returned = "UPDATE r SET d = NULL RETURNING c";
    assert_eq!(conn.query_row_as::<String>(returned, ())?, "t");
    assert!(conn.query_row_as::<bool>("SELECT $1::regclass = 't'::regclass", ("t",))?);
    assert_eq!(conn.query_row_as::<String>("SELECT $1::regclass", (oid,))?, "t");
    // A plan that is kept says what it is called by then.
    let mut kept = conn.prepare("SELECT c, c::text FROM r")?;
    for name in ["t", "u"] {
        assert_eq!(
            kept.query_row((), |row| Ok((row.get::<String>(0)?, row.get::<String>(1)?)))?,
            (name.to_owned(), name.to_owned())
        );
        conn.execute("ALTER TABLE IF EXISTS t RENAME TO u", ())?;
    }
    Ok(())
}
