//! A database that is damaged at every page, one at a time, cut at every length that makes a difference, and beside a
//! damaged log. What must be saved is worked out from the undamaged file.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::path::Path;

use super::*;
use crate::env::Environment;
use crate::io::{Create, OpenHow};
use crate::log::log_path;
use crate::page::layout::Kind;
use crate::page::{Owner, PAGES_ONLY, PageRef};
use crate::store::Store;
use crate::tree::node::Node;
use crate::tree::{Visit, walk};
use crate::{Durability, Options, TreeId};

const PAGE: usize = 1024;
const NAME: &str = "damaged";
const SAVED: &str = "saved";

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

fn options() -> Options {
    Options {
        page_size: PAGE,
        log_segment_bytes: 16 << 10,
        log_limit_bytes: 1 << 20,
        cache_bytes: 512 * PAGE,
        max_pages: 1 << 14,
        ..Options::default()
    }
}

fn bytes_of(env: &Environment, path: &Path) -> Vec<u8> {
    let how = OpenHow { create: Create::Never, read_only: true, direct: false };
    let file = env.files.open(path, how).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_at(&mut bytes, 0).unwrap();
    bytes
}

fn write(env: &Environment, path: &Path, bytes: &[u8]) {
    let how = OpenHow { create: Create::New, read_only: false, direct: false };
    env.files.open(path, how).unwrap().write_at(bytes, 0).unwrap();
}

/// The bytes of a database and of its log.
#[derive(Clone)]
struct Image {
    file: Vec<u8>,
    log: Option<Vec<u8>>,
}

impl Image {
    fn of(env: &Environment) -> Image {
        let log = log_path(Path::new(NAME));
        let log = env.files.exists(&log).unwrap().then(|| bytes_of(env, &log));
        Image { file: bytes_of(env, Path::new(NAME)), log }
    }

    fn environment(&self) -> Environment {
        let env = Environment::in_memory();
        write(&env, Path::new(NAME), &self.file);
        if let Some(log) = &self.log {
            write(&env, &log_path(Path::new(NAME)), log);
        }
        env
    }

    fn damage(&self, page: u32) -> Image {
        let mut image = self.clone();
        image.file[page as usize * PAGE + 100..][..4].iter_mut().for_each(|byte| *byte ^= 0x5A);
        image
    }

    fn cut(&self, length: usize) -> Image {
        let mut image = self.clone();
        image.file.truncate(length);
        image
    }

    fn pages(&self) -> u32 {
        (self.file.len() / PAGE) as u32
    }
}

/// What came of a salvage.
struct Outcome {
    report: Salvage,
    trees: BTreeMap<TreeId, Rows>,
    uncertain: Vec<UncertainEntry>,
}

fn rows_of(store: &Store) -> BTreeMap<TreeId, Rows> {
    let snapshot = store.snapshot().unwrap();
    let mut trees = BTreeMap::new();
    for tree in snapshot.trees() {
        let rows: &mut Rows = trees.entry(tree).or_default();
        let mut cursor = snapshot.reader().cursor(tree, Bound::Unbounded, Bound::Unbounded).unwrap();
        while let Some((key, value)) = cursor.next().unwrap() {
            rows.insert(key.to_vec(), value.to_vec());
        }
    }
    trees
}

fn run(image: &Image) -> Outcome {
    let env = image.environment();
    let mut report = salvage_with(NAME, SAVED, options(), env.clone(), &mut |_, _| ()).unwrap();
    assert_eq!(bytes_of(&env, Path::new(NAME)), image.file, "the damaged file is only read");
    let mut uncertain = Vec::new();
    if let Some(entries) = &mut report.uncertain {
        let each = |entry| {
            uncertain.push(entry);
            Ok::<(), crate::Error>(())
        };
        entries.for_each(each).unwrap();
    }
    let store = Store::open_with(SAVED, options(), env).unwrap();
    store.verify().unwrap();
    let trees = rows_of(&store);
    let entries: usize = trees.iter().filter(|(tree, _)| !tree.is_derived()).map(|(_, rows)| rows.len()).sum();
    assert_eq!(report.entries, entries as u64);
    Outcome { report, trees, uncertain }
}

