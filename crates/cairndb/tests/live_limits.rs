//! What live queries may cost: they end in time, with who watches them and with the database, and keep no one else waiting.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use cairndb::{Connection, Database, LiveQuery, Next, Result, SqlState};

/// No test needs that long, nor the machine.
const LONG: Duration = Duration::from_secs(30);
/// What is to end in 50 ms, on a busy machine and not optimized.
const AT_ONCE: Duration = Duration::from_millis(800);

/// Takes no time while the table is empty, and hours when it is [filled].
const HEAVY: &str = "SELECT max(x.id + y.id + z.id) FROM many x, many y, many z WHERE x.id + y.id <> z.id - 1";

fn filled(conn: &Connection) {
    conn.execute("INSERT INTO many SELECT g FROM generate_series(1, 3000) g", ()).unwrap();
}

fn database() -> (Database, Connection) {
    let database = Database::open_in_memory().unwrap();
    let conn = database.connect().unwrap();
    conn.execute_script(
        "CREATE TABLE many (id int); CREATE TABLE one (id int PRIMARY KEY, n int); INSERT INTO one VALUES (1, 1)",
    )
    .unwrap();
    (database, conn)
}

fn heavy(conn: &Connection) -> LiveQuery {
    let mut live = conn.live(HEAVY, ()).unwrap();
    assert!(live.next_change_within(LONG).unwrap().item().unwrap().is_first());
    live
}

fn is_canceled(error: &cairndb::Error) -> bool {
    error.sqlstate() == SqlState::QUERY_CANCELED
}

#[test]
fn one_begins_within_the_time_of_a_statement() {
    let (_database, conn) = database();
    filled(&conn);
    conn.execute("SET statement_timeout = '50ms'", ()).unwrap();
    let began = Instant::now();
    assert!(is_canceled(&conn.live(HEAVY, ()).unwrap_err()));
    conn.execute("SET statement_timeout = 0", ()).unwrap();
    // An interrupt of a statement that is over is nothing to it.
    conn.interrupt_handle().interrupt();
    assert!(conn.live("SELECT n FROM one", ()).is_ok());
    let handle = conn.interrupt_handle();
    let interrupting = thread::spawn(move || {
        thread::sleep(Duration::from_millis(50));
        handle.interrupt();
    });
    assert!(is_canceled(&conn.live(HEAVY, ()).unwrap_err()));
    interrupting.join().unwrap();
    assert!(began.elapsed() < 2 * AT_ONCE, "{:?}", began.elapsed());
}

#[test]
fn who_joins_one_that_others_begin_waits_no_longer_than_he_may() {
    let (database, conn) = database();
    filled(&conn);
    let handle = conn.interrupt_handle();
    let beginning = thread::spawn(move || conn.live(HEAVY, ()).map(drop));
    thread::sleep(Duration::from_millis(50));
    let joining = database.connect().unwrap();
    joining.execute("SET statement_timeout = '50ms'", ()).unwrap();
    let began = Instant::now();
    assert!(is_canceled(&joining.live(HEAVY, ()).unwrap_err()));
    handle.interrupt();
    assert!(is_canceled(&beginning.join().unwrap().unwrap_err()));
    assert!(began.elapsed() < AT_ONCE, "{:?}", began.elapsed());
}

#[test]
fn a_change_has_the_time_of_a_statement() {
    let (_database, conn) = database();
    conn.execute("SET statement_timeout = '100ms'", ()).unwrap();
    let mut live = heavy(&conn);
    conn.execute("SET statement_timeout = 0", ()).unwrap();
    let mut patient = heavy(&conn);
    filled(&conn);
    let began = Instant::now();
    assert!(is_canceled(&live.next_change_within(LONG).unwrap_err()));
    assert!(began.elapsed() < AT_ONCE, "{:?}", began.elapsed());
    assert!(live.has_ended());
    assert!(matches!(patient.next_change_within(Duration::from_millis(50)).unwrap(), Next::NotYet));
}

#[test]
fn what_takes_long_keeps_nobody_else_waiting() -> Result<()> {
    let (_database, conn) = database();
    let _heavy = heavy(&conn);
    let mut light = conn.live("SELECT n FROM one", ())?;
    light.next_change()?;
    filled(&conn);
    for _ in 0..5 {
        thread::sleep(Duration::from_millis(20));
        conn.execute("UPDATE one SET n = n + 1", ())?;
        let began = Instant::now();
        assert!(light.next_change_within(LONG)?.item().is_some());
        // (Told in 20 ms where nobody else has the processors.)
        assert!(began.elapsed() < AT_ONCE, "{:?}", began.elapsed());
    }
    Ok(())
}

#[test]
fn what_nobody_watches_any_more_ends_and_the_database_with_its_last_handle() {
    for is_closed in [false, true] {
        let (database, conn) = database();
        let live = heavy(&conn);
        filled(&conn);
        thread::sleep(Duration::from_millis(100));
        let began = Instant::now();
        if is_closed {
            let (tell, told) = mpsc::channel();
            let mut live = live;
            thread::spawn(move || tell.send(live.next_change().map(|change| change.is_none())));
            thread::sleep(Duration::from_millis(20));
            database.close().unwrap();
            assert!(told.recv_timeout(LONG).unwrap().unwrap(), "it ends without a reason");
        } else {
            drop(live);
            drop((conn, database));
        }
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    }
}

