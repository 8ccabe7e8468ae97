//! What the workloads ask of an engine.
//!
//! Every write is durable when it returns (on a memory file system: as durable as the same calls make it there). Every
//! read sees a state of its own, at least as new as the last write that returned.

use std::ops::Range;

use crate::Result;

/// What a thread does with its session.
pub type Work<'w> = &'w mut dyn FnMut(&mut dyn Session) -> Result<()>;

/// An open database with one table of rows as in [`crate::rows`].
pub trait Engine: Send + Sync {
    fn name(&self) -> &'static str;

    /// What makes it durable, and what else was set.
    fn setting(&self) -> String;

    /// Opens a connection, prepares its statements, and hands both to `work`. Called by many threads at once.
    fn with_session(&self, work: Work<'_>) -> Result<()>;

    /// Closes the database as the engine wants it closed, so that its files have their final size.
    fn close(self: Box<Self>) -> Result<()>;
}

/// One thread's connection.
pub trait Session {
    /// Inserts the rows of these keys in one transaction.
    fn load(&mut self, keys: Range<i64>) -> Result<()>;

    /// Inserts a row that is not there, in a transaction of its own.
    fn insert(&mut self, key: i64) -> Result<()>;

    /// Sets the number of a row that is there, in a transaction of its own.
    fn update(&mut self, key: i64, number: i64) -> Result<()>;

    /// Inserts a row or replaces it, in a transaction of its own.
    fn upsert(&mut self, key: i64, number: i64) -> Result<()>;

    /// Reads a row; its [`digest`](crate::rows::digest).
    fn read(&mut self, key: i64) -> Result<Option<u64>>;

    /// As `read`, in a snapshot that stays open from call to call. `None`: the engine gains nothing by that.
    fn read_in_snapshot(&mut self, _key: i64) -> Option<Result<Option<u64>>> {
        None
    }

    /// Reads [`RANGE`](crate::rows::RANGE) rows in the order of their keys, the first that of `key` or the next one; the sum
    /// of their keys and digests. `None`: this is not measured for the engine.
    fn read_range(&mut self, _key: i64) -> Option<Result<u64>> {
        None
    }

    /// Updates the rows of these keys, each in a transaction of its own, without waiting for one before the next
    /// begins; at most `window` wait at a time, and all are durable at the end. `None`: the engine cannot.
    fn pipeline(&mut self, _keys: &mut dyn Iterator<Item = i64>, _window: usize) -> Option<Result<()>> {
        None
    }
}
