//! Materialized views that commits keep current: the query's result after every statement, whatever changed its table.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::common::{Random, connect, fails, rows};
use cairndb::{Connection, Database, Result};

const TABLE: &str = "CREATE TABLE vote (id int PRIMARY KEY, article int, voter text, points smallint, big bigint,
         price numeric(12, 2), is_valid boolean, at date);
     CREATE INDEX ON vote (article); CREATE INDEX ON vote (points) WHERE is_valid; CREATE INDEX ON vote (upper(voter), price);";

/// A view, and what tells its rows apart.
const VIEWS: &[&str] = &[
    "SELECT article, count(*) AS votes FROM vote GROUP BY article",
    "SELECT article, count(*) AS n, count(voter) AS voters, sum(points) AS points, avg(points) AS mean,
         sum(big) AS big, avg(big) AS big_mean, sum(price) AS price, avg(price) AS price_mean
     FROM vote GROUP BY article",
    "SELECT count(*) AS n, sum(price) AS price, avg(points) AS mean FROM vote",
    "SELECT voter, is_valid, sum(big) FILTER (WHERE is_valid) AS valid, count(*) FILTER (WHERE NOT is_valid) AS others
     FROM vote WHERE points > 0 GROUP BY voter, is_valid",
    "SELECT article % 3 AS third, upper(voter) AS v, count(*) AS n FROM vote WHERE article IS NOT NULL GROUP BY 1, 2",
    "SELECT price, count(*) FROM vote GROUP BY price HAVING count(*) > 1",
    "SELECT at, article, round(avg(price), 1) + 1 AS m FROM vote GROUP BY article, at",
    "SELECT article FROM vote GROUP BY article",
    "SELECT count(*) AS n FROM (SELECT article + 1 AS next, voter FROM vote WHERE is_valid) v WHERE v.next > 2",
    "SELECT big, count(*) AS n FROM vote GROUP BY big",
    "SELECT points, big, sum(points) AS s FROM vote GROUP BY big, points",
];

fn create(conn: &Connection) {
    for (at, query) in VIEWS.iter().enumerate() {
        conn.execute_script(&format!("CREATE MATERIALIZED VIEW v{at} WITH (maintained) AS {query}")).unwrap();
    }
}

fn compare(conn: &Connection, after: &str) {
    for (at, query) in VIEWS.iter().enumerate() {
        let sorted = |sql: &str| {
            let mut rows = rows(conn, sql);
            rows.sort();
            rows
        };
        assert_eq!(sorted(&format!("SELECT * FROM v{at}")), sorted(query), "v{at} after {after}");
    }
}

fn literal(random: &mut Random) -> String {
    let null = |random: &mut Random, value: String| if random.one_in(6) { "NULL".to_owned() } else { value };
    let article = random.below(5u32).to_string();
    let voter = format!("'{}'", random.pick(&["a", "b", "B", "", "xyz"]));
    let price = match random.below(12u32) {
        0 => "'NaN'".to_owned(),
        1 => "9999999999.99".to_owned(),
        other => format!("{}.{:02}", i64::from(other) - 5, random.below(100u32)),
    };
    let points = i64::from(random.below(20u32)) - 5;
    let big = if random.one_in(5) { i64::MAX } else { i64::from(random.below(9u32)) };
    let valid = random.pick(&["true", "false"]).to_string();
    let at = format!("'2024-01-0{}'", 1 + random.below(3u32));
    let values = [article, voter, points.to_string(), big.to_string(), price, valid, at];
    values.map(|value| null(random, value)).join(", ")
}

