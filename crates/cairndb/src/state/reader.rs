//! Reading two states as one: which of them has a tree is told by its number.

use std::ops::Bound;

use cairn_storage::{self as storage, Cursor, Lookup, Result, SampleSize, TreeId, TreeShape};

use super::TemporaryTrees;

/// Reads a state of the database, and another beside it: the session's temporary one, or an earlier one. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Reader {
    database: storage::Reader,
    beside: Option<SecondStore>,
}

/// What has the trees with numbers that no tree of the database has ([`TemporaryTrees::have`]).
#[derive(Clone, Debug)]
enum SecondStore {
    Temporary(storage::Reader),
    /// The database as it was before: its trees have the names that [`Reader::tree_before`] gives them.
    Before(storage::Reader),
}

impl From<&storage::Reader> for Reader {
    /// Of a session without temporary relations.
    fn from(database: &storage::Reader) -> Reader {
        Reader { database: database.clone(), beside: None }
    }
}

impl Reader {
    pub(crate) fn new(database: &storage::Reader, temporary: Option<&storage::Reader>) -> Reader {
        Reader { database: database.clone(), beside: temporary.cloned().map(SecondStore::Temporary) }
    }

    /// Reads a state, and beside it an earlier one.
    pub(crate) fn with_before(newer: &storage::Reader, before: &storage::Reader) -> Reader {
        Reader { database: newer.clone(), beside: Some(SecondStore::Before(before.clone())) }
    }

    /// What one of the database's trees is called where it is to be read as it was before.
    pub(crate) fn tree_before(tree: TreeId) -> TreeId {
        TreeId(tree.0 + TemporaryTrees::CATALOG.number())
    }

    /// The tree of the database that is called so: either as it is or as it was before.
    pub(crate) fn tree_whenever(tree: TreeId) -> TreeId {
        match TemporaryTrees::have(tree) {
            true => TreeId(tree.0 - TemporaryTrees::CATALOG.number()),
            false => tree,
        }
    }

    /// See [`storage::Reader::is_frozen`].
    pub(crate) fn is_frozen(&self) -> bool {
        let beside = match &self.beside {
            Some(SecondStore::Temporary(other) | SecondStore::Before(other)) => other.is_frozen(),
            None => true,
        };
        beside && self.database.is_frozen()
    }

    /// See [`storage::Reader::is_later`].
    pub(crate) fn is_later(&self, tree: TreeId) -> Result<bool> {
        let (reader, tree) = self.of(tree);
        reader.is_later(tree)
    }

    /// The memory that statements share with the cache; `None`: they have what their settings give them.
    pub(crate) fn memory(&self) -> Option<storage::Memory> {
        self.database.memory()
    }

    /// See [`storage::Reader::pages_used`].
    pub(crate) fn pages_used(&self) -> (u64, u64) {
        let (used, read) = self.database.pages_used();
        let (more, more_read) = match &self.beside {
            Some(SecondStore::Temporary(other) | SecondStore::Before(other)) => other.pages_used(),
            None => (0, 0),
        };
        (used + more, read + more_read)
    }

    /// Of the database alone.
    pub(crate) fn database(&self) -> &storage::Reader {
        &self.database
    }

    /// Of what is temporary alone, if the session has any.
    pub(crate) fn temporary(&self) -> Option<&storage::Reader> {
        match &self.beside {
            Some(SecondStore::Temporary(temporary)) => Some(temporary),
            _ => None,
        }
    }

    /// Who has the tree, and what it is called there. A tree that is beside the database is not found in it either.
    #[inline]
    fn of(&self, tree: TreeId) -> (&storage::Reader, TreeId) {
        match &self.beside {
            Some(beside) if TemporaryTrees::have(tree) => match beside {
                SecondStore::Temporary(temporary) => (temporary, tree),
                SecondStore::Before(before) => (before, Reader::tree_whenever(tree)),
            },
            _ => (&self.database, tree),
        }
    }

    /// What whoever has the tree calls it: for a [`Lookup`], which is of one of them.
    pub(crate) fn known_as(&self, tree: TreeId) -> TreeId {
        self.of(tree).1
    }

    pub(crate) fn get_with<R>(&self, tree: TreeId, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        let (reader, tree) = self.of(tree);
        reader.get_with(tree, key, read)
    }

    pub(crate) fn get(&self, tree: TreeId, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let (reader, tree) = self.of(tree);
        reader.get(tree, key)
    }

    /// For many gets from this tree.
    pub(crate) fn lookup(&self, tree: TreeId) -> Result<Lookup> {
        self.of(tree).0.lookup()
    }

    pub(crate) fn tree_stamp(&self, tree: TreeId) -> Result<u64> {
        let (reader, tree) = self.of(tree);
        reader.tree_stamp(tree)
    }

    pub(crate) fn tree_shape(&self, tree: TreeId) -> Result<TreeShape> {
        let (reader, tree) = self.of(tree);
        reader.tree_shape(tree)
    }

    pub(crate) fn tree_entries(&self, tree: TreeId, entry_bytes: f64) -> Result<f64> {
        let (reader, tree) = self.of(tree);
        reader.tree_entries(tree, entry_bytes)
    }

    pub(crate) fn tree_changed(&self, tree: TreeId, since: u64) -> Result<f64> {
        let (reader, tree) = self.of(tree);
        reader.tree_changed(tree, since)
    }

    pub(crate) fn sample(&self, tree: TreeId, size: SampleSize, each: &mut dyn FnMut(&[u8], &[u8])) -> Result<()> {
        let (reader, tree) = self.of(tree);
        reader.sample(tree, size, each)
    }

    pub(crate) fn cursor(&self, tree: TreeId, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Result<Cursor> {
        let (reader, tree) = self.of(tree);
        reader.cursor(tree, lower, upper)
    }
}
