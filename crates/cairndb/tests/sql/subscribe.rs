//! SUBSCRIBE: a statement whose rows are a query's result and then its changes, for as long as somebody asks.

use std::thread;
use std::time::{Duration, Instant};

use cairndb::{Connection, Database, Position, Rows, SqlState, Timeslice, params};

const LONG: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(60);

fn open() -> (Database, Connection) {
    let db = Database::open_in_memory().unwrap();
    let connection = db.connect().unwrap();
    run(&connection, "CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, 'one'), (2, 'two')");
    (db, connection)
}

fn run(connection: &Connection, sql: &str) {
    connection.execute_script(sql).unwrap();
}

/// So many rows without their positions, which do not fall.
fn taken(rows: &mut Rows, count: usize) -> Vec<String> {
    let mut last: Option<Position> = None;
    let mut all = Vec::new();
    for _ in 0..count {
        let Timeslice::Row(row) = rows.next_within(LONG).unwrap() else { panic!("{all:?} and no more") };
        let position = row.get::<String>("position").unwrap().parse().unwrap();
        assert!(last.is_none_or(|last| position >= last));
        last = Some(position);
        all.push(row.values()[1..].iter().map(ToString::to_string).collect::<Vec<_>>().join(" "));
    }
    all
}

fn nothing_more(rows: &mut Rows) {
    assert!(matches!(rows.next_within(SHORT).unwrap(), Timeslice::NotYet));
}

#[test]
fn first_the_result_and_then_what_changes() {
    let (db, writer) = open();
    let reader = db.connect().unwrap();
    let mut rows = reader.query("SUBSCRIBE SELECT id, v FROM t WHERE v <> 'hidden' ORDER BY id", ()).unwrap();
    assert!(rows.is_endless());
    let columns: Vec<_> =
        rows.columns().iter().map(|field| (field.name.clone(), field.data_type.to_string())).collect();
    let expected = [("position", "text"), ("change", "text"), ("id", "integer"), ("v", "text")];
    assert_eq!(columns, expected.map(|(name, data_type)| (name.to_owned(), data_type.to_owned())));
    assert_eq!(taken(&mut rows, 2), ["insert 1 one", "insert 2 two"]);
    nothing_more(&mut rows);
    run(&writer, "INSERT INTO t VALUES (3, 'three')");
    assert_eq!(taken(&mut rows, 1), ["insert 3 three"]);
    run(&writer, "UPDATE t SET v = 'zwei' WHERE id = 2");
    assert_eq!(taken(&mut rows, 2), ["update_old 2 two", "update_new 2 zwei"]);
    run(&writer, "DELETE FROM t WHERE id = 1");
    assert_eq!(taken(&mut rows, 1), ["delete 1 one"]);
    run(&writer, "UPDATE t SET v = 'hidden' WHERE id = 3; INSERT INTO t VALUES (4, 'hidden')");
    assert_eq!(taken(&mut rows, 1), ["delete 3 three"]);
    nothing_more(&mut rows);
    // One commit is one state: its rows come together, with one position.
    run(&writer, "BEGIN; DELETE FROM t WHERE id = 2; INSERT INTO t VALUES (5, 'five'), (6, 'six'); COMMIT");
    let mut positions = Vec::new();
    for _ in 0..3 {
        let Timeslice::Row(row) = rows.next_within(LONG).unwrap() else { panic!("three rows") };
        positions.push(row.get::<String>(0).unwrap());
    }
    positions.dedup();
    assert_eq!(positions.len(), 1);
    assert_eq!(rows.count_so_far(), 10);
}