fn statement(random: &mut Random) -> String {
    let id = random.below(40u32);
    match random.below(13u32) {
        0..3 => format!("INSERT INTO vote VALUES ({id}, {}) ON CONFLICT DO NOTHING", literal(random)),
        3 => format!(
            "INSERT INTO vote VALUES ({id}, {}), ({}, {}) ON CONFLICT (id) DO UPDATE SET points = excluded.points, article = vote.article + 1",
            literal(random),
            id + 40,
            literal(random)
        ),
        4 => format!(
            "UPDATE vote SET (article, voter, points, big, price, is_valid, at) = ROW({}) WHERE id = {id}",
            literal(random)
        ),
        5 => format!("UPDATE vote SET points = points + 1 WHERE article = {}", random.below(5u32)),
        6 => format!("UPDATE vote SET id = id + 1000 WHERE id = {id} AND NOT EXISTS (SELECT FROM vote v WHERE v.id = {id} + 1000)"),
        7 => format!("UPDATE vote SET id = {id}, price = 1 WHERE id = {id} + 1000 AND NOT EXISTS (SELECT FROM vote v WHERE v.id = {id})"),
        8 => format!("DELETE FROM vote WHERE id = {id}"),
        9 => format!("DELETE FROM vote WHERE article = {} AND points < 3", random.below(5u32)),
        10 => "INSERT INTO vote SELECT g, g % 4, 'bulk', g % 7, g, g, true FROM generate_series(2000, 2150) g ON CONFLICT DO NOTHING".to_owned(),
        11 => format!(
            "MERGE INTO vote v USING (VALUES ({id})) s(id) ON v.id = s.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (s.id, {})",
            literal(random)
        ),
        _ => match random.below(4u32) {
            0 => "TRUNCATE vote".to_owned(),
            1 => "DELETE FROM vote".to_owned(),
            2 => "UPDATE vote SET article = article + 1 WHERE id < 20".to_owned(),
            _ => format!("REFRESH MATERIALIZED VIEW v{}", random.below(VIEWS.len())),
        },
    }
}

#[test]
fn they_are_what_the_query_gives_after_every_statement() {
    for seed in 0..4 {
        let conn = connect(TABLE);
        let mut random = Random(seed);
        for _ in 0..seed * 15 {
            drop(conn.execute(&statement(&mut random), ()));
        }
        create(&conn);
        compare(&conn, "CREATE");
        for _ in 0..150 {
            let sql = statement(&mut random);
            conn.execute(&sql, ()).unwrap();
            compare(&conn, &sql);
        }
    }
}

#[test]
fn in_transactions_they_show_what_was_done_and_go_back_with_it() {
    for seed in 10..16 {
        let conn = connect(TABLE);
        create(&conn);
        let mut random = Random(seed);
        for _ in 0..30 {
            conn.execute("BEGIN", ()).unwrap();
            for _ in 0..random.below(5u32) {
                let sql = statement(&mut random);
                conn.execute(&sql, ()).unwrap();
                compare(&conn, &sql);
            }
            conn.execute("SAVEPOINT s", ()).unwrap();
            for _ in 0..random.below(5u32) {
                conn.execute(&statement(&mut random), ()).unwrap();
            }
            compare(&conn, "several");
            if random.one_in(2) {
                conn.execute("ROLLBACK TO s", ()).unwrap();
                compare(&conn, "ROLLBACK TO");
            }
            conn.execute(if random.one_in(3) { "ROLLBACK" } else { "COMMIT" }, ()).unwrap();
            compare(&conn, "the end");
        }
        conn.execute("ALTER TABLE vote RENAME COLUMN article TO item", ()).unwrap();
        conn.execute("ALTER TABLE vote RENAME TO ballot", ()).unwrap();
        conn.execute("ALTER TABLE ballot ADD COLUMN more text DEFAULT 'x'", ()).unwrap();
        conn.execute("INSERT INTO ballot (id, item) VALUES (-1, 3)", ()).unwrap();
        let counted = "SELECT item, count(*) FROM ballot GROUP BY item ORDER BY 1";
        assert_eq!(rows(&conn, "SELECT * FROM v0 ORDER BY 1"), rows(&conn, counted));
    }
}

#[test]
fn they_outlive_the_process_and_are_verified() -> Result<()> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("votes.db");
    let mut random = Random(77);
    for round in 0..4 {
        let database = Database::open(&path)?;
        let conn = database.connect()?;
        if round == 0 {
            conn.execute_script(TABLE)?;
            create(&conn);
        }
        compare(&conn, "opening");
        for _ in 0..40 {
            conn.execute(&statement(&mut random), ())?;
        }
        compare(&conn, "statements");
        database.verify()?;
        conn.execute_script("ANALYZE; VACUUM; ANALYZE v1; REINDEX TABLE vote")?;
        compare(&conn, "upkeep");
        drop(conn);
        database.close()?;
    }
    Ok(())
}

