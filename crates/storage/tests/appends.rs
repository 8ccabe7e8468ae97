//! Entries whose keys their commits give: the same whichever way a commit goes, in order, told once they are durable.

use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cairn_storage::broken::{self, Broken};
use cairn_storage::io::{CrashStrategy, MemFs, SimDisk};
use cairn_storage::{
    Acknowledge, AppendKey, Durability, Environment, Error, Losses, Options, QuietHost, RealHost, Store, TreeId,
    WriteError,
};

type Entry = (u64, u32, Vec<u8>);

fn entries(store: &Store, tree: TreeId) -> Vec<Entry> {
    let snapshot = store.snapshot().unwrap();
    let mut cursor = snapshot.reader().cursor(tree, Bound::Unbounded, Bound::Unbounded).unwrap();
    let mut entries = Vec::new();
    while let Some((key, value)) = cursor.next().unwrap() {
        let (position, ordinal) = AppendKey::read(key).unwrap();
        entries.push((position, ordinal, value.to_vec()));
    }
    entries
}

fn with_trees(store: &Store) -> (TreeId, TreeId) {
    let tx = store.begin().unwrap();
    let trees = (tx.create_tree().unwrap(), tx.create_tree().unwrap());
    // What a database's first append asks of it, a point write leaves to a transaction.
    tx.append(trees.0, b"first").unwrap();
    tx.commit(None).unwrap();
    trees
}

fn commit(tx: cairn_storage::Transaction, mode: Durability) -> u64 {
    tx.commit_or_note(Some(mode), &mut Losses::default(), &|| false).unwrap().unwrap()
}

const MODES: [Durability; 4] = [Durability::Full, Durability::Group, Durability::Interval, Durability::Off];

/// Commits in every way there is; returns what the feed must have.
fn all_ways(store: &Store, feed: TreeId, rows: TreeId) -> Vec<Entry> {
    let mut expected = entries(store, feed);
    for (round, mode) in MODES.into_iter().enumerate() {
        // Short, with nothing but what it appends, and with more.
        for more in [0, 3] {
            let tx = store.begin().unwrap();
            tx.append(feed, b"short").unwrap();
            (0..more).for_each(|key: u8| tx.put(rows, &[key], &[round as u8; 9]).unwrap());
            tx.append(feed, b"again").unwrap();
            let position = commit(tx, mode);
            expected.push((position, 0, b"short".to_vec()));
            expected.push((position, 1, b"again".to_vec()));
        }
        // A long value.
        let tx = store.begin().unwrap();
        tx.append(feed, &vec![7; 20_000]).unwrap();
        expected.push((commit(tx, mode), 0, vec![7; 20_000]));
        // Private trees, among them the feed's own, which others overtake.
        for overtaken in [false, true] {
            let tx = store.begin().unwrap();
            (0..100u32).for_each(|key| tx.put(rows, &key.to_be_bytes(), &[1; 50]).unwrap());
            tx.put(feed, &[0xFF; 12], b"").unwrap();
            tx.delete(feed, &[0xFF; 12]).unwrap();
            tx.append(feed, b"private").unwrap();
            if overtaken {
                let other = store.begin().unwrap();
                other.append(feed, b"other").unwrap();
                expected.push((commit(other, mode), 0, b"other".to_vec()));
            }
            expected.push((commit(tx, mode), 0, b"private".to_vec()));
        }
        // In parts, with a savepoint between them.
        let tx = store.begin().unwrap();
        tx.append(feed, b"first part").unwrap();
        let savepoint = tx.savepoint().unwrap();
        tx.append(feed, b"taken back").unwrap();
        (0..3000u32).for_each(|key| tx.put(rows, &key.to_be_bytes(), &[2; 200]).unwrap());
        tx.rollback_to(&savepoint).unwrap();
        (0..15_000u32).for_each(|key| tx.put(rows, &key.to_be_bytes(), &[3; 200]).unwrap());
        tx.append(feed, b"last part").unwrap();
        let position = commit(tx, mode);
        expected.push((position, 0, b"first part".to_vec()));
        expected.push((position, 2, b"last part".to_vec()));
        // A point write, and one that fails.
        let mut session = store.session().unwrap();
        let ((), ticket) = session
            .write::<_, ()>(Acknowledge::Now(Some(mode)), |writer| {
                writer.append(feed, b"point")?;
                writer.put(rows, b"point", b"")?;
                writer.append(feed, &[8; 9_000])?;
                Ok(writer.append(feed, b"point too")?)
            })
            .unwrap();
        expected.push((ticket.position(), 0, b"point".to_vec()));
        // A value of several pages among them.
        expected.push((ticket.position(), 1, vec![8; 9_000]));
        expected.push((ticket.position(), 2, b"point too".to_vec()));
        let failed = session.write(Acknowledge::Now(Some(mode)), |writer| {
            writer.append(feed, b"never")?;
            Err::<(), _>(WriteError::Caller(()))
        });
        assert!(matches!(failed, Err(WriteError::Caller(()))));
        // Pipelined.
        let tx = store.begin().unwrap();
        tx.append(feed, b"later").unwrap();
        let ticket = tx.commit_async().unwrap();
        expected.push((ticket.position(), 0, b"later".to_vec()));
        ticket.wait().unwrap();
    }
    expected
}

