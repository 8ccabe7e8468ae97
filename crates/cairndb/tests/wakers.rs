//! Wakers of who waits for changes, notifications and live queries: others' code, which may do anything whenever one is copied,
//! woken or dropped.

#[path = "../../storage/tests/regressions/hooked.rs"]
mod hooked;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use cairndb::{Connection, Database, Durability, LiveQuery, Notifications};
use hooked::{Done, hooked};

/// Longer than anything here takes, on any machine.
const LONG: Duration = Duration::from_secs(20);

/// Counts, or panics.
#[derive(Default)]
struct Task {
    woken: AtomicUsize,
    panics: bool,
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        assert!(!self.panics, "the waker's own");
        self.woken.fetch_add(1, Ordering::SeqCst);
    }
}

fn panicking() -> Waker {
    Waker::from(Arc::new(Task { panics: true, ..Task::default() }))
}

fn open() -> (Database, Connection) {
    let database = Database::open_in_memory().unwrap();
    let conn = database.connect().unwrap();
    conn.execute_script("CREATE TABLE t (id int PRIMARY KEY) WITH (change_feed = on); CREATE TABLE u (id int)")
        .unwrap();
    (database, conn)
}

/// In a thread of its own: what waits for a lock of its own waits for ever.
fn ends(test: impl FnOnce() + Send + 'static) {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        test();
        sender.send(()).unwrap();
    });
    receiver.recv_timeout(LONG).expect("it waits for a lock that it holds, or panicked");
}

fn live(conn: &Connection, sql: &str) -> LiveQuery {
    let mut live = conn.live(sql, ()).unwrap();
    assert!(live.next_change().unwrap().is_some_and(|change| change.is_first()));
    live
}

/// Whether something came, which is not looked at.
fn poll(live: &mut LiveQuery, waker: &Waker) -> bool {
    live.poll_change(&mut Context::from_waker(waker)).is_ready()
}

#[test]
fn a_feeds_waker_that_panics_is_nothing_to_who_writes() {
    let (database, conn) = open();
    for (id, mode) in [Durability::Full, Durability::Interval].into_iter().enumerate() {
        let mut feeds = [database.changes(None).unwrap(), database.changes(None).unwrap()];
        let task = Arc::new(Task::default());
        let wakers = [panicking(), Waker::from(task.clone())];
        for (feed, waker) in feeds.iter_mut().zip(&wakers) {
            assert!(feed.poll_change(&mut Context::from_waker(waker)).is_pending());
        }
        conn.set_durability(mode).unwrap();
        conn.execute("INSERT INTO t VALUES ($1)", (id as i32,)).unwrap();
        assert!(feeds.iter_mut().all(|feed| feed.next_change().unwrap().is_some()));
        conn.execute("INSERT INTO u VALUES (1)", ()).unwrap();
    }
    database.close().unwrap();
}

/// They stayed until something was told.
#[test]
fn who_goes_leaves_no_waker() {
    let (database, conn) = open();
    let task = Arc::new(Task::default());
    let waker = || {
        let task = task.clone();
        hooked(move |done| {
            if done == Done::Woken {
                task.clone().wake();
            }
        })
    };
    conn.listen("news").unwrap();
    let mut watched = live(&conn, "SELECT id FROM t");
    for _ in 0..2000 {
        let mut feed = database.changes(None).unwrap();
        assert!(feed.poll_change(&mut Context::from_waker(&waker())).is_pending());
        let mut heard = conn.notifications();
        assert!(heard.poll_notification(&mut Context::from_waker(&waker())).is_pending());
        assert!(!poll(&mut watched, &waker()));
    }
    drop(watched);
    assert_eq!(Arc::strong_count(&task), 1, "wakers are kept");
    conn.execute_script("INSERT INTO t VALUES (1); NOTIFY news").unwrap();
    assert_eq!(task.woken.load(Ordering::SeqCst), 0);
}

