//! Copying a snapshot into a new database file, while the database is in use.
//!
//! What must hold: a file that has the name asked for is a whole copy. It is made under another name, and what is left
//! there by a failure, a panic of the caller's `progress`, or a crash is removed, at once or by the next backup.

use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::handle::Store;
use crate::broken::{self, Broken};
use crate::io::{FileSystem, LockOutcome};
use crate::log::log_path;
use crate::{Durability, Error, Options, Result, Snapshot};

/// Bytes put into the copy per transaction.
const STEP: usize = 512 << 10;

/// Writes every tree of the newest state into a database of its own, which gets the same tree ids.
pub(super) fn backup(store: &Store, path: &Path, progress: &mut dyn FnMut(u64)) -> Result<()> {
    let snapshot = Snapshot::unending(store.handle())?;
    let env = store.copies().clone();
    let files = env.files.as_ref();
    let cannot_open = |error| Error::CannotOpen { path: path.to_path_buf(), error: Arc::new(error) };
    let path = files.absolute(path).map_err(cannot_open)?;
    if files.exists(&path).map_err(Error::io("look for the backup"))? {
        return Err(cannot_open(std::io::ErrorKind::AlreadyExists.into()));
    }
    let options = Options {
        page_size: store.page_size(),
        durability: Durability::Off,
        max_transaction_bytes: 0,
        max_snapshot_age: None,
        read_only: false,
        must_exist: false,
        ..store.engine().options.clone()
    };
    let unfinished = Unfinished::begin(files, &path)?;
    let copy = Store::open_with(&unfinished.path, options, env.clone())?;
    let mut written = 0;
    for tree in snapshot.trees() {
        let newest = broken::is(Broken::BackupTorn).then(|| Snapshot::unending(store.handle())).transpose()?;
        copy_tree(newest.as_ref().unwrap_or(&snapshot), &copy, tree, &mut written, progress)?;
    }
    let next_tree = store.engine().next_tree.load(crate::sync::Ordering::Relaxed);
    copy.engine().next_tree.fetch_max(next_tree, crate::sync::Ordering::Relaxed);
    // The lock is kept until the copy has its name.
    copy.clone().close()?;
    unfinished.finish(&path)
}

/// The copy's name until it is whole.
struct Unfinished<'a> {
    files: &'a dyn FileSystem,
    path: PathBuf,
}

impl<'a> Unfinished<'a> {
    /// Removes what a crash left. Fails where somebody makes the same backup right now.
    fn begin(files: &'a dyn FileSystem, target: &Path) -> Result<Unfinished<'a>> {
        let mut name = target.as_os_str().to_os_string();
        name.push("-unfinished");
        let unfinished = Unfinished { files, path: PathBuf::from(name) };
        match files.lock(&unfinished.path) {
            Ok(LockOutcome::Held(_while_removing)) => unfinished.remove(),
            Ok(LockOutcome::Busy { pid }) => return Err(Error::Busy { path: unfinished.keep(), pid }),
            Err(error) => {
                return Err(Error::CannotOpen { path: unfinished.keep(), error: Arc::new(error) });
            }
        }
        Ok(unfinished)
    }

    fn finish(self, target: &Path) -> Result<()> {
        self.files.rename(&self.path, target).map_err(Error::io("name the backup"))?;
        let files = self.files;
        self.keep();
        files.sync_directory(target).map_err(Error::io("sync the backup's directory"))
    }

    /// What is there under the name is not this backup's.
    fn keep(mut self) -> PathBuf {
        let path = std::mem::take(&mut self.path);
        std::mem::forget(self);
        path
    }

    /// There may be both, one of them, or none.
    fn remove(&self) {
        let _ = self.files.remove(&self.path);
        let _ = self.files.remove(&log_path(&self.path));
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        self.remove();
    }
}

fn copy_tree(
    snapshot: &crate::Snapshot,
    copy: &Store,
    tree: crate::TreeId,
    written: &mut u64,
    progress: &mut dyn FnMut(u64),
) -> Result<()> {
    let mut cursor = snapshot.reader().cursor(tree, Bound::Unbounded, Bound::Unbounded)?;
    let mut transaction = copy.begin()?;
    transaction.ensure_tree(tree)?;
    let mut bytes = 0;
    while let Some((key, value)) = cursor.next()? {
        transaction.put(tree, key, value)?;
        bytes += key.len() + value.len();
        if bytes >= STEP {
            transaction.commit(None)?;
            *written += std::mem::take(&mut bytes) as u64;
            progress(*written);
            transaction = copy.begin()?;
        }
    }
    if !broken::is(Broken::BackupShort) {
        transaction.commit(None)?;
    }
    *written += bytes as u64;
    progress(*written);
    Ok(())
}
