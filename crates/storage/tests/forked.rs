//! A child of `fork` has its parent's memory and shares its files and locks: nothing that was opened before works in it, and what is
//! dropped there leaves everything as it is.
#![cfg(unix)]

#[path = "forked/forking.rs"]
mod forking;

use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use cairn_storage::{
    Acknowledge, Durability, Error, Losses, Options, PointWriter, Result, Session, Snapshot, Store, Ticket,
    Transaction, TreeId, WriteError,
};
use forking::{await_child, database, end_child, exit, forks, in_process_of_its_own, names, run_with};

const TREE: TreeId = TreeId::CATALOG;

#[track_caller]
fn refused<T>(result: Result<T>) {
    match result {
        Err(Error::Forked) => {}
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it was done"),
    }
}

fn put(store: &Store, key: &[u8]) -> Result<()> {
    let transaction = store.begin()?;
    transaction.put(TREE, key, b"value")?;
    transaction.commit(Some(Durability::Full))
}

/// What a process may have of a database when it forks.
struct Everything {
    store: Store,
    session: Session,
    impatient: Session,
    snapshot: Snapshot,
    transaction: Transaction,
    changed: Transaction,
    tickets: [Ticket; 2],
}

impl Everything {
    fn of(store: &Store) -> Everything {
        let changed = store.begin().unwrap();
        changed.put(TREE, b"changed", b"value").unwrap();
        let [first, second] = [b"first", b"other"].map(|key| {
            let transaction = store.begin().unwrap();
            transaction.put(TREE, key, b"value").unwrap();
            transaction.commit_async().unwrap()
        });
        Everything {
            session: store.session().unwrap(),
            impatient: store.session().unwrap().impatient(),
            snapshot: store.snapshot().unwrap(),
            transaction: store.begin().unwrap(),
            changed,
            tickets: [first, second],
            store: store.clone(),
        }
    }

    /// Asks all of it for all that it does.
    fn assert_refused(mut self) {
        let store = &self.store;
        refused(store.begin());
        refused(store.begin_after(&Losses::default()));
        refused(store.snapshot());
        refused(store.durable_snapshot());
        refused(store.session());
        refused(store.observe());
        refused(store.wait_visible(1, None, &|| false));
        refused(store.place_of(&store.told(1)));
        refused(store.spawn("none", Box::new(|| ())));
        refused(store.checkpoint());
        refused(store.keep_house());
        refused(store.verify());
        refused(store.tree_size(TREE));
        refused(store.compact());
        refused(store.has_its_name());
        refused(store.send_copy(&mut Vec::new()));
        refused(store.backup_to(store.path().with_extension("copy"), &mut |_| {}));
        let _ = store.stats();
        let mut listener = store.listen_to_appends();
        listener.note();
        refused(listener.check());
        listener.wait(None);
        drop(listener);

        let read = self.session.read(|reader| {
            reader.get(TREE, b"key")?;
            Ok::<_, WriteError<()>>(())
        });
        assert!(matches!(read, Err(WriteError::Storage(Error::Forked))));
        for session in [&mut self.session, &mut self.impatient] {
            for acknowledge in [Acknowledge::Now(None), Acknowledge::Later] {
                let write = |writer: &mut PointWriter<'_>| Ok::<_, WriteError<()>>(writer.put(TREE, b"k", b"v")?);
                let written = session.write(acknowledge, write);
                assert!(matches!(written, Err(WriteError::Storage(Error::Forked))));
            }
        }

        let everything = (Bound::Unbounded, Bound::Unbounded);
        let (noting, _notes) = self.snapshot.noting();
        for reader in [self.snapshot.reader(), &noting, self.transaction.reader(), self.changed.reader()] {
            refused(reader.get(TREE, b"key"));
            refused(reader.cursor(TREE, everything.0, everything.1).and_then(|mut cursor| cursor.next().map(drop)));
            refused(reader.lookup().and_then(|mut lookup| lookup.get_with(TREE, b"key", |_| ())));
        }
        refused(self.snapshot.diff(&self.snapshot.clone(), TREE, everything.0, everything.1, |_, _, _| true));
        refused(self.transaction.put(TREE, b"key", b"value"));
        refused(self.transaction.savepoint());
        refused(self.transaction.reader_of_now());
        refused(self.transaction.take_turn(&[TREE], Duration::ZERO, &|| false));
        refused(self.transaction.go_on_from_newest());
        refused(self.transaction.commit(None));
        refused(self.changed.commit(None));
        // What was durable before is; of the rest nothing is known here.
        for ticket in self.tickets {
            let is_durable = ticket.is_durable();
            match ticket.wait() {
                Ok(()) => assert!(is_durable),
                refusal => refused(refusal),
            }
        }
        refused(self.store.close());
    }
}

