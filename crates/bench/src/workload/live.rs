//! Live queries: from commit to notification, what subscriptions cost a writer, and what a change of a result costs.
//!
//! All of it in memory. A *hand-over* is what two threads take to tell each other anything at all: one puts the time under a
//! mutex and signals a condition, the other reads it when it has woken.
//!
//! Beside it what applications do with SQLite, on one connection and thread: its update hook says that something changed, and after the
//! commit each query is run again, and its result compared with the last one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cairndb::{Connection, Database, LiveQuery, Statement};

use crate::Result;
use crate::latency::Latencies;
use crate::report::{Place, Report};
use crate::setup::Setup;
use crate::terminal::progress;

const PLACE: Place = Place { workload: "live", medium: "memory" };
const ENGINE: &str = "CairnDB";
const FLOOR: &str = "hand-over";
const HOOKED: &str = "SQLite, hook";
const SHARES: [f64; 2] = [0.5, 0.99];
/// So long a notification may take before it counts as lost.
const LOST: Duration = Duration::from_secs(30);
const GROUPED: &str = "SELECT r.name, count(*), sum(s.amount) FROM sale s JOIN shop p ON p.id = s.shop \
                       JOIN region r ON r.id = p.region GROUP BY r.name";

pub fn run(setup: &Setup, report: &mut Report) -> Result<()> {
    let args = &setup.args;
    for round in 0..args.rounds() {
        progress(PLACE, round, args.rounds());
        hand_overs(args.size(20_000, 1_000), report)?;
        notifications(args.size(20_000, 1_000), report)?;
        writers_cost(args.size(10_000, 1_000), args.size(20_000, 2_000), report)?;
        deliveries(report)?;
        relevant_writes(report)?;
        hooked_notifications(args.size(20_000, 1_000), report)?;
        hooked_deliveries(report)?;
        hooked_join(args.rows.unwrap_or(args.size(1_000_000, 20_000)), report)?;
        grouped_join(args.rows.unwrap_or(args.size(1_000_000, 20_000)), args.size(2_000, 200), report)?;
    }
    Ok(())
}

/// Two threads, one telling the other the time.
fn hand_overs(times: u64, report: &mut Report) -> Result<()> {
    struct Told {
        at: Mutex<Option<Instant>>,
        changed: Condvar,
    }
    let told = Arc::new(Told { at: Mutex::new(None), changed: Condvar::new() });
    let (send, taken) = std::sync::mpsc::channel();
    let hearing = told.clone();
    let hearer = std::thread::spawn(move || {
        for _ in 0..times {
            let mut at = hearing.at.lock().unwrap_or_else(PoisonError::into_inner);
            let began = loop {
                match at.take() {
                    Some(began) => break began,
                    None => at = hearing.changed.wait(at).unwrap_or_else(PoisonError::into_inner),
                }
            };
            let took = began.elapsed();
            drop(at);
            if send.send(took).is_err() {
                return;
            }
        }
    });
    let mut latencies = Latencies::new()?;
    for _ in 0..times {
        settle();
        *told.at.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        told.changed.notify_one();
        latencies.add(taken.recv()?);
    }
    let _ = hearer.join();
    report.add_latencies(PLACE, FLOOR, "to another thread", &latencies, &SHARES)
}

/// Gives who waits the time to fall asleep.
fn settle() {
    let until = Instant::now() + Duration::from_micros(30);
    while Instant::now() < until {
        std::thread::yield_now();
    }
}

fn database(rows: i64) -> Result<(Database, Connection)> {
    let database = Database::open_in_memory()?;
    let conn = database.connect()?;
    conn.execute_script("CREATE TABLE t (id bigint PRIMARY KEY, n bigint NOT NULL, v text NOT NULL)")?;
    conn.execute("INSERT INTO t SELECT g, 0, 'row ' || g FROM generate_series(1, $1) g", (rows,))?;
    Ok((database, conn))
}

fn update(conn: &Connection) -> Result<Statement<'_>> {
    Ok(conn.prepare("UPDATE t SET n = $1 WHERE id = $2")?)
}

fn next(live: &mut LiveQuery) -> Result<cairndb::LiveChange> {
    live.next_change_within(LOST)?.item().ok_or_else(|| "a notification was lost".into())
}

