//! `cairn watch`: what standard input's statements change is told, and on a terminal shown.

use std::io::Write;
use std::process::{Command, Stdio};

/// Watches in a new folder, with these statements on standard input; what was told.
fn watch(prepared: &str, query: &str, statements: &str, more: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let cairn = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cairn"));
        command.current_dir(folder.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    assert!(cairn().args(["x.cairn", "-c", prepared]).status().unwrap().success());
    let mut child = cairn().args(["watch", "x.cairn", query]).args(more).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(statements.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    // It was closed: nothing is left to recover.
    assert!(!folder.path().join("x.cairn-log").exists());
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

const MAKE: &str = "CREATE TABLE t (a int PRIMARY KEY, b text); INSERT INTO t VALUES (1, 'one'), (2, E'tab\\there')";

/// Changes that come quickly are told as one, so what is told is applied and compared with the result.
#[test]
fn every_change_is_a_line_and_they_add_up_to_the_result() {
    let statements = "INSERT INTO t VALUES (3, NULL); UPDATE t SET b = 'uno' WHERE a = 1; DELETE FROM t WHERE a = 2;
        INSERT INTO t VALUES (9, 'not looked at')";
    let told = watch(MAKE, "SELECT a, b FROM t WHERE a < 5", statements, &[]);
    let mut rows = std::collections::BTreeMap::new();
    for line in told.lines() {
        let cells: Vec<&str> = line.split('\t').collect();
        match cells[..] {
            ["+", key, value] => assert!(rows.insert(key, value).is_none(), "{told}"),
            ["-", key, value] => assert_eq!(rows.remove(key), Some(value), "{told}"),
            ["~", key, value] => assert!(rows.insert(key, value).is_some(), "{told}"),
            _ => panic!("{line:?} in {told}"),
        }
    }
    assert_eq!(rows.into_iter().collect::<Vec<_>>(), [("1", "uno"), ("3", "\\N")]);
}

#[test]
fn changes_can_be_json() {
    let told = watch(MAKE, "SELECT a, b FROM t WHERE a = 1", "", &["--format", "json"]);
    assert!(told.starts_with("{\"change\":\"+\",\"position\":"), "{told}");
    assert!(told.trim_end().ends_with("\"row\":{\"a\":1,\"b\":\"one\"}}"), "{told}");
}

#[test]
fn what_can_not_be_watched_and_what_fails_is_told() {
    let told = watch(MAKE, "SELECT now()", "", &[]);
    assert!(told.contains("0A000"), "{told}");
    let told = watch(MAKE, "DELETE FROM t", "", &[]);
    assert!(told.contains("42601"), "{told}");
    let told = watch(MAKE, "SELECT a FROM t", "INSERT INTO t VALUES (1, 'again')", &[]);
    assert!(told.contains("23505"), "{told}");
}
