//! The store against `BTreeMap`: random operations, several page sizes, a cache far too small, reopening in between.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use cairn_storage::broken::{self, Broken};
use cairn_storage::io::MemFs;
use cairn_storage::{
    AppendKey, Durability, Environment, KeyList, Losses, Options, Reader, RealHost, Snapshot, Store, TreeId,
};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// Keys of several shapes: short integers, long shared prefixes, random lengths.
    fn key(&mut self) -> Vec<u8> {
        match self.below(3) {
            0 => (self.below(3000)).to_be_bytes().to_vec(),
            1 => format!("some/long/shared/prefix/{:04}", self.below(2000)).into_bytes(),
            _ => (0..self.below(40)).map(|_| self.below(4) as u8).collect(),
        }
    }

    fn value(&mut self, page_size: usize) -> Vec<u8> {
        let longest = match self.below(40) {
            0 => page_size * 5,
            1..6 => page_size / 2,
            _ => 60,
        };
        let length = self.below(longest as u64) as usize;
        let byte = self.next() as u8;
        (0..length).map(|i| byte.wrapping_add(i as u8)).collect()
    }
}

fn environment() -> Environment {
    Environment { files: Arc::new(MemFs::new()), host: Arc::new(RealHost::default()) }
}

fn options(page_size: usize) -> Options {
    let mut options = Options::default();
    options.page_size = page_size;
    options.cache_bytes = 64 * page_size;
    options.log_segment_bytes = 64 << 10;
    options.log_limit_bytes = 2 << 20;
    options.checkpoint_log_bytes = 256 << 10;
    options.max_pages = 1 << 18;
    options
}

fn check(store: &Store, tree: TreeId, model: &Model, rng: &mut Rng) {
    let snapshot = store.snapshot().unwrap();
    let reader = snapshot.reader();
    let mut cursor = reader.cursor(tree, Bound::Unbounded, Bound::Unbounded).unwrap();
    for (key, value) in model {
        let (found_key, found) = cursor.next().unwrap().expect("the cursor ended early");
        assert_eq!((found_key, found), (key.as_slice(), value.as_slice()));
    }
    assert_eq!(cursor.next().unwrap(), None);
    check_lent_entries(reader, tree, model, rng);
    for _ in 0..20 {
        let (a, b) = (rng.key(), rng.key());
        assert_eq!(reader.get(tree, &a).unwrap().as_ref(), model.get(&a));
        let (lower, upper) = (Bound::Excluded(a.as_slice()), Bound::Included(b.as_slice()));
        let expected: Vec<_> = if a < b { model.range::<[u8], _>((lower, upper)).collect() } else { vec![] };
        let mut cursor = reader.cursor(tree, lower, upper).unwrap();
        for (key, value) in expected.iter().rev() {
            assert_eq!(cursor.prev().unwrap(), Some((key.as_slice(), value.as_slice())));
        }
        assert_eq!(cursor.prev().unwrap(), None);
        let mut cursor = reader.cursor(tree, Bound::Unbounded, Bound::Unbounded).unwrap();
        cursor.next().unwrap();
        cursor.seek(&b).unwrap();
        let sought = model.iter().skip(1).find(|(key, _)| **key >= b);
        assert_eq!(cursor.next().unwrap(), sought.map(|(k, v)| (k.as_slice(), v.as_slice())));
    }
}

/// Entries lent by the leaf, one by one (long values are only read so), and sought, in one walk.
fn check_lent_entries(reader: &Reader, tree: TreeId, model: &Model, rng: &mut Rng) {
    let (a, b) = (rng.key(), rng.key());
    let (a, b) = (a.min(b.clone()), b);
    let bounds = (Bound::Included(a.as_slice()), Bound::Excluded(b.as_slice()));
    let mut cursor = reader.cursor(tree, bounds.0, bounds.1).unwrap();
    let mut expected = model.iter().filter(|(key, _)| **key >= a && **key < b).peekable();
    let mut key = Vec::new();
    while expected.peek().is_some() {
        if rng.below(8) == 0 {
            let sought = rng.key();
            cursor.seek(&sought).unwrap();
            while expected.next_if(|(key, _)| **key < sought).is_some() {}
        }
        let (limit, leave) = (1 + rng.below(9) as usize, rng.below(3) as usize);
        let taken = cursor.next_entries(limit, |entries| {
            assert!(!entries.is_empty() && entries.len() <= limit);
            let wanted = entries.len().saturating_sub(leave);
            for i in 0..wanted {
                let Some(value) = entries.value(i) else { return (i, i) };
                entries.key_into(i, &mut key);
                assert_eq!(Some((&key, value)), expected.next().map(|(k, v)| (k, v.as_slice())));
            }
            (wanted, wanted)
        });
        if taken.unwrap() == Some(0) {
            assert_eq!(cursor.next().unwrap(), expected.next().map(|(k, v)| (k.as_slice(), v.as_slice())));
        }
    }
    assert_eq!(cursor.next_entries(9, |_| (0, ())).unwrap(), None);
}

