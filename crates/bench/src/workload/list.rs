//! Which workloads there are.

use super::{
    analytics, bulk, commit, concurrent, dispatch, documents, embedded, fields, held, indexed, kv, live, memory,
    pipelined,
};
use super::{read, recovery, reporting, short, stalls, syscalls, text, triggers, validation, vote, windows};
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
    Workload { name: "indexed", about: "INSERT into two secondary indexes, each durable", run: indexed::run },
    Workload { name: "read", about: "prepared point SELECT, hot; one and two threads", run: read::run },
    Workload { name: "bulk", about: "bulk insert, 1,000 rows per transaction; file size", run: bulk::run },
    Workload { name: "concurrent", about: "many threads of durable upserts and updates", run: concurrent::run },
    Workload { name: "short", about: "transactions of four statements by key; 1 to 32 threads", run: short::run },
    Workload { name: "held", about: "commits beside held snapshots and idle sessions", run: held::run },
    Workload { name: "reporting", about: "a report over all that six threads change", run: reporting::run },
    Workload { name: "validation", about: "a commit after a scan, beside 1,000 others a second", run: validation::run },
    Workload { name: "pipelined", about: "one thread that does not wait for each commit", run: pipelined::run },
    Workload {
        name: "embedded",
        about: "read, join, insert, commit, size; ranges, scans, threads",
        run: embedded::run,
    },
    Workload { name: "kv", about: "integers under integers, with the engine's own counters", run: kv::run },
    Workload { name: "vote", about: "durable votes at set rates, and their counts read back", run: vote::run },
    Workload { name: "documents", about: "3 databases of JSON documents, 1 to 64 workers", run: documents::run },
    Workload { name: "dispatch", about: "what a call costs before any work, and what is left", run: dispatch::run },
    Workload { name: "text", about: "statements as text that were never seen before", run: text::run },
    Workload {
        name: "live",
        about: "live queries: notifications, what they cost a writer, and a change of a result",
        run: live::run,
    },
    Workload { name: "analytics", about: "TPC-H, each query", run: analytics::run },
    Workload { name: "windows", about: "running total and rank of many partitions", run: windows::run },
    Workload { name: "fields", about: "one field of JSON documents of 1 KiB", run: fields::run },
    Workload { name: "triggers", about: "an audit row for each row of a bulk UPDATE", run: triggers::run },
    Workload { name: "recovery", about: "time to reopen after a kill, against log size", run: recovery::run },
    Workload { name: "memory", about: "data 4 times the cache: peak memory, reads, scan", run: memory::run },
    Workload { name: "stalls", about: "sustained durable inserts, then updates: the worst waits", run: stalls::run },
    Workload { name: "syscalls", about: "system calls per commit of a lone committer (strace)", run: syscalls::run },
];
