//! Changes of many rows: patched in one pass of their leaves where that will do, one by one where not. Whatever rows are
//! like, the same comes of it as if they were changed one after the other.

use std::collections::BTreeMap;

use crate::common::{fails, rows, typed_rows};
use cairndb::{Connection, Database};

/// Keys of several kinds, numbers of every width, NULLs, rows from before a column was added, some of them long.
fn filled(key: &str, keyed_by: &str) -> (Database, Connection) {
    let database = Database::open_in_memory().unwrap();
    let connection = database.connect().unwrap();
    let sql = format!(
        "CREATE TABLE t (id {key}, small smallint, n bigint, f double precision, note text{keyed_by});
         INSERT INTO t SELECT g::{key}, g % 100, CASE WHEN g % 5 > 0 THEN g::bigint * g * g END, g / 4.0,
             CASE WHEN g % 211 = 0 THEN repeat('long', 5000) ELSE 'note ' || g END FROM generate_series(1, 1500) g;
         CREATE INDEX by_id ON t (id);
         ALTER TABLE t ADD COLUMN later integer;
         UPDATE t SET later = 7 WHERE small < 50;"
    );
    connection.execute_script(&sql).unwrap();
    (database, connection)
}

/// What it changes at once, and one row after the other.
fn compare(key: &str, keyed_by: &str, assigned: &str, filter: &str) {
    let (_at_once, connection) = filled(key, keyed_by);
    let (_one_by_one, other) = filled(key, keyed_by);
    let changed = connection.execute(&format!("UPDATE t SET {assigned} WHERE {filter}"), ()).unwrap();
    let ids = typed_rows(&other, &format!("SELECT id FROM t WHERE {filter}"));
    assert_eq!(changed, ids.len() as u64);
    let mut update = other.prepare(&format!("UPDATE t SET {assigned} WHERE id = $1")).unwrap();
    for id in ids {
        assert_eq!(update.execute((&id[0],)).unwrap(), 1);
    }
    let all = "SELECT * FROM t ORDER BY id";
    assert_eq!(rows(&connection, all), rows(&other, all), "{key} {keyed_by}: {assigned} where {filter}");
}

#[test]
fn many_rows_change_as_each_would_alone() {
    let assigned = ["n = n + 1", "n = 3, small = small - 1, f = f * 2", "later = small * 1000", "n = NULL, later = 1"];
    for (key, keyed_by) in [("bigint", ", PRIMARY KEY (id)"), ("text", ", PRIMARY KEY (id)"), ("integer", "")] {
        for assigned in assigned {
            compare(key, keyed_by, assigned, "true");
        }
        compare(key, keyed_by, assigned[1], "small % 3 = 0");
    }
}

#[test]
fn rows_joined_more_than_once_change_once() {
    let (_database, connection) = filled("bigint", ", PRIMARY KEY (id)");
    let joined = "UPDATE t SET n = g FROM (SELECT generate_series(1, 1000) % 500 + 1 AS g) s WHERE t.id = g";
    assert_eq!(connection.execute(joined, ()).unwrap(), 500);
    let wrong = "SELECT count(*) FROM t WHERE id <= 500 AND n IS DISTINCT FROM id";
    assert_eq!(rows(&connection, wrong), ["0"]);
}

#[test]
fn what_fails_in_the_middle_changes_nothing() {
    let (_database, connection) = filled("bigint", ", PRIMARY KEY (id)");
    connection.execute_script("ALTER TABLE t ALTER COLUMN small SET NOT NULL").unwrap();
    let before = rows(&connection, "SELECT * FROM t ORDER BY id");
    connection.execute("BEGIN", ()).unwrap();
    connection.execute("UPDATE t SET f = 0", ()).unwrap();
    connection.execute("SAVEPOINT s", ()).unwrap();
    fails(&connection, "UPDATE t SET small = CASE WHEN id < 1200 THEN 1 END", "23502");
    connection.execute("ROLLBACK TO s", ()).unwrap();
    assert_eq!(rows(&connection, "SELECT count(*) FROM t WHERE f = 0"), ["1500"]);
    connection.execute("ROLLBACK", ()).unwrap();
    assert_eq!(rows(&connection, "SELECT * FROM t ORDER BY id"), before);
}

