//! Copying a snapshot into a new database file, while the database is in use.

use std::ops::Bound;
use std::path::Path;

use super::handle::Store;
use crate::broken::{self, Broken};
use crate::{Durability, Error, Options, Result, Snapshot};

/// Bytes put into the copy per transaction.
const STEP: usize = 512 << 10;

/// Writes every tree of the newest state into a database of its own, which gets the same tree ids.
pub(super) fn backup(store: &Store, path: &Path, progress: &mut dyn FnMut(u64)) -> Result<()> {
    let snapshot = Snapshot::unending(store.handle())?;
    let env = store.engine().env.clone();
    if env.files.exists(path).map_err(Error::io("look for the backup"))? {
        let error = std::sync::Arc::new(std::io::ErrorKind::AlreadyExists.into());
        return Err(Error::CannotOpen { path: path.to_path_buf(), error });
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
    let copy = Store::open_with(path, options, env)?;
    let mut written = 0;
    for tree in snapshot.trees() {
        let newest = broken::is(Broken::BackupTorn).then(|| Snapshot::unending(store.handle())).transpose()?;
        copy_tree(newest.as_ref().unwrap_or(&snapshot), &copy, tree, &mut written, progress)?;
    }
    let next_tree = store.engine().next_tree.load(crate::sync::Ordering::Relaxed);
    copy.engine().next_tree.fetch_max(next_tree, crate::sync::Ordering::Relaxed);
    copy.close()
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
