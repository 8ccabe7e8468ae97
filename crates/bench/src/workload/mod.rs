//! The workloads, one file each. To add one: a file with a `run`, and a line in `list`.

mod bulk;
mod commit;
mod concurrent;
mod list;
mod pipelined;
mod read;
mod stalls;
mod syscalls;
mod together;

pub use list::{ALL, Workload};