/// From the call that commits to the subscriber's thread having the change; and the commit alone.
fn notifications(times: u64, report: &mut Report) -> Result<()> {
    let (_database, conn) = database(1_000)?;
    let mut live = conn.live("SELECT n, v FROM t WHERE id = $1", (7i64,))?;
    next(&mut live)?;
    let (begin, begun) = std::sync::mpsc::channel::<Instant>();
    let (send, taken) = std::sync::mpsc::channel();
    let hearer = std::thread::spawn(move || -> std::result::Result<(), String> {
        for _ in 0..times {
            let change = next(&mut live).map_err(|error| error.to_string())?;
            let heard = Instant::now();
            assert_eq!(change.updated().count(), 1);
            let began = begun.recv().map_err(|error| error.to_string())?;
            send.send(heard.duration_since(began)).map_err(|error| error.to_string())?;
        }
        Ok(())
    });
    let mut statement = update(&conn)?;
    let (mut latencies, mut commits) = (Latencies::new()?, Latencies::new()?);
    for n in 0..times as i64 {
        settle();
        let began = Instant::now();
        statement.execute((n + 1, 7i64))?;
        commits.add(began.elapsed());
        begin.send(began)?;
        latencies.add(taken.recv_timeout(LOST)?);
    }
    hearer.join().map_err(|_| "the subscriber's thread panicked")??;
    report.add_latencies(PLACE, ENGINE, "commit to notification", &latencies, &SHARES)?;
    report.add_latencies(PLACE, ENGINE, "the commit alone", &commits, &SHARES)
}

/// Updates of rows that nobody watches, with and without subscriptions on other keys, a few at a time by turns.
fn writers_cost(subscriptions: i64, updates: u64, report: &mut Report) -> Result<()> {
    const AT_ONCE: u64 = 100;
    let (_watched, conn) = database(2 * subscriptions)?;
    let (_unwatched, other) = database(2 * subscriptions)?;
    let live = (1..=subscriptions).map(|id| conn.live("SELECT n, v FROM t WHERE id = $1", (id,)));
    let _live = live.collect::<cairndb::Result<Vec<_>>>()?;
    let mut statements = [(update(&conn)?, Duration::ZERO), (update(&other)?, Duration::ZERO)];
    for turn in 0..updates / AT_ONCE {
        for (statement, took) in &mut statements {
            let began = Instant::now();
            for n in 0..AT_ONCE as i64 {
                let id = subscriptions + 1 + (turn as i64 * AT_ONCE as i64 + n) % subscriptions;
                statement.execute((n, id))?;
            }
            *took += began.elapsed();
        }
    }
    let [with, without] = statements.map(|(_, took)| took.as_secs_f64());
    report.add(PLACE, ENGINE, &format!("a writer beside {subscriptions} subscriptions"), "x alone", with / without);
    Ok(())
}

/// What the whole process used of the processors so far.
#[cfg(target_os = "linux")]
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(not(target_os = "linux"))]
fn processor_time() -> Duration {
    Duration::ZERO
}

/// 100 different queries, each changed by each of 200 commits, whose changes are all taken before the next commit.
fn deliveries(report: &mut Report) -> Result<()> {
    const QUERIES: i64 = 100;
    const COMMITS: i64 = 200;
    let commits = |conn: &Connection, each: &mut dyn FnMut() -> Result<()>| -> Result<Duration> {
        let mut statement = update(conn)?;
        let before = processor_time();
        for n in 1..=COMMITS {
            statement.execute((n, 1i64))?;
            each()?;
        }
        Ok(processor_time() - before)
    };
    let (_alone, conn) = database(100)?;
    let alone = commits(&conn, &mut || Ok(()))?;
    let (_database, conn) = database(100)?;
    let live = (0..QUERIES).map(|k| conn.live("SELECT id, n + $1::bigint FROM t WHERE n > $1::bigint - 1000", (k,)));
    let mut live = live.collect::<cairndb::Result<Vec<_>>>()?;
    for query in &mut live {
        next(query)?;
    }
    let all = commits(&conn, &mut || {
        for query in &mut live {
            let change = next(query)?;
            if change.updated().count() + change.added().count() != 1 {
                return Err("a change was merged".into());
            }
        }
        Ok(())
    })?;
    let took = all.saturating_sub(alone);
    report.add(PLACE, ENGINE, "20,000 deliveries", "ms of processor", took.as_secs_f64() * 1e3);
    Ok(())
}

