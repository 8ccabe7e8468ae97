//! Single races that the simulation once met by chance, each by itself: a few clients that do the same in every run, under
//! many schedules.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cairn_sim::machine::{self, SyncFailed};
use cairn_sim::scheduler::{self, Ran};
use cairn_storage::broken::{self, Broken};
use cairn_storage::io::{CrashStrategy, Create, OpenHow, SimDisk, SyncMethod};
use cairn_storage::simulated::Scheduler as _;
use cairn_storage::{
    Acknowledge, Durability, Error, KeyList, Losses, Options, Result, Store, Transaction, TreeId, WriteError,
};

const TREE: TreeId = TreeId::CATALOG;

fn options() -> Options {
    let mut options = Options::default();
    options.page_size = 512;
    options.cache_bytes = 64 * 512;
    options.log_segment_bytes = 16 << 10;
    options.log_limit_bytes = 64 << 10;
    options.max_snapshots = 40;
    options.max_pages = 4096;
    options
}

fn open(disk: &SimDisk) -> Store {
    Store::open_with(Path::new("db"), options(), machine::environment(disk, &SyncFailed::default())).unwrap()
}

fn put(store: &Store, key: &[u8], mode: Durability) -> Result<()> {
    let transaction = store.begin()?;
    transaction.put(TREE, key, b"value")?;
    transaction.commit(Some(mode))
}

fn has(store: &Store, key: &[u8]) -> bool {
    store.snapshot().unwrap().reader().get(TREE, key).unwrap().is_some()
}

/// Runs the scenario under the schedules of these seeds; none may fail, or go on for ever.
fn under_schedules(seeds: u64, scenario: impl Fn(u64) + Clone + Send + 'static) {
    for seed in 1..=seeds {
        let scenario = scenario.clone();
        let Ran { failure, .. } = scheduler::run(seed, 200_000, move || scenario(seed));
        assert_eq!(failure, None, "seed {seed}");
    }
}

fn spawn(work: impl FnOnce() + 'static) -> usize {
    scheduler::current().spawn("client", Box::new(work))
}

fn pause(seed: u64) {
    let time = Duration::from_micros(scheduler::current().random() % (1 + seed % 7) * 40);
    scheduler::current().sleep(time);
}

/// Of those who wait for a batch, one is woken to lead the next. When another thread's sync had made the database
/// read-only meanwhile, that one left with its error, and the others waited for ever.
#[test]
fn whoever_waits_for_a_commit_is_told_of_a_failure_elsewhere() {
    under_schedules(1000, |seed| {
        let disk = SimDisk::new(seed);
        let store = open(&disk);
        put(&store, b"first", Durability::Full).unwrap();
        let committers: Vec<usize> = (0..6u8)
            .map(|id| {
                let store = store.clone();
                spawn(move || {
                    for round in 0..4 {
                        if put(&store, &[id, round], Durability::Full).is_err() {
                            return;
                        }
                    }
                })
            })
            .collect();
        pause(seed);
        // Of the database file, most likely: the log's are its writes.
        disk.fail_sync(1);
        let _ = store.checkpoint();
        committers.into_iter().for_each(|committer| scheduler::current().join(committer));
        drop(store);
    });
}

