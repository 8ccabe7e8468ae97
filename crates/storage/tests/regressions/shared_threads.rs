//! Databases of a process share the threads of their background, and do not wait for each other.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Context;
use std::time::{Duration, Instant};

use cairn_storage::io::{FileSystem, MemFs};
use cairn_storage::{Acknowledge, Environment, Host, Join, Options, PointWriter, RealHost, Store, TreeId};

use super::files::{Call, WatchedFiles};
use super::hooked::hooked;
use super::put;

/// More than any fixed number of threads would be.
const STUCK: usize = 20;

/// A database whose file takes no write while `is_stuck`, and whose checkpoints are many.
fn open(is_stuck: &Arc<AtomicBool>, waiting: &Arc<AtomicUsize>) -> Store {
    let (is_stuck, waiting) = (is_stuck.clone(), waiting.clone());
    let files = WatchedFiles::new(MemFs::new(), move |path, _, call| {
        if call == Call::Write && path == Path::new("db") && is_stuck.load(Ordering::SeqCst) {
            waiting.fetch_add(1, Ordering::SeqCst);
            while is_stuck.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
            }
            waiting.fetch_sub(1, Ordering::SeqCst);
        }
        Ok(())
    });
    let mut options = Options::default();
    (options.log_segment_bytes, options.checkpoint_log_bytes, options.cache_bytes) = (64 << 10, 128 << 10, 1 << 20);
    options.max_pages = 1 << 12;
    let env = Environment { files: Arc::new(files), host: Arc::new(RealHost::default()) };
    Store::open_with("db", options, env).unwrap()
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what}: waited in vain");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// As much of the log as a checkpoint is made of.
fn write(store: &Store) {
    (0..30).for_each(|_| put(store, b"key", 8_000).unwrap());
}

#[test]
fn disks_that_are_stuck_stop_no_other_database() {
    let (is_stuck, waiting) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let stores: Vec<Store> = (0..STUCK).map(|_| open(&is_stuck, &waiting)).collect();
    is_stuck.store(true, Ordering::SeqCst);
    stores.iter().for_each(write);
    wait_until("checkpoints begin", || waiting.load(Ordering::SeqCst) == STUCK);

    let other = open(&Arc::default(), &Arc::default());
    let before = other.stats().checkpoints;
    // More log than there is at first: it is made longer, too.
    (0..5).for_each(|_| write(&other));
    wait_until("a checkpoint of the other one", || other.stats().checkpoints > before);
    other.close().unwrap();
    assert_eq!(waiting.load(Ordering::SeqCst), STUCK);

    is_stuck.store(false, Ordering::SeqCst);
    stores.into_iter().for_each(|store| store.close().unwrap());
}

/// A system that has one thread, which does the last first.
#[derive(Default)]
struct Lone {
    host: RealHost,
    waiting: Mutex<Vec<Box<dyn FnOnce() + Send>>>,
}

impl std::fmt::Debug for Lone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Lone")
    }
}

impl Host for Lone {
    fn now(&self) -> Duration {
        self.host.now()
    }

    fn random(&self) -> u64 {
        self.host.random()
    }

    fn sleep(&self, time: Duration) {
        self.host.sleep(time);
    }

    fn spawn(&self, name: &str, work: Box<dyn FnOnce() + Send>) -> std::io::Result<Join> {
        self.host.spawn(name, work)
    }

    fn serve(&self, work: Box<dyn FnOnce() + Send>) -> std::io::Result<()> {
        self.waiting.lock().unwrap().push(work);
        Ok(())
    }
}

/// It waited for work that stood in line behind it.
#[test]
fn the_only_thread_there_is_may_close_a_database() {
    let (files, host) = (MemFs::new(), Arc::new(Lone::default()));
    let env = Environment { files: Arc::new(files.clone()), host: host.clone() };
    let store = Store::open_with("db", Options::default(), env).unwrap();
    let write = |writer: &mut PointWriter<'_>| Ok(writer.put(TreeId::CATALOG, b"key", b"value")?);
    let ticket = store.session().unwrap().write::<_, ()>(Acknowledge::Later, write).unwrap().1;
    let task = Arc::new((Mutex::new(ticket), store));
    let waker = hooked({
        let task = task.clone();
        move |_| assert!(Arc::strong_count(&task) > 0)
    });
    assert!(task.0.lock().unwrap().poll(&mut Context::from_waker(&waker)).is_pending());
    drop((task, waker));
    assert_eq!(host.waiting.lock().unwrap().len(), 2, "the log, and the house before it");
    std::thread::spawn(move || {
        let next = || host.waiting.lock().unwrap().pop();
        while let Some(work) = next() {
            work();
        }
    });
    wait_until("it is closed", || !files.exists(Path::new("db-log")).unwrap());
}
