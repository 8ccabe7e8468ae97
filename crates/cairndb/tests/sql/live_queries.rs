//! Live queries: what is told is the result, commit after commit, whatever is done to the tables.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Wake, Waker};
use std::time::{Duration, Instant};

use cairndb::{
    Connection, Database, Durability, LiveChange, LiveQuery, LiveStatistics, Next, Options, Result, SqlState,
};

const SOON: Duration = Duration::from_secs(30);
const A_WHILE: Duration = Duration::from_millis(60);

fn database(script: &str) -> (Database, Connection) {
    let database = Database::open_in_memory().unwrap();
    let conn = database.connect().unwrap();
    conn.execute_script(script).unwrap();
    (database, conn)
}

fn text(row: &cairndb::Row<'_>) -> String {
    row.values().iter().map(|value| value.to_string()).collect::<Vec<_>>().join("|")
}

/// A change as lines: `+` came, `-` went, `~` changed.
fn lines(change: &LiveChange) -> Vec<String> {
    let added = change.added().map(|row| format!("+{}", text(&row)));
    let removed = change.removed().map(|row| format!("-{}", text(&row)));
    let updated = change.updated().map(|(old, new)| format!("~{} -> {}", text(&old), text(&new)));
    added.chain(removed).chain(updated).collect()
}

fn next(live: &mut LiveQuery) -> Vec<String> {
    lines(&live.next_change_within(SOON).unwrap().item().expect("a change"))
}

fn nothing(live: &mut LiveQuery) {
    let change = live.next_change_within(A_WHILE).unwrap().item();
    assert!(change.is_none(), "{:?}", change.map(|change| lines(&change)));
}

const TASKS: &str = "CREATE TABLE task (id int PRIMARY KEY, owner text, title text, done bool DEFAULT false);
    CREATE INDEX ON task (owner);
    INSERT INTO task VALUES (1, 'ada', 'one'), (2, 'bob', 'two'), (3, 'ada', 'three');";

#[test]
fn the_result_comes_first_and_then_what_changes_it() {
    let (_database, conn) = database(TASKS);
    let mut live = conn.live("SELECT id, title FROM task WHERE owner = $1 ORDER BY id DESC", ("ada",)).unwrap();
    assert_eq!(live.key(), Some(&[0][..]));
    let first = live.next_change_within(SOON).unwrap().item().unwrap();
    assert!(first.is_first());
    assert_eq!(lines(&first), ["+3|three", "+1|one"]);
    conn.execute("INSERT INTO task VALUES (4, 'ada', 'four')", ()).unwrap();
    assert_eq!(next(&mut live), ["+4|four"]);
    conn.execute("UPDATE task SET title = 'ONE' WHERE id = 1", ()).unwrap();
    assert_eq!(next(&mut live), ["~1|one -> 1|ONE"]);
    conn.execute("UPDATE task SET owner = 'bob' WHERE id = 3", ()).unwrap();
    assert_eq!(next(&mut live), ["-3|three"]);
    // Not of ada's; of a column that the query does not show; nothing at all; undone.
    conn.execute("INSERT INTO task VALUES (5, 'bob', 'five')", ()).unwrap();
    conn.execute("UPDATE task SET done = true WHERE id = 1", ()).unwrap();
    conn.execute("UPDATE task SET title = 'ONE' WHERE id = 1", ()).unwrap();
    conn.execute_script("BEGIN; DELETE FROM task; ROLLBACK").unwrap();
    nothing(&mut live);
    conn.execute_script("BEGIN; DELETE FROM task WHERE id = 1; INSERT INTO task VALUES (9, 'ada', 'nine'); COMMIT")
        .unwrap();
    assert_eq!(next(&mut live), ["+9|nine", "-1|ONE"]);
}

#[test]
fn who_is_slow_gets_the_net_change() {
    let (_database, conn) = database(TASKS);
    let mut live = conn.live("SELECT id, title FROM task", ()).unwrap();
    let mut other = conn.live("SELECT id, title FROM task", ()).unwrap();
    assert_eq!(next(&mut live).len(), 3);
    let mut position = None;
    for round in 0..50 {
        conn.execute("UPDATE task SET title = $1 WHERE id = 2", (format!("round {round}"),)).unwrap();
        conn.execute("INSERT INTO task VALUES ($1, 'eve', 'short')", (100 + round,)).unwrap();
        conn.execute("DELETE FROM task WHERE id = $1", (100 + round,)).unwrap();
        let change = live.next_change_within(SOON).unwrap().item().unwrap();
        assert!(position.is_none_or(|last| change.position() > last));
        position = Some(change.position());
    }
    // Taken for the first time only now.
    let until = Instant::now() + SOON;
    loop {
        let change = other.next_change_within(SOON).unwrap().item().expect("the last state");
        if lines(&change).iter().any(|line| line.ends_with("2|round 49")) {
            break;
        }
        assert!(Instant::now() < until);
    }
}

