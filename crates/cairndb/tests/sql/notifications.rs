//! LISTEN, NOTIFY and UNLISTEN: what is delivered, to whom, when, and in which order.

use std::sync::{Arc, Barrier, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use cairndb::{Connection, Database, Durability, Next, Notifications, Options, SqlState};

const LONG: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(30);

fn open() -> Database {
    Database::open_in_memory().unwrap()
}

fn listening(db: &Database, channels: &[&str]) -> (Connection, Notifications) {
    let connection = db.connect().unwrap();
    channels.iter().for_each(|channel| connection.listen(channel).unwrap());
    let notifications = connection.notifications();
    (connection, notifications)
}

/// `channel:payload` of all that wait.
fn taken(notifications: &mut Notifications) -> Vec<String> {
    let all = notifications.drain().into_iter();
    all.map(|told| format!("{}:{}", told.channel(), told.payload())).collect()
}

fn run(connection: &Connection, sql: &str) {
    connection.execute_script(sql).unwrap();
}

#[track_caller]
fn fails(connection: &Connection, sql: &str, state: &str, message: &str) {
    let error = connection.execute_script(sql).unwrap_err();
    assert_eq!((error.sqlstate().as_str(), error.message()), (state, message), "{sql}");
}

#[test]
fn whoever_listens_to_the_channel_hears_and_nobody_else() {
    let db = open();
    let (_one, mut first) = listening(&db, &["a"]);
    let (_two, mut second) = listening(&db, &["a", "b"]);
    let writer = db.connect().unwrap();
    run(
        &writer,
        "NOTIFY a; NOTIFY a, 'x'; NOTIFY b, 'y'; NOTIFY c, 'z'; SELECT pg_notify('a', 'of ' || n) FROM generate_series(1, 2) n",
    );
    assert_eq!(taken(&mut first), ["a:", "a:x", "a:of 1", "a:of 2"]);
    assert_eq!(taken(&mut second), ["a:", "a:x", "b:y", "a:of 1", "a:of 2"]);
    assert!(taken(&mut second).is_empty());
}

#[test]
fn who_notifies_hears_itself_and_knows() {
    let db = open();
    let (one, mut first) = listening(&db, &["a"]);
    let (two, mut second) = listening(&db, &["a"]);
    run(&one, "NOTIFY a");
    run(&two, "NOTIFY a");
    let own =
        |notifications: &mut Notifications| notifications.drain().iter().map(|told| told.is_own()).collect::<Vec<_>>();
    assert_eq!((own(&mut first), own(&mut second)), (vec![true, false], vec![false, true]));
}

#[test]
fn nothing_is_told_before_the_commit_and_nothing_of_what_is_rolled_back() {
    let db = open();
    let (_listener, mut heard) = listening(&db, &["a"]);
    let writer = db.connect().unwrap();
    run(&writer, "CREATE TABLE t (n int); BEGIN; INSERT INTO t VALUES (1); NOTIFY a, 'later'");
    assert!(taken(&mut heard).is_empty());
    run(&writer, "COMMIT");
    assert_eq!(taken(&mut heard), ["a:later"]);
    run(&writer, "BEGIN; NOTIFY a, 'never'; ROLLBACK; NOTIFY a, 'and on'");
    assert_eq!(taken(&mut heard), ["a:and on"]);
    // A failed transaction's COMMIT is a ROLLBACK.
    run(&writer, "BEGIN; NOTIFY a, 'never'");
    assert!(writer.execute("SELECT 1 / 0", ()).is_err());
    run(&writer, "COMMIT; BEGIN; COMMIT");
    // So is the end of a statement that fails on its own.
    assert!(writer.execute("SELECT pg_notify('a', 'no'), 1 / (n - 1) FROM t", ()).is_err());
    run(&writer, "INSERT INTO t VALUES (2); BEGIN; NOTIFY a, 'dropped'");
    drop(writer);
    assert!(taken(&mut heard).is_empty());
}

#[test]
fn savepoints_take_back_what_was_said_behind_them() {
    let db = open();
    let (_listener, mut heard) = listening(&db, &["a"]);
    let writer = db.connect().unwrap();
    run(
        &writer,
        "BEGIN; NOTIFY a, '1'; SAVEPOINT s; NOTIFY a, '2'; NOTIFY a, '1'; SAVEPOINT r; NOTIFY a, '3'; ROLLBACK TO s;
         NOTIFY a, '4'; SAVEPOINT t; NOTIFY a, '2'; RELEASE t; LISTEN b; ROLLBACK TO s; NOTIFY a, '5'; RELEASE s; COMMIT;
         NOTIFY b",
    );
    assert_eq!(taken(&mut heard), ["a:1", "a:5"]);
    let listens: i64 = writer.query_row("SELECT count(*) FROM pg_listening_channels()", (), |row| row.get(0)).unwrap();
    assert_eq!(listens, 0);
}

#[test]
fn the_same_is_told_once_in_a_transaction() {
    let db = open();
    let (_listener, mut heard) = listening(&db, &["a", "b"]);
    let writer = db.connect().unwrap();
    run(
        &writer,
        "BEGIN; NOTIFY a, 'x'; NOTIFY a, 'x'; NOTIFY b, 'x'; SELECT pg_notify('a', 'x'); NOTIFY a; NOTIFY a; COMMIT",
    );
    assert_eq!(taken(&mut heard), ["a:x", "b:x", "a:"]);
    run(&writer, "NOTIFY a; NOTIFY a");
    assert_eq!(taken(&mut heard), ["a:", "a:"]);
}

#[test]
fn listening_begins_and_ends_with_the_commit() {
    let db = open();
    let (listener, mut heard) = listening(&db, &[]);
    let writer = db.connect().unwrap();
    run(&listener, "BEGIN; LISTEN a");
    run(&writer, "NOTIFY a, 'early'");
    run(&listener, "NOTIFY a, 'own'; COMMIT");
    assert_eq!(taken(&mut heard), ["a:own"]);
    run(&listener, "BEGIN; UNLISTEN a; ROLLBACK; BEGIN; LISTEN b; ROLLBACK");
    run(&writer, "NOTIFY a, 'still'; NOTIFY b");
    assert_eq!(taken(&mut heard), ["a:still"]);
    run(&listener, "LISTEN b; LISTEN c; LISTEN b; UNLISTEN a; UNLISTEN nobody_listens");
    let channels: Vec<(String,)> =
        listener.query_as("SELECT pg_listening_channels()", ()).unwrap().collect::<cairndb::Result<_>>().unwrap();
    assert_eq!(channels, [("b".to_owned(),), ("c".to_owned(),)]);
    run(&writer, "NOTIFY a; NOTIFY b");
    assert_eq!(taken(&mut heard), ["b:"]);
    run(&listener, "UNLISTEN *");
    run(&writer, "NOTIFY b; NOTIFY c");
    run(&listener, "LISTEN b; DISCARD ALL");
    run(&writer, "NOTIFY b");
    assert!(taken(&mut heard).is_empty());
}

#[test]
fn a_session_in_a_transaction_hears_when_that_is_over() {
    let db = open();
    let (listener, mut heard) = listening(&db, &["a"]);
    let writer = db.connect().unwrap();
    for end in ["COMMIT", "ROLLBACK"] {
        run(&listener, "BEGIN; SELECT 1");
        run(&writer, "NOTIFY a, 'waits'");
        assert!(taken(&mut heard).is_empty());
        assert_eq!(heard.next_notification_within(SHORT), Next::NotYet);
        run(&listener, end);
        assert_eq!(taken(&mut heard), ["a:waits"]);
    }
    // Also where it began to listen in the open transaction.
    let late = db.connect().unwrap();
    run(&late, "BEGIN; LISTEN a");
    let mut of_late = late.notifications();
    run(&late, "COMMIT AND CHAIN");
    run(&writer, "NOTIFY a");
    assert!(taken(&mut of_late).is_empty());
    run(&late, "COMMIT");
    assert_eq!(taken(&mut of_late), ["a:"]);
}

#[test]
fn a_wait_is_ended_by_the_end_of_the_transaction_too() {
    let db = open();
    let (listener, mut heard) = listening(&db, &["a"]);
    run(&listener, "BEGIN; SELECT 1");
    run(&db.connect().unwrap(), "NOTIFY a, 'waits'");
    let waiting = thread::spawn(move || heard.next_notification().map(|told| told.payload().to_owned()));
    thread::sleep(SHORT);
    assert!(!waiting.is_finished());
    run(&listener, "COMMIT");
    assert_eq!(waiting.join().unwrap().as_deref(), Some("waits"));
}

#[test]
fn functions_and_triggers_notify() {
    let db = open();
    let (_listener, mut heard) = listening(&db, &["t", "u"]);
    let writer = db.connect().unwrap();
    run(
        &writer,
        "CREATE TABLE t (id int PRIMARY KEY, n int);
         CREATE FUNCTION told() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN
                 PERFORM pg_notify('t', tg_op || ' ' || new.id);
                 NOTIFY u;
                 RETURN new;
             END $$;
         CREATE TRIGGER told AFTER INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION told();
         CREATE FUNCTION by_sql(text) RETURNS void LANGUAGE sql AS $$ SELECT pg_notify('t', $1) $$;
         INSERT INTO t VALUES (1, 1), (2, 2); UPDATE t SET n = 3 WHERE id = 2",
    );
    assert_eq!(taken(&mut heard), ["t:INSERT 1", "u:", "t:INSERT 2", "t:UPDATE 2", "u:"]);
    run(&writer, "SELECT by_sql('from SQL')");
    assert_eq!(taken(&mut heard), ["t:from SQL"]);
    // A block with EXCEPTION takes back what it said.
    run(
        &writer,
        "DO $$
             DECLARE nothing text;
             BEGIN
                 PERFORM pg_notify('t', 'before');
                 BEGIN
                     NOTIFY t, 'within';
                     nothing := pg_notify('t', 'in an expression');
                     PERFORM 1 / 0;
                 EXCEPTION WHEN division_by_zero THEN
                     NOTIFY t, 'handled';
                 END;
                 nothing := pg_notify('t', 'assigned');
             END $$",
    );
    assert_eq!(taken(&mut heard), ["t:before", "t:handled", "t:assigned"]);
    assert!(writer.execute("INSERT INTO t VALUES (3, 3), (3, 3)", ()).is_err());
    assert!(taken(&mut heard).is_empty());
}

#[test]
fn functions_listen_as_in_postgresql() {
    let db = open();
    let (listener, mut heard) = listening(&db, &[]);
    run(&listener, "DO $$ BEGIN LISTEN a; LISTEN b; UNLISTEN b; END $$");
    run(&db.connect().unwrap(), "NOTIFY a; NOTIFY b");
    assert_eq!(taken(&mut heard), ["a:"]);
}

#[test]
fn every_way_to_run_a_statement_tells() {
    let db = open();
    let (_listener, mut heard) = listening(&db, &["a"]);
    let writer = db.connect().unwrap();
    run(&writer, "CREATE TABLE t (id int PRIMARY KEY, name text); INSERT INTO t VALUES (1, 'one'), (2, 'two')");
    // What would be a point statement.
    writer.execute("SELECT pg_notify('a', name) FROM t WHERE id = 1", ()).unwrap();
    let mut prepared = writer.prepare("SELECT pg_notify('a', $1) FROM t WHERE id = $2").unwrap();
    prepared.execute(("prepared", 2)).unwrap();
    let mut rows = writer.query("SELECT pg_notify('a', name) FROM t ORDER BY id DESC", ()).unwrap();
    assert_eq!(rows.next().unwrap().unwrap().get::<String>(0).unwrap(), "");
    drop(rows);
    run(&writer, "PREPARE p (text) AS SELECT pg_notify('a', $1); EXECUTE p ('by name')");
    run(&writer, "BEGIN READ ONLY; NOTIFY a, 'read only'; SELECT pg_notify('a', 'and by function'); COMMIT");
    run(&writer, "CREATE TEMP TABLE s AS SELECT pg_notify('a', 'temporary')::text AS told");
    run(&writer, "INSERT INTO t SELECT 3, pg_notify('a', 'inserted')::text");
    let expected = [
        "a:one",
        "a:prepared",
        "a:two",
        "a:one",
        "a:by name",
        "a:read only",
        "a:and by function",
        "a:temporary",
        "a:inserted",
    ];
    assert_eq!(taken(&mut heard), expected);
}

#[test]
fn what_postgresql_refuses_is_refused() {
    let db = open();
    let connection = db.connect().unwrap();
    let payload = "x".repeat(8000);
    fails(&connection, &format!("NOTIFY a, '{payload}'"), "22023", "payload string too long");
    fails(&connection, &format!("SELECT pg_notify('a', '{payload}')"), "22023", "payload string too long");
    fails(&connection, "SELECT pg_notify('', 'x')", "22023", "channel name cannot be empty");
    fails(&connection, "SELECT pg_notify(NULL, 'x')", "22023", "channel name cannot be empty");
    fails(&connection, "SELECT pg_notify(repeat('x', 64), 'x')", "22023", "channel name too long");
    assert_eq!(connection.listen("").unwrap_err().sqlstate(), SqlState::INVALID_PARAMETER_VALUE);
    let (_listener, mut heard) = listening(&db, &["a", &"x".repeat(63)]);
    run(&connection, &format!("NOTIFY a, '{}'; SELECT pg_notify(repeat('x', 63), NULL)", &payload[1..]));
    let told = heard.drain();
    assert_eq!((told[0].payload().len(), told[1].channel().len(), told[1].payload()), (7999, 63, ""));
    run(&connection, "BEGIN");
    assert!(connection.execute("SELECT 1 / 0", ()).is_err());
    let aborted = "current transaction is aborted, commands ignored until end of transaction block";
    for sql in ["NOTIFY a", "LISTEN a", "UNLISTEN *"] {
        fails(&connection, sql, "25P02", aborted);
    }
    run(&connection, "ROLLBACK");
}

#[test]
fn what_is_stored_does_not_notify() {
    let db = open();
    let connection = db.connect().unwrap();
    for sql in [
        "CREATE TABLE t (a int, CHECK (pg_notify('a', a::text) IS NOT NULL))",
        "CREATE TABLE t (a text DEFAULT pg_notify('a', 'b'))",
        "CREATE VIEW v AS SELECT pg_notify('a', 'b')",
    ] {
        let error = connection.execute(sql, ()).unwrap_err();
        assert_eq!(error.sqlstate(), SqlState::FEATURE_NOT_SUPPORTED, "{sql}: {error}");
    }
}

#[test]
fn a_slow_listener_loses_the_oldest_and_is_told_how_many() {
    let db = open();
    let (_slow, mut of_slow) = listening(&db, &["a"]);
    let (_quick, mut of_quick) = listening(&db, &["a"]);
    let writer = db.connect().unwrap();
    let mut quick = 0;
    for round in 0..20 {
        let sql = "SELECT pg_notify('a', n || repeat('x', 7000)) FROM generate_series($1, $1 + 99) n";
        writer.execute(sql, (round * 100,)).unwrap();
        quick += of_quick.drain().iter().map(|told| 1 + told.missed()).sum::<u64>();
    }
    let kept = of_slow.drain();
    assert_eq!(quick, 2000);
    assert_eq!(kept[0].missed() + kept.len() as u64, 2000, "what is there is the newest, and the rest is counted");
    assert!(kept[1..].iter().all(|told| told.missed() == 0));
    assert!((400..700).contains(&kept.len()), "{} of 7 KB in 4 MiB", kept.len());
    assert!(kept.last().unwrap().payload().starts_with("1999x"));
    assert_eq!(kept[0].to_string().split(' ').next_back(), Some("dropped.)"), "and who prints it sees it");
    run(&writer, "NOTIFY a");
    assert_eq!(of_slow.drain()[0].missed(), 0);
}

#[test]
fn a_transaction_says_no_more_than_a_bounded_amount() {
    let db = open();
    let connection = db.connect().unwrap();
    let sql = "SELECT count(pg_notify('a', n || repeat('x', 7900))) FROM generate_series(1, 10000) n";
    fails(&connection, sql, "54000", "too many notifications in one transaction");
    run(&connection, "NOTIFY a");
}

/// Each transaction draws the next number of a row, and tells it: so numbers are in the order of commits.
#[test]
fn notifications_come_in_the_order_of_commits() {
    for durability in [Durability::Full, Durability::Group, Durability::Interval, Durability::Off] {
        let db = Database::open_in_memory_with(Options::default().durability(durability)).unwrap();
        run(&db.connect().unwrap(), "CREATE TABLE number (n int); INSERT INTO number VALUES (0)");
        let (_one, first) = listening(&db, &["a"]);
        let (_two, second) = listening(&db, &["a"]);
        let (threads, each) = (4, 50);
        let barrier = Barrier::new(threads);
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    let connection = db.connect().unwrap();
                    barrier.wait();
                    for _ in 0..each {
                        let told = connection.transaction(|tx| {
                            let sql = "UPDATE number SET n = n + 1 RETURNING n";
                            let n: i32 = tx.query_row(sql, (), |row| row.get(0))?;
                            tx.execute("SELECT pg_notify('a', $1)", (n.to_string(),)).map(drop)
                        });
                        told.unwrap();
                    }
                });
            }
        });
        let expected: Vec<String> = (1..=threads * each).map(|n| n.to_string()).collect();
        for mut heard in [first, second] {
            let payloads: Vec<String> = heard.drain().iter().map(|told| told.payload().to_owned()).collect();
            assert_eq!(payloads, expected, "{durability:?}");
        }
    }
}

