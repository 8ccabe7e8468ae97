//! Disks that fail while they are in use: syncs, reads, writes, and space that runs out.

use cairn_storage::io::{CrashStrategy, SimDisk};
use cairn_storage::{Error, Result, Store};

use super::explore::{Judge, check};
use super::machine::{self, Rng};
use super::workload::{Shape, Worker, digest_model, digest_store};

/// What a disk that failed may leave is what its history admits, whatever else a crash takes.
fn check_crashes(worker: &Worker<'_>, disk: &SimDisk, seed: u64, what: &str) {
    disk.clear_faults();
    let at = worker.now();
    for strategy in CrashStrategy::family(seed, 2) {
        let admits = |digest| worker.history.admits(at, digest);
        let told = |digest, store: &Store| worker.history.judge_positions(at, digest, store);
        let judge = Judge { admits: &admits, told: &told };
        check(&disk.crash(strategy), &worker.options, judge, false, seed)
            .unwrap_or_else(|error| panic!("{what}, {strategy:?}: {error}"));
    }
}

fn is_read_only(error: &Error) -> bool {
    matches!(error, Error::OutcomeUnknown { .. } | Error::Poisoned { .. })
}

/// Runs until the first failure.
fn run_to_failure(worker: &mut Worker<'_>) -> Option<Error> {
    (0..worker.shape.steps).find_map(|_| worker.step().err())
}

/// Lets the sync of this number fail during the workload; false if there were not so many.
fn fail_sync(seed: u64, number: u64) -> bool {
    let what = format!("workload {seed}, failed sync {number}");
    let disk = SimDisk::new(seed);
    let mut worker = Worker::new(&disk, seed, Shape { steps: 40, appends: false, ..Shape::of(seed) });
    disk.fail_sync(number);
    let before = disk.sync_count();
    let Some(error) = run_to_failure(&mut worker) else {
        assert!(disk.sync_count() < before + number, "{what}: nobody was told");
        return false;
    };
    if let Some(store) = &worker.store {
        let (syncs, read) = (disk.sync_count(), digest_store(store));
        assert!(is_read_only(&error) || matches!(error, Error::Io { .. }), "{what}: {error}");
        let refused = store.begin().and_then(|transaction| transaction.create_tree()).err();
        assert!(refused.as_ref().is_some_and(|error| error.sqlstate() == "25006"), "{what}: {refused:?}");
        assert!(store.checkpoint().is_err_and(|error| is_read_only(&error)), "{what}");
        assert_eq!(disk.sync_count(), syncs, "{what}: a failed sync was tried again");
        match read {
            Ok(digest) => worker.history.admits(worker.now(), digest).unwrap_or_else(|e| panic!("{what}: {e}")),
            // The failed sync lost pages that had left the cache.
            Err(error) => assert!(matches!(error, Error::Corrupt { .. }), "{what}: {error}"),
        }
    }
    worker.store = None;
    check_crashes(&worker, &disk, seed ^ number, &what);
    true
}

/// Lets every sync of a few workloads fail; returns how many.
pub fn fail_every_sync() -> u64 {
    (1..7).map(|seed| (1..).take_while(|&number| fail_sync(seed, number)).count() as u64).sum()
}

#[test]
fn a_failed_sync_makes_the_database_read_only_and_loses_nothing_acknowledged() {
    let failures = fail_every_sync();
    println!("{failures} failed syncs");
    assert!(failures > 100);
}

/// Runs on through failures; returns how many steps failed. Stops where the database became read-only.
fn run_through_failures(worker: &mut Worker<'_>, disk: &SimDisk, faults: impl Fn(&SimDisk, &mut Rng)) -> Vec<Error> {
    let mut rng = Rng(worker.rng.0 ^ 0xFA17);
    let mut errors = Vec::new();
    for _ in 0..worker.shape.steps {
        faults(disk, &mut rng);
        let result = worker.step();
        disk.clear_faults();
        if let Err(error) = result {
            let stop = is_read_only(&error);
            errors.push(error);
            if stop {
                break;
            }
        }
        if worker.store.is_none() {
            // Closing or opening failed.
            worker.store = Some(machine::open(disk, &worker.options, rng.next()).expect("the disk is whole again"));
        }
        let store = worker.store();
        match store.begin().and_then(|transaction| transaction.create_tree()) {
            Ok(_) => {
                let expected = digest_model(&worker.model);
                assert_eq!(digest_store(store).expect("reads"), expected, "after {:?}", errors.last());
            }
            Err(error) => {
                errors.push(error);
                break;
            }
        }
    }
    errors
}

fn finish(worker: &mut Worker<'_>, errors: &[Error]) -> Result<()> {
    if errors.last().is_some_and(is_read_only) {
        return Ok(());
    }
    let store = worker.store.take().expect("open");
    let found = store.verify()?;
    assert_eq!(found.leaked_pages, 0, "{found:?}");
    assert_eq!(digest_store(&store)?, digest_model(&worker.model));
    store.close()
}

#[test]
fn a_full_disk_fails_transactions_and_nothing_else() {
    let mut failed = 0;
    for seed in 100..160 {
        let what = format!("workload {seed}");
        let disk = SimDisk::new(seed);
        let mut worker = Worker::new(&disk, seed, Shape { steps: 60, appends: false, ..Shape::of(seed) });
        let errors = run_through_failures(&mut worker, &disk, |disk, rng| {
            if rng.one_in(2) {
                let used: usize = disk.paths().iter().filter_map(|path| disk.snapshot(path)).map(|f| f.len()).sum();
                disk.set_capacity(Some((used + rng.below(4) * 4096) as u64));
            }
        });
        for error in &errors {
            assert_eq!(error.sqlstate(), "53100", "{what}: {error}");
        }
        failed += errors.len();
        finish(&mut worker, &errors).unwrap_or_else(|error| panic!("{what}: {error}"));
        check_crashes(&worker, &disk, seed, &what);
    }
    println!("{failed} steps failed for want of space");
    assert!(failed > 50);
}

#[test]
fn reads_and_writes_that_fail_at_random_lose_nothing_acknowledged() {
    let mut failed = 0;
    for seed in 200..260 {
        let what = format!("workload {seed}");
        let disk = SimDisk::new(seed);
        let mut worker = Worker::new(&disk, seed, Shape { steps: 60, appends: false, ..Shape::of(seed) });
        let errors = run_through_failures(&mut worker, &disk, |disk, rng| {
            let (reads, writes) = [(50_000, 0), (0, 20_000), (20_000, 5_000)][rng.below(3)];
            disk.fail_randomly(reads, writes);
        });
        for error in &errors {
            let expected = is_read_only(error) || matches!(error, Error::Io { .. } | Error::CannotOpen { .. });
            assert!(expected, "{what}: {error}");
        }
        failed += errors.len();
        finish(&mut worker, &errors).unwrap_or_else(|error| panic!("{what}: {error}"));
        worker.store = None;
        check_crashes(&worker, &disk, seed, &what);
    }
    println!("{failed} steps failed");
    assert!(failed > 50);
}
