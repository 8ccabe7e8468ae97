//! What databases take that nobody uses: many, open in one process.
//!
//! `cargo run --release -p cairn-storage --example idle_databases -- DIRECTORY [COUNT]`
//!
//! Each is made with a few rows, closed, and opened once more, with a cache of 1 MiB. What is told is the process's: address space,
//! resident memory, threads; and the bytes on disk of the logs.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cairn_storage::{Options, Store, TreeId};

/// Until the background is done with what an opening leaves to it.
const SETTLE: Duration = Duration::from_secs(2);

fn main() {
    let mut arguments = std::env::args().skip(1);
    let directory = PathBuf::from(arguments.next().expect("a directory"));
    let count: usize = arguments.next().map_or(1_000, |text| text.parse().expect("a number"));
    let path = |n: usize| directory.join(format!("idle-{}-{n}", std::process::id()));
    (0..count).for_each(|n| make(&path(n)));
    let (before, began) = (status(), Instant::now());
    let stores: Vec<Store> = (0..count).map(|n| open(&path(n))).collect();
    let opened = began.elapsed();
    for store in &stores {
        let read = store.snapshot().expect("a snapshot").reader().get(TreeId::CATALOG, b"row 3").expect("it is read");
        assert!(read.is_some());
    }
    std::thread::sleep(SETTLE);
    let after = status();
    println!("{count} idle databases, opened in {:.2} s:", opened.as_secs_f64());
    let mib = |at: usize| after[at].saturating_sub(before[at]) as f64 / 1024.0;
    println!("  address space {:.2} GiB, resident {:.2} GiB", mib(0) / 1024.0, mib(1) / 1024.0);
    println!("  {} threads in all", after[2]);
    println!(
        "  {:.0} MiB of log on disk",
        (0..count).map(|n| on_disk(&log(&path(n)))).sum::<u64>() as f64 / 1_048_576.0
    );
    for (n, store) in stores.into_iter().enumerate() {
        store.close().expect("it closes");
        std::fs::remove_file(path(n)).expect("it is removed");
    }
}

fn open(path: &Path) -> Store {
    let mut options = Options::default();
    options.cache_bytes = 1 << 20;
    Store::open(path, options).expect("it opens")
}

fn make(path: &Path) {
    let store = open(path);
    let transaction = store.begin().expect("a transaction");
    for row in 0..10 {
        transaction.put(TreeId::CATALOG, format!("row {row}").as_bytes(), &[7; 100]).expect("a row");
    }
    transaction.commit(None).expect("a commit");
    store.close().expect("it closes");
}

fn log(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-log");
    name.into()
}

#[cfg(unix)]
fn on_disk(path: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).map_or(0, |metadata| metadata.blocks() * 512)
}

#[cfg(not(unix))]
fn on_disk(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// KiB of address space and of resident memory, and threads; zeros where the system does not tell.
fn status() -> [u64; 3] {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ["VmSize:", "VmRSS:", "Threads:"].map(|name| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|line| line.split_whitespace().next()).and_then(|word| word.parse().ok()).unwrap_or_default()
    })
}
