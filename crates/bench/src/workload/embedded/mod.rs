//! What an embedded database is chosen by.

mod data;
mod readings;
mod run;

pub use run::run;
