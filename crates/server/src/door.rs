//! Who comes in: the first messages of a client, up to its session.
//!
//! - Over a Unix socket the user who owns the database comes in by being that user; over TCP nobody comes in without a password,
//!   unless it was said that all do.
//! - Nothing of the database is opened, and no name of one is looked at, for who is not in.

use std::io;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use cairn_wire::{Challenge, Login, Request};
use cairndb::{Error, SqlState};

use crate::access::{self, Method};
use crate::line::Line;
use crate::log::Level;
use crate::server::Shared;
use crate::throttle::Origin;

/// How long the last words to somebody may take.
const FAREWELL_TIME: Duration = Duration::from_secs(5);

/// Between two looks whether the server stops, while somebody is kept waiting.
const LOOK_TIME: Duration = Duration::from_millis(100);

/// Who has come in; `None`: the conversation is over.
pub(crate) fn admit(line: &mut Line, shared: &Shared, from: &(Origin, String)) -> io::Result<Option<Login>> {
    let options = shared.options();
    let until = Instant::now() + options.login_timeout;
    line.set_times(Some(options.login_timeout), Some(FAREWELL_TIME))?;
    let mut user = None;
    // Over a Unix socket nobody else listens.
    let tls = options.tls.as_ref().filter(|_| matches!(from.0, Origin::Address(_)));
    line.greet(tls).map_err(|error| tell_broken(error, shared, from))?;
    loop {
        match line.conversation.next_request() {
            Request::Wait => {
                let left = until.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Ok(None);
                }
                line.stream.set_read_timeout(Some(left))?;
                line.wait().map_err(|error| tell_broken(error, shared, from))?;
            }
            Request::Tls => {
                let tls = tls.filter(|_| !line.is_secured());
                if line.conversation.tls(tls.is_some())
                    && let Some(tls) = tls
                {
                    line.secure(tls)?;
                }
            }
            Request::Cancel { process, secret } => {
                shared.registry.cancel(process, &secret);
                return Ok(None);
            }
            Request::Login(login) => {
                ask(line, shared, &login, from)?;
                user = Some(login.user);
            }
            Request::Start(login) => {
                shared.throttle.succeeded(from.0, &login.user);
                return Ok(Some(login));
            }
            // Nothing else is asked before a session starts.
            _ => {
                if let Some(user) = user.filter(|_| line.conversation.was_denied()) {
                    shared.throttle.failed(from.0, &user, Instant::now());
                    shared.metrics.logins_failed.fetch_add(1, Ordering::Relaxed);
                    let of: [(_, &dyn std::fmt::Display); 2] = [("user", &user), ("from", &from.1)];
                    shared.options().log.line(Level::Warning, "login_failed", &of);
                }
                line.flush()?;
                return Ok(None);
            }
        }
    }
}

/// Tells of TLS that came to nothing, which is no secret.
fn tell_broken(error: io::Error, shared: &Shared, from: &(Origin, String)) -> io::Error {
    if error.kind() == io::ErrorKind::InvalidData {
        let of: [(_, &dyn std::fmt::Display); 2] = [("from", &from.1), ("message", &error)];
        shared.options().log.line(Level::Warning, "tls_failed", &of);
    }
    error
}

/// What somebody has to show.
fn ask(line: &mut Line, shared: &Shared, login: &Login, from: &(Origin, String)) -> io::Result<()> {
    match access::method(&shared.options(), login, from.0, line.is_secured()) {
        Ok(Method::Password) => {}
        Ok(_) => {
            line.conversation.trust();
            return Ok(());
        }
        Err(error) => {
            refuse(line, shared, login, from, &error);
            return Ok(());
        }
    }
    if !keep_waiting(shared, login, from.0) {
        let message = "too many failed logins for this user, or from this address";
        let error = Error::new(SqlState::TOO_MANY_CONNECTIONS, message).with_hint("Try again in a minute.");
        refuse(line, shared, login, from, &error);
        return Ok(());
    }
    let mut nonce = [0; 18];
    getrandom::fill(&mut nonce).map_err(io::Error::other)?;
    let verifier = shared.options().users.get(&login.user).map(|user| user.verifier.clone());
    line.conversation.challenge(Challenge { verifier, nonce, secret: shared.secret, binding: line.binding() });
    Ok(())
}

fn refuse(line: &mut Line, shared: &Shared, login: &Login, from: &(Origin, String), error: &Error) {
    let of: [(_, &dyn std::fmt::Display); 3] = [("user", &login.user), ("from", &from.1), ("code", &error.sqlstate())];
    shared.options().log.line(Level::Warning, "login_refused", &of);
    line.conversation.refuse(error);
}

/// Keeps somebody waiting who may be guessing; whether he may try. What he sends meanwhile makes it no shorter.
fn keep_waiting(shared: &Shared, login: &Login, origin: Origin) -> bool {
    let begun = Instant::now();
    let Some(wait) = shared.throttle.enter(origin, &login.user, begun) else { return false };
    loop {
        let left = wait.saturating_sub(begun.elapsed());
        if left.is_zero() || shared.registry.is_stopping() {
            return true;
        }
        std::thread::sleep(left.min(LOOK_TIME));
    }
}

/// SQLSTATE 53300.
pub(crate) fn too_many() -> Error {
    Error::new(SqlState::TOO_MANY_CONNECTIONS, "sorry, too many clients already")
}

/// SQLSTATE 57P03 when all sessions are being ended.
pub(crate) fn check(shared: &Shared) -> Result<(), Error> {
    match shared.registry.is_stopping() {
        true => Err(Error::new(SqlState::CANNOT_CONNECT_NOW, "the database system is shutting down")),
        false => Ok(()),
    }
}
