//! The Chinook music store, PostgreSQL's flavour, loads unchanged. Skipped where the file is absent.

use std::path::PathBuf;

use cairndb::{Database, Result};

fn script() -> Option<String> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/chinook.sql");
    match std::fs::read_to_string(&path) {
        Ok(text) => Some(text),
        Err(_) => {
            println!("skipped: {} is not there", path.display());
            None
        }
    }
}

/// What psql would send: the script without `DROP DATABASE`, `CREATE DATABASE` and `\c`.
fn statements(script: &str) -> String {
    let kept = script.lines().filter(|line| {
        !line.starts_with("\\c") && !line.starts_with("CREATE DATABASE") && !line.starts_with("DROP DATABASE")
    });
    kept.collect::<Vec<_>>().join("\n")
}

#[test]
fn chinook_loads_with_its_known_counts() -> Result<()> {
    let Some(script) = script() else { return Ok(()) };
    let conn = Database::open_in_memory()?.connect()?;
    conn.execute_script(&statements(&script))?;
    let counts = [
        ("album", 347),
        ("artist", 275),
        ("customer", 59),
        ("employee", 8),
        ("genre", 25),
        ("invoice", 412),
        ("invoice_line", 2240),
        ("media_type", 5),
        ("playlist", 18),
        ("playlist_track", 8715),
        ("track", 3503),
    ];
    for (table, expected) in counts {
        let count: i64 = conn.query_row(&format!("SELECT count(*) FROM {table}"), (), |row| row.get(0))?;
        assert_eq!(count, expected, "rows of {table}");
    }
    let top = conn.query_row(
        "SELECT ar.name, count(*) AS tracks FROM track t JOIN album al USING (album_id) \
         JOIN artist ar USING (artist_id) GROUP BY ar.name ORDER BY tracks DESC, ar.name LIMIT 1",
        (),
        |row| Ok((row.get::<String>(0)?, row.get::<i64>(1)?)),
    )?;
    assert_eq!(top, ("Iron Maiden".to_string(), 213));
    let error = conn.execute("DELETE FROM artist WHERE name = 'AC/DC'", ()).unwrap_err();
    assert_eq!(error.sqlstate().0, "23503");
    assert_eq!(error.constraint(), Some("album_artist_id_fkey"));
    Ok(())
}
