//! DELETE of many rows, whose entries are deleted behind them in the order of each index: the same comes of it as if they were deleted in
//! small lots, one entry after the other.

use crate::common::{fails, rows};
use cairndb::{Connection, Database};

const ROWS: i64 = 12_000;

/// Indexes of all kinds, NULLs, rows that are long, keys in an order that is none.
fn filled(keyed_by: &str) -> (Database, Connection) {
    let database = Database::open_in_memory().unwrap();
    let connection = database.connect().unwrap();
    let sql = format!(
        "CREATE TABLE t (id bigint NOT NULL, mixed int, name text, small smallint{keyed_by});
         INSERT INTO t SELECT g, CASE WHEN g % 7 > 0 THEN g * 7919 % 12007 END,
             CASE WHEN g % 501 = 0 THEN repeat('long', 5000) || g ELSE 'name ' || md5(g::text) END, g % 10
             FROM generate_series(1, {ROWS}) g;
         CREATE INDEX t_mixed ON t (mixed DESC NULLS LAST);
         CREATE UNIQUE INDEX t_name ON t (left(name, 100), id);
         CREATE INDEX t_part ON t (small, mixed) WHERE small < 3;
         CREATE INDEX t_upper ON t (upper(left(name, 20)));"
    );
    connection.execute_script(&sql).unwrap();
    (database, connection)
}

/// What the table and each of its indexes have.
fn answers(connection: &Connection) -> Vec<Vec<String>> {
    let queries = [
        "SELECT id, mixed, md5(name), small FROM t ORDER BY id",
        "SELECT mixed, id FROM t ORDER BY mixed DESC NULLS LAST, id",
        "SELECT id FROM t WHERE mixed BETWEEN 3000 AND 4000 ORDER BY mixed",
        "SELECT small, mixed, id FROM t WHERE small < 3 AND small = 1 ORDER BY mixed, id",
        "SELECT count(*), sum(id) FROM t WHERE upper(left(name, 20)) >= 'NAME 8'",
        "SELECT id FROM t WHERE left(name, 100) >= 'name 5' AND left(name, 100) < 'name 6' ORDER BY 1",
    ];
    queries.iter().map(|sql| rows(connection, sql)).collect()
}

#[test]
fn many_rows_go_as_each_lot_would() {
    for keyed_by in [", PRIMARY KEY (id)", ""] {
        for filter in ["id % 2 = 0", "mixed > 2000 OR mixed IS NULL", "id > 2000", "small <> 4", "name > 'name 3'"] {
            let (database, connection) = filled(keyed_by);
            let (_in_lots, other) = filled(keyed_by);
            let lots = (0..5).map(|lot| format!("DELETE FROM t WHERE id % 5 = {lot} AND ({filter})"));
            let gone: u64 = lots.map(|sql| other.execute(&sql, ()).unwrap()).sum();
            assert!(gone > 5000, "{filter}: {gone}");
            assert_eq!(connection.execute(&format!("DELETE FROM t WHERE {filter}"), ()).unwrap(), gone);
            assert_eq!(answers(&connection), answers(&other), "{keyed_by}: {filter}");
            database.verify().unwrap();
            // What is gone can come again.
            for connection in [&connection, &other] {
                let again = format!(
                    "INSERT INTO t SELECT g, g, 'again ' || g, g % 10 FROM generate_series({}, {}) g",
                    ROWS + 1,
                    2 * ROWS
                );
                connection.execute(&again, ()).unwrap();
            }
            assert_eq!(answers(&connection), answers(&other));
            database.verify().unwrap();
        }
    }
}

#[test]
fn entries_beyond_the_memory_of_a_statement_are_sorted_on_disk() {
    let (database, connection) = filled(", PRIMARY KEY (id)");
    let (_in_lots, other) = filled(", PRIMARY KEY (id)");
    connection.execute("SET work_mem = '64kB'", ()).unwrap();
    assert_eq!(connection.execute("DELETE FROM t WHERE id <= 9000", ()).unwrap(), 9000);
    for from in [0, 3000, 6000] {
        assert_eq!(other.execute("DELETE FROM t WHERE id > $1 AND id <= $1 + 3000", (from,)).unwrap(), 3000);
    }
    assert_eq!(answers(&connection), answers(&other));
    database.verify().unwrap();
}

#[test]
fn rows_joined_more_than_once_go_once() {
    let (database, connection) = filled("");
    let joined = "DELETE FROM t USING (SELECT generate_series(1, 15000) % 5000 + 1 AS g) s WHERE t.id = g";
    assert_eq!(connection.execute(joined, ()).unwrap(), 5000);
    assert_eq!(rows(&connection, "SELECT count(*), min(id) FROM t"), ["7000|5001"]);
    database.verify().unwrap();
}

#[test]
fn what_is_rolled_back_is_there_again() {
    let (database, connection) = filled(", PRIMARY KEY (id)");
    let before = answers(&connection);
    connection.execute("BEGIN", ()).unwrap();
    connection.execute("UPDATE t SET mixed = -id WHERE id <= 100", ()).unwrap();
    connection.execute("SAVEPOINT s", ()).unwrap();
    let changed = answers(&connection);
    assert_eq!(connection.execute("DELETE FROM t WHERE id > 50", ()).unwrap(), (ROWS - 50) as u64);
    assert_eq!(rows(&connection, "SELECT count(*), min(mixed) FROM t WHERE mixed < 0"), ["50|-50"]);
    connection.execute("ROLLBACK TO s", ()).unwrap();
    assert_eq!(answers(&connection), changed);
    connection.execute("ROLLBACK", ()).unwrap();
    assert_eq!(answers(&connection), before);
    database.verify().unwrap();
}

#[test]
fn who_changed_one_of_the_rows_meanwhile_is_a_conflict() {
    let (database, connection) = filled(", PRIMARY KEY (id)");
    let other = database.connect().unwrap();
    connection.execute("BEGIN", ()).unwrap();
    connection.execute("DELETE FROM t WHERE id <= 8000", ()).unwrap();
    other.execute("UPDATE t SET small = 5 WHERE id = 7777", ()).unwrap();
    fails(&connection, "COMMIT", "40001");
    assert_eq!(rows(&connection, "SELECT count(*) FROM t"), [ROWS.to_string()]);
    database.verify().unwrap();
}

#[test]
fn a_statement_that_is_stopped_in_the_middle_deletes_nothing() {
    let (database, connection) = filled(", PRIMARY KEY (id)");
    connection.execute("SET statement_timeout = 1", ()).unwrap();
    fails(&connection, "DELETE FROM t WHERE id > 1", "57014");
    connection.execute("SET statement_timeout = 0", ()).unwrap();
    assert_eq!(rows(&connection, "SELECT count(*) FROM t"), [ROWS.to_string()]);
    database.verify().unwrap();
}
