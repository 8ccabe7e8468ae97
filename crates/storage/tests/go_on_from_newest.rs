//! A transaction that follows others' changes itself goes on from the newest state.

use std::ops::Bound::Unbounded;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cairn_storage::{Error, Options, Result, Store, TreeId};

fn store() -> Result<(Store, TreeId, TreeId)> {
    let store = Store::open_in_memory(Options::default())?;
    let tx = store.begin()?;
    let (a, b) = (tx.create_tree()?, tx.create_tree()?);
    for tree in [a, b] {
        tx.put(tree, b"k", b"1")?;
    }
    tx.commit(None)?;
    Ok((store, a, b))
}

fn put(store: &Store, tree: TreeId, key: &[u8], value: &[u8]) -> Result<()> {
    let tx = store.begin()?;
    tx.put(tree, key, value)?;
    tx.commit(None)
}

#[test]
fn it_reads_the_newest_state_and_keeps_what_it_wrote() -> Result<()> {
    let (store, a, b) = store()?;
    let tx = store.begin()?;
    let own = tx.create_derived_tree()?;
    (0..5_000u32).try_for_each(|n| tx.put(own, &n.to_be_bytes(), &[7; 100]))?;
    assert_eq!(tx.reader().get(b, b"k")?, Some(b"1".to_vec()));
    put(&store, a, b"k", b"2")?;
    tx.go_on_from_newest()?;
    assert_eq!(tx.reader().get(a, b"k")?, Some(b"2".to_vec()));
    tx.reader().note_read(a, Unbounded, Unbounded)?;
    tx.put(b, b"of", b"it")?;
    tx.commit(None)?;
    let snapshot = store.snapshot()?;
    assert_eq!(snapshot.reader().get(own, &4_999u32.to_be_bytes())?, Some(vec![7; 100]));
    assert_eq!(snapshot.reader().get(b, b"of")?, Some(b"it".to_vec()));
    store.verify()?;
    Ok(())
}

#[test]
fn what_it_read_must_be_there_before_and_after() -> Result<()> {
    let (store, a, b) = store()?;
    let tx = store.begin()?;
    tx.create_tree()?;
    tx.reader().get(a, b"k")?;
    put(&store, a, b"k", b"2")?;
    assert!(matches!(tx.go_on_from_newest(), Err(Error::Conflict)));
    let tx = store.begin()?;
    tx.create_tree()?;
    tx.go_on_from_newest()?;
    tx.reader().note_read(a, Unbounded, Unbounded)?;
    put(&store, a, b"other", b"3")?;
    assert!(matches!(tx.commit(None), Err(Error::Conflict)));
    // A tree that it changed and others too; a cursor that is open.
    let tx = store.begin()?;
    tx.put(b, b"x", b"1")?;
    put(&store, b, b"y", b"1")?;
    assert!(matches!(tx.go_on_from_newest(), Err(Error::Conflict)));
    let tx = store.begin()?;
    let cursor = tx.reader().cursor(a, Unbounded, Unbounded)?;
    assert!(matches!(tx.go_on_from_newest(), Err(Error::Conflict)));
    drop(cursor);
    tx.go_on_from_newest()
}

#[test]
fn others_wait_for_its_turn_and_not_for_longer() -> Result<()> {
    let (store, a, b) = store()?;
    let tx = store.begin()?;
    tx.create_tree()?;
    assert!(tx.take_turn(&[a], Duration::from_secs(1), &|| false)?);
    tx.go_on_from_newest()?;
    tx.reader().note_read(a, Unbounded, Unbounded)?;
    put(&store, b, b"beside", b"1")?;
    let is_through = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| {
            let put = put(&store, a, b"k", b"2");
            is_through.store(true, Ordering::SeqCst);
            put
        });
        std::thread::sleep(Duration::from_millis(50));
        assert!(!is_through.load(Ordering::SeqCst));
        tx.commit(None)?;
        waits.join().expect("who waits")
    })?;
    assert_eq!(store.snapshot()?.reader().get(a, b"k")?, Some(b"2".to_vec()));
    Ok(())
}
