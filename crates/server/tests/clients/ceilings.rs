//! What a client can not have more of, whatever it says and however.

use std::time::Duration;

use cairn_server::{Ceilings, Options};
use postgres::{Client, NoTls, SimpleQueryMessage};

use crate::{Served, code};

/// A value beyond what the server of these tests gives, and the code that it is refused with: of each setting that the table of settings
/// (`cairndb/src/settings/settings.tsv`) says to have a ceiling.
const BEYOND: &[(&str, &str, &str)] = &[
    ("batch_rows", "65536", "42501"),
    ("durability", "off", "42501"),
    ("durability", "interval", "42501"),
    ("idle_in_transaction_session_timeout", "0", "22023"),
    ("idle_session_timeout", "1d", "22023"),
    ("statement_mem", "64GB", "22023"),
    ("statement_timeout", "0", "22023"),
    ("statement_timeout", "11s", "22023"),
    ("synchronous_commit", "off", "42501"),
    ("temp_file_limit", "-1", "22023"),
    ("temp_file_limit", "2GB", "22023"),
    ("temp_table_limit", "64GB", "22023"),
    ("transaction_timeout", "0", "22023"),
    ("work_mem", "64GB", "22023"),
];

fn served() -> Served {
    let ten_seconds = Some(Duration::from_secs(10));
    let ceilings = Ceilings {
        temp_file_limit: Some(1 << 30),
        statement_timeout: ten_seconds,
        transaction_timeout: ten_seconds,
        idle_in_transaction_session_timeout: ten_seconds,
        idle_session_timeout: ten_seconds,
        work_mem: Some(256 << 20),
        statement_mem: Some(1 << 30),
        temp_table_limit: Some(256 << 20),
        durability: Some(cairndb::Durability::Full),
        reads_only: false,
        names: Some(3),
    };
    Served::with(Options { trusts_all: true, ceilings: Some(ceilings), ..Options::default() })
}

fn shown(client: &mut Client, query: &str) -> Vec<String> {
    let rows = client.simple_query(query).unwrap_or_else(|error| panic!("{query}: {error}"));
    let first = |message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    };
    rows.into_iter().filter_map(first).collect()
}

#[test]
fn nothing_is_set_beyond_its_ceiling_by_any_way() {
    let served = served();
    let mut client = served.connect();
    for &(name, value, expected) in BEYOND {
        let before = shown(&mut client, &format!("SHOW {name}"));
        for sql in [
            format!("SET {name} = '{value}'"),
            format!("SET SESSION {name} TO '{value}'"),
            format!("BEGIN; SET LOCAL {name} = '{value}'"),
            format!("SELECT set_config('{name}', '{value}', false)"),
            format!("SELECT set_config('{name}', '{value}', true)"),
            format!("BEGIN; SELECT set_config('{name}', '{value}', true)"),
            format!("DO $$ BEGIN EXECUTE 'SET {name} = ''{value}'''; END $$"),
        ] {
            let refused = client.batch_execute(&sql).expect_err(&sql);
            assert!([expected, "0A000"].contains(&code(&refused)), "{sql}: {refused:?}");
            client.batch_execute("ROLLBACK").unwrap();
        }
        for sql in [
            format!("SELECT set_config('{name}', v, false) FROM (VALUES ('{value}')) AS t (v)"),
            format!("DO $$ BEGIN PERFORM set_config('{name}', '{value}', false); END $$"),
            format!("DO $$ BEGIN SET {name} = '{value}'; END $$"),
            format!("ALTER DATABASE shop SET {name} = '{value}'"),
            format!("ALTER ROLE me SET {name} = '{value}'"),
            format!("ALTER SYSTEM SET {name} = '{value}'"),
        ] {
            client.batch_execute(&sql).expect_err(&sql);
        }
        // Of settings that change no answer this is taken, and does nothing.
        let option = format!(
            "CREATE FUNCTION f() RETURNS text LANGUAGE sql SET {name} = '{value}' RETURN current_setting('{name}')"
        );
        if client.batch_execute(&option).is_ok() {
            assert_eq!(shown(&mut client, "SELECT f()"), before, "{option}");
            client.batch_execute("DROP FUNCTION f").unwrap();
        }
        assert_eq!(code(&client.execute(&format!("SET {name} = '{value}'"), &[]).unwrap_err()), expected);
        let mut config = served.config();
        let refused = config.options(&format!("-c {name}={value}")).connect(NoTls).err().expect("not let in");
        assert_eq!(code(&refused), expected, "{name}");
        for back in [format!("RESET {name}"), "RESET ALL".to_owned(), "DISCARD ALL".to_owned()] {
            client.batch_execute(&back).unwrap();
            assert_eq!(shown(&mut client, &format!("SHOW {name}")), before, "{back}: {name}");
        }
    }
}