#[test]
#[ignore = "a process that forks"]
fn with_all_of_a_database() {
    let path = database();
    let store = Store::open(&path, Options::default()).unwrap();
    put(&store, b"key").unwrap();
    let before = names(&path);
    assert_eq!(before, ["x.cairn", "x.cairn-lock", "x.cairn-log"]);
    let everything = Everything::of(&store);
    let Some(process) = forks() else {
        end_child(|| {
            let opened = || Store::open(&path, Options::default());
            assert!(matches!(opened(), Err(Error::Busy { pid: Some(_), .. })), "the parent has it");
            everything.assert_refused();
            let Some(grandchild) = forks() else { end_child(|| refused(store.begin())) };
            await_child(grandchild);
            drop(store.clone());
            drop(store);
            assert!(matches!(opened(), Err(Error::Busy { .. })), "the lock is the parent's");
        })
    };
    await_child(process);
    assert_eq!(names(&path), before);
    run_with(&path, "a_second_process");
    everything.changed.commit(None).unwrap();
    put(&store, b"after").unwrap();
    drop(everything.snapshot);
    drop((everything.store, everything.session, everything.impatient, everything.transaction, everything.tickets));
    store.close().unwrap();
    assert_eq!(names(&path), ["x.cairn"]);
    let store = Store::open(&path, Options::default()).unwrap();
    store.verify().unwrap();
    let snapshot = store.snapshot().unwrap();
    for (key, is_there) in [("key", true), ("changed", true), ("after", true), ("k", false)] {
        assert_eq!(snapshot.reader().get(TREE, key.as_bytes()).unwrap().is_some(), is_there, "{key}");
    }
}

#[test]
#[ignore = "another process"]
fn a_second_process() {
    let opened = Store::open(database(), Options::default());
    assert!(matches!(opened, Err(Error::Busy { .. })), "the child gave back the parent's lock");
}

/// A thread that the child does not have holds the commit lock, others commit and read.
#[test]
#[ignore = "a process that forks"]
fn while_others_hold_locks() {
    let mut options = Options::default();
    options.cache_bytes = 1 << 20;
    let store = Store::open(database(), options).unwrap();
    put(&store, b"key").unwrap();
    let everything = Everything::of(&store);
    let (held, is_held) = channel();
    let (go_on, goes_on) = channel::<()>();
    let mut session = store.session().unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(move || {
            let write = session.write(Acknowledge::Now(None), |writer| {
                held.send(()).unwrap();
                goes_on.recv().unwrap();
                Ok::<_, WriteError<()>>(writer.put(TREE, b"held", b"value")?)
            });
            write.unwrap().1.wait().unwrap();
        });
        is_held.recv().unwrap();
        let Some(process) = forks() else { end_child(|| everything.assert_refused()) };
        await_child(process);
        go_on.send(()).unwrap();
        writer.join().unwrap();
    });
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..3u8 {
            let (store, is_over) = (&store, &is_over);
            scope.spawn(move || {
                for number in 0u32.. {
                    put(store, &[&[thread][..], &number.to_be_bytes()].concat()).unwrap();
                    if number % 16 == 0 && thread == 0 {
                        store.checkpoint().unwrap();
                    }
                    if is_over.load(Ordering::Relaxed) {
                        return;
                    }
                }
            });
        }
        for _ in 0..20 {
            let everything = Everything::of(&store);
            let Some(process) = forks() else { end_child(|| everything.assert_refused()) };
            await_child(process);
        }
        is_over.store(true, Ordering::Relaxed);
    });
    store.verify().unwrap();
}

