//! Where what is saved goes: the new database, and apart from it what is uncertain.

use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::report::Doubt;
use crate::bytes::{get_u32, get_u64};
use crate::engine::Openings;
use crate::env::Environment;
use crate::io::FileSystem;
use crate::log::log_path;
use crate::page::PageRef;
use crate::process::Process;
use crate::store::Store;
use crate::{Durability, Error, Options, Result, Transaction, TreeId};

/// Bytes put into a database per transaction; less where the log is small: one in so many of its limit.
const STEP: usize = 256 << 10;
const OF_LOG: u64 = 8;

/// A database that is being filled, in transactions of bounded size.
pub(super) struct Target {
    store: Store,
    transaction: Option<Transaction>,
    bytes: usize,
    /// No more together in a transaction.
    step: usize,
}

impl Target {
    /// Creates it.
    pub(super) fn create(path: &Path, page_size: usize, options: &Options, env: &Environment) -> Result<Target> {
        let step = (options.log_limit_bytes / OF_LOG).min(STEP as u64) as usize;
        let options = Options {
            page_size,
            durability: Durability::Off,
            max_transaction_bytes: 0,
            max_snapshot_age: None,
            read_only: false,
            must_exist: false,
            ..options.clone()
        };
        Ok(Target { store: Store::open_with(path, options, env.clone())?, transaction: None, bytes: 0, step })
    }

    /// For so many bytes more: what is large goes by itself.
    fn transaction_for(&mut self, bytes: usize) -> Result<&Transaction> {
        if self.bytes > 0 && self.bytes + bytes > self.step {
            self.bytes = 0;
            self.commit()?;
        }
        self.bytes += bytes;
        self.transaction()
    }

    fn transaction(&mut self) -> Result<&Transaction> {
        match &mut self.transaction {
            Some(open) => Ok(open),
            none => Ok(none.insert(self.store.begin()?)),
        }
    }

    fn commit(&mut self) -> Result<()> {
        self.transaction.take().map_or(Ok(()), |transaction| transaction.commit(None))
    }

    pub(super) fn ensure_tree(&mut self, tree: TreeId) -> Result<()> {
        self.transaction_for(64)?.ensure_tree(tree)
    }

    pub(super) fn drop_tree(&mut self, tree: TreeId) -> Result<()> {
        match self.transaction_for(64)?.drop_tree(tree) {
            Err(Error::NoSuchTree(_)) => Ok(()),
            result => result,
        }
    }

    pub(super) fn put(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<()> {
        self.store.engine().allow_in_log(key.len() + value.len())?;
        self.transaction_for(key.len() + value.len() + 16)?.put(tree, key, value)
    }

    pub(super) fn delete(&mut self, tree: TreeId, key: &[u8]) -> Result<bool> {
        self.transaction_for(key.len() + 16)?.delete(tree, key)
    }

    pub(super) fn patch(&mut self, tree: TreeId, key: &[u8], offset: usize, bytes: &[u8]) -> Result<()> {
        self.transaction_for(key.len() + bytes.len() + 16)?.patch(tree, key, offset, bytes)
    }

    pub(super) fn get(&mut self, tree: TreeId, key: &[u8]) -> Result<Option<Vec<u8>>> {
        match self.transaction()?.reader().get(tree, key) {
            Err(Error::NoSuchTree(_)) => Ok(None),
            result => result,
        }
    }

    /// No position of the damaged database passes for one of this, whatever it is told by.
    pub(super) fn come_after(&self, openings: Openings) {
        let mut state = self.store.engine().checkpoint.lock();
        state.meta.openings = Openings::behind(openings.number);
        // Which of the two meta pages is written next stays as it is.
        state.meta.sequence += 2 * state.meta.openings.number.saturating_sub(state.meta.sequence);
    }

    /// Counts the entries of trees that are not derived, and closes the database.
    pub(super) fn finish(mut self, next_tree: u32) -> Result<u64> {
        self.commit()?;
        let engine = self.store.engine();
        engine.next_tree.fetch_max(next_tree, crate::sync::Ordering::Relaxed);
        let snapshot = self.store.snapshot()?;
        let mut entries = 0;
        for tree in snapshot.trees().into_iter().filter(|tree| !tree.is_derived()) {
            let mut cursor = snapshot.reader().cursor(tree, Bound::Unbounded, Bound::Unbounded)?;
            while cursor.next()?.is_some() {
                entries += 1;
            }
        }
        drop(snapshot);
        self.store.close()?;
        Ok(entries)
    }
}

/// Removes a database and its log.
pub(super) fn remove(files: &dyn FileSystem, path: &Path) {
    let _ = files.remove(path);
    let _ = files.remove(&log_path(path));
}

/// An entry of which it can not be told whether it is live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UncertainEntry {
    /// Whose it is.
    pub tree: TreeId,
    /// Its key.
    pub key: Vec<u8>,
    /// Its value.
    pub value: Vec<u8>,
    /// Why it can not be told.
    pub doubt: Doubt,
    /// The page that it was found in; no page: it was found in the log.
    pub page: PageRef,
}

