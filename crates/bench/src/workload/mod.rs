//! The workloads, one file each. To add one: a file with a `run`, and a line in `list`.

mod analytics;
pub mod bank;
mod bulk;
mod commit;
mod concurrent;
mod dispatch;
mod documents;
mod embedded;
mod fields;
pub mod filling;
mod futures;
mod held;
mod indexed;
mod kv;
mod list;
mod live;
mod memory;
mod pipelined;
mod questions;
mod read;
mod recovery;
mod reporting;
mod short;
mod stalls;
mod syscalls;
mod text;
mod together;
mod triggers;
mod validation;
mod vote;
mod windows;

pub use kv::{Mode, TxMode};
pub use list::{ALL, Workload};
