//! Functions of the schema: how long they live, who sees which, and what bounds them.

use cairndb::{Connection, Database, SqlState};

fn connect() -> Connection {
    Database::open_in_memory().expect("opens").connect().expect("connects")
}

fn number(conn: &Connection, sql: &str) -> i64 {
    conn.query_row(sql, (), |row| row.get(0)).expect(sql)
}

fn code(conn: &Connection, sql: &str) -> SqlState {
    conn.execute(sql, ()).expect_err(sql).sqlstate()
}

const FUNCTIONS: &str = "CREATE TABLE t (id int PRIMARY KEY, n bigint);
    CREATE FUNCTION twice(a bigint) RETURNS bigint LANGUAGE sql AS 'SELECT a * 2';
    CREATE FUNCTION total() RETURNS bigint STABLE LANGUAGE sql AS 'SELECT sum(n)::bigint FROM t';
    CREATE FUNCTION put(id int, n bigint) RETURNS bigint LANGUAGE sql AS
        'INSERT INTO t VALUES (put.id, put.n); SELECT count(*) FROM t';
    CREATE VIEW v AS SELECT twice(n) AS twice FROM t;";

#[test]
fn functions_survive_their_database_being_closed() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("functions.cairn");
    let database = Database::open(&path).expect("opens");
    let conn = database.connect().expect("connects");
    conn.execute_script(FUNCTIONS).expect("creates");
    conn.execute_script("SELECT put(1, 10); SELECT put(2, 20)").expect("puts");
    drop(conn);
    database.close().expect("closes");

    let database = Database::open(&path).expect("opens again");
    let conn = database.connect().expect("connects");
    assert_eq!(number(&conn, "SELECT twice(21)"), 42);
    assert_eq!(number(&conn, "SELECT put(3, 30)"), 3);
    assert_eq!(number(&conn, "SELECT total()"), 60);
    assert_eq!(number(&conn, "SELECT sum(twice)::bigint FROM v"), 120);
    database.verify().expect("is whole");
    assert_eq!(code(&conn, "DROP FUNCTION twice(bigint)"), SqlState("2BP01"));
}

#[test]
fn a_prepared_statement_notices_that_its_function_is_another_one() {
    let conn = connect();
    conn.execute_script(FUNCTIONS).expect("creates");
    let other = conn.database().connect().expect("connects");
    let mut inlined = conn.prepare("SELECT twice($1::bigint)").expect("prepares");
    let mut called = conn.prepare("SELECT put($1::int, 5)").expect("prepares");
    let mut through_view = conn.prepare("SELECT twice FROM v WHERE $1 = 1").expect("prepares");
    let run = |statement: &mut cairndb::Statement<'_>, by: i64| {
        statement.query_row((by,), |row| row.get::<i64>(0)).map_err(|error| error.sqlstate())
    };
    assert_eq!(run(&mut inlined, 4), Ok(8));
    assert_eq!(run(&mut called, 1), Ok(1));
    assert_eq!(run(&mut through_view, 1), Ok(10));
    other
        .execute_script(
            "CREATE OR REPLACE FUNCTION twice(a bigint) RETURNS bigint LANGUAGE sql AS 'SELECT a * 2 + 1';
             CREATE OR REPLACE FUNCTION put(id int, n bigint) RETURNS bigint LANGUAGE sql AS 'SELECT -1::bigint'",
        )
        .expect("replaces");
    assert_eq!(run(&mut inlined, 4), Ok(9));
    assert_eq!(run(&mut called, 2), Ok(-1));
    assert_eq!(run(&mut through_view, 1), Ok(11));
    other.execute_script("DROP FUNCTION twice(bigint) CASCADE; DROP FUNCTION put").expect("drops");
    assert_eq!(run(&mut inlined, 4), Err(SqlState("42883")));
    assert_eq!(run(&mut called, 3), Err(SqlState("42883")));
    assert_eq!(run(&mut through_view, 1), Err(SqlState("42P01")));
}

