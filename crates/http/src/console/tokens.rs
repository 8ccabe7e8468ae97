//! Tokens of the server's own database, for who has one with the scope `tokens`.
//!
//! - He makes, sees and revokes those that let do nothing that his does not, for no longer, and that make no others: whatever he does, nobody may
//!   more after it than he might before. Only who owns the folder gives the scope (`cairn token create`).
//! - A secret is told once, to who makes the token; what is made and revoked is in the log, with whose token did it.

use std::fmt::Display;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{self, HeaderMap, HeaderValue};
use cairn_server::Level;
use cairndb::SqlState;
use serde::Deserialize;
use serde_json::{Value, json};

use super::sessions::Within;
use crate::app::App;
use crate::collections::{answer, empty, said};
use crate::principal::Principal;
use crate::problem::{Answer, Problem};
use crate::token::{Scope, Secret, Token};

/// The longest name, and how many databases and collections one names.
const NAME_BYTES: usize = 200;
const NAMES: usize = 100;

/// The token of who asks, which may make others. SQLSTATE 42501.
fn maker(principal: &Principal) -> Result<&Token, Problem> {
    match principal {
        Principal::Token(token) if token.scopes.contains(&Scope::Tokens) => Ok(token),
        _ => Err(refused("the token lets nobody make or see others")
            .hint("Who owns the folder gives that: cairn token create .. --scopes ..,tokens.")),
    }
}

fn refused(message: &str) -> Problem {
    Problem::new(StatusCode::FORBIDDEN, SqlState::INSUFFICIENT_PRIVILEGE, message)
}

/// Those that he may see.
async fn covered(app: &App, maker: &Token) -> Result<Option<Vec<Token>>, Problem> {
    let all = app.tokens.all().await?;
    Ok(all.map(|all| all.into_iter().filter(|token| maker.covers(token)).collect()))
}

/// Lists them; `null` where the configuration has them, so that none are made here.
pub(super) async fn list(_: Within, State(app): State<Arc<App>>, principal: Principal) -> Answer {
    let tokens = covered(&app, maker(&principal)?).await?;
    let tokens = tokens.map(|tokens| tokens.iter().map(told).collect::<Vec<Value>>());
    Ok(answer(StatusCode::OK, &json!({ "tokens": tokens })))
}

fn told(token: &Token) -> Value {
    json!({
        "name": token.name,
        "scopes": token.scopes.iter().map(|scope| scope.name()).collect::<Vec<_>>(),
        "databases": token.databases,
        "collections": token.collections,
        "expires": token.expires.map(|at| at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()),
        "has_expired": token.has_expired(),
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct New {
    name: String,
    scopes: Vec<String>,
    #[serde(default)]
    databases: Vec<String>,
    #[serde(default)]
    collections: Vec<String>,
    /// In seconds since 1970.
    expires: Option<u64>,
}

impl New {
    fn token(self, secret: &Secret) -> Result<Token, Problem> {
        let is_named = !self.name.is_empty() && self.name.len() <= NAME_BYTES && !self.name.contains(char::is_control);
        if !is_named {
            return Err(Problem::wrong(format!("a token has a name, of at most {NAME_BYTES} bytes")));
        }
        if self.databases.len().max(self.collections.len()) > NAMES {
            return Err(Problem::wrong(format!("a token names at most {NAMES} databases and collections")));
        }
        let scopes = self.scopes.iter().map(|name| Scope::of(name)).collect::<Result<Vec<_>, _>>()?;
        let moment = |seconds| {
            let at = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
            at.ok_or_else(|| Problem::wrong("\"expires\" is no moment"))
        };
        let token = Token {
            databases: self.databases,
            collections: self.collections,
            expires: self.expires.map(moment).transpose()?,
            ..secret.token(&self.name, &scopes)
        };
        token.check()?;
        match token.has_expired() {
            true => Err(Problem::wrong("the token would have expired already")),
            false => Ok(token),
        }
    }
}

/// Makes one, and tells its secret.
pub(super) async fn create(
    _: Within,
    State(app): State<Arc<App>>,
    principal: Principal,
    headers: HeaderMap,
    body: Body,
) -> Answer {
    let maker = maker(&principal)?;
    let new: New = said(&app, &headers, body).await?;
    let secret = Secret::random()?;
    let token = new.token(&secret)?;
    if !maker.covers(&token) {
        let problem = refused("the token would let do more than the one that makes it, or last longer");
        return Err(
            problem.hint("Name scopes, databases, collections and a time of those that this session's token has.")
        );
    }
    app.tokens.create(&token).await?;
    log(&app, "token_made", (&token.name, &maker.name));
    let mut answer = answer(StatusCode::CREATED, &json!({ "secret": secret.text() }));
    answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(answer)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Which {
    name: String,
}

/// Takes one back. What he may not see is not there for him.
pub(super) async fn revoke(
    _: Within,
    State(app): State<Arc<App>>,
    principal: Principal,
    headers: HeaderMap,
    body: Body,
) -> Answer {
    let maker = maker(&principal)?;
    let Which { name } = said(&app, &headers, body).await?;
    let tokens = covered(&app, maker).await?.unwrap_or_default();
    let token = tokens.iter().find(|token| token.name == name);
    let token = token.ok_or_else(|| Problem::missing("there is no such token"))?;
    app.tokens.revoke(token).await?;
    log(&app, "token_revoked", (&token.name, &maker.name));
    Ok(empty())
}

fn log(app: &App, event: &str, (name, by): (&String, &String)) {
    let of: [(_, &dyn Display); 2] = [("name", name), ("token", by)];
    app.services.log(Level::Info, event, &of);
}
