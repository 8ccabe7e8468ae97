//! COPY: what it reads and writes, and how it tells what is wrong. What is expected was looked up in PostgreSQL 15.

use cairndb::{Connection, Database, Error, SqlState};

fn connected(script: &str) -> Connection {
    let conn = Database::open_in_memory().expect("opens").connect().expect("connects");
    conn.execute_script(script).expect(script);
    conn
}

fn out(conn: &Connection, sql: &str) -> String {
    let mut bytes = Vec::new();
    conn.copy_out(sql, &mut bytes).expect(sql);
    String::from_utf8(bytes).expect("text")
}

fn failure(conn: &Connection, sql: &str, data: &[u8]) -> (String, String, String) {
    let error = conn.copy_in(sql, data).expect_err(sql);
    (error.sqlstate().0.to_owned(), error.message().to_owned(), error.context().unwrap_or_default().to_owned())
}

fn told(code: &str, message: &str, context: &str) -> (String, String, String) {
    (code.to_owned(), message.to_owned(), context.to_owned())
}

const TABLE: &str = "CREATE TABLE t (a int PRIMARY KEY, b text, c numeric(6,2) DEFAULT 1.5, d boolean)";

#[test]
fn text_and_csv_go_in_and_come_out_the_same() {
    let conn = connected(TABLE);
    let data = "1\ttab \\t and \\\\ back\t2.50\tt\n2\t\\N\t\\N\tf\n3\t\t0.00\t\\N\n4\ttwo\\nlines\\r\t-1.00\tt\n";
    assert_eq!(conn.copy_in("COPY t FROM STDIN", data.as_bytes()).expect("text"), 4);
    assert_eq!(out(&conn, "COPY t TO STDOUT"), data);
    let csv = out(&conn, "COPY t TO STDOUT (FORMAT csv, HEADER)");
    assert_eq!(csv, "a,b,c,d\n1,tab \t and \\ back,2.50,t\n2,,,f\n3,\"\",0.00,\n4,\"two\nlines\r\",-1.00,t\n");
    conn.execute("DELETE FROM t", ()).expect("empty");
    assert_eq!(conn.copy_in("COPY t FROM STDIN WITH CSV HEADER", csv.as_bytes()).expect("csv"), 4);
    assert_eq!(out(&conn, "COPY t TO STDOUT"), data);
}

#[test]
fn options_say_how_it_looks() {
    let conn = connected(TABLE);
    let csv = "a;b\n1;'it''s'\n2;none\n3;'none'\n";
    let options = "(FORMAT csv, DELIMITER ';', QUOTE '''', NULL 'none', HEADER match)";
    assert_eq!(conn.copy_in(&format!("COPY t (a, b) FROM STDIN {options}"), csv.as_bytes()).expect("csv"), 3);
    assert_eq!(out(&conn, "COPY t TO STDOUT (DELIMITER '|', NULL '-')"), "1|it's|1.50|-\n2|-|1.50|-\n3|none|1.50|-\n");
    assert_eq!(
        out(&conn, "COPY (SELECT a, b FROM t) TO STDOUT (FORMAT csv, FORCE_QUOTE *, ESCAPE '\\')"),
        "\"1\",\"it's\"\n\"2\",\n\"3\",\"none\"\n"
    );
    assert_eq!(out(&conn, "COPY t (b) TO STDOUT CSV FORCE QUOTE b"), "\"it's\"\n\n\"none\"\n");
    assert_eq!(out(&conn, "COPY (DELETE FROM t WHERE a = 1 RETURNING a, b) TO STDOUT"), "1\tit's\n");
    conn.execute("DELETE FROM t", ()).expect("empty");
    let forced = "COPY t (a, b, d) FROM STDIN (FORMAT csv, FORCE_NOT_NULL (b), FORCE_NULL (d))";
    conn.copy_in(forced, &b"1,,\"\"\n"[..]).expect("forced");
    assert_eq!(out(&conn, "COPY t TO STDOUT"), "1\t\t1.50\t\\N\n");
    assert_eq!(conn.copy_in("COPY t FROM STDIN WHERE a % 2 = 0", &b"2\tx\t1\tt\n3\ty\t1\tf\n"[..]).expect("some"), 1);
    assert_eq!(out(&conn, "COPY (SELECT a FROM t ORDER BY a) TO STDOUT"), "1\n2\n");
}