/// Whoever hears of a commit sees it.
#[test]
fn what_is_told_of_can_be_seen() {
    let db = open();
    run(&db.connect().unwrap(), "CREATE TABLE t (id int PRIMARY KEY)");
    let (listener, heard) = listening(&db, &["t"]);
    let writers: Vec<_> = (0..3)
        .map(|writer| {
            let connection = db.connect().unwrap();
            thread::spawn(move || {
                for n in 0..60 {
                    let id = writer * 1000 + n;
                    let sql =
                        "WITH new AS (INSERT INTO t VALUES ($1) RETURNING id) SELECT pg_notify('t', id::text) FROM new";
                    connection.execute(sql, (id,)).unwrap();
                }
            })
        })
        .collect();
    for told in heard.take(180) {
        let id: i32 = told.payload().parse().unwrap();
        let seen: bool =
            listener.query_row("SELECT EXISTS (SELECT FROM t WHERE id = $1)", (id,), |row| row.get(0)).unwrap();
        assert!(seen, "{id}");
    }
    writers.into_iter().for_each(|writer| writer.join().unwrap());
}

#[test]
fn a_transaction_that_loses_to_another_tells_once() {
    let db = open();
    run(&db.connect().unwrap(), "CREATE TABLE t (n int); INSERT INTO t VALUES (0)");
    let (_listener, mut heard) = listening(&db, &["a"]);
    let (one, two) = (db.connect().unwrap(), db.connect().unwrap());
    run(&one, "BEGIN; UPDATE t SET n = n + 1; NOTIFY a, 'lost'");
    run(&two, "UPDATE t SET n = n + 1; NOTIFY a, 'won'");
    fails(&one, "COMMIT", "40001", "could not serialize access due to concurrent update");
    assert_eq!(taken(&mut heard), ["a:won"]);
    // A statement on its own runs again until it does not lose.
    run(
        &one,
        "CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS $$
        BEGIN UPDATE t SET n = n + 1; PERFORM pg_notify('a', 'once'); RETURN n FROM t; END $$",
    );
    let sum: usize = thread::scope(|scope| {
        let runs = |connection: Connection| (0..50).for_each(|_| run(&connection, "SELECT f()"));
        let other = scope.spawn(move || runs(two));
        runs(one);
        other.join().unwrap();
        heard.drain().len()
    });
    assert_eq!(sum, 100);
}

