//! Where a point write happens: under the commit lock, as a statement of its own, or in the open transaction.

use cairn_storage::{Acknowledge, Error, PointWriter, Result, Session, Ticket, Transaction, TreeId, WriteError};

use super::{Miss, general, missed};

/// Trees to read and write by key.
pub(super) trait Trees {
    fn stamp(&mut self) -> Result<u64>;
    /// Hands the value under `key` to `read`; whether there is one.
    fn read(&mut self, tree: TreeId, key: &[u8], read: &mut dyn FnMut(&[u8])) -> Result<bool>;
    fn put(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<()>;
    /// Inserts, unless the key is there: then `Ok(false)`.
    fn insert(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<bool>;
    fn patch(&mut self, tree: TreeId, key: &[u8], offset: usize, bytes: &[u8]) -> Result<()>;
    fn delete(&mut self, tree: TreeId, key: &[u8]) -> Result<bool>;
}

impl Trees for PointWriter<'_> {
    fn stamp(&mut self) -> Result<u64> {
        Ok(self.tree_stamp(TreeId::CATALOG))
    }
    fn read(&mut self, tree: TreeId, key: &[u8], read: &mut dyn FnMut(&[u8])) -> Result<bool> {
        Ok(self.get(tree, key)?.map(read).is_some())
    }
    fn put(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<()> {
        PointWriter::put(self, tree, key, value)
    }
    fn insert(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<bool> {
        PointWriter::insert(self, tree, key, value)
    }
    fn patch(&mut self, tree: TreeId, key: &[u8], offset: usize, bytes: &[u8]) -> Result<()> {
        PointWriter::patch(self, tree, key, offset, bytes)
    }
    fn delete(&mut self, tree: TreeId, key: &[u8]) -> Result<bool> {
        PointWriter::delete(self, tree, key)
    }
}

impl Trees for &Transaction {
    fn stamp(&mut self) -> Result<u64> {
        self.reader().tree_stamp(TreeId::CATALOG)
    }
    fn read(&mut self, tree: TreeId, key: &[u8], read: &mut dyn FnMut(&[u8])) -> Result<bool> {
        Ok(self.reader().get_with(tree, key, read)?.is_some())
    }
    fn put(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<()> {
        Transaction::put(self, tree, key, value)
    }
    fn insert(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<bool> {
        Transaction::insert(self, tree, key, value)
    }
    fn patch(&mut self, tree: TreeId, key: &[u8], offset: usize, bytes: &[u8]) -> Result<()> {
        Transaction::patch(self, tree, key, offset, bytes)
    }
    fn delete(&mut self, tree: TreeId, key: &[u8]) -> Result<bool> {
        Transaction::delete(self, tree, key)
    }
}

/// What a point write does to the trees; the number of rows it affected. May be run again from its start.
pub(super) type Work<'w> = &'w mut dyn FnMut(&mut dyn Trees) -> Result<u64, WriteError<Miss>>;

/// See above.
pub(in crate::api) enum Place<'a> {
    Alone(&'a mut Session, Acknowledge),
    In(&'a Transaction),
}

impl Place<'_> {
    /// Runs `work` where the catalog's stamp is the one that the plan rests on. The ticket: of a commit of its own.
    pub(super) fn write(self, stamp: u64, work: Work<'_>) -> Result<(u64, Option<Ticket>), Miss> {
        let mut checked = |trees: &mut dyn Trees| if trees.stamp()? == stamp { work(trees) } else { general() };
        match self {
            Place::Alone(session, acknowledge) => {
                let written = session.write_unless::<u64, Miss>(acknowledge, &|| true, |writer| checked(writer));
                written.map(|(affected, ticket)| (affected, Some(ticket))).map_err(missed)
            }
            Place::In(mut transaction) => checked(&mut transaction).map(|affected| (affected, None)).map_err(missed),
        }
    }
}

impl Place<'_> {
    /// No work at all, where the catalog's stamp is the one that the plan rests on.
    pub(super) fn nothing(self, stamp: u64) -> Result<(u64, Option<Ticket>), Miss> {
        let current = match self {
            Place::Alone(session, _) => {
                let read = session.read::<u64, Miss>(|state| Ok(state.tree_stamp(TreeId::CATALOG)));
                read.map_err(missed)?
            }
            Place::In(mut transaction) => Trees::stamp(&mut transaction)?,
        };
        if current == stamp { Ok((0, None)) } else { Err(Miss::General) }
    }
}

/// Whether a key is there.
pub(super) fn exists(trees: &mut dyn Trees, tree: TreeId, key: &[u8]) -> Result<bool, Error> {
    trees.read(tree, key, &mut |_| ())
}
