//! Several threads at once, with the engine's own in the background: invariants that every snapshot must keep, and
//! crashes of what they did.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use cairn_storage::io::{FileSystem, MemFs, SimDisk};
use cairn_storage::{
    Acknowledge, Durability, Environment, Error, Options, RealHost, Result, Session, Store, Transaction, TreeId,
    WriteError,
};

use super::explore::{Depth, explore_all};
use super::machine::{self, DATABASE, Rng};
use super::workload::{History, Model, Run, digest_model, digest_store};

const ACCOUNTS: u64 = 200;
const EACH: u64 = 1000;

fn threaded(files: Arc<dyn FileSystem>) -> Store {
    let mut options = machine::options(512);
    options.log_limit_bytes = 256 << 10;
    options.checkpoint_log_bytes = 24 << 10;
    options.max_snapshots = 64;
    options.max_pages = 1 << 14;
    options.cache_bytes = 128 * 512;
    let env = Environment { files, host: Arc::new(RealHost::default()) };
    Store::open_with(DATABASE, options, env).unwrap()
}

fn number(bytes: Option<&[u8]>) -> u64 {
    bytes.map_or(0, |bytes| u64::from_le_bytes(bytes[..8].try_into().unwrap()))
}

/// Balances padded so that the accounts take more pages than the cache has.
fn balance(amount: u64) -> [u8; 100] {
    let mut value = [amount as u8; 100];
    value[..8].copy_from_slice(&amount.to_le_bytes());
    value
}

fn total(store: &Store) -> u64 {
    let snapshot = store.snapshot().unwrap();
    let mut cursor = snapshot.reader().cursor(TreeId::CATALOG, Bound::Unbounded, Bound::Unbounded).unwrap();
    let mut sum = 0;
    while let Some((_, value)) = cursor.next().unwrap() {
        sum += number(Some(value));
    }
    sum
}

fn transfer(store: &Store, rng: &mut Rng) -> Result<()> {
    let transaction = store.begin()?;
    let (from, to) = (rng.next() % ACCOUNTS, rng.next() % ACCOUNTS);
    let read = |account: u64| transaction.reader().get(TreeId::CATALOG, &account.to_be_bytes());
    let (a, b) = (number(read(from)?.as_deref()), number(read(to)?.as_deref()));
    let amount = (rng.next() % 50).min(a);
    if from != to {
        transaction.put(TreeId::CATALOG, &from.to_be_bytes(), &balance(a - amount))?;
        transaction.put(TreeId::CATALOG, &to.to_be_bytes(), &balance(b + amount))?;
    }
    transaction.commit(None)
}

fn point_transfer(session: &mut Session, rng: &mut Rng) -> Result<(), WriteError<()>> {
    let (from, to) = (rng.next() % ACCOUNTS, rng.next() % ACCOUNTS);
    session
        .write(Acknowledge::Now(None), |writer| {
            let a = number(writer.get(TreeId::CATALOG, &from.to_be_bytes())?);
            let b = number(writer.get(TreeId::CATALOG, &to.to_be_bytes())?);
            let amount = 7.min(a);
            if from != to {
                writer.put(TreeId::CATALOG, &from.to_be_bytes(), &balance(a - amount))?;
                // Half of it is there; some give up here.
                if a.is_multiple_of(5) {
                    return Err(WriteError::Caller(()));
                }
                writer.put(TreeId::CATALOG, &to.to_be_bytes(), &balance(b + amount))?;
            }
            Ok(())
        })
        .map(drop)
}

