//! One writer of a database at a time or any number of readers, among processes and among the stores of one process.
//!
//! The lock of `name` is the operating system's lock on the file `name-lock` beside it, which holds the owner's process
//! id for whoever comes second. The system releases it when the owner dies, so there are no stale locks, only stale
//! files. The owner removes the file while it still holds the lock, if the name still is that file's (whoever moved the
//! database away may have put another in its place); an opener that locked a file which has lost its name
//! meanwhile notices and begins again, so remover and next opener cannot both win.
//!
//! Where that file cannot be created (read-only media, a directory of others), the database file itself is locked:
//! shared by those who can only read it, exclusively by those who could write. Owners of a lock file lock it too, so
//! that neither kind misses the other, nor a second name (a hard link) of the same file, nor one whose lock file somebody
//! removed; what an owner creates it locks before the file has its name. In such a place the
//! database file is locked before the lock file is looked at: an owner that creates the database has its lock file first.
//!
//! Who only reads takes a shared lock on the database file, wherever it lies, and leaves no file behind; it gives way to an
//! owner whose lock file it sees. An owner that finds the database file locked tries again for a moment, since such a reader
//! may just be giving way. (On Windows, where owners do not lock the database file, readers are owners like others.)

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::face::LockOutcome;
use super::system;
use crate::broken::{self, Broken};
use crate::process::Process;

/// Tries to lock the database file `path`, which need not exist yet.
pub(super) fn lock(path: &Path) -> io::Result<LockOutcome> {
    let database = resolve(path)?;
    let lock_path = lock_path(&database);
    match lock_by_file(&database, &lock_path) {
        Err(error) if cannot_create(&error) => match lock_without_file(&database, &lock_path) {
            Err(missing) if missing.kind() == ErrorKind::NotFound => Err(error),
            outcome => outcome,
        },
        outcome => outcome,
    }
}

/// How long an owner waits for readers that give way.
const GIVING_WAY: Duration = Duration::from_millis(50);

/// As `lock`, for who only reads: beside others that do.
pub(super) fn lock_shared(path: &Path) -> io::Result<LockOutcome> {
    if cfg!(windows) {
        return lock(path);
    }
    let database = resolve(path)?;
    lock_database_only(&database, &lock_path(&database), true)
}

/// Locks a file that the owner has just made.
pub(super) fn lock_made(path: &Path) -> io::Result<LockOutcome> {
    match lock_database(path, false)? {
        DatabaseLock::Held(file) => Ok(LockOutcome::Held(Box::new(file))),
        DatabaseLock::Busy => Ok(LockOutcome::Busy { pid: None }),
        // Where the lock file alone counts.
        DatabaseLock::Missing => Ok(LockOutcome::Held(Box::new(()))),
    }
}

/// The one path that all names through symbolic links lead to.
fn resolve(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
            Ok(fs::canonicalize(parent)?.join(path.file_name().ok_or(ErrorKind::InvalidInput)?))
        }
        result => result,
    }
}

fn lock_path(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push("-lock");
    name.into()
}

fn cannot_create(error: &io::Error) -> bool {
    use ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    matches!(error.kind(), PermissionDenied | QuotaExceeded | ReadOnlyFilesystem | StorageFull)
}

fn busy(lock_path: &Path) -> io::Result<LockOutcome> {
    Ok(LockOutcome::Busy { pid: read_pid(lock_path) })
}

/// The owner's process id. It may have locked a moment ago and not have written it yet: `None`.
fn read_pid(lock_path: &Path) -> Option<u32> {
    let mut text = String::new();
    File::open(lock_path).ok()?.take(20).read_to_string(&mut text).ok()?;
    text.trim_end().parse().ok()
}

fn lock_by_file(database: &Path, lock_path: &Path) -> io::Result<LockOutcome> {
    let Some(file) = take_lock_file(lock_path)? else { return busy(lock_path) };
    let owned = OwnedLockFile { file: LockedFile::new(file), path: lock_path.to_owned() };
    // On a full disk the lock holds all the same, only nobody learns the id.
    let _ = system::write_some_at(&owned.file.0, format!("{}\n", std::process::id()).as_bytes(), 0);
    let until = Instant::now() + GIVING_WAY;
    loop {
        match lock_database(database, false)? {
            DatabaseLock::Busy if Instant::now() < until => std::thread::sleep(GIVING_WAY / 10),
            DatabaseLock::Busy => return Ok(LockOutcome::Busy { pid: None }),
            DatabaseLock::Held(database) => return Ok(LockOutcome::Held(Box::new((database, owned)))),
            DatabaseLock::Missing => return Ok(LockOutcome::Held(Box::new(owned))),
        }
    }
}

/// The lock file, locked and empty, or `None` if another holds it.
fn take_lock_file(lock_path: &Path) -> io::Result<Option<File>> {
    loop {
        let Some(file) = system::open_lock_file(lock_path)? else { return Ok(None) };
        if system::still_named(&file, lock_path)? {
            file.set_len(0)?;
            return Ok(Some(file));
        }
    }
}

