//! Files of other databases, known by how they begin.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// What to do with a file that is another database's; `None` where it is none that is known.
pub fn hint(path: &Path) -> Option<String> {
    let mut start = [0; 16];
    File::open(path).ok()?.read_exact(&mut start).ok()?;
    let (shown, stem) = (path.display(), path.file_stem()?.to_string_lossy());
    if &start == b"SQLite format 3\0" {
        return Some(format!(
            "It is a SQLite database. This makes a new database of it: cairn import sqlite {shown} {stem}.cairn"
        ));
    }
    (&start[8..12] == b"DUCK").then(|| {
        format!(
            "It is a DuckDB database. By way of SQLite a new database is made of it:\n\
             duckdb {shown} -c \"ATTACH '{stem}.sqlite' AS export (TYPE sqlite); COPY FROM DATABASE \\\"{stem}\\\" TO export\"\n\
             cairn import sqlite {stem}.sqlite {stem}.cairn"
        )
    })
}
