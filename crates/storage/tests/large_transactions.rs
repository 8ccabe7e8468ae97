//! Transactions that change much more than the cache holds: the file grows by what they leave behind, not by every
//! generation of their private pages.

use std::ops::Bound;

use cairn_storage::{Environment, Options, Store, Transaction, TreeId};

const TREE: TreeId = TreeId::CATALOG;
const FRAMES: u64 = 128;
const ROWS: u64 = 4000;

fn store() -> Store {
    let mut options = Options::default();
    options.page_size = 512;
    options.cache_bytes = FRAMES as usize * 512;
    options.max_pages = 1 << 18;
    // Only the transaction itself makes the file grow.
    options.checkpoint_log_bytes = 1 << 40;
    let store = Store::open_with("large", options, Environment::in_memory()).unwrap();
    let transaction = store.begin().unwrap();
    write_all(&transaction, 0);
    transaction.commit(None).unwrap();
    store
}

/// Random order, so that each write changes another page than the last.
fn key(i: u64) -> [u8; 8] {
    (i % ROWS).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes()
}

fn value(i: u64, generation: u8) -> [u8; 60] {
    [i as u8 ^ generation; 60]
}

fn write_all(transaction: &Transaction, generation: u8) {
    for i in 0..ROWS {
        transaction.put(TREE, &key(i), &value(i, generation)).unwrap();
    }
}

fn assert_rows(store: &Store, generation: u8) {
    let snapshot = store.snapshot().unwrap();
    for i in 0..ROWS {
        assert_eq!(snapshot.reader().get(TREE, &key(i)).unwrap().unwrap(), value(i, generation));
    }
    let verified = store.verify().unwrap();
    assert_eq!((verified.entries, verified.leaked_pages), (ROWS, 0));
}

/// Pages that one generation of the rows takes, with some slack for the cache.
fn generation_pages(store: &Store) -> u64 {
    let stats = store.stats();
    stats.pages_total - stats.pages_free + 2 * FRAMES
}

#[test]
fn replaced_private_pages_are_free_at_once() {
    let store = store();
    let (one, before) = (generation_pages(&store), store.stats().pages_total);
    let transaction = store.begin().unwrap();
    (1..=8).for_each(|generation| write_all(&transaction, generation));
    let grown = store.stats().pages_total - before;
    assert!(grown <= one, "the file grew by {grown} pages for {one}");
    transaction.commit(None).unwrap();
    assert_rows(&store, 8);
}

#[test]
fn deleting_everything_makes_the_file_grow_by_less_than_a_generation() {
    let store = store();
    let (one, before) = (generation_pages(&store), store.stats().pages_total);
    let transaction = store.begin().unwrap();
    (0..ROWS).for_each(|i| assert!(transaction.delete(TREE, &key(i)).unwrap()));
    let grown = store.stats().pages_total - before;
    assert!(grown <= one, "the file grew by {grown} pages for {one}");
    transaction.commit(None).unwrap();
    assert_eq!(store.verify().unwrap().entries, 0);
}

#[test]
fn what_a_savepoint_sees_is_kept_and_nothing_else() {
    let store = store();
    let (one, before) = (generation_pages(&store), store.stats().pages_total);
    let transaction = store.begin().unwrap();
    write_all(&transaction, 1);
    let savepoint = transaction.savepoint().unwrap();
    (2..=6).for_each(|generation| write_all(&transaction, generation));
    let grown = store.stats().pages_total - before;
    assert!(grown <= 2 * one, "the file grew by {grown} pages for two times {one}");
    for _ in 0..4 {
        transaction.rollback_to(&savepoint).unwrap();
        write_all(&transaction, 7);
    }
    transaction.rollback_to(&savepoint).unwrap();
    let grown = store.stats().pages_total - before;
    assert!(grown <= 2 * one, "after rolling back, the file had grown by {grown} pages for two times {one}");
    transaction.commit(None).unwrap();
    assert_rows(&store, 1);
}

#[test]
fn released_savepoints_let_go_of_what_they_saw() {
    let store = store();
    let (one, before) = (generation_pages(&store), store.stats().pages_total);
    let transaction = store.begin().unwrap();
    let outer = transaction.savepoint().unwrap();
    for generation in 1..=8 {
        for i in 0..ROWS {
            let savepoint = (i % 50 == 0).then(|| transaction.savepoint().unwrap());
            transaction.put(TREE, &key(i), &value(i, generation)).unwrap();
            drop(savepoint);
        }
    }
    let grown = store.stats().pages_total - before;
    assert!(grown <= 2 * one, "the file grew by {grown} pages for two times {one}");
    let last = transaction.savepoint().unwrap();
    write_all(&transaction, 9);
    transaction.rollback_to(&last).unwrap();
    drop(outer);
    transaction.commit(None).unwrap();
    assert_rows(&store, 8);
}