/// What differs between two snapshots, both ways, in a range of every tree, and when it is stopped early.
fn check_difference(
    before: &Snapshot,
    old: &BTreeMap<TreeId, Model>,
    after: &Snapshot,
    new: &BTreeMap<TreeId, Model>,
    rng: &mut Rng,
) {
    let nothing = Model::new();
    let trees: BTreeSet<TreeId> = old.keys().chain(new.keys()).copied().collect();
    for tree in trees {
        let (old, new) = (old.get(&tree).unwrap_or(&nothing), new.get(&tree).unwrap_or(&nothing));
        let (a, b) = (rng.key(), rng.key());
        let bound = |rng: &mut Rng, key: &[u8]| match rng.below(4) {
            0 => Bound::Included(key.to_vec()),
            1 => Bound::Excluded(key.to_vec()),
            _ => Bound::Unbounded,
        };
        let (lower, upper) = (bound(rng, &a), bound(rng, &b));
        let (lower, upper) = (lower.as_ref().map(Vec::as_slice), upper.as_ref().map(Vec::as_slice));
        let keys: BTreeSet<&Vec<u8>> = old.keys().chain(new.keys()).collect();
        let is_in_range = |key: &Vec<u8>| (lower, upper).contains(key.as_slice());
        let value = |model: &Model, key: &Vec<u8>| model.get(key).cloned();
        let expected: Vec<_> =
            keys.into_iter().filter(|key| is_in_range(key) && old.get(*key) != new.get(*key)).collect();
        let limit = if rng.below(3) == 0 { rng.below(5) as usize } else { usize::MAX };
        let mut told = Vec::new();
        let collect = |key: &[u8], older: Option<&[u8]>, newer: Option<&[u8]>| {
            // A long value that was written again is told although it is the same.
            if older != newer {
                told.push((key.to_vec(), older.map(<[u8]>::to_vec), newer.map(<[u8]>::to_vec)));
            }
            told.len() <= limit
        };
        before.diff(after, tree, lower, upper, collect).unwrap();
        let expected = expected.into_iter().map(|key| (key.clone(), value(old, key), value(new, key)));
        assert_eq!(told, expected.take(limit.saturating_add(1)).collect::<Vec<_>>());
    }
}

fn run(page_size: usize, seed: u64, rounds: usize) {
    let env = environment();
    let mut rng = Rng(seed);
    let mut store = Store::open_with("model", options(page_size), env.clone()).unwrap();
    let mut models: BTreeMap<TreeId, Model> = BTreeMap::from([(TreeId::CATALOG, Model::new())]);
    let mut earlier: Option<(Snapshot, BTreeMap<TreeId, Model>)> = None;
    let feed = feed(&store);
    models.insert(feed, Model::new());
    for round in 0..rounds {
        let mut after = models.clone();
        let transaction = store.begin().unwrap();
        let mut appended = Appended::default();
        if rng.below(3) == 0 {
            appended.some(&transaction, feed, &mut rng, page_size);
        }
        if rng.below(8) == 0 {
            after.insert(transaction.create_tree().unwrap(), Model::new());
        }
        if rng.below(12) == 0 && after.len() > 2 {
            let last = *after.keys().last().unwrap();
            transaction.drop_tree(last).unwrap();
            after.remove(&last);
        }
        for _ in 0..rng.below(60) {
            let trees: Vec<TreeId> = after.keys().copied().collect();
            let tree = trees[rng.below(trees.len() as u64) as usize];
            change(&transaction, tree, after.get_mut(&tree).unwrap(), &mut rng, page_size);
        }
        if rng.below(4) == 0 {
            sweep(&transaction, after.iter_mut().next().unwrap(), &mut rng, page_size);
        }
        if rng.below(4) == 0 {
            let before = after.clone();
            let savepoint = transaction.savepoint().unwrap();
            let kept = appended.entries.len();
            appended.some(&transaction, feed, &mut rng, page_size);
            let tree = *after.keys().next().unwrap();
            for _ in 0..rng.below(30) {
                change(&transaction, tree, after.get_mut(&tree).unwrap(), &mut rng, page_size);
            }
            sweep(&transaction, (&tree, after.get_mut(&tree).unwrap()), &mut rng, page_size);
            if rng.below(2) == 0 {
                transaction.rollback_to(&savepoint).unwrap();
                after = before;
                appended.entries.truncate(kept);
            }
        }
        match rng.below(10) {
            0 => transaction.rollback(),
            _ => {
                let modes = [Durability::Full, Durability::Group, Durability::Interval, Durability::Off];
                let mode = Some(modes[rng.below(4) as usize]);
                let position = transaction.commit_or_note(mode, &mut Losses::default(), &|| false).unwrap();
                after.get_mut(&feed).unwrap().extend(appended.keyed(position));
                models = after;
            }
        }
        if round % 40 == 39 {
            for (tree, model) in &models {
                check(&store, *tree, model, &mut rng);
            }
            store.verify().unwrap();
        }
        if round % 5 == 4 {
            let (before, model) = earlier.get_or_insert_with(|| (store.snapshot().unwrap(), models.clone()));
            check_difference(before, model, &store.snapshot().unwrap(), &models, &mut rng);
            earlier.take_if(|_| rng.below(4) == 0);
        }
        if round % 150 == 149 {
            earlier = None;
            store.close().unwrap();
            store = Store::open_with("model", options(page_size), env.clone()).unwrap();
        }
        if round % 97 == 96 {
            store.compact().unwrap();
            store.verify().unwrap();
        }
    }
    // What it kept goes with the next version, and from the file with the next checkpoint.
    drop(earlier);
    let transaction = store.begin().unwrap();
    transaction.put(TreeId::CATALOG, b"last", b"").unwrap();
    transaction.commit(None).unwrap();
    store.checkpoint().unwrap();
    let pages = store.verify().unwrap();
    let stats = store.stats();
    let in_use = stats.pages_total - stats.pages_free;
    assert!(in_use <= pages.pages + 40, "{in_use} pages are in use, {} belong to something", pages.pages);
}

