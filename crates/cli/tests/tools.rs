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
    good(folder.path(), &["x.cairn", "-c", MAKE, "-c", "CREATE INDEX by_v ON t (v)"]);
    let told = good(folder.path(), &["stats", "x.cairn"]);
    assert!(told.contains(" name |"), "{told}");
    let row = told.lines().find(|line| line.starts_with(" t ")).expect("the table");
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    assert_eq!(cells[1..3], ["table", "5000"], "{told}");
    let (pages, bytes): (u64, u64) = (cells[3].parse().unwrap(), cells[4].parse().unwrap());
    assert!(pages > 1 && bytes % pages == 0 && cells[5].ends_with(" %"), "{told}");
    let row = told.lines().find(|line| line.starts_with(" by_v ")).expect("the index");
    assert!(row.contains("| index of t | 5000 |"), "{told}");
}

#[test]
fn an_empty_file_becomes_a_database_and_keeps_its_permissions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.cairn");
    fs::write(&path, "").unwrap();
    #[cfg(unix)]
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let told = bad(folder.path(), &["x.cairn", "--read-only", "select 1"]);
    assert!(told.contains("58P01"), "{told}");
    assert_eq!(path.metadata().unwrap().len(), 0);
    good(folder.path(), &["x.cairn", "create table t (a int)"]);
    assert!(good(folder.path(), &["x.cairn", "\\dt"]).contains(" t "));
    #[cfg(unix)]
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions()) & 0o777, 0o600);
}

/// Cut off, it was a database once, and its log may hold what is nowhere else.
#[test]
fn an_empty_file_with_a_log_beside_it_is_no_new_database() {
    let folder = tempfile::tempdir().unwrap();
    good(folder.path(), &["x.cairn", "-c", MAKE]);
    drop(Shell::running(folder.path(), "INSERT INTO t VALUES (5001, 'last words')", "INSERT 0 1"));
    assert!(folder.path().join("x.cairn-log").exists());
    fs::write(folder.path().join("x.cairn"), "").unwrap();
    let told = bad(folder.path(), &["x.cairn", "select 1"]);
    assert!(told.contains("is not a CairnDB database"), "{told}");
}

#[test]
fn files_of_other_databases_are_known() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.db"), b"SQLite format 3\0 and more").unwrap();
    let told = bad(folder.path(), &["a.db", "select 1"]);
    assert!(told.contains("SQLite") && told.contains("cairn import sqlite a.db a.cairn"), "{told}");
    fs::write(folder.path().join("b.db"), b"checksumDUCK and more").unwrap();
    let told = bad(folder.path(), &["b.db", "select 1"]);
    assert!(told.contains("It is a DuckDB database"), "{told}");
    fs::write(folder.path().join("c.db"), b"something else altogether").unwrap();
    let told = bad(folder.path(), &["c.db", "select 1"]);
    assert!(!told.contains("HINT"), "{told}");
}

#[test]
fn times_come_behind_results_and_errors() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.sql"), "\\timing on\nselect 1;\nselect 1 / 0;\n").unwrap();
    let output = Command::new("sh")
        .args(["-c", "exec \"$0\" -f a.sql 2>&1", env!("CARGO_BIN_EXE_cairn")])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let told = text(&output);
    let at = |what: &str| told.find(what).unwrap_or_else(|| panic!("{what}: {told}"));
    assert!(at("(1 row)") < at("Time: ") && at("22012") < told.rfind("Time: ").unwrap(), "{told}");
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
    for arguments in [&["verify", "x.cairn"][..], &["x.cairn", "-c", "SELECT count(v) FROM t"]] {
        let told = bad(folder.path(), arguments);
        let names = |what: &str| told.contains(what);
        assert!(names("XX001") && names("cairn verify") && names("cairn salvage"), "{told}");
    }
}

#[test]
fn a_dump_that_fails_leaves_no_script() {
    let folder = tempfile::tempdir().unwrap();
    good(folder.path(), &["x.cairn", "-c", MAKE]);
    damage(&folder.path().join("x.cairn"));
    assert!(bad(folder.path(), &["dump", "x.cairn", "-o", "x.sql"]).contains("XX001"));
    assert!(!folder.path().join("x.sql").exists());
}