#[test]
fn parameters_are_taken_as_by_any_statement() {
    let (db, writer) = open();
    let reader = db.connect().unwrap();
    let mut numbered = reader.query("subscribe select v from t where id = $1", (2,)).unwrap();
    let mut named = reader.query("SUBSCRIBE (SELECT v FROM t WHERE id = :id)", params! { id: 2 }).unwrap();
    let mut prepared = reader.prepare("SUBSCRIBE WITH w AS (TABLE t) SELECT v FROM w WHERE id = $1").unwrap();
    let mut prepared = prepared.query((2,)).unwrap();
    run(&writer, "UPDATE t SET v = 'zwei' WHERE id = 2; UPDATE t SET v = 'eins' WHERE id = 1");
    for rows in [&mut numbered, &mut named, &mut prepared] {
        let all = taken(rows, 1);
        // The result may have been taken before or behind the change.
        assert_eq!([all[0].as_str(), "insert zwei"].iter().filter(|row| row.starts_with("insert")).count(), 2);
    }
}

#[test]
fn it_ends_when_it_is_cancelled_and_the_connection_goes_on() {
    let (db, _) = open();
    let reader = db.connect().unwrap();
    let handle = reader.interrupt_handle();
    let waiting = thread::spawn(move || {
        let mut rows = reader.query("SUBSCRIBE SELECT id FROM t", ()).unwrap();
        assert_eq!(taken(&mut rows, 2), ["insert 1", "insert 2"]);
        let state = rows.next().map(drop).unwrap_err().sqlstate();
        assert!(rows.next().unwrap().is_none(), "there are no more rows behind an error");
        assert_eq!(reader.query_row("SELECT 1", (), |row| row.get::<i32>(0)).unwrap(), 1);
        state
    });
    thread::sleep(SHORT);
    assert!(!waiting.is_finished());
    handle.interrupt();
    assert_eq!(waiting.join().unwrap(), SqlState::QUERY_CANCELED);
}

#[test]
fn it_ends_at_the_statement_timeout_also_where_nobody_looks_at_its_rows() {
    let (_db, connection) = open();
    run(&connection, "SET statement_timeout = '100ms'");
    let began = Instant::now();
    let error = connection.execute("SUBSCRIBE SELECT id FROM t", ()).unwrap_err();
    assert_eq!(
        (error.sqlstate(), error.message()),
        (SqlState::QUERY_CANCELED, "canceling statement due to statement timeout")
    );
    assert!(began.elapsed() >= Duration::from_millis(100));
    assert_eq!(
        connection.execute_script("SUBSCRIBE TABLE t; SELECT 1").unwrap_err().sqlstate(),
        SqlState::QUERY_CANCELED
    );
}

#[test]
fn it_ends_with_the_database_and_with_its_tables() {
    let (db, writer) = open();
    run(&writer, "CREATE TABLE gone (a int)");
    let reader = db.connect().unwrap();
    let mut of_gone = reader.query("SUBSCRIBE SELECT a FROM gone", ()).unwrap();
    nothing_more(&mut of_gone);
    run(&writer, "DROP TABLE gone");
    assert_eq!(of_gone.next().map(drop).unwrap_err().sqlstate(), SqlState::UNDEFINED_TABLE);
    let mut rows = reader.query("SUBSCRIBE SELECT id FROM t", ()).unwrap();
    taken(&mut rows, 2);
    drop((reader, writer));
    db.close().unwrap();
    assert!(matches!(rows.next_within(LONG).unwrap(), Timeslice::End));
}

#[test]
fn what_cannot_be_watched_is_refused() {
    let (_db, connection) = open();
    run(&connection, "CREATE TEMP TABLE own (a int)");
    let state = |sql: &str| connection.query(sql, ()).map(drop).unwrap_err().sqlstate();
    for sql in ["SUBSCRIBE SELECT now()", "SUBSCRIBE SELECT random() FROM t", "SUBSCRIBE TABLE own"] {
        assert_eq!(state(sql), SqlState::FEATURE_NOT_SUPPORTED, "{sql}");
    }
    for sql in ["SUBSCRIBE", "SUBSCRIBE t", "SUBSCRIBE INSERT INTO t VALUES (9, '')", "\"subscribe\" SELECT 1"] {
        assert_eq!(state(sql), SqlState::SYNTAX_ERROR, "{sql}");
    }
    for sql in
        ["EXPLAIN SUBSCRIBE TABLE t", "CREATE VIEW v AS SUBSCRIBE TABLE t", "DECLARE c CURSOR FOR SUBSCRIBE TABLE t"]
    {
        assert_eq!(state(sql), SqlState::SYNTAX_ERROR, "{sql}");
    }
    assert_eq!(state("SUBSCRIBE SELECT nothing FROM t"), SqlState("42703"));
    assert_eq!(state("SUBSCRIBE WITH gone AS (DELETE FROM t RETURNING id) TABLE gone"), SqlState::SYNTAX_ERROR);
    assert_eq!(state("DO $$ BEGIN SUBSCRIBE SELECT id FROM t; END $$"), SqlState::FEATURE_NOT_SUPPORTED);
    run(&connection, "BEGIN");
    assert_eq!(state("SUBSCRIBE TABLE t"), SqlState::ACTIVE_SQL_TRANSACTION);
    run(&connection, "ROLLBACK");
}

