//! An open database.

use std::path::Path;
use std::sync::Arc;

use cairn_storage::Store;

use super::{Connection, Options};
use crate::Result;

/// An open database file (or one in memory). Cheap to clone; shared between threads.
#[derive(Clone)]
pub struct Database {
    pub(crate) shared: Arc<Shared>,
}

/// What all connections of a database share.
pub(crate) struct Shared {
    pub(crate) store: Store,
    pub(crate) options: Options,
}

impl Database {
    /// Opens or creates the database file at `path`.
    pub fn open(path: impl AsRef<Path>) -> Result<Database> {
        Self::open_with(path, Options::default())
    }

    /// Opens or creates the database file at `path`.
    pub fn open_with(path: impl AsRef<Path>, options: Options) -> Result<Database> {
        let store = Store::open(path.as_ref(), options.storage())?;
        Ok(Database { shared: Arc::new(Shared { store, options }) })
    }

    /// A database in memory, gone with its last handle.
    pub fn open_in_memory() -> Result<Database> {
        let options = Options::default();
        let store = Store::open_in_memory(options.storage())?;
        Ok(Database { shared: Arc::new(Shared { store, options }) })
    }

    /// A new connection. Each thread uses its own.
    pub fn connect(&self) -> Result<Connection> {
        Connection::new(self.clone())
    }

    /// Counters of the storage engine.
    pub fn stats(&self) -> cairn_storage::Stats {
        self.shared.store.stats()
    }

    /// Writes what the log holds to the database file.
    pub fn checkpoint(&self) -> Result<()> {
        Ok(self.shared.store.checkpoint()?)
    }

    /// Checks every page, checksum, order and the free space.
    pub fn verify(&self) -> Result<()> {
        Ok(self.shared.store.verify()?)
    }

    /// Copies the database to a new file while it is in use; the copy is consistent.
    pub fn backup_to(&self, path: impl AsRef<Path>) -> Result<()> {
        Ok(self.shared.store.backup_to(path.as_ref())?)
    }

    /// Gives free space back to the file system.
    pub fn compact(&self) -> Result<()> {
        Ok(self.shared.store.compact()?)
    }

    /// Checkpoints and closes, with the errors that dropping the last handle could not tell.
    pub fn close(self) -> Result<()> {
        Ok(self.shared.store.clone().close()?)
    }
}