/// "cannot write: No space left on device": it was not said what. The shell lets files have as many blocks as a disk might.
#[cfg(unix)]
#[test]
fn a_dump_that_finds_no_room_leaves_no_script_and_says_which() {
    let folder = tempfile::tempdir().unwrap();
    good(folder.path(), &["x.cairn", "-c", MAKE]);
    let limited = "trap '' XFSZ; ulimit -f 40; exec \"$0\" dump x.cairn -o x.sql";
    let run = Command::new("sh").args(["-c", limited, env!("CARGO_BIN_EXE_cairn")]).current_dir(folder.path()).output();
    let told = text(&run.unwrap());
    assert!(told.contains("x.sql"), "{told}");
    assert!(!folder.path().join("x.sql").exists());
}

/// Runs `cairn salvage`, which must end with this exit code; what it told.
fn salvage(folder: &Path, from: &str, to: &str, code: i32) -> String {
    let output = cairn(folder, &["salvage", from, to]);
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(code), "{told}{}", String::from_utf8_lossy(&output.stderr));
    told
}

#[test]
fn salvage_saves_what_is_left_and_tells_what_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    good(folder.path(), &["x.cairn", "-c", MAKE]);
    damage(&folder.path().join("x.cairn"));
    let told = salvage(folder.path(), "x.cairn", "saved.cairn", 4);
    let lost = told.lines().find(|line| line.starts_with("  t: all rows with")).expect(&told);
    assert!(good(folder.path(), &["verify", "saved.cairn"]).contains("is right"));
    // "t: all rows with (4300) < (a) < (4345) (page 12 is damaged)": these, and no others.
    let bounds: Vec<i64> = lost.split(['(', ')']).filter_map(|word| word.parse().ok()).collect();
    let [after, before] = bounds[..] else { panic!("{lost}") };
    assert!(after < 4321 && 4321 < before, "{lost}");
    let query = format!("SELECT count(*), count(*) FILTER (WHERE a > {after} AND a < {before}) FROM t");
    let counts = good(folder.path(), &["saved.cairn", "--no-header", "--format", "csv", "-c", &query]);
    assert_eq!(counts.trim(), format!("{},0", 5000 - (before - after - 1)));
    assert!(bad(folder.path(), &["salvage", "x.cairn", "saved.cairn"]).contains("saved.cairn"), "never overwrites");
}

#[test]
fn salvage_of_a_whole_database_saves_everything() {
    let folder = tempfile::tempdir().unwrap();
    good(folder.path(), &["x.cairn", "-c", MAKE]);
    let told = salvage(folder.path(), "x.cairn", "saved.cairn", 0);
    assert!(told.contains("t: 5000 rows") && told.contains("No row is known to be lost."), "{told}");
}

#[test]
fn salvage_blames_the_file_that_is_no_database() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("text.file"), "no database\n".repeat(400)).unwrap();
    let told = bad(folder.path(), &["salvage", "text.file", "out"]);
    assert!(told.contains("\"text.file\" is not a CairnDB database"), "{told}");
    assert!(bad(folder.path(), &["salvage", "missing.file", "out"]).contains("missing.file"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else was made");
}

/// The example of the issue: four bytes of an index, and a byte off the end.
#[test]
fn a_damaged_index_and_a_missing_last_byte_cost_no_row_that_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let make = "CREATE TABLE t (a int PRIMARY KEY, b text); \
                INSERT INTO t SELECT g, 'row ' || g FROM generate_series(1, 2000) g; CREATE INDEX ON t (b)";
    good(folder.path(), &["s.cairn", "-c", make]);
    let bytes = fs::read(folder.path().join("s.cairn")).unwrap();
    // A leaf that holds values of b, but no rows: its kind, level and tree (indexes have the highest bit set) say so.
    let is_index = |page: &&[u8]| page[4] == 1 && page[15] & 0x80 != 0;
    let at = bytes.chunks(4096).position(|page| is_index(&page)).unwrap() * 4096 + 500;
    let mut damaged = bytes.clone();
    damaged[at..at + 4].iter_mut().for_each(|byte| *byte ^= 0x5A);
    fs::write(folder.path().join("index.cairn"), damaged).unwrap();
    assert!(bad(folder.path(), &["verify", "index.cairn"]).contains("XX001"));
    let told = salvage(folder.path(), "index.cairn", "saved.cairn", 0);
    assert!(told.contains("t: 2000 rows; indexes made anew: t_b_idx"), "{told}");
    let query =
        "SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM t WHERE a > 0), (SELECT a FROM t WHERE b = 'row 77')";
    let found = good(folder.path(), &["saved.cairn", "--no-header", "--format", "csv", "-c", query]);
    assert_eq!(found.trim(), "2000,2000,77");
    assert!(good(folder.path(), &["verify", "saved.cairn"]).contains("1 indexes with 2000 entries agree"));

    fs::write(folder.path().join("cut.cairn"), &bytes[..bytes.len() - 1]).unwrap();
    let output = cairn(folder.path(), &["salvage", "cut.cairn", "whole.cairn"]);
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let rows: u64 =
        good(folder.path(), &["whole.cairn", "--no-header", "-c", "SELECT count(*) FROM t"]).trim().parse().unwrap();
    // What the last page held, at most.
    assert!(rows >= 1800, "{rows} rows: {told}");
    assert_eq!(told.contains("Lost:"), rows < 2000, "{told}");
}