#[test]
fn a_salvage_makes_them_anew() -> Result<()> {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("from.db"), dir.path().join("to.db"));
    {
        let database = Database::open(&from)?;
        let conn = database.connect()?;
        conn.execute_script(TABLE)?;
        create(&conn);
        let mut random = Random(5);
        for _ in 0..60 {
            conn.execute(&statement(&mut random), ())?;
        }
        drop(conn);
        database.close()?;
    }
    let report = cairndb::salvage(&from, &to)?;
    assert_eq!(report.notes, [""; 0]);
    let database = Database::open(&to)?;
    compare(&database.connect()?, "salvage");
    database.verify()?;
    Ok(())
}

#[test]
fn writers_of_one_group_are_in_nobodys_way() -> Result<()> {
    let database = Arc::new(Database::open_in_memory()?);
    database.connect()?.execute_script(
        "CREATE TABLE vote (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, article int NOT NULL);
         CREATE MATERIALIZED VIEW votes WITH (maintained = commit) AS
             SELECT article, count(*) AS votes FROM vote GROUP BY article",
    )?;
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let database = database.clone();
            std::thread::spawn(move || {
                let conn = database.connect().unwrap();
                let mut insert = conn.prepare("INSERT INTO vote (article) VALUES ($1)").unwrap();
                for round in 0..300 {
                    if (round + writer) % 3 == 0 {
                        // Without trying again: a conflict would be told.
                        conn.execute("BEGIN", ()).unwrap();
                        (0..3).for_each(|article| assert_eq!(insert.execute([article]).unwrap(), 1));
                        conn.execute("COMMIT", ()).unwrap();
                    } else {
                        (0..3).for_each(|article| assert_eq!(insert.execute([article]).unwrap(), 1));
                    }
                }
            })
        })
        .collect();
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    assert_eq!(rows(&database.connect()?, "SELECT * FROM votes ORDER BY 1"), ["0|1200", "1|1200", "2|1200"]);
    database.verify()?;
    Ok(())
}

#[test]
fn a_row_of_one_is_read_by_its_key() {
    let conn = connect(TABLE);
    create(&conn);
    conn.execute_script("INSERT INTO vote (id, article) SELECT g, g % 5000 FROM generate_series(1, 20000) g").unwrap();
    let plan = rows(&conn, "EXPLAIN SELECT votes FROM v0 WHERE article = 7").join("\n");
    assert!(plan.contains("Index Cond") || plan.contains("Point"), "{plan}");
    assert_eq!(rows(&conn, "SELECT votes FROM v0 WHERE article = 7"), ["4"]);
    assert_eq!(rows(&conn, "SELECT votes FROM v0 WHERE article = 70000"), [""; 0]);
    conn.execute_script("INSERT INTO vote (id) VALUES (-1), (-2)").unwrap();
    assert_eq!(rows(&conn, "SELECT votes FROM v0 WHERE article IS NULL"), ["2"]);
    assert_eq!(rows(&conn, "SELECT votes FROM v0 WHERE article = NULL"), [""; 0]);
    assert_eq!(rows(&conn, "SELECT count(*), sum(votes) FROM v0 WHERE article > 4990"), ["9|36"]);
    assert_eq!(rows(&conn, "SELECT count(*) FROM v0 WHERE article < 10 OR article IS NULL"), ["11"]);
    assert_eq!(rows(&conn, "SELECT article FROM v0 ORDER BY article DESC LIMIT 2"), ["NULL", "4999"]);
    assert_eq!(rows(&conn, "SELECT article FROM v0 ORDER BY article NULLS FIRST LIMIT 2"), ["NULL", "0"]);
    assert_eq!(rows(&conn, "SELECT count(*) FROM v0 a JOIN v0 b USING (article)"), ["5000"]);
    assert_eq!(rows(&conn, "SELECT count(*) FROM v0 a WHERE article NOT IN (SELECT article FROM v0)"), ["0"]);
    assert_eq!(rows(&conn, "SELECT count(DISTINCT article), count(article), count(*) FROM v0"), ["5000|5000|5001"]);
}