#[test]
fn the_word_is_a_name_everywhere_else() {
    let (_db, connection) = open();
    run(&connection, "CREATE TABLE subscribe (subscribe int); INSERT INTO subscribe VALUES (1)");
    let sql = "SELECT subscribe.subscribe AS subscribe FROM subscribe subscribe WHERE subscribe = 1";
    assert_eq!(connection.query_row(sql, (), |row| row.get::<i32>("subscribe")).unwrap(), 1);
    let mut rows = connection.query("SUBSCRIBE SELECT subscribe FROM subscribe", ()).unwrap();
    assert_eq!(taken(&mut rows, 1), ["insert 1"]);
}

/// Whoever follows the rows has the query's result.
#[test]
fn the_changes_add_up_to_the_result() {
    let (db, writer) = open();
    let reader = db.connect().unwrap();
    let query = "SELECT id % 5 AS class, count(*) AS many FROM t GROUP BY 1";
    let mut rows = reader.query(&format!("SUBSCRIBE {query}"), ()).unwrap();
    let writing = thread::spawn(move || {
        for n in 10..200 {
            run(&writer, &format!("INSERT INTO t VALUES ({n}, ''); DELETE FROM t WHERE id = {}", n - 7));
        }
        run(&writer, "DELETE FROM t; INSERT INTO t VALUES (1000, 'end'), (1001, 'end')");
    });
    let mut state: Vec<(i32, i64)> = Vec::new();
    loop {
        match rows.next_within(Duration::from_millis(200)).unwrap() {
            Timeslice::Row(row) => {
                let (change, key): (String, _) =
                    (row.get("change").unwrap(), (row.get(2).unwrap(), row.get(3).unwrap()));
                match change.as_str() {
                    "insert" | "update_new" => state.push(key),
                    "delete" | "update_old" => {
                        let at = state.iter().position(|known| *known == key);
                        state.swap_remove(at.unwrap_or_else(|| panic!("{key:?} is not there")));
                    }
                    other => panic!("{other}"),
                }
            }
            Timeslice::NotYet if writing.is_finished() => break,
            Timeslice::NotYet => {}
            Timeslice::End => panic!("it has no end"),
        }
    }
    state.sort_unstable();
    assert_eq!(state, [(0, 1), (1, 1)]);
}

#[test]
fn rows_can_be_worked_out_ahead_and_taken_to_another_thread() {
    let (_db, writer) = open();
    let mut rows = writer.query("SUBSCRIBE SELECT id FROM t", ()).unwrap();
    let first = rows.ahead(100, LONG).unwrap();
    assert_eq!((first.count, first.is_end), (2, false));
    let mut first = first.rows;
    assert_eq!(taken(&mut first, 2), ["insert 1", "insert 2"]);
    assert!(matches!(first.next_within(SHORT).unwrap(), Timeslice::End));
    assert_eq!(rows.ahead(100, SHORT).unwrap().count, 0);
    let ahead = thread::spawn(move || rows.ahead(1, LONG).unwrap().count);
    run(&writer, "INSERT INTO t VALUES (3, '')");
    assert_eq!(ahead.join().unwrap(), 1);
}