/// All copies of the definitions lay side by side at the end of such a file.
#[test]
fn a_freshly_loaded_file_that_loses_its_end_keeps_every_definition() {
    let folder = tempfile::tempdir().unwrap();
    let make = "CREATE TABLE t (a int PRIMARY KEY, b text); CREATE VIEW v AS SELECT a FROM t; \
                INSERT INTO t SELECT g, 'row ' || g FROM generate_series(1, 40000) g; CREATE INDEX ON t (b)";
    good(folder.path(), &["x.cairn", "-c", make]);
    let bytes = fs::read(folder.path().join("x.cairn")).unwrap();
    for cut in [13_376, 40_000, 200_000, bytes.len() - 400_000] {
        fs::write(folder.path().join("cut.cairn"), &bytes[..bytes.len() - cut]).unwrap();
        let told = salvage(folder.path(), "cut.cairn", "saved.cairn", if cut <= 200_000 { 0 } else { 4 });
        // What is missing at the end is the index, which is made anew, and at last rows.
        assert_eq!(told.contains("No row is known to be lost."), !told.contains("Lost:"), "{cut} bytes: {told}");
        assert!(told.contains("indexes made anew: t_b_idx") && told.lines().count() < 12, "{cut} bytes: {told}");
        let query = "SELECT count(*), count(*) FILTER (WHERE b = 'row ' || a), (SELECT count(*) FROM v) FROM t";
        let counts = good(folder.path(), &["saved.cairn", "--no-header", "--format", "csv", "-c", query]);
        let counts: Vec<u64> = counts.trim().split(',').map(|count| count.parse().unwrap()).collect();
        assert!(counts[0] == counts[1] && counts[0] == counts[2] && counts[0] > 5000, "{cut} bytes: {counts:?}");
        assert_eq!(counts[0] == 40_000, !told.contains("Lost:"), "{cut} bytes: {told}");
        fs::remove_file(folder.path().join("saved.cairn")).unwrap();
    }
}

/// One line for each of some hundred pages, below the sentence that no row is known to be lost.
#[test]
fn what_is_lost_of_tables_without_definition_is_said_in_few_lines() {
    let folder = tempfile::tempdir().unwrap();
    let make = "CREATE TABLE t (a int PRIMARY KEY, b text); \
                INSERT INTO t SELECT g, 'row ' || g FROM generate_series(1, 40000) g";
    good(folder.path(), &["x.cairn", "-c", make]);
    let mut bytes = fs::read(folder.path().join("x.cairn")).unwrap();
    bytes.truncate(400_000);
    // The catalog's pages (those of tree 1), and its copies.
    for page in bytes.chunks_mut(4096).skip(2) {
        let is_of_catalog = [1, 2].contains(&page[4]) && page[12..16] == [1, 0, 0, 0];
        if is_of_catalog || [4, 5].contains(&page[4]) {
            page.fill(0);
        }
    }
    fs::write(folder.path().join("cut.cairn"), bytes).unwrap();
    let told = salvage(folder.path(), "cut.cairn", "saved.cairn", 4);
    assert!(!told.contains("No row is known to be lost."), "{told}");
    assert!(told.contains("Lost:\n  definitions of tables"), "{told}");
    assert!(told.contains("how many is not known; no table has it") && told.contains(" pages "), "{told}");
    assert!(told.contains("entries, as bytes, of what has no definition any more"), "{told}");
    assert!(told.lines().count() < 12, "{told}");
}

