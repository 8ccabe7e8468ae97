//! Articles and the votes for them.

mod run;
mod store;

pub use run::run;
