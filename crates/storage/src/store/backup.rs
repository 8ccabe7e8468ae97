//! Copying a snapshot into a new database file, while the database is in use.
//!
//! What must hold: a file that has the name asked for is a whole copy, and nothing that has got that name meanwhile is
//! overwritten. A copy is made under another name, which is locked from before the first look at what lies there until the
//! copy has its name or is removed: of several who make the same copy one goes on. What is left
//! there by a failure, a panic of the caller's `progress`, or a crash is removed, at once or by the next backup: a database whose id
//! says that it was made as a copy, and its log. Whatever else has that name is left alone, and the backup is refused.

use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::create::{cannot_open, replaced};
use super::handle::Store;
use super::open::{is_copys, read_meta};
use crate::broken::{self, Broken};
use crate::env::Environment;
use crate::io::{Create, File, FileSystem, LockGuard, LockOutcome, OpenHow};
use crate::log::format::BLOCK;
use crate::log::{Segments, log_path};
use crate::process::Process;
use crate::{Durability, Error, Options, Result, Snapshot, Transaction, TreeId};

/// Bytes put into the copy per transaction.
const STEP: usize = 512 << 10;

/// Where a state goes: its trees, each with its entries in order, then the end.
pub(super) trait Target {
    /// The tree that the next entries are of.
    fn tree(&mut self, tree: TreeId) -> Result<()>;
    fn entry(&mut self, key: &[u8], value: &[u8]) -> Result<()>;
    /// All is said, and trees made from now on have this number at least.
    fn end(&mut self, next_tree: u32) -> Result<()>;
}

/// Writes every tree of the newest state into a database of its own, which gets the same tree ids.
pub(super) fn backup(store: &Store, path: &Path, progress: &mut dyn FnMut(u64)) -> Result<()> {
    let options = Options { page_size: store.page_size(), ..store.engine().options.clone() };
    let mut copy = NewCopy::begin(store.copies(), path, options, progress)?;
    send(store, &mut copy)?;
    copy.finish()
}

/// Gives every tree of the newest state to `target`.
pub(super) fn send(store: &Store, target: &mut dyn Target) -> Result<()> {
    let snapshot = Snapshot::unending(store.handle())?;
    for tree in snapshot.trees() {
        let newest = broken::is(Broken::BackupTorn).then(|| Snapshot::unending(store.handle())).transpose()?;
        send_tree(newest.as_ref().unwrap_or(&snapshot), tree, target)?;
    }
    target.end(store.engine().next_tree.load(crate::sync::Ordering::Relaxed))
}

fn send_tree(snapshot: &Snapshot, tree: TreeId, target: &mut dyn Target) -> Result<()> {
    let mut cursor = snapshot.reader().cursor(tree, Bound::Unbounded, Bound::Unbounded)?;
    target.tree(tree)?;
    while let Some((key, value)) = cursor.next()? {
        target.entry(key, value)?;
    }
    Ok(())
}

/// A copy that is being made. Its parts are let go of in this order: the file is closed before it is removed, and removed
/// before its lock is given back.
pub(super) struct NewCopy<'a> {
    /// The entries that wait, and their tree.
    transaction: Option<(TreeId, Transaction)>,
    copy: Store,
    unfinished: Unfinished<'a>,
    path: PathBuf,
    /// Bytes that wait, and all until now.
    waiting: usize,
    written: u64,
    progress: &'a mut dyn FnMut(u64),
}

impl<'a> NewCopy<'a> {
    /// Of `options` those matter that a file keeps for good, and the memory it takes.
    pub(super) fn begin(
        env: &'a Environment,
        path: &Path,
        options: Options,
        progress: &'a mut dyn FnMut(u64),
    ) -> Result<NewCopy<'a>> {
        let files = env.files.as_ref();
        let path = files.absolute(path).map_err(cannot_open(path))?;
        if files.exists(&path).map_err(Error::io("look for the backup"))? {
            return Err(cannot_open(&path)(std::io::ErrorKind::AlreadyExists.into()));
        }
        let options = Options {
            durability: Durability::Off,
            max_transaction_bytes: 0,
            max_snapshot_age: None,
            read_only: false,
            must_exist: false,
            is_copy: true,
            ..options
        };
        options.check()?;
        let mut unfinished = Unfinished::begin(files, &path)?;
        let copy = Store::open_held(unfinished.path.clone(), options, env.clone(), env.clone(), None)?;
        unfinished.made = Some(copy.engine().pages.file().clone());
        Ok(NewCopy { transaction: None, copy, unfinished, path, waiting: 0, written: 0, progress })
    }

    fn commit(&mut self) -> Result<()> {
        if let Some((_, transaction)) = self.transaction.take() {
            transaction.commit(None)?;
            self.written += std::mem::take(&mut self.waiting) as u64;
            (self.progress)(self.written);
        }
        Ok(())
    }

    fn end_tree(&mut self) -> Result<()> {
        if broken::is(Broken::BackupShort) {
            self.transaction = None;
        }
        self.commit()
    }

    /// Gives the copy its name.
    pub(super) fn finish(self) -> Result<()> {
        self.copy.clone().close()?;
        if !self.copy.has_its_name()? {
            return Err(replaced(&self.unfinished.path));
        }
        self.unfinished.finish(&self.path)
    }
}