/// They panicked, or ended as if all were well.
#[test]
fn commands_whose_output_nobody_reads_end_as_if_somebody_had() {
    let folder = tempfile::tempdir().unwrap();
    good(folder.path(), &["x.cairn", "-c", MAKE]);
    fs::copy(folder.path().join("x.cairn"), folder.path().join("damaged.cairn")).unwrap();
    damage(&folder.path().join("damaged.cairn"));
    let unread = |arguments: &[&str], code: i32| {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = Command::new(env!("CARGO_BIN_EXE_cairn"))
            .current_dir(folder.path())
            .args(arguments)
            .stdout(writer)
            .stderr(Stdio::piped())
            .spawn()
            .and_then(|child| child.wait_with_output())
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), told.as_str()), (Some(code), ""), "{arguments:?}");
    };
    unread(&["verify", "--constraints", "x.cairn"], 0);
    unread(&["backup", "x.cairn", "copy.cairn"], 0);
    unread(&["compact", "x.cairn"], 0);
    unread(&["stats", "x.cairn"], 0);
    unread(&["dump", "x.cairn"], 0);
    unread(&["salvage", "damaged.cairn", "saved.cairn"], 4);
    unread(&["x.cairn", "-c", "SELECT * FROM t"], 0);
}

#[test]
fn the_cache_has_the_size_that_is_asked_for_and_takes_memory_as_it_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let show = |arguments: &[&str]| {
        let all = [
            arguments,
            &[
                "--no-header",
                "--format",
                "csv",
                "-c",
                "SHOW cache_bytes",
                "-c",
                ".open other.cairn",
                "-c",
                "SHOW cache_bytes",
            ],
        ];
        good(folder.path(), &all.concat()).lines().filter(|line| *line == "64MB").count()
    };
    assert_eq!(show(&["x.cairn", "--cache-bytes", "64MB"]), 2);
    assert_eq!(show(&["--cache-bytes", "67108864"]), 2);
    for wrong in ["1 parsec", "", "-1", "64 kB", "99999999999TB"] {
        let output = cairn(folder.path(), &["--cache-bytes", wrong, "x.cairn", "-c", "SELECT 1"]);
        assert_eq!(output.status.code(), Some(2), "{wrong}: {}", text(&output));
    }
    good(folder.path(), &["x.cairn", "-c", "CREATE TABLE t (a int)"]);
    let told = good(folder.path(), &["stats", "x.cairn"]);
    assert!(["page_hits", "page_misses", "pages_read", "cache_bytes"].iter().all(|name| told.contains(name)), "{told}");
}

/// Resident memory of a shell with a cache of this size that has done next to nothing, in bytes.
#[cfg(target_os = "linux")]
fn idle_memory(folder: &Path, cache: &str) -> u64 {
    let mut child = Command::new(env!("CARGO_BIN_EXE_cairn"))
        .args(["--cache-bytes", cache, "x.cairn"])
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    writeln!(child.stdin.as_mut().unwrap(), "CREATE TABLE IF NOT EXISTS t (a int); CHECKPOINT; \\echo done").unwrap();
    let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "done"));
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    drop(Shell(child));
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() << 10
}

#[cfg(target_os = "linux")]
#[test]
fn a_large_cache_that_is_not_used_is_not_resident() {
    let folder = tempfile::tempdir().unwrap();
    let (small, large) = (idle_memory(folder.path(), "64MB"), idle_memory(folder.path(), "64GB"));
    assert!(large < small + (8 << 20), "{large} bytes, and {small} with a small cache");
}