#[test]
fn with_the_connection_or_the_database_it_ends() {
    let db = open();
    let (listener, mut heard) = listening(&db, &["a"]);
    let (_other, mut others) = listening(&db, &["a"]);
    let mut of_none = db.connect().unwrap().notifications();
    assert!(of_none.has_ended() && of_none.next_notification().is_none());
    run(&db.connect().unwrap(), "NOTIFY a, 'last'");
    drop(listener);
    assert!(!heard.has_ended());
    assert_eq!(taken(&mut heard), ["a:last"], "what was heard is there");
    assert!(heard.has_ended() && heard.next_notification().is_none());
    assert_eq!(taken(&mut others), ["a:last"]);
    let waiting = thread::spawn(move || others.next_notification());
    thread::sleep(SHORT);
    let writer = db.connect().unwrap();
    db.close().unwrap();
    assert_eq!(waiting.join().unwrap(), None);
    assert!(writer.execute("NOTIFY a", ()).is_err());
    assert!(writer.notifications().has_ended());
}

#[test]
fn nothing_is_kept_over_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let db = Database::open(&path).unwrap();
    run(&db.connect().unwrap(), "CREATE TABLE t (a int); BEGIN; INSERT INTO t VALUES (1); NOTIFY a; COMMIT");
    db.close().unwrap();
    let db = Database::open(&path).unwrap();
    let (_listener, mut heard) = listening(&db, &["a"]);
    assert!(taken(&mut heard).is_empty());
}

