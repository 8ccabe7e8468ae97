//! Materialized views that follow their queries: the query's result at the position that they name, whatever happens.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use crate::common::{Random, beyond, connect, fails, rows};
use cairndb::{Connection, Database, Result};

const LONG: Duration = Duration::from_secs(30);
const TABLES: &str =
    "CREATE SCHEMA s; CREATE TABLE item (id int PRIMARY KEY, shop int, name text, price numeric(8, 2));
     CREATE TABLE s.shop (id int PRIMARY KEY, city text);
     CREATE INDEX ON item (shop);
     INSERT INTO s.shop SELECT g, 'city ' || g % 3 FROM generate_series(0, 9) g;";

const VIEWS: &[&str] = &[
    "SELECT name FROM item",
    "SELECT shop, max(price) AS dear, min(name) AS first FROM item GROUP BY shop",
    "SELECT i.id, i.name, o.city FROM item i JOIN s.shop o ON o.id = i.shop WHERE i.price > 3",
    "SELECT o.city, count(i.id) AS n, sum(i.price * 2) AS twice FROM s.shop o LEFT JOIN item i ON i.shop = o.id GROUP BY o.city",
    "SELECT DISTINCT name, shop FROM item",
    "SELECT id, price, rank() OVER (PARTITION BY shop ORDER BY price DESC) AS place FROM item",
    "SELECT id, name FROM item ORDER BY price DESC, id LIMIT 5",
    "SELECT avg(price::float8) AS mean FROM item",
    "SELECT id FROM item i WHERE NOT EXISTS (SELECT 1 FROM s.shop o WHERE o.id = i.shop) UNION ALL SELECT -1",
];

fn create(conn: &Connection) {
    for (at, query) in VIEWS.iter().enumerate() {
        conn.execute_script(&format!("CREATE MATERIALIZED VIEW v{at} WITH (maintained) AS {query}")).unwrap();
    }
    conn.execute_script("CREATE INDEX ON v1 (shop); CREATE INDEX ON v2 (city, id); CREATE INDEX ON v0 ((upper(name)))")
        .unwrap();
}

fn compare(conn: &Connection, after: &str) {
    let position = conn.position().unwrap_or_else(|| conn.change_token().unwrap());
    for (at, query) in VIEWS.iter().enumerate() {
        let sorted = |sql: &str| {
            let mut rows = rows(conn, sql);
            rows.sort();
            rows
        };
        assert!(conn.wait_for_view(&format!("v{at}"), position, LONG).unwrap(), "v{at} after {after}");
        assert_eq!(sorted(&format!("SELECT * FROM v{at}")), sorted(query), "v{at} after {after}");
    }
}

fn statement(random: &mut Random) -> String {
    let (id, shop, name) = (random.below(60u32), random.below(12u32), random.below(4u32));
    let price = format!("{}.{:02}", random.below(9u32), random.below(100u32));
    match random.below(11u32) {
        0..4 => format!(
            "INSERT INTO item VALUES ({id}, {shop}, 'name {name}', {price}) ON CONFLICT (id) DO UPDATE SET price = excluded.price"
        ),
        4 => format!("UPDATE item SET shop = {shop} WHERE id = {id}"),
        5 => format!("UPDATE item SET name = 'name {name}', price = {price} WHERE shop = {shop}"),
        6 => format!("DELETE FROM item WHERE id = {id}"),
        7 => format!("UPDATE s.shop SET city = 'city {name}' WHERE id = {shop}"),
        8 => format!(
            "INSERT INTO item SELECT g, g % 9, 'bulk', g % 5 FROM generate_series({id}, {id} + 30) g ON CONFLICT DO NOTHING"
        ),
        9 => format!("DELETE FROM s.shop WHERE id = {shop}"),
        _ => match random.below(4u32) {
            0 => "TRUNCATE item".to_owned(),
            1 => format!("INSERT INTO s.shop VALUES ({shop}, 'new') ON CONFLICT DO NOTHING"),
            2 => format!("REFRESH MATERIALIZED VIEW v{}", random.below(VIEWS.len())),
            _ => "BEGIN; UPDATE item SET price = price + 1; DELETE FROM item WHERE id % 7 = 0; COMMIT".to_owned(),
        },
    }
}

