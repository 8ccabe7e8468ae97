//! Walks through a tree of which little is in memory.

use std::ops::Bound;
use std::sync::Arc;

use cairn_storage::io::MemFs;
use cairn_storage::{Environment, Error, KeyList, Options, RealHost, Stats, Store, TreeId};

const TREE: TreeId = TreeId::CATALOG;
const ENTRIES: u64 = 20_000;

/// A closed database of about 1,100 leaves, opened again for reading only: no background thread evicts what was read ahead
/// before the walk comes to it.
fn store(page_size: usize) -> Store {
    let files = Arc::new(MemFs::new());
    let env = || Environment { files: files.clone(), host: Arc::new(RealHost::default()) };
    let mut options = Options::default();
    options.page_size = page_size;
    options.cache_bytes = 256 * page_size;
    let value = vec![7; page_size / 20];
    let store = Store::open_with("ahead", options.clone(), env()).unwrap();
    let transaction = store.begin().unwrap();
    for i in 0..ENTRIES {
        transaction.put(TREE, &i.to_be_bytes(), &value).unwrap();
    }
    transaction.commit(None).unwrap();
    store.close().unwrap();
    options.read_only = true;
    Store::open_with("ahead", options, env()).unwrap()
}

/// What a walk over a range reads: entries, and the counters' growth.
fn walk(store: &Store, from: u64, to: u64, backward: bool) -> (Vec<u64>, Stats) {
    let before = store.stats();
    let snapshot = store.snapshot().unwrap();
    let (from, to) = (from.to_be_bytes(), to.to_be_bytes());
    let mut cursor = snapshot.reader().cursor(TREE, Bound::Included(&from), Bound::Excluded(&to)).unwrap();
    let mut found = Vec::new();
    loop {
        let entry = if backward { cursor.prev() } else { cursor.next() };
        let Some((key, _)) = entry.unwrap() else { break };
        found.push(u64::from_be_bytes(key.try_into().unwrap()));
    }
    let mut after = store.stats();
    after.pages_read -= before.pages_read;
    after.pages_read_ahead -= before.pages_read_ahead;
    (found, after)
}

fn pages(read: &Stats) -> u64 {
    read.pages_read + read.pages_read_ahead
}

#[test]
fn a_walk_over_everything_reads_nearly_all_of_it_ahead_and_nothing_twice() {
    for backward in [false, true] {
        let store = store(4096);
        let (mut found, read) = walk(&store, 0, ENTRIES, backward);
        if backward {
            found.reverse();
        }
        assert_eq!(found, Vec::from_iter(0..ENTRIES));
        assert!(read.pages_read_ahead > 20 * read.pages_read, "{read:?}");
        assert!(pages(&read) <= read.pages_total, "{read:?}");
    }
}

/// Looks keys up together, in this order.
fn look_up(store: &Store, keys: impl Iterator<Item = u64>) -> Stats {
    let before = store.stats();
    let mut list = KeyList::default();
    keys.for_each(|key| list.push(&key.to_be_bytes()));
    let snapshot = store.snapshot().unwrap();
    let mut lookup = snapshot.reader().lookup().unwrap();
    let found = lookup.get_each(TREE, &list, 0, |_, values| {
        assert!(values.iter().all(|value| value.iter().all(|byte| *byte == 7)));
        Ok::<_, Error>(())
    });
    assert_eq!(found.unwrap(), list.len());
    let mut after = store.stats();
    after.pages_read -= before.pages_read;
    after.pages_read_ahead -= before.pages_read_ahead;
    after
}

#[test]
fn keys_that_are_looked_up_together_have_their_pages_read_together_and_each_once() {
    let store = store(4096);
    // One of each of some hundred leaves, each twice, in no order.
    let keys: Vec<u64> = (0..100).map(|i| i * 7919 % 100 * 200).collect();
    let read = look_up(&store, keys.iter().chain(&keys).copied());
    assert!(read.pages_read <= 4 && (100..=112).contains(&pages(&read)), "{read:?}");
    let again = look_up(&store, keys.iter().copied());
    assert_eq!(pages(&again), 0);
    // More than the cache holds are found, too.
    look_up(&store, (0..3_000).map(|i| i * 7919 % ENTRIES));
}

