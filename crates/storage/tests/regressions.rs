//! Failures that the crash tests found, each by itself.

use cairn_storage::{Acknowledge, Error, Options, Store, TreeId, WriteError};

#[test]
fn an_undone_point_write_does_not_make_a_drop_fail_for_ever() {
    let store = Store::open_in_memory(Options::default()).unwrap();
    let transaction = store.begin().unwrap();
    let tree = transaction.create_tree().unwrap();
    transaction.put(tree, b"key", b"value").unwrap();
    transaction.commit(None).unwrap();
    let mut session = store.session().unwrap();
    let failed = session.write::<(), ()>(Acknowledge::Now(None), |writer| {
        writer.put(tree, b"other", b"value")?;
        Err(WriteError::Caller(()))
    });
    assert!(matches!(failed, Err(WriteError::Caller(()))));
    let dropped = (0..3).any(|_| {
        let transaction = store.begin().unwrap();
        transaction.drop_tree(tree).unwrap();
        match transaction.commit(None) {
            Ok(()) => true,
            Err(Error::Conflict) => false,
            Err(error) => panic!("{error}"),
        }
    });
    assert!(dropped);
    assert_eq!(store.snapshot().unwrap().trees(), [TreeId::CATALOG]);
}
