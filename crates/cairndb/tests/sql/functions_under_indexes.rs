//! Functions and domains under indexes, predicates and generated columns get other meanings between changes of rows: what is stored is always
//! what they give, and nothing comes of those that lie but what they say.

use crate::common::{connect, fails, rows};
use cairndb::{Connection, Database};

/// Numbers that are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    fn one<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[self.below(of.len())]
    }
}

const SCHEMA: &str = "
    CREATE SCHEMA other;
    CREATE FUNCTION h(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1 % 7';
    CREATE FUNCTION other.h(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT -($1 % 5)';
    CREATE DOMAIN small AS int CHECK (h(VALUE) < 100);
    CREATE FUNCTION g(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN coalesce(h($1)::small, 0) * 3; END $$;
    CREATE FUNCTION f(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT g($1) + 1';
    CREATE TABLE t (id int PRIMARY KEY, n int, k int GENERATED ALWAYS AS (f(n) * 1000 + id) STORED UNIQUE);
    CREATE INDEX by_f ON t (f(n), id);
    CREATE INDEX by_h ON t (h(n));
    CREATE INDEX part ON t (id) WHERE g(n) > 6;
    CREATE UNIQUE INDEX alone ON t ((f(n) * 1000 + id));
    CREATE INDEX of_domain ON t ((n::small));
    CREATE MATERIALIZED VIEW counts WITH (maintained = commit) AS SELECT k % 10 AS last, count(*), sum(k) FROM t GROUP BY 1;
    CREATE MATERIALIZED VIEW copy AS SELECT id, n FROM t; CREATE INDEX ON copy (f(n));";

const MEANINGS: &[&str] = &[
    "CREATE OR REPLACE FUNCTION h(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1 % 7'",
    "CREATE OR REPLACE FUNCTION h(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 20 - $1 % 4'",
    "CREATE OR REPLACE FUNCTION h(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN $1 / 3 % 9; END $$",
    "CREATE OR REPLACE FUNCTION h(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT (SELECT max(x) FROM (VALUES ($1 % 3), (1)) v (x))'",
    "CREATE OR REPLACE FUNCTION h(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT coalesce($1, -1) % 6'",
    "CREATE OR REPLACE FUNCTION g(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN h($1) + 2; END $$",
    "CREATE OR REPLACE FUNCTION g(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT h($1)::small * 3'",
    "CREATE OR REPLACE FUNCTION g(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ DECLARE r int; BEGIN EXECUTE 'SELECT h($1)' INTO r USING $1; RETURN r; END $$",
    "CREATE OR REPLACE FUNCTION f(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT g($1) - 1'",
    "CREATE OR REPLACE FUNCTION f(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN g($1) % 4; END $$",
    "ALTER FUNCTION f(int) STRICT",
    "ALTER FUNCTION f(int) CALLED ON NULL INPUT",
    "ALTER FUNCTION g(int) STRICT",
    "ALTER FUNCTION g(int) SET search_path = other, public",
    "ALTER FUNCTION g(int) SET search_path = public",
    "ALTER FUNCTION h(int) STRICT",
    "ALTER FUNCTION f(int) STABLE",
    "ALTER FUNCTION f(int) IMMUTABLE",
    "ALTER DOMAIN small ADD CHECK (VALUE > -50)",
    "ALTER DOMAIN small ADD CONSTRAINT narrow CHECK (VALUE < 50) NOT VALID",
    "ALTER DOMAIN small DROP CONSTRAINT IF EXISTS narrow",
    "ALTER DOMAIN small SET NOT NULL",
    "ALTER DOMAIN small DROP NOT NULL",
    "DO $$ BEGIN ALTER FUNCTION other.h(int) RENAME TO i; ALTER FUNCTION other.i(int) RENAME TO h; END $$",
    "DO $$ BEGIN DROP FUNCTION other.h(int); CREATE FUNCTION other.h(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 12 - $1 % 6'; END $$",
    "DO $$ BEGIN DROP FUNCTION other.h(int); CREATE FUNCTION other.h(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT -($1 % 5)'; END $$",
];

fn change(numbers: &mut Numbers) -> String {
    let (id, n) = (numbers.below(60), numbers.below(90));
    match numbers.below(7) {
        0 => format!(
            "INSERT INTO t (id, n) SELECT i, i * 2 FROM generate_series({id}, {id} + 5) i ON CONFLICT DO NOTHING"
        ),
        1 => format!(
            "INSERT INTO t (id, n) VALUES ({id}, {n}) ON CONFLICT ((f(n) * 1000 + id)) DO UPDATE SET n = excluded.n + 1"
        ),
        2 => format!("UPDATE t SET n = {n} WHERE id = {id}"),
        3 => format!("UPDATE t SET n = n + 1 WHERE id > {id}"),
        4 => format!("DELETE FROM t WHERE id = {id}"),
        5 => format!("DELETE FROM t WHERE f(n) = {}", id % 30),
        _ => format!("UPDATE t SET id = id + 100, n = NULL WHERE id = {id}"),
    }
}

/// What a statement comes to; only what the functions and the constraints refuse.
fn run(conn: &Connection, sql: &str) -> bool {
    match conn.execute(sql, ()) {
        Ok(_) => true,
        Err(error) => {
            assert!(["23505", "23514", "23502"].contains(&error.sqlstate().0), "{sql}: {error:?}");
            false
        }
    }
}

fn check(database: &Database, conn: &Connection, done: &[String]) {
    let told = || done.join(";\n");
    let verified = database.verify().unwrap_or_else(|error| panic!("{error:?} after\n{}", told()));
    assert!(verified.notes.iter().all(|note| note.contains("STABLE")), "{:?}", verified.notes);
    for query in [
        "SELECT id, n, k, f(n) FROM t WHERE f(n) BETWEEN 2 AND 9 ORDER BY f(n), id",
        "SELECT id FROM t WHERE h(n) = 3 ORDER BY id",
        "SELECT id FROM t WHERE g(n) > 6 AND id < 40 ORDER BY id",
        "SELECT id FROM t WHERE k > 5000 ORDER BY k",
        "SELECT id FROM copy WHERE f(n) = 4 ORDER BY id",
    ] {
        let by_index = rows(conn, query);
        conn.execute("SET enable_indexscan = off", ()).unwrap();
        let by_scan = rows(conn, query);
        conn.execute("SET enable_indexscan = on", ()).unwrap();
        assert_eq!(by_index, by_scan, "{query} after\n{}", told());
    }
    assert_eq!(
        rows(conn, "SELECT id FROM t WHERE k IS DISTINCT FROM f(n) * 1000 + id"),
        [] as [&str; 0],
        "after\n{}",
        told()
    );
}

#[test]
fn what_is_stored_follows_functions_through_all_that_calls_them() {
    let (mut meant, mut changed) = (0, 0);
    for seed in 1..3 {
        let mut numbers = Numbers(u64::wrapping_mul(seed, 0x9e37_79b9_7f4a_7c15));
        let database = Database::open_in_memory().unwrap();
        let conn = database.connect().unwrap();
        conn.execute_script(SCHEMA).unwrap();
        conn.execute("INSERT INTO t (id, n) SELECT i, i FROM generate_series(1, 40) i", ()).unwrap();
        conn.execute("REFRESH MATERIALIZED VIEW copy", ()).unwrap();
        let mut done = Vec::new();
        for _ in 0..8 {
            let sql = numbers.one(MEANINGS).to_owned();
            meant += usize::from(run(&conn, &sql));
            done.push(sql);
            for _ in 0..numbers.below(4) {
                let sql = change(&mut numbers);
                changed += usize::from(run(&conn, &sql));
                done.push(sql);
            }
            check(&database, &conn, &done);
        }
    }
    assert!(meant > 8 && changed > 8, "{meant} {changed}");
}

#[test]
fn a_function_that_lies_leaves_no_entry_behind() {
    let conn = connect(
        "CREATE TABLE factor (n int); INSERT INTO factor VALUES (1);
         CREATE FUNCTION f(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1 * (SELECT n FROM factor)';
         CREATE TABLE t (id int PRIMARY KEY, n int); CREATE INDEX many ON t (f(n)); CREATE UNIQUE INDEX one ON t (f(n));
         INSERT INTO t SELECT i, i FROM generate_series(1, 100) i; UPDATE factor SET n = 2",
    );
    // 1 and 2 have each other's keys by what it says now.
    assert_eq!(conn.execute("DELETE FROM t WHERE id = 1", ()).unwrap(), 1);
    assert_eq!(rows(&conn, "SELECT id FROM t WHERE f(n) = 2"), ["2"], "the entry that it has got");
    assert_eq!(conn.execute("UPDATE t SET n = 1001 WHERE id = 3", ()).unwrap(), 1);
    assert_eq!(rows(&conn, "SELECT id FROM t WHERE f(n) IN (3, 2002)"), ["3"]);
    assert_eq!(conn.execute("DELETE FROM t WHERE id > 50", ()).unwrap(), 50);
    let error = conn.database().verify().unwrap_err();
    assert_eq!(error.sqlstate().0, "XX001", "what is left is not what it says now");
    assert_eq!(conn.execute("DELETE FROM t", ()).unwrap(), 49);
    assert_eq!(conn.database().verify().unwrap().index_entries, 0);
    assert_eq!(conn.execute("INSERT INTO t SELECT i, i FROM generate_series(1, 100) i", ()).unwrap(), 100);
    assert_eq!(conn.database().verify().unwrap().index_entries, 200);
}

/// The same path to a function decides which is called: the entries are those of whoever wrote the row.
#[test]
fn what_a_body_means_may_depend_on_the_session() {
    let conn = connect(
        "CREATE SCHEMA a; CREATE FUNCTION a.g(text) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT lower($1)';
         CREATE SCHEMA b; CREATE FUNCTION b.g(text) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT upper($1)';
         SET search_path = a; CREATE FUNCTION f(text) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT g($1)';
         CREATE TABLE a.t (id int PRIMARY KEY, s text); CREATE UNIQUE INDEX ON a.t (a.f(s));
         INSERT INTO a.t VALUES (1, 'K'), (2, 'L'); SET search_path = b",
    );
    assert_eq!(conn.execute("DELETE FROM a.t WHERE id = $1", [1]).unwrap(), 1);
    assert_eq!(conn.execute("UPDATE a.t SET s = 'M' WHERE id = 2", ()).unwrap(), 1);
    assert_eq!(conn.execute("INSERT INTO a.t VALUES (1, 'L')", ()).unwrap(), 1);
    assert_eq!(conn.execute("DELETE FROM a.t", ()).unwrap(), 2);
    assert_eq!(conn.database().verify().unwrap().index_entries, 0);
}

#[test]
fn a_statement_that_changes_a_function_is_undone_with_what_rests_on_it() {
    let conn = connect(
        "CREATE FUNCTION f(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1';
         CREATE TABLE t (id int PRIMARY KEY, n int, m int GENERATED ALWAYS AS (f(n)) STORED NOT NULL);
         CREATE UNIQUE INDEX i ON t (f(n)); INSERT INTO t (id, n) SELECT i, i FROM generate_series(1, 10) i",
    );
    let other =
        |body: &str| format!("CREATE OR REPLACE FUNCTION f(int) RETURNS int LANGUAGE sql IMMUTABLE AS '{body}'");
    assert_eq!(fails(&conn, &other("SELECT $1 % 2"), "23505").constraint(), Some("i"));
    fails(&conn, &other("SELECT nullif($1, 5)"), "23502");
    fails(&conn, &other("SELECT 1 / ($1 - 5)"), "22012");
    assert_eq!(rows(&conn, "SELECT f(7), max(m), count(*) FROM t"), ["7|10|10"]);
    conn.execute("BEGIN", ()).unwrap();
    conn.execute(&other("SELECT -$1"), ()).unwrap();
    assert_eq!(rows(&conn, "SELECT id, m FROM t WHERE f(n) = -3"), ["3|-3"]);
    conn.execute("DELETE FROM t WHERE id = 3", ()).unwrap();
    conn.execute("ROLLBACK", ()).unwrap();
    assert_eq!(rows(&conn, "SELECT id, m FROM t WHERE f(n) = 3"), ["3|3"]);
    assert_eq!(conn.database().verify().unwrap().index_entries, 10);
}
