//! Whoever asks hears of its commit while the order of commits is decided, before anybody can see it.

use std::sync::Mutex;
use std::thread;

use cairn_storage::{Durability, Error, Losses, Options, Store, Transaction, TreeId};

const T: TreeId = TreeId::CATALOG;

fn commit(transaction: Transaction, appended: &mut dyn FnMut(u64)) -> Result<Option<u64>, Error> {
    transaction.commit_in_order(None, &mut Losses::default(), &|| false, appended)
}

#[test]
fn the_position_is_told_before_the_commit_is_seen() {
    let store = Store::open_in_memory(Options::default()).unwrap();
    let transaction = store.begin().unwrap();
    transaction.put(T, b"a", b"1").unwrap();
    let mut told = Vec::new();
    let position = commit(transaction, &mut |position| {
        assert_eq!(store.snapshot().unwrap().reader().get(T, b"a").unwrap(), None);
        told.push(position);
    });
    assert_eq!(told, [position.unwrap().unwrap()]);
    assert!(store.snapshot().unwrap().reader().get(T, b"a").unwrap().is_some());
}

#[test]
fn nothing_is_told_of_what_changes_nothing_or_loses() {
    let store = Store::open_in_memory(Options::default()).unwrap();
    let mut never = |_| panic!("there is no commit to tell of");
    assert_eq!(commit(store.begin().unwrap(), &mut never).unwrap(), None);
    let loser = store.begin().unwrap();
    assert!(loser.reader().get(T, b"a").unwrap().is_none());
    loser.put(T, b"b", b"rests on what was read").unwrap();
    let other = store.begin().unwrap();
    other.put(T, b"a", b"1").unwrap();
    other.commit(None).unwrap();
    assert!(matches!(commit(loser, &mut never), Err(Error::Conflict)));
}

#[test]
fn positions_are_told_in_their_order_whatever_is_promised() {
    let store = Store::open_in_memory(Options::default()).unwrap();
    let told = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for (number, mode) in
            [Durability::Full, Durability::Group, Durability::Interval, Durability::Off].iter().enumerate()
        {
            let (store, told) = (&store, &told);
            scope.spawn(move || {
                for n in 0..50u8 {
                    let transaction = store.begin().unwrap();
                    transaction.put(T, &[number as u8, n], b"value").unwrap();
                    let mut appended = |position| told.lock().unwrap().push(position);
                    let done =
                        transaction.commit_in_order(Some(*mode), &mut Losses::default(), &|| false, &mut appended);
                    let position = done.unwrap().unwrap();
                    // What is before it can be seen.
                    assert!(store.snapshot().unwrap().position() >= position);
                }
            });
        }
    });
    let told = told.into_inner().unwrap();
    assert_eq!(told.len(), 200);
    assert!(told.is_sorted());
}