enum DatabaseLock {
    Held(LockedFile),
    Missing,
    Busy,
}

/// Locks the database file itself. Not on Windows unless shared, where a lock keeps the owner's other handles out too.
fn lock_database(database: &Path, shared: bool) -> io::Result<DatabaseLock> {
    if cfg!(windows) && !shared {
        return Ok(DatabaseLock::Missing);
    }
    // Network file systems make a flock a lock on bytes, and an exclusive one of those needs a file that may be written.
    let file = match File::options().read(true).write(!shared).open(database) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(DatabaseLock::Missing),
        result => result?,
    };
    match if shared { file.try_lock_shared() } else { file.try_lock() } {
        Ok(()) => Ok(DatabaseLock::Held(LockedFile::new(file))),
        Err(TryLockError::WouldBlock) => Ok(DatabaseLock::Busy),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn lock_without_file(database: &Path, lock_path: &Path) -> io::Result<LockOutcome> {
    let writable = fs::OpenOptions::new().write(true).open(database).is_ok();
    lock_database_only(database, lock_path, !writable)
}

/// The lock on the database file, if nobody has the lock file.
fn lock_database_only(database: &Path, lock_path: &Path, shared: bool) -> io::Result<LockOutcome> {
    let held = match lock_database(database, shared)? {
        DatabaseLock::Held(file) => file,
        DatabaseLock::Busy => return busy(lock_path),
        DatabaseLock::Missing => return Err(ErrorKind::NotFound.into()),
    };
    match system::lock_is_held(lock_path)? {
        true => busy(lock_path),
        false => Ok(LockOutcome::Held(Box::new(held))),
    }
}

/// A locked file, unlocked when it is dropped: not in a child of the process, which shares the lock.
struct LockedFile(File, Process);

impl LockedFile {
    fn new(file: File) -> LockedFile {
        LockedFile(file, Process::current())
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        // Closing would do, had no child process inherited the descriptor between its fork and its exec.
        if self.1.is_current() {
            let _ = self.0.unlock();
        }
    }
}

/// A locked lock file, removed before it is released.
struct OwnedLockFile {
    file: LockedFile,
    path: PathBuf,
}

impl Drop for OwnedLockFile {
    fn drop(&mut self) {
        if !self.file.1.is_current() {
            return;
        }
        // Failing to remove it leaves a file that the next owner takes over.
        if broken::is(Broken::LockRemovedByName) || system::still_named(&self.file.0, &self.path).unwrap_or(false) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;
    use crate::io::testing::TempDir;

    const HOLDER_PATH: &str = "CAIRN_TEST_LOCK_PATH";

    fn is_held(outcome: &LockOutcome) -> bool {
        matches!(outcome, LockOutcome::Held(_))
    }

    #[test]
    fn a_second_opener_in_the_process_learns_the_pid_and_nothing_is_left_behind() {
        let dir = TempDir::new();
        let path = dir.path().join("db");
        let held = lock(&path).unwrap();
        assert!(is_held(&held));
        let LockOutcome::Busy { pid } = lock(&path).unwrap() else { panic!("locked twice") };
        assert_eq!(pid, Some(std::process::id()));
        drop(held);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        assert!(is_held(&lock(&path).unwrap()));
    }

    #[test]
    #[ignore = "the other process of the test below"]
    fn holder_process() {
        let path = std::env::var_os(HOLDER_PATH).expect("run by the other test");
        let held = lock(Path::new(&path)).unwrap();
        assert!(is_held(&held));
        println!("held");
        thread::sleep(std::time::Duration::from_secs(60));
    }

    #[test]
    fn a_killed_process_leaves_no_lock() {
        let dir = TempDir::new();
        let path = dir.path().join("db");
        fs::write(&path, b"database").unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "io::lock::tests::holder_process", "--ignored", "--nocapture"])
            .env(HOLDER_PATH, &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        assert!(output.lines().any(|line| line.unwrap().contains("held")));
        let LockOutcome::Busy { pid } = lock(&path).unwrap() else { panic!("locked by two processes") };
        assert_eq!(pid, Some(child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(is_held(&lock(&path).unwrap()));
    }

    #[test]
    fn openers_and_removers_in_a_race_never_both_hold() {
        let dir = TempDir::new();
        let path = dir.path().join("db");
        let holders = AtomicUsize::new(0);
        let wins = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..3000 {
                        let outcome = lock(&path).unwrap();
                        if is_held(&outcome) {
                            assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0);
                            wins.fetch_add(1, Ordering::SeqCst);
                            thread::yield_now();
                            holders.fetch_sub(1, Ordering::SeqCst);
                        }
                    }
                });
            }
        });
        assert!(wins.load(Ordering::SeqCst) > 0);
    }

    #[cfg(unix)]
    #[test]
    fn readers_share_and_keep_owners_out_and_owners_them() {
        let dir = TempDir::new();
        let path = dir.path().join("db");
        assert_eq!(lock_shared(&path).unwrap_err().kind(), ErrorKind::NotFound);
        fs::write(&path, b"database").unwrap();
        let readers = [lock_shared(&path).unwrap(), lock_shared(&path).unwrap()];
        assert!(readers.iter().all(is_held));
        assert!(!is_held(&lock(&path).unwrap()));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "neither left a file");
        drop(readers);
        let held = lock(&path).unwrap();
        let LockOutcome::Busy { pid } = lock_shared(&path).unwrap() else { panic!("read beside an owner") };
        assert_eq!(pid, Some(std::process::id()));
        drop(held);
        assert!(is_held(&lock_shared(&path).unwrap()));
        // Another name of the file, and a database that somebody owns who has not created it yet.
        std::os::unix::fs::symlink(&path, dir.path().join("symbolic")).unwrap();
        fs::hard_link(&path, dir.path().join("hard")).unwrap();
        let _held = lock(&path).unwrap();
        for name in ["symbolic", "hard"] {
            assert!(!is_held(&lock_shared(&dir.path().join(name)).unwrap()), "{name}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn owners_and_readers_in_a_race_are_never_there_together() {
        let dir = TempDir::new();
        let path = dir.path().join("db");
        fs::write(&path, b"database").unwrap();
        // Readers below, an owner above.
        const OWNER: usize = 1 << 16;
        let inside = AtomicUsize::new(0);
        let (owned, read) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for of in 0..4 {
                let (inside, owned, read, path) = (&inside, &owned, &read, &path);
                scope.spawn(move || {
                    for _ in 0..if of < 2 { 60 } else { 2000 } {
                        let (outcome, weight) = match of < 2 {
                            true => (lock(path).unwrap(), OWNER),
                            false => (lock_shared(path).unwrap(), 1),
                        };
                        if is_held(&outcome) {
                            let before = inside.fetch_add(weight, Ordering::SeqCst);
                            assert!(before < OWNER && (weight == 1 || before == 0), "{before} before {weight}");
                            if weight == OWNER { owned } else { read }.fetch_add(1, Ordering::SeqCst);
                            thread::yield_now();
                            inside.fetch_sub(weight, Ordering::SeqCst);
                        }
                    }
                });
            }
        });
        assert!(owned.load(Ordering::SeqCst) > 0 && read.load(Ordering::SeqCst) > 0);
    }

    #[cfg(unix)]
    #[test]
    fn a_lock_file_that_lost_its_name_is_noticed() {
        let dir = TempDir::new();
        let path = dir.path().join("db-lock");
        let file = system::open_lock_file(&path).unwrap().unwrap();
        assert!(system::still_named(&file, &path).unwrap());
        fs::remove_file(&path).unwrap();
        assert!(!system::still_named(&file, &path).unwrap());
        fs::write(&path, b"the next owner's").unwrap();
        assert!(!system::still_named(&file, &path).unwrap());
    }

    #[cfg(unix)]
    #[test]
    fn symbolic_and_hard_links_are_the_same_database() {
        let dir = TempDir::new();
        let path = dir.path().join("db");
        fs::write(&path, b"database").unwrap();
        std::os::unix::fs::symlink(&path, dir.path().join("symbolic")).unwrap();
        fs::hard_link(&path, dir.path().join("hard")).unwrap();
        let _held = lock(&path).unwrap();
        for name in ["symbolic", "hard"] {
            assert!(!is_held(&lock(&dir.path().join(name)).unwrap()), "{name}");
        }
    }

    #[test]
    fn without_a_lock_file_the_database_file_is_locked() {
        let dir = TempDir::new();
        let path = dir.path().join("db");
        let lock_path = lock_path(&path);
        fs::write(&path, b"database").unwrap();
        let held = lock_without_file(&path, &lock_path).unwrap();
        assert!(is_held(&held));
        assert!(!is_held(&lock_without_file(&path, &lock_path).unwrap()));
        assert!(cfg!(windows) || !is_held(&lock_by_file(&path, &lock_path).unwrap()));
        drop(held);
        let held = lock_by_file(&path, &lock_path).unwrap();
        assert!(is_held(&held));
        assert!(!is_held(&lock_without_file(&path, &lock_path).unwrap()));
    }

    #[test]
    fn an_owner_that_has_not_created_the_database_file_yet_is_noticed_by_its_lock_file() {
        let dir = TempDir::new();
        let path = dir.path().join("db");
        let held = lock_by_file(&path, &lock_path(&path)).unwrap();
        assert!(is_held(&held));
        fs::write(&path, b"created after locking").unwrap();
        let LockOutcome::Busy { pid } = lock_without_file(&path, &lock_path(&path)).unwrap() else { panic!("missed") };
        assert_eq!(pid, Some(std::process::id()));
    }
}