#[test]
fn what_commits_can_not_keep_is_refused_with_the_part_that_is_in_the_way() {
    let conn = connect(TABLE);
    conn.execute_script(
        "CREATE FUNCTION f(n int) RETURNS int IMMUTABLE LANGUAGE sql RETURN n; CREATE VIEW w AS SELECT * FROM vote;
         CREATE DOMAIN positive AS int CHECK (VALUE > 0); CREATE TYPE feeling AS ENUM ('good', 'bad');
         CREATE TABLE felt (mood feeling)",
    )
    .unwrap();
    for (query, what) in [
        ("SELECT article FROM vote", "a query without groups"),
        ("SELECT article, max(points) FROM vote GROUP BY article", "max(smallint)"),
        ("SELECT article, sum(points::float8) FROM vote GROUP BY article", "sum(double precision)"),
        ("SELECT article, sum(price * 2) FROM vote GROUP BY article", "sum(numeric)"),
        ("SELECT article, count(DISTINCT voter) FROM vote GROUP BY article", "count(DISTINCT ...)"),
        ("SELECT a.article, count(*) FROM vote a JOIN vote b USING (id) GROUP BY 1", "a join under its groups"),
        ("SELECT article, count(*) FROM vote GROUP BY article ORDER BY 1", "ORDER BY"),
        ("SELECT article, count(*) FROM vote GROUP BY article LIMIT 5", "LIMIT"),
        ("SELECT f(article), count(*) FROM vote GROUP BY 1", "a function of the schema's"),
        ("SELECT article, count(*) FROM vote WHERE at < current_date GROUP BY 1", "not immutable"),
        ("SELECT points::float8, count(*) FROM vote GROUP BY 1", "a group of type double precision"),
        ("SELECT article, count(*), rank() OVER (ORDER BY article) FROM vote GROUP BY 1", "a window function"),
        ("SELECT article, count(*) FROM vote GROUP BY ROLLUP (article)", "in the way"),
        ("SELECT article::positive, count(*) FROM vote GROUP BY 1", "a cast to a domain"),
        ("SELECT mood::text, count(*) FROM vote, felt GROUP BY 1", "a join"),
        ("SELECT mood::text, count(*) FROM felt GROUP BY 1", "not immutable"),
        ("SELECT voter::feeling, count(*) FROM vote GROUP BY 1", "not immutable"),
        ("SELECT DISTINCT count(*) FROM vote GROUP BY article", "DISTINCT"),
    ] {
        let error = fails(&conn, &format!("CREATE MATERIALIZED VIEW v WITH (maintained = commit) AS {query}"), "0A000");
        assert!(what == "in the way" || error.message().contains(what), "{query}: {}", error.message());
    }
    // A view is what it is made of.
    conn.execute_script(
        "CREATE MATERIALIZED VIEW v WITH (maintained) AS SELECT article, count(*) FROM w GROUP BY article",
    )
    .unwrap();
    fails(&conn, "CREATE INDEX ON v (count)", "0A000");
    fails(&conn, "INSERT INTO v VALUES (1, 2)", "42809");
    fails(&conn, "ALTER TABLE vote DROP COLUMN article", "2BP01");
    fails(&conn, "ALTER TABLE vote ALTER COLUMN article TYPE text", "0A000");
    fails(&conn, "DROP TABLE vote", "2BP01");
    fails(&conn, "CREATE MATERIALIZED VIEW z WITH (maintained = often) AS SELECT count(*) FROM vote", "22023");
    fails(&conn, "CREATE MATERIALIZED VIEW z WITH (maintained, maintained) AS SELECT count(*) FROM vote", "22023");
    conn.execute_script("DROP TABLE vote CASCADE").unwrap();
    fails(&conn, "SELECT * FROM v", "42P01");
}

