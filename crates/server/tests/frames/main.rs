//! Conversations of raw frames, with this server and with PostgreSQL 15, message by message.
#![cfg(unix)]

mod generated;
mod scenarios;
mod talk;

use std::path::PathBuf;

use cairn_conformance::engine::PostgresServer;
use cairn_server::{Options, Running, Server};
use cairndb::Database;
use tempfile::TempDir;

use talk::Talk;

/// Tables that both have.
const TABLES: &str = "CREATE TABLE t (id int PRIMARY KEY, name text, n numeric(10,2)); INSERT INTO t VALUES (1, 'one', 1.5), (2, 'two', NULL), (3, 'three', 3)";

/// Our server, and theirs.
struct Both {
    ours: TempDir,
    theirs: PostgresServer,
    _running: Running,
}

impl Both {
    /// `None`: there is no PostgreSQL here, which was said.
    fn start() -> Option<Both> {
        let theirs = PostgresServer::start_for_test()?;
        let ours = TempDir::new().expect("a folder");
        let database = Database::open_in_memory().expect("opens");
        let socket = Some((ours.path().to_owned(), 5432));
        let options = Options { socket, trusts_all: true, ..Options::default() };
        let running = Server::over(database).with(options).start().expect("starts");
        let both = Both { ours, theirs, _running: running };
        both.exchange(&Talk::new().query(TABLES));
        Some(both)
    }

    /// Where both are reached.
    fn sockets(&self) -> [PathBuf; 2] {
        [self.ours.path(), self.theirs.socket_folder()].map(|folder| folder.join(".s.PGSQL.5432"))
    }

    /// What both answer, in words.
    fn exchange(&self, talk: &Talk) -> (String, String) {
        let [ours, theirs] = self.sockets().map(|socket| talk.hold(&socket));
        (ours, theirs)
    }
}
