//! CairnDB served to PostgreSQL's clients: a thread for each connection, which waits in the database's own calls.
//!
//! What a client says and hears is the wire's (`cairn_wire::Conversation`); here are sockets, threads, who may come in, and how all
//! ends.

mod access;
mod activity;
mod asked;
mod audit;
#[cfg(feature = "tls")]
mod certificate;
mod copy;
mod database_statement;
mod databases;
mod door;
mod folder;
mod hearing;
mod kept_settings;
mod line;
mod listener;
mod log;
mod metrics;
mod options;
mod own_statements;
mod registry;
mod reload;
mod results;
mod server;
mod services;
mod session;
mod statements;
mod stream;
mod throttle;
#[cfg_attr(not(feature = "tls"), path = "no_tls.rs")]
mod tls;

pub use access::{Access, Method, Network, User};
pub use audit::Event;
pub use cairn_wire::{Limits, Verifier};
pub use cairndb::Ceilings;
pub use folder::Lease;
pub use log::{Level, Log};
pub use metrics::{Histogram, Lines};
pub use options::Options;
pub use server::{Running, Server};
pub use services::{Ran, Services};
pub use tls::Tls;
