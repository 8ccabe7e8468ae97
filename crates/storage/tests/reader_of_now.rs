//! A reader of a transaction as it is now.

use std::ops::Bound::Unbounded;

use cairn_storage::{Error, Options, Reader, Store, TreeId};

const TREE: TreeId = TreeId::CATALOG;

fn entries(reader: &Reader) -> Vec<(Vec<u8>, Vec<u8>)> {
    let (mut cursor, mut found) = (reader.cursor(TREE, Unbounded, Unbounded).unwrap(), vec![]);
    while let Some((key, value)) = cursor.next().unwrap() {
        found.push((key.to_vec(), value.to_vec()));
    }
    found
}

fn store() -> Store {
    let store = Store::open_in_memory(Options::default()).unwrap();
    let before = store.begin().unwrap();
    before.put(TREE, b"a", b"1").unwrap();
    before.put(TREE, b"d", b"4").unwrap();
    before.commit(None).unwrap();
    store
}

#[test]
fn a_reader_of_now_sees_nothing_that_is_written_later() {
    for written in [3, 20_000] {
        let store = store();
        let transaction = store.begin().unwrap();
        transaction.put(TREE, b"b", b"2").unwrap();
        transaction.delete(TREE, b"d").unwrap();
        let now = transaction.reader_of_now().unwrap();
        let then = entries(&now);
        assert_eq!(then, [(b"a".to_vec(), b"1".to_vec()), (b"b".to_vec(), b"2".to_vec())]);
        transaction.put(TREE, b"a", b"9").unwrap();
        transaction.delete(TREE, b"b").unwrap();
        for number in 0..written {
            transaction.put(TREE, format!("c{number}").as_bytes(), &[7; 40]).unwrap();
        }
        assert_eq!(entries(&now), then);
        assert_eq!(now.get(TREE, b"a").unwrap().as_deref(), Some(&b"1"[..]));
        assert_eq!(now.get(TREE, b"c1").unwrap(), None);
        assert_eq!(now.lookup().unwrap().get_with(TREE, b"b", <[u8]>::to_vec).unwrap().as_deref(), Some(&b"2"[..]));
        assert_eq!(transaction.reader().get(TREE, b"a").unwrap().as_deref(), Some(&b"9"[..]));
        drop(now);
        transaction.commit(None).unwrap();
        let after = store.snapshot().unwrap();
        assert_eq!(entries(after.reader()).len(), written + 1);
        store.verify().unwrap();
    }
}

#[test]
fn what_it_read_is_looked_at_when_the_transaction_commits() {
    for key in [&b"a"[..], b"z"] {
        let store = store();
        let transaction = store.begin().unwrap();
        let now = transaction.reader_of_now().unwrap();
        now.get(TREE, key).unwrap();
        drop(now);
        transaction.put(TREE, b"own", b"1").unwrap();
        let other = store.begin().unwrap();
        other.put(TREE, key, b"other").unwrap();
        other.commit(None).unwrap();
        assert!(matches!(transaction.commit(None), Err(Error::Conflict)));
    }
}
