//! Deterministic simulation of CairnDB's storage engine: its threads, time, randomness and disk under one seeded
//! scheduler, a workload of many kinds of clients, and a judge of what they saw.

pub mod check;
pub mod clients;
mod company;
pub mod doors;
mod feed;
pub mod fleet;
pub mod flips;
pub mod full;
mod graph;
pub mod history;
mod hurry;
mod large;
mod lives;
pub mod machine;
pub mod random;
pub mod rows;
pub mod run;
pub mod scheduler;
pub mod shape;
mod sums;
mod told;
pub mod value;
mod wakers;