#[test]
fn they_are_what_the_query_gives_once_they_are_waited_for() {
    for seed in 0..3 {
        let conn = connect(TABLES);
        let mut random = Random(seed);
        for _ in 0..10 {
            conn.execute_script(&statement(&mut random)).ok();
        }
        create(&conn);
        compare(&conn, "CREATE");
        for _ in 0..60 {
            let sql = statement(&mut random);
            conn.execute_script(&sql).unwrap();
            if random.one_in(3) {
                compare(&conn, &sql);
            }
        }
        compare(&conn, "all");
        conn.database().verify().unwrap();
    }
}

#[test]
fn they_go_on_after_the_database_was_opened_again() -> Result<()> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("items.db");
    let mut random = Random(7);
    for round in 0..4 {
        let database = Database::open(&path)?;
        let conn = database.connect()?;
        if round == 0 {
            conn.execute_script(TABLES)?;
            create(&conn);
        }
        for _ in 0..20 {
            conn.execute_script(&statement(&mut random))?;
        }
        if round % 2 == 0 {
            compare(&conn, "statements");
        }
        drop(conn);
        // Whatever they had not written yet.
        database.close()?;
    }
    let conn = Database::open(&path)?.connect()?;
    compare(&conn, "opening");
    conn.database().verify()?;
    Ok(())
}

#[test]
fn a_change_is_one_commit_of_the_view_and_what_is_beside_it_stays() -> Result<()> {
    let conn = connect(TABLES);
    conn.execute_script(
        "CREATE MATERIALIZED VIEW v WITH (maintained = after) AS SELECT shop, count(*) AS n FROM item GROUP BY shop;
        INSERT INTO item SELECT g, g % 10, 'x', 1 FROM generate_series(1, 1000) g",
    )?;
    assert!(conn.wait_for_view("v", conn.position().unwrap(), LONG)?);
    let mut live = conn.live("SELECT shop, n FROM v", ())?;
    assert_eq!(live.next_change()?.unwrap().added().count(), 10);
    conn.execute("UPDATE item SET shop = 11 WHERE id = 10", ())?;
    let change = live.next_change()?.unwrap();
    assert_eq!((change.added().count(), change.removed().count()), (2, 1));
    let position = conn.view_position("v")?.unwrap();
    assert!(position >= conn.position().unwrap());
    // What is nothing to it does not keep who waits.
    conn.execute("UPDATE item SET name = 'y'", ())?;
    assert!(conn.wait_for_view("v", conn.position().unwrap(), LONG)?);
    assert_eq!(conn.view_position("v")?, Some(position));
    assert!(!conn.wait_for_view("v", beyond(conn.position().unwrap(), 100_000), Duration::from_millis(20))?);
    Ok(())
}

#[test]
fn one_that_can_not_be_followed_any_more_says_why() -> Result<()> {
    let conn = connect("CREATE TABLE t (a int, b int); INSERT INTO t VALUES (6, 2)");
    conn.execute_script("CREATE MATERIALIZED VIEW v WITH (maintained = after) AS SELECT a / b AS c FROM t")?;
    assert_eq!(rows(&conn, "SELECT * FROM v"), ["3"]);
    conn.execute("INSERT INTO t VALUES (1, 0)", ())?;
    let error = conn.wait_for_view("v", conn.position().unwrap(), LONG).expect_err("it is stopped");
    assert_eq!(error.sqlstate().0, "55000");
    let error = fails(&conn, "SELECT * FROM v", "55000");
    assert!(error.detail().is_some_and(|detail| detail.contains("division by zero")), "{error:?}");
    fails(&conn, "REFRESH MATERIALIZED VIEW v", "22012");
    conn.execute_script("DELETE FROM t WHERE b = 0; REFRESH MATERIALIZED VIEW v; INSERT INTO t VALUES (8, 2)")?;
    assert!(conn.wait_for_view("v", conn.position().unwrap(), LONG)?);
    assert_eq!(rows(&conn, "SELECT * FROM v ORDER BY 1"), ["3", "4"]);
    Ok(())
}

