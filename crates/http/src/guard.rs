//! What every request passes: who may ask, for how long, and what is told and counted of it.

use std::fmt::Display;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{self, HeaderMap};
use axum::http::{Response, StatusCode};
use axum::middleware::Next;
use axum::response::IntoResponse;
use cairn_server::Level;
use cairndb::SqlState;

use crate::app::App;
use crate::console::{self, Held, Session};
use crate::options::Options;
use crate::principal::Principal;
use crate::problem::{Problem, Told};
use crate::token::is_of_tokens;

/// Where a request came in, and from where.
#[derive(Clone, Copy)]
pub(crate) struct Peer {
    pub(crate) from: SocketAddr,
    pub(crate) to: SocketAddr,
}

/// Answers to anybody.
const OPEN: [&str; 3] = ["/healthz", "/readyz", "/openapi.json"];

/// See the module.
pub(crate) async fn guard(State(app): State<Arc<App>>, request: Request, next: Next) -> Response<Body> {
    let begun = Instant::now();
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let peer = request.extensions().get::<Peer>().copied();
    let options = app.options();
    let mut name = String::new();
    // (A body is not for two threads to look at, so nothing of the request is held while something is waited for.)
    let shown = shown(&app, &options, &request, peer);
    let admitted = admit(&app, &options, shown).await;
    let answer = match admitted.and_then(|admitted| admitted.principal.check_path(&path).map(|()| admitted)) {
        Ok(admitted) => {
            admitted.principal.name().clone_into(&mut name);
            in_time(&options, admitted, request, next).await
        }
        Err(problem) => problem.into_response(),
    };
    let status = answer.status();
    if let Some(Told(error)) = answer.extensions().get::<Told>() {
        app.services.failed(error);
    }
    app.counts.answered(&method, status, begun.elapsed());
    if options.logs_requests || status == StatusCode::UNAUTHORIZED {
        let from = peer.map_or_else(String::new, |peer| peer.from.to_string());
        let (level, event) = match status {
            StatusCode::UNAUTHORIZED => (Level::Warning, "token_refused"),
            _ => (Level::Info, "request"),
        };
        let ms = begun.elapsed().as_millis();
        let of: [(_, &dyn Display); 6] = [
            ("method", &method),
            ("path", &path),
            ("status", &status.as_u16()),
            ("ms", &ms),
            ("token", &name),
            ("from", &from),
        ];
        app.services.log(level, event, &of);
    }
    answer
}

async fn in_time(options: &Options, admitted: Admitted, mut request: Request, next: Next) -> Response<Body> {
    request.extensions_mut().insert(admitted.principal);
    admitted.session.map(|session| request.extensions_mut().insert(session));
    if is_lasting(request.uri().path()) {
        return next.run(request).await;
    }
    match tokio::time::timeout(options.request_timeout, next.run(request)).await {
        Ok(answer) => answer,
        Err(_) => {
            let message = "the request took longer than the server gives it";
            Problem::new(StatusCode::GATEWAY_TIMEOUT, SqlState::QUERY_CANCELED, message).into_response()
        }
    }
}

/// Whether its handler looks to the time itself: the body or the answer has no end that is known before.
fn is_lasting(path: &str) -> bool {
    path.ends_with("/bulk") || path.ends_with("/console/verify")
}

/// What somebody shows.
enum Shown {
    /// Nothing has to be shown.
    Nothing,
    Secret(String),
    /// Both secrets of a session of the console.
    Session(Held),
}

/// Who may ask.
struct Admitted {
    principal: Principal,
    /// Within which session of the console, if it is one.
    session: Option<Arc<Session>>,
}

impl From<Principal> for Admitted {
    fn from(principal: Principal) -> Admitted {
        Admitted { principal, session: None }
    }
}

