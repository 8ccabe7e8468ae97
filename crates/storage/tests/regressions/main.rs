//! Failures that the crash tests found, each by itself.

mod backups;
mod closing;
mod failures;
mod file_errors;
mod files;
mod hooked;
mod log_errors;
mod moved;
mod opening;
mod shared_threads;
mod waiting;
mod wakers;

use std::sync::Arc;

use cairn_storage::io::{CrashStrategy, SimDisk};
use cairn_storage::{Acknowledge, Environment, Error, Options, QuietHost, Store, TreeId, WriteError};

#[test]
fn an_undone_point_write_does_not_make_a_drop_fail_for_ever() {
    let store = Store::open_in_memory(Options::default()).unwrap();
    let transaction = store.begin().unwrap();
    let tree = transaction.create_tree().unwrap();
    transaction.put(tree, b"key", b"value").unwrap();
    transaction.commit(None).unwrap();
    let mut session = store.session().unwrap();
    let failed = session.write::<(), ()>(Acknowledge::Now(None), |writer| {
        writer.put(tree, b"other", b"value")?;
        Err(WriteError::Caller(()))
    });
    assert!(matches!(failed, Err(WriteError::Caller(()))));
    let dropped = (0..3).any(|_| {
        let transaction = store.begin().unwrap();
        transaction.drop_tree(tree).unwrap();
        match transaction.commit(None) {
            Ok(()) => true,
            Err(Error::Conflict) => false,
            Err(error) => panic!("{error}"),
        }
    });
    assert!(dropped);
    assert_eq!(store.snapshot().unwrap().trees(), [TreeId::CATALOG]);
}

#[test]
fn a_transaction_too_large_for_the_log_leaves_room_for_others() {
    let mut options = Options::default();
    options.log_segment_bytes = 16 << 10;
    options.log_limit_bytes = 64 << 10;
    let env = cairn_storage::Environment::in_memory();
    let store = Store::open_with("full", options, env).unwrap();
    for round in 0..5u64 {
        let transaction = store.begin().unwrap();
        let put = |i: u64| transaction.put(TreeId::CATALOG, &i.to_be_bytes(), &[1; 1000]);
        let refused = (0..200).try_for_each(put);
        assert!(matches!(refused, Err(Error::OutlivedLog | Error::LogTooSmall { .. })), "{refused:?}");
        drop(transaction);
        let transaction = store.begin().unwrap();
        transaction.put(TreeId::CATALOG, b"small", &round.to_le_bytes()).unwrap();
        transaction.commit(None).unwrap();
    }
    store.close().unwrap();
}

#[test]
fn compacting_again_and_again_does_not_fill_the_log() {
    let mut options = Options::default();
    options.log_segment_bytes = 16 << 10;
    options.log_limit_bytes = 64 << 10;
    options.cache_bytes = 64 * 4096;
    let store = Store::open_with("compact", options, cairn_storage::Environment::in_memory()).unwrap();
    for _ in 0..40 {
        let transaction = store.begin().unwrap();
        transaction.create_tree().unwrap();
        transaction.commit(None).unwrap();
    }
    for _ in 0..20 {
        store.compact().unwrap();
    }
    store.close().unwrap();
}

/// The parts of a large transaction are in the log before it turns out that it lost. They change nothing, so no version
/// is published for them; checkpoints must free their space all the same.
#[test]
fn lost_transactions_in_parts_do_not_fill_the_log() {
    let mut options = Options::default();
    options.log_segment_bytes = 16 << 10;
    options.log_limit_bytes = 96 << 10;
    let store = Store::open_with("parts", options, cairn_storage::Environment::in_memory()).unwrap();
    let losers: Vec<_> = (0..40).map(|_| store.begin().unwrap()).collect();
    for loser in &losers {
        loser.reader().get(TreeId::CATALOG, b"contended").unwrap();
    }
    let winner = store.begin().unwrap();
    winner.put(TreeId::CATALOG, b"contended", b"won").unwrap();
    winner.commit(None).unwrap();
    for loser in losers {
        for i in 0..20u32 {
            loser.put(TreeId::CATALOG, &i.to_be_bytes(), &[7; 900]).unwrap();
        }
        assert!(matches!(loser.commit(None), Err(Error::Conflict)));
    }
    let last = store.begin().unwrap();
    last.put(TreeId::CATALOG, b"last", b"fits").unwrap();
    last.commit(None).unwrap();
}