#[test]
fn another_who_changed_one_of_the_rows_is_a_conflict() {
    let (database, connection) = filled("bigint", ", PRIMARY KEY (id)");
    let other = database.connect().unwrap();
    connection.execute("BEGIN", ()).unwrap();
    connection.execute("UPDATE t SET small = 1 WHERE id BETWEEN 100 AND 900", ()).unwrap();
    other.execute("UPDATE t SET n = 0 WHERE id = 500", ()).unwrap();
    fails(&connection, "COMMIT", "40001");
}

/// What a trigger's function does for all rows at once, another whose body says one more nothing does for each.
#[test]
fn a_trigger_that_only_inserts_does_for_many_rows_what_it_does_for_each() {
    let values = [
        "(account, old, new) VALUES (NEW.id, OLD.n, NEW.n)",
        "(account, new, what) VALUES (OLD.id, NEW.n - OLD.n, OLD.note)",
        "(account, what) VALUES (NEW.id, TG_OP || TG_NARGS || TG_ARGV[0] || pg_trigger_depth())",
        "VALUES (DEFAULT, NEW.id, nextval('audit_no_seq'), NULL, coalesce(NEW.note, OLD.note))",
    ];
    let mut told = BTreeMap::new();
    for (at, values) in values.iter().enumerate() {
        let index = "CREATE INDEX by_account ON audit (account, new);";
        for (rest, index) in [("", index), ("NULL;", index), ("PERFORM 1;", index), ("", ""), ("PERFORM 1;", "")] {
            let (_database, connection) = filled("bigint", ", PRIMARY KEY (id)");
            let script = format!(
                "CREATE TABLE audit (no bigserial PRIMARY KEY, account bigint NOT NULL, old bigint, new bigint, what text);
                 {index}
                 CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
                 BEGIN INSERT INTO audit {values}; {rest} RETURN NEW; END $$;
                 CREATE TRIGGER note AFTER UPDATE ON t FOR EACH ROW EXECUTE FUNCTION note('a', 'b');
                 UPDATE t SET n = n + 10, small = 1;
                 UPDATE t SET later = 5 WHERE small = 1 AND id > 1490;
                 UPDATE t SET note = 'another' WHERE id < 40;"
            );
            connection.execute_script(&script).unwrap();
            let audit = rows(&connection, "SELECT * FROM audit ORDER BY no");
            assert_eq!(audit.len(), 1549);
            let same = told.entry(at).or_insert_with(|| audit.clone());
            assert!(*same == audit, "{values} {rest}");
        }
    }
}

/// Rows that are nothing but entries of their table are inserted together: as far as they can be.
#[test]
fn a_trigger_whose_rows_are_in_each_others_way_tells_of_the_first() {
    let values = [
        // Behind all that is there, between it, out of order, long.
        "VALUES (NEW.id + 5000, NEW.id, '')",
        "VALUES (NEW.id * 2, NEW.id, repeat('x', NEW.id % 40))",
        "VALUES (NEW.id * 617 % 30011, NEW.id, repeat('x', NEW.id % 900 * 10))",
        // Two the same, one that was there, NULL, CHECK: where several are wrong, the first one's error.
        "VALUES (NEW.id % 1200, NEW.id, '')",
        "VALUES (NEW.id + 9000, NEW.id, '')",
        "VALUES (NEW.id, NULLIF(NEW.id, 700), '')",
        "VALUES (CASE WHEN NEW.id = 900 THEN 800 ELSE NEW.id END, NULLIF(NEW.id, 950), '')",
        "VALUES (NEW.id, NULLIF(NEW.id, 950), CASE WHEN NEW.id = 940 THEN 'bad' ELSE '' END)",
        "VALUES (NEW.id, NEW.id / (NEW.id - 1000), '')",
    ];
    for values in values {
        let told = ["", "PERFORM 1;"].map(|rest| {
            let (_database, connection) = filled("bigint", ", PRIMARY KEY (id)");
            let script = format!(
                "CREATE TABLE audit (no bigint PRIMARY KEY, account bigint NOT NULL, what text CHECK (what <> 'bad'));
                 INSERT INTO audit VALUES (-5, 1, 'before'), (10001, 1, 'after');
                 CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
                 BEGIN INSERT INTO audit {values}; {rest} RETURN NEW; END $$;
                 CREATE TRIGGER note AFTER UPDATE ON t FOR EACH ROW EXECUTE FUNCTION note();"
            );
            connection.execute_script(&script).unwrap();
            let done = connection.execute("UPDATE t SET n = n + 10", ()).map_err(|error| error.to_string());
            (done, rows(&connection, "SELECT * FROM audit ORDER BY no"))
        });
        assert!(told[0] == told[1], "{values}: {:?} and {:?}", told[0].0, told[1].0);
        assert!(told[0].0.is_err() || told[0].1.len() > 1000);
    }
}

