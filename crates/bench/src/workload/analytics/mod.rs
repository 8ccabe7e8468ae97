//! TPC-H.

mod answer;
mod data;
mod queries;
mod run;

pub use answer::difference;
pub use run::run;