#[test]
fn every_snapshot_under_load_holds_the_same_sum() {
    let store = threaded(Arc::new(MemFs::new()));
    let setup = store.begin().unwrap();
    for account in 0..ACCOUNTS {
        setup.put(TreeId::CATALOG, &account.to_be_bytes(), &balance(EACH)).unwrap();
    }
    setup.commit(None).unwrap();
    let (transfers, sums) = (AtomicU64::new(0), AtomicU64::new(0));
    let began = Instant::now();
    let running = || began.elapsed() < Duration::from_secs(4);
    thread::scope(|scope| {
        for seed in 0..3 {
            let (store, transfers) = (&store, &transfers);
            scope.spawn(move || {
                let mut rng = Rng(seed);
                while running() {
                    match transfer(store, &mut rng) {
                        Ok(()) => transfers.fetch_add(1, Ordering::Relaxed),
                        Err(Error::Conflict) => 0,
                        Err(error) => panic!("{error}"),
                    };
                }
            });
        }
        for seed in 10..12 {
            let (store, transfers) = (&store, &transfers);
            scope.spawn(move || {
                let (mut rng, mut session) = (Rng(seed), store.session().unwrap());
                while running() {
                    match point_transfer(&mut session, &mut rng) {
                        Ok(()) => transfers.fetch_add(1, Ordering::Relaxed),
                        Err(WriteError::Caller(())) => 0,
                        Err(WriteError::Storage(error)) => panic!("{error}"),
                    };
                }
            });
        }
        scope.spawn(|| {
            while running() {
                assert_eq!(total(&store), ACCOUNTS * EACH);
                sums.fetch_add(1, Ordering::Relaxed);
            }
        });
        scope.spawn(|| {
            while running() {
                let old = store.snapshot().unwrap();
                let before = old.reader().get(TreeId::CATALOG, &7u64.to_be_bytes()).unwrap();
                thread::sleep(Duration::from_millis(50));
                assert_eq!(old.reader().get(TreeId::CATALOG, &7u64.to_be_bytes()).unwrap(), before);
                store.checkpoint().unwrap();
            }
        });
    });
    println!("{transfers:?} transfers, {sums:?} sums; {:?}", store.stats());
    assert!(transfers.into_inner() > 20 && sums.into_inner() > 5);
    assert_eq!(store.verify().unwrap().leaked_pages, 0);
    assert_eq!(total(&store), ACCOUNTS * EACH);
    store.close().unwrap();
}

/// Takes one of two away, if the other is still there.
fn take(store: &Store, mine: &[u8], other: &[u8]) -> Result<()> {
    let transaction: Transaction = store.begin()?;
    if transaction.reader().get(TreeId::CATALOG, mine)?.is_some()
        && transaction.reader().get(TreeId::CATALOG, other)?.is_some()
    {
        transaction.delete(TreeId::CATALOG, mine)?;
    }
    transaction.commit(None)
}

#[test]
fn two_transactions_that_read_what_the_other_writes_do_not_both_commit() {
    let store = threaded(Arc::new(MemFs::new()));
    for round in 0..300 {
        let setup = store.begin().unwrap();
        setup.put(TreeId::CATALOG, b"a", b"on call").unwrap();
        setup.put(TreeId::CATALOG, b"b", b"on call").unwrap();
        setup.commit(None).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| drop(take(&store, b"a", b"b")));
            scope.spawn(|| drop(take(&store, b"b", b"a")));
        });
        let snapshot = store.snapshot().unwrap();
        let there = [b"a", b"b"].map(|key| snapshot.reader().get(TreeId::CATALOG, key).unwrap().is_some());
        assert!(there[0] || there[1], "round {round}: both went");
    }
}

#[test]
fn whoever_was_told_of_a_commit_sees_it() {
    let store = threaded(Arc::new(SimDisk::new(1)));
    thread::scope(|scope| {
        for id in 0..4u64 {
            let store = &store;
            scope.spawn(move || {
                let modes = [Durability::Full, Durability::Group, Durability::Interval, Durability::Off];
                for i in 0..200u64 {
                    let transaction = store.begin().unwrap();
                    transaction.put(TreeId::CATALOG, &id.to_be_bytes(), &i.to_le_bytes()).unwrap();
                    transaction.commit(Some(modes[i as usize % 4])).unwrap();
                    let seen = store.snapshot().unwrap().reader().get(TreeId::CATALOG, &id.to_be_bytes()).unwrap();
                    assert_eq!(number(seen.as_deref()), i);
                }
            });
        }
    });
    store.close().unwrap();
}

/// What commit `n` changes: nothing but `n` decides it.
fn effect(n: u64) -> Vec<(Vec<u8>, Vec<u8>)> {
    let short = (vec![1, (n % 40) as u8], vec![n as u8; 30 + (n % 30) as usize]);
    let mut puts = vec![(vec![0], n.to_le_bytes().to_vec()), short];
    if n.is_multiple_of(8) {
        puts.push((vec![2, (n % 3) as u8], vec![n as u8; 1300]));
    }
    puts
}