#[test]
fn whoever_lets_go_of_a_database_waits_for_no_view_for_long() {
    for is_closed in [false, true] {
        let (database, conn) = database();
        conn.execute_script(&format!("CREATE MATERIALIZED VIEW v WITH (maintained = after) AS {HEAVY}")).unwrap();
        assert!(conn.wait_for_view("v", conn.position().unwrap(), LONG).unwrap());
        filled(&conn);
        thread::sleep(Duration::from_millis(50));
        let began = Instant::now();
        if is_closed {
            database.close().unwrap();
        } else {
            drop((conn, database));
        }
        assert!(began.elapsed() < Duration::from_millis(1500), "{:?}", began.elapsed());
    }
}

#[test]
fn whoever_waits_is_stopped_from_elsewhere() -> Result<()> {
    let (database, conn) = database();
    conn.execute_script("CREATE TABLE told (id int) WITH (change_feed = on); LISTEN news")?;
    let (mut live, mut changes, mut news) = (heavy(&conn), database.changes(None)?, conn.notifications());
    filled(&conn);
    let stops = [live.stop_handle(), changes.stop_handle(), news.stop_handle()];
    let waiting = [
        thread::spawn(move || live.next_change().unwrap().is_none() && live.next().is_none() && live.has_ended()),
        thread::spawn(move || {
            let came = changes.next_change().unwrap().is_none();
            came && changes.next_change_within(LONG).unwrap().is_end()
        }),
        thread::spawn(move || news.next_notification().is_none() && news.next_notification_within(LONG).is_end()),
    ];
    thread::sleep(Duration::from_millis(50));
    let began = Instant::now();
    stops.iter().for_each(cairndb::StopHandle::stop);
    assert_eq!(waiting.map(|thread| thread.join().unwrap()), [true; 3]);
    assert!(began.elapsed() < AT_ONCE, "{:?}", began.elapsed());
    // Others hear on.
    conn.execute("NOTIFY news", ())?;
    assert!(conn.notifications().next_notification_within(LONG).item().is_some());
    Ok(())
}

#[test]
fn sessions_that_differ_share_no_query() -> Result<()> {
    let (database, conn) = database();
    let other = database.connect()?;
    for setting in ["work_mem = '5MB'", "statement_timeout = '9s'", "synchronous_commit = off", "app.own = 'x'"] {
        other.execute(&format!("SET {setting}"), ())?;
        let name = setting.split(' ').next().unwrap();
        let sql = format!("SELECT current_setting('{name}', true) FROM one");
        let shown = |conn: &Connection| -> Result<Option<String>> {
            let first = conn.live(&sql, ())?.next_change()?.unwrap();
            let row = first.added().next().unwrap();
            row.get(0)
        };
        assert_ne!(shown(&conn)?, shown(&other)?, "{setting}");
    }
    Ok(())
}

#[test]
fn a_type_that_gets_more_values_ends_nothing() -> Result<()> {
    let (_database, conn) = database();
    conn.execute_script(
        "CREATE TYPE mood AS ENUM ('sad', 'glad'); CREATE TABLE t (id int PRIMARY KEY, m mood, all_of mood[])",
    )?;
    conn.execute("INSERT INTO t VALUES (1, 'sad', '{sad,glad}')", ())?;
    let mut followed = ["SELECT id, m, all_of FROM t", "SELECT t FROM t", "SELECT m, count(*) FROM t GROUP BY m"]
        .map(|sql| conn.live(sql, ()).expect(sql));
    for live in &mut followed {
        live.next_change()?;
    }
    conn.execute("ALTER TYPE mood ADD VALUE 'calm' BEFORE 'glad'", ())?;
    conn.execute("INSERT INTO t VALUES (2, 'calm', '{calm}')", ())?;
    for live in &mut followed {
        let change = live.next_change_within(LONG)?.item().expect("a change");
        let text: Vec<String> =
            change.added().map(|row| row.values().iter().map(|value| format!("{value} ")).collect()).collect();
        assert!(change.removed().count() == 0 && text.len() == 1 && text[0].contains("calm"), "{text:?}");
    }
    conn.execute("ALTER TABLE t ADD COLUMN more int", ())?;
    let ended = followed[1].next_change_within(LONG).unwrap_err();
    assert!(ended.sqlstate().0 == "0A000" && ended.message().contains("other columns"), "{ended}");
    Ok(())
}

