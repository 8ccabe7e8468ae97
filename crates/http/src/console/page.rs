//! The files of the page.

use std::sync::LazyLock;

use axum::body::Body;
use axum::extract::Path;
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::{Response, StatusCode};
use cairn_console::{FILES, File, INDEX};

use crate::problem::{Answer, Problem};
use crate::token::digest;

/// What a browser is to keep to. (`style-src` has no word for styles that a script sets of an element: these are no texts that are parsed.)
const SECURED: [(HeaderName, &str); 7] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    // It is asked for again whether it is still as it was: another version may serve it by then.
    (header::CACHE_CONTROL, "no-cache"),
];

/// Says of an answer what a browser may do with it.
pub(super) fn secure(headers: &mut HeaderMap) {
    for (name, value) in SECURED {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

/// The tags of all files, the page itself first.
static TAGS: LazyLock<Vec<String>> = LazyLock::new(|| {
    std::iter::once(&INDEX).chain(FILES).map(|file| format!("\"{}\"", &digest(file.text)[..32])).collect()
});

pub(super) async fn index(headers: HeaderMap) -> Response<Body> {
    told(&INDEX, &TAGS[0], &headers)
}

pub(super) async fn file(Path(name): Path<String>, headers: HeaderMap) -> Answer {
    let place = FILES.iter().position(|file| file.name == name);
    let place = place.ok_or_else(|| Problem::missing("the page has no such file"))?;
    Ok(told(&FILES[place], &TAGS[place + 1], &headers))
}

fn told(file: &File, tag: &str, headers: &HeaderMap) -> Response<Body> {
    let is_known = headers.get(header::IF_NONE_MATCH).is_some_and(|known| {
        // A proxy that has compressed it says that its tag is a weak one.
        known.to_str().is_ok_and(|known| known.trim_start_matches("W/") == tag)
    });
    let mut answer = Response::new(if is_known { Body::empty() } else { Body::from(file.text) });
    *answer.status_mut() = if is_known { StatusCode::NOT_MODIFIED } else { StatusCode::OK };
    let headers = answer.headers_mut();
    secure(headers);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(file.kind));
    headers.extend(HeaderValue::from_str(tag).map(|tag| (header::ETAG, tag)));
    answer
}
