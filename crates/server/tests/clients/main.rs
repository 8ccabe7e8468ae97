//! The server with clients that people have: who comes in, what reaches them, and how they are let go.
#![cfg(unix)]

mod ceilings;
mod crowd;
mod dump;
mod folder;
mod idle;
mod killed;
mod known;
mod process;
mod rude;
mod soak;

use std::collections::HashMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cairn_conformance::engine::program;
use cairn_server::{Options, Running, Server, Verifier};
use cairndb::Database;
use postgres::fallible_iterator::FallibleIterator;
use postgres::{Client, Config, NoTls, error::SqlState};
use tempfile::TempDir;

/// How long is waited for what must come: not a measure of anything, but the time after which it will not.
const PATIENCE: Duration = Duration::from_secs(60);

struct Served {
    folder: TempDir,
    database: Database,
    running: Running,
}

impl Served {
    fn with(options: Options) -> Served {
        Served::both(cairndb::Options::default(), options)
    }

    /// Of a database that was opened with these.
    fn of(database: cairndb::Options) -> Served {
        Served::both(database, Options { owner: Served::owner(), ..Options::default() })
    }

    fn both(database: cairndb::Options, options: Options) -> Served {
        let folder = TempDir::new().expect("a folder");
        let database = Database::open_with(folder.path().join("shop.cairn"), database.name("shop")).expect("opens");
        let socket = Some((folder.path().to_owned(), 5432));
        let options = Options { socket, ..options };
        let running = Server::over(database.clone()).with(options).start().expect("starts");
        Served { folder, database, running }
    }

    /// Over the socket, as its owner.
    fn new() -> Served {
        Served::with(Options { owner: Served::owner(), ..Options::default() })
    }

    /// The user who makes files.
    fn owner() -> Option<u32> {
        let file = TempDir::new().expect("a folder");
        Some(std::os::unix::fs::MetadataExt::uid(&file.path().metadata().expect("its owner")))
    }

    fn config(&self) -> Config {
        let mut config = Config::new();
        config.host_path(self.folder.path()).user("me").dbname("shop").connect_timeout(PATIENCE);
        config
    }

    fn connect(&self) -> Client {
        self.config().connect(NoTls).expect("connects")
    }

    fn rows(&self, table: &str) -> i64 {
        let conn = self.database.connect().expect("connects");
        conn.query_row_as(&format!("SELECT count(*) FROM {table}"), ()).expect("counts")
    }
}

/// Whether another session runs this, as it is told: a pattern of LIKE, without constants.
fn is_running(client: &mut Client, statement: &str) -> bool {
    let sql = "SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND query LIKE $1 AND pid <> pg_backend_pid()";
    !client.query(sql, &[&statement]).expect("asks").is_empty()
}

/// Cancels a session's statement again and again, until it is told that this is done: who cancels before it has begun cancels nothing.
fn cancel_until(done: Arc<AtomicBool>, token: postgres::CancelToken) -> JoinHandle<()> {
    std::thread::spawn(move || {
        while !done.load(Ordering::Relaxed) {
            token.cancel_query(NoTls).expect("the server is there");
            std::thread::sleep(Duration::from_millis(20));
        }
    })
}

