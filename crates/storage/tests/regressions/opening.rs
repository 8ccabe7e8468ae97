//! What opening a database leaves behind, and what it believes.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use cairn_storage::broken::{Broken, must_be_caught};
use cairn_storage::io::{CrashStrategy, Create, DiskImage, FileSystem, MemFs, OpenHow, RealFs, SimDisk};
use cairn_storage::{Environment, Error, Host, Join, Options, RealHost, Store, TreeId};

use super::files::{Call, WatchedFiles};
use super::put;

/// Starts only so many threads.
#[derive(Debug, Default)]
struct FewThreads {
    real: RealHost,
    most: AtomicUsize,
    started: AtomicUsize,
}

impl Host for FewThreads {
    fn now(&self) -> Duration {
        self.real.now()
    }

    fn random(&self) -> u64 {
        self.real.random()
    }

    fn sleep(&self, time: Duration) {
        self.real.sleep(time);
    }

    fn spawn(&self, name: &str, work: Box<dyn FnOnce() + Send>) -> io::Result<Join> {
        if self.started.fetch_add(1, Ordering::SeqCst) >= self.most.load(Ordering::SeqCst) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        // A thread begins when the system lets it.
        let late = || std::thread::sleep(Duration::from_millis(20));
        self.real.spawn(name, Box::new(move || (late(), work()).1))
    }
}

#[test]
fn an_open_that_can_not_start_its_threads_fails_and_one_that_lacks_others_works() {
    let host = Arc::new(FewThreads::default());
    let env = Environment { files: Arc::new(MemFs::new()), host: host.clone() };
    for most in [0, 1, 2, 3, usize::MAX] {
        host.most.store(most, Ordering::SeqCst);
        host.started.store(0, Ordering::SeqCst);
        let opened = Store::open_with("db", Options::default(), env.clone());
        if most < 2 {
            assert!(matches!(opened, Err(Error::Io { .. })), "{opened:?}");
            continue;
        }
        let store = opened.unwrap();
        (0..100).for_each(|_| put(&store, b"key", 10).unwrap());
        store.checkpoint().unwrap();
        store.close().unwrap();
    }
}

/// Threads were left at work when the lock was given back: they filled the next open's log with zeroes.
#[test]
fn nobody_is_at_work_in_a_database_that_was_closed() {
    let (writes, is_slow) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let (count, slow) = (writes.clone(), is_slow.clone());
    let files = WatchedFiles::new(MemFs::new(), move |path, _, call| {
        if call == Call::Write && path == Path::new("db-log") {
            count.fetch_add(1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(if slow.load(Ordering::SeqCst) { 60 } else { 0 }));
        }
        Ok(())
    });
    let mut options = Options::default();
    options.log_segment_bytes = 1 << 20;
    let env = Environment { files: Arc::new(files), host: Arc::new(RealHost::default()) };
    let store = Store::open_with("db", options, env).unwrap();
    // What an opening leaves to others is done by then.
    std::thread::sleep(Duration::from_millis(200));
    is_slow.store(true, Ordering::SeqCst);
    let before = writes.load(Ordering::SeqCst);
    // A segment is entered: the log is to grow by a place, in pieces.
    while writes.load(Ordering::SeqCst) == before {
        put(&store, b"key", 10_000).unwrap();
    }
    drop(store);
    let at_the_end = writes.load(Ordering::SeqCst);
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(writes.load(Ordering::SeqCst), at_the_end, "somebody is still at work");
}

#[test]
fn threads_that_are_left_are_noticed() {
    must_be_caught(Broken::ThreadsLeft, nobody_is_at_work_in_a_database_that_was_closed);
}

/// A list whose last page names its first was read on until it had as many pages as a database may have.
#[test]
fn a_list_that_comes_back_to_itself_is_not_followed_for_ever() {
    let files = MemFs::new();
    let path = Path::new("db");
    let reads = Arc::new(AtomicUsize::new(0));
    let count = reads.clone();
    let watched = WatchedFiles::new(files.clone(), move |_, _, call| {
        count.fetch_add(usize::from(call == Call::Read), Ordering::SeqCst);
        Ok(())
    });
    let env = Environment { files: Arc::new(watched), host: Arc::new(RealHost::default()) };
    let mut options = Options::default();
    options.max_pages = 1 << 16;
    let store = Store::open_with(path, options.clone(), env.clone()).unwrap();
    put(&store, b"key", 10).unwrap();
    store.close().unwrap();
    // Pages of the lists of trees say that they follow themselves. (docs/format.md; kind 4 is the list of trees.)
    let file = files.open(path, OpenHow { create: Create::Never, read_only: false, direct: false }).unwrap();
    let mut forged = 0;
    for at in (2 * 4096..file.len().unwrap()).step_by(4096) {
        let mut page = vec![0; 4096];
        file.read_at(&mut page, at).unwrap();
        if page[4] == 4 {
            page.copy_within(8..12, 64);
            page.copy_within(16..24, 68);
            let checksum = crc32c::crc32c(&page[4..]);
            page[..4].copy_from_slice(&checksum.to_le_bytes());
            file.write_at(&page, at).unwrap();
            forged += 1;
        }
    }
    assert!(forged > 0);
    reads.store(0, Ordering::SeqCst);
    let opened = Store::open_with(path, options, env);
    assert!(matches!(opened, Err(Error::Corrupt { .. })), "{opened:?}");
    assert!(reads.load(Ordering::SeqCst) < 20, "{reads:?} reads");
}