#[test]
fn a_walk_over_a_range_reads_no_leaf_beyond_it() {
    for backward in [false, true] {
        let store = store(4096);
        let (whole, all) = walk(&store, 0, ENTRIES, backward);
        let leaf = whole.len() as u64 / pages(&all);
        let (mut found, read) = walk(&store, 9_000, 9_000 + 30 * leaf, backward);
        found.sort_unstable();
        assert_eq!(found, Vec::from_iter(9_000..9_000 + 30 * leaf));
        assert!(read.pages_read_ahead >= 20, "{read:?}");
        // A leaf more at either end, the pages above, and the catalog's own.
        assert!(pages(&read) <= 30 + 8, "{read:?}");
    }
}

#[test]
fn a_look_at_one_key_and_its_neighbour_reads_nothing_ahead() {
    let store = store(4096);
    for i in 0..50 {
        let (found, read) = walk(&store, i * 400, i * 400 + 2, false);
        assert_eq!((found.len(), read.pages_read_ahead), (2, 0));
    }
}

#[test]
fn pages_smaller_than_a_disk_s_block_are_read_ahead_too() {
    let store = store(512);
    let (found, read) = walk(&store, 0, ENTRIES, false);
    assert_eq!(found, Vec::from_iter(0..ENTRIES));
    assert!(read.pages_read_ahead > 2 * read.pages_read, "{read:?}");
}

/// A walk over four times what the cache holds had all of it run through the cache: nothing of it was there for the next,
/// nor anything else that was there before.
#[test]
fn a_long_walk_leaves_the_cache_to_what_is_there() {
    for backward in [false, true] {
        let store = store(4096);
        let (hot, rest) = (1_000, ENTRIES);
        let again = |store: &Store| {
            let (found, read) = walk(store, 0, hot, false);
            assert_eq!(found.len() as u64, hot);
            pages(&read)
        };
        let first = again(&store);
        again(&store);
        let (found, read) = walk(&store, hot, rest, backward);
        assert_eq!(found.len() as u64, rest - hot);
        assert!(again(&store) <= first / 5, "{read:?}");
        let (found, next) = walk(&store, hot, rest, backward);
        assert_eq!(found.len() as u64, rest - hot);
        assert!(pages(&next) + 100 < pages(&read), "{next:?}");
    }
}

/// Two walks, of which one follows the other: each let go of what it passed, which the other was about to read.
#[test]
fn who_follows_a_walk_finds_most_of_what_it_read() {
    // (A walk reads eight leaves ahead here, of some 18 entries: who is further behind reads them again.)
    for lag in [1, 20, 70] {
        let store = store(4096);
        let before = store.stats();
        let snapshot = store.snapshot().unwrap();
        let cursor = || snapshot.reader().cursor(TREE, Bound::Unbounded, Bound::Unbounded).unwrap();
        let (mut first, mut second) = (cursor(), cursor());
        for i in 0..ENTRIES + lag {
            assert_eq!(first.next().unwrap().is_some(), i < ENTRIES);
            if i >= lag {
                assert!(second.next().unwrap().is_some());
            }
        }
        let after = store.stats();
        let read = pages(&after) - pages(&before);
        assert!(read < before.pages_total + before.pages_total / 3, "{lag}: {read} of {}", before.pages_total);
    }
}

/// A walk that came to leaves that were there already let go of those that it was about to read, and read them again.
#[test]
fn a_walk_past_leaves_that_are_in_memory_reads_the_others_once() {
    for (step, block) in [(3, 1), (40, 12), (500, 250), (7, 5)] {
        for backward in [false, true] {
            let store = store(4096);
            // (Some 18 entries a leaf; what is looked at twice stays.)
            let hot = (0..ENTRIES).step_by(9).filter(|i| i / 18 % step < block).take(200);
            for i in hot.clone().chain(hot) {
                assert!(store.snapshot().unwrap().reader().get(TREE, &i.to_be_bytes()).unwrap().is_some());
            }
            let before = store.stats();
            let (found, read) = walk(&store, 0, ENTRIES, backward);
            assert_eq!(found.len() as u64, ENTRIES);
            let missing = before.pages_total - before.pages_free - pages(&before);
            assert!(pages(&read) <= missing + 16, "{step} {block} {backward}: {} of {missing}", pages(&read));
        }
    }
}
