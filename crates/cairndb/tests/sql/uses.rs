//! How often tables and indexes are used, as `pg_stat_user_tables` and `pg_stat_user_indexes` tell it.

use cairndb::{Connection, Database};

const SCHEMA: &str = "
    CREATE TABLE t (id int PRIMARY KEY, n int, s text);
    CREATE INDEX t_n ON t (n);
    CREATE TABLE r (id int PRIMARY KEY, t int REFERENCES t, v int);
    CREATE TABLE bare (v int);
    INSERT INTO t SELECT g, g % 10, 'x' FROM generate_series(1, 1000) g;
    INSERT INTO r SELECT g, g, g FROM generate_series(1, 20) g;
    ANALYZE";

fn opened() -> (Database, Connection) {
    let database = Database::open_in_memory().expect("opens");
    let connection = database.connect().expect("connects");
    connection.execute_script(SCHEMA).expect("a schema");
    (database, connection)
}

/// The values of a query's rows, as text.
fn told(connection: &Connection, sql: &str) -> Vec<String> {
    let row = |row: cairndb::Row<'_>| Ok(format!("{:?}", row.values()));
    let rows = connection.query_map(sql, (), row).expect("a query").collect::<cairndb::Result<_>>();
    rows.unwrap_or_else(|error| panic!("{sql}: {error}"))
}

/// Scans, entries read, rows fetched of an index.
fn of_index(connection: &Connection, index: &str) -> [i64; 3] {
    let sql = "SELECT idx_scan, idx_tup_read, idx_tup_fetch FROM pg_stat_user_indexes WHERE indexrelname = $1";
    connection.query_row(sql, [index], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?])).expect("an index")
}

/// Whole scans, rows read so, scans by indexes, rows fetched so, of a table.
fn of_table(connection: &Connection, table: &str) -> [Option<i64>; 4] {
    let sql = "SELECT seq_scan, seq_tup_read, idx_scan, idx_tup_fetch FROM pg_stat_user_tables WHERE relname = $1";
    connection.query_row(sql, [table], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?])).expect("a table")
}

/// What one statement adds, whichever way it is run.
fn added(connection: &Connection, index: &str, sql: &str) -> [i64; 3] {
    let before = of_index(connection, index);
    told(connection, sql);
    let after = of_index(connection, index);
    std::array::from_fn(|at| after[at] - before[at])
}

/// PostgreSQL 15 has these figures of these statements, but for an entry of a row's older version, which it looks at, too.
#[test]
fn statements_are_counted_as_postgresql_counts_them() {
    let (_database, connection) = opened();
    let begun = [of_index(&connection, "t_pkey"), of_index(&connection, "t_n")];
    let (whole, other) = (of_table(&connection, "t"), of_table(&connection, "r"));
    for sql in [
        "SELECT s FROM t WHERE id = 7",
        "SELECT s FROM t WHERE id = 7 AND n = 3",
        "SELECT s FROM t WHERE id = 70000",
        "SELECT s FROM t WHERE id = NULL::int",
        "SELECT count(s) FROM t",
        "SELECT s FROM t WHERE id IN (1, 2, 3, 5000)",
        "UPDATE t SET s = 'y' WHERE id = 9",
        "UPDATE t SET s = 'y' WHERE id = 9000",
        "DELETE FROM t WHERE id = 10 AND n = 5",
        "SELECT s FROM t WHERE n = 3 ORDER BY n",
        "SELECT count(s) FROM t WHERE id BETWEEN 11 AND 30",
        "SELECT count(s) FROM r JOIN t ON t.id = r.t",
    ] {
        told(&connection, sql);
    }
    let grown = |now: [i64; 3], before: [i64; 3]| -> [i64; 3] { std::array::from_fn(|at| now[at] - before[at]) };
    assert_eq!(grown(of_index(&connection, "t_pkey"), begun[0]), [31, 47, 47]);
    assert_eq!(grown(of_index(&connection, "t_n"), begun[1]), [1, 100, 100]);
    let grown = |now: [Option<i64>; 4], before: [Option<i64>; 4]| -> [i64; 4] {
        std::array::from_fn(|at| now[at].expect("counted") - before[at].expect("counted"))
    };
    assert_eq!(grown(of_table(&connection, "t"), whole), [1, 1000, 32, 147]);
    assert_eq!(grown(of_table(&connection, "r"), other), [1, 20, 0, 0]);
}

