//! Files that are not those that were opened any more: moved, replaced, linked, removed beside a database that is open.
#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::{fmt, fs, io};

use cairn_storage::broken::{Broken, must_be_caught};
use cairn_storage::io::{File, FileSystem, LockOutcome, OpenHow};
use cairn_storage::{Environment, Error, Options, RealHost, Store, TreeId};

use super::put;

/// A folder of a test's own.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("cairn-moved-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join("data")).unwrap();
        Folder(fs::canonicalize(path).unwrap())
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn open(path: &Path) -> Store {
    Store::open(path, Options::default()).unwrap()
}

fn keys(path: &Path) -> u32 {
    let store = open(path);
    let snapshot = store.snapshot().unwrap();
    (0..).take_while(|key: &u32| snapshot.reader().get(TreeId::CATALOG, &key.to_be_bytes()).unwrap().is_some()).count()
        as u32
}

fn fill(store: &Store, keys: u32) {
    (0..keys).for_each(|key| put(store, &key.to_be_bytes(), 10).unwrap());
}

/// The whole folder, and another one made in its place.
fn move_folder(folder: &Folder) {
    fs::rename(folder.at("data"), folder.at("old")).unwrap();
    fs::create_dir(folder.at("data")).unwrap();
}

/// The files only.
fn move_files(folder: &Folder) {
    fs::create_dir(folder.at("old")).unwrap();
    for entry in fs::read_dir(folder.at("data")).unwrap() {
        let from = entry.unwrap().path();
        fs::rename(&from, folder.at("old").join(from.file_name().unwrap())).unwrap();
    }
}

/// It removed the log and the lock file of the other, by name: what was committed there was gone with the next kill.
fn a_close_after_the_files_were_moved_leaves_the_next_ones_alone() {
    for away in [move_folder, move_files] {
        let folder = Folder::new();
        let (path, old) = (folder.at("data/db"), folder.at("old/db"));
        let first = open(&path);
        fill(&first, 50);
        assert!(first.has_its_name().unwrap());
        away(&folder);
        assert!(!first.has_its_name().unwrap());
        let second = open(&path);
        fill(&second, 100);
        first.close().unwrap();
        assert!(path.with_file_name("db-log").exists(), "the log is gone");
        assert!(path.with_file_name("db-lock").exists(), "the lock file is gone");
        assert!(matches!(Store::open(&path, Options::default()), Err(Error::Busy { .. })));
        // As a kill would leave them.
        fs::create_dir(folder.at("killed")).unwrap();
        for name in ["db", "db-log"] {
            fs::copy(path.with_file_name(name), folder.at("killed").join(name)).unwrap();
        }
        assert_eq!(keys(&folder.at("killed/db")), 100);
        assert_eq!(keys(&old), 50);
        let names: Vec<_> = fs::read_dir(folder.at("old")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["db"], "the next one cleans up");
        second.close().unwrap();
        assert_eq!(keys(&path), 100);
    }
}

#[test]
fn what_is_removed_is_the_file_that_is_open() {
    a_close_after_the_files_were_moved_leaves_the_next_ones_alone();
    must_be_caught(Broken::RemovedByName, a_close_after_the_files_were_moved_leaves_the_next_ones_alone);
    must_be_caught(Broken::LockRemovedByName, a_close_after_the_files_were_moved_leaves_the_next_ones_alone);
}

/// Nor does it matter where nothing is there any more: "could not remove the log: No such file".
#[test]
fn a_close_after_the_files_were_moved_or_removed_is_a_success() {
    let folder = Folder::new();
    let store = open(&folder.at("data/db"));
    fill(&store, 10);
    fs::rename(folder.at("data"), folder.at("old")).unwrap();
    store.close().unwrap();
    assert_eq!(keys(&folder.at("old/db")), 10);
    let store = open(&folder.at("old/db"));
    fs::remove_dir_all(folder.at("old")).unwrap();
    store.close().unwrap();
}

/// "could not look for the log: Not a directory", of a database that was closed.
#[test]
fn a_close_after_a_file_got_the_name_of_the_folder_is_a_success() {
    let folder = Folder::new();
    let store = open(&folder.at("data/db"));
    fill(&store, 10);
    fs::rename(folder.at("data"), folder.at("old")).unwrap();
    fs::write(folder.at("data"), b"a file").unwrap();
    assert!(!store.has_its_name().unwrap());
    store.close().unwrap();
    assert_eq!(keys(&folder.at("old/db")), 10);
}

/// The machine's files, with something done the first time that a file's folder is to be synced.
struct AtSync {
    files: Arc<dyn FileSystem>,
    of: PathBuf,
    is_done: AtomicBool,
    act: Box<dyn Fn() -> io::Result<()> + Send + Sync>,
}