/// A tree to append to.
fn feed(store: &Store) -> TreeId {
    let transaction = store.begin().unwrap();
    let feed = transaction.create_tree().unwrap();
    transaction.commit(None).unwrap();
    feed
}

/// What a transaction appended.
#[derive(Default)]
struct Appended {
    entries: Vec<(u32, Vec<u8>)>,
    times: u32,
}

impl Appended {
    fn some(&mut self, transaction: &cairn_storage::Transaction, feed: TreeId, rng: &mut Rng, page_size: usize) {
        for _ in 0..rng.below(5) {
            // So short that a commit's never fill a tree of their own, whose entries have other keys (see `appends.rs`).
            let value = rng.value(page_size.min(1024));
            transaction.append(feed, &value).unwrap();
            self.entries.push((self.times, value));
            self.times += 1;
        }
    }

    fn keyed(self, position: Option<u64>) -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> {
        let key = move |ordinal| AppendKey::new(position.unwrap_or_default(), ordinal).bytes().to_vec();
        self.entries.into_iter().map(move |(ordinal, value)| (key(ordinal), value))
    }
}

fn change(transaction: &cairn_storage::Transaction, tree: TreeId, model: &mut Model, rng: &mut Rng, page_size: usize) {
    let key = match model.len() {
        n if n > 0 && rng.below(3) == 0 => model.keys().nth(rng.below(n as u64) as usize).unwrap().clone(),
        _ => rng.key(),
    };
    match rng.below(6) {
        0 | 1 => {
            assert_eq!(transaction.delete(tree, &key).unwrap(), model.remove(&key).is_some());
        }
        2 if model.get(&key).is_some_and(|value| !value.is_empty()) => {
            let value = model.get_mut(&key).unwrap();
            let at = rng.below(value.len() as u64) as usize;
            let bytes: Vec<u8> = (at..value.len().min(at + 9)).map(|_| rng.next() as u8).collect();
            transaction.patch(tree, &key, at, &bytes).unwrap();
            value[at..at + bytes.len()].copy_from_slice(&bytes);
        }
        3 => {
            let value = rng.value(page_size);
            assert_eq!(transaction.insert(tree, &key, &value).unwrap(), !model.contains_key(&key));
            model.entry(key.clone()).or_insert(value);
        }
        _ => {
            let value = rng.value(page_size);
            transaction.put(tree, &key, &value).unwrap();
            model.insert(key.clone(), value);
        }
    }
    assert_eq!(transaction.reader().get(tree, &key).unwrap().as_ref(), model.get(&key));
}

