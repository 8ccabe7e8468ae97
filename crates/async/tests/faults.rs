//! Dropped futures, panics, closing, and more to do than there is room for.

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use cairndb::{Result, SqlState};
use cairndb_async::{Database, Options, Rows};
use common::{file, polled, under_each_runtime};
use futures_util::FutureExt;
use futures_util::future::join_all;
use pollster::block_on;

const SHUTDOWN: SqlState = SqlState("57P01");
/// Takes hours, in steps.
const ENDLESS: &str = "SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b";

async fn with_workers(workers: usize, queue: usize) -> Database {
    let options = Options::default().workers(workers).queue(queue);
    let db = Database::open_in_memory_with(options).await.unwrap();
    db.execute_script("CREATE TABLE t (id int PRIMARY KEY, kind int, n int)").await.unwrap();
    db
}

async fn count(db: &Database) -> i64 {
    db.query_row("SELECT count(*) FROM t", (), |row| row.get(0)).await.unwrap()
}

/// Each kind of work, dropped after every number of polls until it is ready: it is done as a whole or not at all, and
/// what comes after it finds everything in order.
#[test]
fn what_is_dropped_at_any_point_leaves_no_half_change() {
    let (_folder, path) = file();
    let db = block_on(Database::open_with(&path, Options::default().workers(2))).unwrap();
    let script = "CREATE TABLE t (kind int, id int, PRIMARY KEY (kind, id)); CREATE TABLE account (id int PRIMARY KEY, amount int);
        INSERT INTO account VALUES (1, 1000), (2, 1000)";
    block_on(db.execute_script(script)).unwrap();
    let mut kind = 0;
    let (mut finished, mut dropped) = (0, 0);
    for work in 0..5 {
        for polls in 0.. {
            assert!(polls < 10_000, "it is never ready");
            kind += 1;
            let done = match work {
                0 => polled(polls, db.execute("INSERT INTO t VALUES ($1, 1)", (kind,)).map(|done| done.is_ok())),
                1 => {
                    let many = "INSERT INTO t SELECT $1::int, g FROM generate_series(1, 2000) g";
                    polled(polls, db.execute(many, (kind,)).map(|done| done.is_ok()))
                }
                2 => {
                    let sets = (0..500).map(|id| (kind, id));
                    polled(polls, db.execute_batch("INSERT INTO t VALUES ($1, $2)", sets).map(|done| done.is_ok()))
                }
                3 => polled(polls, transfer(&db, kind).map(|done| done.is_ok())),
                _ => polled(polls, read_all(&db).map(|done| done.is_ok())),
            };
            // What was begun may still be done; whoever looks sees all of it or nothing.
            for _ in 0..2 {
                let whole = [1, 2000, 500, 2, 0][work];
                let seen: i64 =
                    block_on(db.query_row("SELECT count(*) FROM t WHERE kind = $1", (kind,), |row| row.get(0)))
                        .unwrap();
                assert!(seen == 0 || seen == whole, "work {work} after {polls} polls: {seen} rows of {whole}");
                let sum: i64 =
                    block_on(db.query_row("SELECT sum(amount)::bigint FROM account", (), |row| row.get(0))).unwrap();
                assert_eq!(sum, 2000);
                if done == Some(true) {
                    assert_eq!(seen, whole);
                }
            }
            match done {
                Some(true) => {
                    finished += 1;
                    break;
                }
                Some(false) => panic!("work {work} failed"),
                None => dropped += 1,
            }
        }
    }
    assert!(finished == 5 && dropped >= 10, "{finished} were done, {dropped} dropped");
    block_on(db.call(|connection| connection.database().verify().map(drop))).unwrap();
    block_on(db.close()).unwrap();
}

async fn transfer(db: &Database, kind: i32) -> Result<()> {
    db.transaction(async |tx| {
        tx.execute("UPDATE account SET amount = amount - 5 WHERE id = 1", ()).await?;
        tx.execute("INSERT INTO t VALUES ($1, 1), ($1, 2)", (kind,)).await?;
        tx.execute("UPDATE account SET amount = amount + 5 WHERE id = 2", ()).await.map(drop)
    })
    .await
}

