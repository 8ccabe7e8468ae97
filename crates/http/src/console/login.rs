//! Coming in by the page, and leaving.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{self, HeaderMap, HeaderValue};
use axum::http::{Response, StatusCode};
use cairn_server::Level;
use cairndb::SqlState;
use serde::Deserialize;
use serde_json::{Value, json};

use super::page::secure;
use super::sessions::{Held, Session, cookie_name};
use crate::app::App;
use crate::body;
use crate::collections::answer;
use crate::guard::{Peer, denied};
use crate::principal::Principal;
use crate::problem::{Answer, Problem};
use crate::token::Scope;

/// The longest secret that is looked at.
const BODY_BYTES: usize = 16 << 10;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    #[serde(default)]
    token: String,
}

/// Begins a session for who shows a token, or the secret that is good once; for whoever comes, where all are trusted. Another one that the same browser
/// has ends.
pub(super) async fn login(
    State(app): State<Arc<App>>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    body: Body,
) -> Answer {
    check_own(&headers)?;
    body::check_kind(&headers, &[body::JSON])?;
    let options = app.options();
    let asked: Asked = body::parsed(&body::text(body, BODY_BYTES, options.request_timeout).await?)?;
    let principal = principal(&app, asked.token.trim()).await?;
    if let Some(held) = Held::of(&headers, peer.to.port())
        && let Some(other) = app.sessions.of_cookie(&app, &held).await
    {
        app.sessions.end(&app, &other);
    }
    let told = told(&app, &principal);
    let name = principal.name().to_owned();
    let secrets = app.sessions.begin(principal)?;
    app.services.log(Level::Info, "console_begun", &[("token", &name), ("from", &peer.from)]);
    let mut told = told;
    told["csrf"] = json!(secrets.csrf.text());
    let mut answer = answer(StatusCode::OK, &told);
    set_cookie(&mut answer, &format!("{}={}", cookie_name(peer.to.port()), secrets.cookie.text()), options.tls);
    Ok(answer)
}

/// Browsers say of a request whether a page of elsewhere made it.
fn check_own(headers: &HeaderMap) -> Result<(), Problem> {
    match headers.get("sec-fetch-site").map(|site| site.as_bytes()) {
        None | Some(b"same-origin" | b"none") => Ok(()),
        Some(_) => {
            let message = "a page of elsewhere begins no session here";
            Err(Problem::new(StatusCode::FORBIDDEN, SqlState::INSUFFICIENT_PRIVILEGE, message))
        }
    }
}

async fn principal(app: &App, secret: &str) -> Result<Principal, Problem> {
    if let Some(token) = app.sessions.take_once(secret) {
        return Ok(Principal::Token(token));
    }
    if let Some(token) = app.tokens.of(&app.options().tokens, secret).await? {
        return Ok(Principal::Token(token));
    }
    if let Some(token) = app.tokens.of_login(&app.options().tokens, secret).await? {
        return Ok(Principal::Token(token));
    }
    match app.services.options().trusts_all {
        true => Ok(Principal::Anybody),
        false => Err(denied("the token is not known, has expired, or was revoked", "Make one: cairn token create")),
    }
}

fn set_cookie(answer: &mut Response<Body>, cookie: &str, is_secure: bool) {
    let secure_only = if is_secure { "; Secure" } else { "" };
    let cookie = format!("{cookie}; Path=/; HttpOnly; SameSite=Strict{secure_only}");
    let headers = answer.headers_mut();
    headers.extend(HeaderValue::from_str(&cookie).map(|cookie| (header::SET_COOKIE, cookie)));
    secure(headers);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
}

/// Ends the session, with what is kept for it.
pub(super) async fn logout(
    State(app): State<Arc<App>>,
    Extension(peer): Extension<Peer>,
    session: Option<Extension<Arc<Session>>>,
) -> Answer {
    if let Some(Extension(session)) = session {
        app.sessions.end(&app, &session);
    }
    let mut answer = answer(StatusCode::OK, &json!({}));
    set_cookie(&mut answer, &format!("{}=; Max-Age=0", cookie_name(peer.to.port())), app.options().tls);
    Ok(answer)
}

/// Who is in.
pub(super) async fn session(State(app): State<Arc<App>>, principal: Principal) -> Answer {
    Ok(answer(StatusCode::OK, &told(&app, &principal)))
}

fn told(app: &App, principal: &Principal) -> Value {
    let scopes: Vec<&str> = match principal {
        Principal::Token(token) => token.scopes.iter().map(|scope| scope.name()).collect(),
        Principal::Anybody => Scope::ALL.map(Scope::name).to_vec(),
        Principal::Claims(_) => Vec::new(),
    };
    let expires = principal.expires().and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    json!({
        "name": principal.name(),
        "scopes": scopes,
        "expires": expires.map(|at| at.as_secs()),
        "trusts_all": app.services.options().trusts_all,
    })
}