/// One more commit, by a transaction; its number.
fn count_up(store: &Store) -> Result<u64> {
    let transaction = store.begin()?;
    let n = number(transaction.reader().get(TreeId::CATALOG, &[0])?.as_deref()) + 1;
    for (key, value) in effect(n) {
        transaction.put(TreeId::CATALOG, &key, &value)?;
    }
    transaction.commit(None).map(|()| n)
}

/// As `count_up`, by a point write; `None` if it would be too large for one.
fn count_up_at_a_point(session: &mut Session) -> Option<u64> {
    let result = session.write::<u64, ()>(Acknowledge::Now(None), |writer| {
        let n = number(writer.get(TreeId::CATALOG, &[0])?) + 1;
        for (key, value) in effect(n) {
            writer.put(TreeId::CATALOG, &key, &value)?;
        }
        Ok(n)
    });
    match result {
        Ok((n, _)) => Some(n),
        Err(WriteError::Storage(Error::TooLarge)) => None,
        Err(error) => panic!("{error:?}"),
    }
}

/// Runs three threads that count up; every commit's number says what state it left.
fn counting_run(seed: u64, commits: u64) -> Run {
    let disk = SimDisk::new(seed);
    disk.start_recording();
    let store = threaded(Arc::new(disk.clone()));
    let acknowledged = Mutex::new(BTreeMap::new());
    let last = AtomicU64::new(0);
    thread::scope(|scope| {
        for id in 0..3 {
            let (store, disk, acknowledged, last) = (&store, &disk, &acknowledged, &last);
            scope.spawn(move || {
                let mut session = store.session().unwrap();
                while last.load(Ordering::Relaxed) < commits {
                    let begun = disk.operation_count();
                    let point = if id > 0 { count_up_at_a_point(&mut session) } else { None };
                    let n = match point.map_or_else(|| count_up(store), Ok) {
                        Ok(n) => n,
                        Err(Error::Conflict) => continue,
                        Err(error) => panic!("{error}"),
                    };
                    last.fetch_max(n, Ordering::Relaxed);
                    acknowledged.lock().unwrap().insert(n, (begun, disk.operation_count()));
                }
            });
        }
    });
    let recording = disk.take_recording();
    let found = digest_store(&store).unwrap();
    drop(store);
    let mut model = Model::from([(TreeId::CATALOG.0, BTreeMap::new())]);
    let mut history = History::default();
    history.committed(digest_model(&model), 0, true, 0);
    for (i, (n, (begun, durable))) in acknowledged.into_inner().unwrap().into_iter().enumerate() {
        assert_eq!(n, i as u64 + 1, "a number was given twice, or never");
        model.entry(TreeId::CATALOG.0).or_default().extend(effect(n));
        history.committed(digest_model(&model), begun, true, durable);
    }
    assert_eq!(found, digest_model(&model));
    Run { recording, history, options: threaded_options(), seed }
}

fn threaded_options() -> Options {
    let mut options = machine::options(512);
    options.log_limit_bytes = 256 << 10;
    options
}

#[test]
fn every_crash_of_what_several_threads_did_leaves_a_prefix_of_their_commits() {
    explore_all((1..4).map(|seed| counting_run(seed, 150)), Depth { random: 2, nested: 200 });
}

const HOLDER: &str = "CAIRN_TEST_HELD_DATABASE";

#[test]
#[ignore = "the other process of the test below"]
fn holding_process() {
    let path = std::env::var_os(HOLDER).expect("run by the other test");
    let _store = Store::open(Path::new(&path), Options::default()).unwrap();
    println!("held");
    thread::sleep(Duration::from_secs(60));
}

#[test]
fn a_second_process_is_told_who_has_the_database_open() {
    use std::io::{BufRead, BufReader};
    let path = std::env::temp_dir().join(format!("cairn-held-{}", std::process::id()));
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "threads::holding_process", "--ignored", "--nocapture"])
        .env(HOLDER, &path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    assert!(output.lines().any(|line| line.unwrap().contains("held")));
    let refused = Store::open(&path, Options::default());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(matches!(refused, Err(Error::Busy { pid: Some(pid), .. }) if pid == child.id()), "{refused:?}");
    // Killed, it holds nothing any more, and what it left is recovered.
    Store::open(&path, Options::default()).unwrap().close().unwrap();
    std::fs::remove_file(&path).unwrap();
}
