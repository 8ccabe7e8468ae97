//! Backups that fail on the way, and where they go.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex};

use cairn_storage::broken::{Broken, must_be_caught};
use cairn_storage::io::{Create, FileSystem, MemFs, OpenHow};
use cairn_storage::{Environment, Error, Options, RealHost, Store, TreeId};

use super::files::{Call, WatchedFiles};
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
    let (files, left) = (MemFs::new(), MemFs::new());
    let env = Environment { files: Arc::new(files.clone()), host: Arc::new(RealHost::default()) };
    let store = filled(env.clone());
    let names = ["copy-unfinished", "copy-unfinished-log"];
    store.backup_to("copy", &mut |_| names.iter().for_each(|name| copy_file(&files, &left, name))).unwrap();
    // Of the two, a crash may leave one.
    for kept in [&names[..], &names[..1], &names[1..]] {
        files.remove(Path::new("copy")).unwrap();
        kept.iter().for_each(|name| copy_file(&left, &files, name));
        store.backup_to("copy", &mut |_| ()).unwrap();
        let copy = Store::open_with("copy", Options::default(), env.clone()).unwrap();
        assert_eq!(copy.snapshot().unwrap().trees().len(), 4);
        assert!(names.iter().all(|name| !files.exists(Path::new(name)).unwrap()), "{kept:?}");
    }
}

fn copy_file(from: &MemFs, to: &MemFs, name: &str) {
    let open = |files: &MemFs, create| {
        files.open(Path::new(name), OpenHow { create, read_only: false, direct: false }).unwrap()
    };
    let (from, to) = (open(from, Create::Never), open(to, Create::IfMissing));
    let mut bytes = vec![0; from.len().unwrap() as usize];
    from.read_at(&mut bytes, 0).unwrap();
    to.set_len(0).unwrap();
    to.write_at(&bytes, 0).unwrap();
}

/// Whatever had the name that a backup is made under first was removed, and what had that of its log.
fn a_backup_leaves_alone_what_is_no_copy_that_was_begun() {
    let files = MemFs::new();
    let env = Environment { files: Arc::new(files.clone()), host: Arc::new(RealHost::default()) };
    let store = filled(env.clone());
    let how = |create| OpenHow { create, read_only: false, direct: false };
    for name in ["copy-unfinished", "copy-unfinished-log"] {
        for is_database in [true, false] {
            match is_database {
                true => drop(Store::open_with(name, Options::default(), env.clone()).unwrap()),
                false => files.open(Path::new(name), how(Create::New)).unwrap().write_at(b"notes", 0).unwrap(),
            }
            let length = || files.open(Path::new(name), how(Create::Never)).unwrap().len().unwrap();
            let before = length();
            let refused = store.backup_to("copy", &mut |_| ()).unwrap_err();
            assert!(refused.to_string().contains("something else has it"), "{refused}");
            assert_eq!(refused.sqlstate(), "58P01");
            assert_eq!(length(), before);
            files.remove(Path::new(name)).unwrap();
        }
    }
    store.backup_to("copy", &mut |_| ()).unwrap();
}

#[test]
fn what_has_the_name_that_a_backup_is_made_under_stays() {
    a_backup_leaves_alone_what_is_no_copy_that_was_begun();
    must_be_caught(Broken::BackupTakesName, a_backup_leaves_alone_what_is_no_copy_that_was_begun);
}

/// What can not be removed was left out, and the backup told of damage.
#[test]
fn what_an_earlier_backup_left_and_can_not_be_removed_is_told() {
    let files = MemFs::new();
    let left = MemFs::new();
    let watched = WatchedFiles::new(files.clone(), |path, _, call| match call {
        Call::Remove if path == Path::new("copy-unfinished") => Err(std::io::ErrorKind::PermissionDenied.into()),
        _ => Ok(()),
    });
    let store = filled(Environment { files: Arc::new(files.clone()), host: Arc::new(RealHost::default()) });
    let names = ["copy-unfinished", "copy-unfinished-log"];
    store.backup_to("copy", &mut |_| names.iter().for_each(|name| copy_file(&files, &left, name))).unwrap();
    store.close().unwrap();
    files.remove(Path::new("copy")).unwrap();
    names.iter().for_each(|name| copy_file(&left, &files, name));
    let watched = Environment { files: Arc::new(watched), host: Arc::new(RealHost::default()) };
    let store = Store::open_with("db", Options::default(), watched).unwrap();
    let refused = store.backup_to("copy", &mut |_| ()).unwrap_err();
    assert!(refused.to_string().starts_with("could not remove what an earlier backup left"), "{refused}");
    assert!(names.iter().all(|name| files.exists(Path::new(name)).unwrap()));
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

/// The name was looked at when the backup began, and renamed to at its end: whatever had got it meanwhile was gone.
fn a_backup_leaves_alone_what_got_its_name_meanwhile() {
    let files = MemFs::new();
    let env = Environment { files: Arc::new(files.clone()), host: Arc::new(RealHost::default()) };
    let store = filled(env);
    let how = OpenHow { create: Create::IfMissing, read_only: false, direct: false };
    let mut others = |_| files.open(Path::new("copy"), how).unwrap().write_at(b"another's", 0).unwrap();
    let refused = store.backup_to("copy", &mut others).unwrap_err();
    let Error::CannotOpen { error, .. } = &refused else { panic!("{refused}") };
    assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists);
    let mut bytes = [0; 9];
    files.open(Path::new("copy"), how).unwrap().read_at(&mut bytes, 0).unwrap();
    assert_eq!(&bytes, b"another's");
    let left = ["-log", "-unfinished", "-unfinished-log"];
    assert!(left.iter().all(|end| !files.exists(Path::new(&format!("copy{end}"))).unwrap()));
}

#[test]
fn what_gets_a_backups_name_meanwhile_stays() {
    a_backup_leaves_alone_what_got_its_name_meanwhile();
    must_be_caught(Broken::BackupOverwrites, a_backup_leaves_alone_what_got_its_name_meanwhile);
}

/// The lock was let go of between the removal of what an earlier one left and the opening of the copy. Of two backups to one
/// name, the one that came second there removed the files of the other, which failed.
fn a_backups_lock_is_held_until_it_has_its_name() {
    let events = Arc::new(Mutex::new(Vec::new()));
    let note = events.clone();
    let watched = WatchedFiles::new(MemFs::new(), move |path, _, call| {
        let is_one = matches!(call, Call::Lock | Call::Unlock | Call::Rename);
        if is_one && path == Path::new("copy-unfinished") {
            note.lock().unwrap().push(call);
        }
        Ok(())
    });
    let store = filled(Environment { files: Arc::new(watched), host: Arc::new(RealHost::default()) });
    let whole = store.backup_to("copy", &mut |_| ());
    assert_eq!(*events.lock().unwrap(), [Call::Lock, Call::Rename, Call::Unlock]);
    whole.unwrap();
}

#[test]
fn of_two_backups_to_one_name_none_removes_the_others_files() {
    a_backups_lock_is_held_until_it_has_its_name();
    must_be_caught(Broken::BackupUnlocked, a_backups_lock_is_held_until_it_has_its_name);
}