#[test]
fn what_a_function_does_is_undone_with_its_statement() {
    let conn = connect();
    conn.execute_script(FUNCTIONS).expect("creates");
    assert_eq!(code(&conn, "SELECT put(g, 1) FROM (VALUES (1), (2), (1)) AS s(g)"), SqlState("23505"));
    assert_eq!(number(&conn, "SELECT count(*) FROM t"), 0);
    conn.execute_script("BEGIN; SELECT put(1, 1); SAVEPOINT s; SELECT put(2, 1); ROLLBACK TO s; COMMIT").expect("runs");
    assert_eq!(number(&conn, "SELECT count(*) FROM t"), 1);
    conn.execute_script("BEGIN; CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 7'").expect("creates");
    assert_eq!(number(&conn, "SELECT f()::bigint"), 7);
    conn.execute("ROLLBACK", ()).expect("rolls back");
    assert_eq!(code(&conn, "SELECT f()"), SqlState("42883"));
    conn.execute("BEGIN READ ONLY", ()).expect("begins");
    assert_eq!(code(&conn, "SELECT put(9, 9)"), SqlState("25006"));
}

#[test]
fn a_function_that_calls_itself_without_end_is_an_error() {
    let conn = connect();
    for (declared, sql) in [("int", "SELECT 1"), ("SETOF int", "SELECT 1")] {
        conn.execute_script(&format!(
            "CREATE FUNCTION f(a int) RETURNS {declared} LANGUAGE sql AS '{sql}';
             CREATE OR REPLACE FUNCTION f(a int) RETURNS {declared} LANGUAGE sql AS 'SELECT * FROM f(a + 1)'"
        ))
        .expect(declared);
        assert_eq!(code(&conn, "SELECT f(1)"), SqlState("54001"), "{declared}");
        conn.execute("DROP FUNCTION f", ()).expect("drops");
    }
    conn.execute_script(
        "CREATE FUNCTION depth(a int) RETURNS int LANGUAGE sql AS 'SELECT 1';
         CREATE OR REPLACE FUNCTION depth(a int) RETURNS int LANGUAGE sql AS
             'SELECT CASE WHEN a = 0 THEN 0 ELSE 1 + depth(a - 1) END'",
    )
    .expect("creates");
    assert_eq!(number(&conn, "SELECT depth(500)::bigint"), 500);
}

#[test]
fn a_function_stops_when_its_statement_is_interrupted() {
    let conn = connect();
    conn.execute_script(
        "CREATE FUNCTION slow() RETURNS bigint LANGUAGE sql AS
             'SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b'",
    )
    .expect("creates");
    conn.execute("SET statement_timeout = 50", ()).expect("sets");
    assert_eq!(code(&conn, "SELECT slow()"), SqlState("57014"));
}

#[test]
fn a_table_whose_rules_call_functions_is_changed_by_the_general_path() {
    let conn = connect();
    conn.execute_script(
        "CREATE TABLE log (id int PRIMARY KEY);
         CREATE FUNCTION logged(a int) RETURNS boolean LANGUAGE sql AS
             'INSERT INTO log VALUES (a); SELECT a < 10';
         CREATE TABLE u (id int PRIMARY KEY CHECK (logged(id)))",
    )
    .expect("creates");
    let mut insert = conn.prepare("INSERT INTO u VALUES ($1)").expect("prepares");
    insert.execute((3,)).expect("inserts");
    assert_eq!(insert.execute((12,)).expect_err("too large").sqlstate(), SqlState("23514"));
    assert_eq!(number(&conn, "SELECT count(*) FROM log"), 1);
}

#[test]
fn a_function_in_plpgsql_survives_and_may_be_replaced() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("plpgsql.cairn");
    let database = Database::open(&path).expect("opens");
    let conn = database.connect().expect("connects");
    let body = |by: i32| {
        format!("CREATE OR REPLACE FUNCTION f(a int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN a + {by}; END $$")
    };
    conn.execute(&body(1), ()).expect("creates");
    assert_eq!(number(&conn, "SELECT f(1)::bigint"), 2);
    drop(conn);
    database.close().expect("closes");
    let database = Database::open(&path).expect("opens again");
    let (conn, other) = (database.connect().expect("connects"), database.connect().expect("connects"));
    let mut prepared = conn.prepare("SELECT f($1)").expect("prepares");
    assert_eq!(prepared.query_row((1,), |row| row.get::<i32>(0)).expect("runs"), 2);
    other.execute(&body(10), ()).expect("replaces");
    assert_eq!(prepared.query_row((1,), |row| row.get::<i32>(0)).expect("runs"), 11);
}

