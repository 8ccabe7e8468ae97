//! CREATE, ALTER, DROP, TRUNCATE, views, and that prepared statements notice.

use crate::common::{connect, fails, rows};
use cairndb::schema::{ForeignKeyAction, IndexKind, RelationKind};
use cairndb::{Database, Result};

#[test]
fn names_are_shared_by_all_relations() -> Result<()> {
    let conn = connect("CREATE TABLE t (a int PRIMARY KEY); CREATE VIEW v AS SELECT a FROM t; CREATE SEQUENCE s");
    assert_eq!(fails(&conn, "CREATE TABLE t (b int)", "42P07").message(), "relation \"t\" already exists");
    for name in ["v", "s", "t_pkey"] {
        fails(&conn, &format!("CREATE TABLE {name} (b int)"), "42P07");
    }
    conn.execute("CREATE TABLE IF NOT EXISTS t (b int)", ())?;
    assert_eq!(conn.take_notices()[0].message, "relation \"t\" already exists, skipping");
    assert_eq!(fails(&conn, "DROP TABLE nothing", "42P01").message(), "table \"nothing\" does not exist");
    conn.execute("DROP TABLE IF EXISTS nothing", ())?;
    assert_eq!(conn.take_notices()[0].message, "table \"nothing\" does not exist, skipping");
    fails(&conn, "DROP TABLE v", "42809");
    fails(&conn, "DROP INDEX t_pkey", "2BP01");
    Ok(())
}

#[test]
fn what_is_said_in_vain_is_told() -> Result<()> {
    let conn =
        connect("CREATE TABLE t (a int); CREATE VIEW v AS SELECT 1; CREATE SEQUENCE s; CREATE TYPE y AS ENUM ()");
    let told = |sql: &str| -> Result<Vec<String>> {
        conn.execute(sql, ())?;
        Ok(conn.take_notices().into_iter().map(|notice| notice.message).collect())
    };
    for owned in ["TABLE t", "VIEW v", "TABLE v", "SEQUENCE s", "TYPE y", "SCHEMA public"] {
        let notice = "OWNER TO bob does nothing: there are no roles";
        assert_eq!(told(&format!("ALTER {owned} OWNER TO bob"))?, [notice], "{owned}");
        assert!(told(&format!("ALTER {owned} OWNER TO CURRENT_USER"))?.is_empty(), "{owned}");
    }
    assert!(told("ALTER TABLE t OWNER TO cairndb")?.is_empty());
    let cache = "CACHE 20 does nothing: how many values are reserved ahead is the engine's business";
    assert_eq!(told("CREATE SEQUENCE c CACHE 20")?, [cache]);
    assert_eq!(told("CREATE TABLE i (a int GENERATED ALWAYS AS IDENTITY (CACHE 20))")?, [cache]);
    assert!(told("ALTER SEQUENCE c CACHE 1")?.is_empty());
    assert_eq!(told("GRANT SELECT, UPDATE (a) ON t TO bob")?, ["GRANT does nothing: there are no roles"]);
    assert_eq!(told("REVOKE ALL ON t FROM bob")?, ["REVOKE does nothing: there are no roles"]);
    assert_eq!(
        fails(&conn, "GRANT nonsense ON t TO bob", "42601").message(),
        "unrecognized privilege type \"nonsense\""
    );
    Ok(())
}

#[test]
fn a_zero_byte_is_in_no_text_of_a_statement() {
    let conn = connect("CREATE TABLE t (a text)");
    for sql in ["SELECT 'a\0'", "INSERT INTO t VALUES ('\0')", "SELECT 1 AS \"a\0\"", "SELECT $$\0$$", "SELECT e'\0'"] {
        assert_eq!(
            fails(&conn, sql, "22021").message(),
            "invalid byte sequence for encoding \"UTF8\": 0x00",
            "{sql:?}"
        );
    }
}

#[test]
fn tables_that_make_no_sense_are_refused() {
    let conn = connect("");
    fails(&conn, "CREATE TABLE t (a int, a text)", "42701");
    fails(&conn, "CREATE TABLE t (a int PRIMARY KEY, b int PRIMARY KEY)", "42P16");
    fails(&conn, "CREATE TABLE t (a int, PRIMARY KEY (b))", "42703");
    fails(&conn, "CREATE TABLE t (a int DEFAULT 'x')", "22P02");
    fails(&conn, "CREATE TABLE t (a int CHECK (b > 0))", "42703");
    fails(&conn, "CREATE TABLE t (a int CHECK (a + 1))", "42804");
    fails(&conn, "CREATE TABLE t (a nothing)", "42704");
    assert_eq!(fails(&conn, "CREATE TABLE s.t (a int)", "3F000").position(), Some(14));
}

#[test]
fn drops_respect_what_depends_on_them() -> Result<()> {
    let conn = connect(
        "CREATE TABLE p (id int PRIMARY KEY); CREATE TABLE c (p int REFERENCES p);\
         CREATE VIEW v AS SELECT id FROM p; CREATE VIEW w AS SELECT id FROM v; INSERT INTO p VALUES (1)",
    );
    let error = fails(&conn, "DROP TABLE p", "2BP01");
    assert_eq!(error.message(), "cannot drop table p because other objects depend on it");
    assert!(
        error.detail().is_some_and(|detail| detail.starts_with("constraint c_p_fkey on table c depends on table p"))
    );
    fails(&conn, "DROP VIEW v", "2BP01");
    conn.execute("DROP TABLE p CASCADE", ())?;
    fails(&conn, "SELECT * FROM w", "42P01");
    conn.execute("INSERT INTO c VALUES (77)", ())?;
    Ok(())
}

