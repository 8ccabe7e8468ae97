//! `/metrics`, `/healthz` and `/readyz` over HTTP, for what watches a server: one question a connection, each on a thread of its own, and nobody
//! is waited for long.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use crate::metrics;
use crate::server::Shared;
use crate::stream::Stream;

/// The longest head of a question.
const HEAD_BYTES_MAX: usize = 8 << 10;
const HEADERS_MAX: usize = 64;
/// How long somebody may take to ask, and to take the answer.
const TIME: Duration = Duration::from_secs(5);

/// What is answered: the status, what the body is, the body.
struct Answer(&'static str, &'static str, String);

const TEXT: &str = "text/plain; charset=utf-8";
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Answers one question.
pub(crate) fn answer(mut stream: &Stream, shared: &Shared) -> io::Result<()> {
    stream.set_write_timeout(Some(TIME))?;
    let (head, of) = match read(stream)? {
        Some((is_head, path)) => (is_head, answer_to(&path, shared)),
        None => (false, Answer("400 Bad Request", TEXT, "this is no question\n".to_owned())),
    };
    let Answer(status, kind, body) = of;
    let length = body.len();
    let said =
        format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    stream.write_all(said.as_bytes())?;
    if head { Ok(()) } else { stream.write_all(body.as_bytes()) }
}

fn answer_to(path: &str, shared: &Shared) -> Answer {
    let ok = |kind, body| Answer("200 OK", kind, body);
    match path {
        "/metrics" => ok(PROMETHEUS, metrics::text(shared)),
        "/healthz" => ok(TEXT, "ok\n".to_owned()),
        "/readyz" => match is_ready(shared) {
            Ok(()) => ok(TEXT, "ready\n".to_owned()),
            Err(why) => Answer("503 Service Unavailable", TEXT, why + "\n"),
        },
        "" => Answer("405 Method Not Allowed", TEXT, "GET and HEAD are answered\n".to_owned()),
        _ => Answer("404 Not Found", TEXT, "there are /metrics, /healthz and /readyz\n".to_owned()),
    }
}

/// Whether sessions are let in, and the database answers.
fn is_ready(shared: &Shared) -> Result<(), String> {
    let asked = crate::door::check(shared).and_then(|()| shared.databases.lasting().connect()?.execute("SELECT 1", ()));
    asked.map(drop).map_err(|error| error.message().to_owned())
}

/// Whether only the head of an answer is wanted, and of which path: an empty one, where it is asked otherwise. `None`: it is no question.
fn read(mut stream: &Stream) -> io::Result<Option<(bool, String)>> {
    let (begun, mut bytes, mut buffer) = (Instant::now(), Vec::new(), [0; 1024]);
    loop {
        let left = TIME.saturating_sub(begun.elapsed()).max(Duration::from_millis(1));
        stream.set_read_timeout(Some(left))?;
        let count = stream.read(&mut buffer)?;
        bytes.extend_from_slice(&buffer[..count]);
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(&bytes) {
            Ok(httparse::Status::Complete(_)) => return Ok(asked(&request)),
            Ok(httparse::Status::Partial) if count > 0 && bytes.len() <= HEAD_BYTES_MAX && begun.elapsed() < TIME => {}
            _ => return Ok(None),
        }
    }
}

fn asked(request: &httparse::Request<'_, '_>) -> Option<(bool, String)> {
    let path = request.path?.split('?').next()?;
    match request.method? {
        "GET" => Some((false, path.to_owned())),
        "HEAD" => Some((true, path.to_owned())),
        _ => Some((false, String::new())),
    }
}
