//! Who comes in: the first messages of a client, up to its session.
//!
//! - Over a Unix socket the user who owns the database comes in by being that user; over TCP nobody comes in without a password,
//!   unless it was said that all do.
//! - Nothing of the database is opened, and no name of one is looked at, for who is not in.

use std::io;
use std::time::{Duration, Instant};

use cairn_wire::{Challenge, Login, Request};
use cairndb::{Error, SqlState};

use crate::line::Line;
use crate::server::Shared;

/// How long somebody may take to say and prove who he is.
const LOGIN_TIME: Duration = Duration::from_secs(60);
/// How long the last words to somebody may take.
const FAREWELL_TIME: Duration = Duration::from_secs(5);

/// Who has come in; `None`: the conversation is over.
pub(crate) fn admit(line: &mut Line, shared: &Shared) -> io::Result<Option<Login>> {
    let until = Instant::now() + LOGIN_TIME;
    line.set_times(Some(LOGIN_TIME), Some(FAREWELL_TIME))?;
    loop {
        match line.conversation.next_request() {
            Request::Wait => {
                let left = until.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Ok(None);
                }
                line.stream.set_read_timeout(Some(left))?;
                line.wait()?;
            }
            Request::Tls => line.conversation.tls(false),
            Request::Cancel { process, secret } => {
                shared.registry.cancel(process, &secret);
                return Ok(None);
            }
            Request::Login(login) => ask(line, shared, &login)?,
            Request::Start(login) => return Ok(Some(login)),
            // Nothing else is asked before a session starts.
            _ => {
                line.flush()?;
                return Ok(None);
            }
        }
    }
}

/// What somebody has to show.
fn ask(line: &mut Line, shared: &Shared, login: &Login) -> io::Result<()> {
    let options = &shared.options;
    let peer = line.stream.peer();
    if options.trusts_all || peer.is_some() && peer == options.owner {
        line.conversation.trust();
        return Ok(());
    }
    if options.users.is_empty() {
        let user = &login.user;
        let (message, hint) = match peer {
            Some(_) => (
                format!("peer authentication failed for user \"{user}\""),
                "Only the user who owns the database comes in without a password, and no passwords are set.",
            ),
            None => (
                format!("no password is set for user \"{user}\""),
                "Connect over the Unix socket as the user who owns the database, or start the server with passwords.",
            ),
        };
        line.conversation.refuse(&Error::new(SqlState::INVALID_AUTHORIZATION_SPECIFICATION, message).with_hint(hint));
        return Ok(());
    }
    let mut nonce = [0; 18];
    getrandom::fill(&mut nonce).map_err(io::Error::other)?;
    let verifier = options.users.get(&login.user).cloned();
    line.conversation.challenge(Challenge { verifier, nonce, secret: shared.secret });
    Ok(())
}

/// SQLSTATE 53300.
pub(crate) fn too_many() -> Error {
    Error::new(SqlState::TOO_MANY_CONNECTIONS, "sorry, too many clients already")
}

/// SQLSTATE 3D000 for a database that is not here, 57P03 when all sessions are being ended.
pub(crate) fn check(shared: &Shared, login: &Login) -> Result<(), Error> {
    if shared.registry.is_stopping() {
        return Err(Error::new(SqlState::CANNOT_CONNECT_NOW, "the database system is shutting down"));
    }
    if ![shared.options.name.as_str(), "postgres", "cairndb"].contains(&login.database.as_str()) {
        let message = format!("database \"{}\" does not exist", login.database);
        let hint = format!("This server has \"{}\", also by the name of postgres.", shared.options.name);
        return Err(Error::new(SqlState::INVALID_CATALOG_NAME, message).with_hint(hint));
    }
    Ok(())
}