#[test]
fn views_are_replaced_only_by_compatible_ones() -> Result<()> {
    let conn = connect("CREATE TABLE t (a int, b text); CREATE VIEW v AS SELECT a FROM t WHERE a > 1");
    conn.execute("INSERT INTO t VALUES (1, 'x'), (2, 'y')", ())?;
    conn.execute("CREATE OR REPLACE VIEW v AS SELECT a, b FROM t", ())?;
    assert_eq!(rows(&conn, "SELECT * FROM v ORDER BY a"), ["1|x", "2|y"]);
    fails(&conn, "CREATE OR REPLACE VIEW v AS SELECT b FROM t", "42P16");
    fails(&conn, "CREATE OR REPLACE VIEW v AS SELECT b AS a, b FROM t", "42P16");
    fails(&conn, "CREATE VIEW v AS SELECT 1", "42P07");
    conn.execute("CREATE VIEW named (x, y) AS SELECT a, b FROM t", ())?;
    assert_eq!(rows(&conn, "SELECT y FROM named WHERE x = 2"), ["y"]);
    fails(&conn, "DROP TABLE t", "2BP01");
    Ok(())
}

#[test]
fn columns_come_and_go() -> Result<()> {
    let conn =
        connect("CREATE TABLE t (a int PRIMARY KEY, b int, c text UNIQUE, CHECK (b < 100)); CREATE INDEX i ON t (b)");
    conn.execute("INSERT INTO t VALUES (1, 10, 'x'), (2, 20, 'y')", ())?;
    conn.execute("ALTER TABLE t ADD COLUMN d int NOT NULL DEFAULT 7 CHECK (d > 0), ADD e text", ())?;
    assert_eq!(rows(&conn, "SELECT * FROM t ORDER BY a"), ["1|10|x|7|NULL", "2|20|y|7|NULL"]);
    fails(&conn, "ALTER TABLE t ADD COLUMN f int NOT NULL", "23502");
    fails(&conn, "ALTER TABLE t ADD COLUMN d int", "42701");
    conn.execute("ALTER TABLE t ADD COLUMN g serial", ())?;
    assert_eq!(rows(&conn, "SELECT g FROM t ORDER BY a"), ["1", "2"]);
    conn.execute("ALTER TABLE t DROP COLUMN b", ())?;
    assert_eq!(rows(&conn, "SELECT * FROM t ORDER BY a"), ["1|x|7|NULL|1", "2|y|7|NULL|2"]);
    fails(&conn, "DROP INDEX i", "42704");
    fails(&conn, "INSERT INTO t VALUES (3, 'x')", "23505");
    conn.execute("ALTER TABLE t RENAME COLUMN d TO renamed", ())?;
    fails(&conn, "UPDATE t SET renamed = -1", "23514");
    conn.execute("ALTER TABLE t RENAME TO u", ())?;
    conn.execute("ALTER TABLE u ALTER COLUMN e SET DEFAULT 'e', ALTER COLUMN c SET NOT NULL", ())?;
    fails(&conn, "INSERT INTO u VALUES (9, NULL)", "23502");
    conn.execute("INSERT INTO u (a, c, renamed) VALUES (4, 'z', 1)", ())?;
    assert_eq!(rows(&conn, "SELECT e FROM u WHERE a = 4"), ["e"]);
    conn.execute("ALTER TABLE u ALTER COLUMN a TYPE text", ())?;
    assert_eq!(rows(&conn, "SELECT c FROM u WHERE a = '4'"), ["z"]);
    conn.execute("ALTER TABLE u DROP CONSTRAINT t_pkey, ADD PRIMARY KEY (c)", ())?;
    assert_eq!(rows(&conn, "SELECT a FROM u WHERE c = 'z'"), ["4"]);
    Ok(())
}

#[test]
fn an_index_can_be_added_to_rows_that_are_there() -> Result<()> {
    let conn = connect("CREATE TABLE t (a int, b int); INSERT INTO t VALUES (1, 1), (1, 2), (NULL, 3), (NULL, 4)");
    let error = fails(&conn, "CREATE UNIQUE INDEX i ON t (a)", "23505");
    assert_eq!(error.message(), "could not create unique index \"i\"");
    assert_eq!(error.detail(), Some("Key (a)=(1) is duplicated."));
    conn.execute("DELETE FROM t WHERE b = 2", ())?;
    conn.execute("CREATE UNIQUE INDEX i ON t (a)", ())?;
    fails(&conn, "INSERT INTO t VALUES (1, 9)", "23505");
    conn.execute("CREATE INDEX ON t (b DESC NULLS LAST, a)", ())?;
    fails(&conn, "CREATE INDEX t_b_a_idx ON t (a)", "42P07");
    fails(&conn, "ALTER TABLE t ADD PRIMARY KEY (a)", "23502");
    conn.execute("DROP INDEX i", ())?;
    conn.execute("INSERT INTO t VALUES (1, 9)", ())?;
    Ok(())
}

