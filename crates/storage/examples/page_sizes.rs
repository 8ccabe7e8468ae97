//! Compares page sizes: `cargo run --release -p cairn-storage --example page_sizes [DIRECTORY [ROUNDS]]`.
//!
//! One million rows of 100 bytes under 8-byte keys, for 4, 8 and 16 KiB pages, in alternating rounds. Prints medians, and
//! the smallest and the largest round: loading in key order and in random order, the file after a clean close, point reads,
//! a scan, single-row updates by key in random order with a durable commit each, and what reaches the file and the log for
//! each update.

use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::time::Instant;

use cairn_storage::{Acknowledge, Options, Result, Store, Transaction, TreeId, WriteError};

const TREE: TreeId = TreeId::CATALOG;
const ROWS: u64 = 1_000_000;
const READS: u64 = 500_000;
const UPDATES: u64 = 30_000;
const SIZES: [usize; 3] = [4096, 8192, 16384];
const MEASURES: [&str; 8] = [
    "load in order, ms",
    "load at random, ms",
    "file in order, MiB",
    "file at random, MiB",
    "point read, ns",
    "scan, ms",
    "update, us",
    "written per update, bytes",
];

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let directory = PathBuf::from(arguments.next().unwrap_or_else(|| ".".into()));
    let rounds = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(5);
    let mut found = vec![vec![Vec::new(); MEASURES.len()]; SIZES.len()];
    for round in 0..rounds {
        for (size, found) in SIZES.iter().zip(&mut found) {
            let measured = measure(&directory, *size)?;
            measured.into_iter().zip(found.iter_mut()).for_each(|(value, values)| values.push(value));
        }
        eprintln!("round {} of {rounds}", round + 1);
    }
    println!("| measure | {} |", SIZES.map(|size| format!("{} KiB", size >> 10)).join(" | "));
    println!("|---|---|---|---|");
    for (at, name) in MEASURES.iter().enumerate() {
        println!("| {name} | {} |", found.iter_mut().map(|of| summary(&mut of[at])).collect::<Vec<_>>().join(" | "));
    }
    Ok(())
}

fn summary(values: &mut [f64]) -> String {
    values.sort_by(f64::total_cmp);
    let (least, most) = (values[0], values[values.len() - 1]);
    format!("{:.1} ({least:.1} to {most:.1})", values[values.len() / 2])
}

fn measure(directory: &Path, page_size: usize) -> Result<[f64; MEASURES.len()]> {
    let path = directory.join("page-sizes.cairn");
    let (at_random, size_at_random) = load(&path, page_size, scattered)?;
    let (in_order, size) = load(&path, page_size, |i| i)?;
    let store = open(&path, page_size)?;
    let scan = timed(|| scan(&store))?;
    let reads = timed(|| read(&store))?;
    let before = written(&store);
    let updates = timed(|| update(&store))?;
    store.checkpoint()?;
    let bytes = (written(&store) - before) as f64 / UPDATES as f64;
    store.close()?;
    let _ = std::fs::remove_file(&path);
    let per = |seconds: f64, count: u64, unit: f64| seconds * unit / count as f64;
    Ok([
        in_order * 1e3,
        at_random * 1e3,
        size,
        size_at_random,
        per(reads, READS, 1e9),
        scan * 1e3,
        per(updates, UPDATES, 1e6),
        bytes,
    ])
}

fn open(path: &Path, page_size: usize) -> Result<Store> {
    let mut options = Options::default();
    options.page_size = page_size;
    options.cache_bytes = 512 << 20;
    Store::open(path, options)
}

fn timed(work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let began = Instant::now();
    work()?;
    Ok(began.elapsed().as_secs_f64())
}

fn key(i: u64) -> [u8; 8] {
    i.to_be_bytes()
}

/// Row numbers in an order without pattern, all different: the finalizer of SplitMix64 (Steele, Lea, Flood 2014).
fn scattered(i: u64) -> u64 {
    let a = (i ^ i >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let b = (a ^ a >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    b ^ b >> 31
}

fn row(i: u64) -> [u8; 92] {
    let mut row = [i as u8; 92];
    row[..8].copy_from_slice(&key(i));
    row
}

/// Returns seconds, and the size in MiB once closed.
fn load(path: &Path, page_size: usize, number: impl Fn(u64) -> u64) -> Result<(f64, f64)> {
    let _ = std::fs::remove_file(path);
    let store = open(path, page_size)?;
    let took = timed(|| {
        (0..ROWS / 1000).try_for_each(|batch| {
            let transaction = store.begin()?;
            (batch * 1000..(batch + 1) * 1000).try_for_each(|i| insert(&transaction, number(i)))?;
            transaction.commit(None)
        })
    })?;
    store.close()?;
    let bytes = std::fs::metadata(path).map_or(0, |file| file.len());
    Ok((took, bytes as f64 / f64::from(1 << 20)))
}

fn insert(transaction: &Transaction, number: u64) -> Result<()> {
    transaction.insert(TREE, &key(number), &row(number)).map(|new| assert!(new))
}

fn scan(store: &Store) -> Result<()> {
    let snapshot = store.snapshot()?;
    let mut cursor = snapshot.reader().cursor(TREE, Bound::Unbounded, Bound::Unbounded)?;
    let (mut rows, mut sum) = (0, 0u64);
    while let Some((_, value)) = cursor.next()? {
        rows += 1;
        sum += u64::from(value[9]);
    }
    assert!(rows == ROWS && sum > 0);
    Ok(())
}

fn read(store: &Store) -> Result<()> {
    let snapshot = store.snapshot()?;
    (0..READS).try_for_each(|i| {
        let number = scattered(i) % ROWS;
        let found = snapshot.reader().get_with(TREE, &key(number), |value| value[0] == key(number)[0])?;
        assert_eq!(found, Some(true));
        Ok(())
    })
}

fn update(store: &Store) -> Result<()> {
    let mut session = store.session()?;
    (0..UPDATES).try_for_each(|i| {
        let number = scattered(i) % ROWS;
        let done = session.write::<(), ()>(Acknowledge::Now(None), |writer| {
            Ok(writer.patch(TREE, &key(number), 8, &(i as u32).to_le_bytes())?)
        });
        match done {
            Ok(_) => Ok(()),
            Err(WriteError::Storage(error)) => Err(error),
            Err(WriteError::Caller(())) => unreachable!("the closure has no error of its own"),
        }
    })
}

fn written(store: &Store) -> u64 {
    let stats = store.stats();
    stats.log_bytes_written + stats.pages_written * store.page_size() as u64
}
