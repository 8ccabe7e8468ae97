//! Transactions whose operations go to the log while they run.

use std::collections::BTreeMap;
use std::ops::Bound;

use cairn_storage::io::{CrashStrategy, SimDisk};
use cairn_storage::{Durability, Error, Options, Store, Transaction, TreeId};

use super::machine;

const TREE: TreeId = TreeId::CATALOG;

fn options() -> Options {
    let mut options = machine::options(512);
    options.log_limit_bytes = 512 << 10;
    options
}

fn open(disk: &SimDisk) -> Store {
    machine::open(disk, &options(), 1).unwrap()
}

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// Some 130 bytes of operations each.
fn change(transaction: &Transaction, model: &mut Model, keys: std::ops::Range<u32>, mark: u8) {
    for i in keys {
        let (key, value) = (i.to_be_bytes().to_vec(), vec![mark; 120]);
        transaction.put(TREE, &key, &value).unwrap();
        model.insert(key, value);
    }
}

fn content(store: &Store) -> Model {
    let snapshot = store.snapshot().unwrap();
    let mut cursor = snapshot.reader().cursor(TREE, Bound::Unbounded, Bound::Unbounded).unwrap();
    let mut model = Model::new();
    while let Some((key, value)) = cursor.next().unwrap() {
        model.insert(key.to_vec(), value.to_vec());
    }
    model
}

/// What is there now, and what is there after a kill.
fn assert_content(disk: &SimDisk, store: &Store, model: &Model) {
    assert!(content(store) == *model, "in the running database");
    let killed = SimDisk::from_image(&disk.crash(CrashStrategy::KeepNone), 2);
    let store = open(&killed);
    assert!(content(&store) == *model, "after a kill");
    assert_eq!(store.verify().unwrap().leaked_pages, 0);
}

#[test]
fn operations_go_to_the_log_while_the_transaction_runs_and_count_only_once_it_commits() {
    let disk = SimDisk::new(1);
    let store = open(&disk);
    let transaction = store.begin().unwrap();
    change(&transaction, &mut Model::new(), 0..1000, 1);
    assert!(store.stats().log_bytes_written > 100_000, "{:?}", store.stats());
    assert_content(&disk, &store, &Model::new());
}

#[test]
fn a_large_transaction_survives_a_kill() {
    let disk = SimDisk::new(1);
    let (store, mut model) = (open(&disk), Model::new());
    let transaction = store.begin().unwrap();
    change(&transaction, &mut model, 0..1000, 1);
    transaction.put(TREE, b"long", &[9; 20_000]).unwrap();
    model.insert(b"long".to_vec(), vec![9; 20_000]);
    change(&transaction, &mut model, 500..1500, 2);
    transaction.commit(None).unwrap();
    assert_content(&disk, &store, &model);
}

#[test]
fn a_rolled_back_savepoint_undoes_what_is_in_the_log_already() {
    let disk = SimDisk::new(1);
    let (store, mut model) = (open(&disk), Model::new());
    let transaction = store.begin().unwrap();
    change(&transaction, &mut model, 0..3, 1);
    let first = transaction.savepoint().unwrap();
    for round in 0..3 {
        change(&transaction, &mut Model::new(), round * 100..round * 100 + 300, 2);
        transaction.rollback_to(&first).unwrap();
    }
    change(&transaction, &mut model, 2..200, 3);
    let second = transaction.savepoint().unwrap();
    change(&transaction, &mut Model::new(), 100..400, 4);
    transaction.rollback_to(&second).unwrap();
    change(&transaction, &mut model, 150..151, 5);
    transaction.commit(None).unwrap();
    assert_content(&disk, &store, &model);
}

#[test]
fn what_is_undone_entirely_commits_nothing() {
    let disk = SimDisk::new(1);
    let store = open(&disk);
    let transaction = store.begin().unwrap();
    let savepoint = transaction.savepoint().unwrap();
    change(&transaction, &mut Model::new(), 0..500, 2);
    transaction.rollback_to(&savepoint).unwrap();
    assert!(!transaction.has_changes());
    transaction.commit(None).unwrap();
    assert_content(&disk, &store, &Model::new());
}

#[test]
fn operations_are_read_back_to_apply_them_to_what_others_committed() {
    let disk = SimDisk::new(1);
    let (store, mut model) = (open(&disk), Model::new());
    let transaction = store.begin().unwrap();
    change(&transaction, &mut model, 0..1, 1);
    let savepoint = transaction.savepoint().unwrap();
    change(&transaction, &mut Model::new(), 1..400, 6);
    transaction.rollback_to(&savepoint).unwrap();
    change(&transaction, &mut model, 200..900, 2);
    for i in [1u32, 300, 2000] {
        let other = store.begin().unwrap();
        // Blind: the later commit wins.
        other.put(TREE, &i.to_be_bytes(), b"another's").unwrap();
        other.commit(None).unwrap();
        model.entry(i.to_be_bytes().to_vec()).or_insert(b"another's".to_vec());
    }
    transaction.commit(None).unwrap();
    assert_eq!(store.stats().rebases + store.stats().conflicts, 0, "it was brought up to date before the lock");
    assert_content(&disk, &store, &model);
}

#[test]
fn a_conflict_leaves_nothing_of_a_large_transaction_and_its_log_is_used_again() {
    let disk = SimDisk::new(1);
    let (store, mut model) = (open(&disk), Model::new());
    for round in 0..10 {
        let transaction = store.begin().unwrap();
        assert!(transaction.reader().get(TREE, b"counter").unwrap().is_none_or(|value| value == [round - 1; 10]));
        change(&transaction, &mut Model::new(), 0..1000, 1);
        let other = store.begin().unwrap();
        other.put(TREE, b"counter", &[round; 10]).unwrap();
        other.commit(None).unwrap();
        assert!(matches!(transaction.commit(None), Err(Error::Conflict)));
        model.insert(b"counter".to_vec(), vec![round; 10]);
    }
    assert_content(&disk, &store, &model);
}

#[test]
fn a_transaction_that_keeps_the_log_from_being_reused_is_ended_and_nobody_else_fails() {
    for durability in [Durability::Full, Durability::Off] {
        let disk = SimDisk::new(1);
        let (store, mut model) = (open(&disk), Model::new());
        let stuck = store.begin().unwrap();
        change(&stuck, &mut Model::new(), 0..100, 1);
        for i in 0..6000u32 {
            let other = store.begin().unwrap();
            change(&other, &mut model, i % 50..i % 50 + 1, i as u8);
            other.commit(Some(durability)).unwrap_or_else(|error| panic!("commit {i}: {error}"));
        }
        assert!(matches!(stuck.commit(None), Err(Error::OutlivedLog)));
        store.checkpoint().unwrap();
        assert_content(&disk, &store, &model);
    }
}

#[test]
fn a_transaction_that_is_larger_than_the_log_is_ended_and_the_log_is_free_again() {
    let disk = SimDisk::new(1);
    let (store, mut model) = (open(&disk), Model::new());
    let transaction = store.begin().unwrap();
    let failed = (0..100_000u32).find_map(|i| transaction.put(TREE, &(i % 700).to_be_bytes(), &[3; 120]).err());
    assert!(matches!(failed, Some(Error::OutlivedLog | Error::LogTooSmall { .. })), "{failed:?}");
    drop(transaction);
    for round in 0..8 {
        let next = store.begin().unwrap();
        change(&next, &mut model, 0..1000, round);
        next.commit(None).unwrap();
    }
    assert_content(&disk, &store, &model);
}