fn code(error: &postgres::Error) -> &str {
    error.code().map_or("none", SqlState::code)
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_column_tells_of_which_table_it_is() {
    let served = Served::new();
    let mut client = served.connect();
    client
        .batch_execute(
            "CREATE TABLE gone (a int); CREATE TABLE t (id int PRIMARY KEY, x int, name text); CREATE TABLE u (t int, y text);
             ALTER TABLE t DROP COLUMN x; CREATE VIEW v AS SELECT name AS called FROM t",
        )
        .unwrap();
    let oid = |client: &mut postgres::Client, name: &str| -> u32 {
        client.query_one("SELECT oid FROM pg_class WHERE relname = $1::text", &[&name]).unwrap().get(0)
    };
    let (t, u) = (oid(&mut client, "t"), oid(&mut client, "u"));
    let mut origins = |sql: &str| -> Vec<Option<(u32, i16)>> {
        let statement = client.prepare(sql).unwrap();
        let columns = statement.columns().iter();
        columns.map(|column| column.table_oid().zip(column.column_id())).collect()
    };
    let (id, name, y) = (Some((t, 1)), Some((t, 3)), Some((u, 2)));
    assert_eq!(origins("SELECT name, id, id + 1, 'x', name FROM t WHERE id = $1"), [name, id, None, None, name]);
    assert_eq!(origins("SELECT y, t.* FROM t LEFT JOIN u ON u.t = t.id ORDER BY y LIMIT 3"), [y, id, name]);
    assert_eq!(origins("SELECT name, count(*) FROM t GROUP BY name"), [name, None]);
    assert_eq!(origins("SELECT s.n FROM (SELECT DISTINCT name AS n FROM t) s, u"), [name]);
    assert_eq!(origins("SELECT id FROM t UNION ALL SELECT t FROM u"), [None]);
    assert_eq!(origins("SELECT called FROM v"), [name]);
    assert_eq!(origins("INSERT INTO t VALUES (1, 'x') RETURNING name, id + 1, id"), [name, None, id]);
    assert_eq!(origins("UPDATE t SET name = y FROM u WHERE u.t = id RETURNING t.name, y"), [name, None]);
    assert_eq!(origins("DELETE FROM t WHERE id = $1 RETURNING *"), [id, name]);
    assert_eq!(origins("WITH w AS MATERIALIZED (SELECT name FROM t) SELECT a.name FROM w a, w b"), [None]);
}

#[test]
fn values_of_every_kind_come_back_as_they_went() {
    let served = Served::new();
    let mut client = served.connect();
    client
        .batch_execute(
            "CREATE TABLE v (a int2, b int, c bigint, d float4, e float8, f text, g bool, h bytea, i int[], j text[])",
        )
        .unwrap();
    let insert = client.prepare("INSERT INTO v VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)").unwrap();
    let (ints, texts) = (vec![Some(1), None, Some(-3)], vec!["a", "", "\"{,}"]);
    client
        .execute(&insert, &[&7i16, &-8i32, &9i64, &1.5f32, &-2.25f64, &"text", &true, &&[0u8, 255][..], &ints, &texts])
        .unwrap();
    client
        .execute(
            &insert,
            &[
                &None::<i16>,
                &None::<i32>,
                &None::<i64>,
                &None::<f32>,
                &None::<f64>,
                &None::<&str>,
                &None::<bool>,
                &None::<&[u8]>,
                &None::<Vec<i32>>,
                &None::<Vec<&str>>,
            ],
        )
        .unwrap();
    let rows = client.query("SELECT * FROM v ORDER BY a", &[]).unwrap();
    assert_eq!(rows[0].get::<_, i16>(0), 7);
    assert_eq!((rows[0].get::<_, i32>(1), rows[0].get::<_, i64>(2)), (-8, 9));
    assert_eq!((rows[0].get::<_, f32>(3), rows[0].get::<_, f64>(4)), (1.5, -2.25));
    assert_eq!((rows[0].get::<_, &str>(5), rows[0].get::<_, bool>(6)), ("text", true));
    assert_eq!(rows[0].get::<_, &[u8]>(7), [0, 255]);
    assert_eq!((rows[0].get::<_, Vec<Option<i32>>>(8), rows[0].get::<_, Vec<&str>>(9)), (ints, texts));
    for at in 0..rows[1].len() {
        assert!(rows[1].try_get::<_, Option<i16>>(at).ok().flatten().is_none());
    }
}

#[test]
fn a_statement_runs_ten_times_and_in_a_transaction() {
    let served = Served::new();
    let mut client = served.connect();
    client.batch_execute("CREATE TABLE t (id int PRIMARY KEY)").unwrap();
    let insert = client.prepare("INSERT INTO t VALUES ($1)").unwrap();
    for id in 0..10 {
        assert_eq!(client.execute(&insert, &[&id]).unwrap(), 1);
    }
    let mut transaction = client.transaction().unwrap();
    transaction.execute(&insert, &[&10]).unwrap();
    assert_eq!(code(&transaction.execute(&insert, &[&10]).unwrap_err()), "23505");
    assert_eq!(code(&transaction.execute(&insert, &[&11]).unwrap_err()), "25P02");
    transaction.rollback().unwrap();
    let mut transaction = client.transaction().unwrap();
    transaction.execute(&insert, &[&10]).unwrap();
    let portal = transaction.bind("SELECT id FROM t ORDER BY id", &[]).unwrap();
    assert_eq!(transaction.query_portal(&portal, 4).unwrap().len(), 4);
    assert_eq!(transaction.query_portal(&portal, 0).unwrap().len(), 7);
    transaction.commit().unwrap();
    assert_eq!(served.rows("t"), 11);
}

#[test]
fn a_transaction_that_lost_is_told_so() {
    let served = Served::new();
    let (mut one, mut other) = (served.connect(), served.connect());
    one.batch_execute("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 0)").unwrap();
    one.batch_execute("BEGIN; UPDATE t SET n = n + 1 WHERE id = 1").unwrap();
    other.batch_execute("UPDATE t SET n = n + 10 WHERE id = 1").unwrap();
    assert_eq!(code(&one.batch_execute("COMMIT").unwrap_err()), "40001");
    assert_eq!(one.query_one("SELECT n FROM t", &[]).unwrap().get::<_, i32>(0), 10);
}

#[test]
fn who_has_no_password_stays_out_and_learns_nothing() {
    let users = HashMap::from([("known".to_owned(), Verifier::of_password("right", &[1; 16]).into())]);
    let addresses = vec!["127.0.0.1:0".parse().unwrap()];
    let served = Served::with(Options { users, addresses, ..Options::default() });
    let port = served.running.addresses()[0].port();
    let connect = |user: &str, password: &str| {
        let mut config = Config::new();
        config.host("127.0.0.1").port(port).user(user).password(password).dbname("nowhere");
        config.connect(NoTls).err().map(|error| code(&error).to_owned())
    };
    assert_eq!(connect("known", "wrong").as_deref(), Some("28P01"));
    assert_eq!(connect("unknown", "right").as_deref(), Some("28P01"));
    // Only who is known hears what there is.
    assert_eq!(connect("known", "right").as_deref(), Some("3D000"));
    let mut config = served.config();
    config.user("known").password("right");
    let mut client = config.connect(NoTls).expect("over the socket with a password, too");
    assert_eq!(client.query_one("SELECT 1", &[]).unwrap().get::<_, i32>(0), 1);
}

#[test]
fn where_nobody_has_a_password_nobody_else_comes_in() {
    let addresses = vec!["127.0.0.1:0".parse().unwrap()];
    let served = Served::with(Options { owner: Some(u32::MAX - 1), addresses, ..Options::default() });
    assert_eq!(code(&served.config().connect(NoTls).err().unwrap()), "28000");
    let port = served.running.addresses()[0].port();
    let error = Config::new().host("127.0.0.1").port(port).user("me").password("x").connect(NoTls).err().unwrap();
    assert_eq!(code(&error), "28000");
    let reached = Options { addresses: vec!["0.0.0.0:0".parse().unwrap()], trusts_all: true, ..Options::default() };
    let refused = Server::over(served.database.clone()).with(reached).start().err().expect("refused");
    assert_eq!(refused.sqlstate().as_str(), "42501");
}

#[test]
fn there_are_no_more_sessions_than_allowed() {
    let served = Served::with(Options { trusts_all: true, connections_max: 1, ..Options::default() });
    let client = served.connect();
    assert_eq!(code(&served.config().connect(NoTls).err().unwrap()), "53300");
    drop(client);
    until("a place is free again", || served.config().connect(NoTls).is_ok());
}

/// Who comes in is counted where it gets its place: of many at once no more are let in.
#[test]
fn there_are_no_more_sessions_than_allowed_of_many_who_come_at_once() {
    let served = Served::with(Options { trusts_all: true, connections_max: 3, ..Options::default() });
    let start = std::sync::Barrier::new(16);
    let clients: Vec<_> = std::thread::scope(|scope| {
        let come = || {
            start.wait();
            served.config().connect(NoTls)
        };
        let threads: Vec<_> = (0..16).map(|_| scope.spawn(come)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(clients.iter().filter(|client| client.is_ok()).count(), 3);
    assert!(clients.iter().filter_map(|client| client.as_ref().err()).all(|error| code(error) == "53300"));
}

#[test]
fn a_statement_is_cancelled_by_who_knows_the_key() {
    let served = Served::new();
    let mut client = served.connect();
    let done = Arc::new(AtomicBool::new(false));
    let canceller = cancel_until(done.clone(), client.cancel_token());
    let error = client.batch_execute("SELECT count(*) FROM generate_series(1, 100000000000)").unwrap_err();
    assert_eq!(code(&error), "57014");
    done.store(true, Ordering::Relaxed);
    canceller.join().unwrap();
    // What was sent last may come behind it.
    until("it goes on", || client.query_one("SELECT 1", &[]).is_ok_and(|row| row.get::<_, i32>(0) == 1));
}

#[test]
fn who_listens_hears_at_once_though_he_asks_nothing() {
    let served = Served::new();
    let mut client = served.connect();
    client.batch_execute("LISTEN news").unwrap();
    let writer = served.database.connect().unwrap();
    let teller = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        writer.execute("NOTIFY news, 'at last'", ()).unwrap();
    });
    let heard = client.notifications().timeout_iter(PATIENCE).next().unwrap().expect("a notification");
    assert_eq!((heard.channel(), heard.payload()), ("news", "at last"));
    teller.join().unwrap();
    // And after it.
    assert_eq!(client.query_one("SELECT 1", &[]).unwrap().get::<_, i32>(0), 1);
    client.batch_execute("NOTIFY news, 'own'").unwrap();
    let heard = client.notifications().timeout_iter(PATIENCE).next().unwrap().expect("a notification");
    assert_eq!(heard.payload(), "own");
}

#[test]
fn what_a_client_that_is_gone_did_not_commit_is_rolled_back() {
    let served = Served::new();
    let mut client = served.connect();
    client.batch_execute("CREATE TABLE t (id int)").unwrap();
    client.batch_execute("BEGIN; INSERT INTO t VALUES (1)").unwrap();
    drop(client);
    let mut other = served.connect();
    other.batch_execute("INSERT INTO t VALUES (2)").unwrap();
    assert_eq!(served.rows("t"), 1);
}

#[test]
fn the_server_ends_sessions_with_a_word_and_their_statements() {
    let served = Served::new();
    let mut open = served.connect();
    // By hand: a library may find the socket closed before it reads what was said last.
    let said = |query: &[u8]| {
        let mut socket = UnixStream::connect(served.folder.path().join(".s.PGSQL.5432")).unwrap();
        socket.write_all(&[b"\0\0\0\x1f\0\x03\0\0user\0me\0database\0shop\0\0", query].concat()).unwrap();
        socket
    };
    let idle = said(b"");
    let busy = said(b"Q\0\0\0\x3cSELECT count(*) FROM generate_series(1, 100000000000) a\0");
    open.batch_execute("CREATE TABLE t (id int)").unwrap();
    open.batch_execute("BEGIN; INSERT INTO t VALUES (1)").unwrap();
    until("they are in", || served.running.sessions() == 3);
    let mut looks = served.connect();
    until("one runs", || is_running(&mut looks, "SELECT count (%"));
    let Served { folder, database, running } = served;
    let begun = Instant::now();
    running.stop();
    assert!(begun.elapsed() < PATIENCE, "it took {:?}", begun.elapsed());
    for mut socket in [idle, busy] {
        let mut heard = Vec::new();
        socket.read_to_end(&mut heard).unwrap();
        assert!(heard.windows(5).any(|code| code == b"57P01"), "{}", heard.escape_ascii());
    }
    assert!(open.batch_execute("COMMIT").is_err());
    assert!(!folder.path().join(".s.PGSQL.5432").exists());
    let conn = database.connect().unwrap();
    assert_eq!(conn.query_row_as::<i64>("SELECT count(*) FROM t", ()).unwrap(), 0);
}

/// What psql says to these commands.
fn psql(served: &Served, commands: &str) -> Option<String> {
    let mut psql = Command::new(program("psql")?);
    psql.args(["-X", "-A", "-h"]).arg(served.folder.path()).args(["-U", "me", "-d", "shop", "-c"]);
    let mut input = psql.args(["SELECT 1 AS first"]);
    for command in commands.lines().map(str::trim).filter(|command| !command.is_empty()) {
        input = input.args(["-c", command]);
    }
    let output = input.output().expect("psql runs");
    Some(String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

#[test]
fn psql_shows_tables_and_copies_files() {
    let served = Served::new();
    let file = served.folder.path().join("t.csv");
    std::fs::write(&file, "2,two\n3,\n").unwrap();
    let commands = format!(
        "CREATE TABLE t (id int PRIMARY KEY, name text NOT NULL DEFAULT 'x', n numeric(6,2))
         INSERT INTO t VALUES (1, 'one', 1.5)
         \\copy t (id, name) FROM '{file}' CSV FORCE NOT NULL name
         \\copy t TO STDOUT
         \\d t
         \\dt
         SELECT 1/0",
        file = file.display()
    );
    let Some(said) = psql(&served, &commands) else {
        eprintln!("LEFT OUT: psql is not installed");
        return;
    };
    for expected in [
        "INSERT 0 1",
        "COPY 2",
        "1\tone\t1.50\n2\ttwo\t\\N\n3\t\t\\N\n",
        "name|text||not null|'x'::text",
        "n|numeric(6,2)|||",
        "\"t_pkey\" PRIMARY KEY, btree (id)",
        "public|t|table|",
        "ERROR:  division by zero",
    ] {
        assert!(said.contains(expected), "{expected:?} is not in:\n{said}");
    }
}

#[test]
fn pgbench_makes_its_tables_and_runs() {
    let served = Served::new();
    let Some(pgbench) = program("pgbench") else {
        eprintln!("LEFT OUT: pgbench is not installed");
        return;
    };
    let run = |arguments: &[&str]| {
        let mut pgbench = Command::new(&pgbench);
        pgbench.arg("-h").arg(served.folder.path()).args(["-U", "me"]).args(arguments).arg("shop");
        let output = pgbench.output().expect("pgbench runs");
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(output.status.success(), "{said}");
        said
    };
    run(&["-i", "-q"]);
    assert_eq!(served.rows("pgbench_accounts"), 100_000);
    for mode in ["simple", "extended", "prepared"] {
        let said = run(&["-n", "-N", "-M", mode, "-t", "20", "-c", "2"]);
        assert!(said.contains("number of transactions actually processed: 40/40"), "{said}");
    }
    assert_eq!(served.rows("pgbench_history"), 120);
}