/// Changes one entry after the other, in the order of their keys, as statements over many rows do: reads each, patches it,
/// replaces it by a value as long or of another length, deletes it, inserts one before it.
fn sweep(
    transaction: &cairn_storage::Transaction,
    (&tree, model): (&TreeId, &mut Model),
    rng: &mut Rng,
    page_size: usize,
) {
    let skipped = rng.below(model.len() as u64 + 1) as usize;
    let keys: Vec<Vec<u8>> = model.keys().skip(skipped).take(rng.below(100) as usize).cloned().collect();
    let kind = rng.below(6);
    let _cursor = (rng.below(4) == 0).then(|| {
        let mut cursor = transaction.reader().cursor(tree, Bound::Unbounded, Bound::Unbounded).unwrap();
        cursor.next().unwrap();
        cursor
    });
    if rng.below(2) == 0 {
        patch_each(transaction, tree, (&keys, &mut *model), rng);
    }
    if rng.below(2) == 0 {
        insert_each(transaction, tree, (&keys, &mut *model), rng, page_size);
    }
    if rng.below(3) == 0 {
        return delete_each(transaction, tree, (&keys, model), rng);
    }
    for (at, key) in keys.iter().enumerate() {
        if rng.below(3) > 0 {
            assert_eq!(transaction.reader().get(tree, key).unwrap().as_ref(), model.get(key));
        }
        let old = &model[key];
        let change = if kind < 5 { kind } else { rng.below(5) };
        match change {
            0 if !old.is_empty() => {
                let offset = rng.below(old.len() as u64) as usize;
                transaction.patch(tree, key, offset, &[at as u8]).unwrap();
                model.get_mut(key).unwrap()[offset] = at as u8;
            }
            1 => {
                let value = vec![at as u8; old.len()];
                transaction.put(tree, key, &value).unwrap();
                model.insert(key.clone(), value);
            }
            2 => {
                let value = rng.value(page_size);
                transaction.put(tree, key, &value).unwrap();
                model.insert(key.clone(), value);
            }
            3 => {
                assert!(transaction.delete(tree, key).unwrap());
                assert!(!transaction.delete(tree, key).unwrap());
                model.remove(key);
            }
            4 => {
                let mut before = key.clone();
                before.pop();
                before.extend_from_slice(&[0, at as u8]);
                assert_eq!(transaction.insert(tree, &before, b"new").unwrap(), !model.contains_key(&before));
                model.entry(before).or_insert_with(|| b"new".to_vec());
            }
            _ => {}
        }
        if rng.below(3) > 0 {
            assert_eq!(transaction.reader().get(tree, key).unwrap().as_ref(), model.get(key));
        }
    }
}

/// Removes all or some of the entries in one go; keys that are not there, that come twice, that descend count for nothing, or as they are.
fn delete_each(
    transaction: &cairn_storage::Transaction,
    tree: TreeId,
    (keys, model): (&[Vec<u8>], &mut Model),
    rng: &mut Rng,
) {
    let (all, backwards) = (rng.below(3) == 0, rng.below(6) == 0);
    let mut wanted = Vec::new();
    for key in keys {
        if all || rng.below(2) == 0 {
            wanted.push(key.clone());
        }
        match rng.below(30) {
            0 => wanted.push(key.clone()),
            1 => wanted.push([key.as_slice(), b"not there"].concat()),
            2 => wanted.push(rng.key()),
            _ => {}
        }
    }
    if backwards {
        wanted.reverse();
    }
    let mut list = KeyList::default();
    wanted.iter().for_each(|key| list.push(key));
    let removed = wanted.iter().filter(|key| model.remove(*key).is_some()).count();
    assert_eq!(transaction.writer().unwrap().delete_each(tree, &list).unwrap(), removed);
    for key in wanted.iter().chain(keys) {
        assert_eq!(transaction.reader().get(tree, key).unwrap().as_ref(), model.get(key));
    }
}

/// Inserts some that mostly ascend, from somewhere on: between others, behind all, some that are there, some that are long.
fn insert_each(
    transaction: &cairn_storage::Transaction,
    tree: TreeId,
    (keys, model): (&[Vec<u8>], &mut Model),
    rng: &mut Rng,
    page_size: usize,
) {
    let mut key =
        if rng.below(2) == 0 { model.keys().last().cloned() } else { keys.first().cloned() }.unwrap_or_default();
    let (mut list, mut values) = (KeyList::default(), KeyList::default());
    for _ in 0..rng.below(60) {
        match rng.below(30) {
            0 => key = rng.key(),
            _ if key.len() < page_size / 8 => key.push(rng.below(3) as u8),
            _ => key = [&key[..key.len() - page_size / 10], &[0xFF]].concat(),
        }
        list.push(&key);
        let long = rng.below(20) == 0;
        values.push(&if long { rng.value(page_size) } else { vec![key.len() as u8; rng.below(12) as usize] });
    }
    let mut done = rng.below(3) as usize;
    while done < list.len() {
        let from = done;
        done = transaction.writer().unwrap().insert_each(tree, &list, &values, from).unwrap();
        for at in from..done {
            assert!(model.insert(list.get(at).to_vec(), values.get(at).to_vec()).is_none(), "it was there");
        }
        if done < list.len() {
            assert!(model.contains_key(list.get(done)), "it was not there");
            done += 1;
        }
    }
}

