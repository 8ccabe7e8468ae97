//! What sessions of PostgreSQL's clients and requests over HTTP have of each other.

use std::io::{BufReader, Write};
use std::time::{Duration, Instant};

use postgres::NoTls;

use super::client::{read_chunk, read_head};
use super::listener::Listener;
use super::*;

/// A folder that is served to both, who are trusted.
fn served(folder: &TempDir) -> (cairn_server::Running, Running, Client, postgres::Client) {
    let server = Server::of_folder(folder.path(), cairndb::Options::default()).unwrap();
    let address = "127.0.0.1:0".parse().unwrap();
    let trusts =
        cairn_server::Options { trusts_all: true, addresses: vec![address], ..cairn_server::Options::default() };
    let server = server.with(trusts).start().unwrap();
    let options = Options { addresses: vec![address], ..Options::default() };
    let http = Running::start(server.services(), options).unwrap();
    let client = Client::new(http.addresses()[0], "");
    let mut config = postgres::Config::new();
    config.host("127.0.0.1").port(server.addresses()[0].port()).user("me").dbname("postgres");
    let session = config.connect(NoTls).unwrap();
    (server, http, client, session)
}

#[test]
fn statements_over_http_are_counted_with_those_of_sessions() {
    let folder = TempDir::new().unwrap();
    let (server, http, client, mut session) = served(&folder);
    session.batch_execute("CREATE DATABASE shop").unwrap();
    let ask = |sql: &str| client.post("/db/shop/sql", &json!({ "sql": sql }).to_string());
    assert_eq!(ask("CREATE TABLE t (a int)").status, 200);
    for n in 0..3 {
        assert_eq!(ask(&format!("INSERT INTO t VALUES ({n}), (7)")).json()["affected"], 2);
    }
    assert_eq!(ask("SELECT a FROM t WHERE a < 7").json()["rows"].as_array().unwrap().len(), 3);
    let mut counted = |like: &str| {
        let sql = "SELECT calls, rows FROM pg_stat_statements WHERE datname = 'shop' AND query LIKE $1";
        session
            .query(sql, &[&like])
            .unwrap()
            .iter()
            .map(|row| (row.get::<_, i64>(0), row.get::<_, i64>(1)))
            .collect::<Vec<_>>()
    };
    assert_eq!(counted("INSERT INTO t%"), [(3, 6)]);
    // (Rows are counted when their answer is let go of.)
    let begun = Instant::now();
    while counted("SELECT a FROM t%") != [(1, 3)] {
        assert!(begun.elapsed() < Duration::from_secs(10));
    }
    http.stop();
    server.stop();
}

/// Streams end, those of clients too that take nothing; streams of other databases go on.
#[test]
fn a_database_that_is_dropped_by_force_ends_its_streams() {
    let folder = TempDir::new().unwrap();
    let (server, http, client, mut session) = served(&folder);
    for name in ["shop", "store"] {
        session.batch_execute(&format!("CREATE DATABASE {name}")).unwrap();
        assert_eq!(client.put(&format!("/db/{name}/collections/notes"), "").status, 201);
    }
    let mut stream = Listener::begin(&client, "", "").unwrap();
    let mut live = client.connect();
    live.write_all(client.head("GET", "/db/shop/live?sql=SELECT%20id%20FROM%20notes", &[]).as_bytes()).unwrap();
    let mut live = BufReader::new(live);
    assert_eq!(read_head(&mut live).0, 200);
    let mut other = client.connect();
    other.write_all(client.head("GET", "/db/store/collections/notes/changes", &[]).as_bytes()).unwrap();
    let mut other = BufReader::new(other);
    assert_eq!(read_head(&mut other).0, 200);
    // This one takes nothing of more than there is room for on the way.
    let _stuck = Listener::begin(&client, "", "").unwrap();
    let long = json!({ "text": "x".repeat(200_000) }).to_string();
    for n in 0..100 {
        assert_eq!(client.put(&note(&n.to_string()), &long).status, 201);
        stream.expect("insert", &n.to_string());
    }
    session.batch_execute("DROP DATABASE shop WITH (FORCE)").unwrap();
    let end = stream.next().unwrap();
    assert_eq!((end.kind.as_str(), &end.data["message"]), ("end", &json!("the database is dropped")));
    assert_eq!(stream.next(), None);
    let mut told = String::new();
    while let Some(chunk) = read_chunk(&mut live) {
        told.push_str(&String::from_utf8_lossy(&chunk));
    }
    assert!(told.ends_with("event: end\ndata: {\"message\":\"the database is dropped\"}\n\n"));
    assert_eq!(self::told(&client.get("/db/shop/collections")), of(404, "3D000"));
    assert_eq!(client.put("/db/store/collections/notes/documents/a", "{}").status, 201);
    // Pulses come before it where this has taken a while.
    let mut told = String::new();
    while !told.contains("event: insert") {
        told.push_str(&String::from_utf8_lossy(&read_chunk(&mut other).expect("the other database's stream goes on")));
    }
    http.stop();
    server.stop();
}

#[test]
fn a_database_that_no_request_is_about_is_dropped_at_once() {
    let folder = TempDir::new().unwrap();
    let (server, http, client, mut session) = served(&folder);
    let code = |result: Result<(), postgres::Error>| result.unwrap_err().code().unwrap().code().to_owned();
    session.batch_execute("CREATE DATABASE shop").unwrap();
    assert_eq!(client.put(NOTES, "").status, 201);
    let stream = Listener::begin(&client, "", "").unwrap();
    for statement in ["DROP DATABASE shop", "ALTER DATABASE shop RENAME TO store"] {
        assert_eq!(code(session.batch_execute(statement)), "55006");
    }
    drop(stream);
    assert_eq!(client.put(&note("a"), "{}").status, 201);
    let renamed = |session: &mut postgres::Client, statement: &str| {
        let begun = Instant::now();
        // (That a stream's client is gone is noticed after a moment.)
        while let Err(error) = session.batch_execute(statement) {
            assert!(begun.elapsed() < Duration::from_secs(4), "{error:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    renamed(&mut session, "ALTER DATABASE shop RENAME TO store");
    assert_eq!(client.get(&note("a")).status, 404);
    assert_eq!(client.get("/db/store/collections/notes/documents/a").status, 200);
    renamed(&mut session, "DROP DATABASE store");
    assert_eq!(told(&client.get("/db/store/collections")), of(404, "3D000"));
    http.stop();
    server.stop();
}
