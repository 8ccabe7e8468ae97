//! CairnDB held against the systems whose behaviour it promises.
//!
//! - [`slt`]: scripts of statements and their expected results, our own and SQLite's.
//! - [`engine`]: one face for CairnDB, a private PostgreSQL server and SQLite.
//! - [`tpch`]: a tiny data set for the TPC-H queries.
//! - [`regress`]: PostgreSQL's own regression scripts.
//! - [`differential`]: random schemas, data and queries whose answers must agree between engines.
//! - [`sweep`]: ordinary queries, timed beside PostgreSQL and SQLite.

pub mod differential;
pub mod engine;
pub mod regress;
pub mod slt;
pub mod sweep;
pub mod tpch;
