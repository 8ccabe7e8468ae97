//! An opening that takes long tells how far it is.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cairn_storage::io::{CrashStrategy, SimDisk};
use cairn_storage::{Environment, Host, Join, OpeningListener, OpeningProgress, Options, QuietHost, Store, TreeId};

const COMMITS: u64 = 1_000;

/// Time passes when it is looked at, so much of it.
#[derive(Debug)]
struct Slow {
    look: Duration,
    looks: AtomicU64,
    quiet: QuietHost,
}

impl Host for Slow {
    fn now(&self) -> Duration {
        self.look * self.looks.fetch_add(1, Ordering::Relaxed) as u32
    }

    fn random(&self) -> u64 {
        self.quiet.random()
    }

    fn sleep(&self, time: Duration) {
        self.quiet.sleep(time);
    }

    fn spawn(&self, name: &str, work: Box<dyn FnOnce() + Send>) -> std::io::Result<Join> {
        self.quiet.spawn(name, work)
    }

    fn has_threads(&self) -> bool {
        false
    }
}

fn environment(disk: &SimDisk, look: Duration) -> Environment {
    let host = Slow { look, looks: AtomicU64::new(0), quiet: QuietHost::default() };
    Environment { files: Arc::new(disk.clone()), host: Arc::new(host) }
}

/// A database that was not closed.
fn killed() -> SimDisk {
    let disk = SimDisk::new(1);
    let store = Store::open_with("slow", options(), environment(&disk, Duration::ZERO)).unwrap();
    for key in 0..COMMITS {
        let transaction = store.begin().unwrap();
        transaction.put(TreeId::CATALOG, &key.to_be_bytes(), &[1; 100]).unwrap();
        transaction.commit(None).unwrap();
    }
    let image = disk.crash(CrashStrategy::KeepAll);
    std::mem::forget(store);
    SimDisk::from_image(&image, 2)
}

fn options() -> Options {
    let mut options = Options::default();
    options.log_segment_bytes = 64 << 10;
    options.cache_bytes = 1 << 20;
    options
}

/// What an opening tells where a look at the clock takes so long.
fn heard(look: Duration, read_only: bool) -> Vec<OpeningProgress> {
    let disk = killed();
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = told.clone();
    let mut options = options();
    options.read_only = read_only;
    options.on_opening = Some(OpeningListener::new(move |progress| heard.lock().unwrap().push(*progress)));
    let store = Store::open_with("slow", options, environment(&disk, look)).unwrap();
    assert_eq!(
        store.snapshot().unwrap().reader().get(TreeId::CATALOG, &5u64.to_be_bytes()).unwrap(),
        Some(vec![1; 100])
    );
    drop(store);
    Arc::into_inner(told).map_or_else(Vec::new, |told| told.into_inner().unwrap())
}

#[test]
fn a_long_recovery_tells_how_far_it_is_after_a_second() {
    for read_only in [false, true] {
        let told = heard(Duration::from_millis(10), read_only);
        assert!(told.len() > 50, "told {} times", told.len());
        let (first, last) = (told[0], told[told.len() - 1]);
        assert!(first.took >= Duration::from_secs(1) && first.took < Duration::from_millis(1_200), "{first:?}");
        for next in told.windows(2) {
            assert!(next[0].applied_bytes < next[1].applied_bytes, "{next:?}");
            assert!(next[1].took - next[0].took >= Duration::from_millis(100), "{next:?}");
        }
        assert!(last.applied_bytes > COMMITS * 100 && last.applied_bytes <= last.log_bytes, "{last:?}");
        assert!(last.log_bytes - last.applied_bytes <= 128 << 10, "{last:?}");
    }
}

#[test]
fn a_short_one_tells_nothing() {
    assert_eq!(heard(Duration::from_micros(100), false), []);
}
