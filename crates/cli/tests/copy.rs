//! `\copy`: every end that psql's has, COPY's options, other encodings and line ends.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn cairn(folder: &Path, arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_cairn"))
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // (Some end without reading it.)
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// What the commands say, which succeed, over a table t of two texts.
fn good(folder: &Path, commands: &[&str]) -> String {
    let output = cairn(folder, &[&["x.cairn", MAKE], commands].concat(), b"");
    assert!(output.status.success(), "{commands:?}: {}", text(&output));
    text(&output)
}

/// What they say where the last one fails.
fn bad(folder: &Path, commands: &[&str]) -> String {
    let output = cairn(folder, &[&["x.cairn", MAKE], commands].concat(), b"");
    assert_eq!(output.status.code(), Some(1), "{commands:?}: {}", text(&output));
    text(&output)
}

const MAKE: &str = "DROP TABLE IF EXISTS t; CREATE TABLE t (a text, b text)";

/// The rows, a line each.
const ROWS: &str = "\\copy t to stdout";

#[test]
fn files_in_other_encodings_are_read_and_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("excel.csv"), b"name;price\r\nCaf\xe9;3 \x80\r\n").unwrap();
    let copy = "\\copy t from excel.csv csv header delimiter ';' encoding 'WIN1252'";
    let told = good(folder.path(), &[copy, ROWS, "\\copy t to out.csv csv encoding 'WIN1252'"]);
    assert!(told.contains("COPY 1") && told.contains("Café\t3 €"), "{told}");
    assert_eq!(fs::read(path("out.csv")).unwrap(), b"Caf\xe9,3 \x80\n");
    let told = bad(folder.path(), &[copy, "\\copy t to latin csv encoding 'LATIN1'"]);
    assert!(told.contains("22P05") && told.contains("0xe2 0x82 0xac"), "{told}");
    let told = bad(folder.path(), &["\\copy t from excel.csv csv header delimiter ';'"]);
    assert!(told.contains("22021") && told.contains("ENCODING 'WIN1252'") && told.contains("line 2"), "{told}");

    fs::write(path("sjis.txt"), b"\x93\xfa\x96\x7b\tb\n".repeat(20_000)).unwrap();
    let told = good(folder.path(), &["\\copy t from sjis.txt encoding 'sjis'", "SELECT count(*), min(a) FROM t"]);
    assert!(told.contains("20000") && told.contains("日本"), "{told}");
    fs::write(path("sjis.txt"), [&b"\x93\xfa\tb\n".repeat(20_000)[..], b"a\t\x93"].concat()).unwrap();
    let told = bad(folder.path(), &["\\copy t from sjis.txt encoding 'sjis'"]);
    assert!(told.contains("22021") && told.contains("\"SJIS\"") && told.contains("line 20001"), "{told}");
}

#[test]
fn lines_may_end_with_carriage_returns() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mac.csv"), b"a,b\r1,\"two\rlines\"\r2,x\r").unwrap();
    let told = good(folder.path(), &["\\copy t from mac.csv csv header", ROWS]);
    assert!(told.contains("COPY 2") && told.contains("1\ttwo\\rlines\n2\tx\n"), "{told}");
    fs::write(folder.path().join("mac.csv"), b"a,b\r1,2\n3,4\r").unwrap();
    let told = bad(folder.path(), &["\\copy t from mac.csv csv header"]);
    assert!(told.contains("unquoted newline found in data") && told.contains("line 2"), "{told}");
}

#[test]
fn the_database_understands_what_is_copied_and_how() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("x.txt"), "a|1\nb|2\nc|\n").unwrap();
    let told = good(
        folder.path(),
        &[
            "CREATE SCHEMA s; CREATE TABLE s.t (a text, b text)",
            "\\copy s.t (a, b) from x.txt with (format csv, delimiter '|', force_not_null (b)) where a <> 'b'",
            "SELECT string_agg(a || b, ',') || (SELECT count(*) FROM t) FROM s.t",
            "\\copy (SELECT * FROM s.t ORDER BY a DESC) to stdout csv force quote *",
        ],
    );
    assert!(told.contains("a1,c0") && told.contains("\"c\",\"\"\n\"a\",\"1\""), "{told}");
    fs::write(folder.path().join("y.csv"), "a,1\n").unwrap();
    let told = bad(folder.path(), &["\\copy t from y.csv"]);
    assert!(told.contains("22P04") && told.contains("add csv"), "{told}");
    let told = bad(folder.path(), &["\\copy t from y.csv encoding 'klingon'"]);
    assert!(told.contains("22023") && told.contains("valid encoding name"), "{told}");
}

#[test]
fn a_file_is_not_touched_where_nothing_can_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kept.txt");
    fs::write(&path, "kept").unwrap();
    bad(folder.path(), &["\\copy nothing to kept.txt"]);
    bad(folder.path(), &["\\copy t to kept.txt csv header match"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "kept");
    good(folder.path(), &["\\copy t to kept.txt"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "");
}

#[cfg(unix)]
#[test]
fn programs_give_and_take_data_and_must_end_well() {
    let folder = tempfile::tempdir().unwrap();
    let told = good(
        folder.path(),
        &["\\copy t from program 'printf ''a\\tb\\n''; printf ''c\\td\\n'''", "\\copy t to program 'tr a-z A-Z'"],
    );
    assert!(told.contains("COPY 2") && told.contains("A\tB\nC\tD\n"), "{told}");
    // What came before it failed is not there either.
    let told = bad(folder.path(), &["\\copy t from program 'printf ''a\\tb\\n''; exit 3'"]);
    assert!(told.contains("exit 3") && told.contains("failed"), "{told}");
    let told = good_after(folder.path(), "SELECT count(*) FROM t");
    assert!(told.contains(" 0"), "{told}");
    let told = bad(folder.path(), &["INSERT INTO t VALUES ('a', 'b')", "\\copy t to program 'cat; exit 3'"]);
    assert!(told.contains("failed"), "{told}");
}

#[cfg(unix)]
fn good_after(folder: &Path, statement: &str) -> String {
    let output = cairn(folder, &["x.cairn", statement], b"");
    assert!(output.status.success());
    text(&output)
}

#[test]
fn the_process_has_ends_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("s.sql"),
        format!("{MAKE};\n\\o results\n\\copy t from pstdin\n\\copy t to pstdout\n"),
    )
    .unwrap();
    let output = cairn(folder.path(), &["x.cairn", "-f", "s.sql"], b"a\tb\n\\.\n");
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && told.ends_with("CREATE TABLE\na\tb\n"), "{told}");
    assert_eq!(fs::read_to_string(folder.path().join("results")).unwrap(), "COPY 1\n");
    // There the script is what standard input gives.
    let output = cairn(folder.path(), &["x.cairn", "-f", "-"], b"\\copy t from pstdin\na\tb\n\\.\n");
    assert!(text(&output).contains("use STDIN"), "{}", text(&output));
}
