//! Reading both states.

use std::ops::Bound;

use cairn_storage::{self as storage, Cursor, Lookup, Result, SampleSize, TreeId, TreeShape};

use super::TemporaryTrees;

/// Reads a state of the database, and the session's temporary one. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Reader {
    database: storage::Reader,
    temporary: Option<storage::Reader>,
}

impl From<&storage::Reader> for Reader {
    /// Of a session without temporary relations.
    fn from(database: &storage::Reader) -> Reader {
        Reader { database: database.clone(), temporary: None }
    }
}

impl Reader {
    pub(crate) fn new(database: &storage::Reader, temporary: Option<&storage::Reader>) -> Reader {
        Reader { database: database.clone(), temporary: temporary.cloned() }
    }

    /// See [`storage::Reader::pages_used`].
    pub(crate) fn pages_used(&self) -> (u64, u64) {
        let (hits, misses) = self.database.pages_used();
        let (more, waited) = self.temporary.as_ref().map_or((0, 0), storage::Reader::pages_used);
        (hits + more, misses + waited)
    }

    /// Of the database alone.
    pub(crate) fn database(&self) -> &storage::Reader {
        &self.database
    }

    /// Of what is temporary alone, if the session has any.
    pub(crate) fn temporary(&self) -> Option<&storage::Reader> {
        self.temporary.as_ref()
    }

    /// A tree of a session that has no temporary store is not found in the database either.
    #[inline]
    fn of(&self, tree: TreeId) -> &storage::Reader {
        match &self.temporary {
            Some(temporary) if TemporaryTrees::have(tree) => temporary,
            _ => &self.database,
        }
    }

    pub(crate) fn get_with<R>(&self, tree: TreeId, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        self.of(tree).get_with(tree, key, read)
    }

    pub(crate) fn get(&self, tree: TreeId, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.of(tree).get(tree, key)
    }

    /// For many gets from this tree.
    pub(crate) fn lookup(&self, tree: TreeId) -> Result<Lookup> {
        self.of(tree).lookup()
    }

    pub(crate) fn tree_stamp(&self, tree: TreeId) -> Result<u64> {
        self.of(tree).tree_stamp(tree)
    }

    pub(crate) fn tree_shape(&self, tree: TreeId) -> Result<TreeShape> {
        self.of(tree).tree_shape(tree)
    }

    pub(crate) fn tree_entries(&self, tree: TreeId, entry_bytes: f64) -> Result<f64> {
        self.of(tree).tree_entries(tree, entry_bytes)
    }

    pub(crate) fn tree_changed(&self, tree: TreeId, since: u64) -> Result<f64> {
        self.of(tree).tree_changed(tree, since)
    }

    pub(crate) fn sample(&self, tree: TreeId, size: SampleSize, each: &mut dyn FnMut(&[u8], &[u8])) -> Result<()> {
        self.of(tree).sample(tree, size, each)
    }

    pub(crate) fn cursor(&self, tree: TreeId, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Result<Cursor> {
        self.of(tree).cursor(tree, lower, upper)
    }
}
