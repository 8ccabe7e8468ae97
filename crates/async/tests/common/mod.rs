//! What the tests share.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// Runs what `make` makes under each runtime.
#[allow(dead_code)]
pub fn under_each_runtime<F: Future<Output = cairndb::Result<()>>>(make: impl Fn() -> F) {
    pollster::block_on(make()).expect("under pollster");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().expect("tokio");
    runtime.block_on(make()).expect("under tokio");
}

struct Unparks(Thread, AtomicBool);

impl Wake for Unparks {
    fn wake(self: Arc<Self>) {
        self.1.store(true, Ordering::SeqCst);
        self.0.unpark();
    }
}

/// Polls a future so many times, each time after it was woken, and drops it then; what it gave, if it was ready by then.
#[allow(dead_code)]
pub fn polled<T>(times: usize, future: impl Future<Output = T>) -> Option<T> {
    let woken = Arc::new(Unparks(std::thread::current(), AtomicBool::new(true)));
    let waker = Waker::from(woken.clone());
    let mut future = pin!(future);
    for _ in 0..times {
        let start = Instant::now();
        while !woken.1.swap(false, Ordering::SeqCst) {
            assert!(start.elapsed() < Duration::from_secs(60), "nobody woke the task");
            std::thread::park_timeout(Duration::from_secs(1));
        }
        if let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Some(done);
        }
    }
    None
}

/// A file of its own in a folder that goes with it.
#[allow(dead_code)]
pub fn file() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("test.cairn");
    (folder, path)
}
