//! The program's exit codes, as a script that calls it sees them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A run of made-up data: commits at this many times SQLite's latency.
fn run_file(dir: &Path, name: &str, times: f64) -> PathBuf {
    let head = r#"{"record":"run","cairndb":"0","optimized":true,"machine":{"cores":2,"processor":"p","memory_mib":1,"system":"s","kernel":"k"},"load_average":null,"words":[],"started":0}"#;
    let series = |engine: &str, times: f64| {
        let rounds: Vec<f64> = [50.0, 51.0, 49.5, 50.5, 52.0].iter().map(|us| us * times).collect();
        format!(
            r#"{{"record":"series","workload":"commit","medium":"disk","engine":"{engine}","measure":"commit p50","unit":"us","better":"lower","rounds":{rounds:?}}}"#
        )
    };
    let path = dir.join(name);
    std::fs::write(&path, format!("{head}\n{}\n{}\n", series("cairndb", times), series("sqlite", 1.0))).unwrap();
    path
}

fn program(words: &[&str], files: &[&Path]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cairn-bench")).args(words).args(files).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn compare_fails_on_a_regression_over_the_limit_and_only_then() {
    let dir = tempfile::tempdir().unwrap();
    let (old, slower) = (run_file(dir.path(), "old", 0.5), run_file(dir.path(), "slower", 0.56));
    let same = run_file(dir.path(), "same", 0.52);
    let code = |words: &[&str], files: &[&Path]| program(words, files).status.code();
    assert_eq!(code(&["compare"], &[&old, &slower]), Some(1));
    assert_eq!(code(&["compare", "--limit", "15"], &[&old, &slower]), Some(0));
    assert_eq!(code(&["compare"], &[&old, &same]), Some(0));
    assert_eq!(code(&["compare"], &[&slower, &old]), Some(0));
    assert_eq!(code(&["compare"], &[&old, &dir.path().join("absent")]), Some(2));
    let shown = text(&program(&["compare"], &[&old, &slower]).stdout);
    assert!(shown.contains("Regressions of more than 10 %") && shown.contains("commit p50"), "{shown}");
}

#[test]
fn report_shows_the_tables_again() {
    let dir = tempfile::tempdir().unwrap();
    let shown = text(&program(&["report"], &[&run_file(dir.path(), "run", 0.5)]).stdout);
    assert!(shown.contains("commit on disk") && shown.contains("faster"), "{shown}");
    std::fs::write(dir.path().join("bad"), "{}\n").unwrap();
    let bad = program(&["report"], &[&dir.path().join("bad")]);
    assert_eq!(bad.status.code(), Some(1));
    assert!(text(&bad.stderr).contains("bad: line 1:"), "{}", text(&bad.stderr));
}