const PAGE: usize = 512;
const KEYS: u32 = 1500;

/// A cache that a recovery overfills many times.
fn small() -> Options {
    let mut options = Options::default();
    options.page_size = PAGE;
    options.cache_bytes = 64 * PAGE;
    options.log_segment_bytes = 64 << 10;
    options.log_limit_bytes = 16 << 20;
    options.checkpoint_log_bytes = 8 << 20;
    options
}

fn on(disk: &SimDisk) -> Environment {
    Environment { files: Arc::new(disk.clone()), host: Arc::new(RealHost::default()) }
}

/// The disk of a database that was killed after several checkpoints; the pages of each lie where those of the one before the
/// last were.
fn killed() -> DiskImage {
    let disk = SimDisk::new(1);
    let store = Store::open_with("db", small(), on(&disk)).unwrap();
    for round in 0..4u8 {
        let transaction = store.begin().unwrap();
        for key in 0..KEYS {
            transaction.put(TreeId::CATALOG, &key.to_be_bytes(), &[round; 100]).unwrap();
        }
        transaction.commit(None).unwrap();
        // A recovery applies all that came before a new tree when it comes to that.
        let transaction = store.begin().unwrap();
        transaction.create_tree().unwrap();
        transaction.commit(None).unwrap();
        store.checkpoint().unwrap();
    }
    put(&store, b"one more", 10).unwrap();
    disk.crash(CrashStrategy::KeepAll)
}

/// Where the newest meta page is.
fn newest_meta(disk: &SimDisk) -> u64 {
    let bytes = disk.snapshot(Path::new("db")).unwrap();
    let sequence = |at: usize| u64::from_le_bytes(bytes[at + 56..at + 64].try_into().unwrap());
    if sequence(0) > sequence(PAGE) { 0 } else { PAGE as u64 }
}

fn contents(disk: &SimDisk) -> [Option<Vec<u8>>; 3] {
    ["db", "db-log", "db-new"].map(|name| disk.snapshot(Path::new(name)))
}

fn all_is_there(disk: &SimDisk) {
    let store = Store::open_with("db", small(), on(disk)).unwrap();
    let snapshot = store.snapshot().unwrap();
    for key in 0..KEYS {
        assert_eq!(snapshot.reader().get(TreeId::CATALOG, &key.to_be_bytes()).unwrap().unwrap(), [3; 100]);
    }
    assert!(snapshot.reader().get(TreeId::CATALOG, b"one more").unwrap().is_some());
    assert_eq!(store.verify().unwrap().leaked_pages, 0);
}

/// It counted as missing: the older one was gone by, the log replayed, and pages that the newest one uses written over,
/// before what the log says of checkpoints was looked at. That opening failed, and so did all after it.
fn an_error_of_the_newest_meta_page_is_told_and_changes_nothing() {
    for page in [0, PAGE as u64] {
        let disk = SimDisk::from_image(&killed(), 2);
        let before = contents(&disk);
        disk.fail_reads(Path::new("db"), page..page + 1);
        let refused = Store::open_with("db", small(), on(&disk)).unwrap_err();
        assert!(matches!(refused, Error::Io { .. }), "{refused}");
        assert!(contents(&disk) == before, "something was written");
        disk.clear_faults();
        all_is_there(&disk);
    }
}

#[test]
fn a_meta_page_that_can_not_be_read_is_an_error() {
    an_error_of_the_newest_meta_page_is_told_and_changes_nothing();
    must_be_caught(Broken::MetaUnreadable, an_error_of_the_newest_meta_page_is_told_and_changes_nothing);
}

/// The same with a bit that is right again later.
fn a_flipped_bit_that_flips_back_has_done_nothing() {
    let disk = SimDisk::from_image(&killed(), 2);
    let (bit, before) = (8 * (newest_meta(&disk) + 300), contents(&disk));
    assert!(disk.flip_bit(Path::new("db"), bit));
    let refused = Store::open_with("db", small(), on(&disk)).unwrap_err();
    assert!(matches!(refused, Error::Corrupt { .. }), "{refused}");
    assert!(disk.flip_bit(Path::new("db"), bit));
    assert!(contents(&disk) == before, "something was written");
    all_is_there(&disk);
}

#[test]
fn nothing_is_written_before_log_and_meta_page_are_known_to_belong_together() {
    a_flipped_bit_that_flips_back_has_done_nothing();
    must_be_caught(Broken::WrittenUnchecked, a_flipped_bit_that_flips_back_has_done_nothing);
}