#[test]
fn what_can_not_be_watched_says_why() {
    let (_database, conn) = database(TASKS);
    conn.execute_script(
        "CREATE SEQUENCE s; CREATE TEMP TABLE mine (a int);
         CREATE FUNCTION far(a int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN a; END'",
    )
    .unwrap();
    let refused = |sql: &str| {
        let error = conn.live(sql, ()).expect_err(sql);
        format!("{} {}", error.sqlstate().0, error.hint().unwrap_or_default())
    };
    assert_eq!(refused("SELECT now()"), "0A000 What now says changes without a commit. Give the time as a parameter.");
    assert!(refused("SELECT 1 FROM task WHERE current_date > '2020-01-01'").contains("Give the time"));
    assert!(refused("SELECT age(timestamp '2020-01-01')").starts_with("0A000"));
    assert!(refused("SELECT random()").contains("random"));
    assert!(refused("SELECT (SELECT nextval('s'))").contains("sequences"));
    assert!(refused("SELECT far(id) FROM task").contains("far"));
    assert!(refused("SELECT * FROM mine").contains("session's own"));
    for asked in [
        "pg_relation_size('task')",
        "pg_total_relation_size('task')",
        "pg_database_size(current_database())",
        "count(*) FROM pg_locks",
        "count(*) FROM pg_stat_user_indexes",
        "sum(seq_scan) FROM pg_stat_user_tables",
        "count(*) FROM pg_prepared_statements",
        "count(*) FROM pg_cursors",
        "count(*) FROM pg_stat_activity",
    ] {
        assert!(refused(&format!("SELECT {asked}")).ends_with(" says changes without a commit."), "{asked}");
    }
    assert!(refused("DELETE FROM task").starts_with("42601"));
    assert!(refused("WITH gone AS (DELETE FROM task RETURNING id) SELECT * FROM gone").starts_with("42601"));
    assert!(refused("EXPLAIN SELECT 1").starts_with("42601"));
    assert!(refused("SELECT nothing FROM task").starts_with("42703"));
    conn.execute("BEGIN", ()).unwrap();
    assert!(refused("SELECT 1").starts_with("25001"));
    conn.execute("ROLLBACK", ()).unwrap();
    assert!(conn.live("SELECT $1::int", ()).is_err());
}

#[test]
fn tables_that_are_altered_are_followed_or_end_it() {
    let (_database, conn) = database(TASKS);
    let mut live = conn.live("SELECT id, title FROM task", ()).unwrap();
    assert_eq!(next(&mut live).len(), 3);
    conn.execute_script("ALTER TABLE task ADD COLUMN more int DEFAULT 7; CREATE INDEX ON task (title); ANALYZE task")
        .unwrap();
    conn.execute("INSERT INTO task (id, title) VALUES (4, 'four')", ()).unwrap();
    assert_eq!(next(&mut live), ["+4|four"]);
    conn.execute("TRUNCATE task", ()).unwrap();
    assert_eq!(next(&mut live).len(), 4);
    conn.execute("INSERT INTO task (id, title) VALUES (5, 'five')", ()).unwrap();
    assert_eq!(next(&mut live), ["+5|five"]);
    conn.execute("ALTER TABLE task RENAME TO job", ()).unwrap();
    let error = live.next_change_within(SOON).expect_err("the name is gone");
    assert_eq!(error.sqlstate().0, "42P01");
    assert!(live.has_ended() && live.next_change_within(SOON).unwrap().item().is_none());

    let mut live = conn.live("SELECT * FROM job", ()).unwrap();
    next(&mut live);
    conn.execute("ALTER TABLE job DROP COLUMN done", ()).unwrap();
    assert_eq!(live.next_change_within(SOON).expect_err("other columns").sqlstate().0, "0A000");
    let mut live = conn.live("SELECT id FROM job", ()).unwrap();
    next(&mut live);
    conn.execute("DROP TABLE job", ()).unwrap();
    assert_eq!(live.next_change_within(SOON).expect_err("dropped").sqlstate().0, "42P01");
}

#[test]
fn writes_that_a_query_does_not_read_cost_it_nothing() {
    let (_database, conn) = database("CREATE TABLE t (id int PRIMARY KEY, n int, other int)");
    conn.execute("INSERT INTO t SELECT g, 0, 0 FROM generate_series(1, 1000) g", ()).unwrap();
    let mut live: Vec<_> = (1..=50).map(|id| conn.live("SELECT n FROM t WHERE id = $1", (id,)).unwrap()).collect();
    for query in &mut live {
        next(query);
    }
    let rows = |live: &[LiveQuery]| live.iter().map(|query| query.statistics().rows).sum::<u64>();
    let before = rows(&live);
    for n in 1..=1000 {
        let id = if n % 20 == 0 { n / 20 } else { 50 + n % 900 };
        conn.execute("UPDATE t SET n = $1 WHERE id = $2", (n, id)).unwrap();
        conn.execute("UPDATE t SET other = $1 WHERE id = $2", (n, 1 + n % 50)).unwrap();
        if n % 20 == 0 {
            assert_eq!(next(&mut live[(id - 1) as usize]).len(), 1);
        }
    }
    assert_eq!(rows(&live) - before, 50);
    assert!(live.iter().all(|query| query.statistics().runs == 1));
}

#[test]
fn closing_the_database_ends_it_quietly() {
    let (database, conn) = database(TASKS);
    let mut live = conn.live("SELECT id FROM task", ()).unwrap();
    let mut waiting = conn.live("SELECT id FROM task", ()).unwrap();
    next(&mut live);
    next(&mut waiting);
    let thread = std::thread::spawn(move || waiting.next_change().unwrap().is_none());
    conn.execute("INSERT INTO task VALUES (7, 'x', 'y')", ()).unwrap();
    drop(conn);
    database.close().unwrap();
    // The last change may come first.
    while live.next_change_within(SOON).unwrap().item().is_some() {}
    assert!(live.has_ended());
    let _ = thread.join().unwrap();
}

#[test]
fn a_callback_hears_of_everything_and_its_panic_harms_nobody() {
    let (_database, conn) = database(TASKS);
    let (send, heard) = mpsc::channel();
    let live = conn.live("SELECT count(*) FROM task", ()).unwrap();
    let guard = live.on_change(move |change| send.send(lines(&change.unwrap())).unwrap()).unwrap();
    let panics = conn.live("SELECT count(*) FROM task", ()).unwrap();
    let _panics = panics.on_change(|_| panic!("a consumer's own fault")).unwrap();
    assert_eq!(heard.recv_timeout(SOON).unwrap(), ["+3"]);
    conn.execute("DELETE FROM task WHERE id = 1", ()).unwrap();
    assert_eq!(heard.recv_timeout(SOON).unwrap(), ["~3 -> 2"]);
    drop(guard);
    conn.execute("DELETE FROM task WHERE id = 2", ()).unwrap();
    assert!(heard.recv_timeout(SOON).is_err());
}

/// Applies changes to what is known of a result.
#[derive(Default)]
struct Known {
    rows: BTreeMap<String, i64>,
}

impl Known {
    fn apply(&mut self, change: &LiveChange) {
        let mut add = |row: String, weight: i64| *self.rows.entry(row).or_insert(0) += weight;
        change.added().for_each(|row| add(text(&row), 1));
        change.removed().for_each(|row| add(text(&row), -1));
        change.updated().for_each(|(old, new)| {
            assert_ne!(text(&old), text(&new));
            add(text(&old), -1);
            add(text(&new), 1);
        });
        self.rows.retain(|row, count| {
            assert!(*count >= 0, "{row} went that was not there");
            *count > 0
        });
    }

    fn of(conn: &Connection, sql: &str) -> BTreeMap<String, i64> {
        let mut rows = BTreeMap::new();
        let all = conn.query_map(sql, (), |row| Ok(text(&row))).unwrap();
        for row in all.collect::<Result<Vec<_>>>().unwrap() {
            *rows.entry(row).or_insert(0) += 1;
        }
        rows
    }
}

/// Each with what is expected of it: followed by what changed, or run again.
const QUERIES: [(&str, bool); 59] = [
    ("SELECT * FROM a", true),
    ("SELECT n FROM a WHERE id = 3", true),
    ("SELECT id, t FROM a WHERE n BETWEEN 2 AND 4", true),
    ("SELECT id FROM a WHERE t LIKE '%1%'", true),
    ("SELECT count(*), sum(n), avg(n), min(t), max(n) FROM a", false),
    ("SELECT count(*), sum(n), avg(n), count(t) FILTER (WHERE n > 2) FROM a", true),
    ("SELECT n, count(*), sum(id) FROM a GROUP BY n", true),
    ("SELECT n, max(t) FROM a GROUP BY n HAVING count(*) > 1", true),
    ("SELECT n % 2, sum(id) + 1 FROM a GROUP BY n % 2 HAVING count(*) > 1", true),
    ("SELECT a.id, b.v FROM a JOIN b ON b.a = a.id", true),
    ("SELECT a.id, b.v FROM a JOIN b ON b.a = a.id WHERE a.id = 4", true),
    ("SELECT a.id, b.v FROM a JOIN b ON b.a = a.n WHERE b.v < 3", true),
    ("SELECT a.id, b.v FROM a LEFT JOIN b ON b.a = a.id", true),
    ("SELECT a.id, b.v FROM b RIGHT JOIN a ON b.a = a.id AND b.v > 1", true),
    ("SELECT a.id, b.v FROM a FULL JOIN b ON b.a = a.id AND b.v > 2", true),
    ("SELECT x.id, y.id FROM a x JOIN a y ON y.n = x.n AND y.id < x.id", true),
    ("SELECT x.id, y.id, b.v FROM a x LEFT JOIN a y ON y.n = x.id JOIN b ON b.a = x.id", true),
    ("SELECT a.n, count(*), sum(b.v), avg(c.w) FROM a JOIN b ON b.a = a.id JOIN c ON c.id = b.v GROUP BY a.n", true),
    ("SELECT c.id, count(b.id) FROM c LEFT JOIN b ON b.v = c.id GROUP BY c.id", true),
    ("SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.a = a.id)", true),
    ("SELECT id FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.a = a.id AND b.v > 2)", true),
    ("SELECT id FROM a WHERE id NOT IN (SELECT a FROM b WHERE a IS NOT NULL)", true),
    ("SELECT id FROM a WHERE n > (SELECT avg(v) FROM b)", false),
    ("SELECT id, (SELECT sum(v) FROM b WHERE b.a = a.id) FROM a", true),
    ("SELECT a.id, s.total FROM a JOIN (SELECT a, sum(v) AS total FROM b GROUP BY a) s ON s.a = a.id", true),
    ("SELECT DISTINCT n FROM a", true),
    ("SELECT DISTINCT a.n, b.v FROM a JOIN b ON b.a = a.id", true),
    ("SELECT count(*) FROM (SELECT DISTINCT n FROM a) d", true),
    ("SELECT id, n FROM a ORDER BY n DESC, id LIMIT 3", true),
    ("SELECT id, t FROM a ORDER BY n LIMIT 2 OFFSET 1", true),
    ("SELECT n, count(*) FROM a GROUP BY n ORDER BY count(*) DESC, n LIMIT 2", true),
    ("SELECT id FROM a ORDER BY id OFFSET 2", false),
    ("SELECT id, n FROM a ORDER BY n, id DESC", true),
    ("SELECT n FROM a UNION SELECT v FROM b", true),
    ("SELECT n FROM a UNION ALL SELECT v FROM b WHERE v > 1", true),
    ("SELECT n FROM a EXCEPT ALL SELECT v FROM b", true),
    ("SELECT n FROM a INTERSECT SELECT v FROM b", true),
    ("SELECT id, rank() OVER (PARTITION BY n ORDER BY id) FROM a", true),
    ("SELECT id, sum(n) OVER (ORDER BY id) FROM a", false),
    (
        "WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r WHERE i < (SELECT count(*) FROM b)) SELECT i FROM r",
        false,
    ),
    ("WITH w AS (SELECT n, count(*) AS c FROM a GROUP BY n) SELECT x.n, y.c FROM w x JOIN w y ON y.n = x.n + 1", true),
    ("SELECT v, total FROM shown", true),
    ("SELECT a.id, l.v FROM a, LATERAL (SELECT v FROM b WHERE b.a = a.id ORDER BY v, id LIMIT 1) l", false),
    ("SELECT a.id, g FROM a, generate_series(1, 2) g WHERE a.n = g", true),
    ("SELECT t, n::numeric / 3 FROM a WHERE n <> 2", true),
    ("SELECT 1 FROM a WHERE n IS NULL OR t IS NULL", true),
    ("SELECT * FROM kept", true),
    ("SELECT s FROM kept WHERE n = 1", true),
    ("SELECT n, mean FROM kept WHERE s > 6", true),
    ("SELECT sum(s), count(mean) FROM kept", true),
    ("SELECT few FROM kept_all", true),
    ("SELECT kept.n, b.v FROM kept JOIN b ON b.v = kept.c", true),
    ("SELECT s, max(n) FROM kept GROUP BY s", true),
    ("SELECT * FROM followed", true),
    ("SELECT sum(most) FROM followed WHERE v > 2", true),
    ("SELECT n, t, max(id) FROM a GROUP BY n, t", true),
    ("SELECT x.n, max(b.v), min(b.id) FROM a x LEFT JOIN b ON b.a = x.n GROUP BY x.n", true),
    ("SELECT id, row_number() OVER (PARTITION BY a, v ORDER BY id) FROM b", true),
    ("SELECT a, v, b.id % 3, max(id) FROM b GROUP BY a, v, b.id % 3", true),
];

const SCHEMA: &str = "CREATE TABLE a (id int PRIMARY KEY, n int, t text); CREATE INDEX ON a (n);
    CREATE TABLE b (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, a int, v int); CREATE INDEX ON b (a);
    CREATE TABLE c (id int PRIMARY KEY, w int); INSERT INTO c SELECT g, g * 10 FROM generate_series(0, 7) g;
    CREATE VIEW shown AS SELECT v, count(*) AS total FROM b GROUP BY v;
    CREATE MATERIALIZED VIEW kept WITH (maintained = commit) AS SELECT n, count(*) AS c, sum(id) AS s, avg(id) AS mean FROM a GROUP BY n;
    CREATE MATERIALIZED VIEW kept_all WITH (maintained = commit) AS SELECT count(a) FILTER (WHERE v > 3) AS few, sum(v) AS all FROM b;
    CREATE MATERIALIZED VIEW followed WITH (maintained = after) AS SELECT v, max(a) AS most FROM b GROUP BY v;";

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

fn statement(random: &mut Random) -> String {
    let (id, n) = (random.below(8), random.below(6));
    match random.below(16) {
        0..4 => format!("INSERT INTO a VALUES ({id}, {n}, 't{n}') ON CONFLICT (id) DO UPDATE SET n = excluded.n"),
        4..6 => format!("UPDATE a SET t = 'u{id}{n}' WHERE n = {n}"),
        6 => format!("UPDATE a SET n = n + 1 WHERE id <= {id}"),
        7 => format!("DELETE FROM a WHERE id = {id}"),
        8..11 => format!("INSERT INTO b (a, v) VALUES ({id}, {n}), (NULL, {id})"),
        11 => format!("UPDATE b SET a = {n} WHERE a = {id}"),
        12 => format!("DELETE FROM b WHERE v = {n}"),
        13 => format!("DELETE FROM b WHERE id % 3 = {}", n % 3),
        14 if n < 2 => "UPDATE a SET n = n".to_owned(),
        14 if n < 4 => format!("UPDATE c SET w = w + 1 WHERE id = {id}"),
        14 => format!("UPDATE a SET n = NULL WHERE id = {id}"),
        _ => {
            format!("INSERT INTO a SELECT g, g % 5, 'm' FROM generate_series(20, {}) g ON CONFLICT DO NOTHING", 20 + id)
        }
    }
}

/// Begins to watch a query, sometimes with little time for it and its changes.
fn begin(conn: &Connection, sql: &str, random: &mut Random) -> LiveQuery {
    if random.below(3) == 0 {
        conn.execute("SET statement_timeout = '2ms'", ()).unwrap();
        let live = conn.live(sql, ());
        conn.execute("SET statement_timeout = 0", ()).unwrap();
        match live {
            Ok(live) => return live,
            Err(error) => assert_eq!(error.sqlstate(), SqlState::QUERY_CANCELED, "{sql}"),
        }
    }
    conn.live(sql, ()).expect(sql)
}

/// Random histories: what is told adds up to the result, in the end and whenever it is looked at, also of those that begin in the
/// middle, in place of others that are let go of or have no time. By query, how often it was followed.
fn history(seed: u64, rounds: u64, durability: Durability) -> Vec<u64> {
    let options = Options::default().durability(durability);
    let database = Database::open_in_memory_with(options).unwrap();
    let conn = database.connect().unwrap();
    conn.execute_script(SCHEMA).unwrap();
    let mut random = Random(seed);
    // As costs tell, or by changes wherever it can be.
    conn.execute(&format!("SET enable_live_runs = {}", if seed.is_multiple_of(3) { "on" } else { "off" }), ()).unwrap();
    let mut watched = QUERIES.map(|(sql, _)| (sql, conn.live(sql, ()).expect(sql), Known::default()));
    let mut followed = vec![0; QUERIES.len()];
    for round in 0..rounds {
        match random.below(24) {
            0 => conn.execute("TRUNCATE b", ()).map(drop),
            1 => conn.execute_script("CREATE INDEX extra ON a (t); ANALYZE a"),
            2 => conn.execute_script("DROP INDEX IF EXISTS extra"),
            3 => conn.execute_script(
                "BEGIN; ALTER TABLE a ADD COLUMN later int DEFAULT 4; ALTER TABLE a DROP COLUMN later; COMMIT",
            ),
            4..10 => conn.transaction(|tx| {
                for _ in 0..random.below(6) {
                    tx.execute(&statement(&mut random), ())?;
                }
                Ok(())
            }),
            10 => {
                conn.execute("BEGIN", ()).unwrap();
                conn.execute(&statement(&mut random), ()).unwrap();
                conn.execute("ROLLBACK", ()).map(drop)
            }
            _ => conn.execute(&statement(&mut random), ()).map(drop),
        }
        .or_else(|error| if error.sqlstate().0 == "42P07" { Ok(()) } else { Err(error) })
        .unwrap();
        if random.below(3) == 0 {
            let at = random.below(QUERIES.len() as u64) as usize;
            let (sql, live, known) = &mut watched[at];
            followed[at] += live.statistics().followed;
            (*live, *known) = (begin(&conn, sql, &mut random), Known::default());
        }
        if random.below(4) > 0 && round + 1 < rounds {
            continue;
        }
        assert!(conn.wait_for_view("followed", conn.position().unwrap(), SOON).unwrap());
        for (sql, live, known) in &mut watched {
            let wanted = Known::of(&conn, sql);
            let until = Instant::now() + SOON;
            while known.rows != wanted {
                assert!(Instant::now() < until, "seed {seed}, {sql}: {:?} instead of {wanted:?}", known.rows);
                match live.next_change_within(Duration::from_secs(2)) {
                    Ok(Next::Item(change)) => known.apply(&change),
                    Ok(Next::NotYet) => {}
                    Ok(Next::End) => panic!("{sql} ended"),
                    Err(error) => {
                        assert_eq!(error.sqlstate(), SqlState::QUERY_CANCELED, "{sql}: {error}");
                        (*live, *known) = (conn.live(sql, ()).expect(sql), Known::default());
                    }
                }
            }
        }
    }
    for (known, (_, live, _)) in followed.iter_mut().zip(&watched) {
        *known += live.statistics().followed;
    }
    followed
}

#[test]
fn what_is_told_adds_up_to_the_result() {
    let mut followed = [0; QUERIES.len()];
    for seed in 0..6 {
        let done = history(seed, 60, Durability::Full);
        followed.iter_mut().zip(done).for_each(|(sum, done)| *sum += done);
    }
    for ((sql, is_followed), times) in QUERIES.iter().zip(followed) {
        assert_eq!(times > 0, *is_followed, "{sql}: followed {times} times");
    }
}

#[test]
fn what_is_told_adds_up_in_weak_modes_too() {
    for (seed, durability) in [(100, Durability::Interval), (101, Durability::Off), (102, Durability::Group)] {
        history(seed, 40, durability);
    }
}

/// Several write at once: every state that is told is the result in one state. (The sum never changes in one.)
#[test]
fn no_state_is_a_mix() {
    let (database, conn) = database("CREATE TABLE account (id int PRIMARY KEY, amount int)");
    conn.execute("INSERT INTO account SELECT g, 100 FROM generate_series(1, 20) g", ()).unwrap();
    let mut live = conn.live("SELECT id, amount FROM account", ()).unwrap();
    let mut sum = conn.live("SELECT sum(amount) FROM account", ()).unwrap();
    assert_eq!(next(&mut sum), ["+2000"]);
    let writers: Vec<_> = (0..3u64)
        .map(|seed| {
            let conn = database.connect().unwrap();
            std::thread::spawn(move || {
                let mut random = Random(seed);
                for _ in 0..150 {
                    let (from, to) = (1 + random.below(20) as i32, 1 + random.below(20) as i32);
                    conn.transaction(|tx| {
                        tx.execute("UPDATE account SET amount = amount - 1 WHERE id = $1", (from,))?;
                        tx.execute("UPDATE account SET amount = amount + 1 WHERE id = $1", (to,))
                    })
                    .unwrap();
                }
            })
        })
        .collect();
    let (mut amounts, mut position) = (BTreeMap::<i32, i64>::new(), None);
    let mut take = |live: &mut LiveQuery, time: Duration| {
        let Some(change) = live.next_change_within(time).unwrap().item() else { return false };
        assert!(position.is_none_or(|last| change.position() > last));
        position = Some(change.position());
        let all = change.added().chain(change.updated().map(|(_, new)| new));
        for row in all {
            amounts.insert(row.get(0).unwrap(), row.get(1).unwrap());
        }
        assert_eq!(amounts.values().sum::<i64>(), 2000);
        true
    };
    while writers.iter().any(|writer| !writer.is_finished()) {
        take(&mut live, Duration::from_millis(5));
    }
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    while take(&mut live, Duration::from_millis(200)) {}
    nothing(&mut sum);
    assert_eq!(
        amounts,
        conn.query_map("SELECT id, amount FROM account", (), |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap()
            .collect::<Result<_>>()
            .unwrap()
    );
}

/// Subscriptions come and go while others write; each begins with a state and hears of all that follows.
#[test]
fn subscriptions_begin_while_others_write() {
    let (database, conn) = database(
        "CREATE TABLE counter (id int PRIMARY KEY, n int); INSERT INTO counter SELECT g, 0 FROM generate_series(1, 10) g",
    );
    let writer = {
        let conn = database.connect().unwrap();
        std::thread::spawn(move || {
            for n in 1..=1500 {
                conn.execute("UPDATE counter SET n = $1 WHERE id = $2", (n, 1 + n % 10)).unwrap();
            }
        })
    };
    let mut watched = Vec::new();
    while !writer.is_finished() && watched.len() < 300 {
        let id = (watched.len() % 10) as i32 + 1;
        let sql = if watched.len() % 3 == 0 {
            "SELECT n FROM counter WHERE id >= $1 AND id <= $1"
        } else {
            "SELECT n FROM counter WHERE id = $1"
        };
        watched.push((id, conn.live(sql, (id,)).unwrap()));
        if watched.len() % 7 == 0 {
            watched.swap_remove(0);
        }
    }
    writer.join().unwrap();
    for (id, live) in &mut watched {
        let wanted: i32 = conn.query_row("SELECT n FROM counter WHERE id = $1", (*id,), |row| row.get(0)).unwrap();
        let (mut last, until) = (-1, Instant::now() + SOON);
        while last != wanted {
            assert!(Instant::now() < until, "{id}: {last} instead of {wanted}");
            if let Some(change) = live.next_change_within(Duration::from_secs(1)).unwrap().item() {
                let all = change.added().chain(change.updated().map(|(_, new)| new));
                last = all.last().unwrap().get(0).unwrap();
            }
        }
    }
}

/// What was left of a query that had failed took away what the next one was interested in.
#[test]
fn one_that_failed_takes_nothing_from_the_next() -> Result<()> {
    let (_database, conn) = database("CREATE TABLE a (n int); CREATE TABLE b (n int)");
    let mut failed = conn.live("SELECT n FROM a", ())?;
    failed.next_change()?;
    conn.execute("DROP TABLE a", ())?;
    failed.next_change().expect_err("its table is gone");
    let mut next = conn.live("SELECT n FROM b", ())?;
    next.next_change()?;
    drop(failed);
    conn.execute("INSERT INTO b VALUES (1)", ())?;
    assert_eq!(next.next_change_within(Duration::from_secs(20))?.item().expect("it is told").added().count(), 1);
    Ok(())
}

/// Holds the thread that wakes a task, the live queries' own, until it may go on.
struct Holding {
    told: mpsc::Sender<()>,
    may_go: Mutex<mpsc::Receiver<()>>,
}

impl Wake for Holding {
    fn wake(self: Arc<Holding>) {
        self.told.send(()).unwrap();
        let _ = self.may_go.lock().unwrap().recv();
    }
}

/// A commit has come, and who is told of it holds the thread until what is returned is dropped.
fn held(conn: &Connection) -> (LiveQuery, mpsc::Sender<()>) {
    let (told, looks) = mpsc::channel();
    let (go, may_go) = mpsc::channel();
    let waker = Waker::from(Arc::new(Holding { told, may_go: Mutex::new(may_go) }));
    let mut holding = conn.live("SELECT x FROM a", ()).unwrap();
    assert!(holding.next_change_within(SOON).unwrap().item().unwrap().is_first());
    assert!(holding.poll_change(&mut Context::from_waker(&waker)).is_pending());
    conn.execute("INSERT INTO a VALUES (1)", ()).unwrap();
    looks.recv_timeout(SOON).unwrap();
    (holding, go)
}

#[test]
fn what_is_undone_between_two_looks_of_the_thread_is_told_to_who_began_between_them() {
    let (_database, conn) = database("CREATE TABLE a (x int PRIMARY KEY); CREATE TABLE b (x int PRIMARY KEY, y int);");
    let (_holding, go) = held(&conn);
    // The thread is held in the state before this.
    conn.execute("INSERT INTO b VALUES (1, 1), (2, 2)", ()).unwrap();
    let mut ordered = conn.live("SELECT x, y FROM b ORDER BY y", ()).unwrap();
    let mut all = conn.live("SELECT x FROM b", ()).unwrap();
    assert_eq!(next(&mut ordered), ["+1|1", "+2|2"]);
    assert_eq!(next(&mut all).len(), 2);
    conn.execute("DELETE FROM b WHERE x = 1", ()).unwrap();
    drop(go);
    assert_eq!(next(&mut ordered), ["-1|1"]);
    assert_eq!(next(&mut all), ["-1"]);
}

/// Not by running again.
#[test]
fn who_began_between_two_looks_of_the_thread_is_told_what_changed_since() {
    let (_database, conn) =
        database("CREATE TABLE a (x int PRIMARY KEY); CREATE TABLE b (x int PRIMARY KEY, y int, z int);");
    conn.execute("INSERT INTO b SELECT g, g, g FROM generate_series(1, 1000) g", ()).unwrap();
    let (_holding, go) = held(&conn);
    conn.execute("UPDATE b SET y = -y", ()).unwrap();
    let queries =
        ["SELECT x, y FROM b WHERE x = 3", "SELECT x, y FROM b WHERE x = 4", "SELECT count(*), sum(y) FROM b"];
    let mut live = queries.map(|sql| conn.live(sql, ()).unwrap());
    live.iter_mut().for_each(|live| assert_eq!(next(live).len(), 1));
    conn.execute("UPDATE b SET z = 0 WHERE x = 3", ()).unwrap();
    conn.execute("UPDATE b SET y = 0 WHERE x = 4", ()).unwrap();
    drop(go);
    let [unchanged, changed, sums] = &mut live;
    assert_eq!(next(changed), ["~4|-4 -> 4|0"]);
    assert_eq!(next(sums), ["~1000|-500500 -> 1000|-500496"]);
    conn.execute("UPDATE b SET y = 1 WHERE x = 3", ()).unwrap();
    assert_eq!(next(unchanged), ["~3|-3 -> 3|1"]);
    assert!(live.iter().all(|live| live.statistics().runs == 1));
}

/// Who found the query of somebody else before it had run was given the result of none, and nothing after it.
#[test]
fn who_begin_the_same_query_at_once_all_get_its_result() {
    const THREADS: usize = 4;
    let (database, conn) = database("CREATE TABLE t (id int PRIMARY KEY)");
    conn.execute("INSERT INTO t SELECT g FROM generate_series(1, 100) g", ()).unwrap();
    let barrier = Arc::new(std::sync::Barrier::new(THREADS));
    let begin = |_| {
        let (database, barrier) = (database.clone(), barrier.clone());
        std::thread::spawn(move || {
            let conn = database.connect().unwrap();
            for round in 0..400 {
                barrier.wait();
                let order = if round % 2 == 0 { "" } else { "ORDER BY id DESC" };
                let sql = format!("SELECT id FROM t WHERE id > 0 AND id <> -{round} {order}");
                let mut live = conn.live(&sql, ()).unwrap();
                let first = live.next_change_within(SOON).unwrap().item().unwrap();
                assert!(first.is_first() && first.position() <= conn.change_token().unwrap());
                assert_eq!(first.added().count(), 100, "round {round}");
            }
        })
    };
    let threads: Vec<_> = (0..THREADS).map(begin).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// He was given what somebody else had been told last, and his own change after it.
#[test]
fn who_joins_is_told_first_of_what_was_committed_before() {
    let (_database, conn) = database("CREATE TABLE t (id int PRIMARY KEY)");
    for sql in ["SELECT count(*) FROM t", "SELECT id FROM t", "SELECT id FROM t ORDER BY id"] {
        let _other = conn.live(sql, ()).unwrap();
        for _ in 0..200 {
            conn.execute("INSERT INTO t SELECT count(*) FROM t", ()).unwrap();
            let first = conn.live(sql, ()).unwrap().next_change().unwrap().unwrap();
            assert!(first.position() >= conn.position().unwrap(), "{sql}");
            let rows = Known::of(&conn, sql).into_keys().map(|row| format!("+{row}"));
            let mut told = lines(&first);
            told.sort();
            assert_eq!(told, rows.collect::<Vec<_>>(), "{sql}");
        }
    }
}

#[test]
fn waiting_for_ever_is_no_overflow() {
    let (_database, conn) = database(TASKS);
    let mut live = conn.live("SELECT id FROM task", ()).unwrap();
    assert!(live.next_change_within(Duration::MAX).unwrap().item().unwrap().is_first());
}

/// Few rows go one by one through what only chooses and computes, more as vectors: both say the same, and run nothing again.
#[test]
fn few_and_many_changed_rows_are_followed_alike() {
    let (_database, conn) = database(
        "CREATE TABLE t (id int PRIMARY KEY, n int, x numeric, c char(5), s text, at timestamptz);
         INSERT INTO t SELECT g, g % 7, g / 3.0, 'c' || g % 5, 's' || g, '2024-01-01 12:00+00'::timestamptz + g * interval '1 hour'
             FROM generate_series(1, 3000) g;
         CREATE TABLE o (id int PRIMARY KEY, code text UNIQUE, k int);
         INSERT INTO o SELECT g, 's' || g * 3, g % 3 FROM generate_series(1, 3000) g WHERE g % 5 > 0;
         SET timezone = 'Asia/Tokyo'",
    );
    let queries = [
        "SELECT id, n + $1 FROM t WHERE n > $1 - 2",
        "SELECT id, x * 2, 1, 'text', n IS NULL FROM t WHERE x + $1 > 0 OR n IS NULL",
        "SELECT c || '|', s FROM t WHERE c = 'c1' AND $1 > 0",
        "SELECT id, CASE WHEN n = $1 THEN 'it' WHEN n IS NULL THEN NULL ELSE s END, coalesce(n, -1) FROM t",
        "SELECT n, s FROM t WHERE n IN (1, 3, $1) AND s LIKE 's%'",
        "SELECT at::date, at::text, to_char(at, 'HH24 TZ') FROM t WHERE id > $1",
        "SELECT b.id, b.d FROM (SELECT id, n * 2 AS d FROM t WHERE n > $1) b WHERE b.d < 10",
        "SELECT id, n FROM t WHERE n > 2 UNION ALL SELECT id, -n FROM t WHERE n < $1",
        // Looked up by unique keys.
        "SELECT t.id, o.code FROM t JOIN o ON o.id = t.n + $1",
        "SELECT t.id, o.code, o.k FROM t LEFT JOIN o ON o.id = t.n AND o.k < $1",
        "SELECT b.id, o.k, b.d FROM (SELECT id, s, n * 2 AS d FROM t WHERE n < $1 + 2) b JOIN o ON o.code = b.s",
        "SELECT b.d, b.s, o.k, p.code FROM (SELECT s, id, n * 2 AS d FROM t) b JOIN o ON o.id = b.d LEFT JOIN o p ON p.id = o.k + $1",
        "SELECT id, s FROM t WHERE EXISTS (SELECT 1 FROM o WHERE o.id = t.n AND o.k < $1 + t.id)",
        "SELECT id, s FROM t WHERE NOT EXISTS (SELECT 1 FROM o WHERE o.code = t.s) AND n > $1",
        "SELECT o.code, count(*), sum(t.id) FILTER (WHERE t.n > $1), avg(t.n) FROM t JOIN o ON o.id = t.n GROUP BY o.code HAVING count(*) > 1",
        "SELECT t.id, t.x, o.code FROM t JOIN o ON o.id = t.n WHERE t.id > $1 ORDER BY t.x DESC, t.id LIMIT 7 OFFSET 2",
        "SELECT o.k, count(*) FROM t JOIN o ON o.id = t.n GROUP BY o.k ORDER BY count(*) DESC, o.k LIMIT $1",
    ];
    let mut live: Vec<LiveQuery> = queries.iter().map(|sql| conn.live(sql, (2,)).unwrap()).collect();
    let mut known: Vec<Known> = queries.iter().map(|_| Known::default()).collect();
    let mut ran = queries.map(|_| 0);
    let mut follow = |rows: u32, sql: &str| {
        conn.execute_script(sql).unwrap();
        for (((live, known), query), ran) in live.iter_mut().zip(&mut known).zip(queries).zip(&mut ran) {
            let expected = Known::of(&conn, &query.replace("$1", "2"));
            while known.rows != expected {
                let change = live.next_change_within(SOON).unwrap().item();
                known.apply(&change.unwrap_or_else(|| panic!("{query} after {sql}")));
            }
            let LiveStatistics { runs, .. } = live.statistics();
            assert!(*ran == runs || *ran == 0 || rows > 65, "{query} after {sql}");
            *ran = runs;
        }
    };
    follow(0, "");
    for rows in [1, 2, 31, 32, 33, 64, 65, 200] {
        follow(rows, &format!("UPDATE t SET n = n + 1 WHERE id <= {rows}"));
        follow(rows, &format!("UPDATE t SET n = NULL, x = x + 0.00 WHERE id BETWEEN 500 AND {}", 499 + rows));
        follow(rows, &format!("UPDATE t SET c = 'c1', s = s || '!' WHERE id > 3000 - {rows}"));
        follow(
            rows,
            &format!("INSERT INTO t SELECT g, 3, -1.50, 'new', 's', now() FROM generate_series(4001, 4000 + {rows}) g"),
        );
        follow(rows, "DELETE FROM t WHERE id > 4000");
        // (Of the other table: what that costs by its partners, which have no index, may be more than the query.)
        follow(200, &format!("UPDATE o SET k = k + 1 WHERE id <= {rows}; DELETE FROM o WHERE id = 1000 + {rows}"));
        follow(
            200,
            &format!(
                "BEGIN; UPDATE o SET code = 'at ' || id WHERE id < 9; UPDATE t SET n = n % 9 + 1 WHERE id <= {rows}; COMMIT"
            ),
        );
    }
}

#[test]
fn rows_of_no_columns_are_there_once_or_not() {
    let (_database, conn) = database("CREATE TABLE t (n int)");
    let mut live = conn.live("SELECT FROM t UNION SELECT FROM t", ()).unwrap();
    assert_eq!(next(&mut live).len(), 0);
    conn.execute("INSERT INTO t VALUES (1), (2)", ()).unwrap();
    assert_eq!(next(&mut live).len(), 1);
    conn.execute("DELETE FROM t WHERE n = 1", ()).unwrap();
    assert!(live.next_change_within(Duration::from_millis(50)).unwrap().item().is_none());
    conn.execute("DELETE FROM t", ()).unwrap();
    assert_eq!(next(&mut live).len(), 1);
}

/// A key's first part is NULL, and its second one fails.
#[test]
fn who_is_followed_fails_where_the_query_does() {
    let (_database, conn) = database(
        "CREATE TABLE t (id int PRIMARY KEY, n int, m int); CREATE TABLE u (a int, b int, v int, UNIQUE (a, b));
         INSERT INTO t SELECT g, g, 1 FROM generate_series(1, 3000) g; INSERT INTO u SELECT g, 10, g FROM generate_series(1, 3000) g;
         ANALYZE t; ANALYZE u; SET enable_live_runs = off; SET enable_hashjoin = off; SET enable_mergejoin = off",
    );
    let mut live = conn.live("SELECT t.id, u.v FROM t LEFT JOIN u ON u.a = t.n AND u.b = 10 / t.m", ()).unwrap();
    live.next_change().unwrap();
    conn.execute("INSERT INTO t VALUES (4000, 1, 1)", ()).unwrap();
    assert_eq!(next(&mut live), ["+4000|1"]);
    conn.execute("INSERT INTO t VALUES (4001, NULL, 0)", ()).unwrap();
    assert_eq!(live.next_change().unwrap_err().sqlstate().0, "22012");
}

/// The value was made for the type that the column had.
#[test]
fn a_parameter_follows_its_column_to_another_type() {
    for (before, after) in [("int", "numeric"), ("int", "text"), ("numeric", "int"), ("smallint", "bigint")] {
        let (_database, conn) = database(&format!("CREATE TABLE t (id int PRIMARY KEY, v {before})"));
        let mut equal = conn.live("SELECT id FROM t WHERE v = $1", (5,)).unwrap();
        let mut more = conn.live("SELECT id FROM t WHERE v > $1", (5,)).unwrap();
        assert_eq!((next(&mut equal).len(), next(&mut more).len()), (0, 0));
        conn.execute_script(&format!("ALTER TABLE t ALTER v TYPE {after} USING v::{after}")).unwrap();
        conn.execute("INSERT INTO t VALUES (1, '5'), (2, '6'), (3, '4')", ()).unwrap();
        assert_eq!(next(&mut equal), ["+1"], "{before} to {after}");
        assert_eq!(next(&mut more), ["+2"], "{before} to {after}");
        conn.execute("UPDATE t SET v = '7' WHERE id = 3", ()).unwrap();
        assert_eq!(next(&mut more), ["+3"], "{before} to {after}");
    }
}

/// NULL is a group's key as any other value: what changed in one group reads that group.
#[test]
fn groups_and_partitions_of_columns_that_may_be_null_are_followed() -> Result<()> {
    let (_database, conn) = database(
        "CREATE TABLE sale (id int PRIMARY KEY, shop int, kind int, amount int);
         INSERT INTO sale SELECT g, nullif(g % 100, 7), g % 3, g FROM generate_series(1, 5000) g; CREATE INDEX ON sale (shop)",
    );
    let mut followed = [
        "SELECT shop, max(amount) FROM sale GROUP BY shop",
        "SELECT id, rank() OVER (PARTITION BY shop ORDER BY amount DESC, id) FROM sale",
        "SELECT shop, kind, min(amount) FROM sale GROUP BY shop, kind",
    ]
    .map(|sql| (sql, conn.live(sql, ()).expect(sql)));
    for (sql, live) in &mut followed {
        assert!(live.next_change()?.expect(sql).is_first());
    }
    for (times, update) in
        (1..).zip(["UPDATE sale SET amount = 9000 WHERE id = 5", "UPDATE sale SET amount = -1 WHERE id = 5"])
    {
        conn.execute(update, ())?;
        for (sql, live) in &mut followed {
            assert!(live.next_change_within(SOON)?.item().is_some(), "{sql}");
            assert_eq!((live.statistics().runs, live.statistics().followed), (1, times), "{sql}");
        }
    }
    Ok(())
}
