//! Bodies of requests: as long as they may be, and of the kind that they say.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use axum::http::header::{self, HeaderMap};
use cairndb::{Error, SqlState};
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;

use crate::problem::Problem;

pub(crate) const JSON: &str = "application/json";
pub(crate) const NDJSON: &str = "application/x-ndjson";
pub(crate) const SCHEMA: &str = "application/schema+json";
pub(crate) const MERGE_PATCH: &str = "application/merge-patch+json";
pub(crate) const JSON_PATCH: &str = "application/json-patch+json";

/// The parts of a body as they come.
pub(crate) struct Parts {
    body: Body,
    time: Duration,
}

impl Parts {
    pub(crate) fn of(body: Body, time: Duration) -> Parts {
        Parts { body, time }
    }

    /// The next; `None`: that was all. SQLSTATE 08006 where it never came.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Problem> {
        let broken = |message: &str| Problem::new(StatusCode::REQUEST_TIMEOUT, SqlState("08006"), message);
        loop {
            let frame = tokio::time::timeout(self.time, self.body.frame()).await;
            let frame = frame.map_err(|_| broken("the body did not come in time"))?;
            match frame.transpose().map_err(|_| broken("the body broke off"))? {
                None => return Ok(None),
                Some(frame) => {
                    if let Ok(bytes) = frame.into_data() {
                        return Ok(Some(bytes));
                    }
                }
            }
        }
    }
}

/// All of a body. SQLSTATE 54000 where it is longer than it may be.
pub(crate) async fn whole(body: Body, most: usize, time: Duration) -> Result<Vec<u8>, Problem> {
    let (mut parts, mut whole) = (Parts::of(body, time), Vec::new());
    while let Some(part) = parts.next().await? {
        if whole.len() + part.len() > most {
            return Err(too_long(most));
        }
        whole.extend_from_slice(&part);
    }
    Ok(whole)
}

/// The same, as text. SQLSTATE 22021.
pub(crate) async fn text(body: Body, most: usize, time: Duration) -> Result<String, Problem> {
    String::from_utf8(whole(body, most, time).await?).map_err(|_| not_utf8())
}

pub(crate) fn not_utf8() -> Problem {
    Error::new(SqlState::INVALID_BYTE_SEQUENCE, "the body is not UTF-8").into()
}

pub(crate) fn too_long(most: usize) -> Problem {
    let message = format!("the body is longer than {most} bytes");
    let problem = Problem::new(StatusCode::PAYLOAD_TOO_LARGE, SqlState::PROGRAM_LIMIT_EXCEEDED, message);
    problem.hint("The limit is http.body_bytes.")
}

/// What a body says that it is, in lower case and without parameters.
pub(crate) fn kind(headers: &HeaderMap) -> String {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// SQLSTATE 0A000 where a body says that it is none of these. (It has to say so: a page of elsewhere can have a browser send what is not said to be
/// JSON without asking.)
pub(crate) fn check_kind(headers: &HeaderMap, known: &[&str]) -> Result<(), Problem> {
    let kind = kind(headers);
    if known.contains(&kind.as_str()) {
        return Ok(());
    }
    let message = format!("a body of type \"{}\" is not taken here", kind.escape_debug());
    let problem = Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, SqlState::FEATURE_NOT_SUPPORTED, message);
    Err(problem.hint(&format!("Say one of these as Content-Type: {}.", known.join(", "))))
}

/// What a text says, where its names and their types are known.
pub(crate) fn parsed<T: DeserializeOwned>(text: &str) -> Result<T, Problem> {
    serde_json::from_str(text).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => Problem::wrong(error.to_string()),
        _ => Error::new(SqlState::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type json")
            .with_detail(error.to_string())
            .into(),
    })
}