impl AtSync {
    fn environment(of: PathBuf, act: impl Fn() -> io::Result<()> + Send + Sync + 'static) -> Environment {
        let (files, is_done) = (Environment::real().files, AtomicBool::new(false));
        let files = Arc::new(AtSync { files, of, is_done, act: Box::new(act) });
        Environment { files, host: Arc::new(RealHost::default()) }
    }
}

impl fmt::Debug for AtSync {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AtSync")
    }
}

impl FileSystem for AtSync {
    fn open(&self, path: &Path, how: OpenHow) -> io::Result<Arc<dyn File>> {
        self.files.open(path, how)
    }

    fn absolute(&self, path: &Path) -> io::Result<PathBuf> {
        self.files.absolute(path)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.files.exists(path)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.files.remove(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.files.rename(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.files.rename_new(from, to)
    }

    fn take_place(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.files.take_place(from, to)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.files.sync_directory(path)?;
        match path == self.of && !self.is_done.swap(true, Ordering::Relaxed) {
            true => (self.act)(),
            false => Ok(()),
        }
    }

    fn lock(&self, path: &Path) -> io::Result<LockOutcome> {
        self.files.lock(path)
    }

    fn lock_made(&self, path: &Path) -> io::Result<LockOutcome> {
        self.files.lock_made(path)
    }
}

/// A log is opened a second time, by its name, to make it longer: zeroes went into the log of another database, which had it
/// by then.
#[test]
fn a_log_that_is_made_longer_is_the_one_that_was_made() {
    let folder = Folder::new();
    let (path, others) = (folder.at("data/db"), folder.at("others"));
    fs::create_dir(&others).unwrap();
    let other = open(&others.join("db"));
    fill(&other, 100);
    let log = fs::read(others.join("db-log")).unwrap();
    let (data, old, there) = (folder.at("data"), folder.at("old"), others.clone());
    let env = AtSync::environment(folder.at("data/db-log"), move || {
        fs::rename(&data, &old)?;
        fs::rename(&there, &data)
    });
    let refused = Store::open_with(&path, Options::default(), env).unwrap_err();
    assert!(
        fs::read(folder.at("data/db-log")).unwrap()[..log.len()] == log,
        "the other's log was written to: {refused}"
    );
    assert!(matches!(refused, Error::CannotOpen { .. }), "{refused}");
}

/// It was removed by its name, which another had by then.
#[test]
fn what_got_the_name_of_a_database_that_could_not_be_made_stays() {
    let folder = Folder::new();
    let (path, old) = (folder.at("data/db"), folder.at("old"));
    let (from, to) = (path.clone(), old.clone());
    let env = AtSync::environment(path.clone(), move || {
        fs::rename(&from, &to)?;
        fs::write(&from, b"another's")?;
        Err(io::Error::other("not synced"))
    });
    let refused = Store::open_with(&path, Options::default(), env).unwrap_err();
    assert!(refused.to_string().contains("not synced"), "{refused}");
    assert_eq!(fs::read(&path).unwrap(), b"another's");
}

fn is_busy(opened: Result<Store, Error>) -> bool {
    matches!(opened, Err(Error::Busy { .. }))
}

/// Only one that was there before it was opened was locked itself: beside one that was just made a hard link, or the removal
/// of the lock file, let a second writer in.
fn a_database_in_its_first_session_is_locked_itself() {
    for is_empty in [false, true] {
        let folder = Folder::new();
        let (path, link) = (folder.at("data/db"), folder.at("data/link"));
        if is_empty {
            fs::write(&path, b"").unwrap();
        }
        let store = open(&path);
        fill(&store, 10);
        for end in ["", "-log"] {
            fs::hard_link(folder.at(&format!("data/db{end}")), folder.at(&format!("data/link{end}"))).unwrap();
        }
        let mut reading = Options::default();
        reading.read_only = true;
        assert!(is_busy(Store::open(&link, Options::default())), "a second writer by a link");
        assert!(is_busy(Store::open(&link, reading.clone())), "a reader by a link");
        fs::remove_file(folder.at("data/db-lock")).unwrap();
        assert!(is_busy(Store::open(&path, Options::default())), "a second writer without the lock file");
        assert!(is_busy(Store::open(&path, reading)), "a reader without the lock file");
        fill(&store, 20);
        store.close().unwrap();
        assert_eq!(keys(&path), 20);
    }
}

#[test]
fn a_database_that_was_just_made_has_one_writer() {
    a_database_in_its_first_session_is_locked_itself();
    must_be_caught(Broken::FreshUnlocked, a_database_in_its_first_session_is_locked_itself);
}
