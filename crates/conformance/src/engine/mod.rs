//! One face for the engines that are compared: text in, rows as text out.

mod cairn;
mod face;
mod postgres;
mod printed;
mod server;
mod sqlite;

pub use cairn::CairnEngine;
pub use face::{Answer, Column, Engine, Failure, Session};
pub use postgres::PostgresEngine;
pub use printed::PrintedEngine;
pub use server::{PostgresServer, StartError, program};
pub use sqlite::SqliteEngine;
