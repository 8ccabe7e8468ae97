//! Plans that several connections share.

use std::fmt;
use std::sync::Arc;

use super::statement_cache::{StatementCache, TextHash};
use crate::prepared::Prepared;
use crate::sync::{Mutex, MutexGuard};

/// The plans of statements by their text, for the connections of one pool: what one of them has planned the others need not
/// plan. Cheap to clone; see [`Pooled`](crate::Pooled).
#[derive(Clone, Default)]
pub struct PlanCache(Arc<Mutex<StatementCache>>);

impl fmt::Debug for PlanCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PlanCache")
    }
}

impl PlanCache {
    /// An empty one, for the connections of one database.
    pub fn new() -> PlanCache {
        PlanCache::default()
    }

    fn all(&self) -> MutexGuard<'_, StatementCache> {
        self.0.lock()
    }

    /// An empty cache of one connection, whose texts have the same hashes.
    pub(super) fn of_connection(&self) -> StatementCache {
        self.all().like()
    }

    pub(super) fn get(&self, hash: TextHash, sql: &str) -> Option<Arc<Prepared>> {
        self.all().get(hash, sql)
    }

    pub(super) fn put(&self, hash: TextHash, prepared: &Arc<Prepared>) {
        self.all().put(hash, prepared);
    }
}
