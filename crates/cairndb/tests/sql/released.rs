//! Files of each version that was released open and are the same: the promise of `CHANGELOG.md`.
//!
//! `fixtures/released_VERSION.sql` is what the files of a version were made from, by that version: one that was closed, and one whose
//! process was killed, with its log. A release adds its own, `CAIRN_RELEASE=0.2.0 cargo test -p cairndb --test sql released`, and
//! changes no other.

use std::fs;
use std::path::{Path, PathBuf};

use cairndb::{Database, DumpOptions, Options, Result};

use crate::common::rows;

/// What there are files of.
const VERSIONS: [&str; 1] = ["0.1.0"];

/// A log's file without the zeros at its end, and behind it how long it was.
fn shortened(mut log: Vec<u8>) -> Vec<u8> {
    let length = log.len() as u64;
    log.truncate(log.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1));
    log.extend(length.to_le_bytes());
    log
}

fn lengthened(mut log: Vec<u8>) -> Vec<u8> {
    let length = log.split_off(log.len() - 8);
    log.resize(u64::from_le_bytes(length.try_into().expect("eight bytes")) as usize, 0);
    log
}

fn fixture(version: &str, rest: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sql/fixtures").join(format!("released_{version}{rest}"))
}

fn statements(version: &str) -> String {
    fs::read_to_string(fixture(version, ".sql")).expect("the statements of that version")
}

/// Everything of it that a dump has.
fn dumped(database: &Database) -> Result<String> {
    let mut script = Vec::new();
    assert_eq!(database.dump(&DumpOptions::default(), &mut script)?.len(), 0, "left out");
    Ok(String::from_utf8(script).expect("text"))
}

/// What this library makes of these statements.
fn made_now(version: &str) -> Result<String> {
    let database = Database::open_in_memory()?;
    database.connect()?.execute_script(&statements(version))?;
    dumped(&database)
}

/// The files of this name, where they may be written.
fn copied(version: &str, which: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("db.cairn");
    fs::copy(fixture(version, &format!("{which}.cairn")), &copy).expect("copied");
    if which == "_killed" {
        let log = lengthened(fs::read(fixture(version, "_killed.cairn-log")).expect("the log"));
        fs::write(folder.path().join("db.cairn-log"), log).expect("written");
    }
    (folder, copy)
}

/// It has what it was made from, is whole, and can be changed and altered.
fn goes_on(version: &str, which: &str) -> Result<()> {
    let (_folder, path) = copied(version, which);
    let expected = made_now(version)?;
    let database = Database::open(&path)?;
    assert_alike(&dumped(&database)?, &expected, which);
    database.verify()?;
    assert_eq!(database.verify_constraints()?.len(), 0);
    let conn = database.connect()?;
    assert_eq!(rows(&conn, "SELECT (nextval('ticket') - 100) % 5, currval('ticket') >= 5100, twice(21)"), ["0|t|42"]);
    assert_eq!(rows(&conn, "SELECT note FROM notes WHERE lower(note) = 'note 300'"), ["note 300"]);
    assert_eq!(rows(&conn, "SELECT id FROM every_type WHERE binary_doc @> '{\"a\": 1000}'"), ["1"]);
    conn.execute_script(
        "UPDATE every_type SET words = 'changed', list = list || 9;
         UPDATE altered SET kept = kept || '!';
         ALTER TABLE altered ADD COLUMN more text DEFAULT 'm';
         DELETE FROM parent WHERE id <= 100;
         INSERT INTO fed VALUES (2, 'two');
         INSERT INTO without_key VALUES (3, 'trigger');
         REFRESH MATERIALIZED VIEW counted;
         CREATE INDEX ON long (length(content));",
    )?;
    assert_eq!(rows(&conn, "SELECT b FROM without_key WHERE a = 3"), ["TRIGGER"]);
    assert_eq!(rows(&conn, "SELECT count(*), min(n) FROM counted"), ["90|5"]);
    drop(conn);
    database.close()?;
    let database = Database::open(&path)?;
    database.verify()?;
    assert_eq!(rows(&database.connect()?, "SELECT count(*) FROM altered WHERE kept LIKE '%!' AND more = 'm'"), ["21"]);
    database.close()
}

fn assert_alike(found: &str, expected: &str, which: &str) {
    // What a killed process had taken of a sequence ahead is left out by the next.
    let exact = |script: &str| -> String {
        let lines = script.split_inclusive('\n');
        lines.filter(|line| which != "_killed" || !line.starts_with("SELECT pg_catalog.setval(")).collect()
    };
    let (found, expected) = (exact(found), exact(expected));
    for (at, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
        assert_eq!(found, expected, "line {} of the dump{which}", at + 1);
    }
    assert_eq!(found.len(), expected.len(), "the dump's length{which}");
}

#[test]
fn a_file_of_each_released_version_opens_and_goes_on() -> Result<()> {
    VERSIONS.iter().try_for_each(|version| goes_on(version, ""))
}

#[test]
fn a_killed_one_is_recovered() -> Result<()> {
    VERSIONS.iter().try_for_each(|version| goes_on(version, "_killed"))
}

#[test]
fn one_that_was_closed_is_read_where_nothing_may_be_written() -> Result<()> {
    for version in VERSIONS {
        let (_folder, path) = copied(version, "");
        let database = Database::open_with(&path, Options::default().read_only(true))?;
        assert_alike(&dumped(&database)?, &made_now(version)?, " (read only)");
        database.close()?;
    }
    Ok(())
}

#[test]
fn this_version_has_files_that_later_ones_are_held_to() -> Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    if let Ok(release) = std::env::var("CAIRN_RELEASE") {
        assert_eq!(release, version, "of this library's own version");
        write_files(version)?;
    }
    assert!(
        VERSIONS.contains(&version),
        "{version} is to be released with files of its own: see the head of this file"
    );
    Ok(())
}

/// Makes the files of the version that is about to be released.
fn write_files(version: &str) -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("db.cairn");
    let database = Database::open(&path)?;
    database.connect()?.execute_script(&statements(version))?;
    fs::copy(&path, fixture(version, "_killed.cairn")).expect("copied");
    let log = shortened(fs::read(folder.path().join("db.cairn-log")).expect("the log"));
    fs::write(fixture(version, "_killed.cairn-log"), log).expect("written");
    database.close()?;
    fs::copy(&path, fixture(version, ".cairn")).expect("copied");
    Ok(())
}
