//! Plans of changes that are derived wrong are noticed by who compares what is told with the query.

use std::collections::BTreeMap;
use std::time::Duration;

use super::changes::Changes;
use crate::plan::{Fault, with_fault};
use crate::{Connection, Database, LiveChange, LiveQuery, Next, Row};

/// Tables of so many rows that a few changes are followed.
const SCHEMA: &str = "CREATE TABLE a (id int PRIMARY KEY, n int NOT NULL);
    CREATE TABLE b (id int PRIMARY KEY, a int NOT NULL);
    INSERT INTO a VALUES (1, 1), (2, 1); INSERT INTO b VALUES (1, 1);
    INSERT INTO a SELECT g, g % 100 + 10 FROM generate_series(10, 500) g; INSERT INTO b SELECT g, g FROM generate_series(10, 500) g;
    SET enable_live_runs = off";

const HISTORY: [&str; 4] = [
    "BEGIN; INSERT INTO a VALUES (3, 2); INSERT INTO b VALUES (2, 3); COMMIT",
    "INSERT INTO b VALUES (3, 2)",
    "UPDATE a SET n = 1 WHERE id = 3",
    "DELETE FROM b WHERE id = 1",
];

const QUERIES: [&str; 5] = [
    "SELECT a.id, b.id FROM a JOIN b ON b.a = a.id",
    "SELECT a.id, b.id FROM a LEFT JOIN b ON b.a = a.id",
    "SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.a = a.id)",
    "SELECT n, max(id) FROM a GROUP BY n",
    "SELECT id, count(*) OVER (PARTITION BY n) FROM a",
];

pub(super) type Rows = BTreeMap<String, i64>;

fn text(row: &Row<'_>) -> String {
    format!("{:?}", row.values())
}

/// Adds what was told.
pub(super) fn add(change: &LiveChange, known: &mut Rows) {
    let mut add = |row: &Row<'_>, weight| *known.entry(text(row)).or_insert(0) += weight;
    change.added().for_each(|row| add(&row, 1));
    change.removed().for_each(|row| add(&row, -1));
    change.updated().for_each(|(old, new)| {
        add(&old, -1);
        add(&new, 1);
    });
    known.retain(|_, count| *count != 0);
}

fn apply(live: &mut LiveQuery, known: &mut Rows) {
    while let Next::Item(change) = live.next_change_within(Duration::from_millis(300)).unwrap() {
        add(&change, known);
    }
}

pub(super) fn result(conn: &Connection, sql: &str) -> Rows {
    let mut rows = Rows::new();
    let mut all = conn.query(sql, ()).unwrap();
    while let Some(row) = all.next().unwrap() {
        *rows.entry(text(&row)).or_insert(0) += 1;
    }
    rows
}

/// The queries for which something else was told than their results.
fn told_wrong(fault: Option<Fault>) -> Vec<&'static str> {
    let database = Database::open_in_memory().unwrap();
    let conn = database.connect().unwrap();
    conn.execute_script(SCHEMA).unwrap();
    let live = |sql| with_fault(fault, || conn.live(sql, ()).unwrap());
    let mut watched = QUERIES.map(|sql| (sql, live(sql), Rows::new()));
    // What they are at first, so that each step is followed.
    watched.iter_mut().for_each(|(_, live, known)| apply(live, known));
    let mut wrong = vec![];
    for step in HISTORY {
        conn.execute_script(step).unwrap();
        for (sql, live, known) in &mut watched {
            apply(live, known);
            if *known != result(&conn, sql) && !wrong.contains(sql) {
                wrong.push(*sql);
            }
        }
    }
    wrong
}

#[test]
fn plans_of_changes_that_are_wrong_are_noticed() {
    assert_eq!(told_wrong(None), Vec::<&str>::new());
    for fault in [Fault::BothSidesForgotten, Fault::PartnersForgotten, Fault::OldPartKept] {
        let wrong = told_wrong(Some(fault));
        println!("{fault:?}: {wrong:?}");
        assert!(!wrong.is_empty(), "{fault:?}");
    }
}

/// A change that turns out not to be followed, and for which there is no time to run the query: another thread tries it again.
#[test]
fn what_was_given_up_half_way_is_followed_from_the_result_again() {
    let database = Database::open_in_memory().unwrap();
    let conn = database.connect().unwrap();
    conn.execute_script(SCHEMA).unwrap();
    conn.execute_script("CREATE INDEX a_n ON a (n); ANALYZE a").unwrap();
    let live = conn.live("SELECT DISTINCT n FROM a", ()).unwrap();
    let watching = &live.subscription.watching;
    // The thread passes it by meanwhile.
    let mut query = watching.shown.query.lock();
    let (store, ranges) = (&conn.session.shared().store, query.ranges.clone());
    let older = store.durable_snapshot().unwrap();
    conn.execute("INSERT INTO a VALUES (4, 1000)", ()).unwrap();
    let newer = store.durable_snapshot().unwrap();
    let changes = Changes::between(&older, &newer, &ranges, &mut |_| Ok(true)).unwrap();
    for _ in 0..2 {
        let change = query.follow(conn.session.shared(), &watching.service.plans, &changes).unwrap();
        assert!(change.is_none(), "{change:?}: rows that nobody told it of are not to be relied on");
        query.ranges = ranges.clone();
    }
    let told = query.advance(conn.session.shared(), &watching.service.plans, &newer).unwrap();
    assert_eq!(told.in_order().count(), 1);
}
