//! Instructions that one operation takes, counted: what two builds do differently shows here where times are too noisy.

mod counted;
mod operations;
mod run;

pub use run::run;
