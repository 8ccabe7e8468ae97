//! Positions, as users are told them: what a crash took is never taken for what came to stand behind it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::common::beyond;
use cairn_storage::io::{CrashStrategy, SimDisk};
use cairn_storage::{Environment, QuietHost, Store};
use cairndb::{Connection, Database, Options, Position, Result};

const AT_ONCE: Duration = Duration::ZERO;

fn opened(disk: &SimDisk) -> Connection {
    let env = Environment { files: Arc::new(disk.clone()), host: Arc::new(QuietHost::default()) };
    let store = Store::open_with(Path::new("db"), cairn_storage::Options::default(), env).unwrap();
    Database::over(store, Options::default()).unwrap().connect().unwrap()
}

/// The machine stops; what nobody was promised is gone.
fn crashed(disk: &SimDisk, conn: Connection) -> (SimDisk, Connection) {
    let image = disk.crash(CrashStrategy::KeepNone);
    drop(conn);
    let disk = SimDisk::from_image(&image, 1);
    let conn = opened(&disk);
    (disk, conn)
}

fn commit(conn: &Connection, id: i32, durability: &str) -> Position {
    conn.execute_script(&format!("SET durability = {durability}; INSERT INTO t VALUES ({id})")).unwrap();
    conn.position().unwrap()
}

fn refused(conn: &Connection, position: Position, why: &str) {
    let error = conn.wait_for(position, AT_ONCE).unwrap_err();
    assert_eq!(error.sqlstate().0, "55000", "{error}");
    assert!(error.message().contains(why), "{error}");
    let error = conn.wait_for_view("v", position, AT_ONCE).unwrap_err();
    assert!(error.message().contains(why), "{error}");
    let error = conn.database().changes(Some(position)).map(drop).unwrap_err();
    assert_eq!(error.sqlstate().0, "55000", "{error}");
}

#[test]
fn a_commit_that_a_crash_took_is_never_reached() -> Result<()> {
    let disk = SimDisk::new(1);
    let conn = opened(&disk);
    conn.execute_script(
        "CREATE TABLE t (id int PRIMARY KEY);
         CREATE MATERIALIZED VIEW v WITH (maintained = commit) AS SELECT count(*) FROM t",
    )?;
    let kept = commit(&conn, 1, "full");
    let lost = commit(&conn, 2, "off");
    assert!(conn.wait_for(kept, AT_ONCE)? && kept < lost);
    let (disk, conn) = crashed(&disk, conn);
    assert_eq!(crate::common::rows(&conn, "SELECT id FROM t"), ["1"]);
    refused(&conn, lost, "a crash took");
    // Nor once others stand behind where it stood, or where the next session of the same opening goes on.
    let next = commit(&conn, 3, "full");
    assert!(next.partial_cmp(&lost).is_none(), "they are of two openings");
    refused(&conn, lost, "a crash took");
    assert!(conn.wait_for(kept, AT_ONCE)? && conn.wait_for(next, AT_ONCE)?);
    conn.database().clone().close()?;
    drop(conn);
    let conn = opened(&disk);
    refused(&conn, lost, "a crash took");
    assert!(conn.wait_for(kept, AT_ONCE)? && conn.wait_for(next, AT_ONCE)?);
    assert!(!conn.wait_for(beyond(conn.change_token()?, 1), AT_ONCE)?);
    let later = commit(&conn, 4, "full");
    assert!(later > next, "a clean end begins no opening");
    Ok(())
}