/// A database on a simulated disk, without threads of its own.
fn open_on(disk: &SimDisk) -> cairn_storage::Result<Store> {
    let mut options = Options::default();
    options.page_size = 512;
    options.cache_bytes = 64 * 512;
    options.max_pages = 4096;
    options.log_segment_bytes = 16 << 10;
    options.log_limit_bytes = 256 << 10;
    options.sync_method = cairn_storage::SyncMethod::WriteSync;
    Store::open_with("db", options, Environment { files: Arc::new(disk.clone()), host: Arc::new(QuietHost::default()) })
}

fn put(store: &Store, key: &[u8], length: usize) -> cairn_storage::Result<()> {
    let transaction = store.begin()?;
    transaction.put(TreeId::CATALOG, key, &vec![7; length])?;
    transaction.commit(None)
}

#[test]
fn what_a_recovery_found_is_durable_although_its_sync_had_failed() {
    let seen = |store: &Store| store.snapshot().unwrap().reader().get(TreeId::CATALOG, b"two").unwrap().is_some();
    let mut found = 0;
    for seed in 0..40 {
        let disk = SimDisk::new(seed);
        let store = open_on(&disk).unwrap();
        put(&store, b"one", 30).unwrap();
        disk.fail_sync(1);
        assert!(matches!(put(&store, b"two", 30), Err(Error::OutcomeUnknown { .. })));
        drop(store);
        // The batch may be in the system's cache only, and looks whole.
        let store = open_on(&disk).unwrap();
        let was_seen = seen(&store);
        let image = disk.crash(CrashStrategy::KeepNone);
        drop(store);
        let store = open_on(&SimDisk::from_image(&image, 2)).unwrap();
        assert_eq!(seen(&store), was_seen, "seed {seed}: a commit that a recovery had found was lost");
        found += u32::from(was_seen);
    }
    assert!(found > 0);
}

/// Hits and searches are counted per reader, without a line that readers share; none is lost when readers come and go.
#[test]
fn searches_of_several_threads_are_all_counted() {
    let store = Store::open_in_memory(Options::default()).unwrap();
    let transaction = store.begin().unwrap();
    (0..1000u32).for_each(|i| transaction.put(TreeId::CATALOG, &i.to_be_bytes(), &[0; 100]).unwrap());
    transaction.commit(None).unwrap();
    let before = store.stats();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut session = store.session().unwrap();
                for i in 0..500u32 {
                    let found =
                        session.read::<_, ()>(|reader| Ok(reader.get(TreeId::CATALOG, &i.to_be_bytes())?.is_some()));
                    assert!(found.unwrap());
                    store.snapshot().unwrap().reader().get(TreeId::CATALOG, &i.to_be_bytes()).unwrap();
                }
            });
        }
    });
    let after = store.stats();
    assert_eq!(after.tree_searches - before.tree_searches, 4 * 500 * 2);
    // A root and a leaf each.
    assert_eq!(after.page_hits - before.page_hits, 4 * 500 * 2 * 2);
    let snapshot = store.snapshot().unwrap();
    let all = std::ops::Bound::Unbounded;
    let mut cursor = snapshot.reader().cursor(TreeId::CATALOG, all, all).unwrap();
    while cursor.next().unwrap().is_some() {}
    cursor.restart(TreeId::CATALOG, all, all).unwrap();
    cursor.next().unwrap();
    assert_eq!(store.stats().tree_searches - after.tree_searches, 2);
}

