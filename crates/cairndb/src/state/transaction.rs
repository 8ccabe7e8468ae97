//! Changing both states.
//!
//! The database's transaction commits first: it may lose to another. The temporary one has nobody to lose to, and all that it
//! needs room for has it before.

use std::sync::{Arc, OnceLock};

use cairn_storage::{self as storage, Durability, Error, Losses, Result, TreeId};

use super::{Reader, TemporaryStore, TemporaryTrees};
use crate::types::ObjectId;

/// A transaction of the database and, if the session has temporary relations, one of those.
pub(crate) struct Transaction {
    database: storage::Transaction,
    /// Set once, with the session's first temporary relation, whoever has the transaction then. (What is rare lies apart: a transaction
    /// is moved about.)
    temporary: OnceLock<Box<Temporary>>,
    reader: Reader,
    /// The same with what is temporary.
    reader_of_both: OnceLock<Box<Reader>>,
}

struct Temporary {
    tx: storage::Transaction,
    /// As it began.
    origin: storage::Savepoint,
    store: Arc<TemporaryStore>,
}

/// Where both can be rolled back to.
pub(crate) struct Savepoint {
    database: storage::Savepoint,
    /// `None`: nothing was temporary then.
    temporary: Option<storage::Savepoint>,
}

/// In words, where it is the limit on temporary relations that was reached.
fn full(error: Error) -> Error {
    match error {
        Error::DiskFull { .. } | Error::OutlivedLog | Error::LogTooSmall { .. } => {
            Error::DiskFull { what: "keep temporary tables in temp_table_limit", needed: 0 }
        }
        error => error,
    }
}

/// Numbers from a certain one on are those of temporary relations.
fn permanent(tree: TreeId) -> Result<TreeId> {
    if TemporaryTrees::have(tree) { Err(Error::NoTreeNumber) } else { Ok(tree) }
}

impl Temporary {
    fn begin(store: &Arc<TemporaryStore>) -> Result<Temporary> {
        let tx = store.store().begin()?;
        Ok(Temporary { origin: tx.savepoint()?, tx, store: store.clone() })
    }
}

impl Transaction {
    pub(crate) fn new(database: storage::Transaction, temporary: Option<&Arc<TemporaryStore>>) -> Result<Transaction> {
        let reader = Reader::from(database.reader());
        let (temporary_part, reader_of_both) = (OnceLock::new(), OnceLock::new());
        let tx = Transaction { database, temporary: temporary_part, reader, reader_of_both };
        temporary.map_or(Ok(()), |store| tx.add_temporary(store))?;
        Ok(tx)
    }

    /// The session's first temporary relation is about to be made.
    pub(crate) fn add_temporary(&self, store: &Arc<TemporaryStore>) -> Result<()> {
        let temporary = Temporary::begin(store)?;
        let temporary = self.temporary.get_or_init(|| Box::new(temporary));
        let of_both = || Box::new(Reader::new(self.database.reader(), Some(temporary.tx.reader())));
        self.reader_of_both.get_or_init(of_both);
        Ok(())
    }

    /// Sees the transaction's writes as they are made.
    #[inline]
    pub(crate) fn reader(&self) -> &Reader {
        self.reader_of_both.get().map_or(&self.reader, |reader| reader)
    }

    /// That of the database alone.
    #[inline]
    pub(crate) fn database(&self) -> &storage::Transaction {
        &self.database
    }

