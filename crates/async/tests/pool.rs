//! A pool of threads that several databases share.

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use cairndb::{Connection, Result};
use cairndb_async::{Database, Options, Pool};
use common::under_each_runtime;
use futures_util::future::{join_all, try_join_all};
use pollster::block_on;

/// Something that work waits for.
#[derive(Clone, Default)]
struct Door(Arc<(Mutex<bool>, Condvar)>);

impl Door {
    fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    /// Work that holds its thread until the door is open, and counts those that wait.
    fn work(&self, inside: &Arc<AtomicUsize>) -> impl FnOnce(&Connection) -> Result<()> + Send + 'static {
        let (door, inside) = (self.clone(), inside.clone());
        move |_: &Connection| {
            inside.fetch_add(1, Ordering::SeqCst);
            let mut is_open = door.0.0.lock().unwrap();
            while !*is_open {
                is_open = door.0.1.wait(is_open).unwrap();
            }
            Ok(())
        }
    }
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        thread::sleep(Duration::from_millis(1));
    }
}

async fn open(pool: &Pool, queue: usize) -> Database {
    Database::open_in_memory_with(Options::default().pool(pool).queue(queue).refuse_when_full()).await.unwrap()
}

/// Whatever else waits: a database that takes all threads it may leaves one for each of the others.
#[test]
fn a_database_that_waits_keeps_no_other_from_its_turn() {
    let pool = Pool::fixed(4);
    let [busy, other, third] = [0; 3].map(|_| block_on(open(&pool, 100)));
    let (door, inside) = (Door::default(), Arc::new(AtomicUsize::new(0)));
    thread::scope(|scope| {
        for _ in 0..20 {
            let (busy, work) = (&busy, door.work(&inside));
            scope.spawn(move || block_on(busy.call(work)).unwrap());
        }
        until("two of four threads are the busy one's", || inside.load(Ordering::SeqCst) == 2);
        until("the others wait", || busy.waiting() == 18);
        for db in [&other, &third] {
            block_on(db.execute_script("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)")).unwrap();
        }
        assert_eq!(inside.load(Ordering::SeqCst), 2);
        assert_eq!((pool.status().databases, pool.status().waiting), (3, 18));
        // With one less of the others there is one more thread for it.
        block_on(third.close()).unwrap();
        until("the third database is let go of", || pool.status().databases == 2);
        door.open();
    });
    assert_eq!((inside.load(Ordering::SeqCst), pool.status().waiting), (20, 0));
}

/// In turns: what one asks is not behind all that another has asked before.
#[test]
fn databases_take_turns() {
    let pool = Pool::fixed(1);
    let [first, second] = [0; 2].map(|_| block_on(open(&pool, 200)));
    let (door, inside, order) = (Door::default(), Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(vec![])));
    thread::scope(|scope| {
        let (db, work) = (&first, door.work(&inside));
        scope.spawn(move || block_on(db.call(work)).unwrap());
        until("the thread is taken", || inside.load(Ordering::SeqCst) == 1);
        for (name, db, count) in [("first", &first, 50), ("second", &second, 3)] {
            for _ in 0..count {
                let order = order.clone();
                scope.spawn(move || {
                    block_on(db.call(move |_| {
                        order.lock().unwrap().push(name);
                        Ok(())
                    }))
                    .unwrap()
                });
            }
            until("all are asked", || db.waiting() == count);
        }
        door.open();
    });
    let order = order.lock().unwrap();
    let last = order.iter().rposition(|name| *name == "second").unwrap();
    assert!(order.len() == 53 && last <= 6, "{order:?}");
}

#[test]
fn who_asks_when_the_queue_is_full_is_refused_at_once() {
    under_each_runtime(|| async {
        let pool = Pool::fixed(1);
        let db = open(&pool, 4).await;
        db.execute("CREATE TABLE t (id int PRIMARY KEY, n int)", ()).await?;
        let (door, inside) = (Door::default(), Arc::new(AtomicUsize::new(0)));
        let (held, work) = (db.clone(), door.work(&inside));
        let holder = thread::spawn(move || block_on(held.call(work)));
        until("the thread is taken", || inside.load(Ordering::SeqCst) == 1);
        let asked = (0..10).map(|n| db.execute("INSERT INTO t SELECT $1, 0 FROM generate_series(1, 1)", (n,)));
        let opener = thread::spawn(move || {
            thread::sleep(Duration::from_millis(50));
            door.open()
        });
        let done = join_all(asked).await;
        opener.join().unwrap();
        holder.join().unwrap()?;
        let refused: Vec<&str> = done.iter().filter_map(|done| Some(done.as_ref().err()?.sqlstate().0)).collect();
        assert_eq!(refused, ["53300"; 6]);
        // What was accepted is there; what is answered where it is asked needs no place.
        assert_eq!(db.query_row("SELECT count(*) FROM t", (), |row| row.get::<i64>(0)).await?, 4);
        // A transaction that is open goes on.
        db.transaction(async |tx| {
            for n in 20..40 {
                tx.execute("INSERT INTO t VALUES ($1, 1)", (n,)).await?;
            }
            Ok(())
        })
        .await?;
        db.close().await
    });
}

/// As many threads as there is work for, at most twice as many as databases or processors; they end when they have nothing to do.
#[test]
fn the_pool_grows_with_its_work_and_its_databases() {
    let pool = Pool::sized(256);
    let processors = thread::available_parallelism().map_or(1, usize::from);
    assert_eq!((pool.status().workers, pool.status().workers_max), (0, 2 * processors));
    let databases: Vec<Database> = (0..processors + 3).map(|_| block_on(open(&pool, 100))).collect();
    assert_eq!((pool.status().workers, pool.status().workers_max), (1, 2 * (processors + 3)));
    let (door, inside) = (Door::default(), Arc::new(AtomicUsize::new(0)));
    thread::scope(|scope| {
        for db in databases.iter().cycle().take(100) {
            let work = door.work(&inside);
            scope.spawn(move || block_on(db.call(work)).unwrap());
        }
        until("all threads have work", || inside.load(Ordering::SeqCst) == 2 * (processors + 3));
        assert_eq!(pool.status().workers, 2 * (processors + 3));
        door.open();
    });
    block_on(try_join_all(databases.into_iter().map(Database::close))).unwrap();
    assert_eq!(pool.status().databases, 0);
    until("threads without work end", || pool.status().workers == 1);
}

/// Databases come and go while others work; what they accepted is done, and the pool's threads end with the last.
#[test]
fn databases_that_come_and_go_leave_nothing_undone() {
    let pool = Pool::fixed(3);
    let done = Arc::new(AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..6 {
            let (pool, done) = (&pool, done.clone());
            scope.spawn(move || {
                for turn in 0..30 {
                    let db = block_on(open(pool, 100));
                    let asked: Vec<_> = (0..10)
                        .map(|_| {
                            let done = done.clone();
                            Box::pin(db.call(move |_| {
                                done.fetch_add(1, Ordering::SeqCst);
                                Ok(())
                            }))
                        })
                        .collect();
                    match turn % 2 {
                        0 => {
                            block_on(try_join_all(asked)).unwrap();
                            block_on(db.close()).unwrap()
                        }
                        // Dropped without a word.
                        _ => {
                            block_on(try_join_all(asked)).unwrap();
                        }
                    }
                }
            });
        }
    });
    assert_eq!(done.load(Ordering::SeqCst), 6 * 30 * 10);
    until("each database is let go of", || pool.status().databases == 0);
}