fn shown(app: &App, options: &Options, request: &Request, peer: Option<Peer>) -> Result<Shown, Problem> {
    check_host(options, request, peer)?;
    let path = request.uri().path();
    if OPEN.contains(&path) || (options.console && console::is_open(path)) {
        return Ok(Shown::Nothing);
    }
    let held = peer.and_then(|peer| Held::of(request.headers(), peer.to.port())).filter(Held::is_whole);
    if let (Some(held), None) = (held, secret_of(request.headers())) {
        return Ok(Shown::Session(held));
    }
    if app.services.options().trusts_all {
        return Ok(Shown::Nothing);
    }
    let secret = secret_of(request.headers()).map(|secret| Shown::Secret(secret.to_owned()));
    secret.ok_or_else(|| denied("a token is needed", "Send it as: Authorization: Bearer cairn_..."))
}

/// Who asks, if he may ask at all.
async fn admit(app: &App, options: &Options, shown: Result<Shown, Problem>) -> Result<Admitted, Problem> {
    let secret = match shown? {
        Shown::Nothing => return Ok(Principal::Anybody.into()),
        Shown::Session(held) => {
            let session = app.sessions.of(app, &held).await;
            let session = session.ok_or_else(|| denied("the session has ended", "Log in again."))?;
            return Ok(Admitted { principal: session.principal().clone(), session: Some(session) });
        }
        Shown::Secret(secret) => secret,
    };
    if let Some(jwt) = options.jwt.as_ref().filter(|_| !is_of_tokens(&secret)) {
        return match jwt.claims(&secret) {
            Ok(claims) => Ok(Principal::Claims(claims).into()),
            Err(why) => Err(denied(why, "Get another one where this one is from.")),
        };
    }
    match app.tokens.of(&options.tokens, &secret).await? {
        Some(token) => Ok(Principal::Token(token).into()),
        None => Err(denied("the token is not known, has expired, or was revoked", "Make one: cairn token create")),
    }
}

pub(crate) fn denied(message: &str, hint: &str) -> Problem {
    let problem = Problem::new(StatusCode::UNAUTHORIZED, SqlState::INVALID_PASSWORD, message).hint(hint);
    problem.header(header::WWW_AUTHENTICATE, "Bearer")
}

fn secret_of(headers: &HeaderMap) -> Option<&str> {
    let (scheme, secret) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim())
}

/// A page of elsewhere may have its own name lead here (DNS rebinding), and be of the same origin for a browser: what it calls the server tells.
fn check_host(options: &Options, request: &Request, peer: Option<Peer>) -> Result<(), Problem> {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let host = host.or_else(|| request.uri().host()).unwrap_or_default();
    let is_own = peer.is_none_or(|peer| peer.to.ip().is_loopback());
    let is_known = options.hosts.iter().any(|known| known.eq_ignore_ascii_case(without_port(host)));
    if is_known || is_loopback(without_port(host)) || (!is_own && options.hosts.is_empty()) {
        return Ok(());
    }
    let message = format!("the server is not called \"{}\" (Host)", host.escape_debug());
    let problem = Problem::new(StatusCode::MISDIRECTED_REQUEST, SqlState::INSUFFICIENT_PRIVILEGE, message);
    Err(problem.hint("Call it localhost, or say by which names it is reached: http.hosts."))
}

fn without_port(host: &str) -> &str {
    let name = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|digit| digit.is_ascii_digit()));
    name.map_or(host, |(name, _)| name)
}

fn is_loopback(name: &str) -> bool {
    let address = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost") || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_elsewhere_are_none_of_a_loopback_address() {
        for host in ["localhost", "LOCALHOST:8080", "127.0.0.1", "127.0.0.1:1", "[::1]:80", "[::1]"] {
            assert!(is_loopback(without_port(host)), "{host}");
        }
        for host in ["", "evil.example", "localhost.evil.example:80", "10.0.0.1", "127.0.0.1.evil.example"] {
            assert!(!is_loopback(without_port(host)), "{host}");
        }
    }
}
