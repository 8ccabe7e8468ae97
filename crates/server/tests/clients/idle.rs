//! Who waits, who guesses, who is gone, and what is told of it.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cairn_server::{Log, Options, Verifier};
use postgres::{Config, NoTls};

use crate::{PATIENCE, Served, code, is_running, until};

/// A client without a library, which has logged in and says this.
pub fn raw(served: &Served, query: &str) -> UnixStream {
    raw_at(&served.folder.path().join(".s.PGSQL.5432"), query)
}

pub fn raw_at(path: &Path, query: &str) -> UnixStream {
    let mut socket = UnixStream::connect(path).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.write_all(b"\0\0\0\x1f\0\x03\0\0user\0me\0database\0shop\0\0").unwrap();
    say(&mut socket, query);
    socket
}

pub fn say(socket: &mut UnixStream, query: &str) {
    let length = (query.len() as u32 + 5).to_be_bytes();
    socket.write_all(&[b"Q", &length[..], query.as_bytes(), b"\0"].concat()).unwrap();
}

/// What is said up to the end.
pub fn last_words(mut socket: UnixStream) -> String {
    let mut heard = Vec::new();
    socket.read_to_end(&mut heard).unwrap();
    String::from_utf8_lossy(&heard).into_owned()
}

#[test]
fn who_is_idle_for_too_long_is_ended_with_a_word() {
    let served = Served::new();
    let idle = raw(&served, "SET idle_session_timeout = '50ms'");
    let listens = raw(&served, "LISTEN news; SET idle_session_timeout = '50ms'");
    let in_transaction =
        raw(&served, "SET idle_in_transaction_session_timeout = '50ms'; BEGIN; CREATE TABLE gone (a int)");
    let too_long = raw(&served, "SET transaction_timeout = '80ms'; BEGIN");
    let in_failed = raw(&served, "SET idle_in_transaction_session_timeout = '50ms'; BEGIN; SELECT 1/0");
    for (socket, expected) in
        [(idle, "57P05"), (listens, "57P05"), (in_transaction, "25P03"), (too_long, "25P04"), (in_failed, "25P03")]
    {
        let words = last_words(socket);
        assert!(words.contains("SFATAL") && words.contains(expected), "{expected}: {words}");
    }
    // It is the time between statements, outside of transactions, or within.
    let mut client = served.connect();
    client.batch_execute("SET idle_session_timeout = '300ms'; BEGIN").unwrap();
    std::thread::sleep(Duration::from_millis(400));
    client.batch_execute("COMMIT; SELECT pg_sleep(0.4)").unwrap();
    assert_eq!(code(&served.connect().batch_execute("SELECT * FROM gone").unwrap_err()), "42P01");
}

#[test]
fn who_is_gone_while_his_statement_runs_is_noticed() {
    let served = Served::new();
    let busy = raw(&served, "CREATE TABLE t (id int)");
    let mut other = busy.try_clone().unwrap();
    say(
        &mut other,
        "BEGIN; INSERT INTO t VALUES (1); INSERT INTO t SELECT a FROM generate_series(1, 100000000000) a WHERE a < 0",
    );
    say(&mut other, "COMMIT");
    let mut looks = served.connect();
    until("it runs", || is_running(&mut looks, "%generate_series%"));
    drop((looks, busy, other));
    until("its session ends", || served.running.sessions() == 0);
    assert_eq!(served.rows("t"), 0, "what it had sent behind is not run");
}

#[test]
fn who_does_not_read_does_not_keep_the_server_from_stopping() {
    let served =
        Served::with(Options { trusts_all: true, output_timeout: Duration::from_secs(600), ..Options::default() });
    let deaf = raw(&served, "SELECT repeat('x', 1000000) FROM generate_series(1, 1000)");
    let mut looks = served.connect();
    until("it runs", || is_running(&mut looks, "SELECT repeat (%"));
    let begun = Instant::now();
    let Served { running, folder: _folder, .. } = served;
    running.stop();
    assert!(begun.elapsed() < 2 * PATIENCE, "{:?}", begun.elapsed());
    drop(deaf);
}