/// A transaction that lost waits until what it lost to is durable, and publishes what others took back meanwhile: with it
/// a commit whose write had failed in between, which readers saw, and a crash took away.
#[test]
fn a_commit_whose_write_failed_is_not_published_by_who_lost_to_another() {
    under_schedules(4000, |seed| {
        let disk = SimDisk::new(seed);
        let store = open(&disk);
        put(&store, b"read", Durability::Full).unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let mut clients = Vec::new();
        for id in 0..3u8 {
            let loser = store.clone();
            clients.push(spawn(move || {
                for _ in 0..4 {
                    let transaction = loser.begin().unwrap();
                    transaction.reader().get(TREE, b"read").unwrap();
                    pause(seed);
                    if transaction.put(TREE, b"read", &[id]).and_then(|()| transaction.commit(None)).is_err_and(is_over)
                    {
                        return;
                    }
                }
            }));
            let undoer = store.clone();
            clients.push(spawn(move || {
                let mut session = undoer.session().unwrap();
                for _ in 0..6 {
                    let failed = session.write::<(), ()>(Acknowledge::Now(None), |writer| {
                        writer.put(TREE, b"undone", b"value")?;
                        Err(WriteError::Caller(()))
                    });
                    if matches!(failed, Err(WriteError::Storage(_))) {
                        return;
                    }
                    pause(seed);
                }
            }));
            let (writer, seen) = (store.clone(), seen.clone());
            clients.push(spawn(move || {
                for round in 0..4 {
                    if put(&writer, &[id, round], Durability::Full).is_err() {
                        // It has failed: whoever sees it now sees what a crash may take.
                        seen.lock().unwrap().push([id, round]);
                        return;
                    }
                    pause(seed);
                }
            }));
        }
        disk.fail_sync(3 + seed % 9);
        clients.into_iter().for_each(|client| scheduler::current().join(client));
        let shown: Vec<[u8; 2]> = seen.lock().unwrap().iter().copied().filter(|key| has(&store, key)).collect();
        let image = disk.crash(CrashStrategy::KeepNone);
        drop(store);
        let store = open(&SimDisk::from_image(&image, 1));
        for key in shown {
            assert!(has(&store, &key), "readers saw {key:?}, and a crash took it");
        }
        drop(store);
    });
}

/// A checkpoint's meta page whose sync failed is in the system's cache. Who is opened next finds it there, and uses the
/// pages again that only the checkpoint before needs, which is what a crash leaves: opening makes it durable first.
#[test]
fn a_meta_page_that_opening_found_is_durable_before_pages_are_used_again() {
    under_schedules(1500, |seed| {
        let disk = SimDisk::new(seed);
        let told = Rc::new(RefCell::new(BTreeMap::new()));
        let store = open(&disk);
        let committers: Vec<usize> = (0..2)
            .map(|id| {
                let (store, told) = (store.clone(), told.clone());
                spawn(move || {
                    let mut round = 0;
                    while put_number(&store, &told, round * 2 + id).is_ok() && round < 400 {
                        round += 1;
                    }
                })
            })
            .collect();
        for _ in 0..3 {
            scheduler::current().sleep(Duration::from_millis(scheduler::current().random() % 30));
            store.checkpoint().unwrap();
        }
        for _ in 0..8 {
            pause(seed);
            // Of its pages, its lists, its meta page.
            disk.fail_sync_of(Path::new("db"), 3);
            if store.checkpoint().is_err() {
                break;
            }
        }
        committers.into_iter().for_each(|committer| scheduler::current().join(committer));
        drop(store);
        // The process is gone, the machine is not.
        disk.clear_faults();
        disk.crash_at(disk.operation_count() + scheduler::current().random() % 60);
        drop(Store::open_with(Path::new("db"), options(), machine::environment(&disk, &SyncFailed::default())));
        let image = disk.crash(CrashStrategy::Random { seed });
        let store = open(&SimDisk::from_image(&image, 1));
        for (key, least) in told.borrow().iter() {
            let value = store.snapshot().unwrap().reader().get(TREE, key).unwrap().expect("it was acknowledged");
            assert!(u64::from_le_bytes(value[..8].try_into().unwrap()) >= *least, "{key:?} is older than acknowledged");
        }
        assert_eq!(store.verify().unwrap().leaked_pages, 0);
        drop(store);
    });
}

/// Gives one of some keys the number, and notes that it was told so.
fn put_number(store: &Store, told: &RefCell<BTreeMap<[u8; 2], u64>>, number: u64) -> Result<()> {
    let key = [(number % 2) as u8, (number / 2 * 7 % 90) as u8];
    let transaction = store.begin()?;
    transaction.put(TREE, &key, &number.to_le_bytes().repeat(15))?;
    transaction.commit(None)?;
    told.borrow_mut().insert(key, number);
    Ok(())
}