async fn read_all(db: &Database) -> Result<()> {
    let mut rows = db.query("SELECT a FROM generate_series(1, 20000) s(a) ORDER BY a DESC", ()).await?;
    while rows.next().await?.is_some() {}
    Ok(())
}

#[test]
fn a_dropped_future_ends_what_it_asked_for() {
    let db = block_on(with_workers(1, 8));
    for _ in 0..10 {
        assert!(polled(1, db.query(ENDLESS, ())).is_none());
        std::thread::sleep(Duration::from_millis(5));
    }
    // The one worker is free for others.
    let start = Instant::now();
    assert_eq!(block_on(count(&db)), 0);
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    // Rows whose next batch is being worked out, too.
    let slow = "SELECT a FROM generate_series(1, 1000000000) s(a) WHERE a % 50000000 = 1";
    let mut rows = block_on(db.query(slow, ())).unwrap();
    assert!(polled(1, read_on(&mut rows)).is_none());
    drop(rows);
    assert_eq!(block_on(count(&db)), 0);
    block_on(db.close()).unwrap();
}

async fn read_on(rows: &mut Rows) {
    while rows.next().await.unwrap().is_some() {}
}

#[test]
fn a_dropped_transaction_is_rolled_back_and_leaves_its_place() {
    under_each_runtime(|| async {
        let options = Options::default().workers(1).transactions(1);
        let db = Database::open_in_memory_with(options).await?;
        db.execute_script("CREATE TABLE t (id int PRIMARY KEY, kind int, n int)").await?;
        for _ in 0..5 {
            let forever = db.transaction(async |tx| {
                tx.execute("INSERT INTO t VALUES (1, 1, 1)", ()).await?;
                std::future::poll_fn(|context| {
                    context.waker().wake_by_ref();
                    std::task::Poll::<Result<()>>::Pending
                })
                .await
            });
            assert!(polled(10, forever).is_none());
        }
        // There is room for one.
        db.transaction(async |tx| tx.execute("INSERT INTO t VALUES (1, 1, 1)", ()).await).await?;
        assert_eq!(count(&db).await, 1);
        db.close().await
    });
}

#[test]
fn a_panic_is_told_and_harms_nobody_else() {
    under_each_runtime(|| async {
        let db = with_workers(2, 8).await;
        for _ in 0..10 {
            let error = db.call::<()>(|_| panic!("the caller's own")).await.unwrap_err();
            assert_eq!(error.sqlstate(), SqlState::INTERNAL_ERROR);
            assert!(error.message().contains("the caller's own"), "{error}");
        }
        let in_transaction = db.transaction(async |tx| {
            tx.execute("INSERT INTO t VALUES (1, 1, 1)", ()).await?;
            tx.call::<()>(|_| panic!("in between")).await
        });
        assert!(in_transaction.await.unwrap_err().message().contains("in between"));
        assert_eq!(count(&db).await, 0);
        db.execute("INSERT INTO t VALUES (1, 1, 1)", ()).await?;
        db.close().await
    });
}