/// Recovery begins with the batch that the checkpoint ends in, and there is no checksum of one before to compare: when it
/// was damaged, it was passed over with all behind it in its segment, and the first one of the next segment taken for the
/// next.
#[test]
fn a_damaged_batch_where_recovery_begins_is_not_passed_over() {
    let log = std::path::Path::new("db-log");
    let mut refused = 0;
    // With some of them, the second batch begins a segment.
    for before in 15..30 {
        let disk = SimDisk::new(1);
        let store = open_on(&disk).unwrap();
        (0..before).for_each(|_| put(&store, b"before", 500).unwrap());
        store.checkpoint().unwrap();
        put(&store, b"first", 300).unwrap();
        put(&store, b"second", 3000).unwrap();
        put(&store, b"third", 300).unwrap();
        let mut image = disk.crash(CrashStrategy::KeepAll);
        drop(store);
        let bytes = image.bytes(log).unwrap();
        let at = bytes.windows(5).position(|bytes| bytes == b"first").unwrap();
        image.flip_bit(log, 8 * (at as u64 - 200));
        match open_on(&SimDisk::from_image(&image, 2)) {
            Err(error) => refused += u32::from(matches!(error, Error::Corrupt { .. })),
            Ok(store) => {
                let found = store.snapshot().unwrap().reader().get(TreeId::CATALOG, b"first").unwrap();
                assert!(found.is_some(), "{before} commits before: an acknowledged commit was passed over");
            }
        }
    }
    assert!(refused > 10, "{refused}");
}

/// A compaction that met an error in the middle of a step kept pages that it had made, which nothing led to.
#[test]
fn a_failed_compaction_loses_no_page() {
    let mut failed = 0;
    for seed in 0..40 {
        let disk = SimDisk::new(seed);
        let store = open_on(&disk).unwrap();
        for key in 0..600u32 {
            put(&store, &key.to_be_bytes(), if key % 5 == 0 { 1200 } else { 200 }).unwrap();
            if key % 50 == 0 {
                store.checkpoint().unwrap();
            }
        }
        for key in (0..600u32).filter(|key| key % 4 != 1) {
            let transaction = store.begin().unwrap();
            transaction.delete(TreeId::CATALOG, &key.to_be_bytes()).unwrap();
            transaction.commit(None).unwrap();
            if key % 50 == 0 {
                store.checkpoint().unwrap();
            }
        }
        for _ in 0..4 {
            store.checkpoint().unwrap();
            // Reads fail now and then, and what the cache has no room for can not be written out.
            disk.fail_randomly(2_000, 0);
            disk.fail_writes(std::path::Path::new("db"), 4096..1 << 30);
            failed += u32::from(store.compact().is_err());
            disk.clear_faults();
            put(&store, &1u32.to_be_bytes(), 200).unwrap();
        }
        assert_eq!(store.verify().unwrap().leaked_pages, 0, "seed {seed}");
        drop(store);
        let store = open_on(&disk).unwrap();
        let found = store.verify().unwrap();
        assert_eq!((found.leaked_pages, found.entries), (0, 150), "seed {seed}, reopened");
        store.compact().unwrap();
        assert_eq!(store.verify().unwrap().leaked_pages, 0, "seed {seed}, compacted");
    }
    assert!(failed > 10, "{failed}");
}

/// A bit of the newest meta page and one of the log's header: the older meta page, of the last clean closing, was believed,
/// and the log taken for one that was never used.
#[test]
fn a_damaged_meta_page_and_a_damaged_log_header_are_no_clean_database() {
    let disk = SimDisk::new(1);
    let store = open_on(&disk).unwrap();
    put(&store, b"first", 30).unwrap();
    store.close().unwrap();
    let store = open_on(&disk).unwrap();
    put(&store, b"second", 30).unwrap();
    let image = disk.crash(CrashStrategy::KeepAll);
    drop(store);
    for byte in [0, 20, 512, 532] {
        let mut damaged = image.clone();
        damaged.flip_bit(std::path::Path::new("db"), 8 * byte);
        damaged.flip_bit(std::path::Path::new("db-log"), 8 * 12);
        let opened = open_on(&SimDisk::from_image(&damaged, 2));
        assert!(matches!(opened, Err(Error::Corrupt { .. } | Error::ForeignLog { .. })), "byte {byte}: {opened:?}");
    }
}