#[test]
fn what_is_wrong_is_told_with_its_line_and_column() {
    let conn = connected(TABLE);
    let copy = "COPY t (a, b) FROM STDIN";
    for (sql, data, expected) in [
        (copy, &b"1\tx\n2\n"[..], told("22P04", "missing data for column \"b\"", "COPY t, line 2: \"2\"")),
        // What is there is told before what is not, and what there is too much of before both.
        (
            copy,
            b"five\n",
            told("22P02", "invalid input syntax for type integer: \"five\"", "COPY t, line 1, column a: \"five\""),
        ),
        (
            copy,
            b"five\tx\ty\n",
            told("22P04", "extra data after last expected column", "COPY t, line 1: \"five\tx\ty\""),
        ),
        ("COPY t (a, b) FROM STDIN CSV", b"\n", told("22P04", "missing data for column \"b\"", "COPY t, line 1: \"\"")),
        (copy, b"1\tx\ty\n", told("22P04", "extra data after last expected column", "COPY t, line 1: \"1\tx\ty\"")),
        (
            copy,
            b"1\tx\nfive\ty\n",
            told("22P02", "invalid input syntax for type integer: \"five\"", "COPY t, line 2, column a: \"five\""),
        ),
        (
            copy,
            b"1\tx\n1\ty\n",
            told("23505", "duplicate key value violates unique constraint \"t_pkey\"", "COPY t, line 2"),
        ),
        (
            copy,
            b"\\N\tx\n",
            told(
                "23502",
                "null value in column \"a\" of relation \"t\" violates not-null constraint",
                "COPY t, line 1: \"\\N\tx\"",
            ),
        ),
        (copy, b"1\tx\xff\n", told("22021", "invalid byte sequence for encoding \"UTF8\": 0xff", "COPY t, line 1")),
        (copy, b"1\tx\0\n", told("22021", "invalid byte sequence for encoding \"UTF8\": 0x00", "COPY t, line 1")),
        (copy, b"1\tx\\.\n", told("22P04", "end-of-copy marker corrupt", "COPY t, line 1")),
        (
            "COPY t (a, b) FROM STDIN CSV",
            b"1,x\n2,\"open\n",
            told("22P04", "unterminated CSV quoted field", "COPY t, line 3: \"2,\"open\n\""),
        ),
        (
            "COPY t (a, b) FROM STDIN (FORMAT csv, HEADER match)",
            b"a,x\n",
            told("22P04", "column name mismatch in header line field 2: got \"x\", expected \"b\"", "COPY t, line 1"),
        ),
        (
            "COPY t (a, b) FROM STDIN (FORMAT csv, HEADER match)",
            b"a\n",
            told("22P04", "wrong number of fields in header line: field count is 1, expected 2", "COPY t, line 1"),
        ),
    ] {
        let found = failure(&conn, sql, data);
        assert_eq!((&found.0, &found.1), (&expected.0, &expected.1), "{sql}");
        assert!(found.2.starts_with(expected.2.trim_end_matches("\n\"")), "{sql}: {found:?}");
        assert_eq!(out(&conn, "COPY t TO STDOUT"), "", "nothing of it stays");
    }
}

#[test]
fn what_options_and_tables_can_not_be_is_told_as_postgresql_does() {
    let conn = connected(
        "CREATE TABLE t (a int, b text, g int GENERATED ALWAYS AS (a * 2) STORED); CREATE VIEW v AS SELECT 1 AS x; CREATE SEQUENCE s",
    );
    for (sql, code) in [
        ("COPY t FROM STDIN (FORMAT xml)", "22023"),
        ("COPY t FROM STDIN (FORMAT csv, FORMAT text)", "42601"),
        ("COPY t FROM STDIN (NOTHING)", "42601"),
        ("COPY t FROM STDIN (HEADER maybe)", "42601"),
        ("COPY t FROM STDIN (DELIMITER 'ab')", "0A000"),
        ("COPY t FROM STDIN (DELIMITER 'a')", "22023"),
        ("COPY t FROM STDIN (DELIMITER E'\\n')", "22023"),
        ("COPY t FROM STDIN (NULL E'\\n')", "22023"),
        ("COPY t FROM STDIN (QUOTE '|')", "0A000"),
        ("COPY t FROM STDIN (FORMAT csv, QUOTE ',')", "22023"),
        ("COPY t FROM STDIN (FORMAT csv, NULL ',')", "22023"),
        ("COPY t FROM STDIN (FORMAT csv, NULL '\"')", "22023"),
        ("COPY t FROM STDIN (FORMAT csv, FORCE_QUOTE (a))", "0A000"),
        ("COPY t FROM STDIN (FORMAT csv, FORCE_NULL (x))", "42703"),
        ("COPY t (a) FROM STDIN (FORMAT csv, FORCE_NULL (b))", "42P10"),
        ("COPY t FROM STDIN (FORMAT binary)", "22P04"),
        ("COPY t FROM STDIN (ENCODING 'EUC_TW')", "0A000"),
        ("COPY t FROM STDIN (ENCODING 'klingon')", "22023"),
        ("COPY t FROM STDIN (FORMAT binary, ENCODING 'LATIN1')", "0A000"),
        ("COPY t (a, a) FROM STDIN", "42701"),
        ("COPY t (nothing) FROM STDIN", "42703"),
        ("COPY t (g) FROM STDIN", "42P10"),
        ("COPY missing FROM STDIN", "42P01"),
        ("COPY v FROM STDIN", "42809"),
        ("COPY s FROM STDIN", "42809"),
        ("COPY pg_class FROM STDIN", "42501"),
        ("COPY t FROM '/etc/passwd'", "42501"),
        ("COPY t FROM PROGRAM 'id'", "42501"),
        ("COPY t FROM STDIN WHERE b", "42804"),
        ("COPY t TO STDOUT", "0A000"),
        ("SELECT 1", "42601"),
    ] {
        assert_eq!(failure(&conn, sql, b"1\tx\n").0, code, "{sql}");
    }
    for (sql, code) in [
        ("COPY v TO STDOUT", "42809"),
        ("COPY t TO '/tmp/x'", "42501"),
        ("COPY t TO STDOUT (HEADER match)", "0A000"),
        ("COPY t TO STDOUT (FORMAT csv, FORCE_NOT_NULL (a))", "0A000"),
        ("COPY t FROM STDIN", "0A000"),
        ("COPY (INSERT INTO t VALUES (1)) TO STDOUT", "0A000"),
    ] {
        let error = conn.copy_out(sql, Vec::new()).expect_err(sql);
        assert_eq!(error.sqlstate().0, code, "{sql}: {error:?}");
    }
    for sql in ["COPY t FROM STDIN", "COPY t TO STDOUT"] {
        let error = conn.execute(sql, ()).expect_err(sql);
        assert!(error.hint().is_some_and(|hint| hint.contains("Connection::copy_")), "{error:?}");
    }
}

