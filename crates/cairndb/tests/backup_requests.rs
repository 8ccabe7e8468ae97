//! Backups for other processes: asked for and answered, here within one process.
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{fs, thread};

use cairndb::{Database, Options, Result};

fn filled(path: &Path, rows: u32) -> Database {
    let database = Database::open(path).unwrap();
    let connection = database.connect().unwrap();
    connection.execute_script("CREATE TABLE t (a int PRIMARY KEY, b text); CREATE INDEX ON t (b)").unwrap();
    let sql = "INSERT INTO t SELECT n, repeat('x', 200) || n FROM generate_series(1, $1::int) n";
    connection.execute(sql, (rows,)).unwrap();
    database
}

fn socket(path: &Path) -> PathBuf {
    PathBuf::from(format!("{}-socket", path.display()))
}

fn request(path: &Path, target: &str) -> Result<()> {
    Database::request_backup(path, path.with_file_name(target), |_| {})
}

fn sqlstate(result: Result<()>) -> String {
    result.expect_err("it was refused").sqlstate().to_string()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn copies_are_states_between_commits_and_whole_whoever_asks_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.cairn");
    let database = filled(&path, 2000);
    database.answer_backups().unwrap();
    database.answer_backups().unwrap();
    assert_eq!(fs::metadata(socket(&path)).unwrap().permissions().mode() & 0o777, 0o600);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            // Always an even number of rows, in a state between commits.
            let connection = database.connect().unwrap();
            for n in (10_000..).step_by(2).take_while(|_| !done.load(Ordering::Relaxed)) {
                connection.execute("INSERT INTO t VALUES ($1, 'a'), ($1 + 1, 'b')", (n,)).unwrap();
            }
        });
        let asking: Vec<_> = ["1", "2", "3", "4"].map(|copy| scope.spawn(|| request(&path, copy))).into();
        asking.into_iter().for_each(|asked| asked.join().unwrap().unwrap());
        done.store(true, Ordering::Relaxed);
    });
    for copy in ["1", "2", "3", "4"] {
        let copy = Database::open(path.with_file_name(copy)).unwrap();
        copy.verify().unwrap();
        let (count, first): (i64, i64) = copy
            .connect()
            .unwrap()
            .query_row_as("SELECT count(*), count(*) FILTER (WHERE a <= 2000) FROM t", ())
            .unwrap();
        assert!(count % 2 == 0 && first == 2000, "{count}, {first}");
    }
}

#[test]
fn the_socket_is_there_for_as_long_as_it_is_answered() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.cairn");
    let database = filled(&path, 1);
    assert_eq!(sqlstate(request(&path, "copy")), "55006");
    database.answer_backups().unwrap();
    database.close().unwrap();
    assert_eq!(names(folder.path()), ["x.cairn"]);
    let database = Database::open(&path).unwrap();
    database.answer_backups().unwrap();
    let connection = database.connect().unwrap();
    drop(database);
    request(&path, "copy").unwrap();
    drop(connection);
    assert_eq!(names(folder.path()), ["copy", "x.cairn"]);
}

#[test]
fn a_copy_ends_with_the_database_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.cairn");
    let database = filled(&path, 30_000);
    database.answer_backups().unwrap();
    let mut database = Some(database);
    let close = |_| {
        if let Some(database) = database.take() {
            database.close().unwrap();
        }
    };
    let error = Database::request_backup(&path, folder.path().join("copy"), close).unwrap_err();
    assert_eq!(error.sqlstate().as_str(), "58030");
    assert!(error.message().contains("it closed the database, or ended"), "{error}");
    assert_eq!(names(folder.path()), ["x.cairn"]);
}

#[test]
fn what_a_killed_process_left_is_replaced_and_what_is_another_file_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.cairn");
    let database = filled(&path, 1);
    drop(UnixListener::bind(socket(&path)).unwrap());
    assert_eq!(sqlstate(request(&path, "copy")), "55006");
    fs::create_dir(folder.path().join("x.cairn-socket-new")).unwrap();
    drop(UnixListener::bind(folder.path().join("x.cairn-socket-new/s")).unwrap());
    database.answer_backups().unwrap();
    request(&path, "copy").unwrap();
    database.close().unwrap();
    fs::write(socket(&path), "my notes").unwrap();
    let database = Database::open(&path).unwrap();
    assert_eq!(sqlstate(database.answer_backups()), "58P02");
    database.close().unwrap();
    assert_eq!(fs::read_to_string(socket(&path)).unwrap(), "my notes");
}

