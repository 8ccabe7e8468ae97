//! Scaffold with the engine's face over `BTreeMap`. Single process, nothing durable, no conflicts detected.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

/// Names a tree for the life of the database; never reused. 0 is invalid, 1 exists in every database (the catalog).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreeId(pub u32);

impl TreeId {
    /// The one tree that a new database has; the layer above keeps its catalog there.
    pub const CATALOG: TreeId = TreeId(1);
}

/// Storage errors. (The engine's has more variants; match with a wildcard arm.)
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
    /// Something this transaction read was changed by a commit since it began: SQLSTATE 40001, retry.
    Conflict,
    /// Any other failure; `sqlstate()` classifies it.
    Other(String),
}
impl Error {
    /// The PostgreSQL SQLSTATE code of this error.
    pub fn sqlstate(&self) -> &'static str {
        match self {
            Error::Conflict => "40001",
            Error::Other(_) => "XX000",
        }
    }
}
impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}
impl std::error::Error for Error {}
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What a commit's acknowledgement means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Durable before it is acknowledged.
    #[default]
    Full,
    /// As `Full`, with a wait to share the write among more commits.
    Group,
    /// Acknowledged and visible at once, synced every so often.
    Interval,
    /// Written at checkpoints only.
    Off,
}

#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    pub durability: Durability,
    pub read_only: bool,
    /// Bytes of memory for pages; 0 means the default.
    pub cache_bytes: usize,
}

#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Stats {
    pub commits: u64,
}

#[derive(Clone, Default)]
struct Trees {
    trees: BTreeMap<TreeId, Arc<BTreeMap<Vec<u8>, Vec<u8>>>>,
    stamps: BTreeMap<TreeId, u64>,
    next: u32,
    stamp: u64,
}

impl Trees {
    fn edit(&mut self, tree: TreeId) -> &mut BTreeMap<Vec<u8>, Vec<u8>> {
        self.stamp += 1;
        self.stamps.insert(tree, self.stamp);
        Arc::make_mut(self.trees.entry(tree).or_default())
    }
}

/// An open database. Cheap to clone; the last clone to go closes it.
#[derive(Clone)]
pub struct Store(Arc<Mutex<Trees>>);

impl Store {
    /// Opens or creates the database file at `path`.
    pub fn open(_path: &Path, _options: Options) -> Result<Store> {
        Self::open_in_memory(Options::default())
    }
    /// A database in memory, gone with its last handle.
    pub fn open_in_memory(_options: Options) -> Result<Store> {
        let mut trees = Trees { next: 2, ..Trees::default() };
        trees.edit(TreeId::CATALOG);
        Ok(Store(Arc::new(Mutex::new(trees))))
    }
    fn lock(&self) -> MutexGuard<'_, Trees> {
        self.0.lock().unwrap()
    }
    /// The latest durable state, for reading.
    pub fn snapshot(&self) -> Result<Snapshot> {
        Ok(Snapshot(Reader(Arc::new(Mutex::new(self.lock().clone())))))
    }
    /// A serializable transaction on the latest durable state.
    pub fn begin(&self) -> Result<Transaction> {
        let reader = self.snapshot()?.0;
        Ok(Transaction { store: self.clone(), reader })
    }
    /// A handle for point statements; one per connection.
    pub fn session(&self) -> Result<Session> {
        Ok(Session(self.clone()))
    }
    pub fn stats(&self) -> Stats {
        Stats::default()
    }
    pub fn checkpoint(&self) -> Result<()> {
        Ok(())
    }
    pub fn verify(&self) -> Result<()> {
        Ok(())
    }
    /// A consistent copy of the database, made while it is in use.
    pub fn backup_to(&self, _path: &Path) -> Result<()> {
        Ok(())
    }
    /// Moves pages from the file's tail into free space and truncates it.
    pub fn compact(&self) -> Result<()> {
        Ok(())
    }
    /// Checkpoints and closes; errors that dropping the last handle could not tell.
    pub fn close(self) -> Result<()> {
        Ok(())
    }
}

/// Reads one state: a snapshot's, or a transaction's with its own writes. Cheap to clone (`Arc`), `Send`.
#[derive(Clone)]
pub struct Reader(Arc<Mutex<Trees>>);

