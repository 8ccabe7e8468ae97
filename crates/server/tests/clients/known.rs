//! What a server knows is asked in SQL, by clients' own statements and by nothing else.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use cairn_server::{Options, User, Verifier};
use postgres::{Client, NoTls};

use crate::folder::Folder;
use crate::idle::raw;
use crate::{PATIENCE, Served, code, until};

fn texts(client: &mut Client, sql: &str) -> Vec<String> {
    let rows = client.query(sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    rows.iter().map(|row| row.get::<_, Option<String>>(0).unwrap_or_else(|| "NULL".to_owned())).collect()
}

fn process(client: &mut Client) -> i32 {
    client.query_one("SELECT pg_backend_pid()", &[]).unwrap().get(0)
}

#[test]
fn the_databases_of_a_folder_are_listed_and_each_knows_its_name() {
    let folder = Folder::new(Options { connections_max_by_database: Some(7), ..Options::default() });
    folder.connect("postgres").batch_execute("CREATE DATABASE shop; ").unwrap();
    folder.connect("postgres").batch_execute("CREATE DATABASE other").unwrap();
    let mut shop = folder.connect("shop");
    assert_eq!(texts(&mut shop, "SELECT current_database() || current_catalog"), ["shopshop"]);
    assert_eq!(texts(&mut folder.connect("postgres"), "SELECT current_database()"), ["cairn"]);
    let listed = "SELECT datname::text || datconnlimit FROM pg_database ORDER BY 1";
    assert_eq!(texts(&mut shop, listed), ["cairn7", "other7", "shop7"]);
    shop.batch_execute("CREATE TABLE t (a int)").unwrap();
    let catalogs = "SELECT DISTINCT table_catalog::text FROM information_schema.columns WHERE table_name = 't'";
    assert_eq!(texts(&mut shop, catalogs), ["shop"]);
    // Oids are the same wherever they are asked for.
    let oids = "SELECT oid::text FROM pg_database ORDER BY datname";
    assert_eq!(texts(&mut shop, oids), texts(&mut folder.connect("other"), oids));
    let joined =
        "SELECT d.datname::text FROM pg_stat_activity a JOIN pg_database d ON a.datid = d.oid AND a.datname = d.datname
         WHERE a.pid = pg_backend_pid()";
    assert_eq!(texts(&mut shop, joined), ["shop"]);
    let sizes = "SELECT (pg_database_size(datname) > 0 AND pg_database_size(oid) > 0)::text FROM pg_database";
    assert_eq!(texts(&mut shop, sizes), ["true"; 3]);
    let counted =
        "SELECT datname::text || numbackends FROM pg_stat_database WHERE datname IN ('shop', 'other') ORDER BY 1";
    until("the others have left", || texts(&mut shop, counted) == ["other0", "shop1"]);
}

#[test]
fn sessions_are_told_with_what_they_do_and_nothing_secret() {
    let served = Served::new();
    let mut one = served.config().application_name("one").connect(NoTls).unwrap();
    let mut other = served.config().application_name("other").user("you").connect(NoTls).unwrap();
    other.batch_execute("BEGIN; SELECT 'hunter2' /* hunter3 */").unwrap();
    let told = |client: &mut Client, what: &str| {
        texts(client, &format!("SELECT ({what})::text FROM pg_stat_activity WHERE application_name = 'other'"))
    };
    assert_eq!(told(&mut one, "datname || usename || client_port || coalesce(client_addr, '-')"), ["shopyou-1-"]);
    assert_eq!(told(&mut one, "state || wait_event_type || wait_event"), ["idle in transactionClientClientRead"]);
    assert_eq!(told(&mut one, "query"), ["SELECT ?"]);
    assert_eq!(
        told(&mut one, "backend_start <= xact_start AND xact_start <= query_start AND query_start <= state_change"),
        ["true"]
    );
    other.batch_execute("SELECT 1/0").unwrap_err();
    assert_eq!(told(&mut one, "state"), ["idle in transaction (aborted)"]);
    other.batch_execute("ROLLBACK").unwrap();
    assert_eq!(told(&mut one, "concat(state, xact_start)"), ["idle"]);
    let own =
        "SELECT state || ':' || query FROM pg_stat_activity WHERE pid = pg_backend_pid() AND query LIKE '%' || $1";
    let row = one.query_one(own, &[&"$1"]).unwrap();
    assert!(row.get::<_, String>(0).starts_with("active:SELECT state || ? || query"));
}

#[test]
fn a_statement_is_cancelled_and_a_session_ended_by_its_number() {
    let served = Served::new();
    let (mut one, mut other) = (served.connect(), served.connect());
    let number = process(&mut other);
    assert_ne!(process(&mut one), number);
    let waits = std::thread::spawn(move || {
        let cancelled = other.batch_execute("SELECT pg_sleep(600)").unwrap_err();
        (code(&cancelled).to_owned(), other)
    });
    let runs = format!("SELECT pid::text FROM pg_stat_activity WHERE pid = {number} AND state = 'active'");
    until("it runs", || !texts(&mut one, &runs).is_empty());
    let ask = |client: &mut Client, sql: &str| client.query_one(sql, &[]).map(|row| row.get::<_, bool>(0));
    until("it is stopped", || {
        assert!(ask(&mut one, &format!("SELECT pg_cancel_backend({number})")).unwrap());
        waits.is_finished()
    });
    let (cancelled, mut other) = waits.join().unwrap();
    assert_eq!(cancelled, "57014");
    assert!(ask(&mut one, &format!("SELECT pg_terminate_backend({number}, 60000)")).unwrap());
    assert!(texts(&mut one, &format!("SELECT 'x' FROM pg_stat_activity WHERE pid = {number}")).is_empty());
    assert!(other.batch_execute("SELECT 1").is_err());
    let heard: Arc<Mutex<Vec<(String, String)>>> = Arc::default();
    let hears = heard.clone();
    let mut config = served.config();
    config.notice_callback(move |notice| {
        hears.lock().unwrap().push((notice.code().code().to_owned(), notice.message().to_owned()));
    });
    let mut one = config.connect(NoTls).unwrap();
    let no_backend = format!("PID {number} is not a PostgreSQL backend process");
    for gone in ["pg_cancel_backend", "pg_terminate_backend"] {
        assert!(!ask(&mut one, &format!("SELECT {gone}({number})")).unwrap());
        assert_eq!(heard.lock().unwrap().pop(), Some(("01000".to_owned(), no_backend.clone())), "{gone}");
    }
}

/// The session of the other clients that waits for this, by what PostgreSQL calls it.
fn waits_for(client: &mut Client, event: &str) -> bool {
    let sql = "SELECT query FROM pg_stat_activity WHERE state = 'active' AND wait_event_type || ':' || wait_event = ";
    !texts(client, &format!("{sql}'{event}'")).is_empty()
}

#[test]
fn what_a_session_waits_for_is_told_by_postgresqls_names() {
    let served = Served::new();
    let mut one = served.connect();
    one.batch_execute("CREATE TABLE t (a int); SELECT pg_advisory_lock(7)").unwrap();
    let sleeps = raw(&served, "SELECT pg_sleep(600)");
    let locks = raw(&served, "SELECT pg_advisory_lock(7)");
    let sends = raw(&served, "COPY t FROM STDIN");
    let deaf = raw(&served, "SELECT repeat('x', 1000000) FROM generate_series(1, 1000)");
    for event in ["Timeout:PgSleep", "Lock:advisory", "Client:ClientRead", "Client:ClientWrite"] {
        until(event, || waits_for(&mut one, event));
    }
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let write = || {
            let mut client = served.connect();
            while !done.load(Ordering::Relaxed) {
                client.batch_execute("INSERT INTO t VALUES (1)").unwrap();
            }
        };
        scope.spawn(write);
        scope.spawn(write);
        for event in ["IO:WALSync", "LWLock:WALWrite"] {
            until(event, || waits_for(&mut one, event));
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(!waits_for(&mut one, "IO:WALSync"), "nobody does any more");
    drop((sleeps, locks, sends, deaf));
}

/// Says statements until it is done, one after the other, or who waits for that has lost patience.
fn says(client: &mut Client, done: &AtomicBool, mut statement: impl FnMut(u64) -> String) {
    let begun = std::time::Instant::now();
    for number in 0.. {
        if done.load(Ordering::Relaxed) || begun.elapsed() > 2 * PATIENCE {
            return;
        }
        let sql = statement(number);
        client.batch_execute(&sql).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }
}

#[test]
fn waiting_for_a_turn_for_checkpoints_and_for_pages_is_told() {
    // Of the smallest cache, in which the table does not find room.
    let served = Served::of(cairndb::Options::default().cache_bytes(8 << 20));
    let mut one = served.connect();
    one.batch_execute(
        "CREATE TABLE few (id int PRIMARY KEY, n int); INSERT INTO few SELECT generate_series(1, 100), 0;
         CREATE TABLE total (n int); INSERT INTO total VALUES (0);
         CREATE TABLE wide (id int PRIMARY KEY, t text);
         INSERT INTO wide SELECT n, repeat('x', 2000) FROM generate_series(1, 20000) AS n",
    )
    .unwrap();
    one.batch_execute("CHECKPOINT").unwrap();
    let done = AtomicBool::new(false);
    // What reads all and takes its time loses to those that write, until it has a turn, for which they wait.
    let all = "UPDATE total SET n = (SELECT sum(few.n) FROM few, (SELECT pg_sleep(0.05)) AS slow)";
    std::thread::scope(|scope| {
        scope.spawn(|| says(&mut served.connect(), &done, |_| all.to_owned()));
        let write = |number: u64| format!("UPDATE few SET n = n + 1 WHERE id = {}", 1 + number % 100);
        let (mut writer, done) = (served.connect(), &done);
        scope.spawn(move || says(&mut writer, done, write));
        until("Lock:transactionid", || waits_for(&mut one, "Lock:transactionid"));
        done.store(true, Ordering::Relaxed);
    });
    for (event, statements) in [
        ("IPC:CheckpointDone", ["UPDATE few SET n = n + 1", "CHECKPOINT"]),
        ("IO:DataFileRead", ["SELECT sum(length(t)) FROM wide"; 2]),
    ] {
        done.store(false, Ordering::Relaxed);
        let (mut client, done) = (served.connect(), &done);
        std::thread::scope(|scope| {
            let said = move |number: u64| statements[usize::from(number % 2 == 1)].to_owned();
            scope.spawn(move || says(&mut client, done, said));
            until(event, || waits_for(&mut one, event));
            done.store(true, Ordering::Relaxed);
        });
        assert!(!waits_for(&mut one, event), "nobody does any more");
    }
}

#[test]
fn who_has_come_in_is_known_by_name() {
    let served = Served::new();
    let mut alice = served.config().user("alice").connect(NoTls).unwrap();
    let mut bob = served.config().user("bob").connect(NoTls).unwrap();
    alice
        .batch_execute(
            "CREATE TABLE said (by text DEFAULT current_user, n int); CREATE VIEW me AS SELECT session_user AS who;
             CREATE FUNCTION who() RETURNS text LANGUAGE sql STABLE AS 'SELECT current_user'",
        )
        .unwrap();
    for (client, name) in [(&mut alice, "alice"), (&mut bob, "bob")] {
        let all = "SELECT concat_ws(' ', current_user, session_user, user, current_role, who, who()) FROM me";
        assert_eq!(texts(client, all), [[name; 6].join(" ")]);
        client.batch_execute("INSERT INTO said (n) VALUES (1)").unwrap();
        let activity = "SELECT usename || pg_get_userbyid(usesysid) FROM pg_stat_activity WHERE pid = pg_backend_pid()";
        assert_eq!(texts(client, activity), [[name; 2].concat()]);
        let role = "SELECT rolname || pg_get_userbyid(oid) FROM pg_roles WHERE rolname = current_user";
        assert_eq!(texts(client, role), [[name; 2].concat()]);
        assert_eq!(texts(client, "SELECT usename::text FROM pg_user ORDER BY usesysid"), ["cairndb", name]);
    }
    assert_eq!(texts(&mut bob, "SELECT by FROM said ORDER BY by"), ["alice", "bob"]);
    // What is owned is the file's.
    assert_eq!(texts(&mut bob, "SELECT tableowner::text FROM pg_tables WHERE tablename = 'said'"), ["cairndb"]);
    let embedded = served.database.connect().unwrap();
    assert_eq!(embedded.query_row_as::<String>("SELECT current_user", ()).unwrap(), "cairndb");
}

#[test]
fn what_a_file_has_in_store_does_not_reach_the_server() {
    let served = Served::new();
    let (mut one, other) = (served.connect(), served.config().application_name("other").connect(NoTls).unwrap());
    one.batch_execute(
        "CREATE VIEW seen AS SELECT application_name::text FROM pg_stat_activity;
         CREATE VIEW listed AS SELECT datname::text FROM pg_database;
         CREATE VIEW run AS SELECT query FROM pg_stat_statements;
         CREATE VIEW ends AS SELECT pg_terminate_backend(pid) FROM pg_stat_activity;
         CREATE FUNCTION ends(pid int) RETURNS bool LANGUAGE plpgsql AS 'BEGIN RETURN pg_terminate_backend(pid); END';
         CREATE FUNCTION ends_by_name(pid int) RETURNS bool LANGUAGE plpgsql AS
             'DECLARE done bool; BEGIN EXECUTE ''SELECT pg_terminate_backend($1)'' INTO done USING pid; RETURN done; END';
         CREATE FUNCTION ends_in_sql(pid int) RETURNS bool LANGUAGE sql AS 'SELECT pg_terminate_backend(pid)';
         CREATE FUNCTION sees() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM pg_stat_activity';
         CREATE TABLE t (a int, b bool DEFAULT pg_terminate_backend(1));",
    )
    .unwrap();
    let all = "SELECT application_name::text FROM pg_stat_activity WHERE application_name = 'other'";
    assert_eq!(texts(&mut one, all), ["other"]);
    assert_eq!(texts(&mut one, "SELECT * FROM seen WHERE application_name = 'other'"), [] as [&str; 0]);
    assert_eq!(texts(&mut one, "SELECT * FROM listed"), ["shop"]);
    assert_eq!(texts(&mut one, "SELECT * FROM run"), [] as [&str; 0]);
    assert_eq!(texts(&mut one, "SELECT sees()::text"), ["1"]);
    for sql in [
        "SELECT * FROM ends",
        "SELECT ends(1)",
        "SELECT ends_by_name(1)",
        "SELECT ends_in_sql(1)",
        "INSERT INTO t VALUES (1)",
        "DO $$ BEGIN PERFORM pg_terminate_backend(1); END $$",
    ] {
        assert_eq!(code(&one.batch_execute(sql).expect_err(sql)), "0A000", "{sql}");
    }
    drop(other);
}

#[test]
fn statements_are_counted_by_their_text_without_constants() {
    let served = Served::new();
    let mut client = served.connect();
    client.batch_execute("CREATE TABLE t (a int)").unwrap();
    for value in 0..3 {
        client.batch_execute(&format!("INSERT INTO t VALUES ({value})")).unwrap();
    }
    let read = client.prepare("SELECT a FROM t WHERE a >= $1").unwrap();
    assert_eq!(client.query(&read, &[&1]).unwrap().len() + client.query(&read, &[&2]).unwrap().len(), 3);
    let counted = |client: &mut Client, text: &str| {
        let sql = "SELECT calls || ':' || rows || ':' || (min_exec_time <= mean_exec_time AND mean_exec_time <= max_exec_time)
             FROM pg_stat_statements WHERE query = ";
        texts(client, &format!("{sql}'{text}' AND usename = 'me' AND datname = current_database()"))
    };
    assert_eq!(counted(&mut client, "INSERT INTO t VALUES (?)"), ["3:3:true"]);
    assert_eq!(counted(&mut client, "SELECT a FROM t WHERE a >= $1"), ["2:3:true"]);
    client.query("SELECT pg_stat_statements_reset()", &[]).unwrap();
    assert_eq!(counted(&mut client, "INSERT INTO t VALUES (?)"), [] as [&str; 0]);
}

#[test]
fn who_may_only_read_is_not_told_of_others_and_stops_nobody_else() {
    let mut reader = User::from(Verifier::with_new_salt("secret").unwrap());
    reader.reads_only = true;
    let users = [("reader".to_owned(), reader)].into();
    let served = Served::with(Options { users, owner: Served::owner(), ..Options::default() });
    let mut owner = served.connect();
    let mut reader = served.config().user("reader").connect(NoTls).unwrap();
    let number = process(&mut owner);
    let seen = format!("SELECT query FROM pg_stat_activity WHERE pid = {number}");
    assert_eq!(texts(&mut reader, &seen), ["<insufficient privilege>"]);
    let forget = "SELECT pg_stat_statements_reset()".to_owned();
    for sql in ["pg_cancel_backend", "pg_terminate_backend"].map(|name| format!("SELECT {name}({number})")) {
        assert_eq!(code(&reader.batch_execute(&sql).expect_err(&sql)), "42501");
    }
    assert_eq!(code(&reader.batch_execute(&forget).unwrap_err()), "42501");
    let other = served.config().user("reader").connect(NoTls).map(|mut other| process(&mut other)).unwrap();
    assert!(reader.batch_execute(&format!("SELECT pg_cancel_backend({other})")).is_ok(), "his own");
    assert!(owner.batch_execute("SELECT 1").is_ok());
}

#[test]
fn psql_lists_databases_and_goes_from_one_to_another() {
    let Some(psql) = cairn_conformance::engine::program("psql") else {
        eprintln!("LEFT OUT: psql is not installed");
        return;
    };
    let folder = Folder::new(Options::default());
    folder.connect("postgres").batch_execute("CREATE DATABASE shop").unwrap();
    let mut psql = std::process::Command::new(psql);
    psql.args(["-X", "-A", "-t", "-U", "me", "-h"]).arg(folder.path()).arg("postgres");
    for command in ["\\l+", "\\c shop", "\\conninfo", "SELECT current_database()", "\\drds"] {
        psql.args(["-c", command]);
    }
    let output = psql.output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    for expected in [
        "cairn|",
        "shop|",
        "You are now connected to database \"shop\"",
        "connected to database \"shop\" as user \"me\"",
        "\nshop\n",
    ] {
        assert!(told.contains(expected), "{expected}: {told}");
    }
}