#[test]
fn loops_in_plpgsql_end_when_they_are_interrupted() {
    let conn = connect();
    conn.execute("SET statement_timeout = 50", ()).expect("sets");
    for body in ["LOOP NULL; END LOOP", "WHILE true LOOP END LOOP", "FOR i IN 1..2000000000 LOOP END LOOP"] {
        assert_eq!(code(&conn, &format!("DO $$ BEGIN {body}; END $$")), SqlState("57014"), "{body}");
        let caught = format!("DO $$ BEGIN {body}; EXCEPTION WHEN OTHERS THEN NULL; END $$");
        assert_eq!(code(&conn, &caught), SqlState("57014"), "{body}");
    }
}

#[test]
fn an_exception_block_undoes_what_it_did_and_no_more() {
    let conn = connect();
    conn.execute_script(
        "CREATE TABLE p (id int PRIMARY KEY);
         CREATE TABLE c (p int REFERENCES p DEFERRABLE INITIALLY DEFERRED);
         CREATE TABLE kept (a int)",
    )
    .expect("creates");
    conn.execute(
        "DO $$ BEGIN
             INSERT INTO kept VALUES (1);
             BEGIN
                 INSERT INTO c VALUES (7);
                 CREATE TABLE gone (a int);
                 INSERT INTO gone VALUES (1);
                 RAISE EXCEPTION 'undo';
             EXCEPTION WHEN OTHERS THEN
                 INSERT INTO kept VALUES (2);
             END;
             INSERT INTO c VALUES (8);
             INSERT INTO p VALUES (8);
         END $$",
        (),
    )
    .expect("runs");
    assert_eq!(number(&conn, "SELECT count(*) FROM kept"), 2);
    assert_eq!(number(&conn, "SELECT count(*) FROM c"), 1);
    assert_eq!(code(&conn, "SELECT * FROM gone"), SqlState("42P01"));
    // What is put off in a block is looked at when its statement ends.
    assert_eq!(code(&conn, "DO $$ BEGIN INSERT INTO c VALUES (9); END $$"), SqlState("23503"));
    assert_eq!(number(&conn, "SELECT count(*) FROM c"), 1);
    conn.database().verify().expect("is whole");
}

#[test]
fn deep_calls_in_plpgsql_are_bounded() {
    let conn = connect();
    conn.execute_script(
        "CREATE FUNCTION endless(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN endless(n + 1); END $$;
         CREATE FUNCTION depth(n int) RETURNS int LANGUAGE plpgsql AS
             $$ BEGIN IF n = 0 THEN RETURN 0; END IF; RETURN 1 + depth(n - 1); END $$",
    )
    .expect("creates");
    assert_eq!(code(&conn, "SELECT endless(1)"), SqlState("54001"));
    assert_eq!(number(&conn, "SELECT depth(900)::bigint"), 900);
}

const TRIGGERS: &str = "CREATE TABLE t (id int PRIMARY KEY, n int);
    CREATE TABLE audit (id int, before int, after int);
    CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF NEW.n = 13 THEN RAISE EXCEPTION 'unlucky'; END IF;
        INSERT INTO audit VALUES (NEW.id, OLD.n, NEW.n);
        RETURN NULL;
    END $$;
    CREATE TRIGGER audit AFTER UPDATE OF n ON t FOR EACH ROW WHEN (OLD.n IS DISTINCT FROM NEW.n)
        EXECUTE FUNCTION audit();
    INSERT INTO t SELECT g, g FROM generate_series(1, 100) g";

#[test]
fn triggers_survive_their_database_being_closed() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("triggers.cairn");
    let database = Database::open(&path).expect("opens");
    database.connect().expect("connects").execute_script(TRIGGERS).expect("creates");
    database.close().expect("closes");
    let database = Database::open(&path).expect("opens again");
    let conn = database.connect().expect("connects");
    conn.execute("UPDATE t SET n = n + 1 WHERE id <= 3", ()).expect("updates");
    assert_eq!(number(&conn, "SELECT count(*) FROM audit"), 3);
    conn.execute("ALTER TABLE t RENAME COLUMN n TO m", ()).expect("renames");
    conn.execute("ALTER TABLE t DISABLE TRIGGER audit", ()).expect("disables");
    conn.execute("UPDATE t SET m = 0 WHERE id = 4", ()).expect("updates");
    assert_eq!(number(&conn, "SELECT count(*) FROM audit"), 3);
    database.verify().expect("is whole");
}

