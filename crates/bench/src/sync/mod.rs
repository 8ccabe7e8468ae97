//! `sync`: what the medium itself can do, and which settings that suggests.
//!
//! Three questions, each with every method: how long one durable write takes by its size, in space of which kind (written
//! before, allocated but never written, or new at the end), and how many a second several threads get together.

mod advice;
mod method;
mod probe;
mod show;

pub use show::run;