/// A tree of many pages with long values, one without, one derived, one that is dropped, and a catalog of several pages.
struct Example {
    table: TreeId,
    other: TreeId,
    index: TreeId,
}

fn key(i: u32) -> Vec<u8> {
    format!("key {i:06}").into_bytes()
}

/// Of an entry that commits add to.
fn sum_key(at: u32) -> Vec<u8> {
    format!("sum {at}").into_bytes()
}

/// Rows are inserted in an order that leaves dead copies of pages everywhere, some are updated, some deleted.
fn fill(store: &Store) -> Example {
    let transaction = store.begin().unwrap();
    let [table, other, dropped] = [(); 3].map(|()| transaction.create_tree().unwrap());
    let index = transaction.create_derived_tree().unwrap();
    for i in 0..40u32 {
        transaction.put(TreeId::CATALOG, &key(i), &[b'c'; 60]).unwrap();
    }
    transaction.commit(None).unwrap();
    for round in 0..6u32 {
        let transaction = store.begin().unwrap();
        for i in (round..600).step_by(6) {
            let length = if i % 97 == 0 { 3000 } else { 40 };
            transaction.put(table, &key(i), &vec![i as u8; length]).unwrap();
            transaction.put(other, &i.to_be_bytes(), b"small").unwrap();
            transaction.put(dropped, &i.to_be_bytes(), b"gone").unwrap();
            transaction.put(index, &key(600 - i), b"").unwrap();
        }
        transaction.commit(None).unwrap();
        store.checkpoint().unwrap();
    }
    let transaction = store.begin().unwrap();
    for i in (0..600).step_by(5) {
        transaction.put(table, &key(i), b"updated").unwrap();
        transaction.delete(other, &u32::to_be_bytes(i)).unwrap();
    }
    transaction.drop_tree(dropped).unwrap();
    (0..3).for_each(|at| transaction.add(other, &sum_key(at), b"", &[1, 100]).unwrap());
    transaction.commit(None).unwrap();
    Example { table, other, index }
}

/// What a live page holds.
#[derive(Clone, Debug)]
struct Held {
    tree: TreeId,
    /// Keys of a leaf; of a page of a long value, the key of its entry.
    keys: Vec<Vec<u8>>,
    is_leaf: bool,
}

/// All live pages of trees.
fn live_pages(store: &Store) -> BTreeMap<u32, Held> {
    let engine = store.engine();
    let trees = engine.writer.lock().trees.list();
    let mut held = BTreeMap::new();
    let slot = engine.pages.slots.claim(Owner::Engine, PAGES_ONLY).unwrap();
    for entry in trees.entries() {
        let mut chain: Vec<u32> = Vec::new();
        let mut visit = |visit: Visit<'_>| {
            let tree = entry.id;
            if visit.fences.is_none() {
                chain.push(visit.page.id);
                return Ok(true);
            }
            let node = Node::new(visit.bytes);
            let mut keys = Vec::new();
            for i in 0..node.count() {
                let mut key = Vec::new();
                node.key_into(i, &mut key);
                keys.push(key);
            }
            if node.is_inner() {
                held.insert(visit.page.id, Held { tree, keys: Vec::new(), is_leaf: false });
                return Ok(true);
            }
            // The leaf's chains were visited before it.
            for id in std::mem::take(&mut chain) {
                held.insert(id, Held { tree, keys: owners(&node, id, engine), is_leaf: false });
            }
            held.insert(visit.page.id, Held { tree, keys, is_leaf: true });
            Ok(true)
        };
        walk(&engine.pages, slot, entry.root, &mut visit, &mut |_, error| Err(error)).unwrap();
    }
    engine.pages.slots.release(slot);
    held
}

/// The keys of the leaf's entries whose values lie in page `id`.
fn owners(node: &Node<'_>, id: u32, engine: &crate::engine::Engine) -> Vec<Vec<u8>> {
    let mut bytes = crate::io::AlignedBuf::zeroed(PAGE);
    let mut owners = Vec::new();
    for i in 0..node.count() {
        let crate::tree::Value::Long(_, first) = node.cell(i).0.into() else { continue };
        let mut at: PageRef = first;
        while !at.is_none() {
            if at.id == id {
                let mut key = Vec::new();
                node.key_into(i, &mut key);
                owners.push(key);
            }
            engine.pages.file().read_at(&mut bytes, u64::from(at.id) * PAGE as u64).unwrap();
            at = crate::tree::next_in_chain(&bytes);
        }
    }
    owners
}