#[test]
fn an_update_by_key_runs_triggers_and_notices_new_ones() {
    let conn = connect();
    conn.execute_script(TRIGGERS).expect("creates");
    let other = conn.database().connect().expect("connects");
    other.execute("DROP TRIGGER audit ON t", ()).expect("drops");
    let mut update = conn.prepare("UPDATE t SET n = $2 WHERE id = $1").expect("prepares");
    update.execute((1, 50)).expect("updates");
    assert!(update.is_point());
    assert_eq!(number(&conn, "SELECT count(*) FROM audit"), 0);
    other.execute("CREATE TRIGGER audit AFTER UPDATE ON t FOR EACH ROW EXECUTE FUNCTION audit()", ()).expect("creates");
    update.execute((1, 51)).expect("updates");
    assert_eq!(number(&conn, "SELECT count(*) FROM audit"), 1);
    assert!(!update.is_point());
    other.execute("DROP FUNCTION audit CASCADE", ()).expect("drops");
    update.execute((1, 52)).expect("updates");
    assert_eq!(number(&conn, "SELECT count(*) FROM audit"), 1);
}

#[test]
fn a_trigger_that_raises_undoes_its_statement() {
    let conn = connect();
    conn.execute_script(TRIGGERS).expect("creates");
    assert_eq!(code(&conn, "UPDATE t SET n = n + 1"), SqlState("P0001"));
    assert_eq!(number(&conn, "SELECT count(*) FROM audit"), 0);
    assert_eq!(number(&conn, "SELECT sum(n) FROM t"), 5050);
    conn.execute_script("BEGIN; UPDATE t SET n = 200 WHERE id = 1; SAVEPOINT s").expect("updates");
    assert_eq!(code(&conn, "UPDATE t SET n = 13 WHERE id = 2"), SqlState("P0001"));
    conn.execute_script("ROLLBACK TO s; UPDATE t SET n = 300 WHERE id = 2; COMMIT").expect("goes on");
    assert_eq!(number(&conn, "SELECT count(*) FROM audit"), 2);
    conn.database().verify().expect("is whole");
}

#[test]
fn the_keys_and_indexes_of_rows_that_triggers_change_are_right() {
    let conn = connect();
    conn.execute_script(
        "CREATE TABLE k (id int PRIMARY KEY, u int UNIQUE, s text);
         CREATE INDEX ON k (s);
         CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN
             NEW.id := NEW.id + 1000; NEW.u := -NEW.id; NEW.s := NEW.s || '!'; RETURN NEW;
         END $$;
         CREATE TRIGGER change BEFORE INSERT OR UPDATE ON k FOR EACH ROW EXECUTE FUNCTION change();
         INSERT INTO k SELECT g, g, 's' || g FROM generate_series(1, 200) g;
         UPDATE k SET s = 'same' WHERE id < 1100;
         UPDATE k SET id = id + 1 WHERE id >= 2000;
         INSERT INTO k VALUES (150, 1, 'conflict') ON CONFLICT (id) DO UPDATE SET s = excluded.s",
    )
    .expect("runs");
    conn.database().verify().expect("is whole");
    assert_eq!(number(&conn, "SELECT count(*) FROM k WHERE u = -id"), 200);
    assert_eq!(number(&conn, "SELECT count(*) FROM k WHERE s = 'same!!'"), 99);
}

#[test]
fn absurd_nesting_in_plpgsql_is_refused() {
    let conn = connect();
    for (open, close) in [("IF true THEN ", " END IF;"), ("LOOP ", " END LOOP;"), ("BEGIN ", " END;")] {
        let nested = |deep: usize| format!("DO $$ BEGIN {} NULL; {} END $$", open.repeat(deep), close.repeat(deep));
        assert_eq!(code(&conn, &nested(20_000)), SqlState("54001"), "{open}");
        if open != "LOOP " {
            conn.execute(&nested(90), ()).expect(open);
        }
    }
    let deep = format!("DO $$ BEGIN PERFORM {}1{}; END $$", "(".repeat(20_000), ")".repeat(20_000));
    assert_eq!(code(&conn, &deep), SqlState("54001"));
}

#[test]
fn a_loop_over_a_query_holds_no_more_than_a_batch_of_its_rows() {
    let conn = connect();
    conn.execute_script(
        "CREATE FUNCTION total() RETURNS bigint LANGUAGE plpgsql AS $$
         DECLARE r record; k bigint := 0;
         BEGIN
            FOR r IN SELECT g, repeat('x', 200) AS s FROM generate_series(1, 50000) g LOOP
                k := k + length(r.s);
            END LOOP;
            RETURN k;
         END $$;
         SET statement_mem = '2MB'",
    )
    .expect("a function");
    assert_eq!(number(&conn, "SELECT total()"), 10_000_000);
}