/// More rows than a batch has, of columns of every kind, with NULLs, some of them long.
const KINDS: &str = "CREATE TYPE mood AS ENUM ('sad', 'ok', 'glad');
    CREATE DOMAIN positive AS bigint CHECK (VALUE > 0);
    CREATE TABLE t (id integer PRIMARY KEY, i2 smallint, i4 integer, i8 bigint, day date, at timestamp, tz timestamptz, tm time,
        ok boolean, r real, d double precision, num numeric, money numeric(12, 2), what text, short varchar(9), b bytea, u uuid,
        span interval, j jsonb, a integer[], m mood, n bigint NOT NULL);
    INSERT INTO t SELECT g, g % 300 - 150, g * 100003 % 70000 - 3, g::bigint * g * g * (g % 3 - 1), date '2020-01-01' + g,
        timestamp '2020-01-01' + g * interval '1 minute', timestamptz '1999-01-01 UTC' - g * interval '1 day',
        time '00:00' + g * interval '1 second', g % 3 = 0, g / 4.0, g / 3.0, g / 7.0, g / 100.0,
        CASE WHEN g % 311 = 0 THEN repeat('long', 5000) ELSE 'é ' || g END, 'v' || g, decode(md5(g::text), 'hex'),
        md5(g::text)::uuid, g * interval '1 hour', jsonb_build_object('g', g), ARRAY[g, NULL, 2 * g],
        (ARRAY['sad', 'ok', 'glad'])[g % 3 + 1]::mood, 1 FROM generate_series(1, 2500) g;
    UPDATE t SET i2 = NULL, d = NULL, at = NULL, what = NULL, a = NULL WHERE id % 1700 = 1699;";

