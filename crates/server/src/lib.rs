//! CairnDB served to PostgreSQL's clients: a thread for each connection, which waits in the database's own calls.
//!
//! What a client says and hears is the wire's (`cairn_wire::Conversation`); here are sockets, threads, who may come in, and how all
//! ends.

mod access;
#[cfg(feature = "tls")]
mod certificate;
mod copy;
mod database_statement;
mod databases;
mod door;
mod folder;
mod hearing;
mod line;
mod listener;
mod log;
mod registry;
mod results;
mod server;
mod session;
mod stream;
mod throttle;
#[cfg_attr(not(feature = "tls"), path = "no_tls.rs")]
mod tls;

pub use access::{Access, Method, Network, User};
pub use cairn_wire::{Limits, Verifier};
pub use cairndb::Ceilings;
pub use log::Log;
pub use server::{Options, Running, Server};
pub use tls::Tls;