/// Entries of which it can not be told whether they are live, in a file of their own, which is removed with this.
pub struct Uncertain {
    /// `None` while it is being dropped.
    target: Option<Target>,
    count: u64,
    path: PathBuf,
    files: Arc<dyn FileSystem>,
    process: Process,
}

impl std::fmt::Debug for Uncertain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Uncertain({} entries)", self.count)
    }
}

impl Uncertain {
    pub(super) fn create(path: PathBuf, page_size: usize, options: &Options, env: &Environment) -> Result<Uncertain> {
        remove(env.files.as_ref(), &path);
        let target = Some(Target::create(&path, page_size, options, env)?);
        Ok(Uncertain { target, count: 0, path, files: env.files.clone(), process: Process::current() })
    }

    pub(super) fn push(&mut self, entry: &UncertainEntry) -> Result<()> {
        let UncertainEntry { tree, key, value, doubt, page } = entry;
        let mut bytes = vec![Doubt::ALL.iter().position(|known| known == doubt).unwrap_or_default() as u8];
        bytes.extend_from_slice(&tree.0.to_le_bytes());
        bytes.extend_from_slice(&page.to_bytes());
        bytes.extend_from_slice(&(key.len() as u32).to_le_bytes());
        bytes.extend_from_slice(key);
        bytes.extend_from_slice(value);
        let number = self.count.to_be_bytes();
        self.count += 1;
        self.target.as_mut().ok_or_else(|| Error::Ended)?.put(TreeId::CATALOG, &number, &bytes)
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Calls `each` with every one, in the order in which they were found.
    pub fn for_each<E: From<Error>>(&mut self, mut each: impl FnMut(UncertainEntry) -> Result<(), E>) -> Result<(), E> {
        let target = self.target.as_mut().ok_or_else(|| Error::Ended)?;
        target.commit()?;
        let snapshot = target.store.snapshot()?;
        let mut cursor = snapshot.reader().cursor(TreeId::CATALOG, Bound::Unbounded, Bound::Unbounded)?;
        while let Some((_, bytes)) = cursor.next()? {
            let (head, rest) = bytes.split_at(21);
            let (key, value) = rest.split_at(get_u32(head, 17) as usize);
            each(UncertainEntry {
                tree: TreeId(get_u32(head, 1)),
                key: key.to_vec(),
                value: value.to_vec(),
                doubt: Doubt::ALL[usize::from(head[0])],
                page: PageRef { id: get_u32(head, 5), birth: get_u64(head, 9) },
            })?;
        }
        Ok(())
    }
}

impl Drop for Uncertain {
    fn drop(&mut self) {
        self.target = None;
        if !self.process.is_current() {
            return;
        }
        remove(self.files.as_ref(), &self.path);
    }
}