#[test]
fn truncate_empties_tables_that_nothing_refers_to() -> Result<()> {
    let conn = connect("CREATE TABLE p (id serial PRIMARY KEY, x int); CREATE TABLE c (p int REFERENCES p)");
    conn.execute_script("INSERT INTO p (x) VALUES (1), (2); INSERT INTO c VALUES (1)")?;
    fails(&conn, "TRUNCATE p", "0A000");
    conn.execute("TRUNCATE p, c RESTART IDENTITY", ())?;
    assert_eq!(rows(&conn, "INSERT INTO p (x) VALUES (5) RETURNING id"), ["1"]);
    assert_eq!(rows(&conn, "SELECT count(*) FROM c"), ["0"]);
    Ok(())
}

#[test]
fn a_table_is_made_from_a_query() -> Result<()> {
    let conn = connect("CREATE TABLE t (a int, b text); INSERT INTO t VALUES (1, 'x'), (2, 'y')");
    conn.execute("CREATE TABLE copy AS SELECT a * 2 AS twice, b FROM t", ())?;
    assert_eq!(rows(&conn, "SELECT * FROM copy ORDER BY 1"), ["2|x", "4|y"]);
    Ok(())
}

#[test]
fn prepared_statements_are_planned_again_when_the_schema_changes() -> Result<()> {
    let conn = connect("CREATE TABLE t (a int PRIMARY KEY, b int); INSERT INTO t VALUES (1, 10)");
    let mut all = conn.prepare("SELECT * FROM t")?;
    let mut statement = conn.prepare("SELECT b + 1 AS c FROM t WHERE a > 0")?;
    assert_eq!(all.columns().len(), 2);
    conn.execute("ALTER TABLE t ADD COLUMN c int DEFAULT 5", ())?;
    statement.query_row((), |row| {
        assert_eq!(row.get::<i32>("c")?, 11);
        Ok(())
    })?;
    // Columns that were told stay: whoever reads them by place would read others.
    assert_eq!(all.query(()).err().map(|error| error.sqlstate().0), Some("0A000"));
    conn.execute("DROP TABLE t", ())?;
    assert_eq!(statement.query(()).err().map(|error| error.sqlstate().0), Some("42P01"));
    conn.execute("CREATE TABLE t (z text, b int, a int)", ())?;
    conn.execute("INSERT INTO t VALUES ('x', 20, 1)", ())?;
    assert_eq!(statement.query_row((), |row| row.get::<i32>("c"))?, 21);
    Ok(())
}

#[test]
fn analyze_is_noticed_by_the_planner() -> Result<()> {
    let conn = connect("CREATE TABLE t (a int PRIMARY KEY, b int)");
    conn.execute("INSERT INTO t SELECT n, n % 10 FROM generate_series(1, 1000) AS s(n)", ())?;
    conn.execute("ANALYZE t", ())?;
    let schema = conn.schema()?;
    let table = schema.table("t").expect("a table");
    assert_eq!(table.analyzed_rows, Some(1000.0));
    assert_eq!(table.columns[1].analyzed_distinct, Some(10.0));
    conn.execute("ANALYZE", ())?;
    fails(&conn, "ANALYZE nothing", "42P01");
    Ok(())
}

#[test]
fn commands_do_what_all_of_their_words_say() -> Result<()> {
    let conn = connect("CREATE TABLE t (a int PRIMARY KEY, b int); INSERT INTO t VALUES (1, 10), (2, 20)");
    conn.execute("CREATE TABLE empty (x) AS SELECT a, b FROM t WITH NO DATA", ())?;
    assert_eq!(rows(&conn, "SELECT x, b FROM empty"), Vec::<String>::new());
    conn.execute("VACUUM ANALYZE t", ())?;
    assert!(conn.schema()?.table("t").is_some_and(|table| table.analyzed_rows.is_some()));
    fails(&conn, "VACUUM nothing", "42P01");
    conn.execute_script("BEGIN; SET TRANSACTION READ ONLY")?;
    assert_eq!(
        fails(&conn, "INSERT INTO t VALUES (3, 30)", "25006").message(),
        "cannot execute INSERT in a read-only transaction"
    );
    conn.execute("ROLLBACK", ())?;
    let before = rows(&conn, "SHOW work_mem");
    conn.execute_script("CREATE SEQUENCE s; SELECT nextval('s'); SET work_mem = '8MB'; DISCARD PLANS")?;
    assert_eq!(rows(&conn, "SHOW work_mem"), ["8MB"]);
    assert_eq!(rows(&conn, "SELECT currval('s')"), ["1"]);
    conn.execute("DISCARD SEQUENCES", ())?;
    fails(&conn, "SELECT currval('s')", "55000");
    conn.execute("DISCARD ALL", ())?;
    assert_eq!(rows(&conn, "SHOW work_mem"), before);
    Ok(())
}

#[test]
fn views_sequences_and_indexes_are_renamed_by_their_own_commands() -> Result<()> {
    let conn =
        connect("CREATE TABLE t (a int); CREATE VIEW v AS SELECT a FROM t; CREATE SEQUENCE s; CREATE INDEX i ON t (a)");
    conn.execute_script("ALTER VIEW v RENAME TO w; ALTER SEQUENCE s RENAME TO r; ALTER INDEX i RENAME TO j")?;
    conn.execute_script("SELECT * FROM w; SELECT nextval('r'); DROP INDEX j")?;
    assert_eq!(fails(&conn, "ALTER VIEW t RENAME TO x", "42809").message(), "\"t\" is not a view");
    fails(&conn, "ALTER SEQUENCE nothing RENAME TO x", "42P01");
    conn.execute("ALTER SEQUENCE IF EXISTS nothing RENAME TO x", ())?;
    assert_eq!(conn.take_notices()[0].message, "relation \"nothing\" does not exist, skipping");
    Ok(())
}

