//! PostgreSQL's own regression scripts, statement by statement, here and in PostgreSQL.
//!
//! Each script runs in an empty database behind `test_setup.sql`, so what one leaves for another is missing on both sides
//! alike. psql's part of a script is read as far as its statements need it (`script.rs`).

mod report;
mod run;
mod script;

pub use report::{Report, Tally};
pub use run::compare_script;
pub use script::{Place, Statement, read_script};