struct Made {
    image: Image,
    trees: BTreeMap<TreeId, Rows>,
    held: BTreeMap<u32, Held>,
    example: Example,
}

/// A database that was closed.
fn closed() -> Made {
    let env = Environment::in_memory();
    let store = Store::open_with(NAME, options(), env.clone()).unwrap();
    let example = fill(&store);
    store.close().unwrap();
    let image = Image::of(&env);
    let store = Store::open_with(NAME, Options { read_only: true, ..options() }, env).unwrap();
    let (trees, held) = (rows_of(&store), live_pages(&store));
    Made { image, trees, held, example }
}

/// The saved trees must be those given but for `lost` keys; index trees are there, and empty.
fn assert_saved(outcome: &Outcome, made: &Made, lost: &BTreeSet<(TreeId, Vec<u8>)>, what: &str) {
    assert_eq!(outcome.trees.keys().collect::<Vec<_>>(), made.trees.keys().collect::<Vec<_>>(), "{what}");
    for (tree, rows) in &outcome.trees {
        let is_saved = |key: &&Vec<u8>| !tree.is_derived() && !lost.contains(&(*tree, key.to_vec()));
        let expected: Vec<_> = made.trees[tree].iter().filter(|(key, _)| is_saved(key)).collect();
        assert!(rows.iter().collect::<Vec<_>>() == expected, "{what}: tree {}", tree.number());
    }
}

/// Each lost key must be named by a loss, and each loss must be of keys that are lost.
fn assert_named(outcome: &Outcome, made: &Made, lost: &BTreeSet<(TreeId, Vec<u8>)>, what: &str) {
    let mut named = BTreeSet::new();
    for loss in &outcome.report.losses {
        match &loss.what {
            Lost::Entry(key) => {
                named.insert((loss.tree, key.clone()));
            }
            Lost::Range { from, to } => {
                let upper = to.clone().map_or(Bound::Unbounded, Bound::Excluded);
                let keys = made.trees[&loss.tree].range((Bound::Included(from.clone()), upper));
                named.extend(keys.map(|(key, _)| (loss.tree, key.clone())));
            }
            Lost::Part { .. } => panic!("{what}: {loss:?}"),
        }
    }
    assert_eq!(&named, lost, "{what}: {:?}", outcome.report);
}

#[test]
fn each_damaged_page_costs_its_own_rows_and_names_them() {
    let made = closed();
    let Example { table, other, index } = made.example;
    let mut kinds = BTreeMap::new();
    for page in 0..made.image.pages() {
        let outcome = run(&made.image.damage(page));
        let mut lost = BTreeSet::new();
        let held = made.held.get(&page);
        // The catalog is kept twice, and index trees are made anew.
        if let Some(held) = held.filter(|held| held.tree != TreeId::CATALOG && !held.tree.is_derived()) {
            lost.extend(held.keys.iter().map(|key| (held.tree, key.clone())));
        }
        let what = format!("page {page}: {:?}", held.map(|held| (held.tree, held.is_leaf, held.keys.len())));
        assert_saved(&outcome, &made, &lost, &what);
        assert_named(&outcome, &made, &lost, &what);
        assert!(outcome.uncertain.is_empty(), "{what}");
        let kind = held.map(|held| (held.tree, held.is_leaf, held.keys.is_empty()));
        *kinds.entry(kind.map(|kind| format!("{kind:?}"))).or_insert(0) += 1;
    }
    // Leaves, inner pages and long values of the tables, leaves of the catalog, pages of indexes, and others.
    let has =
        |tree: TreeId, is_leaf: bool, none: bool| kinds.contains_key(&Some(format!("{:?}", (tree, is_leaf, none))));
    assert!(has(table, true, false) && has(table, false, true) && has(table, false, false), "{kinds:?}");
    assert!(has(other, true, false) && has(TreeId::CATALOG, true, false) && has(index, true, false), "{kinds:?}");
}