/// As `pg_dump -C` and `pg_dumpall` write it: the rows went into a new file in the working folder.
#[test]
fn a_script_stays_in_the_database_that_was_named() {
    let folder = tempfile::tempdir().unwrap();
    let script = "CREATE TABLE t (a int);\n\\connect app\nINSERT INTO t VALUES (1);\n\
                  \\connect -reuse-previous=on \"dbname='we ird'\"\nINSERT INTO t VALUES (2);\n\
                  \\c postgresql://me@host/app\nINSERT INTO t VALUES (3);\n";
    fs::write(folder.path().join("dump.sql"), script).unwrap();
    fs::write(folder.path().join("around.sql"), "\\i dump.sql\n").unwrap();
    for arguments in [&["-f", "dump.sql"][..], &["-f", "around.sql"], &["-c", "\\i dump.sql"]] {
        let told = good(folder.path(), &[&["x.cairn"], arguments].concat());
        let stays = "a script stays in the database that was named, \"x\"";
        assert!(told.contains(&format!("NOTICE:  \\connect app: {stays}")), "{told}");
        assert!(told.contains(&format!("NOTICE:  \\connect we ird: {stays}")), "{told}");
        let query = "SELECT sum(a), count(*) FROM t";
        let sums = good(folder.path(), &["x.cairn", "--no-header", "--format", "csv", "-c", query]);
        assert_eq!(sums.trim(), "6,3");
        fs::remove_file(folder.path().join("x.cairn")).unwrap();
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "no file was made");
}

#[test]
fn a_typed_connect_opens_what_is_there_and_makes_no_file() {
    let folder = tempfile::tempdir().unwrap();
    good(folder.path(), &["other one.cairn", "-c", "CREATE TABLE here (a int)"]);
    let connect = |command: &str| cairn(folder.path(), &["x.cairn", "-c", command, "-c", "SELECT a FROM here"]);
    let by_string = "\\connect -reuse-previous=on \"dbname='other one.cairn'\"";
    for command in ["\\c 'other one.cairn'", by_string, ".open 'other one.cairn'"] {
        assert!(connect(command).status.success(), "{command}: {}", text(&connect(command)));
    }
    for (command, said) in [
        ("\\c missing", "there is no file \"missing\"; .open missing makes a new database"),
        ("\\c -reuse-previous=on", "relation \"here\" does not exist"),
        ("\\c postgres://localhost/x", "the address of a server"),
        ("\\c x me", "user \"me\": there are no servers and no roles"),
        ("\\c x.cairn", "The database is \"x\"."),
    ] {
        let told = text(&connect(command));
        assert!(told.contains(said), "{command}: {told}");
    }
    let mut names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["other one.cairn"]);
}

#[test]
fn files_that_are_not_there_or_that_are_are_told_in_words() {
    let folder = tempfile::tempdir().unwrap();
    good(folder.path(), &["x.cairn", "-c", MAKE]);
    let told = [
        bad(folder.path(), &["--read-only", "missing.cairn", "-c", "SELECT 1"]),
        bad(folder.path(), &["salvage", "x.cairn", "x.cairn"]),
        bad(folder.path(), &["salvage", "missing.cairn", "saved.cairn"]),
        bad(folder.path(), &["backup", "x.cairn", "x.cairn"]),
        bad(folder.path(), &["verify", "missing.cairn"]),
        bad(folder.path(), &["dump", "missing.cairn"]),
    ];
    assert!(told.iter().all(|told| told.contains(".cairn") && !told.contains("entity")), "{told:?}");
}

#[test]
fn verify_checks_constraints_where_it_is_asked_to() {
    let folder = tempfile::tempdir().unwrap();
    let make = "CREATE TABLE p (id int PRIMARY KEY CHECK (id > 0)); CREATE TABLE c (p int REFERENCES p); \
                INSERT INTO p VALUES (1); INSERT INTO c VALUES (1)";
    good(folder.path(), &["x.cairn", "-c", make]);
    assert!(!good(folder.path(), &["verify", "x.cairn"]).contains("constraints"));
    let told = good(folder.path(), &["verify", "--constraints", "x.cairn"]);
    assert!(told.contains("is right") && told.contains("Every row keeps its table's constraints."), "{told}");
}

