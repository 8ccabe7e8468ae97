//! Databases that share memory: what those that come back to their pages find in it, while another one scans more than there is room for,
//! and while others are idle and have what they used before.
//!
//! `cargo run --release -p cairn-storage --example shared_memory -- DIRECTORY [MIB [SECONDS]]`
//!
//! Hit rates are those of the last quarter of the time, of a page's look-up on the way to a key.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cairn_storage::{Durability, Memory, Options, Store, TreeId};

/// Bytes of a row, so that a leaf has one.
const ROW: usize = 2_100;
const PAGE: u64 = 4_096;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().expect("a directory");
    let mib: u64 = arguments.next().map_or(256, |text| text.parse().expect("a number"));
    let seconds: u64 = arguments.next().map_or(12, |text| text.parse().expect("a number"));
    let (directory, pages) = (Path::new(&directory), (mib << 20) / PAGE);
    let time = Duration::from_secs(seconds);

    // Eight, one of which is scanned: the hot sets of the others take 0.7 of the memory together.
    let hot = pages / 10;
    make(&directory.join("scanned"), 4 * pages);
    (0..7).for_each(|n| make(&directory.join(format!("hot-{n}")), hot));
    for scanner_comes_first in [None, Some(false), Some(true)] {
        let memory = Memory::shared((mib as usize) << 20);
        let rates = beside_a_scan(directory, &memory, scanner_comes_first, hot, time);
        let rates: Vec<String> = rates.iter().map(|rate| format!("{rate:.4}")).collect();
        let what = match scanner_comes_first {
            None => "without the scan",
            Some(false) => "the scan comes last",
            Some(true) => "the scan comes first",
        };
        println!("7 of 8, {what}: hit rates {}; {} chunks moved", rates.join(" "), memory.moved());
    }

    // Seven that were used and are idle, and one whose hot set is 0.8 of the memory.
    let hot = pages / 5 * 4;
    make(&directory.join("busy"), hot);
    for others in [0, 7] {
        let memory = Memory::shared((mib as usize) << 20);
        let idle: Vec<Store> = (0..others).map(|n| open(&directory.join(format!("hot-{n}")), &memory)).collect();
        idle.iter().for_each(|store| read(store, pages / 10, Duration::ZERO, &AtomicBool::new(false), 1));
        let busy = open(&directory.join("busy"), &memory);
        let rate = rate_of(&busy, hot, time, 7);
        println!(
            "{others} idle: hit rate {rate:.4}; {} chunks moved, {} MiB taken",
            memory.moved(),
            memory.taken() >> 20
        );
    }
    let of_this = ["scanned", "busy"].into_iter().map(str::to_owned).chain((0..7).map(|n| format!("hot-{n}")));
    of_this.for_each(|name| std::fs::remove_file(directory.join(name)).expect("it is removed"));
}

fn open(path: &Path, memory: &Memory) -> Store {
    let mut options = Options::default();
    options.page_size = PAGE as usize;
    options.memory = Some(memory.clone());
    Store::open(path, options).expect("it opens")
}

fn make(path: &Path, rows: u64) {
    let store = open(path, &Memory::shared(64 << 20));
    for first in (0..rows).step_by(1000) {
        let transaction = store.begin().expect("a transaction");
        for row in first..rows.min(first + 1000) {
            transaction.put(TreeId::CATALOG, &row.to_be_bytes(), &[7; ROW]).expect("a row");
        }
        transaction.commit(Some(Durability::Off)).expect("a commit");
    }
    store.close().expect("it closes");
}

fn beside_a_scan(
    directory: &Path,
    memory: &Memory,
    scanner_comes_first: Option<bool>,
    hot: u64,
    time: Duration,
) -> Vec<f64> {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let scan = |store: Store| {
            let over = &over;
            scope.spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    let snapshot = store.snapshot().expect("a snapshot");
                    let all = std::ops::Bound::Unbounded;
                    let mut cursor = snapshot.reader().cursor(TreeId::CATALOG, all, all).expect("a cursor");
                    while !over.load(Ordering::Relaxed) && cursor.next().expect("a row").is_some() {}
                }
            })
        };
        if scanner_comes_first == Some(true) {
            scan(open(&directory.join("scanned"), memory));
            std::thread::sleep(time / 4);
        }
        let stores: Vec<Store> = (0..7).map(|n| open(&directory.join(format!("hot-{n}")), memory)).collect();
        if scanner_comes_first == Some(false) {
            stores.iter().for_each(|store| read(store, hot, Duration::ZERO, &over, 1));
            scan(open(&directory.join("scanned"), memory));
        }
        let readers: Vec<_> =
            (1..).zip(stores).map(|(seed, store)| scope.spawn(move || rate_of(&store, hot, time, seed))).collect();
        let rates = readers.into_iter().map(|reader| reader.join().expect("it reads")).collect();
        over.store(true, Ordering::Relaxed);
        rates
    })
}

/// Of the last quarter.
fn rate_of(store: &Store, rows: u64, time: Duration, seed: u64) -> f64 {
    let never = AtomicBool::new(false);
    read(store, rows, time / 4 * 3, &never, seed);
    let before = store.stats();
    read(store, rows, time / 4, &never, seed + 1);
    let after = store.stats();
    let (hits, misses) = (after.page_hits - before.page_hits, after.page_misses - before.page_misses);
    hits as f64 / (hits + misses) as f64
}

/// Reads rows by chance for so long, or, for no time, each of them once.
fn read(store: &Store, rows: u64, time: Duration, over: &AtomicBool, seed: u64) {
    let (began, mut state) = (Instant::now(), seed);
    let snapshot = store.snapshot().expect("a snapshot");
    let reader = snapshot.reader();
    for n in 0.. {
        let is_over = if time.is_zero() { n == rows } else { n % 64 == 0 && began.elapsed() > time };
        if is_over || over.load(Ordering::Relaxed) {
            return;
        }
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let row = if time.is_zero() { n } else { (state >> 33) % rows };
        let found = reader.get(TreeId::CATALOG, &row.to_be_bytes()).expect("it is read");
        assert!(found.is_some());
    }
}