#[test]
fn what_is_made_of_a_view_that_is_replaced_is_kept_by_the_new_one() {
    let conn = connect(
        "CREATE TABLE t (id int PRIMARY KEY, g int, x int); CREATE TABLE other (id int PRIMARY KEY, g int, x int);
         INSERT INTO t SELECT i, i % 4, i FROM generate_series(1, 20) i; INSERT INTO other VALUES (1, 1, 1);
         CREATE VIEW w AS SELECT g, x FROM t WHERE x > 5; CREATE VIEW w2 AS SELECT g, x FROM w;
         CREATE MATERIALIZED VIEW v WITH (maintained) AS SELECT g, count(*) AS n, sum(x) AS s FROM w2 GROUP BY g;
         CREATE MATERIALIZED VIEW beside WITH (maintained) AS SELECT g, count(*) AS n FROM t GROUP BY g;",
    );
    let mut insert = conn.prepare("INSERT INTO t VALUES ($1, 1, $1)").unwrap();
    let mut id = 100;
    let mut compare = |after: &str| {
        for table in ["t", "other"] {
            conn.execute_script(&format!("INSERT INTO {table} VALUES ({id}, 1, 7), ({}, 1, {id})", id + 1)).unwrap();
            conn.execute_script(&format!("DELETE FROM {table} WHERE g = 2 OR id = {id}")).unwrap();
        }
        insert.execute([id + 2]).unwrap();
        id += 3;
        let of_view = "SELECT g, count(*), sum(x) FROM w2 GROUP BY g ORDER BY g";
        assert_eq!(rows(&conn, "SELECT * FROM v ORDER BY g"), rows(&conn, of_view), "{after}");
        let of_table = "SELECT g, count(*) FROM t GROUP BY g ORDER BY g";
        assert_eq!(rows(&conn, "SELECT * FROM beside ORDER BY g"), rows(&conn, of_table), "{after}");
    };
    compare("CREATE");
    for query in [
        "SELECT g, x FROM t WHERE x > 15",
        "SELECT x AS g, g AS x FROM t",
        "SELECT g, x FROM other",
        "SELECT g, x, id FROM other WHERE id > 2",
        "SELECT g, x, id FROM t",
    ] {
        conn.execute_script(&format!("CREATE OR REPLACE VIEW w AS {query}")).unwrap();
        compare(query);
    }
    let error = fails(&conn, "CREATE OR REPLACE VIEW w AS SELECT g, x, id FROM t LIMIT 5", "0A000");
    assert!(error.detail().is_some_and(|detail| detail.contains("\"v\"")), "{error:?}");
    compare("what was refused");
    conn.execute_script(
        "REFRESH MATERIALIZED VIEW v WITH NO DATA; CREATE OR REPLACE VIEW w AS SELECT g, x, id FROM other",
    )
    .unwrap();
    fails(&conn, "SELECT * FROM v", "55000");
    conn.execute_script("REFRESH MATERIALIZED VIEW v").unwrap();
    compare("REFRESH");
    fails(&conn, "DROP TABLE other", "2BP01");
    conn.execute_script("DROP TABLE other CASCADE; DELETE FROM t").unwrap();
    assert_eq!(rows(&conn, "SELECT * FROM beside"), [""; 0]);
    conn.database().verify().unwrap();
}

#[test]
fn a_group_that_is_too_long_is_told_with_its_view() {
    let conn = connect("CREATE TABLE t (id int PRIMARY KEY, g text)");
    let create = "CREATE MATERIALIZED VIEW v WITH (maintained) AS SELECT g, count(*) FROM t GROUP BY g";
    conn.execute_script(create).unwrap();
    let mut insert = conn.prepare("INSERT INTO t VALUES ($1, repeat('a', $2))").unwrap();
    insert.execute((1, 300)).unwrap();
    let is_told = |error: &cairndb::Error| error.message().contains("\"v\"") && error.hint().is_some();
    let error = insert.execute((2, 3000)).unwrap_err();
    assert!(error.sqlstate().0 == "54000" && is_told(&error), "{error:?}");
    let error = fails(&conn, "INSERT INTO t SELECT i, repeat('a', i * 10) FROM generate_series(10, 200) i", "54000");
    assert!(is_told(&error), "{error:?}");
    assert_eq!(rows(&conn, "SELECT length(g), count FROM v"), ["300|1"]);
    conn.execute_script("DROP MATERIALIZED VIEW v; INSERT INTO t VALUES (3, repeat('a', 3000))").unwrap();
    assert!(is_told(&fails(&conn, create, "54000")));
}

#[test]
fn dropped_and_emptied_views_cost_nothing_and_come_back() {
    let conn = connect(TABLE);
    create(&conn);
    let mut insert = conn.prepare("INSERT INTO vote (id, article) VALUES ($1, 1)").unwrap();
    insert.execute([1]).unwrap();
    conn.execute_script("REFRESH MATERIALIZED VIEW v0 WITH NO DATA").unwrap();
    insert.execute([2]).unwrap();
    fails(&conn, "SELECT * FROM v0", "55000");
    conn.execute_script("REFRESH MATERIALIZED VIEW CONCURRENTLY v0").unwrap();
    insert.execute([3]).unwrap();
    assert_eq!(rows(&conn, "SELECT * FROM v0"), ["1|3"]);
    conn.execute_script("DROP MATERIALIZED VIEW v0").unwrap();
    insert.execute([4]).unwrap();
    let create = "CREATE MATERIALIZED VIEW v0 WITH (maintained) AS SELECT article, count(*) AS n FROM vote GROUP BY 1 WITH NO DATA";
    conn.execute_script(create).unwrap();
    insert.execute([5]).unwrap();
    conn.execute_script("REFRESH MATERIALIZED VIEW v0; ALTER MATERIALIZED VIEW v0 RENAME COLUMN n TO votes").unwrap();
    insert.execute([6]).unwrap();
    assert_eq!(rows(&conn, "SELECT votes FROM v0 WHERE article = 1"), ["6"]);
    assert_eq!(rows(&conn, "SELECT reloptions FROM pg_class WHERE relname = 'v0'"), ["{maintained=commit}"]);
}

