//! Wakers are others' code: what they do harms nobody else, and they come and go while nothing is locked.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use cairn_storage::io::{FileSystem, MemFs, SimDisk};
use cairn_storage::{
    Acknowledge, AppendListener, Durability, Environment, Options, PointWriter, QuietHost, RealHost, Store, Ticket,
    TreeId,
};

use super::files::{Call, WatchedFiles};
use super::hooked::{Done, hooked};
use super::put;

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

impl Task {
    fn woken(&self) -> usize {
        self.woken.load(Ordering::SeqCst)
    }
}

/// With a tree for what is appended.
fn with_feed(store: &Store) -> TreeId {
    let transaction = store.begin().unwrap();
    let feed = transaction.create_tree().unwrap();
    transaction.commit(None).unwrap();
    feed
}

fn append(store: &Store, feed: TreeId, mode: Durability) -> cairn_storage::Result<()> {
    let transaction = store.begin()?;
    transaction.append(feed, b"told")?;
    transaction.commit(Some(mode))
}

fn listen(store: &Store, waker: &Waker) -> AppendListener {
    let mut listener = store.listen_to_appends();
    listener.note();
    assert!(listener.wake(waker));
    listener
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < LONG, "{what}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// It panicked in whoever committed, whose commit was durable, or in the thread that writes the log, which made the database
/// read-only.
#[test]
fn a_listeners_waker_that_panics_is_nothing_to_who_commits() {
    for mode in [Durability::Full, Durability::Group, Durability::Interval, Durability::Off] {
        let store = Store::open_with("db", Options::default(), Environment::in_memory()).unwrap();
        let feed = with_feed(&store);
        let tasks = [true, false, true, false].map(|panics| Arc::new(Task { panics, ..Task::default() }));
        let _listeners = tasks.clone().map(|task| listen(&store, &Waker::from(task)));
        let (other, done) = (store.clone(), channel());
        thread::spawn(move || done.0.send(append(&other, feed, mode)));
        done.1.recv_timeout(LONG).unwrap_or_else(|_| panic!("{mode:?}: who committed panicked")).unwrap();
        wait_until("the others are woken", || tasks.iter().filter(|task| task.woken() == 1).count() == 2);
        put(&store, b"after", 5).unwrap_or_else(|error| panic!("{mode:?}: {error}"));
        store.close().unwrap();
    }
}

/// Each left a waker, and the next writer woke all of them.
#[test]
fn a_listener_that_goes_takes_its_waker_with_it() {
    let store = Store::open_in_memory(Options::default()).unwrap();
    let feed = with_feed(&store);
    let (gone, there) = (Arc::new(Task::default()), Arc::new(Task::default()));
    let mut stays = listen(&store, &Waker::from(there.clone()));
    for _ in 0..40_000 {
        let task = gone.clone();
        // Each is another task's.
        let waker = hooked(move |done| {
            if done == Done::Woken {
                task.clone().wake();
            }
        });
        drop(listen(&store, &waker));
    }
    assert_eq!(Arc::strong_count(&gone), 1, "wakers are kept");
    // Asked again, it has one waker all the same, the last.
    assert!(stays.wake(&Waker::from(gone.clone())) && stays.wake(&Waker::from(there.clone())));
    append(&store, feed, Durability::Full).unwrap();
    assert_eq!((gone.woken(), there.woken()), (0, 1));
    assert_eq!((Arc::strong_count(&gone), Arc::strong_count(&there)), (1, 1));
}

/// Each was compared with all others.
#[test]
fn a_waker_costs_the_same_however_many_there_are() {
    let store = Store::open_in_memory(Options::default()).unwrap();
    let mut listeners = Vec::new();
    // The least of several, for others use the machine too.
    let mut least_of = |batches: usize| {
        let batch = |_| {
            let wakers: Vec<Waker> = (0..100).map(|_| Waker::from(Arc::new(Task::default()))).collect();
            let began = Instant::now();
            listeners.extend(wakers.iter().map(|waker| listen(&store, waker)));
            began.elapsed()
        };
        (0..batches).map(batch).min().unwrap()
    };
    let few = least_of(10);
    least_of(300);
    let many = least_of(20);
    assert!(many < few * 20 + Duration::from_micros(100), "100 take {few:?} among few, {many:?} among 30,000");
}

/// In a thread of its own: what waits for a lock of its own waits for ever.
fn ends(test: impl FnOnce() + Send + 'static) {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        test();
        sender.send(()).unwrap();
    });
    receiver.recv_timeout(LONG).expect("it waits for a lock that it holds, or panicked");
}