#[test]
fn keys_are_the_same_before_and_after_a_crash_and_a_salvage() {
    let disk = SimDisk::new(3);
    let env = |disk: &SimDisk| Environment { files: Arc::new(disk.clone()), host: Arc::new(QuietHost::default()) };
    let store = Store::open_with("db", Options::default(), env(&disk)).unwrap();
    let (feed, rows) = with_trees(&store);
    let expected = all_ways(&store, feed, rows);
    assert!(expected.is_sorted_by_key(|(position, ordinal, _)| (*position, *ordinal)));
    assert_eq!(entries(&store, feed), expected);
    store.verify().unwrap();
    let image = disk.crash(CrashStrategy::KeepNone);
    drop(store);
    for checkpoint in [false, true] {
        let disk = SimDisk::from_image(&image, 4);
        let store = Store::open_with("db", Options::default(), env(&disk)).unwrap();
        assert_eq!(entries(&store, feed), expected);
        if checkpoint {
            store.checkpoint().unwrap();
            assert_eq!(entries(&store, feed), expected);
        }
        // Positions go on behind all there were.
        let tx = store.begin().unwrap();
        tx.append(feed, b"next life").unwrap();
        let position = commit(tx, Durability::Full);
        assert!(expected.last().unwrap().0 < position);
        assert_eq!(entries(&store, feed).last(), Some(&(position, 0, b"next life".to_vec())));
    }
    let disk = SimDisk::from_image(&image, 5);
    let target = Path::new("saved");
    let salvaged =
        cairn_storage::salvage_with(Path::new("db"), target, Options::default(), env(&disk), &mut |_, _| ()).unwrap();
    assert!(salvaged.losses.is_empty() && salvaged.uncertain.is_none());
    let saved = Store::open_with(target, Options::default(), env(&disk)).unwrap();
    assert_eq!(entries(&saved, feed), expected);
}