#[test]
fn what_is_within_is_set_and_texts_do_not_grow_without_end() {
    let served = served();
    let mut client = served.connect();
    client.batch_execute("SET work_mem = '64MB'; SET statement_timeout = '1s'; SET durability = 'group'").unwrap();
    let long = "x".repeat(300 << 10);
    for sql in [
        format!("SET application_name = '{long}'"),
        format!("SET search_path = {}", vec!["x"; 100_000].join(",")),
        format!("SET a.b = '{long}'"),
    ] {
        assert_eq!(code(&client.batch_execute(&sql).unwrap_err()), "54000", "{}", &sql[..30]);
    }
    for at in 0..100 {
        let set = client.batch_execute(&format!("SET a.b{at} = '{}'", &long[..10_000]));
        assert!(set.is_ok() == (at < 26), "{at}");
    }
}

#[test]
fn what_a_client_began_with_is_what_reset_goes_back_to() {
    let served = served();
    let mut config = served.config();
    let mut client =
        config.options("-c TimeZone=Europe/Rome -c datestyle=German -c search_path=a,b").connect(NoTls).unwrap();
    let began = |client: &mut Client| {
        let shown =
            ["timezone", "datestyle", "search_path"].map(|name| shown(client, &format!("SHOW {name}")).concat());
        assert_eq!(shown, ["Europe/Rome", "German, DMY", "a, b"].map(str::to_owned));
    };
    began(&mut client);
    for back in ["RESET ALL", "DISCARD ALL", "RESET timezone; RESET datestyle; SET search_path = DEFAULT"] {
        client.batch_execute("SET timezone = 'UTC'; SET datestyle = 'ISO'; SET search_path = c").unwrap();
        client.batch_execute(back).unwrap();
        began(&mut client);
    }
}

#[test]
fn files_of_the_server_are_not_for_clients() {
    let served = served();
    let mut client = served.connect();
    client.batch_execute("CREATE TABLE t (a text)").unwrap();
    for sql in [
        "COPY t FROM '/etc/passwd'",
        "COPY t TO '/tmp/of_a_client'",
        "COPY (SELECT 1) TO '/tmp/of_a_client'",
        "COPY t FROM PROGRAM 'ls'",
        "COPY t TO PROGRAM 'cat'",
    ] {
        assert_eq!(code(&client.batch_execute(sql).expect_err(sql)), "42501", "{sql}");
    }
    for sql in [
        "DO $$ BEGIN EXECUTE 'COPY t FROM ''/etc/passwd'''; END $$",
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT pg_read_binary_file('/etc/passwd')",
        "SELECT pg_ls_dir('/')",
        "SELECT pg_stat_file('/etc/passwd')",
        "SELECT lo_import('/etc/passwd')",
        "BACKUP TO '/tmp/of_a_client'",
        "VACUUM INTO '/tmp/of_a_client'",
        "ATTACH '/tmp/of_a_client' AS a",
        "LOAD 'library'",
        "CREATE FUNCTION f() RETURNS int LANGUAGE c AS '/tmp/library'",
    ] {
        client.batch_execute(sql).expect_err(sql);
    }
    assert!(!std::path::Path::new("/tmp/of_a_client").exists());
}

#[test]
fn who_may_only_read_can_not_be_made_to_write() {
    let ceilings = Ceilings { reads_only: true, ..Ceilings::default() };
    let served = Served::with(Options { trusts_all: true, ceilings: Some(ceilings), ..Options::default() });
    let writer = served.database.connect().unwrap();
    let schema = "CREATE TABLE t (a int); CREATE SEQUENCE s;
        CREATE PROCEDURE p() LANGUAGE plpgsql AS $$ BEGIN COMMIT; INSERT INTO t VALUES (1); END $$;
        CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN INSERT INTO t VALUES (1); END $$";
    writer.execute_script(schema).unwrap();
    let mut client = served.connect();
    for sql in [
        "INSERT INTO t VALUES (1)",
        "BEGIN READ WRITE; INSERT INTO t VALUES (1); COMMIT",
        "START TRANSACTION READ WRITE; INSERT INTO t VALUES (1); COMMIT",
        "BEGIN; SET TRANSACTION READ WRITE; INSERT INTO t VALUES (1); COMMIT",
        "BEGIN; SET transaction_read_only = off; INSERT INTO t VALUES (1); COMMIT",
        "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
        "SET default_transaction_read_only = off",
        "SELECT set_config('transaction_read_only', 'off', false); INSERT INTO t VALUES (1)",
        "RESET ALL; INSERT INTO t VALUES (1)",
        "BEGIN; COMMIT AND CHAIN; INSERT INTO t VALUES (1); COMMIT",
        "SELECT nextval('s')",
        "SELECT setval('s', 7)",
        "CALL p()",
        "SELECT f()",
        "DO $$ BEGIN INSERT INTO t VALUES (1); END $$",
        "DO $$ BEGIN SET TRANSACTION READ WRITE; INSERT INTO t VALUES (1); END $$",
        "DO $$ BEGIN EXECUTE 'SET default_transaction_read_only = off'; COMMIT; INSERT INTO t VALUES (1); END $$",
        "WITH w AS (INSERT INTO t VALUES (1) RETURNING a) SELECT * FROM w",
        "CREATE TABLE u (a int)",
        "TRUNCATE t",
        "DROP TABLE t",
        "SELECT * INTO u FROM t",
        "PREPARE i AS INSERT INTO t VALUES (1); EXECUTE i",
        "EXPLAIN ANALYZE INSERT INTO t VALUES (1)",
    ] {
        let refused = client.batch_execute(sql).expect_err(sql);
        assert!(["25006", "42501", "0A000"].contains(&code(&refused)), "{sql}: {refused:?}");
        client.batch_execute("ROLLBACK").unwrap();
    }
    assert!(client.copy_in("COPY t FROM STDIN").and_then(|copy| copy.finish()).is_err());
    let mut client = served.connect();
    client.batch_execute("DISCARD ALL").unwrap();
    assert_eq!(code(&client.batch_execute("INSERT INTO t VALUES (1)").unwrap_err()), "25006");
    let refused =
        served.config().options("-c default_transaction_read_only=off").connect(NoTls).err().expect("refused");
    assert_eq!(code(&refused), "42501");
    assert_eq!(shown(&mut client, "SELECT count(*) FROM t"), ["0"]);
    writer.execute("INSERT INTO t SELECT nextval('s')", ()).unwrap();
    assert_eq!(shown(&mut client, "SELECT a FROM t"), ["1"], "the sequence is where it was");
}