#[test]
fn without_meta_pages_nothing_is_lost() {
    let made = closed();
    for metas in [vec![0], vec![1], vec![0, 1]] {
        let mut image = made.image.clone();
        metas.iter().for_each(|meta| image.file[meta * PAGE..][..PAGE].fill(0));
        let outcome = run(&image);
        assert_saved(&outcome, &made, &BTreeSet::new(), &format!("meta pages {metas:?}"));
        assert_eq!(outcome.report.losses, []);
        assert!(outcome.uncertain.is_empty());
    }
}

#[test]
fn a_file_that_was_cut_keeps_every_row_of_the_pages_that_are_left() {
    let made = closed();
    for pages in 2..made.image.pages() {
        for length in [pages as usize * PAGE, (pages as usize + 1) * PAGE - 1] {
            let outcome = run(&made.image.cut(length));
            let mut lost = BTreeSet::new();
            let is_row = |held: &&Held| held.tree != TreeId::CATALOG && !held.tree.is_derived();
            for (_, held) in made.held.range(pages..).filter(|(_, held)| is_row(held)) {
                lost.extend(held.keys.iter().map(|key| (held.tree, key.clone())));
            }
            let what = format!("cut to {length} bytes");
            for tree in [made.example.table, made.example.other] {
                let expected = made.trees[&tree].keys().filter(|key| !lost.contains(&(tree, key.to_vec())));
                let saved = outcome.trees[&tree].keys();
                assert!(saved.eq(expected), "{what}, tree {}", tree.number());
            }
            for (tree, key) in &lost {
                let is_named = outcome.report.losses.iter().any(|loss| loss.covers(*tree, key));
                assert!(is_named, "{what}: {key:?} is not named");
            }
            assert!(outcome.uncertain.is_empty(), "{what}");
        }
    }
}

/// A file that one session made: definitions, many rows, definitions again.
fn loaded_in_one_session(rows: u32, defines_last: bool) -> Made {
    let env = Environment::in_memory();
    let store = Store::open_with(NAME, options(), env.clone()).unwrap();
    let transaction = store.begin().unwrap();
    let [table, other] = [(); 2].map(|()| transaction.create_tree().unwrap());
    let index = transaction.create_derived_tree().unwrap();
    (0..20).for_each(|i| transaction.put(TreeId::CATALOG, &key(i), &[b'c'; 60]).unwrap());
    transaction.commit(None).unwrap();
    let transaction = store.begin().unwrap();
    (0..rows).for_each(|i| transaction.put(table, &key(i), &[i as u8; 60]).unwrap());
    transaction.put(other, b"one", b"row").unwrap();
    transaction.commit(None).unwrap();
    if defines_last {
        let transaction = store.begin().unwrap();
        (0..20).step_by(7).for_each(|i| transaction.put(TreeId::CATALOG, &key(i), &[b'd'; 60]).unwrap());
        transaction.commit(None).unwrap();
    }
    store.close().unwrap();
    let image = Image::of(&env);
    let store = Store::open_with(NAME, Options { read_only: true, ..options() }, env).unwrap();
    let (trees, held) = (rows_of(&store), live_pages(&store));
    Made { image, trees, held, example: Example { table, other, index } }
}

/// All copies of the catalog lay side by side at the file's end.
#[test]
fn a_freshly_loaded_file_that_loses_its_end_keeps_its_definitions_and_the_rows_that_are_left() {
    for (rows, defines_last) in [(400, true), (4000, true), (4000, false)] {
        let made = loaded_in_one_session(rows, defines_last);
        for bytes in [1, 4 << 10, 13 << 10, 40 << 10, 100 << 10] {
            let length = made.image.file.len().saturating_sub(bytes);
            let pages = (length / PAGE) as u32;
            // All but the first pages.
            if pages < 20 {
                continue;
            }
            let outcome = run(&made.image.cut(length));
            let what = format!("{rows} rows, {bytes} bytes less");
            assert_eq!(outcome.trees[&TreeId::CATALOG], made.trees[&TreeId::CATALOG], "{what}");
            let cut = made.held.range(pages..).filter(|(_, held)| held.tree == made.example.table);
            let lost: BTreeSet<_> = cut.flat_map(|(_, held)| held.keys.iter().cloned()).collect();
            let saved = outcome.trees[&made.example.table].keys();
            assert!(saved.eq(made.trees[&made.example.table].keys().filter(|key| !lost.contains(*key))), "{what}");
            assert!(outcome.report.losses.len() < 8, "{what}: {:?}", outcome.report);
        }
    }
}