#[test]
fn closing_waits_for_what_was_asked_for_and_refuses_what_comes_later() {
    under_each_runtime(|| async {
        let (_folder, path) = file();
        let db = Database::open_with(&path, Options::default().workers(1)).await?;
        db.execute("CREATE TABLE t (id int PRIMARY KEY, kind int, n int)", ()).await?;
        let (begun, begins) = mpsc::channel();
        let first = db.call(move |connection| {
            let _ = begun.send(());
            std::thread::sleep(Duration::from_millis(50));
            connection.execute("INSERT INTO t VALUES (-1, 0, 0)", ())
        });
        let mut work: Vec<futures_util::future::BoxFuture<'_, Result<u64>>> = vec![first.boxed()];
        for id in 0..50 {
            work.push(db.execute("INSERT INTO t SELECT $1::int, 0, 0", (id,)).boxed());
        }
        let mut work = join_all(work);
        // All are asked for.
        assert!((&mut work).now_or_never().is_none());
        begins.recv().expect("it begins");
        let closing = db.clone().close();
        let (done, closed) = futures_util::future::join(&mut work, closing).await;
        closed?;
        assert_eq!(done.into_iter().filter(|done| matches!(done, Ok(1))).count(), 51);
        let late = db.execute("INSERT INTO t VALUES (-2, 0, 0)", ()).await.unwrap_err();
        assert_eq!(late.sqlstate(), SHUTDOWN);
        assert_eq!(db.transaction(async |_| Ok(())).await.unwrap_err().sqlstate(), SHUTDOWN);
        drop(work);
        // Once more is no harm.
        db.close().await?;
        let db = Database::open(&path).await?;
        assert_eq!(count(&db).await, 51);
        db.close().await
    });
}

#[test]
fn a_transaction_that_is_open_when_the_database_is_closed_is_rolled_back() {
    let (_folder, path) = file();
    block_on(async {
        let db = Database::open(&path).await?;
        db.execute("CREATE TABLE t (id int PRIMARY KEY, kind int, n int)", ()).await?;
        let closer = db.clone();
        let refused = db
            .transaction(async |tx| {
                tx.execute("INSERT INTO t VALUES (1, 1, 1)", ()).await?;
                closer.clone().close().await?;
                tx.execute("INSERT INTO t VALUES (2, 1, 1)", ()).await
            })
            .await;
        assert_eq!(refused.unwrap_err().sqlstate(), SHUTDOWN);
        drop((db, closer));
        let db = Database::open(&path).await?;
        assert_eq!(count(&db).await, 0);
        db.close().await
    })
    .unwrap();
}

#[test]
fn many_more_futures_than_workers_all_get_their_answer() {
    under_each_runtime(|| async {
        let db = with_workers(2, 4).await;
        let db = &db;
        let work = (0..2000).map(|id| async move {
            match id % 3 {
                0 => db.execute("INSERT INTO t VALUES ($1, 1, 1)", (id,)).await.map(|_| 1),
                1 => db.execute("INSERT INTO t SELECT $1::int, 1, 1", (id,)).await.map(|_| 1),
                _ => db.query_row("SELECT count(*) FROM generate_series(1, 10)", (), |row| row.get::<i64>(0)).await,
            }
        });
        for (id, done) in join_all(work).await.into_iter().enumerate() {
            assert_eq!(done?, if id % 3 == 2 { 10 } else { 1 });
        }
        assert_eq!(count(db).await, 1334);
        db.clone().close().await
    });
}

