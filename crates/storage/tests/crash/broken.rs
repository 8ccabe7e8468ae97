//! The engine without one of the things that keep data safe: the tests must notice.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Instant;

use cairn_storage::broken::{self, Broken};
use cairn_storage::io::{CrashStrategy, SimDisk};
use cairn_storage::{Durability, Error};

use super::damage::{at_rest, killed, killed_after_reopening, options, put, read};
use super::explore::{Depth, explore};
use super::faults::fail_every_sync;
use super::machine::{self, DATABASE, LOG};
use super::workload::{Shape, digest_store, run};

/// Runs a check with the engine broken; it must fail, by a panic or with `Err`.
fn must_be_caught(what: Broken, check: impl FnOnce() -> Result<(), String>) {
    let began = Instant::now();
    broken::choose(Some(what));
    let result = catch_unwind(AssertUnwindSafe(check));
    broken::choose(None);
    assert!(!matches!(result, Ok(Ok(()))), "{what:?} was not noticed");
    println!("{what:?} was noticed after {:?}", began.elapsed());
}

/// The crash tests, on this thread.
fn crash_tests() -> Result<(), String> {
    (1..20).try_for_each(|seed| explore(&run(seed, Shape::of(seed)), Depth { random: 2, nested: 100 }))
}

/// Fails if a flipped bit gives another answer than `right` or an error. `from_end`: the last bits are flipped first, for what is damaged
/// in the lists at a file's beginning is noticed by assertions, and not by answers.
fn flips(image: &cairn_storage::io::DiskImage, path: &str, right: &[u64], from_end: bool) -> Result<(), String> {
    let bits = image.bytes(Path::new(path)).expect("the file is there").len() as u64 * 8;
    (0..bits).map(|bit| if from_end { bits - 1 - bit } else { bit }).try_for_each(|bit| {
        let mut damaged = image.clone();
        damaged.flip_bit(Path::new(path), bit);
        match read(&damaged, path) {
            Ok(found) if !right.contains(&found) => Err(format!("bit {bit}: a wrong answer")),
            _ => Ok(()),
        }
    })
}

#[test]
fn pages_that_are_not_checked_are_noticed() {
    let (image, digest) = at_rest();
    must_be_caught(Broken::Checksums, || flips(&image, DATABASE, &[digest], true));
}

#[test]
fn a_forgotten_durable_position_is_noticed() {
    let killed = killed(false);
    must_be_caught(Broken::DurablePosition, || flips(&killed.image, LOG, &[killed.last, killed.before], false));
}

#[test]
fn an_older_meta_page_is_noticed() {
    let (image, digest) = killed_after_reopening();
    must_be_caught(Broken::OlderMeta, || flips(&image, DATABASE, &[digest], false));
}

#[test]
fn pages_used_again_too_early_are_noticed() {
    must_be_caught(Broken::ReuseTooEarly, crash_tests);
}

#[test]
fn commits_applied_again_are_noticed() {
    must_be_caught(Broken::ReplayTooMuch, crash_tests);
}

#[test]
fn appends_under_other_keys_after_a_crash_are_noticed() {
    must_be_caught(Broken::AppendsMisplaced, crash_tests);
}

#[test]
fn an_opening_with_the_number_of_the_one_before_is_noticed() {
    must_be_caught(Broken::OpeningKept, crash_tests);
}

#[test]
fn positions_compared_as_bare_numbers_are_noticed() {
    must_be_caught(Broken::PositionsBare, crash_tests);
}

#[test]
fn ignored_sync_errors_are_noticed() {
    must_be_caught(Broken::SyncErrors, || {
        fail_every_sync();
        Ok(())
    });
}

/// What a reader saw must survive every crash that follows. The disk's seed decides how much of what it was to make
/// durable a failed sync leaves.
fn reads_are_durable() -> Result<(), String> {
    (1..=10).try_for_each(reads_on_disk_are_durable)
}

fn reads_on_disk_are_durable(seed: u64) -> Result<(), String> {
    let disk = SimDisk::new(seed);
    let store = machine::open(&disk, &options(), 1).map_err(|error| error.to_string())?;
    put(&store, 1, Durability::Full);
    disk.fail_sync(1);
    let transaction = store.begin().and_then(|transaction| {
        transaction.put(cairn_storage::TreeId::CATALOG, b"unknown", b"?").map(|()| transaction)
    });
    let outcome = transaction.and_then(|transaction| transaction.commit(None));
    assert!(matches!(outcome, Err(Error::OutcomeUnknown { .. })));
    let seen = digest_store(&store).map_err(|error| error.to_string())?;
    for strategy in CrashStrategy::family(1, 20) {
        let found = read(&disk.crash(strategy), "after the failed sync").map_err(|error| error.to_string())?;
        // A later state than the one seen may be there, an earlier one not; there is only one later one.
        let before = first_state();
        if found == before && seen != before {
            return Err("a reader saw what a crash took back".to_owned());
        }
    }
    Ok(())
}

/// The digest after the first commit alone.
fn first_state() -> u64 {
    let disk = SimDisk::new(1);
    let store = machine::open(&disk, &options(), 1).expect("a new database opens");
    put(&store, 1, Durability::Full);
    digest_store(&store).expect("reads")
}

#[test]
fn readers_never_see_what_a_crash_may_take_back() {
    reads_are_durable().unwrap();
    must_be_caught(Broken::PublishBeforeSync, reads_are_durable);
}
