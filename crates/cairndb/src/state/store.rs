//! A session's store of temporary relations.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cairn_storage::io::MemFs;
use cairn_storage::{Durability, Environment, Error, Memory, Options, Result, Store, TreeId};

use crate::state::RowNumbers;

/// Trees with these ids are the session's own. No database has so many.
pub(crate) struct TemporaryTrees;

impl TemporaryTrees {
    /// Numbers of trees from here on are those of temporary ones.
    const FIRST: u32 = 1 << 30;
    /// What the database's tree of this name is for permanent relations.
    pub(crate) const CATALOG: TreeId = TreeId(Self::FIRST);
    pub(crate) const STATISTICS: TreeId = TreeId(Self::FIRST + 1);
    pub(crate) const SEQUENCES: TreeId = TreeId(Self::FIRST + 2);

    #[inline]
    pub(crate) fn have(tree: TreeId) -> bool {
        tree.number() >= Self::FIRST
    }

    #[inline]
    pub(super) fn have_rows(tree: TreeId) -> bool {
        tree.number() > Self::SEQUENCES.number()
    }
}

/// Bytes of memory for pages; what is more lies in a file that is in memory too.
const CACHE_BYTES: usize = 8 << 20;
const PAGE_BYTES: usize = 4096;
/// After so many bytes written the log is given free, and what was dropped.
const TIDY_BYTES: u64 = 4 << 20;

/// See the module.
pub(crate) struct TemporaryStore {
    store: Store,
    files: MemFs,
    pub(crate) row_numbers: RowNumbers,
    /// Bytes written since it was tidied.
    written: AtomicU64,
}

impl TemporaryStore {
    /// An empty one, for at most `limit` bytes, of the memory if there is one that is shared. Without threads of its own: a session may
    /// come and go by the thousands.
    pub(crate) fn open(limit: u64, memory: Option<&Memory>) -> Result<Arc<TemporaryStore>> {
        let files = memory.map_or_else(MemFs::new, MemFs::within);
        let mut options = Options::default();
        options.durability = Durability::Off;
        options.cache_bytes = CACHE_BYTES;
        options.page_size = PAGE_BYTES;
        options.max_pages = u32::try_from(limit / PAGE_BYTES as u64).unwrap_or(u32::MAX).clamp(64, 1 << 28);
        // In memory they are there only while they are used: a statement that deletes may copy all pages before it gives any back.
        options.pages_to_free = options.max_pages / 3 * 4 + 64;
        options.log_segment_bytes = 256 << 10;
        // A transaction's operations are in the log until it ends.
        options.log_limit_bytes = limit.saturating_mul(4).max(64 << 20);
        options.close_compact_bytes = 0;
        let store = Store::open_with("temporary", options, Environment::in_memory_without_threads(files.clone()))?;
        let tx = store.begin()?;
        for tree in [TemporaryTrees::CATALOG, TemporaryTrees::STATISTICS, TemporaryTrees::SEQUENCES] {
            tx.ensure_tree(tree)?;
        }
        tx.commit(None)?;
        Ok(Arc::new(TemporaryStore { store, files, row_numbers: RowNumbers::default(), written: AtomicU64::new(0) }))
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// To be called before rows are added: that what it has grown to could be had.
    pub(super) fn check_memory(&self) -> Result<()> {
        if self.files.has_memory() { Ok(()) } else { Err(Error::MemoryTaken) }
    }

    pub(super) fn note_written(&self, bytes: usize) {
        self.written.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// What was dropped takes no room any more once the store is tidied.
    pub(super) fn note_dropped(&self) {
        self.note_written(TIDY_BYTES as usize);
    }

    /// To be called between transactions.
    pub(super) fn tidy(&self) -> Result<()> {
        if self.written.load(Ordering::Relaxed) < TIDY_BYTES {
            return Ok(());
        }
        self.written.store(0, Ordering::Relaxed);
        self.store.keep_house()
    }
}