#[test]
fn comments_are_taken_where_there_is_something_to_comment_on() -> Result<()> {
    let conn = connect("CREATE TABLE t (a int CONSTRAINT c CHECK (a > 0)); CREATE VIEW v AS SELECT a FROM t");
    conn.execute_script(
        "COMMENT ON TABLE t IS 'x'; COMMENT ON COLUMN public.t.a IS NULL; COMMENT ON CONSTRAINT c ON t IS 'x';\
         COMMENT ON COLUMN v.a IS 'x'; COMMENT ON SCHEMA public IS 'x'",
    )?;
    fails(&conn, "COMMENT ON TABLE nothing IS 'x'", "42P01");
    fails(&conn, "COMMENT ON COLUMN t.b IS 'x'", "42703");
    fails(&conn, "COMMENT ON CONSTRAINT d ON t IS 'x'", "42704");
    Ok(())
}

#[test]
fn expressions_are_kept_whatever_their_names_are() -> Result<()> {
    let conn = connect(
        "CREATE TABLE \"Order\" (id serial, \"select\" int CHECK (\"select\" > 0), date text DEFAULT E'it\\'s\\\\', \"A b\" int);\
         CREATE VIEW \"V\" AS SELECT \"select\" AS \"from\", date || 'x' FROM \"Order\" AS \"T\" WHERE NOT (date = '' OR \"A b\" IS NULL)",
    );
    conn.execute("INSERT INTO \"Order\" (\"select\", \"A b\") VALUES (1, 2)", ())?;
    assert_eq!(rows(&conn, "SELECT currval('\"Order_id_seq\"')"), ["1"]);
    conn.execute("ALTER SEQUENCE \"Order_id_seq\" RENAME TO \"it's\"", ())?;
    assert_eq!(rows(&conn, "INSERT INTO \"Order\" VALUES (DEFAULT, 3) RETURNING id"), ["2"]);
    assert_eq!(rows(&conn, "SELECT * FROM \"V\""), ["1|it's\\x"]);
    fails(&conn, "INSERT INTO \"Order\" (\"select\") VALUES (0)", "23514");
    conn.execute_script("DROP VIEW \"V\"; ALTER TABLE \"Order\" RENAME COLUMN \"select\" TO \"C \"\"d\"")?;
    fails(&conn, "INSERT INTO \"Order\" (\"C \"\"d\") VALUES (0)", "23514");
    Ok(())
}

#[test]
fn a_type_that_there_is_not_is_told_with_its_place() {
    let conn = connect("CREATE TABLE t (a int)");
    assert_eq!(fails(&conn, "CREATE TABLE u (a int, b nothing)", "42704").position(), Some(26));
    assert_eq!(fails(&conn, "ALTER TABLE t ALTER a TYPE nothing", "42704").position(), Some(28));
    assert_eq!(fails(&conn, "CREATE VIEW v AS SELECT b FROM t", "42703").position(), Some(25));
}

#[test]
fn a_check_goes_on_when_its_table_is_renamed() -> Result<()> {
    let conn = connect("CREATE TABLE t (a int CHECK (t.a > 0), b text CHECK (b <> 't'))");
    conn.execute("ALTER TABLE t RENAME TO \"T 2\"", ())?;
    conn.execute("INSERT INTO \"T 2\" VALUES (1, 'x')", ())?;
    fails(&conn, "INSERT INTO \"T 2\" VALUES (0, 'x')", "23514");
    fails(&conn, "INSERT INTO \"T 2\" VALUES (1, 't')", "23514");
    Ok(())
}

#[test]
fn a_table_that_is_named_twice_is_emptied_once() -> Result<()> {
    let conn = connect("CREATE TABLE t (a int); INSERT INTO t VALUES (1)");
    conn.execute("TRUNCATE t, t", ())?;
    conn.execute("INSERT INTO t VALUES (2)", ())?;
    assert_eq!(rows(&conn, "SELECT a FROM t"), ["2"]);
    Ok(())
}

#[test]
fn a_column_that_a_view_has_from_a_star_is_not_dropped_under_it() -> Result<()> {
    let conn = connect("CREATE TABLE t (a int, b int); CREATE VIEW v AS SELECT * FROM t");
    fails(&conn, "ALTER TABLE t DROP COLUMN b", "2BP01");
    assert_eq!(rows(&conn, "SELECT * FROM v WHERE b = 1"), Vec::<String>::new());
    Ok(())
}