#[test]
fn one_of_a_view_that_is_not_populated_goes_on_once_that_is() -> Result<()> {
    let conn = connect(
        "CREATE TABLE t (a int); INSERT INTO t VALUES (1);
         CREATE MATERIALIZED VIEW plain AS SELECT a FROM t;
         CREATE MATERIALIZED VIEW kept WITH (maintained = commit) AS SELECT a, count(*) AS n FROM t GROUP BY a;
         CREATE MATERIALIZED VIEW of_plain WITH (maintained = after) AS SELECT a FROM plain;
         CREATE MATERIALIZED VIEW of_kept WITH (maintained = after) AS SELECT sum(n) AS n FROM kept",
    );
    let mut last = 1;
    for base in ["plain", "kept", "plain"] {
        conn.execute_script(&format!("REFRESH MATERIALIZED VIEW {base} WITH NO DATA"))?;
        let of_it = format!("of_{base}");
        assert!(!conn.wait_for_view(&of_it, conn.position().unwrap(), Duration::from_millis(50))?);
        last += 1;
        conn.execute_script(&format!("INSERT INTO t VALUES ({last}); REFRESH MATERIALIZED VIEW plain"))?;
        conn.execute_script("REFRESH MATERIALIZED VIEW kept")?;
        assert!(conn.wait_for_view("of_plain", conn.position().unwrap(), LONG)?);
        assert!(conn.wait_for_view("of_kept", conn.position().unwrap(), LONG)?);
        assert_eq!(rows(&conn, "SELECT max(a) FROM of_plain"), [last.to_string()]);
        assert_eq!(rows(&conn, "SELECT n FROM of_kept"), [last.to_string()]);
    }
    Ok(())
}