#[test]
fn each_way_that_a_statement_runs_counts_the_same() {
    let (_database, connection) = opened();
    let one = |sql: &str| added(&connection, "t_pkey", sql);
    // As a point statement, in an open transaction, and by operators.
    assert_eq!(one("SELECT s FROM t WHERE id = 7"), [1, 1, 1]);
    assert_eq!(one("SELECT s || random()::text FROM t WHERE id = 7"), [1, 1, 1]);
    assert_eq!(one("WITH one AS MATERIALIZED (SELECT s FROM t WHERE id = 7) SELECT s FROM one"), [1, 1, 1]);
    connection.execute("BEGIN", ()).expect("begins");
    assert_eq!(one("SELECT s FROM t WHERE id = 7"), [1, 1, 1]);
    assert_eq!(one("UPDATE t SET s = 'z' WHERE id = 7"), [1, 1, 1]);
    assert_eq!(one("DELETE FROM t WHERE id = 7 AND s = 'a'"), [1, 1, 1]);
    connection.execute("ROLLBACK", ()).expect("ends");
    assert_eq!(one("UPDATE t SET s = s || 'z' WHERE id = 7"), [1, 1, 1]);
    assert_eq!(one("UPDATE t SET s = 'z' WHERE id = 7 AND n = 1"), [1, 1, 1]);
    assert_eq!(one("DELETE FROM t WHERE id = 7 AND n = 1"), [1, 1, 1]);
    assert_eq!(one("DELETE FROM t WHERE id = 7000"), [1, 0, 0]);
    // Rows of r by their key, and t's by the rows'.
    assert_eq!(one("SELECT t.s FROM r JOIN t ON t.id = r.t WHERE r.id = 5"), [1, 1, 1]);
    let by_n = |sql: &str| added(&connection, "t_n", sql);
    assert_eq!(by_n("SELECT id, s FROM t WHERE n = 3 AND id < 0"), [0, 0, 0]);
    // What the index says itself is not fetched.
    assert_eq!(by_n("SELECT count(n) FROM t WHERE n = 3"), [1, 100, 0]);
    assert_eq!(by_n("SELECT s FROM t WHERE n = 3 ORDER BY n LIMIT 2")[0], 1);
}

#[test]
fn what_no_index_has_is_null_and_so_is_what_is_a_sessions_own() {
    let (database, connection) = opened();
    connection
        .execute_script("CREATE TEMPORARY TABLE own (id int PRIMARY KEY); INSERT INTO own VALUES (1)")
        .expect("a table");
    told(&connection, "SELECT * FROM own WHERE id = 1");
    told(&connection, "SELECT * FROM own");
    told(&connection, "SELECT * FROM bare");
    assert_eq!(of_table(&connection, "own"), [None; 4]);
    assert_eq!(of_table(&connection, "bare"), [Some(1), Some(0), None, None]);
    // Another session's, with the same numbers.
    let other = database.connect().expect("connects");
    other.execute_script("CREATE TEMPORARY TABLE own (id int PRIMARY KEY)").expect("a table");
    assert_eq!(of_table(&other, "own"), [None; 4]);
}

#[test]
fn sessions_that_read_at_once_and_sessions_that_ended_are_all_counted() {
    let (database, connection) = opened();
    connection.execute_script("CREATE TABLE u (id int PRIMARY KEY); INSERT INTO u VALUES (1)").expect("a table");
    let before = [of_index(&connection, "t_pkey"), of_index(&connection, "u_pkey")];
    let there = database.connect().expect("connects");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let connection = database.connect().expect("connects");
                let mut prepared = connection.prepare("SELECT s FROM t WHERE id = $1").expect("prepares");
                for id in 1..=500_i32 {
                    prepared.query_row([id], |row| row.get::<String>(0)).expect("a row");
                    connection.query_row("SELECT id FROM u", (), |row| row.get::<i32>(0)).expect("a row");
                }
            });
        }
        // Whoever looks meanwhile takes nothing away.
        for _ in 0..50 {
            of_index(&connection, "t_pkey");
        }
    });
    told(&there, "SELECT s FROM t WHERE id = 3");
    let [t, u] = [of_index(&connection, "t_pkey"), of_index(&connection, "u_pkey")];
    assert_eq!(t[0] - before[0][0], 4001);
    assert_eq!(u, before[1]);
    assert_eq!(of_table(&connection, "u")[0], Some(4000));
}

/// Groups that come one behind the other are put out as soon as there are some, whatever sizes they have, and none is cut in two.
#[test]
fn the_first_groups_take_few_rows() {
    let database = Database::open_in_memory().expect("opens");
    let connection = database.connect().expect("connects");
    let schema = "CREATE TABLE grouped (g int, n int, PRIMARY KEY (g, n));
         INSERT INTO grouped SELECT g, n FROM generate_series(1, 60) g, generate_series(1, CASE g % 3 WHEN 0 THEN 1 WHEN 1 THEN 700 ELSE 4100 END) n;
         ANALYZE";
    connection.execute_script(schema).expect("a schema");
    let answer = |limit: usize| -> Vec<String> {
        (1..=limit.min(60))
            .map(|g| {
                let rows = [1, 700, 4100][g % 3];
                format!("[Integer({g}), BigInt({rows}), BigInt({})]", rows * (rows + 1) / 2)
            })
            .collect()
    };
    for (limit, most) in [(1, 8_000), (3, 16_000), (10, 64_000), (1000, 96_020)] {
        let read = || of_table(&connection, "grouped")[1].expect("a count");
        let before = read();
        let sql = format!("SELECT g, count(*), sum(n) FROM grouped GROUP BY g ORDER BY g LIMIT {limit}");
        assert_eq!(told(&connection, &sql), answer(limit));
        let rows = read() - before;
        assert!(rows <= most, "{rows} rows are read for {limit} groups");
    }
    // (Most of all that follow have groups of 4,100 rows and of one.)
    let sql = "SELECT sum(c)::bigint FROM (SELECT g, count(*) AS c FROM grouped GROUP BY g) t";
    assert_eq!(told(&connection, sql), ["[BigInt(96020)]"]);
}