/// 50 subscriptions on keys, 5,000 writes of which 100 are of these keys: rows computed for each of those.
fn relevant_writes(report: &mut Report) -> Result<()> {
    let (_database, conn) = database(10_000)?;
    let live = (1..=50i64).map(|id| conn.live("SELECT n, v FROM t WHERE id = $1", (id,)));
    let mut live = live.collect::<cairndb::Result<Vec<_>>>()?;
    let rows = |live: &[LiveQuery]| live.iter().map(|live| live.statistics().rows).sum::<u64>();
    for query in &mut live {
        next(query)?;
    }
    let before = rows(&live);
    let mut statement = update(&conn)?;
    for n in 1..=5_000i64 {
        let id = if n % 50 == 0 { 1 + (n / 50) % 50 } else { 100 + n };
        statement.execute((n, id))?;
        if n % 50 == 0 {
            next(&mut live[(id - 1) as usize])?;
        }
    }
    let computed = (rows(&live) - before) as f64 / 100.0;
    report.add(PLACE, ENGINE, "rows computed", "for each relevant write", computed);
    Ok(())
}

/// Three tables joined and grouped, while single rows change: the processor's time for each change, beyond that of the same
/// commits alone; and what running the query takes.
fn grouped_join(rows: i64, changes: u64, report: &mut Report) -> Result<()> {
    let build = || -> Result<(Database, Connection)> {
        let database = Database::open_in_memory()?;
        let conn = database.connect()?;
        conn.execute_script(
            "CREATE TABLE region (id bigint PRIMARY KEY, name text NOT NULL);
             CREATE TABLE shop (id bigint PRIMARY KEY, region bigint NOT NULL);
             CREATE TABLE sale (id bigint PRIMARY KEY, shop bigint NOT NULL, amount bigint NOT NULL);
             INSERT INTO region SELECT g, 'region ' || g FROM generate_series(0, 99) g;
             INSERT INTO shop SELECT g, g % 100 FROM generate_series(0, 9999) g",
        )?;
        conn.execute("INSERT INTO sale SELECT g, g % 10000, g % 97 FROM generate_series(1, $1) g", (rows,))?;
        Ok((database, conn))
    };
    let changing = |conn: &Connection, each: &mut dyn FnMut() -> Result<()>| -> Result<Duration> {
        let mut statement = conn.prepare("UPDATE sale SET amount = amount + 1 WHERE id = $1")?;
        let before = processor_time();
        let began = Instant::now();
        for n in 0..changes {
            // A thousand a second.
            let due = began + Duration::from_millis(n);
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            statement.execute((1 + (n as i64 * 7919) % rows,))?;
            each()?;
        }
        Ok(processor_time() - before)
    };
    let (_alone, conn) = build()?;
    let alone = changing(&conn, &mut || Ok(()))?;
    let began = Instant::now();
    let mut all = conn.query(GROUPED, ())?;
    while all.next()?.is_some() {}
    report.add(PLACE, ENGINE, "join with GROUP BY: the query", "us", began.elapsed().as_secs_f64() * 1e6);
    let (_database, conn) = build()?;
    let mut live = conn.live(GROUPED, ())?;
    next(&mut live)?;
    // What is kept is made for the first change that is followed: all rows go into their groups once. It is told by itself.
    let before = processor_time();
    while live.statistics().followed == 0 {
        conn.execute("UPDATE sale SET amount = amount + 1 WHERE id = 1", ())?;
        next(&mut live)?;
    }
    let begun = (processor_time() - before).as_secs_f64() * 1e6;
    report.add(PLACE, ENGINE, "join with GROUP BY: the first change", "us of processor", begun);
    let all = changing(&conn, &mut || next(&mut live).map(drop))?;
    let each = all.saturating_sub(alone).as_secs_f64() * 1e6 / changes as f64;
    report.add(PLACE, ENGINE, "join with GROUP BY: a change", "us of processor", each);
    Ok(())
}

/// SQLite in memory, whose hook says that rows were changed.
struct Hooked {
    connection: rusqlite::Connection,
    has_changed: Arc<AtomicBool>,
}

type HookedRows = Vec<Vec<rusqlite::types::Value>>;

impl Hooked {
    fn create(schema: &str) -> Result<Hooked> {
        let connection = rusqlite::Connection::open_in_memory()?;
        connection.execute_batch(schema)?;
        let has_changed = Arc::new(AtomicBool::new(false));
        let told = has_changed.clone();
        connection.update_hook(Some(move |_, _: &str, _: &str, _| told.store(true, Ordering::Relaxed)));
        Ok(Hooked { connection, has_changed })
    }

