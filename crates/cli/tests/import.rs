//! `cairn import sqlite`, with files that SQLite itself made.
#![cfg(feature = "sqlite")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn cairn(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cairn")).args(arguments).current_dir(folder).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Imports `a.sqlite`, made by this script, into `a.cairn`; the exit code and what was told.
fn import(folder: &Path, script: &str, more: &[&str]) -> (Option<i32>, String) {
    let sqlite = rusqlite::Connection::open(folder.join("a.sqlite")).unwrap();
    sqlite.execute_batch(script).unwrap();
    drop(sqlite);
    let arguments = [&["import", "sqlite", "a.sqlite", "a.cairn"], more].concat();
    let output = cairn(folder, &arguments);
    (output.status.code(), text(&output))
}

/// What a query of the new database says, as CSV without names.
fn query(folder: &Path, sql: &str) -> String {
    let output = cairn(folder, &["a.cairn", "--no-header", "--format", "csv", "-c", sql]);
    assert!(output.status.success(), "{sql}: {}", text(&output));
    text(&output)
}

const COLUMNS: &str = "SELECT column_name, data_type, is_nullable, is_identity FROM information_schema.columns
    WHERE table_schema = 'public' ORDER BY table_name, ordinal_position";

#[test]
fn a_database_with_everything_becomes_the_same_in_another_dialect() {
    let folder = tempfile::tempdir().unwrap();
    let script = "
        CREATE TABLE Artist (ArtistId INTEGER PRIMARY KEY AUTOINCREMENT, Name NVARCHAR(120) COLLATE NOCASE UNIQUE,
            Born DATE, Seen DATETIME DEFAULT CURRENT_TIMESTAMP, Active BOOLEAN NOT NULL DEFAULT 1,
            Fee DECIMAL(8,2) CHECK (Fee == 1.25 OR Fee IS NOT 3), CHECK (length(Name) > 0));
        INSERT INTO Artist (ArtistId, Name, Born, Seen, Active, Fee) VALUES
            (1, 'Ada', '1815-12-10', '2024-01-02 03:04:05', 1, 1.25), (7, 'Bob', NULL, NULL, 0, NULL);
        DELETE FROM sqlite_sequence; INSERT INTO sqlite_sequence VALUES ('Artist', 41);
        CREATE TABLE Album (Id INTEGER PRIMARY KEY, ArtistId INTEGER NOT NULL REFERENCES Artist ON DELETE CASCADE,
            [Album Title] TEXT, Twice AS (Id * 2) STORED, \"order\" REAL);
        INSERT INTO Album (Id, ArtistId, [Album Title], \"order\") VALUES (10, 1, 'x' || char(10) || '\\N', 0.1), (11, 7, NULL, 2);
        CREATE INDEX AlbumArtist ON Album (ArtistId, [Album Title] DESC);
        CREATE INDEX Early ON Album (lower([Album Title])) WHERE Id < 11;
        CREATE TABLE Tag (k TEXT, v, PRIMARY KEY (k, v)) WITHOUT ROWID;
        INSERT INTO Tag VALUES ('a', 1), ('b', 2);
        CREATE VIEW Second AS SELECT * FROM First WHERE [Album Title] IS NOT 'nothing';
        CREATE VIEW First AS SELECT a.Name, b.\"Album Title\", ifnull(b.\"order\", 0) AS o
            FROM Artist a JOIN Album b ON b.ArtistId = a.ArtistId;
        CREATE TRIGGER t AFTER INSERT ON Tag BEGIN SELECT 1; END;";
    let (code, told) = import(folder.path(), script, &[]);
    assert_eq!(code, Some(4), "a trigger is left out: {told}");
    for line in [
        "Artist: 2 rows",
        "Artist.ArtistId: AUTOINCREMENT is an identity column",
        "are in lower case",
        "Tag.v: no type is bigint here: that is what the values are",
        "Left out, and why:\n  trigger t of Tag: ",
    ] {
        assert!(told.contains(line), "{line}: {told}");
    }
    assert_eq!(told.matches("Left out").count(), 1, "{told}");
    assert_eq!(told.lines().rev().take_while(|line| !line.starts_with("Left out")).count(), 1, "{told}");
    let columns = query(folder.path(), COLUMNS);
    for line in [
        "artistid,bigint,NO,YES",
        "name,character varying,YES,NO",
        "born,date,YES,NO",
        "seen,timestamp without time zone,YES,NO",
        "active,boolean,NO,NO",
        "fee,numeric,YES,NO",
        "album title,text,YES,NO",
        "order,double precision,YES,NO",
    ] {
        assert!(columns.contains(line), "{line}: {columns}");
    }
    assert_eq!(
        query(folder.path(), "SELECT * FROM artist ORDER BY 1").lines().next().unwrap(),
        "1,Ada,1815-12-10,2024-01-02 03:04:05,t,1.25"
    );
    assert_eq!(
        query(folder.path(), "SELECT id, \"album title\" = E'x\\n\\\\N', twice, \"order\" FROM album ORDER BY 1"),
        "10,t,20,0.1\n11,,22,2\n"
    );
    assert_eq!(query(folder.path(), "SELECT name, o FROM second ORDER BY 1"), "Ada,0.1\nBob,2\n");
    // The sequence goes on where AUTOINCREMENT would; defaults, keys and checks hold.
    assert_eq!(
        query(folder.path(), "INSERT INTO artist (name) VALUES ('new') RETURNING artistid, active, seen IS NOT NULL"),
        "42,t,t\n"
    );
    for (statement, state) in [
        ("INSERT INTO artist (name) VALUES ('ADA')", "23505"),
        ("INSERT INTO artist (name) VALUES ('')", "23514"),
        ("INSERT INTO artist (name, fee) VALUES ('x', 3)", "23514"),
        ("INSERT INTO album (artistid) VALUES (99)", "23503"),
        ("INSERT INTO tag VALUES ('a', 1)", "23505"),
    ] {
        let output = cairn(folder.path(), &["a.cairn", "-c", statement]);
        assert!(text(&output).contains(state), "{statement}: {}", text(&output));
    }
    let indexes =
        query(folder.path(), "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY indexname");
    assert!(indexes.contains("(artistid, \"\"album title\"\" DESC)") || indexes.contains("album title"), "{indexes}");
    assert!(indexes.contains("WHERE (id < 11)"), "{indexes}");
    assert!(text(&cairn(folder.path(), &["verify", "--constraints", "a.cairn"])).contains("Every row keeps"));
}

#[test]
fn generated_columns_stay_so_where_they_mean_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let script = "
        CREATE TABLE g (a INTEGER PRIMARY KEY, name TEXT, n INT, Twice AS (a * 2) STORED, \"upper name\" TEXT NOT NULL AS (upper(name)),
            cents REAL GENERATED ALWAYS AS (n / 2) VIRTUAL, label TEXT AS (name || ' ' || n), again AS (Twice + 1),
            half REAL AS (n / 2.0) STORED, quoted AS (printf('%d', a)) STORED, ratio INT AS (10 / n));
        INSERT INTO g (a, name, n) VALUES (1, 'one', 3), (2, 'two', 0), (3, '', NULL);
        CREATE INDEX by_upper ON g (\"upper name\");
        CREATE TABLE words (a TEXT, b AS (substr(a, 0, 2)) STORED);
        INSERT INTO words (a) VALUES ('abc');";
    let (code, told) = import(folder.path(), script, &[]);
    assert_eq!(code, Some(0), "{told}");
    for line in [
        "g.upper name: was computed when it was read; it is STORED here, for an index has it",
        "g.again: was generated; it is an ordinary column with the values that it had: it is made of Twice, which is generated too",
        "g.quoted: was generated; it is an ordinary column with the values that it had: function printf",
    ] {
        assert!(told.contains(line), "{line}: {told}");
    }
    let generated = "SELECT column_name, data_type, generation_expression FROM information_schema.columns
        WHERE is_generated = 'ALWAYS' ORDER BY table_name, ordinal_position";
    let expected = "twice,bigint,(a * 2)\nupper name,text,upper(name)\ncents,double precision,(n / 2)\n\
                    label,text,(name || ' ' || n::text)\nhalf,double precision,(n / 2.0::double precision)\n\
                    ratio,bigint,\"(10 / NULLIF(n, 0))\"\nb,text,\"substr(a, 0, 2)\"\n";
    assert_eq!(query(folder.path(), generated), expected);
    let kinds = "SELECT string_agg(attname || ' ' || attgenerated, ',' ORDER BY attnum) FROM pg_attribute
        WHERE attrelid = 'g'::regclass AND attgenerated <> ''";
    assert_eq!(query(folder.path(), kinds), "\"twice s,upper name s,cents v,label v,half s,ratio v\"\n");
    let rows = "1,one,3,2,ONE,1,one 3,3,1.5,1,3\n2,two,0,4,TWO,0,two 0,5,0,2,\n3,\"\",,6,\"\",,,7,,3,\n";
    // Division by zero is NULL, there and here.
    assert_eq!(query(folder.path(), "SELECT * FROM g ORDER BY 1"), rows);
    let insert = "INSERT INTO g (name, n) VALUES ('new', 5) RETURNING a, twice, \"upper name\", half, again";
    assert_eq!(query(folder.path(), insert), "4,8,NEW,2.5,\n");
    assert_eq!(query(folder.path(), "SELECT cents, label FROM g WHERE a = 4"), "2,new 5\n");
}

#[test]
fn values_that_their_types_do_not_have_change_the_type_and_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let script = "
        CREATE TABLE odd (a INT, b TEXT, c INT, d VARCHAR(2), e BLOB, f TEXT, g DATE, h INT, i REAL, j BOOLEAN);
        INSERT INTO odd VALUES (1, 'a' || char(0) || 'b', 9223372036854775807, 'abc', x'00ff', x'01', '2024-13-01', 1e300, 9e999, 2);
        INSERT INTO odd VALUES ('x', 'c', 9223372036854775808, 'ab', NULL, 'text', 'now', 1, -9e999, 0);
        INSERT INTO odd VALUES (1.5, CAST(x'ff' AS TEXT), 1, 'a', 'text', 2.5, NULL, NULL, NULL, NULL);
        CREATE TABLE nulls (k TEXT PRIMARY KEY, v INT); INSERT INTO nulls VALUES (NULL, 1), (NULL, 2), ('a', 3);";
    let (code, told) = import(folder.path(), script, &[]);
    assert_eq!(code, Some(0), "{told}");
    for line in [
        "odd.a: INT is text here: its values are numbers and texts",
        "odd.b: TEXT is bytea here: some texts are no valid UTF-8",
        "odd.c: INT is numeric here: ",
        "odd.d: VARCHAR(2) is text here: 'abc' is no character varying(2)",
        "odd.f: TEXT is bytea here: its values are bytes and others",
        "odd.g: DATE is text here: '2024-13-01' is no date",
        "odd.j: BOOLEAN is bigint here: 2 is no boolean",
        "nulls: SQLite lets NULL into primary keys",
    ] {
        assert!(told.contains(line), "{line}: {told}");
    }
    assert_eq!(
        query(folder.path(), "SELECT a, b, c, d, e, f, g, h = 1e300, i, j FROM odd"),
        "1,\\x610062,9223372036854775807,abc,\\x00ff,\\x01,2024-13-01,t,Infinity,2\n\
         x,\\x63,9223372036854775808,ab,,\\x74657874,now,f,-Infinity,0\n\
         1.5,\\xff,1,a,\\x74657874,\\x322e35,,,,\n"
    );
    assert_eq!(query(folder.path(), "SELECT count(*), count(k) FROM nulls"), "3,1\n");
}

/// A column may have the name of a keyword, which then stands in every other text.
#[test]
fn a_column_called_order_breaks_no_view_and_no_check() {
    let folder = tempfile::tempdir().unwrap();
    let script = "CREATE TABLE o (id INTEGER PRIMARY KEY, \"order\" INT, \"in\" INT, \"and\" INT); INSERT INTO o VALUES (1, 2, 3, 4);
        CREATE TABLE n (a INT CHECK (a IN (1, 2) AND a NOT IN (3))); INSERT INTO n VALUES (2), (1), (NULL);
        CREATE VIEW v AS SELECT a FROM n ORDER BY a;
        CREATE VIEW w AS SELECT \"order\", [and] + \"in\" AS \"select\" FROM o ORDER BY \"order\";";
    let (code, told) = import(folder.path(), script, &[]);
    assert_eq!(code, Some(0), "{told}");
    assert_eq!(query(folder.path(), "SELECT * FROM v"), "\n1\n2\n");
    assert_eq!(query(folder.path(), "SELECT \"order\", \"select\" FROM w"), "2,7\n");
    assert!(text(&cairn(folder.path(), &["a.cairn", "-c", "INSERT INTO n VALUES (3)"])).contains("23514"));
}

/// What has another meaning here under the same name is said so that it means the same, or left out with a word.
#[test]
fn no_meaning_changes_without_a_word() {
    let folder = tempfile::tempdir().unwrap();
    let script = "CREATE TABLE m (id INTEGER PRIMARY KEY, name TEXT, price REAL, qty INT, made DATE DEFAULT (date('now')),
            seen DATETIME DEFAULT (datetime('now')), token INT DEFAULT (abs(random())), day TEXT DEFAULT (date('now')));
        INSERT INTO m (id, name, price, qty) VALUES (1, 'hello', 2.7, 5), (2, 'hi', -2.5, 0), (3, NULL, NULL, NULL);
        CREATE VIEW tail AS SELECT id, substr(name, -3) FROM m;
        CREATE VIEW whole AS SELECT id, cast(price AS INTEGER), round(price) FROM m;
        CREATE VIEW kinds AS SELECT count(*) AS n FROM m WHERE typeof(id) = 'integer';
        CREATE VIEW ratio AS SELECT id, qty / qty, 10 % qty FROM m;
        CREATE VIEW today AS SELECT count(*) FROM m WHERE made = date('now');
        CREATE VIEW greatest AS SELECT id, max(price, 3) FROM m;
        CREATE VIEW form AS SELECT format('%05d', qty) FROM m;
        CREATE VIEW part AS SELECT name ->> '$.a' FROM m;
        CREATE TABLE past (x DATE CHECK (x <= date('now'))); CREATE TABLE few (y INT CHECK (y > 0)); INSERT INTO few VALUES (1);
        PRAGMA ignore_check_constraints = ON; INSERT INTO few VALUES (-1); PRAGMA user_version = 12;";
    let (code, told) = import(folder.path(), script, &[]);
    assert_eq!(code, Some(4), "{told}");
    for line in [
        "view form: function format has no translation",
        "view part: -> and ->> take paths",
        "CHECK (y > 0) of few: some rows do not keep it, so it holds for new ones only (NOT VALID)",
        "PRAGMA user_version: is 12",
    ] {
        assert!(told.contains(line), "{line}: {told}");
    }
    for (sql, rows) in [
        ("SELECT * FROM tail ORDER BY 1", "1,llo\n2,hi\n3,\n"),
        ("SELECT * FROM whole ORDER BY 1", "1,2,3\n2,-2,-3\n3,,\n"),
        ("SELECT * FROM kinds", "3\n"),
        ("SELECT * FROM ratio ORDER BY 1", "1,1,0\n2,,\n3,,\n"),
        ("SELECT * FROM today", "3\n"),
        ("SELECT * FROM greatest ORDER BY 1", "1,3\n2,3\n3,\n"),
        (
            "INSERT INTO m (name) VALUES ('new') RETURNING made = (now() AT TIME ZONE 'UTC')::date, \
             seen <= now() AT TIME ZONE 'UTC', token > 1, day = to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD')",
            "t,t,t,t\n",
        ),
        ("INSERT INTO past VALUES ((now() AT TIME ZONE 'UTC')::date) RETURNING 1", "1\n"),
    ] {
        assert_eq!(query(folder.path(), sql), rows, "{sql}");
    }
    let made = query(folder.path(), "SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef ORDER BY 1");
    assert!(made.contains("now()") && !made.contains("20"), "{made}");
    assert!(text(&cairn(folder.path(), &["a.cairn", "-c", "INSERT INTO few VALUES (0)"])).contains("23514"));
}

