//! Entries that commits add to: the sum of all that was committed, whichever way, and in nobody's way.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use cairn_storage::broken::{self, Broken};
use cairn_storage::io::{CrashStrategy, SimDisk};
use cairn_storage::{
    Acknowledge, COUNTERS_MAX, Durability, Environment, Error, Options, QuietHost, Store, Transaction, TreeId,
    WriteError, counters,
};

type Sums = BTreeMap<Vec<u8>, Vec<i128>>;

const FRONT: &[u8] = b"front";
const MODES: [Durability; 4] = [Durability::Full, Durability::Group, Durability::Interval, Durability::Off];

struct Rng(u64);

impl Rng {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

fn sums(store: &Store, tree: TreeId) -> Sums {
    let snapshot = store.snapshot().unwrap();
    let mut cursor = snapshot.reader().cursor(tree, Bound::Unbounded, Bound::Unbounded).unwrap();
    let mut sums = Sums::new();
    while let Some((key, value)) = cursor.next().unwrap() {
        assert!(value.starts_with(FRONT));
        sums.insert(key.to_vec(), counters(value, FRONT.len()).unwrap().collect());
    }
    sums
}

/// What an addition makes of the model.
fn model_add(model: &mut Sums, key: &[u8], deltas: &[i128]) {
    let sum = model.entry(key.to_vec()).or_insert_with(|| vec![0; deltas.len()]);
    sum.iter_mut().zip(deltas).for_each(|(sum, delta)| *sum += delta);
    if sum[0] == 0 {
        model.remove(key);
    }
}

/// Some additions, such as keep the count above nothing.
fn additions(model: &mut Sums, rng: &mut Rng, most: u64, mut add: impl FnMut(&[u8], &[i128])) {
    for _ in 0..=rng.below(most) {
        let key =
            vec![b'k'; rng.below(4) as usize * 30 + 1].into_iter().chain([rng.below(7) as u8]).collect::<Vec<u8>>();
        let count = model.get(&key).map_or(0, |sum| sum[0]);
        let delta = if rng.below(3) == 0 { -count } else { i128::from(rng.below(5)) - count.min(1) };
        // Nothing is left of the sums where nothing is left to count.
        let goes = count + delta == 0;
        let old = model.get(&key).map_or(0, |sum| sum[1]);
        let value = if goes { -old } else { i128::from(rng.below(1000)) * (1 << rng.below(70)) };
        model_add(model, &key, &[delta, value]);
        add(&key, &[delta, value]);
    }
}

fn with_trees(store: &Store) -> (TreeId, TreeId) {
    let tx = store.begin().unwrap();
    let trees = (tx.create_derived_tree().unwrap(), tx.create_tree().unwrap());
    tx.add(trees.0, b"first", FRONT, &[1, 1]).unwrap();
    tx.add(trees.0, b"first", FRONT, &[-1, -1]).unwrap();
    tx.commit(None).unwrap();
    trees
}

fn in_transaction(tx: &Transaction, (sums, rows): (TreeId, TreeId), model: &mut Sums, round: u64, rng: &mut Rng) {
    // Few rows, more than a list takes, and more than memory keeps.
    let more = [0, 3, 100, 12_000][if rng.below(12) == 0 { 3 } else { rng.below(3) as usize }];
    let add = |key: &[u8], deltas: &[i128]| tx.add(sums, key, FRONT, deltas).unwrap();
    additions(model, rng, 12, add);
    (0..more).for_each(|key: u32| tx.put(rows, &key.to_be_bytes(), &[round as u8; 150]).unwrap());
    if rng.below(3) == 0 {
        let (savepoint, mut undone) = (tx.savepoint().unwrap(), model.clone());
        additions(&mut undone, rng, 40, add);
        tx.rollback_to(&savepoint).unwrap();
    }
    additions(model, rng, 4, add);
    if rng.below(2) == 0 {
        for (key, sum) in model.iter() {
            let seen = tx.reader().get(sums, key).unwrap().unwrap();
            assert_eq!(counters(&seen, FRONT.len()).unwrap().collect::<Vec<_>>(), *sum);
        }
    }
}

/// Commits in every way there is, and looks after each; then the disk crashes, and what it recovers is what was there.
fn agree(seed: u64) {
    let disk = SimDisk::new(seed);
    let env = |disk: &SimDisk| Environment { files: Arc::new(disk.clone()), host: Arc::new(QuietHost::default()) };
    let options = || {
        let mut options = Options::default();
        (options.log_segment_bytes, options.checkpoint_log_bytes) = (64 << 10, 1 << 20);
        options
    };
    let store = Store::open_with("db", options(), env(&disk)).unwrap();
    let trees = with_trees(&store);
    let (mut rng, mut model) = (Rng(seed + 1), Sums::new());
    for round in 0..60 {
        let mode = MODES[rng.below(4) as usize];
        if rng.below(3) == 0 {
            let mut session = store.session().unwrap();
            let (mut after, is_kept) = (model.clone(), rng.below(4) > 0);
            let mut list = Vec::new();
            additions(&mut after, &mut rng, 6, |key, deltas| list.push((key.to_vec(), deltas.to_vec())));
            let written = session.write(Acknowledge::Now(Some(mode)), |writer| {
                list.iter().try_for_each(|(key, deltas)| writer.add(trees.0, key, FRONT, deltas))?;
                if is_kept { Ok(()) } else { Err(WriteError::Caller(())) }
            });
            assert_eq!(written.is_ok(), is_kept);
            if is_kept {
                model = after;
            }
        } else {
            let (tx, mut after) = (store.begin().unwrap(), model.clone());
            in_transaction(&tx, trees, &mut after, round, &mut rng);
            if rng.below(3) == 0 && !model.is_empty() {
                // Another adds meanwhile: the transaction has not looked, unless it has.
                let key = model.keys().next().unwrap().clone();
                let other = store.begin().unwrap();
                other.add(trees.0, &key, FRONT, &[2, 7]).unwrap();
                other.commit(Some(mode)).unwrap();
                model_add(&mut model, &key, &[2, 7]);
                match tx.commit(Some(mode)) {
                    // It may have taken the last of what it saw away: there is more.
                    Ok(()) => {
                        model_add(&mut after, &key, &[2, 7]);
                        model = after;
                    }
                    Err(Error::Conflict) => {}
                    Err(error) => panic!("{error}"),
                }
            } else {
                tx.commit(Some(mode)).unwrap();
                model = after;
            }
        }
        assert_eq!(sums(&store, trees.0), model, "seed {seed}, round {round}");
    }
    store.verify().unwrap();
    // It is durable with all that came before it.
    let tx = store.begin().unwrap();
    tx.put(trees.1, b"last", b"").unwrap();
    tx.commit(Some(Durability::Full)).unwrap();
    let image = disk.crash(CrashStrategy::KeepNone);
    drop(store);
    let disk = SimDisk::from_image(&image, 4);
    let store = Store::open_with("db", options(), env(&disk)).unwrap();
    assert_eq!(sums(&store, trees.0), model, "seed {seed}");
    store.checkpoint().unwrap();
    assert_eq!(sums(&store, trees.0), model);
}

fn all_agree() {
    (0..40).for_each(agree);
}

#[test]
fn sums_are_those_of_what_was_committed_before_and_after_a_crash() {
    all_agree();
}

#[test]
fn additions_to_nothing_are_noticed() {
    broken::must_be_caught(Broken::AddsForget, all_agree);
}

/// Nothing is read to add, however hot the entry is.
#[test]
fn who_adds_is_in_nobodys_way() {
    let store = Store::open_in_memory(Options::default()).unwrap();
    let trees = with_trees(&store);
    let threads: Vec<_> = (0..4u8)
        .map(|thread| {
            let store = store.clone();
            std::thread::spawn(move || {
                let mut session = store.session().unwrap();
                for round in 0..200u32 {
                    let tx = store.begin().unwrap();
                    let more = if round % 9 == 0 { 60 } else { 2 };
                    (0..more).for_each(|key: u8| tx.put(trees.1, &[thread, key], &[round as u8]).unwrap());
                    tx.add(trees.0, b"hot", FRONT, &[1, 3]).unwrap();
                    tx.commit(Some(MODES[round as usize % 2])).unwrap();
                    let add = session.write::<_, ()>(Acknowledge::Now(None), |writer| {
                        Ok(writer.add(trees.0, b"hot", FRONT, &[1, -1])?)
                    });
                    add.unwrap().1.wait().unwrap();
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(store.stats().conflicts, 0);
    assert_eq!(sums(&store, trees.0), Sums::from([(b"hot".to_vec(), vec![1600, 1600])]));
}

/// Who has looked at a sum rests on it, his own additions or not.
fn who_reads_conflicts() {
    let store = Store::open_in_memory(Options::default()).unwrap();
    let trees = with_trees(&store);
    for (more, reads_first) in [(0u32, false), (0, true), (100, false), (100, true)] {
        let tx = store.begin().unwrap();
        if reads_first {
            tx.reader().get(trees.0, b"hot").unwrap();
        }
        tx.add(trees.0, b"hot", FRONT, &[1, 1]).unwrap();
        (0..more).for_each(|key| tx.put(trees.1, &key.to_be_bytes(), b"row").unwrap());
        if !reads_first {
            tx.reader().get(trees.0, b"hot").unwrap();
        }
        let other = store.begin().unwrap();
        other.add(trees.0, b"hot", FRONT, &[1, 1]).unwrap();
        other.commit(None).unwrap();
        assert!(matches!(tx.commit(None), Err(Error::Conflict)));
    }
    assert_eq!(sums(&store, trees.0)[&b"hot".to_vec()], [4, 4]);
}

#[test]
fn who_reads_a_sum_rests_on_it() {
    who_reads_conflicts();
}

#[test]
fn a_sum_that_does_not_count_as_read_is_noticed() {
    broken::must_be_caught(Broken::SumsUnread, who_reads_conflicts);
}

#[test]
fn what_can_not_be_added_to_is_refused_and_changes_nothing() {
    let store = Store::open_in_memory(Options::default()).unwrap();
    let (sums_tree, _) = with_trees(&store);
    let tx = store.begin().unwrap();
    tx.put(sums_tree, b"text", b"front, and no counters").unwrap();
    tx.commit(None).unwrap();
    let tx = store.begin().unwrap();
    assert!(matches!(tx.add(sums_tree, b"text", FRONT, &[1, 1]), Err(Error::Corrupt { .. })));
    assert!(matches!(tx.add(sums_tree, b"below", FRONT, &[-1, 1]), Err(Error::Corrupt { .. })));
    assert!(matches!(tx.add(sums_tree, b"many", FRONT, &[1; COUNTERS_MAX + 2]), Err(Error::Corrupt { .. })));
    assert!(!tx.has_changes());
    tx.commit(None).unwrap();
    // What others made of it meanwhile.
    let tx = store.begin().unwrap();
    tx.add(sums_tree, b"late", FRONT, &[1, 1]).unwrap();
    let other = store.begin().unwrap();
    other.drop_tree(sums_tree).unwrap();
    other.commit(None).unwrap();
    assert!(matches!(tx.commit(None), Err(Error::Conflict)));
}
