//! A test that changes the process's working directory, and therefore is alone in its process.

use cairn_storage::broken::{Broken, must_be_caught};
use cairn_storage::{Options, Store, TreeId};

/// A new database kept the path it was given: closing it after the working directory had changed removed the log of
/// another one that has the same name there.
fn a_new_database_stays_where_it_was_created() {
    let directory = std::env::temp_dir().join(format!("cairn-working-directory-{}", std::process::id()));
    let (here, there) = (directory.join("here"), directory.join("there"));
    [&here, &there].into_iter().for_each(|path| std::fs::create_dir_all(path).unwrap());
    std::fs::write(there.join("app-log"), b"another database's").unwrap();

    std::env::set_current_dir(&here).unwrap();
    let store = Store::open("app", Options::default()).unwrap();
    let transaction = store.begin().unwrap();
    transaction.put(TreeId::CATALOG, b"key", b"value").unwrap();
    transaction.commit(None).unwrap();
    assert_eq!(store.path(), std::fs::canonicalize(&here).unwrap().join("app"));
    std::env::set_current_dir(&there).unwrap();
    store.close().unwrap();

    let names = |path| {
        let entries = std::fs::read_dir(path).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&there), ["app-log"]);
    assert_eq!(names(&here), ["app"]);
    std::env::set_current_dir(&directory).unwrap();
    std::fs::remove_dir_all(&directory).unwrap();
}

/// One test: there is one working directory.
#[test]
fn a_new_database_is_where_it_was_created_whatever_the_working_directory_is_later() {
    a_new_database_stays_where_it_was_created();
    must_be_caught(Broken::PathAsGiven, a_new_database_stays_where_it_was_created);
}