#[cfg(unix)]
#[test]
fn verify_needs_no_permission_to_write() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    good(folder.path(), &["x.cairn", "-c", MAKE]);
    let path = folder.path().join("x.cairn");
    let before = fs::read(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
    let told = good(folder.path(), &["verify", "x.cairn"]);
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    assert!(told.contains("is right"), "{told}");
    assert!(fs::read(&path).unwrap() == before, "only read");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else was made");
}

#[test]
fn the_name_of_memory_makes_no_file() {
    let folder = tempfile::tempdir().unwrap();
    good(folder.path(), &[":memory:", "create table t (a int)", "insert into t values (1)"]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    let database = cairndb::Database::open(":memory:").unwrap();
    database.connect().unwrap().execute_script("create table t (a int)").unwrap();
    assert!(!Path::new(":memory:").exists());
}

/// Two that read are there together; who writes comes before or behind them.
#[cfg(unix)]
#[test]
fn several_processes_may_read_where_nobody_writes() {
    let folder = tempfile::tempdir().unwrap();
    good(folder.path(), &["x.cairn", "-c", MAKE]);
    let reader = |statement: &str, answer: &str| {
        let mut child = Command::new(env!("CARGO_BIN_EXE_cairn"))
            .args(["x.cairn", "--read-only", "--no-header"])
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        writeln!(child.stdin.as_mut().unwrap(), "{statement};").unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line.trim(), answer);
        Shell(child)
    };
    let readers = [reader("SELECT count(*) FROM t", "5000"), reader("SELECT max(a) FROM t", "5000")];
    assert!(good(folder.path(), &["stats", "x.cairn"]).contains("5000"));
    assert!(bad(folder.path(), &["x.cairn", "-c", "SELECT 1"]).contains("55006"));
    drop(readers);
    // An owner, and one that was killed: what its log holds is read by both.
    let owner = Shell::running(folder.path(), "INSERT INTO t VALUES (5001, 'last words')", "INSERT 0 1");
    assert!(bad(folder.path(), &["x.cairn", "--read-only", "-c", "SELECT 1"]).contains("55006"));
    drop(owner);
    let readers = [reader("SELECT max(a) FROM t", "5001"), reader("SELECT count(*) FROM t", "5001")];
    drop(readers);
    good(folder.path(), &["x.cairn", "-c", "INSERT INTO t VALUES (5002, 'and on')"]);
}

/// By a user who may write nothing of it: where the tests run as root, who may all, by another.
#[cfg(unix)]
#[test]
fn what_can_not_be_written_is_copied_and_how_it_is_read_is_told() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;

    let folder = tempfile::tempdir().unwrap();
    let [source, target] = ["source", "target"].map(|name| folder.path().join(name));
    fs::create_dir(&source).unwrap();
    fs::create_dir(&target).unwrap();
    good(&source, &["x.cairn", "-c", MAKE]);
    let is_root = folder.path().metadata().unwrap().uid() == 0;
    let set_mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    set_mode(folder.path(), 0o755);
    set_mode(&source.join("x.cairn"), 0o444);
    set_mode(&source, 0o555);
    set_mode(&target, 0o777);
    // Where that user may go.
    let program = folder.path().join("cairn");
    fs::copy(env!("CARGO_BIN_EXE_cairn"), &program).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        if is_root {
            command.uid(65_534).gid(65_534);
        }
        command.args(arguments).current_dir(&source).output().unwrap()
    };
    let refused = run(&["x.cairn", "-c", "SELECT 1"]);
    let told = text(&refused);
    assert!(
        !refused.status.success() && told.contains("58P01") && told.contains("cairn --read-only opens it"),
        "{told}"
    );
    let copied = run(&["backup", "x.cairn", "../target/y.cairn"]);
    assert!(copied.status.success(), "{}", text(&copied));
    let count = good(&target, &["y.cairn", "--no-header", "-c", "SELECT count(*) FROM t"]);
    assert_eq!(count.trim(), "5000");
    set_mode(&source, 0o755);
}