/// What `*` stood for when the view was made is what the view has, by every way of writing it.
#[test]
fn a_view_keeps_the_columns_that_it_was_made_with() -> Result<()> {
    let conn = connect(
        "CREATE TABLE t (id int, \"B b\" int); CREATE TABLE u (id int, c int);
         INSERT INTO t VALUES (1, 2); INSERT INTO u VALUES (1, 3);
         CREATE VIEW plain AS (SELECT * FROM t);
         CREATE VIEW middle (a, b, x, c) AS SELECT t.*, 0, c FROM t, u;
         CREATE VIEW nested AS WITH w AS (SELECT * FROM u) SELECT * FROM (SELECT * FROM t AS x) y JOIN w USING (id);
         CREATE VIEW whole AS TABLE u UNION ALL (TABLE t);
         CREATE VIEW full_join AS SELECT * FROM t FULL JOIN u USING (id);
         CREATE VIEW twice (a) AS SELECT 1 FROM (SELECT * FROM (SELECT 1 AS a, 2 AS a) s) t;
         CREATE VIEW exists AS SELECT c FROM u WHERE EXISTS (SELECT * FROM t WHERE t.id = u.id);",
    );
    let views = ["plain", "middle", "nested", "whole", "full_join", "twice", "exists"];
    let all = || views.map(|view| rows(&conn, &format!("SELECT * FROM {view} ORDER BY 1")));
    let before = all();
    conn.execute_script("ALTER TABLE t ADD COLUMN d int DEFAULT 7; ALTER TABLE u ADD COLUMN e int DEFAULT 8")?;
    assert_eq!(all(), before);
    assert_eq!(before[2], ["1|2|3"]);
    assert_eq!(fails(&conn, "SELECT d FROM plain", "42703").sqlstate().0, "42703");
    fails(&conn, "ALTER TABLE t DROP COLUMN \"B b\"", "2BP01");
    conn.execute("ALTER TABLE t DROP COLUMN d", ())?;
    assert_eq!(all(), before);
    Ok(())
}

#[test]
fn only_the_order_that_texts_have_is_a_collation() -> Result<()> {
    let conn = connect("CREATE TABLE t (a text); INSERT INTO t VALUES ('b'), ('B'), ('a')");
    let ordered = rows(&conn, "SELECT a FROM t ORDER BY a COLLATE \"C\"");
    assert_eq!(ordered, ["B", "a", "b"]);
    assert_eq!(rows(&conn, "SELECT a FROM t ORDER BY a COLLATE pg_catalog.\"default\""), ordered);
    assert_eq!(fails(&conn, "SELECT a FROM t ORDER BY a COLLATE \"de_DE\"", "42704").position(), Some(36));
    // Accepted without effect they would give wrong answers.
    for name in ["NOCASE", "\"nonsense\"", "c", "public.\"C\""] {
        let refused = fails(&conn, &format!("SELECT * FROM t WHERE a COLLATE {name} = 'B'"), "42704");
        assert!(refused.hint().is_some_and(|hint| hint.contains("lower(x)")), "{refused:?}");
        fails(&conn, &format!("CREATE TABLE u (a text COLLATE {name})"), "0A000");
        fails(&conn, &format!("CREATE INDEX ON t (a COLLATE {name})"), "0A000");
    }
    fails(&conn, "SELECT 1 COLLATE \"C\"", "42804");
    fails(&conn, "CREATE TABLE u (a int COLLATE \"C\")", "42804");
    conn.execute_script("CREATE TABLE u (a text COLLATE \"POSIX\"); CREATE UNIQUE INDEX ON u (a COLLATE \"C\")")?;
    let insert = |name| format!("INSERT INTO u VALUES ('a') ON CONFLICT (a COLLATE {name}) DO NOTHING");
    assert_eq!([conn.execute(&insert("ucs_basic"), ())?, conn.execute(&insert("\"C\""), ())?], [1, 0]);
    fails(&conn, &insert("nocase"), "42704");
    Ok(())
}

#[test]
fn grouping_without_groups_is_refused() {
    let conn = connect("CREATE TABLE t (a int)");
    fails(&conn, "SELECT grouping(a) FROM t", "42803");
    fails(&conn, "SELECT grouping(1)", "42803");
}

/// The detail of the error with which a statement must fail because something depends on what it drops.
fn dependents(conn: &cairndb::Connection, sql: &str) -> String {
    let error = fails(conn, sql, "2BP01");
    format!("{}\n{}", error.message(), error.detail().unwrap_or_default())
}