#[test]
fn a_sum_that_fits_no_result_is_told_when_it_is_read() {
    let conn = connect("CREATE TABLE t (g int, n int, d numeric(28, 0))");
    conn.execute_script(
        "CREATE MATERIALIZED VIEW v WITH (maintained) AS SELECT g, sum(n) AS n, count(*) AS c FROM t GROUP BY g;
         INSERT INTO t SELECT 1, 2147483647 FROM generate_series(1, 10)",
    )
    .unwrap();
    assert_eq!(rows(&conn, "SELECT n FROM v"), ["21474836470"]);
    // What can not be evaluated for a row keeps the row out.
    conn.execute_script(
        "CREATE MATERIALIZED VIEW w WITH (maintained) AS SELECT 10 / g AS q, count(*) FROM t GROUP BY 1",
    )
    .unwrap();
    fails(&conn, "INSERT INTO t VALUES (0, 1)", "22012");
    let mut insert = conn.prepare("INSERT INTO t VALUES ($1, 1)").unwrap();
    assert_eq!(insert.execute([0]).unwrap_err().sqlstate().0, "22012");
    assert_eq!(rows(&conn, "SELECT count(*) FROM t"), ["10"]);
    insert.execute([2]).unwrap();
    assert_eq!(rows(&conn, "SELECT * FROM w ORDER BY 1"), ["5|1", "10|10"]);
}

#[test]
fn whoever_writes_while_one_is_made_is_counted_or_tries_again() -> Result<()> {
    const VIEW: &str = "CREATE MATERIALIZED VIEW v WITH (maintained) AS SELECT g, count(*) AS n FROM t GROUP BY g";
    for (writer_first, more) in [(true, 1), (true, 200), (false, 1), (false, 200)] {
        let database = Database::open_in_memory()?;
        let (writer, maker) = (database.connect()?, database.connect()?);
        writer.execute_script("CREATE TABLE t (g int); INSERT INTO t VALUES (1)")?;
        let write = || writer.execute("INSERT INTO t SELECT 1 FROM generate_series(1, $1)", [more]);
        writer.execute("BEGIN", ())?;
        maker.execute("BEGIN", ())?;
        write()?;
        maker.execute(VIEW, ())?;
        let (first, last) = if writer_first { (&writer, &maker) } else { (&maker, &writer) };
        first.execute("COMMIT", ())?;
        assert_eq!(last.execute("COMMIT", ()).expect_err("they are in each other's way").sqlstate().0, "40001");
        let _affected = match writer_first {
            true => maker.execute(VIEW, ())?,
            false => write()?,
        };
        assert_eq!(rows(&writer, "SELECT * FROM v"), [format!("1|{}", more + 1)]);
        // And one that is filled anew.
        writer.execute("BEGIN", ())?;
        write()?;
        maker.execute("REFRESH MATERIALIZED VIEW v", ())?;
        assert_eq!(writer.execute("COMMIT", ()).expect_err("its groups are gone").sqlstate().0, "40001");
        assert_eq!(rows(&writer, "SELECT * FROM v"), [format!("1|{}", more + 1)]);
    }
    Ok(())
}