/// Patches all entries that are short in one go, some of them at two places, and skips others; keys that are not there, values
/// that are long and those that it wants otherwise stop it.
fn patch_each(
    transaction: &cairn_storage::Transaction,
    tree: TreeId,
    (keys, model): (&[Vec<u8>], &mut Model),
    rng: &mut Rng,
) {
    let mut list = KeyList::default();
    let (skipping, missing, backwards) = (rng.below(2) == 0, rng.below(3) == 0, rng.below(6) == 0);
    for key in keys {
        if !skipping || rng.below(3) > 0 {
            list.push(key);
        }
        if missing && rng.below(20) == 0 {
            list.push(&[key.as_slice(), b"not there"].concat());
        }
    }
    if backwards {
        let mut reversed = KeyList::default();
        (0..list.len()).rev().for_each(|at| reversed.push(list.get(at)));
        list = reversed;
    }
    let mut done = 0;
    while done < list.len() {
        let (from, mut asked) = (done, done);
        let mut writer = transaction.writer().unwrap();
        done = writer
            .patch_each(tree, &list, from, &mut |at, value, patches| {
                assert_eq!(at, asked, "each is asked about once, in order");
                asked += 1;
                assert_eq!(model.get(list.get(at)).map(Vec::as_slice), Some(value));
                if rng.below(30) == 0 || value.is_empty() {
                    return false;
                }
                let offset = rng.below(value.len() as u64) as usize;
                patches.bytes().push(at as u8);
                patches.place(offset);
                if rng.below(40) == 0 {
                    // Beyond its end: nothing of it is done.
                    patches.bytes().push(0);
                    patches.place(value.len());
                    return true;
                }
                let value = model.get_mut(list.get(at)).unwrap();
                value[offset] = at as u8;
                if rng.below(3) == 0 {
                    patches.bytes().push(0xAA);
                    patches.place(0);
                    value[0] = 0xAA;
                }
                true
            })
            .unwrap();
        assert!(done == asked || done + 1 == asked);
        done += usize::from(done < list.len());
    }
}

#[test]
fn small_pages_agree_with_a_sorted_map() {
    for seed in 1..6 {
        run(512, seed * 7919, 400);
    }
}

#[test]
fn a_place_that_is_kept_too_long_is_noticed() {
    broken::must_be_caught(Broken::PlaceKept, small_pages_agree_with_a_sorted_map);
}

#[test]
fn what_is_appended_in_spite_of_a_savepoint_is_noticed() {
    broken::must_be_caught(Broken::SavepointKeepsAppends, small_pages_agree_with_a_sorted_map);
}

#[test]
fn a_run_of_patches_that_does_not_look_at_the_next_key_is_noticed() {
    broken::must_be_caught(Broken::NextUnchecked, small_pages_agree_with_a_sorted_map);
}

#[test]
fn a_run_of_removals_that_goes_by_the_place_alone_is_noticed() {
    broken::must_be_caught(Broken::RunByPlace, small_pages_agree_with_a_sorted_map);
}

#[test]
fn ordinary_pages_agree_with_a_sorted_map() {
    run(4096, 42, 400);
}

#[test]
fn the_largest_pages_agree_with_a_sorted_map() {
    run(32768, 43, 200);
}

#[test]
fn a_transaction_larger_than_the_cache_and_a_log_record_commits_whole() {
    let env = environment();
    let store = Store::open_with("large", options(4096), env.clone()).unwrap();
    let transaction = store.begin().unwrap();
    let mut model = Model::new();
    for i in 0..6000u64 {
        let key = i.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes();
        transaction.put(TreeId::CATALOG, &key, &[i as u8; 100]).unwrap();
        model.insert(key.to_vec(), vec![i as u8; 100]);
    }
    transaction.commit(None).unwrap();
    check(&store, TreeId::CATALOG, &model, &mut Rng(5));
    store.close().unwrap();
    let store = Store::open_with("large", options(4096), env).unwrap();
    check(&store, TreeId::CATALOG, &model, &mut Rng(6));
    store.verify().unwrap();
}