#[test]
fn functions_are_found_wherever_they_are() -> Result<()> {
    let conn = connect(
        "CREATE SCHEMA f; CREATE TABLE t (a int); INSERT INTO t VALUES (1);
         CREATE FUNCTION up(n int) RETURNS int LANGUAGE sql IMMUTABLE RETURN n + 1;
         CREATE FUNCTION f.\"Up\"(n int) RETURNS int LANGUAGE sql IMMUTABLE RETURN n + 10;
         CREATE FUNCTION f.all_to(n int) RETURNS SETOF int LANGUAGE sql IMMUTABLE AS 'SELECT generate_series(1, n)';
         SET search_path = public, f",
    );
    conn.execute_script(
        "CREATE MATERIALIZED VIEW v WITH (maintained) AS
             SELECT up(\"Up\"(a)) + f.\"Up\"(a) AS a, up(n => a) AS b FROM t;
         CREATE VIEW shown AS SELECT up(\"Up\"(a)) + f.\"Up\"(a) AS a, up(n => b) AS b FROM t, all_to(2) AS x(b);
         INSERT INTO t VALUES (2)",
    )?;
    assert!(conn.wait_for_view("v", conn.position().unwrap(), LONG)?);
    assert_eq!(rows(&conn, "SELECT * FROM v ORDER BY 1, 2"), ["23|2", "25|3"]);
    let shown = "SELECT pg_get_viewdef('public.shown'::regclass)";
    let here = " SELECT (up(\"Up\"(t.a)) + \"Up\"(t.a)) AS a,\n    up(n => x.b) AS b\n   FROM t,\n    all_to(2) x(b);";
    assert_eq!(rows(&conn, shown), [here]);
    conn.execute_script("SET search_path = ''")?;
    let elsewhere = " SELECT (public.up(f.\"Up\"(t.a)) + f.\"Up\"(t.a)) AS a,\n    public.up(n => x.b) AS b\n   FROM public.t,\n    f.all_to(2) x(b);";
    assert_eq!(rows(&conn, shown), [elsewhere]);
    // Another meaning of the function is another result, found when the view is filled anew at the latest.
    conn.execute_script("SET search_path = public; CREATE OR REPLACE FUNCTION up(n int) RETURNS int LANGUAGE sql IMMUTABLE RETURN n + 100;
        REFRESH MATERIALIZED VIEW v; INSERT INTO t VALUES (3)")?;
    assert!(conn.wait_for_view("v", conn.position().unwrap(), LONG)?);
    assert_eq!(rows(&conn, "SELECT max(a), max(b) FROM v"), ["126|103"]);
    Ok(())
}

#[test]
fn they_follow_what_is_renamed_and_end_with_what_is_dropped() -> Result<()> {
    let conn = connect(TABLES);
    conn.execute_script("CREATE MATERIALIZED VIEW v WITH (maintained = after) AS SELECT name, max(price) AS p FROM item GROUP BY name;
        CREATE MATERIALIZED VIEW w WITH (maintained) AS SELECT max(p) AS m FROM v;
        ALTER TABLE item RENAME TO thing; ALTER TABLE thing RENAME COLUMN price TO cost; ALTER MATERIALIZED VIEW v RENAME TO x;
        ALTER TABLE thing ADD COLUMN more int DEFAULT 5; INSERT INTO thing VALUES (1, 1, 'a', 4), (2, 1, 'a', 5)")?;
    assert!(conn.wait_for_view("x", conn.position().unwrap(), LONG)?);
    assert_eq!(rows(&conn, "SELECT * FROM x"), ["a|5.00"]);
    // A view of a view stands behind it.
    let position = conn.view_position("x")?.unwrap();
    assert!(conn.wait_for_view("w", beyond(position, 1), LONG)?);
    assert_eq!(rows(&conn, "SELECT * FROM w"), ["5.00"]);
    conn.execute_script("ALTER MATERIALIZED VIEW x SET SCHEMA s; DELETE FROM thing WHERE id = 2")?;
    assert!(conn.wait_for_view("s.x", conn.position().unwrap(), LONG)?);
    assert_eq!(rows(&conn, "SELECT * FROM s.x"), ["a|4.00"]);
    fails(&conn, "DROP TABLE thing", "2BP01");
    conn.execute_script("DROP TABLE thing CASCADE")?;
    fails(&conn, "SELECT * FROM w", "42P01");
    assert_eq!(conn.wait_for_view("w", position, LONG).expect_err("it is gone").sqlstate().0, "42P01");
    Ok(())
}

#[test]
fn what_can_not_be_followed_is_refused_with_the_reason() {
    let conn = connect(TABLES);
    for query in
        ["SELECT now() AS n, id FROM item", "SELECT random() AS r FROM item", "SELECT nextval('q') AS r FROM item"]
    {
        conn.execute_script("CREATE SEQUENCE IF NOT EXISTS q").unwrap();
        let error = fails(&conn, &format!("CREATE MATERIALIZED VIEW v WITH (maintained) AS {query}"), "0A000");
        assert!(error.hint().is_some(), "{error:?}");
    }
    conn.execute_script("CREATE MATERIALIZED VIEW v WITH (maintained = after) AS SELECT id FROM item").unwrap();
    fails(&conn, "CREATE UNIQUE INDEX ON v (id)", "0A000");
    assert_eq!(conn.view_position("item").expect_err("a table").sqlstate().0, "42809");
    assert_eq!(conn.view_position("nothing").expect_err("nothing").sqlstate().0, "42P01");
    assert_eq!(rows(&conn, "SELECT reloptions FROM pg_class WHERE relname = 'v'"), ["{maintained=after}"]);
}

#[test]
fn large_results_begin_in_steps_and_many_equal_rows_lie_beside_each_other() -> Result<()> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("large.db");
    {
        let conn = Database::open(&path)?.connect()?;
        conn.execute_script(
            "CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t SELECT g, g % 4 FROM generate_series(1, 30000) g;
             CREATE MATERIALIZED VIEW v WITH (maintained = after) AS SELECT n FROM t",
        )?;
        conn.execute("DELETE FROM t WHERE id <= 100", ())?;
        assert!(conn.wait_for_view("v", conn.position().unwrap(), LONG)?);
        assert_eq!(
            rows(&conn, "SELECT n, count(*) FROM v GROUP BY n ORDER BY 1"),
            ["0|7475", "1|7475", "2|7475", "3|7475"]
        );
        conn.execute("UPDATE t SET n = 9 WHERE id > 200", ())?;
        conn.database().clone().close()?;
    }
    let conn = Database::open(&path)?.connect()?;
    assert!(conn.wait_for_view("v", conn.change_token()?, LONG)?);
    assert_eq!(
        rows(&conn, "SELECT n, count(*) FROM v GROUP BY n ORDER BY 1"),
        ["0|25", "1|25", "2|25", "3|25", "9|29800"]
    );
    conn.database().verify()?;
    Ok(())
}

/// The files as they are while somebody writes: what a process that is killed leaves.
fn copy_files(from: &Path, to: &Path) {
    let log = |path: &Path| PathBuf::from(format!("{}-log", path.display()));
    std::fs::copy(from, to).unwrap();
    std::fs::copy(log(from), log(to)).unwrap();
}

#[test]
fn whoever_is_killed_while_they_are_written_finds_them_right() -> Result<()> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.db");
    let conn = Database::open(&path)?.connect()?;
    conn.execute_script(
        "CREATE TABLE t (id int PRIMARY KEY, g int, x int);
         CREATE MATERIALIZED VIEW a WITH (maintained = after) AS SELECT g, max(x) AS m, count(*) AS n FROM t GROUP BY g;
         CREATE MATERIALIZED VIEW b WITH (maintained = after) AS SELECT n, count(*) AS c FROM a GROUP BY n;
         CREATE MATERIALIZED VIEW r WITH (maintained = after) AS SELECT g FROM t; CREATE INDEX ON r (g)",
    )?;
    let mut random = Random(5);
    for round in 0..12 {
        for _ in 0..1 + random.below(5u32) {
            conn.execute(
                &match random.below(4u32) {
                    0 => format!("DELETE FROM t WHERE g = {}", random.below(6u32)),
                    1 => format!("UPDATE t SET g = g + 1, x = {round} WHERE id % 7 = {}", random.below(7u32)),
                    _ => format!(
                        "INSERT INTO t SELECT i, i % 6, i FROM generate_series({0}, {0} + 500) i ON CONFLICT DO NOTHING",
                        random.below(3000u32)
                    ),
                },
                (),
            )?;
        }
        std::thread::sleep(Duration::from_micros(random.below(3000u32).into()));
        let copy = dir.path().join(format!("{round}.db"));
        copy_files(&path, &copy);
        let conn = Database::open(&copy)?.connect()?;
        let sorted = |sql: &str| {
            let mut rows = rows(&conn, sql);
            rows.sort();
            rows
        };
        for (view, query) in [("a", "SELECT g, max(x), count(*) FROM t GROUP BY g"), ("r", "SELECT g FROM t")] {
            assert!(conn.wait_for_view(view, conn.change_token()?, LONG)?);
            assert_eq!(sorted(&format!("SELECT * FROM {view}")), sorted(query), "{view} in {round}");
        }
        assert!(conn.wait_for_view("b", conn.view_position("a")?.expect("it follows"), LONG)?);
        assert_eq!(sorted("SELECT * FROM b"), sorted("SELECT n, count(*) FROM a GROUP BY n"), "{round}");
        conn.database().verify()?;
    }
    Ok(())
}

/// Opens a database, and lets go of it in one of several ways, while others write.
fn let_go(path: &Path, way: u32) -> Result<()> {
    let database = Database::open(path)?;
    let conn = database.connect()?;
    conn.execute_script(
        "CREATE TABLE t (id int PRIMARY KEY, g int);
         CREATE MATERIALIZED VIEW a WITH (maintained = after) AS SELECT g, max(id) AS m FROM t GROUP BY g",
    )?;
    let mut live = conn.live("SELECT * FROM a", ())?;
    let writer = |number: i32| {
        let database = database.clone();
        std::thread::spawn(move || {
            let conn = database.connect()?;
            (0..20)
                .try_for_each(|id| conn.execute("INSERT INTO t VALUES ($1, $2)", (number * 100 + id, id % 3)).map(drop))
        })
    };
    let writers: Vec<_> = (0..3).map(writer).collect();
    match way {
        0 => drop((conn, database, live)),
        1 => drop((live, conn, database)),
        2 => {
            let elsewhere = std::thread::spawn(move || drop(live));
            drop((database, conn));
            elsewhere.join().unwrap();
        }
        3 => {
            database.close()?;
            drop((conn, live));
        }
        _ => {
            std::thread::spawn(move || while let Ok(Some(_)) = live.next_change() {});
            conn.execute_script("DROP MATERIALIZED VIEW a; INSERT INTO t VALUES (9999, 1)")?;
            drop((conn, database));
        }
    }
    // Where it was closed they fail.
    writers.into_iter().for_each(|writer| drop(writer.join().unwrap()));
    Ok(())
}

#[test]
fn who_lets_go_of_a_database_waits_for_nobody_who_waits_for_him() {
    for round in 0..15 {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.db");
        let (send, done) = mpsc::channel();
        let of_thread = path.clone();
        std::thread::spawn(move || send.send(let_go(&of_thread, round % 5)).unwrap());
        done.recv_timeout(LONG).expect("it ends").unwrap();
        if round % 5 < 3 {
            // Nobody has it any more.
            Database::open(&path).unwrap().verify().unwrap();
        }
    }
}

#[test]
fn a_program_that_comes_and_goes_leaves_no_view_behind() -> Result<()> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("short.db");
    Database::open(&path)?.connect()?.execute_script(
        "CREATE TABLE t (n int); CREATE MATERIALIZED VIEW v WITH (maintained = after) AS SELECT max(n) AS n FROM t",
    )?;
    for n in 1..5 {
        Database::open(&path)?.connect()?.execute("INSERT INTO t VALUES ($1)", [n])?;
        let mut options = cairndb::Options::default();
        options.read_only = true;
        let conn = Database::open_with(&path, options)?.connect()?;
        assert_eq!(rows(&conn, "SELECT n FROM v"), [n.to_string()]);
        // What it shows is there, although nobody follows.
        let shown = conn.view_position("v")?.expect("a position");
        assert!(conn.wait_for_view("v", shown, Duration::ZERO)?);
    }
    Ok(())
}

/// What the query told, and took back before the view had taken it, counted as not written for ever.
#[test]
fn what_came_to_nothing_is_not_waited_for() -> Result<()> {
    let database = Database::open_in_memory()?;
    let conn = database.connect()?;
    conn.execute_script(
        "CREATE TABLE t (id int PRIMARY KEY);
         CREATE MATERIALIZED VIEW v WITH (maintained = after) AS SELECT id FROM t",
    )?;
    for round in 0..120u64 {
        conn.execute("INSERT INTO t VALUES (1)", ())?;
        std::thread::sleep(Duration::from_micros(round % 40 * 20));
        conn.execute("DELETE FROM t", ())?;
        assert!(conn.wait_for_view("v", conn.position().unwrap(), LONG)?);
        assert_eq!(rows(&conn, "SELECT id FROM v"), Vec::<String>::new(), "round {round}");
    }
    Ok(())
}

#[test]
fn one_of_a_view_that_commits_keep_hears_of_its_sums() -> Result<()> {
    let database = Database::open_in_memory()?;
    let conn = database.connect()?;
    conn.execute_script(
        "CREATE TABLE a (id int PRIMARY KEY, n int, v int); INSERT INTO a SELECT g, g % 3, g FROM generate_series(1, 20) g;
         CREATE MATERIALIZED VIEW sums WITH (maintained = commit) AS SELECT n, count(*) AS c, sum(v) AS s, avg(v) AS mean FROM a GROUP BY n;
         CREATE MATERIALIZED VIEW top WITH (maintained = after) AS SELECT n, s, mean FROM sums WHERE s > 75",
    )?;
    // It has begun to follow.
    assert!(conn.wait_for_view("top", conn.position().unwrap(), LONG)?);
    for change in [
        "UPDATE a SET v = v + 1000 WHERE id = 1",
        "BEGIN; DELETE FROM a WHERE id = 2; INSERT INTO a VALUES (2, 2, 900); COMMIT",
    ] {
        conn.execute_script(change)?;
        assert!(conn.wait_for_view("top", conn.position().unwrap(), LONG)?);
        assert_eq!(
            rows(&conn, "SELECT * FROM top ORDER BY n"),
            rows(&conn, "SELECT n, sum(v), avg(v) FROM a GROUP BY n HAVING sum(v) > 75 ORDER BY n"),
            "{change}"
        );
    }
    Ok(())
}
