//! What opening a database leaves behind, and what it believes.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use cairn_storage::io::{Create, FileSystem, MemFs, OpenHow};
use cairn_storage::{Environment, Error, Host, Join, Options, RealHost, Store};

use super::files::{Call, WatchedFiles};
use super::put;

/// Counts the threads that run, and starts only so many.
#[derive(Debug, Default)]
struct FewThreads {
    real: RealHost,
    most: AtomicUsize,
    started: AtomicUsize,
    running: Arc<AtomicUsize>,
}

impl Host for FewThreads {
    fn now(&self) -> Duration {
        self.real.now()
    }

    fn random(&self) -> u64 {
        self.real.random()
    }

    fn sleep(&self, time: Duration) {
        self.real.sleep(time);
    }

    fn spawn(&self, name: &str, work: Box<dyn FnOnce() + Send>) -> io::Result<Join> {
        if self.started.fetch_add(1, Ordering::SeqCst) >= self.most.load(Ordering::SeqCst) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let running = self.running.clone();
        running.fetch_add(1, Ordering::SeqCst);
        self.real.spawn(
            name,
            Box::new(move || {
                // A thread begins when the system lets it.
                std::thread::sleep(Duration::from_millis(20));
                work();
                running.fetch_sub(1, Ordering::SeqCst);
            }),
        )
    }
}

/// The threads that could be started were left running when one could not be, and the lock was given back: they filled
/// the next open's log with zeroes.
#[test]
fn an_open_that_can_not_start_its_threads_leaves_none() {
    let host = Arc::new(FewThreads::default());
    let env = Environment { files: Arc::new(MemFs::new()), host: host.clone() };
    for most in 0..3 {
        host.most.store(most, Ordering::SeqCst);
        host.started.store(0, Ordering::SeqCst);
        let opened = Store::open_with("db", Options::default(), env.clone());
        assert!(matches!(opened, Err(Error::Io { .. })), "{most} threads: {opened:?}");
        assert_eq!(host.running.load(Ordering::SeqCst), 0, "{most} threads");
    }
    host.most.store(3, Ordering::SeqCst);
    host.started.store(0, Ordering::SeqCst);
    let store = Store::open_with("db", Options::default(), env).unwrap();
    put(&store, b"key", 10).unwrap();
    drop(store);
    assert_eq!(host.running.load(Ordering::SeqCst), 0);
}

#[test]
fn threads_that_are_left_are_noticed() {
    cairn_storage::broken::must_be_caught(
        cairn_storage::broken::Broken::ThreadsLeft,
        an_open_that_can_not_start_its_threads_leaves_none,
    );
}

/// A list whose last page names its first was read on until it had as many pages as a database may have.
#[test]
fn a_list_that_comes_back_to_itself_is_not_followed_for_ever() {
    let files = MemFs::new();
    let path = Path::new("db");
    let reads = Arc::new(AtomicUsize::new(0));
    let count = reads.clone();
    let watched = WatchedFiles::new(files.clone(), move |_, _, call| {
        count.fetch_add(usize::from(call == Call::Read), Ordering::SeqCst);
        Ok(())
    });
    let env = Environment { files: Arc::new(watched), host: Arc::new(RealHost::default()) };
    let mut options = Options::default();
    options.max_pages = 1 << 16;
    let store = Store::open_with(path, options.clone(), env.clone()).unwrap();
    put(&store, b"key", 10).unwrap();
    store.close().unwrap();
    // Pages of the lists of trees say that they follow themselves. (docs/format.md; kind 4 is the list of trees.)
    let file = files.open(path, OpenHow { create: Create::Never, read_only: false, direct: false }).unwrap();
    let mut forged = 0;
    for at in (2 * 4096..file.len().unwrap()).step_by(4096) {
        let mut page = vec![0; 4096];
        file.read_at(&mut page, at).unwrap();
        if page[4] == 4 {
            page.copy_within(8..12, 64);
            page.copy_within(16..24, 68);
            let checksum = crc32c::crc32c(&page[4..]);
            page[..4].copy_from_slice(&checksum.to_le_bytes());
            file.write_at(&page, at).unwrap();
            forged += 1;
        }
    }
    assert!(forged > 0);
    reads.store(0, Ordering::SeqCst);
    let opened = Store::open_with(path, options, env);
    assert!(matches!(opened, Err(Error::Corrupt { .. })), "{opened:?}");
    assert!(reads.load(Ordering::SeqCst) < 20, "{reads:?} reads");
}