#[test]
fn names_of_statements_and_cursors_have_an_end() {
    let served = served();
    let mut client = served.connect();
    for at in 0..5 {
        let prepared = client.batch_execute(&format!("PREPARE p{at} AS SELECT {at}"));
        assert_eq!(prepared.err().map(|error| code(&error).to_owned()), (at >= 3).then(|| "53400".to_owned()));
    }
    client.batch_execute("DEALLOCATE p1; PREPARE p9 AS SELECT 9").unwrap();
    client
        .batch_execute(
            "BEGIN; DECLARE a CURSOR FOR SELECT 1; DECLARE b CURSOR FOR SELECT 1; DECLARE c CURSOR FOR SELECT 1",
        )
        .unwrap();
    assert_eq!(code(&client.batch_execute("DECLARE d CURSOR FOR SELECT 1").unwrap_err()), "53400");
    client.batch_execute("ROLLBACK; BEGIN; DECLARE d CURSOR FOR SELECT 1; COMMIT").unwrap();
    let long = "x".repeat(9 << 20);
    let mut at = 0;
    let roomy = Served::with(Options { trusts_all: true, ..Options::default() });
    let mut client = roomy.connect();
    while client.batch_execute(&format!("PREPARE p{at} AS SELECT '{long}'")).is_ok() {
        at += 1;
    }
    assert_eq!(at, 7, "of 9 MB each");
}

#[test]
fn savepoints_channels_and_advisory_locks_have_an_end() {
    let served = served();
    let mut client = served.connect();
    let refused = |client: &mut Client, sql: &str| code(&client.batch_execute(sql).expect_err(sql)).to_owned();
    client.batch_execute("BEGIN; SAVEPOINT a; SAVEPOINT b; SAVEPOINT c").unwrap();
    assert_eq!(refused(&mut client, "SAVEPOINT d"), "53400");
    client.batch_execute("ROLLBACK; LISTEN a; LISTEN b; LISTEN c").unwrap();
    assert_eq!(refused(&mut client, "LISTEN d"), "53400");
    for sql in ["UNLISTEN a", "LISTEN d", "UNLISTEN *", "BEGIN; LISTEN a; LISTEN b; LISTEN c"] {
        client.batch_execute(sql).unwrap();
    }
    assert_eq!(refused(&mut client, "LISTEN d"), "53400");
    client.batch_execute("ROLLBACK; SELECT pg_advisory_lock(1), pg_advisory_lock(2), pg_advisory_lock(3)").unwrap();
    assert_eq!(refused(&mut client, "SELECT pg_advisory_lock(4)"), "53400");
    client.batch_execute("SELECT pg_advisory_unlock(1), pg_advisory_lock(4), pg_advisory_unlock_all()").unwrap();
    assert_eq!(refused(&mut client, "BEGIN; SELECT pg_advisory_xact_lock(n) FROM generate_series(1, 4) n"), "53400");
    client
        .batch_execute("ROLLBACK; BEGIN; SELECT pg_advisory_xact_lock(n) FROM generate_series(1, 3) n; COMMIT")
        .unwrap();
    client.batch_execute("SELECT pg_advisory_lock(n) FROM generate_series(1, 3) n").unwrap();
}