#[test]
fn no_part_of_a_file_has_the_catalog_and_its_copy() {
    for defines_last in [true, false] {
        let made = loaded_in_one_session(4000, defines_last);
        for first in 2..made.image.pages() {
            let mut image = made.image.clone();
            let until = (first as usize + 16).min(image.pages() as usize);
            image.file[first as usize * PAGE..until * PAGE].fill(0);
            let outcome = run(&image);
            assert_eq!(outcome.trees[&TreeId::CATALOG], made.trees[&TreeId::CATALOG], "16 pages from {first} on");
        }
    }
}

#[test]
fn a_catalog_that_lies_beside_its_copy_is_noticed() {
    use crate::broken::{Broken, must_be_caught};
    let test = a_freshly_loaded_file_that_loses_its_end_keeps_its_definitions_and_the_rows_that_are_left;
    must_be_caught(Broken::CatalogTogether, test);
    must_be_caught(Broken::CatalogTogether, no_part_of_a_file_has_the_catalog_and_its_copy);
}

/// As after a crash: a checkpoint, and commits behind it in the log only.
fn killed() -> Made {
    let env = Environment::in_memory();
    let store = Store::open_with(NAME, options(), env.clone()).unwrap();
    let example = fill(&store);
    store.checkpoint().unwrap();
    let held = live_pages(&store);
    for round in 0..20u32 {
        let transaction = store.begin().unwrap();
        for i in 0..20 {
            transaction.put(example.table, &key(1000 + round * 20 + i), &[round as u8; 100]).unwrap();
        }
        transaction.delete(example.table, &key(round * 10 + 1)).unwrap();
        transaction.patch(example.table, &key(round * 5), 0, b"UP").unwrap();
        // Some are there, some come, and one goes again.
        let count = if round == 19 { -3 } else { 1 };
        transaction.add(example.other, &sum_key(round % 5), b"", &[count, round.into()]).unwrap();
        transaction.commit(Some(Durability::Full)).unwrap();
    }
    let image = Image::of(&env);
    let trees = rows_of(&store);
    Made { image, trees, held, example }
}

#[test]
fn a_whole_log_is_applied_to_what_is_left_of_each_damaged_page() {
    let made = killed();
    let (mut recovered, mut sums_lost) = (0, 0);
    for page in 0..made.image.pages() {
        let outcome = run(&made.image.damage(page));
        let held = made.held.get(&page).filter(|held| held.tree != TreeId::CATALOG && !held.tree.is_derived());
        let mut lost = BTreeSet::new();
        if let Some(held) = held {
            // What the log has of them is there again.
            let saved = |key: &Vec<u8>| outcome.trees[&held.tree].contains_key(key);
            let there = |key: &&Vec<u8>| made.trees[&held.tree].contains_key(*key);
            recovered += held.keys.iter().filter(|key| saved(key)).count();
            // Sums that came since the checkpoint may have been there.
            let sums: Vec<_> = (0..5).map(sum_key).filter(|_| held.tree == made.example.other).collect();
            let held_keys = held.keys.iter().chain(&sums);
            lost.extend(held_keys.filter(there).filter(|key| !saved(key)).map(|key| (held.tree, key.clone())));
            sums_lost += sums.iter().filter(there).filter(|key| !saved(key)).count();
        }
        assert_saved(&outcome, &made, &lost, &format!("page {page}"));
        assert!(outcome.uncertain.is_empty(), "page {page}");
    }
    assert_eq!(recovered, 0, "neither patches nor additions bring rows back");
    assert_eq!(sums_lost, 4, "with their leaf");
}