#[test]
fn a_cursor_still_sees_what_it_saw_when_it_was_opened() {
    let store = store();
    let transaction = store.begin().unwrap();
    write_all(&transaction, 1);
    let mut cursor = transaction.reader().cursor(TREE, Bound::Unbounded, Bound::Unbounded).unwrap();
    let savepoint = transaction.savepoint().unwrap();
    let mut seen = 0;
    for i in 0..ROWS {
        transaction.put(TREE, &key(i), &value(i, 2)).unwrap();
        if i == ROWS / 2 {
            transaction.rollback_to(&savepoint).unwrap();
        }
        let (found, bytes) = cursor.next().unwrap().unwrap();
        let number = u64::from_be_bytes(found.try_into().unwrap());
        let row = (0..ROWS).find(|&row| key(row) == number.to_be_bytes()).unwrap();
        assert_eq!(bytes, value(row, 1));
        seen += 1;
    }
    assert_eq!((seen, cursor.next().unwrap()), (ROWS, None));
    drop(cursor);
    write_all(&transaction, 3);
    transaction.commit(None).unwrap();
    assert_rows(&store, 3);
}

#[test]
fn a_long_value_that_is_replaced_within_its_transaction_is_free_at_once() {
    let store = store();
    let before = store.stats().pages_total;
    let transaction = store.begin().unwrap();
    for generation in 0..30u8 {
        transaction.put(TREE, b"long", &vec![generation; 100_000]).unwrap();
    }
    let grown = store.stats().pages_total - before;
    assert!(grown < 3 * 100_000 / 400, "the file grew by {grown} pages");
    transaction.commit(None).unwrap();
    assert_eq!(store.snapshot().unwrap().reader().get(TREE, b"long").unwrap().unwrap(), vec![29; 100_000]);
    assert_eq!(store.verify().unwrap().leaked_pages, 0);
}

/// The same rows again from the log: a recovery must not need more either.
#[test]
fn recovering_a_large_transaction_makes_the_file_grow_no_more_than_the_transaction_did() {
    let env = Environment::in_memory();
    let mut options = Options::default();
    options.page_size = 512;
    options.cache_bytes = FRAMES as usize * 512;
    options.max_pages = 1 << 18;
    options.checkpoint_log_bytes = 1 << 40;
    let store = Store::open_with("recovered", options.clone(), env.clone()).unwrap();
    let transaction = store.begin().unwrap();
    (1..=8).for_each(|generation| write_all(&transaction, generation));
    transaction.commit(None).unwrap();
    let total = store.stats().pages_total;
    // Not closed: as if the process had died. The lock dies with the environment's own process, not before.
    let copy = copy_of(&env);
    drop(store);
    let store = Store::open_with("recovered", options, copy).unwrap();
    let recovered = store.stats().pages_total;
    assert!(recovered <= total + 2 * FRAMES, "{recovered} pages after recovery, {total} before");
    assert_rows(&store, 8);
}

/// The files as they are now, in an environment of their own.
fn copy_of(env: &Environment) -> Environment {
    use cairn_storage::io::{Create, OpenHow};
    let copy = Environment::in_memory();
    for name in ["recovered", "recovered-log"] {
        let path = std::path::Path::new(name);
        let from = env.files.open(path, OpenHow::default()).unwrap();
        let mut bytes = vec![0; from.len().unwrap() as usize];
        from.read_at(&mut bytes, 0).unwrap();
        let how = OpenHow { create: Create::New, ..OpenHow::default() };
        copy.files.open(path, how).unwrap().write_at(&bytes, 0).unwrap();
    }
    copy
}

/// Its parts in the log were forgotten by their owner, which waited for the commit lock that it held.
#[test]
fn a_transaction_that_was_large_and_rolled_back_to_when_it_was_small_commits() {
    let store = store();
    let transaction = store.begin().unwrap();
    transaction.put(TREE, b"small", b"value").unwrap();
    let savepoint = transaction.savepoint().unwrap();
    (0..8).for_each(|generation| write_all(&transaction, generation));
    transaction.rollback_to(&savepoint).unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || tell.send(transaction.commit(None)));
    let committed = told.recv_timeout(std::time::Duration::from_secs(30));
    assert!(matches!(committed, Ok(Ok(()))), "{committed:?}");
    assert_eq!(store.snapshot().unwrap().reader().get(TREE, b"small").unwrap().unwrap(), b"value");
    assert_eq!(store.verify().unwrap().leaked_pages, 0);
}
