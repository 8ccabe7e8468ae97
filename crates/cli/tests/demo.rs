//! The main job: loads, answers, measures, verifies; replaces its own file and nothing else.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn demo(folder: &Path) -> Output {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/apollo");
    Command::new(env!("CARGO_BIN_EXE_cairn")).arg("demo").arg(example).current_dir(folder).output().unwrap()
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn it_answers_measures_and_verifies_and_can_run_again() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let text = stdout(&demo(folder.path()));
        assert!(text.contains("Eugene Cernan"), "{text}");
        assert!(text.contains("(12 rows)"), "{text}");
        assert!(text.contains("p50"), "{text}");
        assert!(text.contains("Verified"), "{text}");
    }
    let made: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(made, ["apollo.cairn"], "a database at rest is one file");
}

#[test]
fn a_file_that_it_did_not_make_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("apollo.cairn");
    fs::write(&path, "my precious notes").unwrap();
    assert!(!demo(folder.path()).status.success());
    assert_eq!(fs::read_to_string(&path).unwrap(), "my precious notes");

    fs::remove_file(&path).unwrap();
    let database = cairndb::Database::open(&path).unwrap();
    database.connect().unwrap().execute_script("CREATE TABLE mine (a integer)").unwrap();
    database.close().unwrap();
    assert!(!demo(folder.path()).status.success());
    let database = cairndb::Database::open(&path).unwrap();
    assert!(database.connect().unwrap().schema().unwrap().table("mine").is_some());
}
