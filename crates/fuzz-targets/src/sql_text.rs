//! SQL text, run as a script against a small database.
//!
//! Promised besides: statements end when their time is up (SQLSTATE 57014) or before; whatever ran, every page of the
//! database verifies, and a table answers the same through each of its indexes as without them.

use std::sync::LazyLock;

use cairn_storage::io::{CrashStrategy, DiskImage, SimDisk};
use cairndb::Connection;
use cairndb::schema::IndexKind;

use crate::machine::{assert_typed, connect, lines, open_database};

const PAGE_BYTES: usize = 4096;

/// The tables that scripts find.
pub(crate) const SCHEMA: &str = "
    CREATE TABLE t (a int PRIMARY KEY, b text, c numeric(10,2), d date, e text);
    CREATE INDEX t_b ON t (b);
    CREATE INDEX t_cd ON t (c DESC, d);
    CREATE TABLE u (id bigint UNIQUE, t_a int REFERENCES t ON DELETE CASCADE, x double precision, y timestamp, z bytea);
    CREATE VIEW v AS SELECT t.a, count(u.id) AS n FROM t LEFT JOIN u ON u.t_a = t.a GROUP BY t.a;
    CREATE SEQUENCE s;
    INSERT INTO t SELECT g, 'text ' || g % 7, g * 1.25, DATE '2024-01-01' + g, NULL FROM generate_series(1, 40) AS g;
    INSERT INTO t VALUES (100, NULL, NULL, NULL, ''), (101, 'text', -1, '1999-12-31', repeat('long ', 900));
    INSERT INTO u SELECT g, g % 9 + 1, g / 3.0, TIMESTAMP '2024-01-01' + g * INTERVAL '1 hour', '\\x00ff'
        FROM generate_series(1, 30) AS g;
    ANALYZE";

static IMAGE: LazyLock<DiskImage> = LazyLock::new(|| image(PAGE_BYTES, SCHEMA));

/// The disk after a script and a clean close.
pub(crate) fn image(page_size: usize, script: &str) -> DiskImage {
    let disk = SimDisk::new(1);
    let database = open_database(&disk, page_size).expect("an empty disk takes a database");
    database.connect().and_then(|connection| connection.execute_script(script)).expect("the script runs");
    database.close().expect("the database closes");
    disk.crash(CrashStrategy::KeepAll)
}

/// The target.
pub fn sql_text(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let disk = SimDisk::from_image(&IMAGE, 1);
    let database = open_database(&disk, PAGE_BYTES).expect("an undamaged database opens");
    let connection = connect(&database).expect("a database takes connections");
    run_script(&connection, &text);
    // Whatever the script left open or switched off.
    let connection = connect(&database).expect("a database takes connections");
    connection.set_statement_timeout(None).expect("nothing is being read");
    database.verify().unwrap_or_else(|error| panic!("after {text:?}: {error:?}"));
    check_indexes(&connection, &text);
}

/// Runs every statement; stops at the first error, as a script does, which must be typed.
pub(crate) fn run_script(connection: &Connection, text: &str) {
    let ran = connection.run(text, |outcome| {
        if let Some(rows) = outcome.rows() {
            while rows.next()?.is_some() {}
        }
        Ok(())
    });
    if let Err(error) = ran {
        assert_typed(&error, text);
        assert_ne!(error.sqlstate().0, "XX001", "{text:?}: {error:?}");
    }
}

fn check_indexes(connection: &Connection, text: &str) {
    let schema = connection.schema().expect("the catalog can be read");
    for (name, table) in ["t", "u"].iter().filter_map(|name| Some((name, schema.table(name)?))) {
        for index in table.indexes.iter().filter(|index| index.kind != IndexKind::PrimaryKey) {
            let Some(column) = index.columns.first() else { continue };
            let key = match column.is_expression {
                true => column.name.clone(),
                false => format!("\"{}\"", column.name.replace('"', "\"\"")),
            };
            let filter = index.filter.as_ref().map_or_else(String::new, |filter| format!(" AND {filter}"));
            let query = format!("SELECT * FROM {name} WHERE {key} IS NOT NULL{filter} ORDER BY {key}");
            let by_index = lines(connection, &query).unwrap_or_else(|error| panic!("{query}: {error:?}"));
            connection.execute("SET enable_indexscan = off", ()).expect("a setting");
            let by_scan = lines(connection, &query).unwrap_or_else(|error| panic!("{query}: {error:?}"));
            connection.execute("SET enable_indexscan = on", ()).expect("a setting");
            assert!(by_index == by_scan, "after {text:?}: {query}: {by_index:?} against {by_scan:?}");
        }
    }
}
