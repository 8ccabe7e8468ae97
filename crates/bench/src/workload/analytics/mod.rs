//! TPC-H.

mod answer;
mod data;
mod queries;
mod run;

pub use run::run;