/// What is answered without looking at rows is asked again: to follow it, all of the rows would have to be read.
#[test]
fn what_costs_too_much_to_follow_is_run_again() -> Result<()> {
    let (_database, conn) = database();
    conn.execute("INSERT INTO one SELECT g, g FROM generate_series(2, 250000) g", ())?;
    // What a run takes is measured: on a machine that others use, it may seem to be worth a beginning once, but not each time.
    let is_run_again = (0..5_i32).map(|round| -> Result<bool> {
        let mut count = conn.live("SELECT count(*) FROM one WHERE id >= $1", (5 + round,))?;
        let few = format!("SELECT count(*) FROM one WHERE id BETWEEN {} AND {}", 30 * round + 3, 30 * round + 9);
        let mut few = conn.live(&few, ())?;
        count.next_change()?;
        few.next_change()?;
        conn.execute("DELETE FROM one WHERE id = $1", (30 * round + 8,))?;
        assert!(count.next_change_within(LONG)?.item().is_some() && few.next_change_within(LONG)?.item().is_some());
        assert_eq!(few.statistics().followed, 1);
        Ok(count.statistics().runs == 2)
    });
    assert!(is_run_again.collect::<Result<Vec<_>>>()?.contains(&true));
    Ok(())
}

#[test]
fn what_was_read_when_time_ran_out_is_still_heard_of() {
    let database = Database::open_in_memory().unwrap();
    let conn = database.connect().unwrap();
    conn.execute_script(
        "CREATE TABLE asked (id int PRIMARY KEY, g int, k int, note text); CREATE INDEX ON asked (g);
        CREATE TABLE items (id int PRIMARY KEY, k int); CREATE INDEX ON items (k);
        INSERT INTO asked SELECT i, i % 1000, i, 'old' FROM generate_series(1, 5000) i;
        INSERT INTO asked VALUES (6000, 1, -1, 'old');
        INSERT INTO items SELECT i, CASE WHEN i <= 60000 THEN -1 ELSE i - 60000 END FROM generate_series(1, 65000) i;
        ANALYZE; SET enable_live_runs = off",
    )
    .unwrap();
    let sql = "SELECT a.id, a.note, i.id FROM asked a JOIN items i ON i.k = a.k WHERE a.g = 1";
    let mut live = conn.live(sql, ()).unwrap();
    let first = live.next_change_within(LONG).unwrap().item().unwrap().added().count();
    // Too much for the thread in which it begins.
    conn.execute("INSERT INTO asked VALUES (5001, 1, -1, 'new')", ()).unwrap();
    let many = live.next_change_within(LONG).unwrap().item().unwrap().added().count();
    assert_eq!((first, many), (60005, 60000));
    conn.execute("UPDATE asked SET note = 'newer' WHERE id = 5001", ()).unwrap();
    let told = live.next_change_within(LONG / 3).unwrap().item().expect("the row was read");
    assert_eq!(told.added().count() + told.updated().count(), 60000);
}

/// Those that cost less came first at every commit, and there was always one.
#[test]
fn one_that_costs_more_is_told_while_commits_go_on() -> Result<()> {
    let (database, conn) = database();
    conn.execute("INSERT INTO many SELECT g FROM generate_series(1, 25) g", ())?;
    let cheap: Vec<LiveQuery> =
        (0..1500).map(|number| conn.live("SELECT n + $1 FROM one", (number,))).collect::<Result<_>>()?;
    let mut costly = conn.live("SELECT max(x.id * y.id) + max(n) FROM many x, many y, one", ())?;
    costly.next_change()?;
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let conn = database.connect().unwrap();
            while !is_over.load(Ordering::Relaxed) {
                conn.execute("UPDATE one SET n = n + 1", ()).unwrap();
            }
        });
        let told: Vec<_> = (0..3).map(|_| costly.next_change_within(Duration::from_secs(5))).collect();
        is_over.store(true, Ordering::Relaxed);
        told.into_iter().for_each(|told| assert!(told.unwrap().item().is_some(), "it was passed by"));
    });
    drop(cheap);
    Ok(())
}

#[test]
fn a_transaction_that_changes_much_keeps_nobody_waiting_whom_it_does_not_concern() -> Result<()> {
    let (database, conn) = database();
    conn.execute_script("CREATE TABLE wide (id int PRIMARY KEY, n int, other int)")?;
    conn.execute("INSERT INTO wide SELECT g, g, g FROM generate_series(1, 60000) g", ())?;
    let mut all = conn.live("SELECT id FROM wide WHERE n < 0", ())?;
    let mut few = conn.live("SELECT n FROM wide WHERE id = 7", ())?;
    let mut light = conn.live("SELECT n FROM one", ())?;
    for live in [&mut all, &mut few, &mut light] {
        live.next_change()?;
    }
    let writer = database.connect()?;
    conn.execute("UPDATE wide SET other = other + 1, n = CASE WHEN id = 7 THEN -1 ELSE n END", ())?;
    writer.execute("UPDATE one SET n = n + 1", ())?;
    let began = Instant::now();
    assert!(light.next_change_within(LONG)?.item().is_some());
    assert!(began.elapsed() < AT_ONCE, "{:?}", began.elapsed());
    // And who is concerned is told what it is to him.
    let told = |live: &mut LiveQuery| live.next_change_within(LONG).map(|change| change.item().is_some());
    assert!(told(&mut few)? && told(&mut all)?);
    assert!(matches!(few.next_change_within(Duration::from_millis(50))?, Next::NotYet));
    Ok(())
}
