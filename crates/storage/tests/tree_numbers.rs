//! The numbers of trees, of which there are 2^31.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use cairn_storage::broken::{self, Broken};
use cairn_storage::{Environment, Error, Options, Store, TreeId};

/// They went on into the bit that says whether a tree is derived, and from there to the number of the catalog.
#[test]
fn the_last_number_is_given_once() {
    let store = Store::open_with("numbers", Options::default(), Environment::in_memory()).unwrap();
    let transaction = store.begin().unwrap();
    transaction.put(TreeId::CATALOG, b"kept", b"1").unwrap();
    transaction.ensure_tree(TreeId(0x7fff_fffd)).unwrap();
    assert_eq!(transaction.create_derived_tree().unwrap(), TreeId(0xffff_fffe));
    assert_eq!(transaction.create_tree().unwrap(), TreeId(0x7fff_ffff));
    for _ in 0..3 {
        let refused = transaction.create_tree().unwrap_err();
        assert!(matches!(refused, Error::NoTreeNumber), "{refused}");
        assert_eq!(refused.sqlstate(), "54000");
        assert!(transaction.create_derived_tree().is_err());
    }
    assert!(transaction.ensure_tree(TreeId(0)).is_err() && transaction.ensure_tree(TreeId(0x8000_0000)).is_err());
    transaction.commit(None).unwrap();
    // The number after the last is what the meta page and a copy say of it.
    store.checkpoint().unwrap();
    let mut stream = Vec::new();
    store.send_copy(&mut stream).unwrap();
    assert_eq!(stream[stream.len() - 12..][..4], (1u32 << 31).to_le_bytes());
    let kept = store.snapshot().unwrap().reader().get(TreeId::CATALOG, b"kept").unwrap();
    assert_eq!(kept.as_deref(), Some(b"1".as_slice()));
}

#[test]
fn numbers_without_an_end_are_noticed() {
    broken::must_be_caught(Broken::TreesUncounted, the_last_number_is_given_once);
}

fn target(name: &str) -> PathBuf {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("cairn-numbers-{name}-{}-{number}", std::process::id()))
}

/// A copy's stream that says something else of the next tree, or of one.
#[test]
fn what_a_copy_says_of_its_trees_is_checked() {
    let store = Store::open_with("numbers", Options::default(), Environment::in_memory()).unwrap();
    let transaction = store.begin().unwrap();
    transaction.put(TreeId::CATALOG, b"a", b"1").unwrap();
    transaction.commit(None).unwrap();
    let mut stream = Vec::new();
    store.send_copy(&mut stream).unwrap();
    let receive = |stream: &[u8], name: &str| {
        let path = target(name);
        let received = Store::receive_copy(&mut &stream[..], &path, &mut |_| ());
        let is_there = path.exists();
        let _ = std::fs::remove_file(&path);
        for end in ["-unfinished", "-unfinished-new", "-unfinished-log"] {
            let mut left = path.as_os_str().to_os_string();
            left.push(end);
            assert!(!PathBuf::from(left).exists(), "{name}{end}");
        }
        assert_eq!(received.is_ok(), is_there);
        received
    };
    receive(&stream, "whole").unwrap();
    for next in [(1u32 << 31) + 1, u32::MAX] {
        let mut forged = stream.clone();
        let at = forged.len() - 12;
        forged[at..at + 4].copy_from_slice(&next.to_le_bytes());
        let refused = receive(&forged, "next").unwrap_err();
        assert!(matches!(refused, Error::Corrupt { .. }), "{refused}");
    }
    for tree in [0u32, 1 << 31, 1 << 31 | 1] {
        let mut forged = stream.clone();
        // Behind magic, version, page size and the part's kind.
        forged[17..21].copy_from_slice(&tree.to_le_bytes());
        let refused = receive(&forged, "tree").unwrap_err();
        assert!(matches!(refused, Error::Corrupt { .. }), "{refused}");
    }
}

#[test]
fn numbers_that_are_believed_are_noticed() {
    broken::must_be_caught(Broken::TreesUnchecked, what_a_copy_says_of_its_trees_is_checked);
}
