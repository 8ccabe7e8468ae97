//! Database files across processes: what was acknowledged stays, one process at a time, and the tools.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

fn cairn(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cairn")).args(arguments).current_dir(folder).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Runs what must succeed and gives its output.
fn good(folder: &Path, arguments: &[&str]) -> String {
    let output = cairn(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output));
    text(&output)
}

/// Runs what must fail with exit code 1 and gives what it said.
fn bad(folder: &Path, arguments: &[&str]) -> String {
    let output = cairn(folder, arguments);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {}", text(&output));
    text(&output)
}

const MAKE: &str = "CREATE TABLE t (a integer PRIMARY KEY, v text);
    INSERT INTO t SELECT n, 'value ' || n FROM generate_series(1, 5000) AS n;";

/// A shell that has a database open until it is dropped, and has answered its first statement.
struct Shell(Child);

impl Shell {
    fn running(folder: &Path, statement: &str, answer: &str) -> Shell {
        let mut child = Command::new(env!("CARGO_BIN_EXE_cairn"))
            .arg("x.cairn")
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        writeln!(child.stdin.as_mut().unwrap(), "{statement};").unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line.trim_end(), answer);
        Shell(child)
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn an_acknowledged_row_survives_the_process() {
    let folder = tempfile::tempdir().unwrap();
    good(folder.path(), &["x.cairn", "-c", MAKE]);
    drop(Shell::running(folder.path(), "INSERT INTO t VALUES (5001, 'last words')", "INSERT 0 1"));
    let answer = good(folder.path(), &["x.cairn", "--no-header", "-c", "SELECT v FROM t WHERE a > 5000"]);
    assert_eq!(answer.trim(), "last words");
}

#[test]
fn a_script_that_fails_leaves_what_was_committed_before_and_nothing_of_its_open_transaction() {
    let folder = tempfile::tempdir().unwrap();
    let script = "CREATE TABLE t (a integer);\nINSERT INTO t VALUES (1);\nBEGIN;\nINSERT INTO t VALUES (2);\n\
                  SELECT 1 / 0;\nCOMMIT;\n";
    fs::write(folder.path().join("script.sql"), script).unwrap();
    let output = cairn(folder.path(), &["x.cairn", "-f", "script.sql"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output).contains("script.sql:5: ERROR:  22012"), "{}", text(&output));
    assert_eq!(good(folder.path(), &["x.cairn", "--no-header", "-c", "SELECT a FROM t"]).trim(), "1");
}

#[test]
fn a_second_process_is_told_who_has_the_database() {
    let folder = tempfile::tempdir().unwrap();
    good(folder.path(), &["x.cairn", "-c", MAKE]);
    let shell = Shell::running(folder.path(), "BEGIN", "BEGIN");
    let told = bad(folder.path(), &["x.cairn", "-c", "SELECT 1"]);
    assert!(told.contains(&shell.0.id().to_string()), "{told}");
    drop(shell);
    good(folder.path(), &["x.cairn", "-c", "SELECT 1"]);
}

#[test]
fn a_file_that_is_no_database_is_refused_and_left_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.cairn");
    let notes = "These are my notes; they are not a database.\n".repeat(400);
    fs::write(&path, &notes).unwrap();
    for arguments in [&["x.cairn", "-c", "SELECT 1"][..], &["verify", "x.cairn"], &["compact", "x.cairn"]] {
        let told = bad(folder.path(), arguments);
        assert!(told.contains("x.cairn"), "{told}");
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), notes);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else was made");
}

#[test]
fn a_database_opened_read_only_refuses_changes() {
    let folder = tempfile::tempdir().unwrap();
    good(folder.path(), &["x.cairn", "-c", MAKE]);
    let count = good(folder.path(), &["x.cairn", "--read-only", "--no-header", "-c", "SELECT count(*) FROM t"]);
    assert_eq!(count.trim(), "5000");
    let told = bad(folder.path(), &["x.cairn", "--read-only", "-c", "DELETE FROM t"]);
    assert!(told.contains("25006"), "{told}");
}

#[test]
fn a_backup_is_a_database_of_its_own_and_never_overwrites() {
    let folder = tempfile::tempdir().unwrap();
    good(folder.path(), &["x.cairn", "-c", MAKE]);
    good(folder.path(), &["backup", "x.cairn", "copy.cairn"]);
    assert!(good(folder.path(), &["verify", "copy.cairn"]).contains("is right"));
    let count = good(folder.path(), &["copy.cairn", "--no-header", "-c", "SELECT count(*) FROM t"]);
    assert_eq!(count.trim(), "5000");
    assert!(bad(folder.path(), &["backup", "x.cairn", "copy.cairn"]).contains("exists already"));
}

#[test]
fn compacting_makes_the_file_smaller_and_keeps_the_rows() {
    let folder = tempfile::tempdir().unwrap();
    good(folder.path(), &["x.cairn", "-c", MAKE]);
    good(
        folder.path(),
        &["x.cairn", "-c", "INSERT INTO t SELECT n, repeat('x', 200) FROM generate_series(10000, 30000) n"],
    );
    // So little that closing leaves it.
    good(folder.path(), &["x.cairn", "-c", "DELETE FROM t WHERE a >= 28500"]);
    let size = || fs::metadata(folder.path().join("x.cairn")).unwrap().len();
    let before = size();
    good(folder.path(), &["compact", "x.cairn"]);
    assert!(size() < before, "{} bytes before, {} after", before, size());
    let before = size();
    good(folder.path(), &["x.cairn", "-c", "DELETE FROM t WHERE a >= 10000"]);
    assert!(size() < before / 4, "closing gives much back: {} bytes before, {} after", before, size());
    assert!(good(folder.path(), &["verify", "x.cairn"]).contains("is right"));
    let count = good(folder.path(), &["x.cairn", "--no-header", "-c", "SELECT count(*) FROM t"]);
    assert_eq!(count.trim(), "5000");
}

#[test]
fn statistics_list_the_tables() {
    let folder = tempfile::tempdir().unwrap();
    good(folder.path(), &["x.cairn", "-c", MAKE]);
    let told = good(folder.path(), &["stats", "x.cairn"]);
    assert!(told.contains(" t     | 5000"), "{told}");
}

/// Changes a bit of a row in the file.
fn damage(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let at = bytes.windows(10).position(|window| window == b"value 4321").expect("the row is in the file");
    bytes[at] ^= 1;
    fs::write(path, &bytes).unwrap();
}

#[test]
fn verify_finds_a_damaged_page() {
    let folder = tempfile::tempdir().unwrap();
    good(folder.path(), &["x.cairn", "-c", MAKE]);
    damage(&folder.path().join("x.cairn"));
    let told = bad(folder.path(), &["verify", "x.cairn"]);
    assert!(told.contains("XX001"), "{told}");
}

#[test]
fn salvage_copies_what_can_be_read_and_tells_what_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    good(folder.path(), &["x.cairn", "-c", MAKE]);
    damage(&folder.path().join("x.cairn"));
    let told = good(folder.path(), &["salvage", "x.cairn", "saved.cairn"]);
    assert!(told.contains("Lost or doubtful:"), "{told}");
    assert!(good(folder.path(), &["verify", "saved.cairn"]).contains("is right"));
    let count = good(folder.path(), &["saved.cairn", "--no-header", "-c", "SELECT count(*) FROM t WHERE a < 1000"]);
    assert_eq!(count.trim(), "999", "rows far from the damage are there");
    assert!(bad(folder.path(), &["salvage", "x.cairn", "saved.cairn"]).contains("saved.cairn"), "never overwrites");
}