/// What of an audit table's rows is written at once is what each would be by itself, and so is what goes wrong.
#[test]
fn rows_that_a_trigger_inserts_are_the_same_of_columns_of_every_kind() {
    let all = "id integer, i2 smallint, i4 integer, i8 bigint, day date, at timestamp, tz timestamptz, tm time, ok boolean, r real,
        d double precision, num numeric, money numeric(12, 2), what text, b bytea, u uuid, span interval, j jsonb, a integer[], m mood";
    let every = "VALUES (DEFAULT, NEW.id, OLD.i2, NEW.i4, NEW.i8, NEW.day, OLD.at, NEW.tz, NEW.tm, NEW.ok, NEW.r, NEW.d, NEW.num, OLD.money,
        NEW.what, NEW.b, NEW.u, NEW.span, NEW.j, NEW.a, NEW.m";
    // In audit tables with a column for each of these: the key, what else there is of columns and conditions, its values.
    let wide = [
        ("", "bigserial PRIMARY KEY", "", ""),
        ("", "serial PRIMARY KEY", ", v varchar(9)", ", NEW.short"),
        ("22001", "serial PRIMARY KEY", ", v varchar(4)", ", NEW.short"),
        ("", "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY", ", x bigint GENERATED ALWAYS AS (i4 * 2) STORED", ""),
        ("", "bigserial", ", PRIMARY KEY (no, day, num, b, u)", ""),
        ("", "bigserial", ", PRIMARY KEY (m, tm, tz, i4, id)", ""),
        ("23502", "bigserial", ", PRIMARY KEY (d, no)", ""),
        ("23514", "bigserial PRIMARY KEY", ", CHECK (id <> 1500)", ""),
        ("23514", "bigserial PRIMARY KEY", ", p positive", ", 1600 - NEW.id"),
    ];
    for (code, key, columns, values) in wide {
        compare_kinds(code, &format!("no {key}, {all}{columns}"), &format!("{every}{values})"));
    }
    let narrow = [
        ("23502", "bigserial PRIMARY KEY, at timestamp NOT NULL, i2 smallint NOT NULL", "DEFAULT, NEW.at, NEW.i2"),
        ("23502", "bigserial PRIMARY KEY, i8 bigint, i2 smallint NOT NULL", "DEFAULT, NULL, NULL"),
        ("", "bigserial PRIMARY KEY", "DEFAULT"),
        ("", "bigserial PRIMARY KEY, a text, b integer, c integer", "DEFAULT, 'same', 70000, NULL"),
        ("", "bigserial PRIMARY KEY, a text, b name", "DEFAULT, TG_OP, TG_TABLE_NAME"),
        ("", "bigserial PRIMARY KEY, a text", "DEFAULT, TG_TABLE_NAME"),
        ("22003", "smallint DEFAULT nextval('late') PRIMARY KEY, a bigint", "DEFAULT, NEW.i8"),
        ("", "bigint PRIMARY KEY, a text", "NEW.id, NEW.what"),
        ("23502", "bigint PRIMARY KEY, a text", "NULLIF(NEW.id % 2100, 0), upper(NEW.what)"),
        ("54000", "text PRIMARY KEY, a bytea", "NEW.what, NEW.b"),
        ("23505", "text PRIMARY KEY, a integer", "CASE WHEN NEW.id = 310 THEN 'é 309' ELSE NEW.what END, 1"),
        ("23505", "text PRIMARY KEY, a integer", "substr(NEW.what, 1, 6), 1000 / (NEW.id - 2300)"),
        ("54000", "bytea PRIMARY KEY, a integer", "repeat('k', NEW.id * 4)::bytea, 1"),
    ];
    for (code, columns, values) in narrow {
        compare_kinds(code, &format!("no {columns}"), &format!("VALUES ({values})"));
    }
}

/// What a trigger inserts at once and one row after the other. `code`: the error's; none is expected where it is empty.
fn compare_kinds(code: &str, columns: &str, values: &str) {
    let told = ["", "PERFORM 1;"].map(|rest| {
        let database = Database::open_in_memory().unwrap();
        let connection = database.connect().unwrap();
        let script = format!(
            "{KINDS} CREATE SEQUENCE late START 31000; CREATE TABLE audit ({columns});
             CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN INSERT INTO audit {values}; {rest} RETURN NEW; END $$;
             CREATE TRIGGER note AFTER UPDATE ON t FOR EACH ROW EXECUTE FUNCTION note();"
        );
        connection.execute_script(&script).unwrap();
        let done = connection.execute("UPDATE t SET n = n + 1", ()).map_err(|error| format!("{error:?}"));
        let audit = rows(&connection, "SELECT * FROM audit ORDER BY no");
        let next = rows(&connection, "SELECT nextval('late'), nextval(pg_get_serial_sequence('audit', 'no'))");
        assert_eq!(audit.len(), if code.is_empty() { 2500 } else { 0 }, "{columns} {values}: {done:?}");
        assert_eq!(rows(&connection, "SELECT max(n) FROM t"), [if code.is_empty() { "2" } else { "1" }]);
        assert!(done.as_ref().err().is_none_or(|error| error.contains(code)), "{columns} {values}: {done:?}");
        (done, audit, next)
    });
    assert!(told[0] == told[1], "{columns} {values}: {:?} and {:?}", told[0].0, told[1].0);
}