/// Notes what is done to it, and does something.
fn noting(does: impl Fn() + Send + Sync + 'static) -> (Waker, Arc<Mutex<Vec<Done>>>) {
    let all = Arc::new(Mutex::new(Vec::new()));
    let noted = all.clone();
    let waker = hooked(move |done| {
        does();
        noted.lock().unwrap().push(done);
    });
    (waker, all)
}

#[test]
fn listeners_wakers_are_copied_woken_and_dropped_without_a_lock() {
    use Done::{Copied, Dropped, Woken};
    ends(|| {
        let store = Store::open_in_memory(Options::default()).unwrap();
        let feed = with_feed(&store);
        let other = Mutex::new(store.listen_to_appends());
        let (waker, all) = noting(move || other.lock().unwrap().note());
        let mut listener = listen(&store, &waker);
        assert!(listener.wake(&waker) && listener.wake(Waker::noop()) && listener.wake(&waker));
        append(&store, feed, Durability::Full).unwrap();
        assert!(!listener.wake(&waker), "something was appended");
        drop(listener);
        drop(listen(&store, &waker));
        let expected = [Copied, Copied, Dropped, Dropped, Copied, Woken, Copied, Dropped, Copied, Dropped];
        assert_eq!(*all.lock().unwrap(), expected);
    });
}

#[test]
fn tickets_wakers_are_copied_woken_and_dropped_without_a_lock() {
    use Done::{Copied, Dropped, Woken};
    ends(|| {
        let env = Environment { files: Arc::new(SimDisk::new(1)), host: Arc::new(QuietHost::default()) };
        let store = Store::open_with("db", Options::default(), env).unwrap();
        let later = |key: &[u8]| {
            let put = |writer: &mut PointWriter<'_>| Ok(writer.put(TreeId::CATALOG, key, b"value")?);
            store.session().unwrap().write::<_, ()>(Acknowledge::Later, put).unwrap().1
        };
        let poll = |ticket: &mut Ticket, waker: &Waker| ticket.poll(&mut Context::from_waker(waker)).is_pending();
        let other = Mutex::new(later(b"other"));
        let (waker, all) = noting(move || _ = poll(&mut other.lock().unwrap(), Waker::noop()));
        let (mut first, mut second) = (later(b"first"), later(b"second"));
        assert!(poll(&mut first, &waker) && poll(&mut first, Waker::noop()) && poll(&mut first, &waker));
        assert!(poll(&mut second, &waker));
        drop(second);
        later(b"last").wait().unwrap();
        assert_eq!(*all.lock().unwrap(), [Copied, Dropped, Copied, Copied, Dropped, Woken]);
    });
}

/// The thread that writes the log waited for its own end, and panicked in the middle of closing.
#[test]
fn a_waker_that_lets_go_of_a_database_closes_it_whoever_wakes_it() {
    let (files, may_write) = (MemFs::new(), Arc::new(Mutex::new(())));
    let held = may_write.clone();
    let watch = move |path: &Path, _, call: Call| {
        let is_batch = path.ends_with("db-log") && call == Call::WriteDurable;
        drop(is_batch.then(|| may_write.lock().unwrap()));
        Ok(())
    };
    let watched = Arc::new(WatchedFiles::new(files.clone(), watch));
    let env = Environment { files: watched, host: Arc::new(RealHost::default()) };
    let store = Store::open_with("db", Options::default(), env.clone()).unwrap();
    let batch = held.lock().unwrap();
    let write = |writer: &mut PointWriter<'_>| Ok(writer.put(TreeId::CATALOG, b"key", b"value")?);
    let ticket = store.session().unwrap().write::<_, ()>(Acknowledge::Later, write).unwrap().1;
    // As a task has what it waits for.
    let task = Arc::new((Mutex::new(ticket), store));
    let waker = hooked({
        let task = task.clone();
        move |_| assert!(Arc::strong_count(&task) > 0)
    });
    assert!(task.0.lock().unwrap().poll(&mut Context::from_waker(&waker)).is_pending());
    drop((task, waker));
    assert!(files.exists(Path::new("db-log")).unwrap());
    drop(batch);
    wait_until("it is closed", || !files.exists(Path::new("db-log")).unwrap());
    wait_until("it is let go of", || match Store::open_with("db", Options::default(), env.clone()) {
        Ok(store) => store.snapshot().unwrap().reader().get(TreeId::CATALOG, b"key").unwrap().is_some(),
        Err(_) => false,
    });
}