#[test]
fn who_takes_nothing_is_let_go_after_a_while() {
    let served =
        Served::with(Options { trusts_all: true, output_timeout: Duration::from_secs(2), ..Options::default() });
    let deaf = raw(&served, "SELECT repeat('x', 1000000) FROM generate_series(1, 1000)");
    until("it has begun", || served.running.sessions() == 1);
    until("it is let go", || served.running.sessions() == 0);
    drop(deaf);
}

#[test]
fn there_are_no_more_sessions_of_one_user_than_allowed() {
    let served = Served::with(Options { trusts_all: true, connections_max_by_user: Some(1), ..Options::default() });
    let _client = served.connect();
    let refused = served.config().connect(NoTls).err().expect("refused");
    assert_eq!(code(&refused), "53300");
    assert!(served.config().user("another").connect(NoTls).is_ok());
    let served = Served::with(Options { trusts_all: true, connections_max_by_database: Some(1), ..Options::default() });
    let _client = served.connect();
    let refused = served.config().user("another").connect(NoTls).err().expect("refused");
    assert_eq!(code(&refused), "53300");
}

#[test]
fn who_guesses_is_kept_waiting_whether_there_is_such_a_user_or_not() {
    let guess = |user: &str| {
        let users = HashMap::from([("known".to_owned(), Verifier::of_password("right", &[1; 16]).into())]);
        let addresses = vec!["127.0.0.1:0".parse().unwrap()];
        let served = Served::with(Options { users, addresses, ..Options::default() });
        let port = served.running.addresses()[0].port();
        let connect = |user: &str, password: &str| {
            let mut config = Config::new();
            config.host("127.0.0.1").port(port).user(user).password(password).dbname("shop");
            config.connect(NoTls).err().map(|error| code(&error).to_owned())
        };
        let wrong = |count| (0..count).for_each(|_| assert_eq!(connect(user, "wrong").as_deref(), Some("28P01")));
        wrong(4);
        // From the next on there are 100 ms to another, then 100, then 200.
        let begun = Instant::now();
        wrong(3);
        // The address is known for it by now, whoever it names; who is right comes in.
        assert_eq!(connect("known", "right"), None);
        assert!(begun.elapsed() >= Duration::from_millis(380), "{:?}", begun.elapsed());
    };
    ["known", "unknown"].into_iter().for_each(guess);
}

#[test]
fn what_happens_is_told_and_nothing_secret_with_it() {
    let lines: Arc<Mutex<Vec<String>>> = Arc::default();
    let taken = lines.clone();
    let users = HashMap::from([("known".to_owned(), Verifier::of_password("hunter2", &[1; 16]).into())]);
    let log = Log::to(move |line| taken.lock().unwrap().push(line.to_owned()));
    let served =
        Served::with(Options { users, log, slow_statement: Some(Duration::from_millis(20)), ..Options::default() });
    let connect = |user: &str, password: &str| {
        let mut config = Config::new();
        config.host_path(served.folder.path()).user(user).password(password).dbname("shop").connect(NoTls)
    };
    assert!(connect("known", "wr0ng").is_err() && connect("stranger", "hunter2").is_err());
    let mut client = connect("known", "hunter2").unwrap();
    client.batch_execute("SELECT pg_sleep(0.05), 'hunter2' /* hunter2 */").unwrap();
    client.query("SELECT pg_sleep($1::float8), 'hunter2'", &[&0.05]).unwrap();
    client
        .batch_execute(
            "SET statement_mem = '64kB'; SELECT string_agg(n::text, 'hunter2') FROM generate_series(1, 1000000) AS n",
        )
        .unwrap_err();
    drop(client);
    until("all is told", || lines.lock().unwrap().iter().any(|line| line.contains("event=disconnected")));
    let told = lines.lock().unwrap().join("\n");
    for expected in [
        "level=info event=listening socket=",
        "event=started database=shop durability_at_least=full",
        "level=warning event=login_failed user=known from=[local]",
        "level=warning event=login_failed user=stranger from=[local]",
        "event=connected process=",
        "user=known database=shop from=[local]",
        "statement=\"SELECT pg_sleep (?), ?\"",
        "statement=\"SELECT pg_sleep ($1 :: float8), ?\"",
        "level=error event=error",
        "code=53200",
        "event=disconnected",
    ] {
        assert!(told.contains(expected), "{expected:?} is not in:\n{told}");
    }
    assert!(!told.contains("hunter2") && !told.contains("wr0ng"), "{told}");
}