impl Reader {
    fn tree(&self, tree: TreeId) -> Result<Arc<BTreeMap<Vec<u8>, Vec<u8>>>> {
        let trees = self.0.lock().unwrap();
        trees.trees.get(&tree).cloned().ok_or_else(|| Error::Other(format!("no tree {tree:?}")))
    }
    /// Calls `read` with the value under `key`; `None` where there is none.
    pub fn get_with<R>(&self, tree: TreeId, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        Ok(self.tree(tree)?.get(key).map(|value| read(value)))
    }
    /// A copy of the value under `key`.
    pub fn get(&self, tree: TreeId, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.get_with(tree, key, <[u8]>::to_vec)
    }
    /// A cursor over the keys between the bounds, as the tree is now: later writes of the same transaction are not
    /// seen through it. In a transaction, what it passes over is remembered as read.
    pub fn cursor(&self, tree: TreeId, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Result<Cursor> {
        let map = self.tree(tree)?;
        let items = match (lower, upper) {
            (Bound::Included(l) | Bound::Excluded(l), Bound::Included(u) | Bound::Excluded(u)) if l > u => vec![],
            (Bound::Excluded(l), Bound::Excluded(u)) if l == u => vec![],
            _ => map.range::<[u8], _>((lower, upper)).map(|(k, v)| (k.clone(), v.clone())).collect(),
        };
        Ok(Cursor { back: items.len(), items, front: 0 })
    }
    /// Changes whenever the tree's content changes; equal stamps mean equal content.
    pub fn tree_stamp(&self, tree: TreeId) -> Result<u64> {
        Ok(self.0.lock().unwrap().stamps.get(&tree).copied().unwrap_or(0))
    }
    /// Remembers a range as read without reading it (for a cached plan that rests on catalog entries). No-op outside
    /// transactions.
    pub fn note_read(&self, _tree: TreeId, _lower: Bound<&[u8]>, _upper: Bound<&[u8]>) -> Result<()> {
        Ok(())
    }
}

/// Forward and backward over a range, from both ends like a double-ended iterator. The slices live until the next call.
pub struct Cursor {
    items: Vec<(Vec<u8>, Vec<u8>)>,
    front: usize,
    back: usize,
}

impl Cursor {
    /// The next entry from the lower end.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        if self.front == self.back {
            return Ok(None);
        }
        self.front += 1;
        let (k, v) = &self.items[self.front - 1];
        Ok(Some((k, v)))
    }
    /// The next entry from the upper end. (A cursor is used in one direction or the other.)
    pub fn prev(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        if self.front == self.back {
            return Ok(None);
        }
        self.back -= 1;
        let (k, v) = &self.items[self.back];
        Ok(Some((k, v)))
    }
    /// Moves forward to the first key at or after `key`; never backward.
    pub fn seek(&mut self, key: &[u8]) -> Result<()> {
        while self.front < self.back && self.items[self.front].0.as_slice() < key {
            self.front += 1;
        }
        Ok(())
    }
}

/// A consistent, durable state that stays as it is.
#[derive(Clone)]
pub struct Snapshot(Reader);

impl Snapshot {
    pub fn reader(&self) -> &Reader {
        &self.0
    }
}

/// Where a transaction can be rolled back to.
pub struct Savepoint(Trees);

/// A serializable transaction: reads the state it began with and its own writes. Dropping it rolls back. `Send`.
pub struct Transaction {
    store: Store,
    reader: Reader,
}