    /// For several changes of one of the database's trees that belong together; `None` for a temporary one.
    pub(crate) fn writer(&self, tree: TreeId) -> Result<Option<storage::TransactionWriter<'_>>> {
        (!TemporaryTrees::have(tree)).then(|| self.database.writer()).transpose()
    }

    /// The session's temporary store, if it has one.
    pub(crate) fn temporary_store(&self) -> Option<&Arc<TemporaryStore>> {
        self.temporary.get().map(|temporary| &temporary.store)
    }

    fn temporary(&self) -> Result<&Temporary> {
        self.temporary.get().map(|temporary| &**temporary).ok_or(Error::NoSuchTree(TemporaryTrees::CATALOG))
    }

    fn change<T>(
        &self,
        tree: TreeId,
        bytes: usize,
        change: impl FnOnce(&storage::Transaction) -> Result<T>,
    ) -> Result<T> {
        if !TemporaryTrees::have(tree) {
            return change(&self.database);
        }
        let temporary = self.temporary()?;
        temporary.store.note_written(bytes);
        change(&temporary.tx).map_err(full)
    }

    /// Does what frees pages in the end: a full database has some for that.
    pub(crate) fn freeing<T, E: From<Error>>(
        &self,
        work: impl FnOnce() -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        self.free_pages(true)?;
        let done = work();
        self.free_pages(false)?;
        done
    }

    fn free_pages(&self, begins: bool) -> Result<()> {
        if let Some(temporary) = self.temporary.get() {
            temporary.tx.free_pages(begins)?;
        }
        self.database.free_pages(begins)
    }

    /// A new tree for a relation in this schema.
    pub(crate) fn create_tree(&self, schema: ObjectId) -> Result<TreeId> {
        match schema.is_temporary() {
            false => permanent(self.database.create_tree()?),
            true => self.temporary()?.tx.create_tree(),
        }
    }

    /// As `create_tree`, for an index.
    pub(crate) fn create_derived_tree(&self, schema: ObjectId) -> Result<TreeId> {
        match schema.is_temporary() {
            false => permanent(self.database.create_derived_tree()?),
            true => self.temporary()?.tx.create_derived_tree(),
        }
    }

    pub(crate) fn drop_tree(&self, tree: TreeId) -> Result<()> {
        if let (Some(temporary), true) = (self.temporary.get(), TemporaryTrees::have(tree)) {
            temporary.store.note_dropped();
        }
        self.change(tree, 0, |tx| tx.drop_tree(tree))
    }

    /// Fails where there is no memory for more temporary rows. (What is told of relations themselves has some: they are dropped by it.)
    fn check_memory(&self, tree: TreeId) -> Result<()> {
        if TemporaryTrees::have_rows(tree) { self.temporary()?.store.check_memory() } else { Ok(()) }
    }

    pub(crate) fn put(&self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<()> {
        self.check_memory(tree)?;
        self.change(tree, key.len() + value.len(), |tx| tx.put(tree, key, value))
    }

    pub(crate) fn insert(&self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<bool> {
        self.check_memory(tree)?;
        self.change(tree, key.len() + value.len(), |tx| tx.insert(tree, key, value))
    }

    pub(crate) fn patch(&self, tree: TreeId, key: &[u8], offset: usize, bytes: &[u8]) -> Result<()> {
        self.change(tree, key.len() + bytes.len(), |tx| tx.patch(tree, key, offset, bytes))
    }

    pub(crate) fn delete(&self, tree: TreeId, key: &[u8]) -> Result<bool> {
        self.change(tree, key.len(), |tx| tx.delete(tree, key))
    }

    /// See [`storage::TransactionWriter::append`]. Nothing temporary is appended to.
    pub(crate) fn append(&self, tree: TreeId, value: &[u8]) -> Result<()> {
        self.database.append(tree, value)
    }

    /// See [`storage::TransactionWriter::add`]. Nothing temporary is added to.
    pub(crate) fn add(&self, tree: TreeId, key: &[u8], front: &[u8], deltas: &[i128]) -> Result<()> {
        self.database.add(tree, key, front, deltas)
    }

    /// See [`storage::Transaction::reader_of_now`].
    pub(crate) fn reader_of_now(&self) -> Result<Reader> {
        let temporary = self.temporary.get().map(|temporary| temporary.tx.reader_of_now().map_err(full));
        Ok(Reader::new(&self.database.reader_of_now()?, temporary.transpose()?.as_ref()))
    }

    /// See [`storage::Transaction::reader_until_done`].
    pub(crate) fn reader_until_done(&self) -> Result<Reader> {
        let temporary = self.temporary.get().map(|temporary| temporary.tx.reader_until_done());
        Ok(Reader::new(&self.database.reader_until_done()?, temporary.transpose()?.as_ref()))
    }

    pub(crate) fn savepoint(&self) -> Result<Savepoint> {
        let temporary = self.temporary.get().map(|temporary| temporary.tx.savepoint());
        Ok(Savepoint { database: self.database.savepoint()?, temporary: temporary.transpose()? })
    }

    pub(crate) fn rollback_to(&self, savepoint: &Savepoint) -> Result<()> {
        if let Some(Temporary { tx, origin, .. }) = self.temporary.get().map(|temporary| &**temporary) {
            tx.rollback_to(savepoint.temporary.as_ref().unwrap_or(origin))?;
        }
        self.database.rollback_to(&savepoint.database)
    }

    /// See [`storage::Transaction::commit_or_note`].
    pub(crate) fn commit_or_note(
        self,
        durability: Option<Durability>,
        lost: &mut Losses,
        gives_up: &dyn Fn() -> bool,
    ) -> Result<Option<u64>> {
        self.commit_both(|database| database.commit_or_note(durability, lost, gives_up))
    }

    /// See [`storage::Transaction::commit_in_order`].
    pub(crate) fn commit_in_order(
        self,
        durability: Option<Durability>,
        lost: &mut Losses,
        gives_up: &dyn Fn() -> bool,
        appended: &mut dyn FnMut(u64),
    ) -> Result<Option<u64>> {
        self.commit_both(|database| database.commit_in_order(durability, lost, gives_up, appended))
    }

    fn commit_both(self, commit: impl FnOnce(storage::Transaction) -> Result<Option<u64>>) -> Result<Option<u64>> {
        let Some(Temporary { tx, origin, store }) = self.temporary.into_inner().map(|temporary| *temporary) else {
            return commit(self.database);
        };
        drop((origin, self.reader, self.reader_of_both));
        if tx.has_changes() && self.database.has_changes() {
            // What needs pages gets them now.
            tx.reader_of_now().map_err(full)?;
        }
        let position = commit(self.database)?;
        tx.commit(None).map_err(full)?;
        store.tidy().map(|()| position)
    }

    /// As `commit_or_note`, without waiting for durability, but where temporary relations have part in it; the ticket says
    /// when it is.
    pub(crate) fn commit_async_or_note(
        self,
        durability: Option<Durability>,
        lost: &mut Losses,
        gives_up: &dyn Fn() -> bool,
    ) -> Result<(Option<u64>, Option<storage::Ticket>)> {
        if self.temporary.get().is_some() {
            return self.commit_or_note(durability, lost, gives_up).map(|position| (position, None));
        }
        let ticket = self.database.commit_async_or_note(durability, lost, gives_up)?;
        Ok((Some(ticket.position()).filter(|&position| position > 0), Some(ticket)))
    }

    /// As `commit_or_note`, of what needs no second try.
    pub(crate) fn commit(self) -> Result<()> {
        self.commit_or_note(None, &mut Losses::default(), &|| false).map(drop)
    }

    /// Rolls back now; whatever still refers to the transaction hears that it has ended.
    pub(crate) fn abandon(&self) {
        self.database.abandon();
        if let Some(temporary) = self.temporary.get() {
            temporary.tx.abandon();
        }
    }
}