#[test]
fn who_says_nothing_or_something_else_gets_nothing_and_keeps_nobody_from_closing() {
    use std::io::{Read, Write};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.cairn");
    let database = filled(&path, 1);
    database.answer_backups().unwrap();
    let mut other = UnixStream::connect(socket(&path)).unwrap();
    other.write_all(b"backup 9").unwrap();
    let mut answer = Vec::new();
    other.read_to_end(&mut answer).unwrap();
    assert!(answer.is_empty());
    let _silent = UnixStream::connect(socket(&path)).unwrap();
    let _waiting = UnixStream::connect(socket(&path)).unwrap();
    let began = Instant::now();
    database.close().unwrap();
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert_eq!(names(folder.path()), ["x.cairn"]);
}

#[test]
fn it_ends_also_where_the_socket_was_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.cairn");
    let database = filled(&path, 1);
    database.answer_backups().unwrap();
    fs::remove_file(socket(&path)).unwrap();
    assert_eq!(sqlstate(request(&path, "copy")), "55006");
    database.close().unwrap();
    Database::open(&path).unwrap().close().unwrap();
}

#[test]
fn where_no_request_can_come_it_is_refused_with_the_reason() {
    assert_eq!(sqlstate(Database::open_in_memory().unwrap().answer_backups()), "0A000");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.cairn");
    filled(&path, 1).close().unwrap();
    let reader = Database::open_with(&path, Options::default().read_only(true)).unwrap();
    assert_eq!(sqlstate(reader.answer_backups()), "55000");
    // Longer than a socket's name may be, wherever it is.
    let path = folder.path().join("x".repeat(150));
    assert_eq!(sqlstate(filled(&path, 1).answer_backups()), "58030");
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_may_have_a_long_path() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("y".repeat(200)).join("z".repeat(200));
    fs::create_dir_all(&path).unwrap();
    let path = path.join("x.cairn");
    let database = filled(&path, 1);
    database.answer_backups().unwrap();
    request(&path, "copy").unwrap();
    database.close().unwrap();
    assert_eq!(names(path.parent().unwrap()), ["copy", "x.cairn"]);
}

/// Whoever closed connected to the socket by its name, removed it, and waited for his own thread, which nobody had woken. And a
/// copy that was asked for by name was of the database that had been there before.
#[test]
fn after_the_files_were_moved_the_next_ones_socket_is_left_alone_and_closing_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let (data, old) = (folder.path().join("data"), folder.path().join("old"));
    let path = data.join("x.cairn");
    for has_socket in [true, false] {
        for folder in [&data, &old] {
            let _ = fs::remove_dir_all(folder);
            fs::create_dir(folder).unwrap();
        }
        let first = filled(&path, 10);
        first.answer_backups().unwrap();
        assert!(first.misplaced().is_none());
        for name in names(&data).into_iter().filter(|name| has_socket || !name.ends_with("-socket")) {
            fs::rename(data.join(&name), old.join(&name)).unwrap();
        }
        let warning = first.misplaced().expect("it was moved");
        assert_eq!((warning.severity, warning.code.as_str()), ("WARNING", "01000"));
        let second = filled(&path, 2000);
        if !has_socket {
            let refused = request(&path, "copy").unwrap_err();
            assert!(refused.to_string().contains("moved away"), "{refused}");
        }
        second.answer_backups().unwrap();
        let (done, closed) = std::sync::mpsc::channel();
        thread::spawn(move || done.send(first.close()));
        closed.recv_timeout(Duration::from_secs(20)).expect("closing does not come back").unwrap();
        request(&path, "copy").unwrap();
        let copy = Database::open(data.join("copy")).unwrap();
        let (count,): (i64,) = copy.connect().unwrap().query_row_as("SELECT count(*) FROM t", ()).unwrap();
        assert_eq!(count, 2000);
        copy.close().unwrap();
        second.close().unwrap();
        assert_eq!(names(&data), ["copy", "x.cairn"]);
        let first = Database::open(old.join("x.cairn")).unwrap();
        let (count,): (i64,) = first.connect().unwrap().query_row_as("SELECT count(*) FROM t", ()).unwrap();
        assert_eq!(count, 10);
    }
}
