//! What a client is told that went wrong: a status, and `application/problem+json` (RFC 9457) with the SQLSTATE, the message, the detail and the hint
//! that SQL has for it.

use std::sync::Arc;

use axum::body::Body;
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse;
use cairndb::{Error, SqlState};
use serde_json::{Map, Value, json};

/// See the module.
#[derive(Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    error: Error,
    headers: Vec<(HeaderName, HeaderValue)>,
    more: Map<String, Value>,
}

pub(crate) type Answer = Result<Response<Body>, Problem>;

/// What was told, for the log and what is counted.
#[derive(Clone)]
pub(crate) struct Told(pub(crate) Arc<Error>);

impl Problem {
    pub(crate) fn new(status: StatusCode, code: SqlState, message: impl Into<String>) -> Problem {
        Problem { status, error: Error::new(code, message), headers: Vec::new(), more: Map::new() }
    }

    pub(crate) fn hint(mut self, hint: &str) -> Problem {
        self.error = self.error.with_hint(hint);
        self
    }

    pub(crate) fn header(mut self, name: HeaderName, value: &'static str) -> Problem {
        self.headers.push((name, HeaderValue::from_static(value)));
        self
    }

    /// The body has this besides.
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Problem {
        self.more.insert(name.to_owned(), value.into());
        self
    }

    /// What was asked is not said as it has to be. SQLSTATE 22023.
    pub(crate) fn wrong(message: impl Into<String>) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, SqlState::INVALID_PARAMETER_VALUE, message)
    }

    /// There is no such thing. SQLSTATE P0002.
    pub(crate) fn missing(message: impl Into<String>) -> Problem {
        Problem::new(StatusCode::NOT_FOUND, SqlState::NO_DATA_FOUND, message)
    }

    /// A condition of the request's is not so. SQLSTATE P0002.
    pub(crate) fn condition(message: impl Into<String>) -> Problem {
        Problem::new(StatusCode::PRECONDITION_FAILED, SqlState::NO_DATA_FOUND, message)
    }

    pub(crate) fn body(&self) -> Value {
        let mut body = self.more.clone();
        let error = &self.error;
        body.insert("type".to_owned(), json!("about:blank"));
        body.insert("title".to_owned(), json!(self.status.canonical_reason().unwrap_or("Error")));
        body.insert("status".to_owned(), json!(self.status.as_u16()));
        body.insert("sqlstate".to_owned(), json!(error.sqlstate().as_str()));
        body.insert("message".to_owned(), json!(error.message()));
        let texts = [
            ("detail", error.detail()),
            ("hint", error.hint()),
            ("constraint", error.constraint()),
            ("table", error.table()),
            ("column", error.column()),
        ];
        for (name, text) in texts {
            if let Some(text) = text {
                body.insert(name.to_owned(), json!(text));
            }
        }
        if let Some(position) = error.position() {
            body.insert("position".to_owned(), json!(position));
        }
        Value::Object(body)
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Problem {
        let status = status_of(error.sqlstate());
        let waits = status == StatusCode::SERVICE_UNAVAILABLE;
        let problem = Problem { status, error, headers: Vec::new(), more: Map::new() };
        if waits { problem.header(header::RETRY_AFTER, "1") } else { problem }
    }
}

/// Which status tells best of an error.
fn status_of(code: SqlState) -> StatusCode {
    use StatusCode as S;
    let text = code.as_str();
    match code {
        SqlState::UNIQUE_VIOLATION | SqlState::FOREIGN_KEY_VIOLATION => return S::CONFLICT,
        SqlState::DUPLICATE_TABLE | SqlState::DUPLICATE_OBJECT | SqlState::DEPENDENT_OBJECTS_STILL_EXIST => {
            return S::CONFLICT;
        }
        SqlState::UNDEFINED_TABLE | SqlState::INVALID_CATALOG_NAME | SqlState::NO_DATA_FOUND => return S::NOT_FOUND,
        SqlState::INSUFFICIENT_PRIVILEGE | SqlState::READ_ONLY_SQL_TRANSACTION => return S::FORBIDDEN,
        SqlState::TRIGGERED_DATA_CHANGE_VIOLATION => return S::PRECONDITION_FAILED,
        SqlState::QUERY_CANCELED => return S::GATEWAY_TIMEOUT,
        _ => {}
    }
    match text.get(..2).unwrap_or_default() {
        "23" => S::UNPROCESSABLE_ENTITY,
        "28" => S::UNAUTHORIZED,
        "40" | "55" => S::CONFLICT,
        "53" | "57" => S::SERVICE_UNAVAILABLE,
        "54" => S::PAYLOAD_TOO_LARGE,
        "58" | "XX" => S::INTERNAL_SERVER_ERROR,
        _ => S::BAD_REQUEST,
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response<Body> {
        let mut response = Response::new(Body::from(self.body().to_string()));
        *response.status_mut() = self.status;
        let kind = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        response.headers_mut().extend(self.headers);
        response.extensions_mut().insert(Told(Arc::new(self.error)));
        response
    }
}