/// The wording and the order are PostgreSQL's, taken from its answers.
#[test]
fn who_depends_on_what_is_told_exactly() {
    let conn = connect(
        "CREATE TABLE p (id serial PRIMARY KEY, b int, c int UNIQUE);
         CREATE TABLE c (p int REFERENCES p, c int REFERENCES p (c), n int DEFAULT nextval('p_id_seq'));
         CREATE VIEW v AS SELECT b AS id FROM p; CREATE VIEW \"b\" AS SELECT 'p c' AS c;
         CREATE VIEW w AS SELECT v.id, p.id AS p FROM v JOIN p ON p.b = v.id;
         CREATE VIEW grouped AS SELECT id, b FROM p GROUP BY id",
    );
    assert_eq!(
        dependents(&conn, "DROP TABLE p"),
        "cannot drop table p because other objects depend on it\n\
         default value for column n of table c depends on sequence p_id_seq\n\
         constraint c_p_fkey on table c depends on table p\n\
         constraint c_c_fkey on table c depends on table p\n\
         view v depends on table p\nview w depends on table p\nview grouped depends on table p"
    );
    assert_eq!(
        dependents(&conn, "ALTER TABLE p DROP COLUMN b"),
        "cannot drop column b of table p because other objects depend on it\n\
         view v depends on column b of table p\nview w depends on column b of table p\nview grouped depends on column b of table p"
    );
    assert_eq!(
        dependents(&conn, "ALTER TABLE p DROP CONSTRAINT p_pkey"),
        "cannot drop constraint p_pkey on table p because other objects depend on it\n\
         constraint c_p_fkey on table c depends on index p_pkey\nview grouped depends on constraint p_pkey on table p"
    );
    assert_eq!(
        dependents(&conn, "DROP SEQUENCE p_id_seq"),
        "cannot drop sequence p_id_seq because other objects depend on it\n\
         default value for column id of table p depends on sequence p_id_seq\n\
         default value for column n of table c depends on sequence p_id_seq"
    );
    conn.execute("DROP VIEW \"b\"", ()).unwrap();
    conn.execute("ALTER TABLE p DROP COLUMN c CASCADE", ()).unwrap();
    assert_eq!(conn.take_notices()[0].message, "drop cascades to constraint c_c_fkey on table c");
    conn.execute("DROP VIEW v CASCADE", ()).unwrap();
    assert_eq!(conn.take_notices()[0].message, "drop cascades to view w");
    conn.execute("DROP TABLE p CASCADE", ()).unwrap();
    let notice = conn.take_notices().remove(0);
    assert_eq!(notice.message, "drop cascades to 3 other objects");
    assert_eq!(
        notice.detail.as_deref(),
        Some(
            "drop cascades to default value for column n of table c\n\
             drop cascades to constraint c_p_fkey on table c\ndrop cascades to view grouped"
        )
    );
    conn.execute("INSERT INTO c (p) VALUES (7)", ()).unwrap();
    assert_eq!(rows(&conn, "SELECT * FROM c"), ["7|NULL|NULL"]);
}

#[test]
fn definitions_survive_what_happens_to_the_names_in_them() -> Result<()> {
    let conn = connect(
        "CREATE SEQUENCE s; CREATE TABLE t (a int, b int, n int DEFAULT nextval('s'), CHECK (t.a < 100 AND nextval('s') > 0));
         CREATE TABLE u (a int, c int); INSERT INTO t VALUES (1, 2); INSERT INTO u VALUES (1, 3);
         CREATE VIEW plain AS SELECT a, b FROM t;
         CREATE VIEW qualified AS SELECT t.a, public.t.b FROM public.t;
         CREATE VIEW joined AS SELECT a, b, c FROM t JOIN u USING (a) WHERE EXISTS (SELECT b FROM t WHERE t.a = u.a);
         CREATE VIEW by_name AS SELECT a, b, c FROM t NATURAL JOIN u;
         CREATE VIEW listed AS SELECT x, y FROM t AS l (x, y);
         CREATE VIEW nested AS WITH t AS (SELECT a FROM t) SELECT p.a AS q, t.a FROM plain AS p, t;
         CREATE VIEW drawn AS SELECT nextval('s') > 0 AS n",
    );
    let views = ["plain", "qualified", "joined", "by_name", "listed", "nested", "drawn"];
    let all = |views: [&str; 7]| views.map(|view| rows(&conn, &format!("SELECT * FROM {view}")));
    let mut views = views;
    let before = all(views);
    assert_eq!(before.clone().map(|rows| rows.join(" ")), ["1|2", "1|2", "1|2|3", "1|2|3", "1|2", "1|1", "t"]);
    for change in [
        "ALTER TABLE t RENAME TO \"T t\"",
        "ALTER TABLE \"T t\" RENAME COLUMN a TO c",
        "ALTER TABLE \"T t\" RENAME COLUMN b TO a",
        "ALTER TABLE u RENAME TO t",
        "ALTER TABLE t RENAME c TO \"Z\"",
        "ALTER TABLE t ADD COLUMN b int DEFAULT 77, ADD COLUMN c int",
        "ALTER SEQUENCE s RENAME TO \"S\"",
        "ALTER VIEW plain RENAME TO p",
        "CREATE VIEW plain AS SELECT 99 AS a, 98 AS b",
        "CREATE SEQUENCE s START -5 MINVALUE -5",
    ] {
        conn.execute(change, ())?;
        if change.ends_with("TO p") {
            views[0] = "p";
        }
        assert_eq!(all(views), before, "after {change}");
    }
    assert_eq!(rows(&conn, "INSERT INTO \"T t\" (c, a) VALUES (5, 6) RETURNING n > 0"), ["t"]);
    fails(&conn, "INSERT INTO \"T t\" (c, a) VALUES (100, 6)", "23514");
    let dropped = "ALTER TABLE \"T t\" DROP COLUMN n";
    conn.execute(dropped, ())?;
    conn.execute("DELETE FROM \"T t\" WHERE c = 5", ())?;
    assert_eq!(rows(&conn, "SELECT * FROM p"), before[0]);
    assert_eq!(rows(&conn, "SELECT * FROM listed"), before[4]);
    fails(&conn, "ALTER TABLE \"T t\" ALTER COLUMN a TYPE text", "0A000");
    let schema = conn.schema()?;
    let shown = |view: &str| match &schema.relation(view).expect(view).kind {
        RelationKind::View(view) => view.query.clone(),
        other => panic!("{view}: {other:?}"),
    };
    assert_eq!(shown("p"), "SELECT a, b FROM \"T t\" AS t (a, b)");
    assert_eq!(shown("listed"), "SELECT x, y FROM \"T t\" AS l (x, y)");
    assert_eq!(shown("drawn"), "SELECT nextval('\"S\"') > 0 AS n");
    for view in ["p", "qualified", "joined", "by_name", "listed", "nested"] {
        conn.execute(&format!("CREATE VIEW again AS {}", shown(view)), ()).unwrap_or_else(|e| panic!("{view}: {e}"));
        let (same, of_now) = (rows(&conn, &format!("SELECT * FROM {view}")), rows(&conn, "SELECT * FROM again"));
        assert_eq!(of_now, same, "{}", shown(view));
        conn.execute("DROP VIEW again", ())?;
    }
    Ok(())
}