#[test]
fn functions_of_rows_and_of_any_type_survive_and_follow_their_table() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("rows.cairn");
    let database = Database::open(&path).expect("opens");
    let conn = database.connect().expect("connects");
    conn.execute_script(
        "CREATE TABLE p (id int PRIMARY KEY, name text);
         INSERT INTO p VALUES (1, 'one');
         CREATE FUNCTION label(p) RETURNS text LANGUAGE sql STABLE AS $$ SELECT $1.id || ' ' || $1.name $$;
         CREATE FUNCTION same(a anyelement) RETURNS anyelement LANGUAGE plpgsql AS 'BEGIN RETURN a; END';
         CREATE FUNCTION all_of(q text) RETURNS SETOF record LANGUAGE plpgsql AS 'BEGIN RETURN QUERY EXECUTE q; END'",
    )
    .expect("creates");
    drop(conn);
    database.close().expect("closes");

    let database = Database::open(&path).expect("opens again");
    let (conn, other) = (database.connect().expect("connects"), database.connect().expect("connects"));
    let label = |conn: &Connection| conn.query_row("SELECT same(p.label) FROM p", (), |row| row.get::<String>(0));
    assert_eq!(label(&conn).expect("labels"), "1 one");
    let mut prepared = conn.prepare("SELECT same(label(p)) FROM p WHERE id = $1").expect("prepares");
    assert_eq!(prepared.query_row((1,), |row| row.get::<String>(0)).expect("labels"), "1 one");
    // Another session changes the table, and what the function says of it.
    other
        .execute_script(
            "ALTER TABLE p ADD COLUMN more text DEFAULT 'more'; ALTER TABLE p RENAME COLUMN name TO title;
             CREATE OR REPLACE FUNCTION label(p) RETURNS text LANGUAGE sql STABLE AS $$ SELECT $1.title || $1.more $$",
        )
        .expect("alters");
    assert_eq!(label(&conn).expect("labels"), "onemore");
    assert_eq!(prepared.query_row((1,), |row| row.get::<String>(0)).expect("labels"), "onemore");
    let sum = "SELECT sum(n) FROM all_of('SELECT id, title FROM p') AS t(n int, title text)";
    assert_eq!(number(&conn, sum), 1);
    other.execute("DROP TABLE p CASCADE", ()).expect("drops");
    assert_eq!(prepared.query_row((1,), |row| row.get::<String>(0)).expect_err("no table").sqlstate().0, "42P01");
    assert_eq!(number(&conn, "SELECT count(*) FROM pg_proc WHERE proname = 'label'"), 0);
}

#[test]
fn a_function_of_any_type_is_kept_for_each_kind_of_call() {
    let conn = connect();
    conn.execute_script(
        "CREATE FUNCTION twice(a anyelement) RETURNS anyarray LANGUAGE plpgsql AS 'BEGIN RETURN ARRAY[a, a]; END';
         CREATE FUNCTION deeper(a anyelement, n int) RETURNS int LANGUAGE plpgsql AS
             'BEGIN IF n = 0 THEN RETURN 0; END IF; RETURN 1 + deeper(ROW(a), n - 1); END'",
    )
    .expect("creates");
    let text = |sql: &str| conn.query_row(sql, (), |row| row.get::<String>(0)).expect(sql);
    for _ in 0..3 {
        let all =
            "SELECT concat_ws(' ', twice(1), twice('x'::text), twice(1.5), twice(true), twice('2020-01-01'::date))";
        assert_eq!(text(all), "{1,1} {x,x} {1.5,1.5} {t,t} {2020-01-01,2020-01-01}");
    }
    conn.execute("CREATE OR REPLACE FUNCTION twice(a anyelement) RETURNS anyarray LANGUAGE plpgsql AS 'BEGIN RETURN ARRAY[a]; END'", ())
        .expect("replaces");
    assert_eq!(text("SELECT twice(1)::text || twice('x'::text)::text"), "{1}{x}");
    assert_eq!(number(&conn, "SELECT deeper(1, 5)::bigint"), 5);
    // Each call is of another type, and rows are only so deep.
    assert_eq!(code(&conn, "SELECT deeper(1, 500)"), SqlState("54000"));
}
