//! What a server counts, as Prometheus reads it (text format 0.0.4): what its databases have counted, sessions, statements, errors.

use std::collections::BTreeMap;
use std::fmt::{Display, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use cairndb::{SqlState, Stats};

use crate::activity::State;
use crate::server::Shared;

/// The bounds of a histogram's buckets, in microseconds.
const BOUNDS_US: [u64; 12] =
    [100, 250, 500, 1_000, 2_500, 5_000, 10_000, 50_000, 100_000, 500_000, 1_000_000, 10_000_000];

/// How long something takes.
#[derive(Debug, Default)]
pub struct Histogram {
    /// Those that no bound is above are the last.
    buckets: [AtomicU64; BOUNDS_US.len() + 1],
    total_ns: AtomicU64,
}

/// What is counted of all sessions.
#[derive(Default)]
pub(crate) struct Metrics {
    pub(crate) statements: Histogram,
    pub(crate) sessions: AtomicU64,
    pub(crate) logins_failed: AtomicU64,
    errors: Mutex<BTreeMap<String, u64>>,
}

impl Histogram {
    /// Counts one.
    pub fn add(&self, time: Duration) {
        let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let bucket = BOUNDS_US.partition_point(|bound| bound * 1_000 < ns);
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        self.total_ns.fetch_add(ns, Ordering::Relaxed);
    }
}

impl Metrics {
    /// Something failed.
    pub(crate) fn failed(&self, code: SqlState) {
        let mut errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        *errors.entry(code.as_str().to_owned()).or_default() += 1;
    }
}

/// Metrics as Prometheus reads them: lines, those of a metric together.
#[derive(Debug, Default)]
pub struct Lines(String);

impl Lines {
    /// All of them.
    pub fn text(self) -> String {
        self.0
    }

    /// The lines that follow are of this metric.
    pub fn begin(&mut self, name: &str, kind: &str, help: &str) {
        // A String takes all that is written to it.
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    /// A value, under these labels.
    pub fn line(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.0.push_str(name);
        for (at, (label, value)) in labels.iter().enumerate() {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(self.0, "{}{label}=\"{value}\"", if at == 0 { '{' } else { ',' });
        }
        let _ = writeln!(self.0, "{} {value}", if labels.is_empty() { "" } else { "}" });
    }

    /// A metric of one value: its name, kind and help.
    pub fn one(&mut self, (name, kind, help): (&str, &str, &str), value: impl Display) {
        self.begin(name, kind, help);
        self.line(name, &[], value);
    }

    /// A histogram: its name and help.
    pub fn histogram(&mut self, (name, help): (&str, &str), of: &Histogram) {
        self.begin(name, "histogram", help);
        let mut count = 0;
        for (at, bucket) in of.buckets.iter().enumerate() {
            count += bucket.load(Ordering::Relaxed);
            let bound = BOUNDS_US.get(at).map_or_else(|| "+Inf".to_owned(), |us| (*us as f64 / 1e6).to_string());
            self.line(&format!("{name}_bucket"), &[("le", bound.as_str())], count);
        }
        self.line(&format!("{name}_sum"), &[], of.total_ns.load(Ordering::Relaxed) as f64 / 1e9);
        self.line(&format!("{name}_count"), &[], count);
    }

    /// A histogram of what each database has counted: how many up to each bound, and above that before it, and the sum of all.
    fn by_database<const N: usize>(
        &mut self,
        (name, help, bounds): (&str, &str, [&str; N]),
        open: &[(&str, &Stats)],
        of: fn(&Stats) -> ([u64; N], f64),
    ) {
        self.begin(name, "histogram", help);
        for (database, stats) in open {
            let (counts, sum) = of(stats);
            let mut count = 0;
            for (bound, more) in bounds.into_iter().zip(counts) {
                count += more;
                self.line(&format!("{name}_bucket"), &[("database", database), ("le", bound)], count);
            }
            self.line(&format!("{name}_sum"), &[("database", database)], sum);
            self.line(&format!("{name}_count"), &[("database", database)], count);
        }
    }
}

/// Bounds of what a database counts of times.
const SECONDS: [&str; 4] = ["0.001", "0.01", "0.1", "+Inf"];

/// What a database has counted, as a metric of each.
type OfDatabase = (&'static str, &'static str, &'static str, fn(&Stats) -> f64);

const OF_DATABASES: [OfDatabase; 20] = [
    ("cairn_commits_total", "counter", "Commits that changed something.", |of| of.commits as f64),
    ("cairn_conflicts_total", "counter", "Transactions that lost to another.", |of| of.conflicts as f64),
    ("cairn_log_batches_total", "counter", "Writes of the log, each of one commit or more.", |of| of.batches as f64),
    ("cairn_log_records_total", "counter", "Records in them: of commits, and of parts of large ones.", |of| {
        of.records as f64
    }),
    ("cairn_log_batch_commits_max", "gauge", "The most commits in one write.", |of| of.batch_commits_max as f64),
    ("cairn_log_syncs_total", "counter", "Writes of the log that were synced.", |of| of.syncs as f64),
    ("cairn_log_sync_seconds_max", "gauge", "The longest synced write.", |of| of.sync_us_max as f64 / 1e6),
    ("cairn_log_written_bytes_total", "counter", "Bytes written to the log.", |of| of.log_bytes_written as f64),
    ("cairn_log_live_bytes", "gauge", "Bytes of the log that a recovery would read.", |of| of.log_bytes_live as f64),
    ("cairn_cache_hits_total", "counter", "Pages that were found in memory.", |of| of.page_hits as f64),
    ("cairn_cache_misses_total", "counter", "Pages that had to be loaded.", |of| of.page_misses as f64),
    ("cairn_cache_bytes_max", "gauge", "Bytes that the cache takes at most.", |of| of.cache_bytes as f64),
    ("cairn_cache_dirty_bytes", "gauge", "Bytes of the cache that the file has not yet.", |of| of.dirty_bytes as f64),
    ("cairn_pages_read_total", "counter", "Pages read from the file.", |of| {
        (of.pages_read + of.pages_read_ahead) as f64
    }),
    ("cairn_pages_written_total", "counter", "Pages written to the file.", |of| of.pages_written as f64),
    ("cairn_pages", "gauge", "Pages of the file.", |of| of.pages_total as f64),
    ("cairn_checkpoints_total", "counter", "Completed checkpoints.", |of| of.checkpoints as f64),
    ("cairn_checkpoint_seconds_total", "counter", "Time in checkpoints.", |of| of.checkpoint_us as f64 / 1e6),
    ("cairn_backpressure_seconds_total", "counter", "Time that commits were slowed.", |of| {
        of.backpressure_us as f64 / 1e6
    }),
    ("cairn_spilled_bytes_total", "counter", "Bytes of temporary files.", |of| of.spill_bytes_written as f64),
];

/// All of it.
pub(crate) fn text(shared: &Shared) -> String {
    let mut lines = Lines::default();
    let version = env!("CARGO_PKG_VERSION");
    lines.begin("cairn_build_info", "gauge", "The version that runs.");
    lines.line("cairn_build_info", &[("version", version)], 1);
    of_databases(shared, &mut lines);
    of_sessions(shared, &mut lines);
    let metrics = &shared.metrics;
    lines.histogram(("cairn_statement_seconds", "How long statements take."), &metrics.statements);
    let failed = metrics.logins_failed.load(Ordering::Relaxed);
    lines.one(("cairn_logins_failed_total", "counter", "Passwords that were wrong."), failed);
    lines.begin("cairn_errors_total", "counter", "What sessions were told of, by SQLSTATE.");
    for (code, count) in metrics.errors.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        lines.line("cairn_errors_total", &[("sqlstate", code.as_str())], count);
    }
    lines.0
}

fn of_databases(shared: &Shared, lines: &mut Lines) {
    let listed = shared.databases.listed();
    let open: Vec<(&str, &Stats)> =
        listed.iter().filter_map(|(name, _, stats)| Some((name.as_str(), stats.as_ref()?))).collect();
    lines.one(("cairn_databases", "gauge", "Databases that there are."), listed.len());
    lines.one(("cairn_databases_open", "gauge", "Databases that are open."), open.len());
    for (name, kind, help, of) in OF_DATABASES {
        lines.begin(name, kind, help);
        open.iter().for_each(|(database, stats)| lines.line(name, &[("database", *database)], of(stats)));
    }
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    let name = "cairn_log_last_sync_timestamp_seconds";
    lines.begin(name, "gauge", "When the log was synced last, in seconds since 1970.");
    for (database, of) in open.iter().filter(|(_, of)| of.syncs > 0) {
        lines.line(name, &[("database", *database)], now - of.since_sync_us as f64 / 1e6);
    }
    let help = "How many records, which are of commits mostly, writes of the log have.";
    lines.by_database(("cairn_log_batch_records", help, ["1", "4", "16", "64", "+Inf"]), &open, |of| {
        let [one, four, sixteen, most] =
            [of.batches_of_1, of.batches_within_4, of.batches_within_16, of.batches_within_64];
        ([one, four - one, sixteen - four, most - sixteen, of.batches - most], of.records as f64)
    });
    let help = "How long synced writes of the log take.";
    lines.by_database(("cairn_log_sync_seconds", help, SECONDS), &open, |of| {
        let (most, within) = (of.syncs_within_100ms, of.syncs_within_10ms);
        let least = of.syncs_within_1ms;
        ([least, within - least, most - within, of.syncs - most], of.sync_us as f64 / 1e6)
    });
    let help = "How long commits wait until they are durable, where they wait for that.";
    lines.by_database(("cairn_commit_seconds", help, SECONDS), &open, |of| {
        let waited = [of.commits_waited_1ms, of.commits_waited_10ms, of.commits_waited_100ms, of.commits_waited_longer];
        (waited, of.commit_wait_us as f64 / 1e6)
    });
    let name = "cairn_handed_over_total";
    let help = "Statements that were not done by the thread that read the request, but by one that can wait, by why.";
    lines.begin(name, "counter", help);
    for (database, of) in &open {
        let known = [
            ("page", of.handed_over_for_page),
            ("commit_lock", of.handed_over_for_lock),
            ("log_room", of.handed_over_for_log),
            ("turn", of.handed_over_for_turn),
            ("sequence", of.handed_over_for_sequence),
            ("plan", of.handed_over_for_plan),
        ];
        let other = of.handed_over.saturating_sub(known.iter().map(|(_, count)| count).sum());
        for (cause, count) in known.into_iter().chain([("other", other)]) {
            lines.line(name, &[("database", *database), ("cause", cause)], count);
        }
    }
    lines.begin("cairn_durability", "gauge", "What a commit's acknowledgement means (wal.fsync.mode).");
    lines.line("cairn_durability", &[("mode", shared.durability().as_str())], 1);
}

fn of_sessions(shared: &Shared, lines: &mut Lines) {
    let connections = shared.registry.count_connections();
    lines.one(("cairn_connections", "gauge", "Connections, those that have not come in among them."), connections);
    let total = shared.metrics.sessions.load(Ordering::Relaxed);
    lines.one(("cairn_sessions_total", "counter", "Sessions that began."), total);
    let states = shared.registry.sessions().into_iter().map(|(_, entry)| entry.activity.state());
    let mut counts: BTreeMap<&str, usize> =
        [State::Active, State::Idle, State::InTransaction, State::Failed].map(|state| (state.name(), 0)).into();
    states.for_each(|state| *counts.entry(state.name()).or_default() += 1);
    lines.begin("cairn_sessions", "gauge", "Sessions, by what they do.");
    counts.iter().for_each(|(state, count)| lines.line("cairn_sessions", &[("state", *state)], count));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_count_all_that_is_not_longer() {
        let histogram = Histogram::default();
        for us in [50, 100, 101, 900, 20_000_000] {
            histogram.add(Duration::from_micros(us));
        }
        let mut lines = Lines::default();
        lines.histogram(("x", "It."), &histogram);
        for expected in [
            "x_bucket{le=\"0.0001\"} 2\n",
            "x_bucket{le=\"0.00025\"} 3\n",
            "x_bucket{le=\"0.001\"} 4\n",
            "x_bucket{le=\"10\"} 4\n",
            "x_bucket{le=\"+Inf\"} 5\n",
            "x_count 5\n",
        ] {
            assert!(lines.0.contains(expected), "{expected}: {}", lines.0);
        }
    }

    #[test]
    fn labels_are_quoted() {
        let mut lines = Lines::default();
        lines.line("x", &[("a", "q\"\\\n"), ("b", "")], 1.5);
        assert_eq!(lines.0, "x{a=\"q\\\"\\\\\\n\",b=\"\"} 1.5\n");
    }
}
