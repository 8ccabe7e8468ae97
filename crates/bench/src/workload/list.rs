//! Which workloads there are.

use super::{bulk, commit, concurrent, pipelined, read, stalls, syscalls};
use crate::Result;
use crate::report::Report;
use crate::setup::Setup;

/// A workload as the command line knows it.
pub struct Workload {
    pub name: &'static str,
    pub about: &'static str,
    pub run: fn(&Setup, &mut Report) -> Result<()>,
}

/// In the order in which `all` runs them.
pub const ALL: &[Workload] = &[
    Workload { name: "commit", about: "single-row UPDATE by key, each durable", run: commit::run },
    Workload { name: "read", about: "prepared point SELECT, hot; one and two threads", run: read::run },
    Workload { name: "bulk", about: "bulk insert, 1,000 rows per transaction; file size", run: bulk::run },
    Workload { name: "concurrent", about: "many threads of durable upserts and updates", run: concurrent::run },
    Workload { name: "pipelined", about: "one thread that does not wait for each commit", run: pipelined::run },
    Workload { name: "stalls", about: "sustained durable inserts, then updates: the worst waits", run: stalls::run },
    Workload { name: "syscalls", about: "system calls per commit of a lone committer (strace)", run: syscalls::run },
];
