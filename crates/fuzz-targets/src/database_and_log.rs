//! A damaged database file, log, or both, below SQL.
//!
//! Promised besides: without forged checksums the store opens to the state that was acknowledged last, or says with a
//! typed error what is wrong. The exceptions are documented: damage that meets the log's last batch may end the log
//! earlier, at a state of the history, and an empty file without a log is a new database. A store that opened and takes a commit still has it, and the rest, after it is
//! closed and opened again. With forged checksums contents may be anything.

use std::ops::Bound;
use std::path::Path;
use std::sync::LazyLock;

use cairn_storage::io::{CrashStrategy, DiskImage, SimDisk};
use cairn_storage::{Error, Store, TreeId};

use crate::damage::Damage;
use crate::machine::{DATABASE, LOG, open_store};

const PAGE_BYTES: usize = 512;
const COMMITS: u64 = 30;
/// After this many commits there is a checkpoint.
const CHECKPOINT: u64 = 16;

type Contents = Vec<(Vec<u8>, Vec<u8>)>;

struct Base {
    image: DiskImage,
    /// Newest first.
    states: Vec<Contents>,
    last_batch: usize,
}

fn contents(store: &Store) -> Result<Contents, Error> {
    let snapshot = store.snapshot()?;
    let mut cursor = snapshot.reader().cursor(TreeId::CATALOG, Bound::Unbounded, Bound::Unbounded)?;
    let mut found = Vec::new();
    while let Some((key, value)) = cursor.next()? {
        found.push((key.to_vec(), value.to_vec()));
    }
    Ok(found)
}

/// Short and long values, new keys, changed ones and removed ones.
fn commit(store: &Store, number: u64) -> Result<(), Error> {
    let transaction = store.begin()?;
    let length = if number.is_multiple_of(5) { 1400 } else { 30 };
    transaction.put(TreeId::CATALOG, &(number % 11).to_be_bytes(), &vec![number as u8; length])?;
    transaction.put(TreeId::CATALOG, format!("key {number}").as_bytes(), b"value")?;
    if number.is_multiple_of(3) {
        transaction.delete(TreeId::CATALOG, format!("key {}", number / 2).as_bytes())?;
    }
    transaction.commit(None)
}

static KILLED: LazyLock<Base> = LazyLock::new(|| {
    let disk = SimDisk::new(1);
    let store = open_store(&disk, PAGE_BYTES).expect("an empty disk takes a database");
    let (mut states, mut log_before) = (Vec::new(), Vec::new());
    for number in 0..COMMITS {
        if number == CHECKPOINT {
            store.checkpoint().expect("a checkpoint");
        }
        if number >= CHECKPOINT {
            states.insert(0, contents(&store).expect("an undamaged store is read"));
            log_before = disk.snapshot(Path::new(LOG)).expect("a log");
        }
        commit(&store, number).expect("a commit");
    }
    states.insert(0, contents(&store).expect("an undamaged store is read"));
    let log = disk.snapshot(Path::new(LOG)).expect("a log");
    let last_batch = (0..log.len()).find(|at| log.get(*at) != log_before.get(*at)).expect("a commit changes the log");
    Base { image: disk.crash(CrashStrategy::KeepAll), states, last_batch }
});

static AT_REST: LazyLock<Base> = LazyLock::new(|| {
    let disk = SimDisk::from_image(&KILLED.image, 1);
    open_store(&disk, PAGE_BYTES).and_then(Store::close).expect("an undamaged store closes");
    let states = KILLED.states.iter().take(1).cloned().collect();
    Base { image: disk.crash(CrashStrategy::KeepAll), states, last_batch: usize::MAX }
});

/// The target.
pub fn database_and_log(data: &[u8]) {
    let damage = Damage::parse(data);
    let base: &Base = if damage.killed { &KILLED } else { &AT_REST };
    let mut image = base.image.clone();
    let log_changed = damage.apply(&mut image, PAGE_BYTES);
    let touches_last = log_changed.is_some_and(|range| range.end > base.last_batch);
    let is_new =
        image.bytes(Path::new(DATABASE)).is_some_and(|bytes| bytes.is_empty()) && image.bytes(Path::new(LOG)).is_none();
    let allowed = match is_new {
        true => &[Contents::new()][..],
        false => &base.states[..if touches_last { base.states.len() } else { 1 }],
    };
    let disk = SimDisk::from_image(&image, 1);
    if let Err(error) = open_and_use(&disk, allowed, damage.forged) {
        assert!(damage.forged || is_typed(&error), "{error:?}");
    }
}

fn open_and_use(disk: &SimDisk, allowed: &[Contents], forged: bool) -> Result<(), Error> {
    let store = open_store(disk, PAGE_BYTES)?;
    let found = contents(&store)?;
    assert!(forged || allowed.contains(&found), "a state that never was, or an old one: {found:?}");
    let _ = store.verify();
    commit(&store, COMMITS)?;
    let after = contents(&store)?;
    store.close()?;
    let reopened = contents(&open_store(disk, PAGE_BYTES)?)?;
    assert!(forged || after == reopened, "a commit to a damaged store is lost: {after:?} {reopened:?}");
    Ok(())
}

fn is_typed(error: &Error) -> bool {
    let damaged = matches!(error, Error::Corrupt { .. } | Error::ForeignLog { .. } | Error::MissingLog { .. });
    damaged || matches!(error, Error::NotADatabase { .. } | Error::NewerFormat { .. } | Error::Poisoned { .. })
}