#[test]
fn strange_names_stay_names() {
    let folder = tempfile::tempdir().unwrap();
    let long = "x".repeat(70);
    let script = format!(
        "CREATE TABLE \"a\"\"b'; DROP TABLE x; --\" (\"select\" INT, \"é ü\" TEXT, \"\" INT, [{long}1] INT, [{long}2] INT);
         INSERT INTO \"a\"\"b'; DROP TABLE x; --\" VALUES (1, 'x', 2, 3, 4);
         CREATE TABLE \"table\" (\"User\" INT CHECK (User > 0), UNIQUE (User)); INSERT INTO \"table\" VALUES (5);
         CREATE TABLE empty (a);"
    );
    let (code, told) = import(folder.path(), &script, &[]);
    if code == Some(1) {
        // A column without a name is nothing that SQL has a word for.
        assert!(told.contains("zero-length"), "{told}");
        fs::remove_file(folder.path().join("a.sqlite")).unwrap();
        assert!(!folder.path().join("a.cairn").exists());
        let (code, told) = import(folder.path(), &script.replace("\"\" INT, ", "").replace("2, 3, 4", "3, 4"), &[]);
        assert_eq!(code, Some(0), "{told}");
    }
    let rows = query(folder.path(), "SELECT * FROM \"a\"\"b'; drop table x; --\"");
    assert!(rows.starts_with("1,x,"), "{rows}");
    assert_eq!(query(folder.path(), "SELECT \"user\" FROM \"table\""), "5\n");
    assert_eq!(query(folder.path(), "SELECT count(*) FROM empty"), "0\n");
}

