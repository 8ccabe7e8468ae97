//! Prepared statements by their text, the most recently used kept.

use std::collections::HashMap;
use std::sync::Arc;

use super::prepared::Prepared;

/// How many statements a connection keeps.
const CAPACITY: usize = 128;

/// A small least-recently-used map. Looking for the oldest walks all entries, which only happens when a new statement
/// was planned: planning costs far more.
#[derive(Default)]
pub(crate) struct StatementCache {
    entries: HashMap<String, (u64, Arc<Prepared>)>,
    clock: u64,
}

impl StatementCache {
    pub(crate) fn get(&mut self, sql: &str) -> Option<Arc<Prepared>> {
        self.clock += 1;
        let (used, prepared) = self.entries.get_mut(sql)?;
        *used = self.clock;
        Some(prepared.clone())
    }

    pub(crate) fn put(&mut self, sql: &str, prepared: &Arc<Prepared>) {
        self.clock += 1;
        if self.entries.len() >= CAPACITY && !self.entries.contains_key(sql) {
            let oldest = self.entries.iter().min_by_key(|(_, (used, _))| *used).map(|(sql, _)| sql.clone());
            oldest.and_then(|oldest| self.entries.remove(&oldest));
        }
        self.entries.insert(sql.to_string(), (self.clock, prepared.clone()));
    }
}