/// A failed sync may lose what others read at once, before its caller hears of it: the simulation must know it by then.
#[test]
fn a_failed_sync_is_known_at_once() {
    under_schedules(200, |seed| {
        let disk = SimDisk::new(seed);
        let failed = SyncFailed::default();
        let how = OpenHow { create: Create::New, read_only: false, direct: false };
        let file = machine::environment(&disk, &failed).files.open(Path::new("file"), how).unwrap();
        disk.fail_sync(1);
        let syncing = spawn(move || assert!(file.sync().is_err()));
        while disk.fault_counts().syncs == 0 {
            scheduler::current().sleep(Duration::from_micros(1));
        }
        assert!(failed.load(Ordering::Relaxed));
        scheduler::current().join(syncing);
    });
}

/// A patch read the long value without the transaction's lock, while another thread freed its pages and used them again.
#[test]
fn two_threads_may_patch_and_replace_a_long_value_of_one_transaction() {
    under_schedules(300, |seed| {
        let store = open(&SimDisk::new(seed));
        let transaction = Rc::new(store.begin().unwrap());
        let put = |transaction: &Transaction, byte: u8| transaction.put(TREE, b"key", &[byte; 2500]).unwrap();
        put(&transaction, 1);
        let other = transaction.clone();
        let putting = spawn(move || (2..12).for_each(|byte| put(&other, byte)));
        for i in 0..6 {
            transaction.patch(TREE, b"key", i * 100, &[200; 100]).unwrap();
            let value = transaction.reader().get(TREE, b"key").unwrap().unwrap();
            let byte = value[2499];
            assert!(value.iter().all(|other| [byte, 200].contains(other)), "two values in one");
        }
        scheduler::current().join(putting);
        drop((transaction, store));
    });
}

/// Tries that a report on all accounts takes beside clients that change them all the time; `broken`: without a thing that
/// turns rest on.
fn tries_of_a_report(seed: u64, broken: Option<Broken>) -> u32 {
    let tries = Arc::new(Mutex::new(0));
    let told = tries.clone();
    let Ran { failure, .. } = scheduler::run(seed, 400_000, move || {
        broken::choose(broken);
        let store = open(&SimDisk::new(seed));
        (0..20u8).for_each(|account| put(&store, &[account], Durability::Full).unwrap());
        let over = Rc::new(RefCell::new(false));
        let clients: Vec<usize> = (0..3u8).map(|id| spawn_transfers(store.clone(), over.clone(), id)).collect();
        let mut lost = Losses::default();
        for tried in 1..=40 {
            let report = store.begin_after(&lost).unwrap();
            let mut cursor = report.reader().cursor(TREE, Bound::Unbounded, Bound::Excluded(&[100])).unwrap();
            while cursor.next().unwrap().is_some() {
                scheduler::current().sleep(Duration::from_micros(50));
            }
            drop(cursor);
            report.put(TREE, &[200], &[tried]).unwrap();
            *told.lock().unwrap() = u32::from(tried);
            if report.commit_or_note(None, &mut lost, &|| false).is_ok() {
                break;
            }
        }
        *over.borrow_mut() = true;
        clients.into_iter().for_each(|client| scheduler::current().join(client));
        drop(store);
        broken::choose(None);
    });
    assert_eq!(failure, None, "seed {seed}");
    let tries = tries.lock().unwrap();
    *tries
}

/// Changes accounts until it is over, in a transaction or by a statement of its own. Nobody waits for longer than a turn lasts.
fn spawn_transfers(store: Store, over: Rc<RefCell<bool>>, id: u8) -> usize {
    spawn(move || {
        let mut session = store.session().unwrap();
        for round in 0u32.. {
            if *over.borrow() {
                return;
            }
            let began = scheduler::current().now();
            let account = [((round * 7 + u32::from(id)) % 20) as u8];
            let value = round.to_be_bytes();
            if round % 2 == 0 {
                let done = session.write::<(), ()>(Acknowledge::Now(None), |writer| {
                    writer.get(TREE, &account)?;
                    Ok(writer.put(TREE, &account, &value)?)
                });
                assert!(done.is_ok());
            } else {
                let transaction = store.begin().unwrap();
                transaction.reader().get(TREE, &account).unwrap();
                transaction.put(TREE, &account, &value).unwrap();
                assert!(matches!(transaction.commit(None), Ok(()) | Err(Error::Conflict)));
            }
            assert!(scheduler::current().now() - began < Duration::from_millis(60), "it waited for too long");
            scheduler::current().sleep(Duration::from_micros(20));
        }
    })
}