/// Nor where the log turns out to be damaged, or to be another's, at its end.
#[test]
fn a_log_that_is_refused_leaves_the_file_as_it_was() {
    let image = killed();
    let disk = SimDisk::from_image(&image, 2);
    // The log of the same database, later: of an opening that this file does not know of.
    let image = {
        let later = SimDisk::from_image(&image, 3);
        let store = Store::open_with("db", small(), on(&later)).unwrap();
        put(&store, b"later", 10).unwrap();
        later.crash(CrashStrategy::KeepAll)
    };
    let how = OpenHow { create: Create::Never, read_only: false, direct: false };
    let log = image.bytes(Path::new("db-log")).unwrap();
    let file = disk.open(Path::new("db-log"), how).unwrap();
    file.set_len(log.len() as u64).unwrap();
    file.write_at(&log, 0).unwrap();
    let before = contents(&disk);
    let refused = Store::open_with("db", small(), on(&disk)).unwrap_err();
    assert!(matches!(refused, Error::ForeignLog { .. } | Error::Corrupt { .. }), "{refused}");
    assert!(contents(&disk) == before, "something was written");
}

/// A database is made under its name with `-new` behind it: whatever had that name was removed.
#[test]
fn a_database_whose_name_another_one_is_made_under_stays() {
    let files = MemFs::new();
    let env = Environment { files: Arc::new(files.clone()), host: Arc::new(RealHost::default()) };
    let store = Store::open_with("db-new", Options::default(), env.clone()).unwrap();
    put(&store, b"key", 10).unwrap();
    store.close().unwrap();
    let refused = Store::open_with("db", Options::default(), env.clone()).unwrap_err();
    assert!(matches!(&refused, Error::CannotOpen { .. }) && refused.to_string().contains("db-new"), "{refused}");
    let store = Store::open_with("db-new", Options::default(), env.clone()).unwrap();
    assert!(store.snapshot().unwrap().reader().get(TreeId::CATALOG, b"key").unwrap().is_some());
    store.close().unwrap();
    // What a crash left of an earlier creation goes.
    files.remove(Path::new("db-new")).unwrap();
    let how = OpenHow { create: Create::New, read_only: false, direct: false };
    files.open(Path::new("db-new"), how).unwrap().set_len(8192).unwrap();
    put(&Store::open_with("db", Options::default(), env).unwrap(), b"key", 10).unwrap();
    assert!(!files.exists(Path::new("db-new")).unwrap());
}

/// What got the name while the database was made was replaced.
#[test]
fn a_file_that_gets_the_name_while_a_database_is_made_stays() {
    let files = MemFs::new();
    let how = OpenHow { create: Create::IfMissing, read_only: false, direct: false };
    let others = files.clone();
    let watched = WatchedFiles::new(files.clone(), move |path, _, call| {
        if call == Call::Sync && path == Path::new("db-new") {
            others.open(Path::new("db"), how)?.write_at(b"another's", 0)?;
        }
        Ok(())
    });
    let env = Environment { files: Arc::new(watched), host: Arc::new(RealHost::default()) };
    let refused = Store::open_with("db", Options::default(), env).unwrap_err();
    assert!(matches!(refused, Error::CannotOpen { .. }), "{refused}");
    assert_eq!(files.open(Path::new("db"), how).unwrap().len().unwrap(), 9);
    assert!(!files.exists(Path::new("db-new")).unwrap());
}

/// A folder whose sync failed while a database got its name: the next opening took the file, and a crash the name.
#[test]
fn a_database_whose_name_could_not_be_made_durable_is_made_anew() {
    for seed in 0..40 {
        let disk = SimDisk::new(seed);
        // That of the file comes first.
        disk.fail_sync(2);
        let refused = Store::open_with("db", small(), on(&disk)).unwrap_err();
        assert!(matches!(refused, Error::Io { .. }), "{refused}");
        assert_eq!(disk.paths().len(), 0, "{:?}", disk.paths());
        put(&Store::open_with("db", small(), on(&disk)).unwrap(), b"key", 10).unwrap();
        let disk = SimDisk::from_image(&disk.crash(CrashStrategy::KeepNone), seed);
        let store = Store::open_with("db", small(), on(&disk)).unwrap();
        assert!(store.snapshot().unwrap().reader().get(TreeId::CATALOG, b"key").unwrap().is_some());
    }
}

/// Whoever makes a database, whose lock was taken away, had what he was making removed by the next.
#[cfg(unix)]
fn what_another_is_making_stays() {
    let folder =
        std::env::temp_dir().join(format!("cairn-begun-{}-{:?}", std::process::id(), std::thread::current().id()));
    std::fs::create_dir_all(&folder).unwrap();
    let [path, begun] = ["db", "db-new"].map(|name| folder.join(name));
    std::fs::write(&begun, b"").unwrap();
    let making = RealFs.lock_made(&begun).unwrap();
    let opened = Store::open(&path, Options::default()).map(drop);
    let is_there = begun.exists();
    drop(making);
    let again = Store::open(&path, Options::default()).map(drop);
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(matches!(opened, Err(Error::Busy { .. })) && is_there, "{opened:?}");
    again.unwrap();
}

#[cfg(unix)]
#[test]
fn who_makes_a_database_leaves_alone_what_another_is_making() {
    what_another_is_making_stays();
    must_be_caught(Broken::BegunTaken, what_another_is_making_stays);
}