#[test]
fn prepared_statements_follow_the_search_path() -> Result<()> {
    let conn = connect(
        "CREATE SCHEMA a; CREATE SCHEMA b; CREATE TABLE b.t (id int PRIMARY KEY, n int); INSERT INTO b.t VALUES (1, 2);
         SET search_path = a, b",
    );
    let mut point = conn.prepare("SELECT n FROM t WHERE id = $1")?;
    let mut scan = conn.prepare("SELECT sum(n) FROM t")?;
    let mut write = conn.prepare("UPDATE t SET n = n + 1 WHERE id = $1")?;
    assert!(point.is_point() && write.is_point());
    let mut all = |of_point: i32, of_scan: i64| -> Result<()> {
        assert_eq!(point.query_point((1,), |row| row.get_i64(0))?, Some(Some(i64::from(of_point))));
        assert_eq!(scan.query_row((), |row| row.get::<i64>(0))?, of_scan);
        assert_eq!(write.execute((1,))?, 1);
        assert_eq!(conn.query_row("SELECT n FROM t WHERE id = 1", (), |row| row.get::<i32>(0))?, of_point + 1);
        Ok(())
    };
    all(2, 2)?;
    // What was not there, and so was passed, is there.
    conn.execute_script("CREATE TABLE a.t (id int PRIMARY KEY, n int); INSERT INTO a.t VALUES (1, 10), (2, 20)")?;
    all(10, 30)?;
    conn.execute("SET search_path = b", ())?;
    all(3, 3)?;
    conn.execute_script("BEGIN; SET search_path = a")?;
    all(11, 31)?;
    conn.execute("ROLLBACK", ())?;
    all(4, 4)?;
    conn.execute_script("SET search_path = b, a; BEGIN; SET LOCAL search_path = a")?;
    all(11, 31)?;
    conn.execute("COMMIT", ())?;
    all(5, 5)?;
    conn.execute("DROP TABLE b.t", ())?;
    all(12, 32)?;
    Ok(())
}

#[test]
fn what_is_not_in_sight_is_told_with_its_schema() -> Result<()> {
    let conn = connect(
        "CREATE SCHEMA \"S s\"; CREATE TABLE \"S s\".t (a int PRIMARY KEY); CREATE VIEW v AS SELECT a FROM \"S s\".t;
         CREATE VIEW \"S s\".v AS SELECT a FROM v; CREATE TABLE t (a int REFERENCES \"S s\".t)",
    );
    assert_eq!(
        dependents(&conn, "DROP SCHEMA \"S s\""),
        "cannot drop schema S s because other objects depend on it\n\
         table \"S s\".t depends on schema S s\n\
         view v depends on table \"S s\".t\n\
         constraint t_a_fkey on table t depends on table \"S s\".t\n\
         view \"S s\".v depends on schema S s"
    );
    conn.execute("ALTER TABLE \"S s\".t SET SCHEMA public", ()).expect_err("there is one");
    conn.execute("DROP TABLE t", ())?;
    conn.execute("ALTER TABLE \"S s\".t SET SCHEMA public", ())?;
    assert_eq!(rows(&conn, "SELECT * FROM \"S s\".v"), Vec::<String>::new());
    let schema = conn.schema()?;
    let RelationKind::View(view) = &schema.relation("v").expect("a view").kind else { panic!("no view") };
    assert_eq!(view.query, "SELECT a FROM t");
    Ok(())
}

#[test]
fn comments_go_with_what_they_are_about_and_prepared_statements_see_them() -> Result<()> {
    let conn = connect(
        "CREATE SCHEMA s; CREATE TABLE s.t (a int PRIMARY KEY, b int UNIQUE, c int CONSTRAINT k CHECK (c > 0));
         COMMENT ON TABLE s.t IS 'x'; COMMENT ON COLUMN s.t.b IS 'y'; COMMENT ON CONSTRAINT k ON s.t IS 'z';
         COMMENT ON CONSTRAINT t_pkey ON s.t IS 'key'; COMMENT ON INDEX s.t_b_key IS 'index'; COMMENT ON SCHEMA s IS 'all'",
    );
    let mut comment = conn.prepare("SELECT obj_description('s.t'::regclass, 'pg_class')")?;
    assert_eq!(comment.query_row((), |row| row.get::<String>(0))?, "x");
    conn.execute("COMMENT ON TABLE s.t IS 'it''s another'", ())?;
    assert_eq!(comment.query_row((), |row| row.get::<String>(0))?, "it's another");
    conn.execute_script("BEGIN; COMMENT ON TABLE s.t IS NULL")?;
    assert_eq!(comment.query_row((), |row| row.get::<Option<String>>(0))?, None);
    conn.execute("ROLLBACK", ())?;
    assert_eq!(comment.query_row((), |row| row.get::<String>(0))?, "it's another");
    let count = || -> Result<usize> { Ok(format!("{:?}", conn.schema()?).matches("Commentable").count()) };
    assert_eq!(count()?, 6);
    conn.execute("ALTER TABLE s.t DROP COLUMN b", ())?;
    assert_eq!(count()?, 4);
    conn.execute("DROP SCHEMA s CASCADE", ())?;
    assert_eq!(count()?, 0);
    Ok(())
}