    fn with_rows(rows: u64) -> Result<Hooked> {
        let hooked = Hooked::create("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER NOT NULL, v TEXT NOT NULL)")?;
        let mut insert = hooked.connection.prepare("INSERT INTO t VALUES (?1, 0, ?2)")?;
        (1..=rows).try_for_each(|id| insert.execute((id, format!("row {id}"))).map(drop))?;
        drop(insert);
        Ok(hooked)
    }

    /// Whether anything changed since this was asked last.
    fn has_changed(&self) -> bool {
        self.has_changed.swap(false, Ordering::Relaxed)
    }
}

/// The result, if it is another one than the last.
fn look_again(query: &mut rusqlite::Statement<'_>, last: &mut HookedRows) -> Result<bool> {
    let columns = query.column_count();
    let mut rows = query.raw_query();
    let mut now = HookedRows::new();
    while let Some(row) = rows.next()? {
        now.push((0..columns).map(|at| row.get(at)).collect::<rusqlite::Result<_>>()?);
    }
    let is_another = now != *last;
    *last = now;
    Ok(is_another)
}

fn hooked_notifications(times: u64, report: &mut Report) -> Result<()> {
    let hooked = Hooked::with_rows(1_000)?;
    let mut update = hooked.connection.prepare("UPDATE t SET n = ?1 WHERE id = ?2")?;
    let mut query = hooked.connection.prepare("SELECT n, v FROM t WHERE id = ?1")?;
    query.raw_bind_parameter(1, 7)?;
    let mut last = HookedRows::new();
    look_again(&mut query, &mut last)?;
    let mut latencies = Latencies::new()?;
    for n in 1..=times {
        let began = Instant::now();
        update.execute((n, 7))?;
        if !hooked.has_changed() || !look_again(&mut query, &mut last)? {
            return Err("a change was lost".into());
        }
        latencies.add(began.elapsed());
    }
    report.add_latencies(PLACE, HOOKED, "commit to notification", &latencies, &SHARES)
}

fn hooked_deliveries(report: &mut Report) -> Result<()> {
    let hooked = Hooked::with_rows(100)?;
    let mut update = hooked.connection.prepare("UPDATE t SET n = ?1 WHERE id = 1")?;
    let mut queries = vec![];
    for k in 0..100i64 {
        let mut query = hooked.connection.prepare("SELECT id, n + ?1 FROM t WHERE n > ?1 - 1000")?;
        query.raw_bind_parameter(1, k)?;
        let mut last = HookedRows::new();
        look_again(&mut query, &mut last)?;
        queries.push((query, last));
    }
    let before = processor_time();
    for n in 1..=200i64 {
        update.execute((n,))?;
        if !hooked.has_changed() {
            return Err("a change was lost".into());
        }
        for (query, last) in &mut queries {
            look_again(query, last)?;
        }
    }
    let took = processor_time() - before;
    report.add(PLACE, HOOKED, "20,000 deliveries", "ms of processor", took.as_secs_f64() * 1e3);
    Ok(())
}

fn hooked_join(rows: i64, report: &mut Report) -> Result<()> {
    let hooked = Hooked::create(
        "CREATE TABLE region (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
         CREATE TABLE shop (id INTEGER PRIMARY KEY, region INTEGER NOT NULL);
         CREATE TABLE sale (id INTEGER PRIMARY KEY, shop INTEGER NOT NULL, amount INTEGER NOT NULL);
         WITH RECURSIVE g(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM g WHERE i < 99)
             INSERT INTO region SELECT i, 'region ' || i FROM g;
         WITH RECURSIVE g(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM g WHERE i < 9999)
             INSERT INTO shop SELECT i, i % 100 FROM g",
    )?;
    let fill = "WITH RECURSIVE g(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM g WHERE i < ?1) \
                INSERT INTO sale SELECT i, i % 10000, i % 97 FROM g";
    hooked.connection.execute(fill, (rows,))?;
    let mut query = hooked.connection.prepare(GROUPED)?;
    let mut last = HookedRows::new();
    look_again(&mut query, &mut last)?;
    let mut update = hooked.connection.prepare("UPDATE sale SET amount = amount + 1 WHERE id = ?1")?;
    const CHANGES: i64 = 2;
    let before = processor_time();
    for id in 1..=CHANGES {
        update.execute((id,))?;
        if !hooked.has_changed() || !look_again(&mut query, &mut last)? {
            return Err("a change was lost".into());
        }
    }
    let each = (processor_time() - before).as_secs_f64() * 1e6 / CHANGES as f64;
    report.add(PLACE, HOOKED, "join with GROUP BY: a change", "us of processor", each);
    Ok(())
}
