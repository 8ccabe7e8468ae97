//! What is counted only in a build that asks for it (feature `counters`), because counting costs as much as what is
//! counted: key comparisons, and the time within the trees. Of all databases of the process together.

#[cfg(feature = "counters")]
pub use on::counted;
#[cfg(feature = "counters")]
pub(crate) use on::{changing, comparison, searching};

#[cfg(not(feature = "counters"))]
pub(crate) use off::{changing, comparison, searching};

#[cfg(feature = "counters")]
mod on {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    use std::time::Instant;

    static KEY_COMPARISONS: AtomicU64 = AtomicU64::new(0);
    static SEARCH_NS: AtomicU64 = AtomicU64::new(0);
    static CHANGE_NS: AtomicU64 = AtomicU64::new(0);

    /// Each counter with its name, since the process began. Times are in microseconds; reading the clock is in them.
    pub fn counted() -> [(&'static str, u64); 3] {
        [
            ("key_comparisons", KEY_COMPARISONS.load(Relaxed)),
            ("tree_search_us", SEARCH_NS.load(Relaxed) / 1000),
            ("tree_change_us", CHANGE_NS.load(Relaxed) / 1000),
        ]
    }

    pub(crate) fn comparison() {
        KEY_COMPARISONS.fetch_add(1, Relaxed);
    }

    /// Until it is dropped, a key is being looked for.
    pub(crate) fn searching() -> Timer {
        Timer { since: Instant::now(), total: &SEARCH_NS }
    }

    /// Until it is dropped, a tree is being changed.
    pub(crate) fn changing() -> Timer {
        Timer { since: Instant::now(), total: &CHANGE_NS }
    }

    pub(crate) struct Timer {
        since: Instant,
        total: &'static AtomicU64,
    }

    impl Drop for Timer {
        fn drop(&mut self) {
            self.total.fetch_add(self.since.elapsed().as_nanos() as u64, Relaxed);
        }
    }

    #[cfg(test)]
    mod tests {
        use crate::{Options, Store, TreeId};

        #[test]
        fn searches_and_changes_are_counted() {
            let before = super::counted();
            let store = Store::open_in_memory(Options::default()).unwrap();
            let transaction = store.begin().unwrap();
            for key in 0..2_000u32 {
                transaction.put(TreeId::CATALOG, &key.to_be_bytes(), b"value").unwrap();
            }
            transaction.commit(None).unwrap();
            for key in 0..2_000u32 {
                let found = store.snapshot().unwrap().reader().get(TreeId::CATALOG, &key.to_be_bytes()).unwrap();
                assert!(found.is_some());
            }
            let after = super::counted();
            for ((name, before), (_, after)) in before.into_iter().zip(after) {
                assert!(after > before, "{name}");
            }
            assert!(after[0].1 - before[0].1 > 5 * 2_000, "at least five comparisons for each key: {after:?}");
        }
    }
}

#[cfg(not(feature = "counters"))]
mod off {
    /// Nothing.
    pub(crate) struct Untimed;

    #[inline(always)]
    pub(crate) fn comparison() {}

    #[inline(always)]
    pub(crate) fn searching() -> Untimed {
        Untimed
    }

    #[inline(always)]
    pub(crate) fn changing() -> Untimed {
        Untimed
    }
}
