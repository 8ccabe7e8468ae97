//! What watches a server: `/metrics`, `/healthz`, `/readyz`, and what is counted of requests.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{self, HeaderValue};
use axum::http::{Method, Response, StatusCode};
use cairn_server::{Histogram, Lines};

use crate::app::App;

const TEXT: &str = "text/plain; charset=utf-8";
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What is counted.
#[derive(Default)]
pub(crate) struct Counts {
    requests: Mutex<BTreeMap<(String, u16), u64>>,
    seconds: Histogram,
    pub(crate) connections: AtomicUsize,
}

impl Counts {
    pub(crate) fn answered(&self, method: &Method, status: StatusCode, time: Duration) {
        // Who invents methods makes no names of metrics.
        let method = match method.as_str() {
            known @ ("GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS") => known,
            _ => "other",
        };
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        *requests.entry((method.to_owned(), status.as_u16())).or_default() += 1;
        drop(requests);
        self.seconds.add(time);
    }

    fn lines(&self, lines: &mut Lines) {
        lines.begin("cairn_http_requests_total", "counter", "Requests over HTTP, by method and status.");
        for ((method, status), count) in self.requests.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let status = status.to_string();
            lines.line("cairn_http_requests_total", &[("method", method), ("status", &status)], count);
        }
        let help = "How long requests take until their answers begin.";
        lines.histogram(("cairn_http_request_seconds", help), &self.seconds);
        let connections = self.connections.load(Ordering::Relaxed);
        lines.one(("cairn_http_connections", "gauge", "Connections over HTTP."), connections);
    }
}

fn told(status: StatusCode, kind: &'static str, body: String) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

pub(crate) async fn metrics(State(app): State<Arc<App>>) -> Response<Body> {
    let mut lines = Lines::default();
    app.counts.lines(&mut lines);
    let open = app.databases.count();
    lines.one(("cairn_http_databases_open", "gauge", "Databases that are kept for requests over HTTP."), open);
    pool_lines(&app, &mut lines);
    told(StatusCode::OK, PROMETHEUS, app.services.metrics() + &lines.text())
}

fn pool_lines(app: &App, lines: &mut Lines) {
    let pool = app.databases.pool();
    lines.one(("cairn_sched_workers", "gauge", "Threads that databases share for requests over HTTP."), pool.workers);
    lines.one(("cairn_sched_workers_max", "gauge", "Threads of that kind that there may be."), pool.workers_max);
    lines.one(("cairn_sched_workers_idle", "gauge", "Threads of that kind that wait for work."), pool.idle);
    let waiting = app.databases.waiting();
    lines.begin("cairn_sched_queue_depth", "gauge", "What waits for a thread, by database.");
    for (database, depth) in &waiting {
        lines.line("cairn_sched_queue_depth", &[("database", database)], depth);
    }
    lines.begin("cairn_http_change_streams", "gauge", "Streams that are told what becomes of documents, by database.");
    for (database, streams) in app.databases.streams() {
        lines.line("cairn_http_change_streams", &[("database", &database)], streams);
    }
    let (name, help) =
        ("cairn_http_change_questions_total", "How often it was asked of a change who sees it, by database.");
    lines.begin(name, "counter", help);
    for (database, questions) in app.databases.questions() {
        lines.line(name, &[("database", &database)], questions);
    }
    let mean = waiting.iter().map(|(_, depth)| *depth as f64).sum::<f64>() / waiting.len().max(1) as f64;
    lines.one(
        ("cairn_sched_queue_depth_mean", "gauge", "The mean of what waits for a thread over the databases."),
        mean,
    );
}

pub(crate) async fn healthz() -> Response<Body> {
    told(StatusCode::OK, TEXT, "ok\n".to_owned())
}

/// Whether sessions are let in, and the database answers.
pub(crate) async fn readyz(State(app): State<Arc<App>>) -> Response<Body> {
    let services = app.services.clone();
    let why = match tokio::task::spawn_blocking(move || services.check_ready()).await {
        Ok(Ok(())) => return told(StatusCode::OK, TEXT, "ready\n".to_owned()),
        Ok(Err(error)) => error.message().to_owned(),
        Err(_) => "it could not be asked".to_owned(),
    };
    told(StatusCode::SERVICE_UNAVAILABLE, TEXT, why + "\n")
}

/// What there is, for programs that make clients of it ([OpenAPI 3.1](https://spec.openapis.org/oas/v3.1.0)).
pub(crate) async fn openapi() -> Response<Body> {
    told(StatusCode::OK, crate::body::JSON, include_str!("openapi.json").to_owned())
}