#[test]
fn a_copy_is_one_statement() {
    let conn = connected(
        "CREATE TABLE t (id int PRIMARY KEY, up int REFERENCES t, n serial, i int GENERATED ALWAYS AS IDENTITY, s varchar(3) CHECK (s <> 'no'));
         CREATE TABLE p (id int PRIMARY KEY); CREATE TABLE c (p int REFERENCES p DEFERRABLE INITIALLY DEFERRED)",
    );
    // Rows may refer to later ones.
    assert_eq!(conn.copy_in("COPY t (id, up, s) FROM STDIN", &b"1\t2\tabc\n2\t1\tx\n"[..]).expect("both"), 2);
    assert_eq!(out(&conn, "COPY t TO STDOUT"), "1\t2\t1\t1\tabc\n2\t1\t2\t2\tx\n");
    assert_eq!(failure(&conn, "COPY t (id, up) FROM STDIN", b"3\t4\n").0, "23503");
    assert_eq!(failure(&conn, "COPY t (id, s) FROM STDIN", b"3\tlong\n").0, "22001");
    assert_eq!(failure(&conn, "COPY t (id, s) FROM STDIN", b"3\tno\n").0, "23514");
    // What is deferred is looked at when the transaction commits.
    let tx = conn.begin().expect("BEGIN");
    tx.copy_in("COPY c FROM STDIN", &b"7\n"[..]).expect("later");
    tx.copy_in("COPY p FROM STDIN", &b"7\n"[..]).expect("now");
    tx.commit().expect("COMMIT");
    assert_eq!(failure(&conn, "COPY c FROM STDIN", b"8\n").0, "23503");
    // A failed one fails its transaction.
    conn.execute("BEGIN", ()).expect("BEGIN");
    assert_eq!(failure(&conn, "COPY p FROM STDIN", b"x\n").0, "22P02");
    assert_eq!(failure(&conn, "COPY p FROM STDIN", b"9\n").0, "25P02");
    conn.execute("ROLLBACK", ()).expect("ROLLBACK");
    conn.execute("BEGIN READ ONLY", ()).expect("BEGIN");
    assert_eq!(failure(&conn, "COPY p FROM STDIN", b"9\n").0, "25006");
    conn.execute("ROLLBACK", ()).expect("ROLLBACK");
}

#[test]
fn scripts_have_their_data_in_them() {
    let conn = connected(TABLE);
    let script = "-- as pg_dump writes it\nCOPY public.t (a, b) FROM stdin;\n1\tone; SELECT '\n2\t$$ /*\n\\.\n\nSELECT count(*) FROM t;\nCOPY t (a) FROM STDIN;\n3";
    let mut tags = Vec::new();
    conn.run(script, |outcome| {
        tags.push(outcome.tag());
        Ok(())
    })
    .expect("runs");
    assert_eq!(tags, ["COPY 2", "SELECT 0", "COPY 1"]);
    assert_eq!(out(&conn, "COPY t (a, b) TO STDOUT"), "1\tone; SELECT '\n2\t$$ /*\n3\t\\N\n");
    let error = conn.execute_script("COPY t (a) FROM STDIN; SELECT 1;\n4\n\\.\n").expect_err("on one line");
    assert_eq!(error.sqlstate(), SqlState::SYNTAX_ERROR);
}

