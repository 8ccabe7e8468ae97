//! Prepared statements by their text, those that are used kept.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;

use crate::prepared::Prepared;

/// How many statements a session keeps.
const CAPACITY: usize = 128;

/// A text's hash, keyed by the session's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TextHash(u64);

/// Statements in a ring. Who needs a place takes the next one in turn whose statement was not used again since it was
/// passed the last time: any number of texts that come once leave those that come often where they are, and cost no
/// search. The texts are the statements' own.
#[derive(Default)]
pub(crate) struct StatementCache {
    hasher: RandomState,
    ring: Vec<Slot>,
    /// Places in the ring by hash.
    places: HashMap<u64, usize, PassedHasher>,
    /// The place that is looked at next.
    next: usize,
}

struct Slot {
    hash: TextHash,
    /// Used since the turn passed here.
    used: bool,
    prepared: Arc<Prepared>,
}

impl StatementCache {
    /// An empty one, in which texts have the same hashes.
    pub(crate) fn like(&self) -> StatementCache {
        StatementCache { hasher: self.hasher.clone(), ..StatementCache::default() }
    }

    pub(crate) fn hash(&self, sql: &str) -> TextHash {
        TextHash(self.hasher.hash_one(sql))
    }

    pub(crate) fn get(&mut self, hash: TextHash, sql: &str) -> Option<Arc<Prepared>> {
        let slot = self.ring.get_mut(*self.places.get(&hash.0)?)?;
        if slot.prepared.parsed.text() != sql {
            return None;
        }
        slot.used = true;
        Some(slot.prepared.clone())
    }

    /// Keeps the statement, instead of any that has this hash.
    pub(crate) fn put(&mut self, hash: TextHash, prepared: &Arc<Prepared>) {
        let slot = Slot { hash, used: false, prepared: prepared.clone() };
        match self.places.get(&hash.0) {
            Some(place) => self.ring[*place].prepared = slot.prepared,
            None if self.ring.len() < CAPACITY => {
                self.places.insert(hash.0, self.ring.len());
                self.ring.push(slot);
            }
            None => {
                let place = self.vacate();
                self.places.insert(hash.0, place);
                self.ring[place] = slot;
            }
        }
    }

    /// The next place in turn that was not used since the last, no longer found by its hash.
    fn vacate(&mut self) -> usize {
        loop {
            let place = self.next;
            self.next = (place + 1) % self.ring.len();
            let slot = &mut self.ring[place];
            if !std::mem::take(&mut slot.used) {
                self.places.remove(&slot.hash.0);
                return place;
            }
        }
    }
}

/// Numbers that are hashes already.
#[derive(Clone, Copy, Default)]
struct PassedHasher(u64);

impl BuildHasher for PassedHasher {
    type Hasher = PassedHasher;

    fn build_hasher(&self) -> PassedHasher {
        PassedHasher(0)
    }
}

impl Hasher for PassedHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Database;

    /// Which of these texts the cache of the session has.
    fn kept(cache: &mut StatementCache, texts: &[String]) -> usize {
        texts.iter().filter(|text| cache.get(cache.hash(text), text).is_some()).count()
    }

    fn prepared(connection: &crate::Connection, text: &str) -> Arc<Prepared> {
        let statement = connection.prepare(text).expect(text);
        statement.plan().expect("a plan").clone()
    }

    #[test]
    fn statements_that_are_used_outlast_any_number_that_come_once() {
        let connection = Database::open_in_memory().expect("opens").connect().expect("connects");
        let mut cache = StatementCache::default();
        let often: Vec<String> = (0..CAPACITY / 2).map(|n| format!("SELECT {n}")).collect();
        let once = |n: usize| format!("SELECT {n} AS once");
        for text in &often {
            cache.put(cache.hash(text), &prepared(&connection, text));
        }
        for n in 0..20 * CAPACITY {
            if n % 16 == 0 {
                assert_eq!(kept(&mut cache, &often), often.len(), "after {n}");
            }
            cache.put(cache.hash(&once(n)), &prepared(&connection, &once(n)));
            assert!(cache.ring.len() <= CAPACITY && cache.places.len() == cache.ring.len());
        }
        assert_eq!(kept(&mut cache, &[once(0), once(20 * CAPACITY - 1)]), 1);
    }

    #[test]
    fn another_text_of_the_same_hash_is_not_taken_for_it() {
        let connection = Database::open_in_memory().expect("opens").connect().expect("connects");
        let mut cache = StatementCache::default();
        let hash = cache.hash("SELECT 1");
        cache.put(hash, &prepared(&connection, "SELECT 1"));
        assert!(cache.get(hash, "SELECT 2").is_none());
        cache.put(hash, &prepared(&connection, "SELECT 2"));
        assert!(cache.get(hash, "SELECT 1").is_none() && cache.get(hash, "SELECT 2").is_some());
    }
}