#[test]
fn names_keep_their_case_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let script = "CREATE TABLE Artist (Id INTEGER PRIMARY KEY, Name TEXT CHECK (length(name) < 9)); INSERT INTO Artist VALUES (1, 'x');
        CREATE VIEW V AS SELECT artist.NAME FROM artist";
    let (code, told) = import(folder.path(), script, &["--keep-case"]);
    assert_eq!(code, Some(0), "{told}");
    assert_eq!(query(folder.path(), "SELECT \"Name\" FROM \"Artist\" UNION ALL SELECT \"Name\" FROM \"V\""), "x\nx\n");
}

#[test]
fn rows_that_refer_to_nothing_stay_and_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let script = "PRAGMA foreign_keys = OFF; CREATE TABLE p (id INTEGER PRIMARY KEY);
        CREATE TABLE c (p INTEGER REFERENCES p, q INTEGER REFERENCES gone (id)); INSERT INTO c VALUES (1, 1)";
    let (code, told) = import(folder.path(), script, &[]);
    assert_eq!(code, Some(4), "{told}");
    assert!(told.contains("foreign key of c to p: rows that are there refer to nothing"), "{told}");
    assert!(told.contains("foreign key of c to gone: relation \"gone\" does not exist"), "{told}");
    assert_eq!(query(folder.path(), "SELECT p FROM c"), "1\n");
    assert!(text(&cairn(folder.path(), &["a.cairn", "-c", "INSERT INTO c VALUES (2)"])).contains("23503"));
}

