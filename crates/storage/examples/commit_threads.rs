//! Durable upserts of one row each, by several threads.
//!
//! `cargo run --release -p cairn-storage --example commit_threads -- DIRECTORY [THREADS] [SECONDS]`

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cairn_storage::{Acknowledge, Options, Store, TreeId};

const KEYS: u64 = 100_000;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().expect("a directory");
    let mut number = |default: u64| arguments.next().map_or(default, |text| text.parse().expect("a number"));
    let (threads, seconds) = (number(32), number(5));
    let path = Path::new(&directory).join(format!("commit-threads-{}", std::process::id()));
    let store = Store::open(&path, Options::default()).expect("the database opens");
    fill(&store);
    let (stop, commits) = (AtomicBool::new(false), AtomicU64::new(0));
    let (before, began) = (store.stats(), Instant::now());
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (store, stop, commits) = (&store, &stop, &commits);
            scope.spawn(move || commits.fetch_add(upserts(store, thread, stop), Ordering::Relaxed));
        }
        std::thread::sleep(Duration::from_secs(seconds));
        stop.store(true, Ordering::Relaxed);
    });
    let (took, after) = (began.elapsed().as_secs_f64(), store.stats());
    let batches = (after.batches - before.batches) as f64;
    let commits = commits.into_inner() as f64;
    println!(
        "{threads} threads: {:.0} commits/s, {:.1} a batch, {:.0} us of writing a batch, {:.0} us between two",
        commits / took,
        commits / batches,
        (after.sync_us - before.sync_us) as f64 / batches,
        took * 1e6 / batches - (after.sync_us - before.sync_us) as f64 / batches,
    );
    store.close().expect("the database closes");
    std::fs::remove_file(path).expect("the database is removed");
}

fn fill(store: &Store) {
    let transaction = store.begin().expect("a transaction");
    for key in 0..KEYS {
        transaction.put(TreeId::CATALOG, &key.to_be_bytes(), &[1; 100]).expect("a row");
    }
    transaction.commit(None).expect("a commit");
}

fn upserts(store: &Store, seed: u64, stop: &AtomicBool) -> u64 {
    let mut session = store.session().expect("a session");
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1;
    let mut done = 0;
    while !stop.load(Ordering::Relaxed) {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let key = ((state >> 33) % KEYS).to_be_bytes();
        let written = session
            .write::<_, ()>(Acknowledge::Now(None), |writer| Ok(writer.put(TreeId::CATALOG, &key, &[2; 100])?));
        let ((), _acknowledged) = written.expect("a commit");
        drop(_acknowledged);
        done += 1;
    }
    done
}