#[test]
fn notifications_wakers_are_copied_woken_and_dropped_without_a_lock() {
    use Done::{Copied, Dropped, Woken};
    ends(|| {
        let (database, writer) = open();
        let conn = database.connect().unwrap();
        conn.listen("news").unwrap();
        let mut heard = conn.notifications();
        let (others, all) = (Mutex::new(conn.notifications()), Arc::new(Mutex::new(Vec::new())));
        let noted = all.clone();
        let waker = hooked(move |done| {
            noted.lock().unwrap().push(done);
            // What the connection has heard, and who listens to what.
            let _ = others.lock().unwrap().has_ended();
            drop(database.connect().unwrap().notifications());
        });
        let poll = |heard: &mut Notifications, waker: &Waker| {
            let polled = heard.poll_notification(&mut Context::from_waker(waker));
            polled.map(|told| told.map(|told| told.payload().to_owned()))
        };
        assert!(poll(&mut heard, &waker).is_pending() && poll(&mut heard, Waker::noop()).is_pending());
        assert!(poll(&mut heard, &waker).is_pending());
        writer.execute("NOTIFY news, 'hello'", ()).unwrap();
        assert_eq!(poll(&mut heard, &waker), Poll::Ready(Some("hello".to_owned())));
        assert!(poll(&mut heard, &waker).is_pending());
        drop(conn);
        assert_eq!(poll(&mut heard, &waker), Poll::Ready(None));
        drop(heard);
        let expected = [Copied, Dropped, Copied, Woken, Copied, Dropped, Copied, Woken, Copied, Dropped];
        assert_eq!(*all.lock().unwrap(), expected);
    });
}

#[test]
fn live_queries_wakers_are_copied_and_dropped_without_a_lock() {
    for when in [Done::Copied, Done::Dropped] {
        ends(move || {
            let (_database, conn) = open();
            let mut live = live(&conn, "SELECT id FROM t");
            let stop = live.stop_handle();
            let waker = hooked(move |done| {
                if done == when {
                    stop.stop();
                }
            });
            // Stopped meanwhile, it has ended.
            assert_eq!(poll(&mut live, &waker), when == Done::Copied);
            assert!(when == Done::Dropped || live.has_ended());
            drop(live);
        });
    }
}

/// It panicked in who stopped the query, or in the thread of all live queries, when one ended by an error.
#[test]
fn a_waker_that_panics_when_a_live_query_ends_is_nothing_to_others() {
    let (_database, conn) = open();
    let mut stopped = live(&conn, "SELECT id FROM u");
    assert!(!poll(&mut stopped, &panicking()));
    stopped.stop_handle().stop();
    let mut all = [0, 1, 2].map(|_| live(&conn, "SELECT id FROM u"));
    let mut stays = live(&conn, "SELECT id FROM t");
    assert!(!poll(&mut all[0], &panicking()) && !poll(&mut all[1], &panicking()));
    conn.execute("DROP TABLE u", ()).unwrap();
    assert!(all.iter_mut().all(|live| live.next_change_within(LONG).is_err()));
    conn.execute("INSERT INTO t VALUES (1)", ()).unwrap();
    assert!(stays.next_change_within(LONG).unwrap().item().is_some());
}

/// The thread of all live queries waited for a lock that it held.
#[test]
fn who_is_woken_by_the_end_of_a_live_query_may_leave_it_at_once() {
    let (_database, conn) = open();
    let ends = Arc::new(Mutex::new(None));
    let waker = hooked({
        let ends = ends.clone();
        move |_| {
            let taken = ends.lock().unwrap().take();
            drop(taken);
        }
    });
    let mut watched = live(&conn, "SELECT id FROM u");
    assert!(!poll(&mut watched, &waker));
    *ends.lock().unwrap() = Some(watched);
    let mut stays = live(&conn, "SELECT id FROM t");
    conn.execute("DROP TABLE u", ()).unwrap();
    conn.execute("INSERT INTO t VALUES (1)", ()).unwrap();
    assert!(stays.next_change_within(LONG).unwrap().item().is_some());
    let began = Instant::now();
    while ends.lock().unwrap().is_some() {
        assert!(began.elapsed() < LONG, "nobody was woken");
        std::thread::sleep(Duration::from_millis(1));
    }
}