#[test]
fn what_is_no_sound_sqlite_file_is_refused_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let refused = |told: &str| {
        let output = cairn(folder.path(), &["import", "sqlite", "a.sqlite", "a.cairn"]);
        assert_eq!(output.status.code(), Some(1), "{}", text(&output));
        assert!(text(&output).contains(told), "{told}: {}", text(&output));
        assert!(!at("a.cairn").exists() && !at("a.cairn-log").exists() && !at("a.cairn-lock").exists());
    };
    refused("a.sqlite: ");
    fs::write(at("a.sqlite"), "no database at all, but long enough to look like one").unwrap();
    refused("file is not a database");
    fs::remove_file(at("a.sqlite")).unwrap();
    let sqlite = rusqlite::Connection::open(at("a.sqlite")).unwrap();
    sqlite
        .execute_batch(
            "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT);
             WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
             INSERT INTO t SELECT i, 'value ' || i FROM n",
        )
        .unwrap();
    drop(sqlite);
    let whole = fs::read(at("a.sqlite")).unwrap();
    // Pages in the middle become noise: SQLite tells, or the rows are others than they were, but nothing panics.
    for seed in 1..12_u8 {
        let mut damaged = whole.clone();
        let from = 4096 * usize::from(seed);
        damaged[from..from + 4096]
            .iter_mut()
            .enumerate()
            .for_each(|(at, byte)| *byte = (at as u8).wrapping_mul(seed) ^ 0xa5);
        fs::write(at("a.sqlite"), damaged).unwrap();
        let output = cairn(folder.path(), &["import", "sqlite", "a.sqlite", "a.cairn"]);
        assert!(output.status.code().is_some_and(|code| code != 101), "{}", text(&output));
        assert!(!text(&output).contains("panicked"), "{}", text(&output));
        let _ = fs::remove_file(at("a.cairn"));
    }
    fs::write(at("a.sqlite"), &whole).unwrap();
    fs::write(at("a.cairn"), "something that is there already").unwrap();
    let output = cairn(folder.path(), &["import", "sqlite", "a.sqlite", "a.cairn"]);
    assert!(text(&output).contains("exists already"), "{}", text(&output));
    assert_eq!(fs::read(at("a.cairn")).unwrap(), b"something that is there already");
}

#[test]
fn chinook_comes_whole() {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/chinook.sql");
    let Ok(script) = fs::read_to_string(script) else { return };
    let folder = tempfile::tempdir().unwrap();
    let taken: Vec<&str> = cairndb::split_script(&script)
        .map(|one| one.text)
        .filter(|text| !text.trim_start().starts_with("ALTER"))
        .collect();
    let (code, told) = import(
        folder.path(),
        &format!("BEGIN; {}; COMMIT", taken.join(";\n").replace(", N'", ", '").replace("(N'", "('")),
        &[],
    );
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("track: 3503 rows"), "{told}");
    // The script writes 2021/1/1, which is no form of SQLite's, and a date only to who knows the order.
    assert!(told.contains("invoice.invoice_date: TIMESTAMP is text here: '"), "{told}");
    let total = "SELECT sum(unit_price * quantity), count(DISTINCT invoice_date) > 300
        FROM invoice_line JOIN invoice USING (invoice_id)";
    assert_eq!(query(folder.path(), total), "2328.60,t\n");
    assert!(text(&cairn(folder.path(), &["verify", "a.cairn"])).contains("is right"));
}