#[test]
fn without_meta_pages_the_log_is_still_applied() {
    let made = killed();
    for metas in [vec![0], vec![1], vec![0, 1]] {
        let mut image = made.image.clone();
        metas.iter().for_each(|meta| image.file[meta * PAGE..][..PAGE].fill(0));
        assert_saved(&run(&image), &made, &BTreeSet::new(), &format!("meta pages {metas:?}"));
    }
}

/// The meta page that names the log's newest epoch is the one that was written last.
#[test]
fn what_was_committed_since_the_last_opening_is_saved_without_the_newest_meta_page() {
    let closed = closed();
    let env = closed.image.environment();
    let store = Store::open_with(NAME, options(), env.clone()).unwrap();
    let transaction = store.begin().unwrap();
    transaction.put(closed.example.table, b"new", b"row").unwrap();
    transaction.commit(None).unwrap();
    let made = Made { image: Image::of(&env), trees: rows_of(&store), ..closed };
    for metas in [vec![0], vec![1], vec![0, 1]] {
        let mut image = made.image.clone();
        metas.iter().for_each(|meta| image.file[meta * PAGE..][..PAGE].fill(0));
        assert_saved(&run(&image), &made, &BTreeSet::new(), &format!("meta pages {metas:?}"));
    }
}

#[test]
fn behind_a_damaged_part_of_the_log_commits_are_set_apart() {
    let made = killed();
    let log = made.image.log.clone().unwrap();
    let needle = [7u8; 100];
    let at = log.windows(needle.len()).position(|window| window == needle).unwrap();
    let mut image = made.image.clone();
    image.log.as_mut().unwrap()[at] ^= 1;
    let outcome = run(&image);
    let table = made.example.table;
    let saved = &outcome.trees[&table];
    assert!(saved.contains_key(&key(1000 + 6 * 20 + 19)), "the commit before the damage");
    assert!(!saved.contains_key(&key(1000 + 7 * 20)), "the damaged one");
    assert!(!saved.contains_key(&key(1000 + 8 * 20)), "the commit behind it is no part of the state before");
    assert!(
        outcome.report.notes.iter().any(|note| note.contains("the log is damaged at position")),
        "{:?}",
        outcome.report
    );
    let apart = |doubt: Doubt| outcome.uncertain.iter().filter(move |entry| entry.doubt == doubt);
    let written: BTreeSet<_> = apart(Doubt::WrittenLater).map(|entry| entry.key.clone()).collect();
    assert_eq!(written, (1000 + 8 * 20..1000 + 20 * 20).map(key).collect());
    let deleted: BTreeSet<_> = apart(Doubt::DeletedLater).map(|entry| entry.key.clone()).collect();
    assert_eq!(deleted, (8..20).map(|round| key(round * 10 + 1)).filter(|key| saved.contains_key(key)).collect());
    let changed = |tree: TreeId| apart(Doubt::ChangedLater).filter(move |entry| entry.tree == tree);
    assert!(changed(table).all(|entry| entry.value.starts_with(b"UP")));
    // Without the lost commits the last one takes more away than is there.
    assert_eq!((changed(table).count(), changed(made.example.other).count()), (12, 11));
}

#[test]
fn a_missing_or_headless_or_cut_log_costs_only_what_it_held() {
    let made = killed();
    let log = made.image.log.clone().unwrap();
    let mut headless = made.image.clone();
    headless.log.as_mut().unwrap()[..100].fill(0);
    assert_saved(&run(&headless), &made, &BTreeSet::new(), "without the log's header");
    let last = log.iter().rposition(|byte| *byte != 0).unwrap();
    let mut cut = made.image.clone();
    cut.log.as_mut().unwrap().truncate(last + 1);
    assert_saved(&run(&cut), &made, &BTreeSet::new(), "cut behind the last byte");
    let missing = Image { log: None, ..made.image.clone() };
    let outcome = run(&missing);
    assert!(outcome.report.notes.iter().any(|note| note.contains("is missing")), "{:?}", outcome.report);
    assert!(outcome.trees[&made.example.table].contains_key(&key(1)), "deleted by the log only");
}