/// In the child it is another database's handle, and the child's own children have no part in that.
#[test]
#[ignore = "a process that forks"]
fn whose_child_opens_it_after_the_parent() {
    let path = database();
    let store = Store::open(&path, Options::default()).unwrap();
    put(&store, b"parent").unwrap();
    let signal = path.with_extension("closed");
    let Some(process) = forks() else {
        end_child(|| {
            while !signal.exists() {
                std::thread::sleep(Duration::from_millis(1));
            }
            drop(store);
            let store = Store::open(&path, Options::default()).unwrap();
            put(&store, b"child").unwrap();
            let Some(grandchild) = forks() else {
                end_child(|| {
                    refused(put(&store, b"grandchild"));
                    drop(store);
                })
            };
            await_child(grandchild);
            put(&store, b"child again").unwrap();
            store.close().unwrap();
        })
    };
    store.close().unwrap();
    std::fs::write(&signal, b"").unwrap();
    await_child(process);
    let store = Store::open(&path, Options::default()).unwrap();
    store.verify().unwrap();
    let snapshot = store.snapshot().unwrap();
    for (key, is_there) in [("parent", true), ("child", true), ("grandchild", false), ("child again", true)] {
        assert_eq!(snapshot.reader().get(TREE, key.as_bytes()).unwrap().is_some(), is_there, "{key}");
    }
}

/// The copy's file and its lock are the parent's, who goes on with it.
#[test]
#[ignore = "a process that forks"]
fn in_the_middle_of_a_backup() {
    let path = database();
    let store = Store::open(&path, Options::default()).unwrap();
    let transaction = store.begin().unwrap();
    for key in 0..200u32 {
        transaction.put(TREE, &key.to_be_bytes(), &[7; 8000]).unwrap();
    }
    transaction.commit(None).unwrap();
    let copy = path.with_extension("copy");
    let (mut children, mut is_child) = (0, false);
    let copied = catch_unwind(AssertUnwindSafe(|| {
        store.backup_to(&copy, &mut |_| {
            children += 1;
            let before = names(&path);
            assert!(before.iter().any(|name| name == "x.copy-unfinished"), "{before:?}");
            match forks() {
                Some(process) => await_child(process),
                None if children % 2 == 0 => {
                    is_child = true;
                    resume_unwind(Box::new("the child ends here"));
                }
                // It goes on, as far as it comes.
                None => is_child = true,
            }
            assert!(is_child || names(&path) == before, "a child removed something");
        })
    }));
    if is_child {
        drop(store);
        exit(!matches!(copied, Ok(Ok(()))));
    }
    copied.unwrap().unwrap();
    assert!(children > 2);
    Store::open(&copy, Options::default()).unwrap().verify().unwrap();
}

#[test]
fn a_child_is_refused_everything_and_leaves_everything_as_it_is() {
    in_process_of_its_own(env!("CARGO_TARGET_TMPDIR"), "with_all_of_a_database");
}

#[test]
fn a_child_waits_for_no_lock_that_a_thread_has_which_is_not_there() {
    in_process_of_its_own(env!("CARGO_TARGET_TMPDIR"), "while_others_hold_locks");
}

#[test]
fn a_child_opens_the_database_itself_once_its_parent_has_closed_it() {
    in_process_of_its_own(env!("CARGO_TARGET_TMPDIR"), "whose_child_opens_it_after_the_parent");
}

#[test]
fn a_child_of_who_makes_a_backup_removes_nothing_of_it() {
    in_process_of_its_own(env!("CARGO_TARGET_TMPDIR"), "in_the_middle_of_a_backup");
}