struct Count(Mutex<usize>);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        *self.0.lock().unwrap() += 1;
    }
}

#[test]
fn tasks_are_woken_when_there_is_something_to_take() {
    let db = open();
    let (listener, mut heard) = listening(&db, &["a"]);
    let writer = db.connect().unwrap();
    let count = Arc::new(Count(Mutex::default()));
    let waker = Waker::from(count.clone());
    let mut poll = || match heard.poll_notification(&mut Context::from_waker(&waker)) {
        Poll::Ready(told) => told.map(|told| told.payload().to_owned()),
        Poll::Pending => Some("pending".to_owned()),
    };
    let woken = || *count.0.lock().unwrap();
    assert_eq!((poll().as_deref(), woken()), (Some("pending"), 0));
    run(&writer, "NOTIFY a, 'now'");
    assert_eq!((woken(), poll().as_deref(), poll().as_deref()), (1, Some("now"), Some("pending")));
    run(&listener, "BEGIN; SELECT 1");
    run(&writer, "NOTIFY a, 'later'");
    assert_eq!((woken(), poll().as_deref()), (1, Some("pending")));
    run(&listener, "ROLLBACK");
    assert_eq!((woken(), poll().as_deref(), poll().as_deref()), (2, Some("later"), Some("pending")));
    drop(listener);
    assert_eq!((woken(), poll()), (3, None));
}

#[test]
fn a_function_is_called_until_its_guard_is_dropped() {
    let db = open();
    let (_listener, heard) = listening(&db, &["a"]);
    let writer = db.connect().unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    let guard = heard.on_notification(move |told| drop(sender.send(told.payload().to_owned()))).unwrap();
    run(&writer, "NOTIFY a, '1'; NOTIFY a, '2'");
    assert_eq!((receiver.recv_timeout(LONG).unwrap(), receiver.recv_timeout(LONG).unwrap()), ("1".into(), "2".into()));
    drop(guard);
    assert!(receiver.recv_timeout(LONG).is_err(), "the function was dropped, and its sender with it");
}

#[test]
fn a_pools_next_user_hears_nothing_of_the_last_ones() {
    let pool = open().pool(1);
    pool.get().unwrap().listen("a").unwrap();
    let mut next = pool.get().unwrap().notifications();
    pool.get().unwrap().execute("NOTIFY a", ()).unwrap();
    assert!(taken(&mut next).is_empty());
}
