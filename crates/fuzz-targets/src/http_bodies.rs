//! Bodies of requests over HTTP, sent to a server in this process.
//!
//! ```text
//! kind u8 | the body
//! ```
//! Promised besides: no answer is the server's fault (5xx); an error tells its SQLSTATE in a body of the kind that it says; what is done as a whole is done or
//! leaves all as it was; a prefix that is told is there.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use cairndb::Database;

/// What a kind of body is sent to.
const WAYS: [(&str, &str, &str); 10] = [
    ("POST", "/documents", "application/json"),
    ("PUT", "/documents/a", "application/json"),
    ("PATCH", "/documents/a", "application/merge-patch+json"),
    ("PATCH", "/documents/a", "application/json-patch+json"),
    ("POST", "/bulk", "application/json"),
    ("POST", "/bulk?ids=true", "application/x-ndjson"),
    ("POST", "/bulk?atomic=false", "application/x-ndjson"),
    ("POST", "/query", "application/json"),
    ("POST", "/aggregate", "application/json"),
    ("POST", BATCH, "application/json"),
];
/// Of the database, and no collection of it.
const BATCH: &str = "/batch";
/// Of which a failure leaves all as it was: all but a prefix.
const PREFIX: usize = 6;

struct Machine {
    database: Database,
    address: SocketAddr,
    _running: (cairn_http::Running, cairn_server::Running),
}

static MACHINE: LazyLock<Mutex<Machine>> = LazyLock::new(|| {
    let database = Database::open_in_memory_with(cairndb::Options::default().name("shop")).expect("a database");
    let options = cairn_server::Options { trusts_all: true, ..cairn_server::Options::default() };
    let server = cairn_server::Server::over(database.clone()).with(options).start().expect("a server");
    let addresses = vec![SocketAddr::from(([127, 0, 0, 1], 0))];
    let options = cairn_http::Options { addresses, ..cairn_http::Options::default() };
    let http = cairn_http::Running::start(server.services(), options).expect("a server");
    Mutex::new(Machine { database, address: http.addresses()[0], _running: (http, server) })
});

/// The target.
pub fn http_bodies(data: &[u8]) {
    let Some((kind, body)) = data.split_first() else { return };
    let at = usize::from(*kind) % WAYS.len();
    let machine = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let connection = machine.database.connect().expect("a connection");
    let notes = connection.create_collection("notes").expect("a collection");
    connection.execute("DELETE FROM notes", ()).expect("documents go");
    notes.put("a", r#"{"n": 1, "tags": ["s"]}"#).expect("a document");
    let state = || {
        let sql = "SELECT count(*), min(id), md5(string_agg(id || doc::text, '' ORDER BY id)) FROM notes";
        connection.query_row(sql, (), |row| Ok(format!("{:?}", row.values()))).expect("it is asked")
    };
    let (before, count) = (state(), || notes.find("{}").count().expect("it is counted"));
    let (status, headers, told) = machine.answer(WAYS[at], body);
    let shown = format!("{at} {:?}: {status} {told}", String::from_utf8_lossy(body));
    assert!((200..500).contains(&status), "{shown}");
    if status < 300 {
        if let Some(inserted) = told.strip_prefix("{\"inserted\":") {
            assert_eq!(inserted.trim_end_matches('}').parse(), Ok(count() - 1), "{shown}");
        }
        return;
    }
    assert!(headers.contains("application/problem+json"), "{shown} {headers}");
    let code = told.split_once("\"sqlstate\":\"").map(|(_, code)| code.get(..5).unwrap_or_default().to_owned());
    assert!(code.is_some_and(|code| code.len() == 5 && code != "XX000"), "{shown}");
    match at {
        PREFIX => {
            let inserted =
                told.split_once("\"inserted\":").map_or("0", |(_, rest)| rest.split([',', '}']).next().unwrap_or("0"));
            assert_eq!(inserted.parse(), Ok(count() - 1), "{shown}");
        }
        _ => assert_eq!(state(), before, "{shown}"),
    }
}

impl Machine {
    /// The status, the head and the body of what is answered.
    fn answer(&self, (method, path, kind): (&str, &str, &str), body: &[u8]) -> (u16, String, String) {
        let collection = if path == BATCH { "" } else { "/collections/notes" };
        let path = format!("/db/shop{collection}{path}");
        let mut stream = TcpStream::connect(self.address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time");
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"
        );
        stream.write_all(&[head.as_bytes(), body].concat()).expect("it is taken");
        let mut reader = BufReader::new(stream);
        let (mut head, mut body) = (String::new(), String::new());
        while !head.ends_with("\r\n\r\n") {
            assert!(reader.read_line(&mut head).expect("a head") > 0, "{head}");
        }
        reader.read_to_string(&mut body).expect("a body");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        (status, head, body)
    }
}