/// Nothing is read to append, and nothing that others read is changed before.
#[test]
fn transactions_that_append_do_not_conflict() {
    let store = Store::open_in_memory(Options::default()).unwrap();
    let (feed, rows) = with_trees(&store);
    let threads: Vec<_> = (0..4u8)
        .map(|thread| {
            let store = store.clone();
            std::thread::spawn(move || {
                let mut positions = Vec::new();
                for round in 0..200u8 {
                    let tx = store.begin().unwrap();
                    (0..if round % 9 == 0 { 60 } else { 2 })
                        .for_each(|key: u8| tx.put(rows, &[thread, key], &[round]).unwrap());
                    tx.append(feed, &[thread, round]).unwrap();
                    positions.push(commit(tx, MODES[round as usize % 2]));
                }
                assert!(positions.is_sorted());
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(store.stats().conflicts, 0);
    let told = entries(&store, feed);
    assert_eq!(told.len(), 801);
    for thread in 0..4u8 {
        let of: Vec<u8> = told.iter().filter(|entry| entry.2[0] == thread).map(|entry| entry.2[1]).collect();
        assert_eq!(of, (0..200).collect::<Vec<u8>>());
    }
}

#[test]
fn a_tree_that_is_dropped_beside_is_a_conflict_and_leaves_nothing() {
    let store = Store::open_in_memory(Options::default()).unwrap();
    let (feed, rows) = with_trees(&store);
    for more in [1u32, 100] {
        let (feed, tx) = (if more == 1 { feed } else { with_trees(&store).0 }, store.begin().unwrap());
        (0..more).for_each(|key| tx.put(rows, &key.to_be_bytes(), b"no").unwrap());
        tx.append(feed, b"no").unwrap();
        let other = store.begin().unwrap();
        other.drop_tree(feed).unwrap();
        other.commit(None).unwrap();
        assert!(matches!(tx.commit(None), Err(Error::Conflict)));
        assert_eq!(entries_of_any_key(&store, rows), 0);
        let tx = store.begin().unwrap();
        assert!(matches!(tx.append(feed, b""), Err(Error::NoSuchTree(_))));
    }
    store.verify().unwrap();
}

/// More than the commit itself puts, in one transaction: told in the same order, taken back with a savepoint, forgotten with
/// the tree that has them.
#[test]
fn what_is_appended_by_the_thousand_is_told_in_order_and_forgotten() {
    let disk = SimDisk::new(3);
    let env = |disk: &SimDisk| Environment { files: Arc::new(disk.clone()), host: Arc::new(QuietHost::default()) };
    let store = Store::open_with("db", Options::default(), env(&disk)).unwrap();
    let (feed, other) = with_trees(&store);
    let trees = store.snapshot().unwrap().trees().len();
    let append = |tx: &cairn_storage::Transaction, from: u32, to: u32| {
        (from..to).for_each(|number| tx.append(feed, &[&number.to_be_bytes()[..], &[0; 40]].concat()).unwrap());
    };
    let told_after = |store: &Store, after: (u64, u32)| {
        let reader = store.snapshot().unwrap();
        let mut appended = reader.reader().appended(feed, after).unwrap();
        let mut told = Vec::new();
        while let Some((position, _, value)) = appended.next().unwrap() {
            told.push((position, u32::from_be_bytes(value[..4].try_into().unwrap())));
        }
        told
    };
    let told = |store: &Store, position| told_after(store, (position, u32::MAX));
    let before = store.snapshot().unwrap().position();
    // The savepoint lies before, then behind, where a tree is made.
    let mut expected = Vec::new();
    for kept in [10, 1000] {
        let tx = store.begin().unwrap();
        append(&tx, 0, kept);
        let savepoint = tx.savepoint().unwrap();
        append(&tx, 1_000_000, 1_002_000);
        tx.append(other, b"in between").unwrap();
        tx.rollback_to(&savepoint).unwrap();
        append(&tx, kept, 3000);
        let position = commit(tx, Durability::Full);
        expected.extend((0..3000).map(|number| (position, number)));
        let tx = store.begin().unwrap();
        append(&tx, 7, 8);
        expected.push((commit(tx, Durability::Full), 7));
    }
    assert_eq!(told(&store, before), expected);
    let image = disk.crash(CrashStrategy::KeepNone);
    drop(store);
    let disk = SimDisk::from_image(&image, 4);
    let store = Store::open_with("db", Options::default(), env(&disk)).unwrap();
    assert_eq!(told(&store, before), expected);
    // From within a commit, before and behind where the tree begins.
    for at in [0, 5, 700, 2000, 2998] {
        let mut all = store.snapshot().unwrap().reader().appended(feed, (before, u32::MAX)).unwrap();
        let after = (0..=at).map(|_| all.next().unwrap().map(|(position, ordinal, _)| (position, ordinal)).unwrap());
        assert_eq!(told_after(&store, after.last().unwrap()), expected[at + 1..]);
    }
    let position = expected[3000].0;
    assert_eq!(told(&store, position), expected[3001..]);
    store.verify().unwrap();
    let forget = |position: u64, most| {
        let tx = store.begin().unwrap();
        let forgotten = tx.forget_appended(feed, position, most).unwrap();
        tx.commit(None).unwrap();
        forgotten
    };
    assert_eq!(store.snapshot().unwrap().trees().len(), trees + 2);
    while forget(position, 100).is_some() {}
    assert_eq!(told(&store, 0), expected[3000..]);
    assert_eq!(store.snapshot().unwrap().trees().len(), trees + 1);
    let tx = store.begin().unwrap();
    tx.drop_appended(feed).unwrap();
    tx.commit(None).unwrap();
    assert_eq!(store.snapshot().unwrap().trees().len(), trees - 1);
    assert_eq!(store.verify().unwrap().leaked_pages, 0);
}

fn entries_of_any_key(store: &Store, tree: TreeId) -> usize {
    let snapshot = store.snapshot().unwrap();
    let mut cursor = snapshot.reader().cursor(tree, Bound::Unbounded, Bound::Unbounded).unwrap();
    std::iter::from_fn(|| cursor.next().unwrap().map(drop)).count()
}

/// A tree that is made, or dropped, by the transaction that appends to it.
#[test]
fn a_transactions_own_trees_can_be_appended_to() {
    let env = Environment { files: Arc::new(MemFs::new()), host: Arc::new(RealHost::default()) };
    let store = Store::open_with("own", Options::default(), env.clone()).unwrap();
    let (gone, _) = with_trees(&store);
    let tx = store.begin().unwrap();
    let made = tx.create_tree().unwrap();
    tx.append(made, b"into what is new").unwrap();
    tx.append(gone, b"into what goes").unwrap();
    tx.drop_tree(gone).unwrap();
    let position = commit(tx, Durability::Full);
    assert_eq!(entries(&store, made), [(position, 0, b"into what is new".to_vec())]);
    store.close().unwrap();
    let store = Store::open_with("own", Options::default(), env).unwrap();
    assert_eq!(entries(&store, made), [(position, 0, b"into what is new".to_vec())]);
    assert!(!store.snapshot().unwrap().trees().contains(&gone));
}

fn what_is_taken_is_complete() {
    let store = Store::open_in_memory(Options::default()).unwrap();
    let (feed, _) = with_trees(&store);
    let mut listener = store.listen_to_appends();
    let done = Arc::new(AtomicBool::new(false));
    let writer = {
        let (store, done, chosen) = (store.clone(), done.clone(), broken::chosen());
        std::thread::spawn(move || {
            broken::choose(chosen);
            for round in 0..200u8 {
                let tx = store.begin().unwrap();
                tx.append(feed, &[round]).unwrap();
                commit(tx, MODES[round as usize % 4]);
                if round % 50 == 0 {
                    std::thread::sleep(Duration::from_millis(30));
                }
            }
            done.store(true, Ordering::SeqCst);
        })
    };
    let mut taken = 0;
    let mut idle = 0;
    while taken < 201 && idle < 10 {
        listener.note();
        let (all, durable) = (entries(&store, feed), listener.durable());
        let now = all.iter().filter(|entry| entry.0 <= durable).count();
        assert!(now >= taken);
        idle = if now == taken { idle + 1 } else { 0 };
        taken = now;
        if taken < 201 {
            listener.wait(Some(Duration::from_millis(300)));
        }
    }
    writer.join().unwrap();
    assert_eq!(taken, 201);
}

#[test]
fn what_is_appended_is_told_once_it_is_durable() {
    what_is_taken_is_complete();
}

#[test]
fn what_is_appended_and_not_told_is_noticed() {
    broken::must_be_caught(Broken::AppendsUntold, || {
        let store = Store::open_in_memory(Options::default()).unwrap();
        let (feed, _) = with_trees(&store);
        let mut listener = store.listen_to_appends();
        listener.note();
        let began = Instant::now();
        let waiter = std::thread::spawn(move || listener.wait(Some(Duration::from_secs(5))));
        let tx = store.begin().unwrap();
        tx.append(feed, b"").unwrap();
        commit(tx, Durability::Full);
        waiter.join().unwrap();
        assert!(began.elapsed() < Duration::from_secs(4));
    });
}

/// Readers see a commit in mode `off` at once; who takes what is appended must not.
fn what_a_crash_can_take_is_not_told() {
    let disk = SimDisk::new(3);
    let env = Environment { files: Arc::new(disk.clone()), host: Arc::new(QuietHost::default()) };
    let store = Store::open_with("db", Options::default(), env).unwrap();
    let (feed, _) = with_trees(&store);
    let listener = store.listen_to_appends();
    for (mode, is_durable) in [(Durability::Off, false), (Durability::Interval, false), (Durability::Full, true)] {
        let tx = store.begin().unwrap();
        tx.append(feed, b"").unwrap();
        let position = commit(tx, mode);
        assert_eq!(entries(&store, feed).last().unwrap().0, position);
        assert_eq!(listener.durable() >= position, is_durable);
    }
}

#[test]
fn what_is_taken_is_durable() {
    what_a_crash_can_take_is_not_told();
    broken::must_be_caught(Broken::AppendsUndurable, what_a_crash_can_take_is_not_told);
}

#[test]
fn who_waits_for_a_position_sees_its_commit() {
    let store = Store::open_in_memory(Options::default()).unwrap();
    let (feed, _) = with_trees(&store);
    let position = store.snapshot().unwrap().position();
    let soon = Some(Duration::from_millis(50));
    assert!(store.wait_visible(position, soon, &|| false).unwrap());
    assert!(!store.wait_visible(position + 1, soon, &|| false).unwrap());
    assert!(matches!(store.wait_visible(position + 1, None, &|| true), Err(Error::GivenUp)));
    let waiter = {
        let store = store.clone();
        std::thread::spawn(move || store.wait_visible(position + 1, None, &|| false))
    };
    std::thread::sleep(Duration::from_millis(30));
    let tx = store.begin().unwrap();
    tx.append(feed, b"").unwrap();
    commit(tx, Durability::Off);
    assert!(waiter.join().unwrap().unwrap());
    let clone = store.clone();
    let waiter = std::thread::spawn(move || clone.wait_visible(u64::MAX, None, &|| false));
    std::thread::sleep(Duration::from_millis(30));
    store.close().unwrap();
    assert!(matches!(waiter.join().unwrap(), Err(Error::Closed)));
}

/// A library that does not know the operation would take the log for damaged.
#[test]
fn a_file_whose_log_has_appends_says_so_and_others_do_not() {
    for appends in [false, true] {
        let disk = SimDisk::new(3);
        let env = Environment { files: Arc::new(disk.clone()), host: Arc::new(QuietHost::default()) };
        let store = Store::open_with("db", Options::default(), env).unwrap();
        let tx = store.begin().unwrap();
        tx.put(TreeId::CATALOG, b"key", b"").unwrap();
        if appends {
            tx.append(TreeId::CATALOG, b"").unwrap();
        }
        tx.commit(None).unwrap();
        let image = disk.crash(CrashStrategy::KeepNone);
        let file = image.bytes(Path::new("db")).unwrap();
        let words = [0, 4096].map(|page| u32::from_le_bytes(file[page + 20..page + 24].try_into().unwrap()));
        assert_eq!(words.contains(&1), appends);
    }
}
