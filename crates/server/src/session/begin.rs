//! How a session begins: who has come in gets a connection to a database, within what the server gives, and a place among the others.

use std::fmt::Display;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use cairn_wire::{Login, Started};
use cairndb::{Ceilings, Connection, Database, Error, SettingsSeen};

use super::Session;
use crate::asked::Asked;
use crate::door;
use crate::line::Line;
use crate::log::Level;
use crate::options::Options;
use crate::registry::{Entry, Who};
use crate::results::tell_notices;
use crate::server::Shared;
use crate::stream::Stream;

/// Everything that a client's thread does. `number`: its connection's.
pub(crate) fn serve(stream: Stream, number: u64, shared: &Arc<Shared>) -> io::Result<()> {
    let from = stream.origin()?;
    let options = shared.options();
    let mut line = Line::new(stream, options.limits);
    let Some(login) = door::admit(&mut line, shared, &from)? else { return line.flush() };
    let database = shared.databases.name(&login.database).into();
    let who = Who { user: login.user.as_str().into(), database, from: from.1 };
    if let Err(error) = begin(&mut line, (shared, &options), &login, (who.clone(), number))? {
        let code = error.sqlstate();
        let of: [(_, &dyn Display); 4] =
            [("user", &who.user), ("database", &who.database), ("from", &who.from), ("code", &code)];
        options.log.line(Level::Warning, "refused", &of);
        line.conversation.refuse(&error);
        return line.flush();
    }
    Ok(())
}

/// Opens a session, and is it until it ends. The error: it does not begin.
fn begin(
    line: &mut Line,
    (shared, options): (&Arc<Shared>, &Arc<Options>),
    login: &Login,
    (who, number): (Who, u64),
) -> io::Result<Result<(), Error>> {
    // Let go of when the connection is gone.
    let lease = match door::check(shared).and_then(|()| shared.databases.lease(&login.database)) {
        Ok(lease) => lease,
        Err(error) => return Ok(Err(error)),
    };
    let connection = match lease.database().and_then(|database| connect(shared, options, (database, login))) {
        Ok(connection) => connection,
        Err(error) => return Ok(Err(error)),
    };
    let mut secret = [0; 32];
    getrandom::fill(&mut secret).map_err(io::Error::other)?;
    let entry = Entry::new(who.clone(), number, secret, connection.interrupt_handle());
    let place = match shared.registry.enter(entry, options) {
        Ok(place) => place,
        Err(error) => return Ok(Err(error)),
    };
    let (process, reads_only) = (place.process, reads_only(options, &login.user));
    connection.serve(Arc::new(Asked { shared: shared.clone(), process, who, reads_only }));
    line.set_times(None, Some(options.output_timeout))?;
    line.conversation.started(&Started { process: place.process, secret });
    for (name, value) in [("in_hot_standby", "off"), ("is_superuser", "on"), ("session_authorization", &login.user)] {
        line.conversation.parameter(name, value);
    }
    tell_notices(line, &connection);
    let mut session = Session {
        connection: &connection,
        shared,
        options,
        place: &place,
        statements: Vec::new(),
        portals: Vec::new(),
        seen: SettingsSeen::default(),
        told: Vec::new(),
        hearing: None,
    };
    shared.metrics.sessions.fetch_add(1, Ordering::Relaxed);
    session.log(Level::Info, "connected", &[]);
    let began = Instant::now();
    let ran = session.run(line);
    let seconds = began.elapsed().as_secs();
    let gone = place.entry.is_gone() || ran.is_err();
    session.log(Level::Info, "disconnected", &[("seconds", &seconds), ("gone", &gone)]);
    ran.map(Ok)
}

/// A connection with the settings that the client wants, within what the server gives.
fn connect(shared: &Shared, options: &Options, (database, login): (&Database, &Login)) -> Result<Connection, Error> {
    let ceilings = ceilings(options, database, &login.user);
    let kept = shared.databases.folder().map(|folder| folder.settings(database.name())).unwrap_or_default();
    if !kept.is_empty() {
        match database.connect_within(&ceilings, &[&kept[..], &login.settings[..]].concat()) {
            // What was said of a database keeps nobody out: it may be beyond what is allowed by now.
            Err(error) => {
                let of: [(_, &dyn Display); 2] = [("database", &database.name()), ("message", &error.message())];
                options.log.line(Level::Warning, "database_settings", &of);
            }
            connected => return connected,
        }
    }
    database.connect_within(&ceilings, &login.settings)
}

/// What the settings of a user's sessions can not go beyond.
pub(crate) fn ceilings(options: &Options, database: &Database, user: &str) -> Ceilings {
    let mut ceilings = options.ceilings.clone().unwrap_or_else(|| database.ceilings());
    ceilings.reads_only |= reads_only(options, user);
    ceilings
}

pub(crate) fn reads_only(options: &Options, user: &str) -> bool {
    options.users.get(user).is_some_and(|user| user.reads_only)
        || options.ceilings.as_ref().is_some_and(|ceilings| ceilings.reads_only)
}