impl Transaction {
    /// Sees this transaction's writes as they are made.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }
    fn trees(&self) -> MutexGuard<'_, Trees> {
        self.reader.0.lock().unwrap()
    }
    /// A new, empty tree; it exists once this transaction commits.
    pub fn create_tree(&self) -> Result<TreeId> {
        let mut store = self.store.lock();
        let id = TreeId(store.next);
        store.next += 1;
        self.trees().edit(id);
        Ok(id)
    }
    pub fn drop_tree(&self, tree: TreeId) -> Result<()> {
        self.trees().trees.remove(&tree);
        Ok(())
    }
    /// Inserts or replaces. Blind: records no read. Keys up to a quarter page (`Error` beyond), values of any size.
    pub fn put(&self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<()> {
        self.trees().edit(tree).insert(key.to_vec(), value.to_vec());
        Ok(())
    }
    /// Overwrites `bytes` at `offset` of the value under `key`, which must exist and be long enough.
    pub fn patch(&self, tree: TreeId, key: &[u8], offset: usize, bytes: &[u8]) -> Result<()> {
        let mut trees = self.trees();
        let value = trees.edit(tree).get_mut(key).ok_or_else(|| Error::Other("patch of a missing key".into()))?;
        value[offset..offset + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }
    /// Removes `key`; whether it was there.
    pub fn delete(&self, tree: TreeId, key: &[u8]) -> Result<bool> {
        Ok(self.trees().edit(tree).remove(key).is_some())
    }
    pub fn savepoint(&self) -> Result<Savepoint> {
        Ok(Savepoint(self.trees().clone()))
    }
    /// Undoes every write since the savepoint, which stays usable; what was read stays remembered.
    pub fn rollback_to(&self, savepoint: &Savepoint) -> Result<()> {
        *self.trees() = savepoint.0.clone();
        Ok(())
    }
    /// Makes the writes durable and visible, or fails with `Error::Conflict` and leaves no trace.
    pub fn commit(self, _durability: Option<Durability>) -> Result<()> {
        let next = self.store.lock().next;
        let mut trees = self.trees().clone();
        trees.next = next;
        *self.store.lock() = trees;
        Ok(())
    }
    /// As `commit`, without waiting: the ticket's `wait` returns once it is durable.
    pub fn commit_async(self) -> Result<Ticket> {
        self.commit(None).map(|()| Ticket(()))
    }
    pub fn rollback(self) {}
}

/// A commit on its way to the disk.
#[must_use]
pub struct Ticket(());

impl Ticket {
    /// Returns once the commit is durable (as its durability mode says).
    pub fn wait(self) -> Result<()> {
        Ok(())
    }
    pub fn is_durable(&self) -> bool {
        true
    }
}

/// What a point write's closure fails with: the storage's error, or the caller's own.
#[derive(Debug)]
pub enum WriteError<E> {
    Storage(Error),
    Caller(E),
}
impl<E> From<Error> for WriteError<E> {
    fn from(error: Error) -> Self {
        WriteError::Storage(error)
    }
}

/// For statements bounded to few rows by a key: no allocation, no private tree, nothing to validate.
pub struct Session(Store);

impl Session {
    /// Reads the latest durable state. `read` may use several gets; all see one state.
    pub fn read<R, E>(&mut self, read: impl FnOnce(&PointReader<'_>) -> Result<R, E>) -> Result<R, E>
    where
        E: From<Error>,
    {
        let trees = self.0.lock();
        read(&PointReader { trees: &trees })
    }
    /// Takes the commit lock, runs `write` on the latest state, and returns what it returned with a ticket to wait for.
    /// `write` may be run again from its start (after a page was loaded), so it must not keep anything from a failed
    /// run. When it fails, nothing of it stays. It should do all its reads and checks before its first change.
    pub fn write<R, E>(
        &mut self,
        mut write: impl FnMut(&mut PointWriter<'_>) -> Result<R, WriteError<E>>,
    ) -> Result<(R, Ticket), WriteError<E>> {
        let mut trees = self.0.lock();
        let mut copy = trees.clone();
        let result = write(&mut PointWriter { trees: &mut copy })?;
        *trees = copy;
        Ok((result, Ticket(())))
    }
}

/// Gets from one durable state; slices borrow the page itself.
pub struct PointReader<'a> {
    trees: &'a Trees,
}

impl PointReader<'_> {
    pub fn get(&self, tree: TreeId, key: &[u8]) -> Result<Option<&[u8]>> {
        Ok(self.trees.trees.get(&tree).and_then(|tree| tree.get(key)).map(Vec::as_slice))
    }
    /// See [`Reader::tree_stamp`].
    pub fn tree_stamp(&self, tree: TreeId) -> u64 {
        self.trees.stamps.get(&tree).copied().unwrap_or(0)
    }
}

/// Reads and changes the latest state under the commit lock.
pub struct PointWriter<'a> {
    trees: &'a mut Trees,
}

impl PointWriter<'_> {
    pub fn get(&mut self, tree: TreeId, key: &[u8]) -> Result<Option<&[u8]>> {
        Ok(self.trees.trees.get(&tree).and_then(|tree| tree.get(key)).map(Vec::as_slice))
    }
    /// The first entry at or after `key`, for existence of a key with a prefix.
    pub fn first_at_or_after(&mut self, tree: TreeId, key: &[u8]) -> Result<Option<(&[u8], &[u8])>> {
        let tree = self.trees.trees.get(&tree);
        Ok(tree
            .and_then(|tree| tree.range::<[u8], _>((Bound::Included(key), Bound::Unbounded)).next())
            .map(|(k, v)| (k.as_slice(), v.as_slice())))
    }
    /// See [`Reader::tree_stamp`].
    pub fn tree_stamp(&self, tree: TreeId) -> u64 {
        self.trees.stamps.get(&tree).copied().unwrap_or(0)
    }
    pub fn put(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<()> {
        self.trees.edit(tree).insert(key.to_vec(), value.to_vec());
        Ok(())
    }
    pub fn patch(&mut self, tree: TreeId, key: &[u8], offset: usize, bytes: &[u8]) -> Result<()> {
        let value = self.trees.edit(tree).get_mut(key).ok_or_else(|| Error::Other("patch of a missing key".into()))?;
        value[offset..offset + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }
    pub fn delete(&mut self, tree: TreeId, key: &[u8]) -> Result<bool> {
        Ok(self.trees.edit(tree).remove(key).is_some())
    }
}