impl Target for NewCopy<'_> {
    fn tree(&mut self, tree: TreeId) -> Result<()> {
        self.end_tree()?;
        let transaction = self.copy.begin()?;
        transaction.ensure_tree(tree)?;
        self.transaction = Some((tree, transaction));
        Ok(())
    }

    fn entry(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let Some((tree, transaction)) = &self.transaction else {
            return Err(Error::corrupt("a copy has an entry of no tree"));
        };
        let tree = *tree;
        self.copy.engine().allow_in_log(self.waiting + key.len() + value.len())?;
        transaction.put(tree, key, value)?;
        self.waiting += key.len() + value.len();
        if self.waiting >= STEP {
            self.commit()?;
            self.transaction = Some((tree, self.copy.begin()?));
        }
        Ok(())
    }

    fn end(&mut self, next_tree: u32) -> Result<()> {
        self.end_tree()?;
        self.copy.engine().next_tree.fetch_max(next_tree, crate::sync::Ordering::Relaxed);
        Ok(())
    }
}

/// The copy's name until it is whole, and the lock of it.
struct Unfinished<'a> {
    files: &'a dyn FileSystem,
    path: PathBuf,
    /// `None` once the copy has its own name. Let go of after what is left was removed.
    lock: Option<LockGuard>,
    /// The copy's file, once there is one.
    made: Option<Arc<dyn File>>,
    /// Who makes it: none of its children.
    process: Process,
}

impl<'a> Unfinished<'a> {
    /// Removes what a crash left. Fails where somebody makes the same backup right now.
    fn begin(files: &'a dyn FileSystem, target: &Path) -> Result<Unfinished<'a>> {
        let mut name = target.as_os_str().to_os_string();
        name.push("-unfinished");
        let path = PathBuf::from(name);
        let lock = match files.lock(&path) {
            Ok(LockOutcome::Held(lock)) => lock,
            Ok(LockOutcome::Busy { pid }) => return Err(Error::Busy { path, pid, is_read: false }),
            Err(error) => return Err(cannot_open(&path)(error)),
        };
        remove_left(files, &path)?;
        let unfinished = Unfinished { files, path, lock: Some(lock), made: None, process: Process::current() };
        match broken::is(Broken::BackupUnlocked) {
            false => Ok(unfinished),
            true => {
                Ok(Unfinished { lock: Some(Box::new(())), path: unfinished.path.clone(), made: None, ..unfinished })
            }
        }
    }

    fn finish(mut self, target: &Path) -> Result<()> {
        match broken::is(Broken::BackupOverwrites) {
            true => self.files.rename(&self.path, target).map_err(Error::io("name the backup"))?,
            false => self.files.rename_new(&self.path, target).map_err(cannot_open(target))?,
        }
        let synced = self.files.sync_directory(target).map_err(Error::io("sync the backup's directory"));
        if synced.is_err() && self.made.as_ref().is_some_and(|made| made.has_name(target).unwrap_or(false)) {
            // No later sync says that the name is durable.
            let _ = self.files.remove(target);
        }
        self.lock = None;
        synced
    }

    /// Where the folder was moved, and another has its name, what is there is not ours.
    fn remove(&self) {
        match &self.made {
            Some(made) if !made.has_name(&self.path).unwrap_or(false) => {}
            Some(_) => {
                let _ = self.files.remove(&self.path);
                let _ = self.files.remove(&log_path(&self.path));
            }
            None => drop(remove_left(self.files, &self.path)),
        }
    }
}

/// Removes what an earlier copy left, whose lock is held: the file, its log, both or none.
fn remove_left(files: &dyn FileSystem, path: &Path) -> Result<()> {
    let (log, how) = (log_path(path), OpenHow { create: Create::Never, read_only: true, direct: false });
    let is_there = |path| files.exists(path).map_err(cannot_open(path));
    let (has_file, has_log) = (is_there(path)?, is_there(&log)?);
    if has_file && !broken::is(Broken::BackupTakesName) {
        let file = files.open(path, how).map_err(cannot_open(path))?;
        match read_meta(&file, path) {
            Ok(meta) if is_copys(meta.database) => {}
            Err(error @ (Error::Io { .. } | Error::DiskFull { .. })) => return Err(error),
            _ => return Err(others(path)),
        }
    }
    if has_log && !broken::is(Broken::BackupTakesName) {
        // One that was not begun is empty, or a part of its header.
        let (file, identity) = Segments::open(files, &log, true)?;
        let is_ours = identity.is_some_and(|identity| is_copys(identity.database));
        let is_begun = file.len().map_err(Error::io("read the log's length"))? <= BLOCK as u64;
        let is_nothing_yet = has_file && identity.is_none() && is_begun;
        if !(is_ours || is_nothing_yet) {
            return Err(others(&log));
        }
    }
    let remove = |path: &Path| files.remove(path).map_err(Error::io("remove what an earlier backup left"));
    // Without its file a log is known by its own header.
    if has_file {
        remove(path)?;
    }
    if has_log { remove(&log) } else { Ok(()) }
}

fn others(path: &Path) -> Error {
    let why = "a backup is made under this name first, and something else has it; give that another name";
    cannot_open(path)(std::io::Error::new(std::io::ErrorKind::AlreadyExists, why))
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if self.lock.is_some() && self.process.is_current() {
            self.remove();
        }
    }
}
