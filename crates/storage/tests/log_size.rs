//! What an idle database's log takes of the disk, and that it is all there when it is needed.

#![cfg(target_os = "linux")]

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cairn_storage::broken::{self, Broken};
use cairn_storage::io::{CrashStrategy, SimDisk};
use cairn_storage::{Environment, Options, RealHost, Store, TreeId};

const TREE: TreeId = TreeId::CATALOG;
const KIB: u64 = 1 << 10;
/// What an idle log may take.
const SMALL: u64 = 256 * KIB;

/// Removed at the end.
struct Directory(PathBuf);

impl Directory {
    /// On a file system that keeps what is written on a disk: in the build's directory.
    fn new(name: &str) -> Directory {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("log-size-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Directory(path)
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn log_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-log");
    name.into()
}

fn on_disk(path: &Path) -> u64 {
    std::fs::metadata(log_of(path)).map_or(0, |metadata| metadata.blocks() * 512)
}

fn put(store: &Store, rows: std::ops::Range<u64>, bytes: usize) {
    for row in rows {
        let transaction = store.begin().unwrap();
        transaction.put(TREE, &row.to_be_bytes(), &vec![row as u8; bytes]).unwrap();
        transaction.commit(None).unwrap();
    }
}

fn has(store: &Store, rows: std::ops::Range<u64>, bytes: usize) {
    let reader = store.snapshot().unwrap();
    let reader = reader.reader();
    for row in rows {
        let found = reader.get(TREE, &row.to_be_bytes()).unwrap();
        assert_eq!(found.as_deref(), Some(&vec![row as u8; bytes][..]), "row {row}");
    }
}

fn becomes(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn becomes_small(path: &Path) {
    becomes("the log stays large", || on_disk(path) <= SMALL);
}

#[test]
fn the_log_of_an_idle_database_is_small_and_grows_with_what_is_written() {
    let directory = Directory::new("size");
    let path = directory.path().join("size");
    let store = Store::open(&path, Options::default()).unwrap();
    becomes_small(&path);
    for round in 0..3 {
        let rows = round * 600..(round + 1) * 600;
        put(&store, rows, 20_000);
        assert!(on_disk(&path) > 8 * 1024 * KIB, "it fits nothing");
        store.checkpoint().unwrap();
        becomes_small(&path);
        // It is left alone from then on.
        let before = on_disk(&path);
        std::thread::sleep(Duration::from_millis(500));
        assert_eq!(on_disk(&path), before);
        has(&store, 0..(round + 1) * 600, 20_000);
    }
    store.close().unwrap();
    assert!(on_disk(&path) <= SMALL);
    let store = Store::open(&path, Options::default()).unwrap();
    has(&store, 0..1800, 20_000);
    becomes_small(&path);
}

#[test]
fn small_commits_now_and_then_leave_it_small() {
    let directory = Directory::new("now");
    let path = directory.path().join("now_and_then");
    let store = Store::open(&path, Options::default()).unwrap();
    for round in 0..4 {
        put(&store, round * 5..(round + 1) * 5, 100);
        std::thread::sleep(Duration::from_millis(300));
        becomes_small(&path);
    }
    has(&store, 0..20, 100);
}

#[test]
fn what_the_log_still_needs_stays_when_it_is_idle() {
    let directory = Directory::new("needed");
    let path = directory.path().join("needed");
    let copy = directory.path().join("copy");
    let store = Store::open(&path, Options::default()).unwrap();
    put(&store, 0..100, 5_000);
    store.checkpoint().unwrap();
    put(&store, 100..300, 5_000);
    std::thread::sleep(Duration::from_millis(700));
    // As a kill leaves it.
    std::fs::copy(&path, &copy).unwrap();
    std::fs::copy(log_of(&path), log_of(&copy)).unwrap();
    let copied = Store::open(&copy, Options::default()).unwrap();
    has(&copied, 0..300, 5_000);
    put(&copied, 300..400, 5_000);
    becomes("what is needed was given back", || on_disk(&copy) > 0);
    has(&copied, 0..400, 5_000);
}

#[test]
fn twenty_idle_databases_take_little() {
    let directory = Directory::new("twenty");
    let path = |n: usize| directory.path().join(n.to_string());
    let mut options = Options::default();
    options.cache_bytes = 1 << 20;
    let stores: Vec<Store> = (0..20).map(|n| Store::open(path(n), options.clone()).unwrap()).collect();
    stores.iter().for_each(|store| put(store, 0..10, 100));
    // 300 MB for a thousand.
    becomes("they stay large", || (0..20).map(|n| on_disk(&path(n))).sum::<u64>() < 20 * 300_000);
}

/// Small segments and commits, a pause now and then, and a crash after each pause.
fn crashes_lose_nothing() {
    for seed in 0..8 {
        let disk = SimDisk::new(seed);
        let mut options = Options::default();
        options.page_size = 512;
        options.log_segment_bytes = 64 << 10;
        let env = |disk: &SimDisk| Environment { files: Arc::new(disk.clone()), host: Arc::new(RealHost::default()) };
        let store = Store::open_with(Path::new("crashes"), options.clone(), env(&disk)).unwrap();
        let mut rows = 0;
        for round in 0..4 {
            put(&store, rows..rows + 30 + 7 * round, 900);
            rows += 30 + 7 * round;
            if round % 2 == 0 {
                store.checkpoint().unwrap();
            }
            std::thread::sleep(Duration::from_millis(450));
            put(&store, rows..rows + 1, 900);
            rows += 1;
            for strategy in [CrashStrategy::KeepAll, CrashStrategy::KeepNone] {
                let left = SimDisk::from_image(&disk.crash(strategy), seed);
                let left = Store::open_with(Path::new("crashes"), options.clone(), env(&left)).unwrap();
                has(&left, 0..rows, 900);
                put(&left, rows..rows + 40, 900);
                has(&left, 0..rows + 40, 900);
            }
        }
    }
}

#[test]
fn a_crash_beside_giving_back_loses_nothing() {
    crashes_lose_nothing();
}

#[test]
fn an_idle_log_that_gives_too_much_back_is_noticed() {
    broken::must_be_caught(Broken::IdleLogCut, crashes_lose_nothing);
    broken::must_be_caught(Broken::IdleLogUnneeded, crashes_lose_nothing);
}
