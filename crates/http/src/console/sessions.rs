//! Who has come in by the page, until he leaves, has asked nothing for a while, or his token is none any more.
//!
//! A session is known by two secrets of 256 random bits, of which the server keeps the digests: one in a cookie, which scripts do not see, one that
//! the page keeps and shows in a header. Each login makes new ones.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::header::{self, HeaderMap};
use axum::http::request::Parts;
use cairn_server::Level;
use cairndb::{Error, SqlState};

use super::download::Tickets;
use super::kept::Kept;
use super::results::Results;
use super::whole::Turn;
use crate::app::App;
use crate::principal::Principal;
use crate::problem::Problem;
use crate::token::{Secret, Token, digest};

/// How long a session is that asks nothing.
const IDLE: Duration = Duration::from_secs(30 * 60);
/// How long one is at most.
const LONGEST: Duration = Duration::from_secs(12 * 60 * 60);
/// How many there may be of a token: then the one that was used longest ago ends.
const OF_TOKEN_MAX: usize = 100;
/// How many there may be.
const MAX: usize = 10_000;
/// How long the secret of [`Sessions::once`] waits for who uses it.
const ONCE: Duration = Duration::from_secs(10 * 60);
/// The header that the page's secret is shown in.
const HEADER: &str = "x-cairn-csrf";

/// See the module.
pub(crate) struct Session {
    /// The digest of the cookie's secret.
    digest: String,
    /// That of the page's.
    csrf: String,
    principal: Principal,
    begun: Instant,
    used: Mutex<Instant>,
    pub(super) results: Results,
    pub(super) tickets: Tickets,
}

impl Session {
    fn new(principal: Principal) -> Result<(Session, Secrets), Error> {
        let secrets = Secrets { cookie: Secret::random()?, csrf: Secret::random()? };
        let now = Instant::now();
        let session = Session {
            digest: secrets.cookie.digest(),
            csrf: secrets.csrf.digest(),
            principal,
            begun: now,
            used: Mutex::new(now),
            results: Results::default(),
            tickets: Tickets::default(),
        };
        Ok((session, secrets))
    }

    /// Who has begun it.
    pub(crate) fn principal(&self) -> &Principal {
        &self.principal
    }

    fn used(&self) -> Instant {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_expired(&self) -> bool {
        self.used().elapsed() >= IDLE || self.begun.elapsed() >= LONGEST
    }

    /// Whether who began it may still do the same.
    async fn is_still(&self, app: &App) -> bool {
        let may_be_anybody = app.services.options().trusts_all || !matches!(self.principal, Principal::Anybody);
        !self.has_expired() && may_be_anybody && self.principal.is_still(app).await
    }
}

/// The session that a request is of. 42501 where it is of none.
pub(super) struct Within(pub(super) Arc<Session>);

impl<S: Sync> FromRequestParts<S> for Within {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Within, Problem> {
        let message = "this is asked within a session of the console";
        let none = || Problem::new(StatusCode::FORBIDDEN, SqlState::INSUFFICIENT_PRIVILEGE, message);
        parts.extensions.get::<Arc<Session>>().cloned().map(Within).ok_or_else(none)
    }
}

/// What a client is told of a new session.
pub(super) struct Secrets {
    pub(super) cookie: Secret,
    pub(super) csrf: Secret,
}

/// What a request shows of a session.
pub(crate) struct Held {
    cookie: String,
    csrf: Option<String>,
}

impl Held {
    /// `port`: that of the server. (Cookies are not told apart by the ports of a machine: their names are.)
    pub(crate) fn of(headers: &HeaderMap, port: u16) -> Option<Held> {
        let name = cookie_name(port);
        let value = |pair: &str| Some(pair.trim().strip_prefix(name.as_str())?.strip_prefix('=')?.to_owned());
        let all = headers.get_all(header::COOKIE).into_iter().filter_map(|cookies| cookies.to_str().ok());
        let cookie = all.flat_map(|cookies| cookies.split(';')).find_map(value)?;
        let csrf = headers.get(HEADER).and_then(|csrf| csrf.to_str().ok()).map(str::to_owned);
        Some(Held { cookie, csrf })
    }