/// Half of those who wait for a place go away, some after they were woken.
#[test]
fn who_goes_away_leaves_his_place_to_the_next() {
    let db = Arc::new(block_on(with_workers(1, 1)));
    let done = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = (0..8)
        .map(|thread| {
            let (db, done) = (db.clone(), done.clone());
            std::thread::spawn(move || {
                for n in 0..200 {
                    let read = db.query_row("SELECT count(*) FROM generate_series(1, 5)", (), |row| row.get::<i64>(0));
                    if (n + thread) % 2 == 0 {
                        polled(n % 3 + 1, read);
                    } else {
                        assert_eq!(block_on(read).unwrap(), 5);
                        done.fetch_add(1, Ordering::SeqCst);
                    }
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    assert_eq!(done.load(Ordering::SeqCst), 800);
}

#[test]
fn slow_readers_keep_no_worker() {
    under_each_runtime(|| async {
        let db = with_workers(1, 2).await;
        let mut readers = Vec::new();
        for _ in 0..50 {
            let mut rows = db.query("SELECT a FROM generate_series(1, 100000) s(a)", ()).await?;
            assert_eq!(rows.next().await?.expect("a row").get::<i32>(0)?, 1);
            readers.push(rows);
        }
        assert_eq!(count(&db).await, 0);
        for mut rows in readers {
            for expected in 2..=3000 {
                assert_eq!(rows.next().await?.expect("a row").get::<i32>(0)?, expected);
            }
        }
        db.close().await
    });
}

#[test]
fn statements_end_when_their_time_is_over() {
    under_each_runtime(|| async {
        let limit = cairndb::Options::default().statement_timeout(Duration::from_millis(50));
        let db = Database::open_in_memory_with(Options::default().workers(1).database(limit)).await?;
        let error = db.query_row(ENDLESS, (), |row| row.get::<i64>(0)).await.unwrap_err();
        assert_eq!(error.sqlstate(), SqlState::QUERY_CANCELED);
        let failed = db.transaction(async |tx| tx.execute(ENDLESS, ()).await).await.unwrap_err();
        assert_eq!(failed.sqlstate(), SqlState::QUERY_CANCELED);
        assert_eq!(db.query_row("SELECT 1", (), |row| row.get::<i32>(0)).await?, 1);
        db.close().await
    });
}

#[test]
fn a_database_without_handles_is_closed() {
    let (_folder, path) = file();
    let db = block_on(Database::open(&path)).unwrap();
    block_on(db.execute("CREATE TABLE t (id int PRIMARY KEY, kind int, n int)", ())).unwrap();
    drop(db);
    let start = Instant::now();
    let again = loop {
        match block_on(Database::open(&path)) {
            Ok(again) => break again,
            Err(error) => assert!(start.elapsed() < Duration::from_secs(20), "{error}"),
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    assert_eq!(block_on(count(&again)), 0);
    block_on(again.close()).unwrap();
}

#[test]
fn who_lets_go_of_a_database_that_others_have_leaves_it_open() {
    let database = cairndb::Database::open_in_memory().unwrap();
    let conn = database.connect().unwrap();
    let over = || Database::over(database.clone(), &Options::default().workers(1)).unwrap();
    let first = over();
    block_on(first.execute("CREATE TABLE t (id int)", ())).unwrap();
    drop(first.clone());
    block_on(first.execute("INSERT INTO t VALUES (1)", ())).unwrap();
    drop(first);
    // Its workers end by themselves.
    std::thread::sleep(Duration::from_millis(50));
    conn.execute("INSERT INTO t VALUES (2)", ()).unwrap();
    block_on(over().close()).unwrap();
    assert_eq!(conn.execute("INSERT INTO t VALUES (3)", ()).unwrap_err().sqlstate().0, "55000");
}

#[test]
fn a_live_query_whose_future_is_dropped_keeps_no_worker() {
    let db = block_on(with_workers(1, 10));
    let mut live = Box::pin(db.live(ENDLESS, ()));
    assert!((&mut live).now_or_never().is_none());
    std::thread::sleep(Duration::from_millis(50));
    drop(live);
    let began = Instant::now();
    assert_eq!(block_on(count(&db)), 0);
    assert!(began.elapsed() < Duration::from_millis(800), "{:?}", began.elapsed());
}

#[test]
fn a_change_feed_is_read_by_workers_and_waited_for_by_nobody() {
    under_each_runtime(|| async {
        let db = with_workers(1, 10).await;
        db.execute("CREATE TABLE told (id int) WITH (change_feed = on)", ()).await.unwrap();
        let mut changes = db.changes(None).await.unwrap();
        for round in 0..3 {
            assert!(changes.next_change().now_or_never().is_none());
            db.execute("INSERT INTO told SELECT generate_series(1, 300)", ()).await.unwrap();
            for _ in 0..300 {
                assert!(changes.next_change().await.unwrap().is_some(), "{round}");
            }
        }
        let handle = changes.stop_handle();
        let stopping = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(30));
            handle.stop();
        });
        assert!(changes.next_change().await.unwrap().is_none());
        stopping.join().unwrap();
        db.close().await
    });
}
