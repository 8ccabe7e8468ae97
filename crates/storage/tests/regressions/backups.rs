//! Backups that fail on the way, and where they go.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use cairn_storage::io::{FileSystem, MemFs};
use cairn_storage::{Environment, Error, Options, RealHost, Store, TreeId};

use super::put;

/// Some trees, each of them a step of a backup.
fn filled(env: Environment) -> Store {
    let store = Store::open_with("db", Options::default(), env).unwrap();
    put(&store, b"key", 10).unwrap();
    for _ in 0..3 {
        let transaction = store.begin().unwrap();
        let tree = transaction.create_tree().unwrap();
        transaction.put(tree, b"key", b"value").unwrap();
        transaction.commit(None).unwrap();
    }
    store
}

/// What had been copied was a database under the name asked for, which opened and said nothing of what it lacked; and it
/// kept the next backup from being made.
#[test]
fn a_backup_that_does_not_come_to_its_end_leaves_nothing() {
    let files = MemFs::new();
    let env = Environment { files: std::sync::Arc::new(files.clone()), host: std::sync::Arc::new(RealHost::default()) };
    let store = filled(env.clone());
    let left = || {
        ["", "-log", "-unfinished", "-unfinished-log"]
            .map(|end| files.exists(Path::new(&format!("copy{end}"))).unwrap())
    };
    let mut steps = 0;
    let mut at_second_step = |_| {
        steps += 1;
        assert!(!left()[0], "it has its name before it is whole");
        assert!(steps < 2, "the caller's own");
    };
    assert!(catch_unwind(AssertUnwindSafe(|| store.backup_to("copy", &mut at_second_step))).is_err());
    assert_eq!(left(), [false; 4]);
    // Of two at once, one is made.
    let inner = &store;
    let mut again = None;
    store.backup_to("copy", &mut |_| again = again.take().or(Some(inner.backup_to("copy", &mut |_| ())))).unwrap();
    assert!(matches!(again, Some(Err(Error::Busy { .. }))), "{again:?}");
    assert_eq!(left(), [true, false, false, false]);
    assert!(matches!(store.backup_to("copy", &mut |_| ()), Err(Error::CannotOpen { .. })));
    let copy = Store::open_with("copy", Options::default(), env).unwrap();
    assert_eq!(copy.snapshot().unwrap().trees(), store.snapshot().unwrap().trees());
}

/// A crash in the middle of one; the next goes on regardless.
#[test]
fn what_an_earlier_backup_left_is_removed() {
    let files = MemFs::new();
    let env = Environment { files: std::sync::Arc::new(files.clone()), host: std::sync::Arc::new(RealHost::default()) };
    drop(Store::open_with("copy-unfinished", Options::default(), env.clone()).unwrap());
    files.rename(Path::new("copy-unfinished"), Path::new("copy-unfinished-log")).unwrap();
    filled(env.clone()).backup_to("copy", &mut |_| ()).unwrap();
    let copy = Store::open_with("copy", Options::default(), env).unwrap();
    assert_eq!(copy.snapshot().unwrap().trees().len(), 4);
    assert!(!files.exists(Path::new("copy-unfinished-log")).unwrap());
}

/// It was made in memory too, where nobody could find it.
#[test]
fn the_backup_of_a_database_in_memory_is_a_file() {
    let path = std::env::temp_dir().join(format!("cairn-backup-{}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let store = Store::open_in_memory(Options::default()).unwrap();
    put(&store, b"key", 10).unwrap();
    store.backup_to(&path, &mut |_| ()).unwrap();
    drop(store);
    assert!(path.exists(), "there is no backup");
    let copy = Store::open(&path, Options::default()).unwrap();
    assert!(copy.snapshot().unwrap().reader().get(TreeId::CATALOG, b"key").unwrap().is_some());
    drop(copy);
    std::fs::remove_file(&path).unwrap();
}
