//! `cairn import ndjson` and `cairn export`.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

fn cairn(folder: &Path, arguments: &[&str], input: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cairn"));
    command.args(arguments).current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // It may end before it has read.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn good(folder: &Path, arguments: &[&str]) -> String {
    let output = cairn(folder, arguments, "");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn bad(folder: &Path, arguments: &[&str]) -> String {
    let output = cairn(folder, arguments, "");
    assert_eq!(output.status.code(), Some(1), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

fn ask(folder: &Path, database: &str, query: &str) -> String {
    good(folder, &[database, "--format", "csv", "--no-header", "-c", query])
}

#[test]
fn documents_come_in_and_go_out_as_they_were() {
    let folder = TempDir::new().unwrap();
    let written = "{\"_id\": \"a\\\\b\\n\", \"n\": 123456789012345678901234567890.10, \"t\":\t\"x\\ty\"}\n\n{\"n\": 1, \"_id\": \"b\"}\n{\"_id\": \"c\"}";
    fs::write(folder.path().join("notes.ndjson"), written).unwrap();
    let told = good(folder.path(), &["import", "ndjson", "notes.ndjson", "new.cairn"]);
    assert_eq!(told, "3 documents imported into notes of new.cairn\n");
    let exported = good(folder.path(), &["export", "new.cairn", "notes"]);
    let expected = "{\"_id\": \"a\\\\b\\n\", \"n\": 123456789012345678901234567890.10, \"t\": \"x\\ty\"}\n{\"_id\": \"b\", \"n\": 1}\n{\"_id\": \"c\"}\n";
    assert_eq!(exported, expected);
    assert_eq!(
        good(folder.path(), &["export", "new.cairn", "notes", "--filter", "{\"n\": 1}", "--without-ids"]),
        "{\"n\": 1}\n"
    );
    good(folder.path(), &["export", "new.cairn", "notes", "-o", "again.ndjson"]);
    assert!(bad(folder.path(), &["export", "new.cairn", "notes", "-o", "again.ndjson"]).contains("again.ndjson"));
    good(folder.path(), &["import", "ndjson", "again.ndjson", "new.cairn", "--collection", "copied", "--no-feed"]);
    assert_eq!(good(folder.path(), &["export", "new.cairn", "copied"]), expected);
    let feeds = "SELECT count(*) FILTER (WHERE reloptions @> '{change_feed=on}') FROM pg_class WHERE relname IN ('notes', 'copied')";
    assert_eq!(ask(folder.path(), "new.cairn", feeds), "1\n");
    // Into what is there: all or none.
    assert!(
        bad(folder.path(), &["import", "ndjson", "again.ndjson", "new.cairn", "--collection", "notes"])
            .contains("already exists")
    );
    assert_eq!(ask(folder.path(), "new.cairn", "SELECT count(*) FROM notes"), "3\n");
}

#[test]
fn ids_are_made_where_none_are_and_numbers_stay_numbers() {
    let folder = TempDir::new().unwrap();
    let output =
        cairn(folder.path(), &["import", "ndjson", "-", "x.cairn", "--collection", "all"], "{}\n[1]\n\"x\"\n3\n");
    assert!(output.status.success());
    assert_eq!(
        ask(folder.path(), "x.cairn", "SELECT doc, length(id) FROM \"all\" ORDER BY doc"),
        "\"\"\"x\"\"\",36\n3,36\n[1],36\n{},36\n"
    );
    assert!(bad(folder.path(), &["export", "x.cairn", "all"]).contains("--without-ids"));
    ask(folder.path(), "x.cairn", "CREATE TABLE n (id bigint) WITH (collection)");
    cairn(folder.path(), &["import", "ndjson", "-", "x.cairn", "--collection", "n"], "{\"_id\": 7}\n{\"_id\": 8}\n");
    assert_eq!(good(folder.path(), &["export", "x.cairn", "n"]), "{\"_id\": 7}\n{\"_id\": 8}\n");
}

#[test]
fn what_mongoexport_writes_is_read() {
    let folder = TempDir::new().unwrap();
    let lines = "{\"_id\":{\"$oid\":\"5d505646cf6d4fe581014ab2\"},\"at\":{\"$date\":\"2019-08-11T17:54:14.692Z\"},\"n\":{\"$numberLong\":\"9007199254740993\"},\"r\":{\"$regularExpression\":{\"pattern\":\"a\",\"options\":\"\"}}}\n";
    fs::write(folder.path().join("orders.json"), lines).unwrap();
    assert!(bad(folder.path(), &["import", "ndjson", "orders.json", "m.cairn"]).contains("--mongo"));
    let told = good(folder.path(), &["import", "ndjson", "orders.json", "m.cairn", "--mongo"]);
    assert!(told.contains("1 values of $regularExpression stay"), "{told}");
    let row = ask(folder.path(), "m.cairn", "SELECT id, doc->>'at', doc->'n' FROM orders");
    assert_eq!(row, "5d505646cf6d4fe581014ab2,2019-08-11T17:54:14.692Z,9007199254740993\n");
}

#[test]
fn what_is_wrong_is_told_with_its_line_and_leaves_nothing() {
    let folder = TempDir::new().unwrap();
    let deep = format!("{}1{}", "[".repeat(1_000), "]".repeat(1_000));
    for (lines, said) in [
        ("{\"a\": 1}\n{\"a\": \n", "x.ndjson, line 2: it is no JSON"),
        ("{\"a\": 1}\n{\"a\": 1, \"_id\": 3}\n{\"_id\": 1}\n{}\n", ""),
        ("{\"_id\": 1}\n\n{\"a\": 1}\n", "x.ndjson, line 3: it has no _id"),
        ("{\"_id\": 1}\n[]\n", "x.ndjson, line 2: it is no JSON object"),
        ("{\"_id\": null}\n", "x.ndjson, line 1: its _id is null"),
        ("[\n{}\n]\n", "--jsonArray"),
        ("{\"a\": \"\\u0000\"}\n", "\\u0000"),
        (deep.as_str(), "stack depth limit"),
        ("{\"_id\": 1}\n{\"_id\": 1}\n", "duplicate key"),
    ] {
        fs::write(folder.path().join("x.ndjson"), lines).unwrap();
        let output = cairn(folder.path(), &["import", "ndjson", "x.ndjson", "x.cairn"], "");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        if said.is_empty() {
            // Without ids in the first line, `_id` is a member like others.
            assert!(output.status.success(), "{told}");
            ask(folder.path(), "x.cairn", "DROP TABLE x");
            continue;
        }
        assert!(!output.status.success() && told.contains(said), "{lines}: {told}");
        assert_eq!(
            ask(folder.path(), "x.cairn", "SELECT count(*) FROM pg_class WHERE relname = 'x'"),
            "0\n",
            "{lines}"
        );
    }
    fs::write(folder.path().join("x.ndjson"), b"{\"a\": \"\xff\"}\n").unwrap();
    assert!(bad(folder.path(), &["import", "ndjson", "x.ndjson", "x.cairn"]).contains("line 1"));
    assert!(bad(folder.path(), &["import", "ndjson", "-", "x.cairn"]).contains("--collection"));
    assert!(bad(folder.path(), &["import", "ndjson", "none.ndjson", "y.cairn"]).contains("none.ndjson"));
    assert!(!folder.path().join("y.cairn").exists());
    ask(folder.path(), "x.cairn", "CREATE TABLE plain (a int)");
    fs::write(folder.path().join("x.ndjson"), "{}").unwrap();
    assert!(
        bad(folder.path(), &["import", "ndjson", "x.ndjson", "x.cairn", "--collection", "plain"])
            .contains("is not a collection")
    );
}