/// Rows change by other ways than statements that name the table.
const WAYS: &[&str] = &[
    "INSERT INTO child SELECT i, i % 5, i FROM generate_series(1, 100) i",
    "DELETE FROM parent WHERE id = 1",
    "UPDATE parent SET id = 22 WHERE id = 2",
    "BEGIN; DELETE FROM parent WHERE id = 3; SAVEPOINT s; DELETE FROM parent WHERE id = 22; ROLLBACK TO s; COMMIT",
    "WITH gone AS (DELETE FROM child WHERE id < 10 RETURNING *) INSERT INTO child SELECT id + 1000, p, x FROM gone",
    "UPDATE child SET x = v.x FROM (VALUES (20, 5), (21, NULL)) v(id, x) WHERE child.id = v.id",
    "DELETE FROM child USING (VALUES (22), (23)) v(id) WHERE child.id = v.id",
    "DO $$ BEGIN BEGIN DELETE FROM child; INSERT INTO child VALUES (1, 4, 1); RAISE EXCEPTION 'no';
         EXCEPTION WHEN OTHERS THEN NULL; END; INSERT INTO child VALUES (2000, 4, 13), (2001, 4, 14); END $$",
    "ALTER TABLE child ADD COLUMN r double precision DEFAULT random()",
    "ALTER TABLE child ADD COLUMN late int DEFAULT 7",
    "CREATE MATERIALIZED VIEW late WITH (maintained) AS SELECT late, count(*) AS n FROM child GROUP BY late",
    "ALTER TABLE child ALTER COLUMN r TYPE text",
    "ALTER TABLE child DROP CONSTRAINT child_pkey",
    "UPDATE child SET late = 8 WHERE id % 3 = 0",
    "INSERT INTO child (id, p, x) VALUES (30, 4, 1), (30, 4, 2)",
    "DELETE FROM child WHERE id = 30",
    "ALTER TABLE child DROP COLUMN r, ADD PRIMARY KEY (id)",
    "UPDATE child SET id = id + 5000",
    "BEGIN; TRUNCATE parent CASCADE; INSERT INTO parent VALUES (4); INSERT INTO child VALUES (1, 4, 4); ROLLBACK",
    "TRUNCATE parent CASCADE",
    "INSERT INTO parent VALUES (0), (4); INSERT INTO child VALUES (1, 4, 4)",
];

#[test]
fn whatever_changes_rows_is_counted() {
    const COUNTED: &str = "SELECT p, count(*) AS n, sum(x) AS s FROM child GROUP BY p";
    for action in ["CASCADE", "SET NULL", "SET DEFAULT"] {
        let conn = connect(&format!(
            "CREATE TABLE parent (id int PRIMARY KEY); INSERT INTO parent SELECT generate_series(0, 4);
             CREATE TABLE child (gone text, id int PRIMARY KEY,
                 p int DEFAULT 0 REFERENCES parent ON DELETE {action} ON UPDATE {action} DEFERRABLE INITIALLY DEFERRED, x int);
             ALTER TABLE child DROP COLUMN gone;
             CREATE FUNCTION counted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                 IF new.x = 13 THEN RETURN NULL; END IF; new.x := new.x + 1; RETURN new; END $$;
             CREATE TRIGGER counted BEFORE INSERT OR UPDATE OF x ON child FOR EACH ROW EXECUTE FUNCTION counted();
             CREATE MATERIALIZED VIEW v WITH (maintained = commit) AS {COUNTED};
             CREATE MATERIALIZED VIEW w WITH (maintained = commit) AS SELECT count(*) AS n FROM parent"
        ));
        let compare = |after: &str| {
            let of = |sql: &str| rows(&conn, &format!("{sql} ORDER BY 1"));
            assert_eq!(of("SELECT * FROM v"), of(COUNTED), "{action}: {after}");
            assert_eq!(of("SELECT * FROM w"), of("SELECT count(*) FROM parent"), "{action}: {after}");
        };
        for sql in WAYS {
            conn.execute_script(sql).unwrap_or_else(|error| panic!("{action}: {sql}: {error:?}"));
            compare(sql);
        }
        // What fails at its end leaves nothing.
        let error = conn.execute_script("BEGIN; INSERT INTO child VALUES (77, 1, 99); COMMIT").unwrap_err();
        assert_eq!(error.sqlstate().0, "23503");
        compare("COMMIT");
        conn.database().verify().unwrap();
    }
}