#[test]
fn readers_and_writers_that_fail_fail_the_copy() {
    struct Broken;
    impl std::io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("gone"))
        }
    }
    impl std::io::Write for Broken {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("gone"))
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let conn = connected(TABLE);
    let is_io = |error: &Error| error.sqlstate() == SqlState::IO_ERROR && error.message().contains("gone");
    assert!(is_io(&conn.copy_in("COPY t FROM STDIN", Broken).expect_err("reads")));
    conn.execute("INSERT INTO t VALUES (1)", ()).expect("a row");
    assert!(is_io(&conn.copy_out("COPY t TO STDOUT", Broken).expect_err("writes")));
    // Whoever reads from the connection that copies is told so, and nothing hangs.
    struct Asks<'c>(&'c Connection);
    impl std::io::Read for Asks<'_> {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            self.0.execute("DELETE FROM t", ()).map(|_| 0).map_err(std::io::Error::other)
        }
    }
    conn.execute("BEGIN", ()).expect("BEGIN");
    assert!(conn.copy_in("COPY t FROM STDIN", Asks(&conn)).is_err());
    conn.execute("ROLLBACK", ()).expect("ROLLBACK");
}

#[test]
fn triggers_of_statements_run_for_copy_and_see_its_rows() {
    let conn = connected(TABLE);
    conn.execute_script(
        "CREATE TABLE log (no serial, what text);
         CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            INSERT INTO log (what) VALUES (TG_WHEN || ' ' || TG_LEVEL);
            RETURN NEW;
         END $$;
         CREATE FUNCTION sum_up() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            INSERT INTO log (what) SELECT count(*) || ' of ' || (SELECT count(*) FROM t) || ' sum ' || sum(a) FROM fresh;
            RETURN NULL;
         END $$;
         CREATE TRIGGER a BEFORE INSERT ON t EXECUTE FUNCTION tell();
         CREATE TRIGGER b BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION tell();
         CREATE TRIGGER c AFTER INSERT ON t EXECUTE FUNCTION tell();
         CREATE TRIGGER d AFTER INSERT ON t REFERENCING NEW TABLE AS fresh EXECUTE FUNCTION sum_up();
         INSERT INTO t VALUES (1); DELETE FROM log",
    )
    .expect("triggers");
    assert_eq!(conn.copy_in("COPY t (a) FROM STDIN", &b"5\n6\n"[..]).expect("copies"), 2);
    let told = "BEFORE STATEMENT\nBEFORE ROW\nBEFORE ROW\nAFTER STATEMENT\n2 of 3 sum 11\n";
    assert_eq!(out(&conn, "COPY (SELECT what FROM log ORDER BY no) TO STDOUT"), told);
}

/// A table that others may have looked at is not for FREEZE (55000 in PostgreSQL, too); it is looked at before any data is.
#[test]
fn freeze_is_for_a_table_that_the_transaction_has_made_or_emptied() {
    let conn = connected(TABLE);
    let freeze = "COPY t (a) FROM STDIN WITH (FREEZE)";
    let told = |conn: &Connection| conn.copy_in(freeze, &b"nonsense\n"[..]).expect_err("refused").sqlstate().0;
    assert_eq!(told(&conn), "55000");
    conn.execute_script("BEGIN").expect("begins");
    assert_eq!(told(&conn), "55000");
    for before in ["TRUNCATE t", "DROP TABLE t; CREATE TABLE t (a int)", "CREATE TEMP TABLE t (a int)"] {
        conn.execute_script(&format!("ROLLBACK; BEGIN; {before}")).expect(before);
        assert_eq!(conn.copy_in(freeze, &b"1\n2\n"[..]).expect(before), 2);
        assert_eq!(conn.copy_in("COPY t (a) FROM STDIN FREEZE", &b"3\n"[..]).expect(before), 1);
    }
    conn.execute("COMMIT", ()).expect("commits");
    assert_eq!(told(&conn), "55000", "of a temporary table, too");
    assert_eq!(conn.copy_in("COPY t (a) FROM STDIN WITH (FREEZE off)", &b"4\n"[..]).expect("off"), 1);
    assert_eq!(out(&conn, "COPY t TO STDOUT WITH (FREEZE)"), "1\n2\n3\n4\n");
    assert_eq!(failure(&conn, "COPY t FROM STDIN WITH (FREEZE, FREEZE)", b"").0, "42601");
}
