//! CairnDB served over HTTP: documents, SQL, changes, and what watches a server.
//!
//! It stands beside the server of PostgreSQL's clients (`cairn_server`), over the same databases, with its limits, its log and its metrics. What
//! documents mean is said by the library (`cairndb::Collection`); here it is carried.
//!
//! - Nothing is opened, and no name of a database or collection is looked at, for who has shown no token that may (`token.rs`, `jwt.rs`, `guard.rs`).
//! - A request is a task; what a database does for it runs on that database's workers (`cairndb_async`), and nobody waits for a disk on a
//!   thread of the runtime.
//! - A 2xx of a change is a commit that is durable as the server's configuration says.
//! - A task that is dropped (its client is gone, its time is over) interrupts what runs for it.

mod aggregate;
mod app;
mod arrow;
mod asking;
mod audit;
mod batch;
mod body;
mod bulk;
mod changes;
mod collections;
mod console;
mod databases;
mod documents;
mod etag;
mod events;
mod feed;
mod feeds;
mod guard;
mod jwt;
mod live;
mod names;
mod options;
mod principal;
mod problem;
mod query;
mod routes;
mod rules;
mod server;
mod sockets;
mod sql;
#[cfg_attr(not(feature = "tls"), path = "no_tls.rs")]
mod tls;
mod token;
mod tokens;
mod watched;

pub use jwt::Jwt;
pub use options::Options;
pub use server::Running;
pub use token::{Scope, Secret, Token};
pub use tokens::{LIST_TOKENS, create_console_login, create_token, revoke_token};