/// It gave up after a hundred tries: whoever reads much loses to those who write little.
#[test]
fn a_report_that_lost_often_gets_a_turn() {
    (1..=300).for_each(|seed| assert!(tries_of_a_report(seed, None) <= 10, "seed {seed}"));
}

/// What the test above rests on: without it the test must fail.
#[test]
fn turns_that_are_not_kept_are_noticed() {
    let notices = |broken| {
        (1..=20).any(|seed| {
            let tries = std::panic::catch_unwind(|| tries_of_a_report(seed, Some(broken)));
            tries.is_err() || tries.is_ok_and(|tries| tries > 10)
        })
    };
    assert!(notices(Broken::TurnUnseen) && notices(Broken::TurnKept));
}

fn is_over(error: Error) -> bool {
    !matches!(error, Error::Conflict)
}

/// Who extends the log and who writes a batch sync the same file. Where both use one open file, the system tells a writeback
/// error to one of them only: the other must hear of it, too, before it acknowledges what may be lost.
#[test]
fn a_commit_is_not_acknowledged_when_extending_the_log_heard_that_it_was_lost() {
    under_schedules(1500, extend_beside_commits);
    let is_noticed = |seed| {
        let Ran { failure, .. } = scheduler::run(seed, 200_000, move || {
            broken::choose(Some(Broken::GrowUnheard));
            extend_beside_commits(seed);
            broken::choose(None);
        });
        failure.is_some()
    };
    assert!((1..=1500).any(is_noticed), "an error that a commit never hears is not noticed");
}

fn extend_beside_commits(seed: u64) {
    let disk = SimDisk::new(seed);
    disk.set_best_sync_method(if seed.is_multiple_of(2) { SyncMethod::WriteSync } else { SyncMethod::Dsync });
    let mut options = options();
    options.log_limit_bytes = 1 << 20;
    let environment = machine::environment(&disk, &SyncFailed::default());
    let store = Store::open_with(Path::new("db"), options, environment).unwrap();
    let told = Rc::new(RefCell::new(Vec::new()));
    let committers: Vec<usize> = (0..3u8)
        .map(|id| {
            let (store, told) = (store.clone(), told.clone());
            spawn(move || {
                for round in 0..60 {
                    let filled = store
                        .begin()
                        .and_then(|transaction| transaction.put(TREE, &[id, round], &[7; 900]).map(|()| transaction));
                    if filled.and_then(|transaction| transaction.commit(None)).is_err() {
                        return;
                    }
                    told.borrow_mut().push([id, round]);
                }
            })
        })
        .collect();
    pause(seed);
    disk.fail_sync_of(Path::new("db-log"), 1 + seed % 40);
    committers.into_iter().for_each(|committer| scheduler::current().join(committer));
    let image = disk.crash(CrashStrategy::KeepNone);
    drop(store);
    let store = open(&SimDisk::from_image(&image, 1));
    told.borrow().iter().for_each(|key| assert!(has(&store, key), "{key:?} was acknowledged, and is lost"));
    drop(store);
}

/// Whoever publishes a version gives the pages that died with it away a moment later: a check of the newest version in between
/// counted them as lost.
#[test]
fn a_check_beside_commits_counts_no_page_as_lost() {
    under_schedules(200, check_beside_commits);
    let is_noticed = |seed| {
        let Ran { failure, .. } = scheduler::run(seed, 200_000, move || {
            broken::choose(Some(Broken::VerifiedUnburied));
            check_beside_commits(seed);
            broken::choose(None);
        });
        failure.is_some()
    };
    assert!((1..=2000).any(is_noticed), "a check that does not wait is not noticed");
}