#[cfg(unix)]
#[test]
fn a_backup_of_what_a_shell_has_open_is_made_by_it() {
    let folder = tempfile::tempdir().unwrap();
    good(folder.path(), &["x.cairn", "-c", MAKE]);
    let owner = Shell::running(folder.path(), "INSERT INTO t VALUES (5001, 'committed'); BEGIN", "INSERT 0 1");
    assert!(good(folder.path(), &["backup", "x.cairn", "y.cairn"]).starts_with("x.cairn copied to y.cairn"));
    let count = good(folder.path(), &["y.cairn", "--no-header", "-c", "SELECT count(*) FROM t"]);
    assert_eq!(count.trim(), "5001");
    assert!(good(folder.path(), &["verify", "y.cairn"]).contains("is right"));
    assert!(bad(folder.path(), &["backup", "x.cairn", "y.cairn"]).contains("exists already"));
    let told = bad(folder.path(), &["backup", "x.cairn", "missing/y.cairn"]);
    assert!(told.contains("missing/y.cairn"), "{told}");
    // Killed, it leaves its socket, which is nobody's: the database is opened, and so by the next owner, whose socket it is then.
    drop(owner);
    assert!(folder.path().join("x.cairn-socket").exists());
    good(folder.path(), &["backup", "x.cairn", "z.cairn"]);
    let _owner = Shell::running(folder.path(), "BEGIN", "BEGIN");
    good(folder.path(), &["backup", "x.cairn", "w.cairn"]);
}

#[cfg(unix)]
#[test]
fn a_backup_of_what_is_watched_is_made_by_who_watches() {
    let folder = tempfile::tempdir().unwrap();
    good(folder.path(), &["x.cairn", "-c", MAKE]);
    let mut child = Command::new(env!("CARGO_BIN_EXE_cairn"))
        .args(["watch", "x.cairn", "SELECT count(*) FROM t"])
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "+\t5000\n");
    good(folder.path(), &["backup", "x.cairn", "y.cairn"]);
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    assert!(!folder.path().join("x.cairn-socket").exists());
}

#[test]
fn a_backup_of_what_is_in_use_says_where_nobody_answers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.cairn");
    let database = cairndb::Database::open(&path).unwrap();
    let told = bad(folder.path(), &["backup", "x.cairn", "y.cairn"]);
    assert!(told.contains("55006") && told.contains("Database::answer_backups"), "{told}");
    assert!(!folder.path().join("y.cairn").exists());
    database.close().unwrap();
    let reader = cairndb::Database::open_with(&path, cairndb::Options::default().read_only(true)).unwrap();
    if cfg!(unix) {
        good(folder.path(), &["backup", "x.cairn", "y.cairn"]);
    }
    drop(reader);
}

#[test]
fn a_file_that_is_made_by_another_before_the_shell_makes_it_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_cairn"))
        .arg("x.cairn")
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    writeln!(input, "\\conninfo").unwrap();
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert!(line.contains("will be the file"), "{line}");
    good(folder.path(), &["x.cairn", "CREATE TABLE t AS SELECT 4711 AS a"]);
    writeln!(input, "SELECT a FROM t;").unwrap();
    drop(input);
    let rest = output.lines().collect::<Result<Vec<_>, _>>().unwrap().join("\n");
    assert!(child.wait().unwrap().success() && rest.contains("4711"), "{rest}");
}

#[test]
fn a_copy_given_as_an_argument_reads_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    for copy in ["\\copy t from stdin csv", "COPY t FROM STDIN (FORMAT csv)"] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_cairn"))
            .args(["x.cairn", "CREATE TABLE IF NOT EXISTS t (a int)", copy, "SELECT sum(a) FROM t"])
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(b"1\n2\n").unwrap();
        let told = text(&child.wait_with_output().unwrap());
        assert!(told.contains("COPY 2"), "{copy}: {told}");
    }
    assert!(good(folder.path(), &["x.cairn", "SELECT sum(a) FROM t"]).contains(" 6"));
}

#[test]
fn serving_a_file_that_is_not_there_says_what_to_do_and_makes_none() {
    let folder = tempfile::tempdir().unwrap();
    let said = bad(folder.path(), &["serve", "nowhere.cairn"]);
    assert!(said.contains("cairn serve --create nowhere.cairn"), "{said}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