    /// Whether both secrets are shown.
    pub(crate) fn is_whole(&self) -> bool {
        self.csrf.is_some()
    }
}

pub(super) fn cookie_name(port: u16) -> String {
    format!("cairn_console_{port}")
}

/// All that there are.
#[derive(Default)]
pub(crate) struct Sessions {
    known: Mutex<HashMap<String, Arc<Session>>>,
    once: Mutex<HashMap<String, (Arc<Token>, Instant)>>,
    /// For what is done with a whole database.
    pub(super) turn: Turn,
}

impl Sessions {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A secret that begins one session of this token, if it is used soon.
    pub(crate) fn once(&self, token: Token) -> Result<Secret, Error> {
        let secret = Secret::random()?;
        let mut once = self.once.lock().unwrap_or_else(PoisonError::into_inner);
        once.retain(|_, (_, made)| made.elapsed() < ONCE);
        once.insert(secret.digest(), (Arc::new(token), Instant::now()));
        Ok(secret)
    }

    /// The token that a secret stands for this one time.
    pub(super) fn take_once(&self, secret: &str) -> Option<Arc<Token>> {
        let mut once = self.once.lock().unwrap_or_else(PoisonError::into_inner);
        let (token, made) = once.remove(&digest(secret))?;
        (made.elapsed() < ONCE).then_some(token)
    }

    /// Begins one.
    pub(super) fn begin(&self, principal: Principal) -> Result<Secrets, Error> {
        let (session, secrets) = Session::new(principal)?;
        let mut known = self.lock();
        let of_token = known.values().filter(|other| other.principal.digest() == session.principal.digest());
        let (count, oldest) = (of_token.clone().count(), of_token.min_by_key(|other| other.used()));
        let oldest = oldest.filter(|_| count >= OF_TOKEN_MAX).map(|oldest| oldest.digest.clone());
        let ended = oldest.and_then(|oldest| known.remove(&oldest));
        if known.len() >= MAX {
            return Err(Error::new(SqlState::TOO_MANY_CONNECTIONS, "there are too many sessions of the console"));
        }
        known.insert(session.digest.clone(), Arc::new(session));
        drop(known);
        drop(ended);
        Ok(secrets)
    }

    /// The session of these secrets, for who shows both; it is used.
    pub(crate) async fn of(&self, app: &App, held: &Held) -> Option<Arc<Session>> {
        let session = self.of_cookie(app, held).await?;
        held.csrf.as_deref().is_some_and(|csrf| digest(csrf) == session.csrf).then_some(session)
    }

    /// The session of the cookie alone, which is not enough to ask for anything.
    pub(super) async fn of_cookie(&self, app: &App, held: &Held) -> Option<Arc<Session>> {
        let session = self.lock().get(&digest(&held.cookie)).cloned()?;
        if !session.is_still(app).await {
            self.end(app, &session);
            return None;
        }
        *session.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        Some(session)
    }

    /// Ends one, with what is kept for it.
    pub(super) fn end(&self, app: &App, session: &Session) {
        let ended = self.lock().remove(&session.digest);
        session.results.end_all();
        if ended.is_some() {
            let (token, seconds) = (session.principal.name(), session.begun.elapsed().as_secs());
            app.services.log(Level::Info, "console_ended", &[("token", &token), ("seconds", &seconds)]);
        }
    }

    /// Ends those whose time is over, or whose token is none any more; of others what is kept and nobody looks at.
    pub(crate) async fn look(&self, app: &App) {
        let all: Vec<Arc<Session>> = self.lock().values().cloned().collect();
        for session in all {
            match session.is_still(app).await {
                true => {
                    session.results.end_idle();
                    session.tickets.end_old();
                }
                false => self.end(app, &session),
            }
        }
    }

    /// What all of them run.
    pub(super) fn running(&self) -> Vec<Arc<Kept>> {
        let all: Vec<Arc<Session>> = self.lock().values().cloned().collect();
        all.iter().flat_map(|session| session.results.running()).collect()
    }

    /// Ends all.
    pub(crate) fn close(&self) {
        let all = std::mem::take(&mut *self.lock());
        all.values().for_each(|session| session.results.end_all());
    }
}
