//! The server as a plain client of HTTP sees it.

mod arrow;
mod bad;
mod beside;
mod bulk;
mod changes;
mod client;
mod console;
mod console_panels;
mod crowded;
mod documents;
mod faults;
mod feeds;
mod generated;
mod groups;
#[cfg(unix)]
#[path = "../../../server/tests/drivers/installed.rs"]
mod installed;
mod jwt;
mod killed;
mod listener;
mod live;
mod openapi;
mod process;
mod questions;
mod rules;
#[cfg(feature = "tls")]
mod secured;
mod tokens;
mod typescript;
mod watched;

use cairn_http::{Options, Running, Scope, Secret, Token};
use cairn_server::Server;
use cairndb::Database;
use serde_json::{Value, json};
use tempfile::TempDir;

use client::{Answer, Client};

/// A server of one database, `shop`, with a token that may do everything.
struct Served {
    // (What is let go of first stands first.)
    http: Running,
    _server: cairn_server::Running,
    database: Database,
    client: Client,
    _folder: TempDir,
}

fn token(name: &str, scopes: &[Scope]) -> (String, Token) {
    let secret = Secret::random().unwrap();
    (secret.text().to_owned(), secret.token(name, scopes))
}

impl Served {
    fn with(options: Options, server: cairn_server::Options) -> Served {
        let folder = TempDir::new().unwrap();
        let named = cairndb::Options::default().name("shop");
        let database = Database::open_with(folder.path().join("shop.cairn"), named).unwrap();
        let server = Server::over(database.clone()).with(server).start().unwrap();
        let (secret, token) = token("all", &Scope::ALL);
        let mut options = Options { addresses: vec!["127.0.0.1:0".parse().unwrap()], ..options };
        options.tokens.push(token);
        let http = Running::start(server.services(), options).unwrap();
        let client = Client::new(http.addresses()[0], &secret);
        Served { http, _server: server, database, client, _folder: folder }
    }

    fn new() -> Served {
        Served::with(Options::default(), cairn_server::Options::default())
    }

    /// With an empty collection, `notes`.
    fn with_notes() -> Served {
        let served = Served::new();
        assert_eq!(served.client.put("/db/shop/collections/notes", "").status, 201);
        served
    }

    fn rows(&self, sql: &str) -> i64 {
        self.database.connect().unwrap().query_row_as(sql, ()).unwrap()
    }
}

const NOTES: &str = "/db/shop/collections/notes";

fn note(id: &str) -> String {
    format!("{NOTES}/documents/{id}")
}

/// The SQLSTATE of what went wrong, with its status.
fn told(answer: &Answer) -> (u16, String) {
    let body = answer.json();
    assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{body}");
    assert_eq!(body["status"], json!(answer.status));
    (answer.status, body["sqlstate"].as_str().unwrap_or_default().to_owned())
}

fn of(status: u16, code: &str) -> (u16, String) {
    (status, code.to_owned())
}

fn id_of(answer: &Answer) -> String {
    answer.json()["id"].as_str().unwrap().to_owned()
}

/// Whether a value is what it is said to be.
#[track_caller]
fn same(found: &Value, expected: Value) {
    assert_eq!(found, &expected);
}