#[test]
fn without_free_map_and_inner_page_rows_are_set_apart_not_resurrected() {
    let made = closed();
    let mut image = made.image.clone();
    // The copies in both meta pages, the chain of the free map, and the table's inner pages.
    [0, 1].into_iter().for_each(|meta| image.file[meta * PAGE + 512..][..512].fill(0));
    for page in 2..made.image.pages() {
        let bytes = &mut image.file[page as usize * PAGE..][..PAGE];
        let is_inner = made.held.get(&page).is_some_and(|held| held.tree == made.example.table && bytes[4] == 2);
        if is_inner || Kind::of(bytes) == Some(Kind::FreeMap) {
            bytes[100] ^= 1;
        }
    }
    let outcome = run(&image);
    assert_eq!(outcome.trees[&made.example.table], Rows::default());
    assert_eq!(outcome.trees[&made.example.other], made.trees[&made.example.other]);
    let apart: BTreeMap<_, _> = outcome.uncertain.iter().map(|entry| (entry.key.clone(), entry)).collect();
    assert!(outcome.uncertain.iter().all(|entry| entry.doubt == Doubt::Unreferenced));
    assert!(made.trees[&made.example.table].keys().all(|key| apart.contains_key(key)), "no row is missing there");
}

#[test]
fn a_salvage_that_raises_the_dead_is_noticed() {
    let test = without_free_map_and_inner_page_rows_are_set_apart_not_resurrected;
    crate::broken::must_be_caught(crate::broken::Broken::SalvageRaisesDead, test);
}

#[test]
fn what_is_no_database_is_told_by_its_name() {
    let env = Environment::in_memory();
    write(&env, Path::new("text"), &b"no database, but some text\n".repeat(400));
    write(&env, Path::new("empty"), b"");
    for name in ["text", "empty"] {
        let error = salvage_with(name, SAVED, options(), env.clone(), &mut |_, _| ()).unwrap_err();
        assert_eq!(error.to_string(), format!("\"{name}\" is not a CairnDB database"));
        assert!(!env.files.exists(Path::new(SAVED)).unwrap());
    }
}

/// As a library that knows no copies left it.
#[test]
fn a_file_without_copies_opens_and_a_damaged_one_is_salvaged_as_far_as_its_lists_go() {
    let made = closed();
    let mut image = made.image.clone();
    [0, 1].into_iter().for_each(|meta| image.file[meta * PAGE + 512..][..512].fill(0));
    for page in image.file.chunks_exact_mut(PAGE).skip(2) {
        if Kind::of(page) == Some(Kind::Directory) {
            // Only the list: its numbers of trees and drops are below 128, and so are all its numbers but the births.
            let mut rest = &page[80..];
            let before = rest.len();
            if crate::engine::lists::decode_directory(&mut rest, 0).is_some() {
                let length = before - rest.len();
                crate::bytes::put_u16(page, 76, length as u16);
                page[80 + length..].fill(0);
                page[64..76].fill(0);
                crate::page::layout::seal_checksum(page);
            }
        }
    }
    let env = image.environment();
    let store = Store::open_with(NAME, options(), env.clone()).unwrap();
    store.verify().unwrap();
    assert_eq!(rows_of(&store), made.trees);
    drop(store);
    let outcome = run(&Image::of(&env));
    assert_saved(&outcome, &made, &BTreeSet::new(), "closed by a library that knows copies");
    for page in 2..image.pages() {
        let outcome = run(&image.damage(page));
        if made.held.get(&page).is_some_and(|held| held.is_leaf && held.tree == made.example.table) {
            assert_eq!(outcome.report.losses.len(), 1, "page {page}");
            assert!(outcome.uncertain.is_empty(), "page {page}");
        }
    }
}

#[test]
fn a_database_that_was_not_closed_is_read_without_changing_it() {
    let made = killed();
    let env = made.image.environment();
    let store = Store::open_with(NAME, Options { read_only: true, ..options() }, env.clone()).unwrap();
    store.verify().unwrap();
    assert_eq!(rows_of(&store), made.trees);
    assert!(matches!(store.checkpoint(), Err(crate::Error::ReadOnly)));
    drop(store);
    let after = Image::of(&env);
    assert!(after.file == made.image.file && after.log == made.image.log);
}