#[test]
fn rows_that_are_copied_are_counted() -> Result<()> {
    let conn = connect(
        "CREATE TABLE t (id int PRIMARY KEY, g text);
         CREATE MATERIALIZED VIEW v WITH (maintained = commit) AS SELECT g, count(*) AS n FROM t GROUP BY g",
    );
    conn.copy_in("COPY t FROM STDIN", &b"1\ta\n2\tb\n3\t\\N\n"[..])?;
    conn.copy_in("COPY t FROM STDIN (FORMAT csv)", &b"4,a\n5,\n"[..])?;
    let mut binary = Vec::new();
    conn.copy_out("COPY t TO STDOUT (FORMAT binary)", &mut binary)?;
    conn.execute("UPDATE t SET id = id + 10", ())?;
    conn.copy_in("COPY t FROM STDIN (FORMAT binary)", &binary[..])?;
    conn.append("t", &["id", "g"], (100..400).map(|id| (id, "c")))?;
    assert!(conn.copy_in("COPY t FROM STDIN", &b"500\td\n1\ta\n"[..]).is_err());
    assert_eq!(rows(&conn, "SELECT * FROM v ORDER BY g"), ["a|4", "b|2", "c|300", "NULL|4"]);
    conn.database().verify()?;
    Ok(())
}

/// One of many threads' changes.
fn change(conn: &Connection, random: &mut Random) -> Result<()> {
    let (id, g) = (random.below(60u32), random.below(3u32));
    let sql = match random.below(9u32) {
        0..3 => {
            format!("INSERT INTO t VALUES ({id}, {g}, 5) ON CONFLICT (id) DO UPDATE SET g = excluded.g, x = t.x + 1")
        }
        3..5 => format!("UPDATE t SET x = x + 3, g = {g} WHERE id = {id}"),
        5 => format!("DELETE FROM t WHERE id = {id}"),
        6 => format!("UPDATE t SET x = x + 1 WHERE g = {g}"),
        7 => format!(
            "INSERT INTO t SELECT i, i % 3, 1 FROM generate_series(100, 100 + {id} * 5) i ON CONFLICT DO NOTHING"
        ),
        _ => {
            conn.execute("BEGIN", ())?;
            conn.execute(&format!("UPDATE t SET x = x + 3, g = {g} WHERE id = {id}"), ())?;
            conn.execute("SAVEPOINT a", ())?;
            conn.execute(&format!("DELETE FROM t WHERE id <= {id}"), ())?;
            if random.one_in(2) {
                conn.execute("ROLLBACK TO a", ())?;
            }
            "COMMIT".to_owned()
        }
    };
    conn.execute(&sql, ()).map(drop)
}

#[test]
fn threads_change_rows_while_views_come_and_go() -> Result<()> {
    let database = Arc::new(Database::open_in_memory()?);
    let conn = database.connect()?;
    conn.execute_script(
        "CREATE TABLE t (id int PRIMARY KEY, g int, x int);
         CREATE MATERIALIZED VIEW v WITH (maintained = commit) AS SELECT g, count(*) AS n, sum(x) AS s FROM t GROUP BY g",
    )?;
    let stop = Arc::new(AtomicBool::new(false));
    let begin = |seed: u64, step: fn(&Connection, &mut Random) -> Result<()>| {
        let (database, stop) = (database.clone(), stop.clone());
        std::thread::spawn(move || {
            let (conn, mut random) = (database.connect().unwrap(), Random(seed));
            while !stop.load(Ordering::Relaxed) {
                match step(&conn, &mut random) {
                    Ok(()) => {}
                    Err(error) if matches!(error.sqlstate().0, "40001" | "42P01") => {
                        if conn.in_transaction() {
                            conn.execute("ROLLBACK", ()).unwrap();
                        }
                    }
                    Err(error) => panic!("{error:?}"),
                }
            }
        })
    };
    let mut threads: Vec<_> = (0..3).map(|seed| begin(seed, change)).collect();
    threads.push(begin(9, |conn, random| {
        let n = random.below(3u32);
        std::thread::sleep(Duration::from_millis(random.below(5u32).into()));
        conn.execute_script(&match random.below(6u32) {
            0..3 => format!(
                "CREATE MATERIALIZED VIEW IF NOT EXISTS v{n} WITH (maintained) AS SELECT g, count(*) FROM t GROUP BY g"
            ),
            3 => format!("DROP MATERIALIZED VIEW IF EXISTS v{n}"),
            4 => "REFRESH MATERIALIZED VIEW v".to_owned(),
            _ => "TRUNCATE t".to_owned(),
        })
        .map(drop)
    }));
    let until = Instant::now() + Duration::from_millis(800);
    while Instant::now() < until {
        let differs = "SELECT g, n, s FROM v EXCEPT SELECT g, count(*), sum(x) FROM t GROUP BY g";
        assert_eq!(rows(&conn, differs), [""; 0]);
    }
    stop.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    database.verify()?;
    Ok(())
}
