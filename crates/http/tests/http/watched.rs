//! What watches a server.

use super::*;

#[test]
fn metrics_and_health_are_told_to_whoever_asks_where_that_is_said() {
    let metrics = Some("127.0.0.1:0".parse().unwrap());
    let reached = Options { metrics: Some("0.0.0.0:0".parse().unwrap()), ..Options::default() };
    let server = cairn_server::Options::default();
    assert_eq!(reached.check(&server).unwrap_err().sqlstate().as_str(), "42501");
    assert!(reached.check(&cairn_server::Options { is_insecure: true, ..server }).is_ok());
    let served = Served::with(Options { metrics, ..Options::default() }, cairn_server::Options::default());
    assert_eq!(served.client.put(NOTES, "").status, 201);
    let watcher = Client::new(served.http.metrics().unwrap(), "");
    let get = |path: &str| (watcher.get(path).status, watcher.get(path).body);
    assert_eq!(get("/healthz"), (200, "ok\n".to_owned()));
    assert_eq!(get("/readyz?x=1"), (200, "ready\n".to_owned()));
    assert_eq!([get("/").0, get("/db").0, watcher.post("/metrics", "").status], [404, 404, 405]);
    let head = watcher.ask("HEAD", "/metrics", &[], "");
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    let told = watcher.get("/metrics").body;
    for expected in [
        "# TYPE cairn_statement_seconds histogram\n",
        "cairn_statement_seconds_bucket{le=\"+Inf\"} ",
        "cairn_commits_total{database=\"shop\"} ",
        // Batches and records, their size and latency, the last sync.
        "cairn_log_batches_total{database=\"shop\"} ",
        "cairn_log_records_total{database=\"shop\"} ",
        "cairn_log_batch_commits_max{database=\"shop\"} ",
        "# TYPE cairn_log_batch_records histogram\n",
        "cairn_log_batch_records_bucket{database=\"shop\",le=\"4\"} ",
        "cairn_log_sync_seconds_bucket{database=\"shop\",le=\"+Inf\"} ",
        "cairn_log_sync_seconds_max{database=\"shop\"} ",
        "cairn_log_last_sync_timestamp_seconds{database=\"shop\"} 1",
        // What a commit waits for, a bucket and all of them.
        "# TYPE cairn_commit_seconds histogram\n",
        "cairn_commit_seconds_bucket{database=\"shop\",le=\"0.001\"} ",
        "cairn_commit_seconds_sum{database=\"shop\"} 0.",
        // The cache by database, the log, checkpoints, connections.
        "cairn_cache_hits_total{database=\"shop\"} ",
        "cairn_cache_misses_total{database=\"shop\"} ",
        "cairn_cache_bytes_max{database=\"shop\"} ",
        "cairn_cache_dirty_bytes{database=\"shop\"} ",
        "cairn_log_written_bytes_total{database=\"shop\"} ",
        "cairn_log_live_bytes{database=\"shop\"} ",
        "cairn_checkpoints_total{database=\"shop\"} ",
        "cairn_checkpoint_seconds_total{database=\"shop\"} ",
        "cairn_connections 0\n",
        "cairn_sessions{state=\"idle\"} 0\n",
        "cairn_durability{mode=\"full\"} 1\n",
        "cairn_http_requests_total{method=\"PUT\",status=\"201\"} 1\n",
        "cairn_http_request_seconds_count 1\n",
        "cairn_http_databases_open 1\n",
    ] {
        assert!(told.contains(expected), "{expected}: {told}");
    }
    let value = |name: &str| told.lines().find_map(|line| line.strip_prefix(name)).expect(name).to_owned();
    let commits = value("cairn_commits_total{database=\"shop\"} ");
    assert_eq!(value("cairn_commit_seconds_count{database=\"shop\"} "), commits, "each has waited");
    // Each line is a comment, or a name with perhaps labels and a number.
    for line in told.lines().filter(|line| !line.starts_with("# ")) {
        let (name, value) = line.rsplit_once(' ').expect(line);
        assert!(name.starts_with("cairn_") && value.parse::<f64>().is_ok(), "{line}");
    }
}

#[test]
fn errors_are_counted_with_those_of_sessions() {
    let served = Served::with_notes();
    served.client.put(&note("a"), "{");
    let told = served.client.get("/metrics").body;
    assert!(told.contains("cairn_errors_total{sqlstate=\"22P02\"} 1\n"), "{told}");
}

#[test]
fn long_answers_are_compressed_for_who_takes_that() {
    let served = Served::with_notes();
    served.client.put(&note("a"), &format!("\"{}\"", "x".repeat(10_000)));
    let answer = served.client.ask("GET", &note("a"), &[("Accept-Encoding", "gzip")], "");
    assert_eq!(answer.header("content-encoding"), Some("gzip"));
    assert!(answer.body.len() < 1000);
}
