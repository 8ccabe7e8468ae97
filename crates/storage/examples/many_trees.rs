//! What many trees cost a commit, and a snapshot: point writes in a database with one tree and in one with many, alternating,
//! and the memory of snapshots of different versions.
//!
//! `cargo run --release -p cairn-storage --example many_trees -- DIRECTORY [TREES] [SNAPSHOTS]`
//!
//! With `count` in front of the folder it makes that many trees and WRITES point writes, and nothing else: for counting instructions,
//! `valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null many_trees count DIRECTORY TREES WRITES`.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cairn_storage::{Acknowledge, Options, Store, TreeId};

/// Trees made by one transaction.
const TOGETHER: usize = 10_000;
const ROUNDS: usize = 41;
const WRITES: u64 = 2_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: usize| arguments.get(at).map_or(default, |text| text.parse().expect("a number"));
    match arguments.first().map(String::as_str) {
        Some("count") => count(Path::new(&arguments[1]), number(2, 1), number(3, 1000)),
        Some(directory) => measure(Path::new(directory), number(1, 100_000), number(2, 1_000)),
        None => panic!("a directory"),
    }
}

fn count(directory: &Path, trees: usize, writes: usize) {
    let database = Database::new(directory, trees);
    (0..writes as u64).for_each(|key| database.write(0, key));
    database.remove();
}

fn measure(directory: &Path, trees: usize, snapshots: usize) {
    let (one, many) = (Database::new(directory, 1), Database::new(directory, trees));
    let mut took: [Vec<Duration>; 3] = Default::default();
    for round in 0..ROUNDS {
        let key = |n: u64| round as u64 * WRITES + n;
        took[0].push(time(|n| one.write(0, key(n))));
        took[1].push(time(|n| many.write(0, key(n))));
        // Sixteen trees, far from each other.
        took[2].push(time(|n| many.write((n % 16) as usize * (trees / 16), key(n))));
    }
    let [one_us, same_us, apart_us] = took.map(|mut times| {
        times.sort_unstable();
        times[ROUNDS / 2].as_secs_f64() * 1e6 / WRITES as f64
    });
    println!("a point write, median of {ROUNDS} rounds of {WRITES}:");
    println!(
        "  {one_us:.2} us with one tree; with {trees}: {same_us:.2} us to one of them, {apart_us:.2} us to sixteen"
    );
    let before = resident();
    let held: Vec<_> = (0..snapshots)
        .map(|n| {
            many.write(0, n as u64 % 8);
            many.store.snapshot().expect("a snapshot")
        })
        .collect();
    let kept = resident().saturating_sub(before) as f64 / (1 << 20) as f64;
    println!("  {} snapshots of different versions: {kept:.1} MiB of memory more", held.len());
    let began = Instant::now();
    drop(held);
    many.write(0, 0);
    println!("  let go of, and a write behind that: {:.0} us", began.elapsed().as_secs_f64() * 1e6);
    one.remove();
    many.remove();
}

fn time(write: impl Fn(u64)) -> Duration {
    let began = Instant::now();
    (0..WRITES).for_each(write);
    began.elapsed()
}

fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or_default() * 4096
}

struct Database {
    store: Store,
    path: PathBuf,
    trees: Vec<TreeId>,
}

impl Database {
    fn new(directory: &Path, count: usize) -> Database {
        let path = directory.join(format!("many-trees-{}-{count}", std::process::id()));
        let mut options = Options::default();
        options.cache_bytes = 64 << 20;
        let store = Store::open(&path, options).expect("it opens");
        let mut trees = Vec::new();
        while trees.len() < count {
            let transaction = store.begin().expect("a transaction");
            let together = TOGETHER.min(count - trees.len());
            trees.extend((0..together).map(|_| transaction.create_tree().expect("a tree")));
            transaction.commit(None).expect("a commit");
        }
        Database { store, path, trees }
    }

    fn write(&self, tree: usize, key: u64) {
        let key = (key % 1_000).to_be_bytes();
        let mut session = self.store.session().expect("a session");
        let written = session
            .write::<_, ()>(Acknowledge::Now(None), |writer| Ok(writer.put(self.trees[tree], &key, &[7; 100])?));
        let ((), _) = written.expect("a commit");
    }

    fn remove(self) {
        self.store.close().expect("it closes");
        std::fs::remove_file(&self.path).expect("it is removed");
    }
}