fn check_beside_commits(seed: u64) {
    let store = open(&SimDisk::new(seed));
    let over = Rc::new(RefCell::new(false));
    let committers: Vec<usize> = (0..2u8)
        .map(|id| {
            let (store, over) = (store.clone(), over.clone());
            spawn(move || {
                for round in 0..200u8 {
                    if *over.borrow() {
                        return;
                    }
                    put(&store, &[id, round % 16], Durability::Off).unwrap();
                }
            })
        })
        .collect();
    for _ in 0..8 {
        assert_eq!(store.verify().unwrap().leaked_pages, 0);
    }
    *over.borrow_mut() = true;
    committers.into_iter().for_each(|committer| scheduler::current().join(committer));
    drop(store);
}

/// Walks and look-ups of many keys read pages that others need, or nobody: one that can not be read fails who comes to it, under
/// whatever schedule of those who read, and nobody else; and once it can be, nobody knows of it.
#[test]
fn what_can_not_be_read_ahead_fails_who_needs_it_and_nobody_else() {
    const KEYS: u32 = 1200;
    under_schedules(150, |seed| {
        let disk = SimDisk::new(seed);
        let open = || {
            let mut wide = options();
            wide.cache_bytes = 2048 * 512;
            Store::open_with(Path::new("db"), wide, machine::environment(&disk, &SyncFailed::default())).unwrap()
        };
        let store = open();
        for part in 0..4 {
            let transaction = store.begin().unwrap();
            for i in (part..KEYS).step_by(4) {
                // (Some twenty keys a leaf, whose place in the file is their order of coming.)
                transaction.put(TREE, &(i * 7 % KEYS).to_be_bytes(), &[7; 12]).unwrap();
            }
            transaction.commit(None).unwrap();
            store.checkpoint().unwrap();
        }
        let pages = store.stats().pages_total;
        store.close().unwrap();
        let bad = 2 + scheduler::current().random() % (pages - 2);
        let fail = || disk.fail_reads(Path::new("db"), bad * 512..(bad + 1) * 512);
        // How far a walk comes.
        let store = open();
        fail();
        let reached = walked(&store, KEYS);
        disk.clear_faults();
        drop(store);
        let store = open();
        fail();
        let mut clients = Vec::new();
        for client in 0..4_u32 {
            let store = store.clone();
            clients.push(spawn(move || match client {
                0 | 1 => {
                    pause(seed);
                    let (reached, end) = (reached.unwrap_or(KEYS), KEYS - client);
                    assert_eq!(walked(&store, reached), None);
                    let again = walked(&store, end);
                    assert!(again.is_none_or(|again| again == reached), "{again:?} and not {reached}");
                }
                _ => {
                    let found = looked_up(&store, (0..KEYS).map(|i| i * (2 * client + 7) % KEYS));
                    assert!(reached.is_some() || found.is_ok());
                    let before = reached.unwrap_or(KEYS);
                    assert!(looked_up(&store, (0..before).map(|i| i * 11 % before)).is_ok());
                }
            }));
        }
        clients.into_iter().for_each(|client| scheduler::current().join(client));
        disk.clear_faults();
        assert_eq!(walked(&store, KEYS), None);
        looked_up(&store, 0..KEYS).unwrap();
    });
}

/// Walks over so many entries; where it came to what can not be read, after how many.
fn walked(store: &Store, entries: u32) -> Option<u32> {
    let snapshot = store.snapshot().unwrap();
    let mut cursor = snapshot.reader().cursor(TREE, Bound::Unbounded, Bound::Unbounded).unwrap();
    for i in 0..entries {
        match cursor.next() {
            Ok(Some((key, _))) => assert_eq!(key, i.to_be_bytes()),
            Ok(None) => panic!("entry {i} is gone"),
            Err(Error::Io { .. }) => return Some(i),
            Err(error) => panic!("{error}"),
        }
    }
    None
}

/// Looks all of them up, some together.
fn looked_up(store: &Store, keys: impl Iterator<Item = u32>) -> Result<()> {
    let mut list = KeyList::default();
    keys.for_each(|key| list.push(&key.to_be_bytes()));
    let snapshot = store.snapshot()?;
    let found = snapshot.reader().lookup()?.get_each(TREE, &list, 0, |_, values| {
        assert!(values.iter().all(|value| *value == [7; 12]));
        Ok::<_, Error>(())
    })?;
    assert_eq!(found, list.len());
    Ok(())
}