/// A large transaction that others overtook does its work again on their state. It went on to take a page for its last
/// leaf that had been one before it gave its pages up, and was free or another's by now.
#[test]
fn a_transaction_that_is_done_again_knows_nothing_of_the_pages_it_gave_up() {
    let key = |i: u32| i.to_be_bytes();
    // The others' rows add levels to the tree: the way to its first leaf takes as many pages as two leaves took before.
    for rows in [10, 500, 1000, 3000] {
        let mut options = Options::default();
        options.page_size = 512;
        let store = Store::open_in_memory(options).unwrap();
        let begun = store.begin().unwrap();
        let tree = begun.create_tree().unwrap();
        (0..198).for_each(|i| begun.put(tree, &key(10 * i), &[1; 80]).unwrap());
        begun.commit(None).unwrap();

        let large = store.begin().unwrap();
        large.put(tree, &key(1), &[2]).unwrap();
        large.put(tree, &key(1995), &[3]).unwrap();
        // Enough operations for being done again before the commit lock is taken, and no more pages.
        (0..8000).for_each(|_| large.put(tree, &key(1), &[4; 8]).unwrap());
        let other = store.begin().unwrap();
        (2000..2000 + rows).for_each(|i| other.put(tree, &key(i), &[5; 80]).unwrap());
        other.commit(None).unwrap();
        large.commit(None).unwrap();

        let snapshot = store.snapshot().unwrap();
        for i in [1, 1995] {
            assert!(snapshot.reader().get(tree, &key(i)).unwrap().is_some(), "key {i}");
        }
        store.verify().unwrap();
    }
}

/// With every slot taken by snapshots no checkpoint ran: the log filled up, and commits failed.
#[test]
fn snapshots_in_every_slot_stop_neither_checkpoints_nor_commits_nor_statements() {
    let mut options = Options::default();
    options.max_snapshots = 8;
    options.log_segment_bytes = 16 << 10;
    options.log_limit_bytes = 64 << 10;
    options.checkpoint_log_bytes = 32 << 10;
    let env = Environment::in_memory();
    let store = Store::open_with("memory", options, env.clone()).unwrap();
    let transaction = store.begin().unwrap();
    let dropped = transaction.create_tree().unwrap();
    transaction.put(dropped, b"key", &[1; 10_000]).unwrap();
    transaction.commit(None).unwrap();
    let transaction = store.begin().unwrap();
    let held: Vec<_> = (0..7).map(|_| store.snapshot().unwrap()).collect();
    assert!(matches!(store.snapshot(), Err(Error::TooManySnapshots { limit: 8 })));
    assert_eq!(transaction.reader().get(dropped, b"key").unwrap().unwrap().len(), 10_000);
    transaction.drop_tree(dropped).unwrap();
    let last = store.snapshot();
    transaction.commit(None).unwrap();
    assert!(matches!(last, Err(Error::TooManySnapshots { .. })));
    let mut held = held;
    held.push(store.snapshot().unwrap());
    let mut session = store.session().unwrap();
    for i in 0..1000u32 {
        let put = session.write::<_, ()>(Acknowledge::Now(None), |writer| {
            Ok(writer.put(TreeId::CATALOG, &(i % 50).to_be_bytes(), &i.to_be_bytes().repeat(50))?)
        });
        assert!(put.is_ok(), "{i}: {put:?}");
    }
    assert!(store.stats().checkpoints > 0);
    store.checkpoint().unwrap();
    let read = session.read::<_, ()>(|reader| Ok(reader.get(TreeId::CATALOG, &[0; 4])?.map(<[u8]>::len)));
    assert!(matches!(read, Ok(Some(200))));
    assert_eq!(held[0].reader().get(dropped, b"key").unwrap().unwrap().len(), 10_000);
    store.backup_to("copy", &mut |_| ()).unwrap();
    store.compact().unwrap();
    store.verify().unwrap();
    assert_eq!(store.broken_frames(false), Vec::<String>::new());
}

#[test]
fn an_engine_without_slots_of_its_own_is_noticed() {
    let test = snapshots_in_every_slot_stop_neither_checkpoints_nor_commits_nor_statements;
    cairn_storage::broken::must_be_caught(cairn_storage::broken::Broken::EngineWithoutSlots, test);
}

/// Each session kept a slot for its life.
#[test]
fn sessions_that_do_nothing_are_not_limited_by_slots() {
    let mut options = Options::default();
    options.max_snapshots = 4;
    let store = Store::open_in_memory(options).unwrap();
    let mut sessions: Vec<_> = (0..10_000).map(|_| store.session().unwrap()).collect();
    let put = sessions[0].write::<_, ()>(Acknowledge::Now(None), |w| Ok(w.put(TreeId::CATALOG, b"key", b"value")?));
    assert!(put.is_ok());
    for session in &mut sessions {
        let read = session.read::<_, ()>(|reader| Ok(reader.get(TreeId::CATALOG, b"key")?.is_some()));
        assert!(matches!(read, Ok(true)));
    }
}