#[test]
fn the_schema_is_told_as_data() -> Result<()> {
    let conn = connect(
        "CREATE SCHEMA s; CREATE TABLE s.p (id int PRIMARY KEY); CREATE SEQUENCE free INCREMENT 5 CYCLE MAXVALUE 100;
         CREATE TABLE c (id serial, p int REFERENCES s.p ON DELETE CASCADE, n varchar(5) DEFAULT 'x' UNIQUE CHECK (n > ''),
             g int GENERATED ALWAYS AS IDENTITY);
         CREATE INDEX by_p ON c (p DESC); CREATE VIEW s.v AS SELECT * FROM c; COMMENT ON COLUMN c.n IS 'a name';
         CREATE TEMP TABLE p (a int)",
    );
    let schema = conn.schema()?;
    let names: Vec<String> =
        schema.relations().iter().map(|found| format!("{}.{}", found.schema, found.name)).collect();
    let all =
        "pg_temp.p public.by_p public.c public.c_g_seq public.c_id_seq public.c_n_key public.free s.p s.p_pkey s.v";
    assert_eq!(names.join(" "), all);
    let c = schema.table("c").expect("a table");
    let columns: Vec<_> = c.columns.iter().map(|column| (column.name.as_str(), column.default.as_deref())).collect();
    assert_eq!(columns, [("id", Some("nextval('c_id_seq')")), ("p", None), ("n", Some("'x'")), ("g", None)]);
    assert_eq!((c.columns[2].comment.as_deref(), c.columns[3].identity), (Some("a name"), Some(true)));
    let kinds: Vec<_> = c.indexes.iter().map(|index| (index.name.as_str(), index.kind)).collect();
    assert_eq!(kinds, [("c_n_key", IndexKind::UniqueConstraint), ("by_p", IndexKind::Plain)]);
    assert!(c.indexes[1].columns[0].descending);
    assert_eq!(c.checks[0].condition, "n > ''");
    let key = &c.foreign_keys[0];
    assert_eq!((key.referenced_table.as_str(), key.on_delete), ("s.p", ForeignKeyAction::Cascade));
    // What a name means, a session's temporary tables first.
    assert_eq!(schema.table("p").expect("a table").columns[0].name, "a");
    assert_eq!(schema.table("s.p").expect("a table").referenced_by[0].0, "c");
    assert_eq!(schema.relation("s.p").expect("a table").shown, "s.p");
    let RelationKind::Sequence(free) = &schema.relation("free").expect("a sequence").kind else { panic!("none") };
    assert_eq!((free.increment, free.max, free.cycle, &free.owner), (5, 100, true, &None));
    let RelationKind::Sequence(owned) = &schema.relation("c_id_seq").expect("a sequence").kind else { panic!("none") };
    assert_eq!(owned.owner.as_ref().expect("a column").join("."), "public.c.id");
    Ok(())
}

#[test]
fn digits_of_times_are_kept_in_the_file_and_asked_of_parameters() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("t.cairn");
    {
        let database = Database::open(&path)?;
        let conn = database.connect()?;
        conn.execute_script(
            "CREATE DOMAIN moment AS timestamp(1);
             CREATE FUNCTION later(t timestamp(2)) RETURNS timestamp(2) LANGUAGE sql AS 'SELECT t';
             CREATE TABLE t (id int PRIMARY KEY, a timestamp(3), b interval day to second(0), c time(0)[], d timestamptz(2),
                 m moment, gone interval(1));
             CREATE INDEX ON t ((a::timestamp(0)));
             ALTER TABLE t DROP COLUMN gone",
        )?;
        drop(conn);
        database.close()?;
    }
    let database = Database::open(&path)?;
    let conn = database.connect()?;
    let mut insert = conn.prepare("INSERT INTO t VALUES ($1, $2, $3, $4, $5, $6)")?;
    let at = "2024-01-02 03:04:05.6789";
    insert.execute((1, at, "1 day 00:00:01.5", "{01:02:03.7}", at, at))?;
    conn.prepare("UPDATE t SET a = $2 WHERE id = $1")?.execute((1, "2024-01-02 03:04:05.1239"))?;
    let expected =
        ["1|2024-01-02 03:04:05.124|1 day 00:00:02|{01:02:04}|2024-01-02 03:04:05.68+00|2024-01-02 03:04:05.7"];
    assert_eq!(rows(&conn, "SELECT * FROM t"), expected);
    assert_eq!(rows(&conn, "SELECT * FROM t WHERE a::timestamp(0) = '2024-01-02 03:04:05'"), expected);
    let digits =
        "SELECT datetime_precision FROM information_schema.columns WHERE table_name = 't' ORDER BY ordinal_position";
    assert_eq!(rows(&conn, digits), ["NULL", "3", "0", "NULL", "2", "1"]);
    database.verify()?;
    Ok(())
}