#[test]
fn positions_are_known_for_eight_unclean_ends() -> Result<()> {
    let mut disk = SimDisk::new(2);
    let mut conn = opened(&disk);
    conn.execute_script(
        "CREATE TABLE t (id int PRIMARY KEY);
         CREATE MATERIALIZED VIEW v WITH (maintained = commit) AS SELECT count(*) FROM t",
    )?;
    let mut told = Vec::new();
    for id in 0..20 {
        told.push((commit(&conn, 2 * id, "full"), commit(&conn, 2 * id + 1, "off")));
        (disk, conn) = crashed(&disk, conn);
        // More lives than the meta page has openings, and than it has epochs of the log.
        for (age, (kept, lost)) in told.iter().rev().enumerate() {
            if age < 8 {
                assert!(conn.wait_for(*kept, AT_ONCE)?);
                refused(&conn, *lost, "a crash took");
            } else {
                refused(&conn, *kept, "not known");
                refused(&conn, *lost, "not known");
            }
        }
    }
    Ok(())
}

#[test]
fn what_another_database_told_is_refused() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let conn = Database::open(folder.path().join("db"))?.connect()?;
    conn.execute_script(
        "CREATE TABLE t (id int PRIMARY KEY);
         CREATE MATERIALIZED VIEW v WITH (maintained = commit) AS SELECT count(*) FROM t",
    )?;
    let position = commit(&conn, 1, "full");
    conn.database().backup_to(folder.path().join("copy"))?;
    let copy = Database::open(folder.path().join("copy"))?.connect()?;
    refused(&copy, position, "another database");
    refused(&conn, commit(&copy, 2, "full"), "another database");
    // What salvage made of it has neither's positions.
    conn.database().clone().close()?;
    drop(conn);
    cairndb::salvage(folder.path().join("db"), folder.path().join("saved"))?;
    let saved = Database::open(folder.path().join("saved"))?.connect()?;
    assert_eq!(crate::common::rows(&saved, "SELECT id FROM t"), ["1"]);
    refused(&saved, position, "another database");
    let of_saved = saved.change_token()?.to_string();
    assert_eq!(of_saved.split('-').nth(3), Some("2"), "its opening is the next: {of_saved}");
    Ok(())
}

/// The file was put back as it was before; what feeds and positions told since is not this file's.
#[test]
fn what_was_told_before_an_earlier_copy_was_put_back_is_refused() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, copy) = (folder.path().join("db"), folder.path().join("copy"));
    for feed in ["", "WITH (change_feed = on)"] {
        let _ = std::fs::remove_file(&path);
        Database::open(&path)?.connect()?.execute_script(&format!(
            "CREATE TABLE t (id int PRIMARY KEY) {feed};
             CREATE MATERIALIZED VIEW v WITH (maintained = commit) AS SELECT count(*) FROM t"
        ))?;
        std::fs::copy(&path, &copy).expect("copied");
        let told = commit(&Database::open(&path)?.connect()?, 1, "full");
        std::fs::copy(&copy, &path).expect("put back");
        let conn = Database::open(&path)?.connect()?;
        refused(&conn, told, "");
        commit(&conn, 2, "full");
        refused(&conn, told, "");
    }
    Ok(())
}

#[test]
fn tokens_of_earlier_change_feeds_are_taken_by_feeds_and_refused_by_name_elsewhere() -> Result<()> {
    let conn = crate::common::connect("CREATE TABLE t (id int PRIMARY KEY) WITH (change_feed = on)");
    let position = conn.change_token()?.to_string();
    let parts: Vec<&str> = position.split('-').collect();
    let earlier: Position = format!("{}-{}", parts[4], parts[5]).parse()?;
    assert_eq!(earlier.to_string(), format!("{}-{}", parts[4], parts[5]));
    conn.execute("INSERT INTO t VALUES (1)", ())?;
    let mut changes = conn.database().changes(Some(earlier))?;
    assert!(changes.next_change_within(AT_ONCE)?.item().is_some());
    let error = conn.wait_for(earlier, AT_ONCE).unwrap_err();
    assert!(error.message().contains("earlier version"), "{error}");
    for text in ["", "7", "2-1-1-1-1-1", "1-1-1-0-1-1"] {
        assert_eq!(text.parse::<Position>().unwrap_err().sqlstate().0, "22023", "{text}");
    }
    Ok(())
}
