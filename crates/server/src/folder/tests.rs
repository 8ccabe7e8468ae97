//! Databases of a folder, as files that come and go.

use super::*;

fn code<T>(of: Result<T, Error>) -> String {
    of.err().expect("refused").sqlstate().as_str().to_owned()
}

fn folder(path: &Path) -> Folder {
    Folder::open(path, Options::default().memory(cairndb::Memory::shared(8 << 20))).unwrap()
}

#[test]
fn databases_come_go_and_change_their_names() {
    let place = tempfile::tempdir().unwrap();
    let folder = folder(place.path());
    folder.create("shop").unwrap();
    assert_eq!(code(folder.create("shop")), "42P04");
    let lease = folder.lease("shop").unwrap();
    lease.database().unwrap().connect().unwrap().execute("CREATE TABLE t (a int)", ()).unwrap();
    assert_eq!(code(folder.drop_database("shop")), "55006");
    assert_eq!(code(folder.rename("shop", "other")), "55006");
    drop(lease);
    folder.rename("shop", "other").unwrap();
    assert_eq!(code(folder.lease("shop")), "3D000");
    folder.create("shop").unwrap();
    assert_eq!(code(folder.rename("shop", "other")), "42P04");
    let lease = folder.lease("other").unwrap();
    lease.database().unwrap().connect().unwrap().execute("INSERT INTO t VALUES (1)", ()).unwrap();
    drop(lease);
    folder.drop_database("other").unwrap();
    assert_eq!(code(folder.drop_database("other")), "3D000");
    // Of the one that was dropped nothing is left in one of its name.
    folder.create("other").unwrap();
    let lease = folder.lease("other").unwrap();
    assert_eq!(code(lease.database().unwrap().connect().unwrap().execute("SELECT * FROM t", ())), "42P01");
    drop(lease);
    for own in ["cairn", "postgres"] {
        assert_eq!(
            [folder.create(own), folder.drop_database(own), folder.rename(own, "x"), folder.rename("shop", own)]
                .map(code),
            ["42P04", "42501", "42501", "42P04"]
        );
    }
    folder.close().unwrap();
}

/// As after a crash: its last commits are in the log alone.
#[test]
fn one_that_was_not_closed_well_has_all_of_itself_under_its_new_name() {
    let place = tempfile::tempdir().unwrap();
    let folder = folder(place.path());
    folder.create("shop").unwrap();
    let lease = folder.lease("shop").unwrap();
    let connection = lease.database().unwrap().connect().unwrap();
    connection.execute_script("CREATE TABLE t (a int); INSERT INTO t VALUES (7)").unwrap();
    for (from, to) in [("shop.cairn", "crashed.cairn"), ("shop.cairn-log", "crashed.cairn-log")] {
        fs::copy(place.path().join(from), place.path().join(to)).unwrap();
    }
    folder.rename("crashed", "risen").unwrap();
    assert!(!place.path().join("crashed.cairn-log").exists());
    let risen = folder.lease("risen").unwrap();
    let rows = risen.database().unwrap().connect().unwrap().execute("DELETE FROM t WHERE a = 7", ()).unwrap();
    assert_eq!(rows, 1);
    drop((connection, lease, risen));
    folder.close().unwrap();
}

#[test]
fn one_that_another_program_has_open_is_neither_dropped_nor_renamed() {
    let place = tempfile::tempdir().unwrap();
    let folder = folder(place.path());
    let other = Database::open(place.path().join("shop.cairn")).unwrap();
    assert_eq!([folder.drop_database("shop"), folder.rename("shop", "x")].map(code), ["55006", "55006"]);
    assert!(place.path().join("shop.cairn").exists());
    other.close().unwrap();
    folder.drop_database("shop").unwrap();
    folder.close().unwrap();
}

#[test]
fn names_do_not_leave_the_folder() {
    let place = tempfile::tempdir().unwrap();
    let inner = place.path().join("inner");
    fs::create_dir(&inner).unwrap();
    fs::write(place.path().join("outer.cairn"), "").unwrap();
    let folder = folder(&inner);
    for name in
        ["", ".", "..", "../outer", "a/b", "a\\b", "Shop", "a.b", "a\0b", "a b", "-x", &"x".repeat(64), "\u{130}"]
    {
        assert_eq!(code(folder.create(name)), "42602", "{name:?}");
        assert_eq!(code(folder.lease(name)), "3D000", "{name:?}");
    }
    folder.create("größe_1-a$").unwrap();
    folder.close().unwrap();
}

#[test]
fn many_who_ask_at_once_open_it_once_and_it_is_closed_when_they_have_left() {
    let place = tempfile::tempdir().unwrap();
    let folder = folder(place.path());
    folder.create("shop").unwrap();
    assert!(folder.close_idle(Duration::ZERO).is_empty());
    assert_eq!(folder.count_open(), 0);
    let leases: Vec<Lease> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| folder.lease("shop").unwrap())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(folder.count_open(), 1);
    assert!(folder.close_idle(Duration::ZERO).is_empty());
    assert_eq!(folder.count_open(), 1, "it is in use");
    drop(leases);
    folder.close_idle(Duration::from_secs(60));
    assert_eq!(folder.count_open(), 1, "not for long enough");
    folder.close_idle(Duration::ZERO);
    assert_eq!(folder.count_open(), 0);
    drop(folder.lease("shop").unwrap());
    folder.close().unwrap();
}

#[test]
fn one_that_is_damaged_is_refused_by_name_and_a_second_server_at_all() {
    let place = tempfile::tempdir().unwrap();
    let folder = folder(place.path());
    fs::write(place.path().join("bad.cairn"), "this is no database, but long enough to be looked at".repeat(1000))
        .unwrap();
    folder.create("good").unwrap();
    let refused = folder.lease("bad").err().expect("refused");
    assert!(refused.message().contains("database \"bad\" can not be opened"), "{}", refused.message());
    assert!(folder.lease("good").is_ok());
    assert_eq!(code(Folder::open(place.path(), Options::default())), "55006");
    folder.drop_database("bad").unwrap();
    folder.close().unwrap();
}
